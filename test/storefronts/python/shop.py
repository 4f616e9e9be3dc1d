"""An example storefront with Python's own server: MIRROR=data/mirror.db ADMIN=unix:/…/admin.sock python3 shop.py 8000"""
import re
import sys
from datetime import date as Date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from check import check, report
from mirror import together, words_of
from pages import e, instead_list, page, product_page, search_page, verdict_page


def date_of(text):
    """A date of this century, or None: what stands in an address is anybody's."""
    try:
        return text if re.fullmatch(r"20\d\d-\d\d-\d\d", text or "", re.ASCII) and Date.fromisoformat(text) else None
    except ValueError:
        return None


def number_of(text, least=0):
    return int(text) if re.fullmatch(r"\d{1,15}", text or "", re.ASCII) and int(text) >= least else None


def near_of(place, km):
    found = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*", place or "", re.ASCII)
    latitude, longitude = map(float, found.groups()) if found else (99, 0)
    within = float(km) if re.fullmatch(r"\d+(\.\d+)?", km or "", re.ASCII) else 5.0
    return (latitude, longitude, max(0.1, within)) if abs(latitude) <= 90 and abs(longitude) <= 180 else None


def cents_of(text):
    found = re.fullmatch(r"(\d{1,6})(?:[.,](\d\d?))?", text or "", re.ASCII)
    return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0")) if found else None


def show_search(ask):
    near, date, most = near_of(ask.get("near"), ask.get("km")), date_of(ask.get("date")), cents_of(ask.get("most"))
    return 200, together(lambda mirror: search_page(mirror, ask, mirror.search(words_of(ask.get("text", "")), near, date, most)))


def show_product(mirror, number, ask):
    product = mirror.product(number)
    if product is None or mirror.policy("products", product["freshness"]) == "hide":
        gone = mirror.withdrawn(number)
        text = f'<h1>{e(gone[0]["title"])}</h1><p>This is no longer offered.</p>' if gone else "<h1>There is no such product</h1>"
        return (410 if gone else 404), page("Not found", text)
    today = datetime.now(ZoneInfo(product["timezone"] or "UTC")).date().isoformat()
    date = date_of(ask.get("date"))
    month = Date.fromisoformat(date or date_of(f'{ask.get("month")}-01') or today).replace(day=1)
    return 200, product_page(mirror, product, today, month, date)


def alternative(mirror, other):
    """An alternative of the check: another time or date, or another product."""
    product = mirror.product(other["product_id"]) if other["kind"] == "product" else None
    words = [product["title"] if product else "", other["date"], other["time"] or ""]
    return other["product_id"], other["date"], " ".join(filter(None, words)), (other["price"] or {}).get("amount")


def buy(step, form):
    """The last check before the money: what does not hold is not ordered."""
    wish = {name: number_of(form.get(name)) for name in ("product", "variant", "price")}
    wish |= {"count": number_of(form.get("count"), 1), "date": date_of(form.get("date")), "time": form.get("time")}
    if None in wish.values() or wish["count"] > 99:
        return 400, page("Checkout", "<h1>That is no order</h1>")
    answer = check(wish)
    if step == "/order" and answer["verdict"] == "holds":
        # Here a real shop makes its order with the service; only when that is confirmed does it say so.
        report(wish)
        return 200, page("Thank you", '<h1>Thank you</h1><p class="notice good" data-verdict="ordered">Your order is confirmed.</p>')
    return 200, together(lambda mirror: verdict_page(wish, answer, instead_list([alternative(mirror, each) for each in answer["alternatives"]])))


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        ask = dict(parse_qsl(url.query))
        product = re.fullmatch(r"/product/(\d{1,15})", url.path, re.ASCII)
        if url.path == "/shop.css":
            self.answer(200, Path(__file__).parent.parent.joinpath("shop.css").read_text(), "text/css")
        elif product:
            self.answer(*together(lambda mirror: show_product(mirror, int(product[1]), ask)))
        elif url.path == "/":
            self.answer(*show_search(ask))
        else:
            self.answer(404, page("Not found", "<h1>There is no such page</h1>"))

    def do_POST(self):
        length = number_of(self.headers.get("Content-Length"))
        if self.path not in ("/checkout", "/order") or length is None or length > 10_000:
            return self.answer(400, page("Checkout", "<h1>That is no order</h1>"))
        form = dict(parse_qsl(self.rfile.read(length).decode("utf-8", "replace")))
        self.answer(*buy(self.path, form))

    def answer(self, status, text, kind="text/html; charset=utf-8"):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", "default-src 'none'; img-src http: https:; style-src 'self'; form-action 'self'")
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
