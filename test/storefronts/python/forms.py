"""Reading what visitors send. Each reader has a value, or None where it does not understand."""
import re
import secrets
import unicodedata
from datetime import date as Date
from urllib.parse import parse_qsl

from mirror import decimals


def match(pattern, text):
    return re.fullmatch(pattern, text, re.ASCII)


def date_of(text):
    """A date of this century: what stands in an address is anybody's."""
    try:
        return text if match(r"20\d\d-\d\d-\d\d", text) and Date.fromisoformat(text) else None
    except ValueError:
        return None


def time_of(text):
    return text if match(r"(?:[01]\d|2[0-3]):[0-5]\d|[A-Za-z][A-Za-z_ -]{0,19}", text) else None


def number_of(text, least, most=10**15):
    return int(text) if match(r"\d{1,15}", text) and least <= int(text) <= most else None


def minor_of(text):
    """An amount in minor units."""
    found = match(rf"(\d{{1,6}})(?:[.,](\d{{1,{max(1, decimals())}}}))?", text)
    return int(found[1] + (found[2] or "").ljust(decimals(), "0")[:decimals()]) if found else None


def place_of(text):
    """Latitude and longitude."""
    found = match(r"\s*(-?\d{1,3}(?:\.\d+)?)\s*,\s*(-?\d{1,3}(?:\.\d+)?)\s*", text)
    latitude, longitude = map(float, found.groups()) if found else (99, 0)
    return (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None


def km_of(text):
    return float(text) if match(r"\d{1,5}(?:\.\d+)?", text) and float(text) > 0 else None


def words_of(text):
    """What people type is words, never syntax."""
    return text[:200] if any(unicodedata.category(letter)[0] in "LN" for letter in text) else None


def order_of(text):
    """What makes an order count once, however often its form is sent."""
    return text if match(r"[0-9a-f]{32}", text) else secrets.token_hex(16)


def asked(query):
    """What a search form says, without the fields that were left empty."""
    return {name: text for name, text in parse_qsl(query) if text.strip(" \n\r\t\v\0")}


READERS = {"text": words_of, "near": place_of, "km": km_of, "date": date_of, "most": minor_of}


def filters_of(ask):
    """The filters of a search; None: not asked for, or not understood."""
    return {name: read(ask[name]) if name in ask else None for name, read in READERS.items()}


def wish_of(form):
    """What a form asks to buy; None: it is no form of ours."""
    def of(name):
        return form.get(name, "")

    wish = {"product": number_of(of("product"), 1), "variant": number_of(of("variant"), 1), "price": number_of(of("price"), 0, 10**9),
            "count": number_of(of("count"), 1, 99), "date": date_of(of("date")), "time": time_of(of("time"))}
    return None if None in wish.values() else wish
