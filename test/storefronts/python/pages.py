"""The pages. Everything that came from the service or a shopper goes through e()."""
from calendar import Calendar
from datetime import date as Date, timedelta
from html import escape
from urllib.parse import quote

from mirror import CURRENCY


def e(text):
    return "" if text is None else escape(str(text))


def money(minor):
    """Minor units as people write them; a currency without cents needs another line."""
    return "" if minor is None else f"{minor // 100}.{minor % 100:02} {CURRENCY}"


def spoken(text):
    return e((text or "").replace("_", " "))


def page(title, body):
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{e(title)}</title>'
            f'<link rel="stylesheet" href="/shop.css"><header><a href="/">Tickets</a></header><main>{body}</main>\n')


def hidden(fields):
    return "".join(f'<input type="hidden" name="{e(name)}" value="{e(value)}">' for name, value in fields.items())


def search_page(mirror, ask, hits):
    def field(name, label, kind, hint=""):
        return f'<label>{label}<input type="{kind}" name="{name}" value="{e(ask.get(name))}" placeholder="{hint}"></label>'

    def line(hit):
        shown = mirror.policy("product_prices", hit["freshness"]) != "hide" and hit["sellable"] and hit["price"] is not None
        price = f'from {money(hit["price"])}' if shown else "see dates" if hit["sellable"] else "closed now"
        where = e(hit["city_name"]) + ("" if hit["km"] is None else f', {hit["km"]:.1f} km')
        query = f'?date={quote(ask["date"])}' if ask.get("date") else ""
        return (f'<li><span><a href="/product/{hit["product_id"]}{e(query)}">{e(hit["title"])}</a><br>'
                f'<span class="quiet">{where}</span></span><b>{price}</b></li>')

    form = ('<form class="search">' + field("text", "What", "search", "museum par") + field("near", "Near (latitude, longitude)", "text", "48.86, 2.35")
            + field("km", "Within km", "number", "5") + field("date", "On", "date") + field("most", f"At most, {CURRENCY}", "text", "30")
            + "<button>Search</button></form>")
    found = f'<ul class="hits">{"".join(map(line, hits))}</ul>' if hits else "<p>Nothing found.</p>"
    return page("Search", f"<h1>Find tickets</h1>{form}{found}")


def gallery(images):
    """An image is shown with its credit, as long as the view has it."""
    figures = (f'<figure><img src="{e(image["large_url"])}" alt="{e(image["alt_text"])}" loading="lazy">'
               + ("" if image["credit"] is None else f'<figcaption>{e(image["credit"])}</figcaption>') + "</figure>" for image in images)
    return f'<div class="gallery">{"".join(figures)}</div>' if images else ""


def date_cell(mirror, day):
    """What a calendar says of a date: class and words. A date without a row, or too old to be believed, is unknown."""
    availability = mirror.policy("availability", day and day["freshness"])
    if day is None or (availability == "hide" and day["state"] != "not_on_sale"):
        return "unknown", "not known"
    if day["state"] != "available":
        return day["state"], "sold out" if day["state"] == "sold_out" else "not on sale"
    quoting = mirror.policy("day_prices", day["freshness"])
    words = "available" if quoting == "hide" else ("from " if quoting == "show_as_from" else "") + money(day["lowest_price"])
    return ("available", words) if availability == "show" else ("stale", f"{words}, to be checked")


def calendar_table(mirror, month, today, chosen, days):
    def cell(at):
        if at.month != month.month:
            return "<td></td>"
        date = at.isoformat()
        kind, words = ("past", "") if date < today else date_cell(mirror, days.get(date))
        text = f"<b>{at.day}</b>{e(words)}"
        link = f'<a href="?date={date}#slots">{text}</a>' if kind in ("available", "stale") else text
        return f'<td data-date="{date}" class="{kind}{" chosen" if date == chosen else ""}">{link}</td>'

    weeks = Calendar().monthdatescalendar(month.year, month.month)
    rows = "".join(f'<tr>{"".join(map(cell, week))}</tr>' for week in weeks)
    before, after = month - timedelta(days=1), month + timedelta(days=31)
    return (f'<h2><a href="?month={before:%Y-%m}">‹</a> {month:%B %Y} <a href="?month={after:%Y-%m}">›</a></h2>'
            f'<table class="calendar"><tr><th>Mo<th>Tu<th>We<th>Th<th>Fr<th>Sa<th>Su</tr>{rows}</table>'
            '<p class="legend quiet"><span class="available">available</span><span class="stale">to be checked</span>'
            '<span class="sold_out">sold out</span><span class="not_on_sale">not on sale</span><span class="unknown">not known</span></p>')


def slots_table(product, date, slots):
    def row(slot):
        fields = {"product": product, "date": date, "time": slot["time"], "variant": slot["variant_id"], "price": slot["retail_price"]}
        counts = "".join(f"<option>{count}</option>" for count in range(1, 1 + (slot["most"] or 1)))
        return (f'<tr><td>{spoken(slot["time"])}<td>{e(slot["label"])}<td>{money(slot["retail_price"])}<td><form method="post" action="/checkout">'
                f'{hidden(fields)}<select name="count">{counts}</select> <button>Book</button></form></tr>')

    table = f'<table><tr><th>Time<th>Ticket<th>Price<th></tr>{"".join(map(row, slots))}</table>'
    return f'<h2 id="slots">{date}</h2>{table if slots else "<p>No tickets are known for this date.</p>"}'


def instead_list(others):
    """Products, dates or times, each as (product, date or None, words, price or None)."""
    lines = (f'<li><a href="/product/{product}{e(f"?date={date}#slots") if date else ""}">{e(words)}</a><b>{money(price)}</b></li>'
             for product, date, words, price in others)
    return f'<h2>Instead</h2><ul class="hits instead">{"".join(lines)}</ul>' if others else ""


def product_page(mirror, product, today, month, date):
    number = product["product_id"]
    instead = [(each["product_id"], None, each["title"], None) for each in mirror.recommended(number)]
    reason = f': {spoken(product["disabled_reason"])}' if product["disabled_reason"] else ""
    back = f', expected back {spoken(product["expected_reopening"])}' if product["expected_reopening"] else ""
    closed = f'<p class="notice closed">This is not on sale now{reason}{back}.</p>{instead_list(instead)}'
    priced = product["sellable"] and product["from_price"] is not None and mirror.policy("product_prices", product["freshness"]) != "hide"
    must_know = mirror.must_know(number)
    days = mirror.calendar(number, f"{month:%Y-%m}-01", f"{month:%Y-%m}-31")
    return page(product["title"], f'<h1>{e(product["title"])}</h1><p class="quiet">{e(product["city_name"])}</p>{gallery(mirror.images(number))}'
                f'<p>{e(product["tagline"])}</p>' + ("" if product["sellable"] else closed)
                + (f'<p class="price">from {money(product["from_price"])}</p>' if priced else "")
                + (f'<p class="notice">{e(must_know)}</p>' if must_know else "") + calendar_table(mirror, month, today, date, days)
                + (slots_table(number, date, mirror.slots(number, date)) if date and product["sellable"] else ""))


def verdict_page(wish, answer, instead):
    """What the check says, in words and with what can be done: confirm, accept the new price, choose again, ask again."""
    def form(action, button, fields):
        return f'<form method="post" action="{action}">{hidden(fields)}<button>{button}</button></form>'

    def notice(text, kind=""):
        return f'<p class="notice{kind}">{text}</p>'

    shown, now = wish["count"] * wish["price"], ((answer["now"] or {}).get("price") or {}).get("amount")
    match answer["verdict"]:
        case "holds":
            body = notice("Still available at this price.", " good") + f'<p class="price">{money(shown)}</p>' + form("/order", "Confirm the order", wish)
        case "changed" if now is not None:
            body = (notice(f"The price has changed: it is {money(now)} now, not {money(shown)}.")
                    + form("/checkout", f"Take it for {money(now)}", {**wish, "price": now // wish["count"]}))
        case "changed":
            body = notice("There are not as many tickets left as you want.") + instead
        case "gone":
            body = notice("This is not to be had any more.") + instead
        case _:
            body = (notice("We cannot tell at the moment whether this is still available. Nothing was ordered.")
                    + form("/checkout", "Ask again", wish))
    what = f'{wish["count"]} × {e(wish["date"])}, {spoken(wish["time"])}'
    return page("Checkout", f'<h1>Checkout</h1><p data-verdict="{e(answer["verdict"])}">{what}</p>{body}'
                f'<p><a href="/product/{wish["product"]}?date={e(wish["date"])}">Back to the dates</a></p>')
