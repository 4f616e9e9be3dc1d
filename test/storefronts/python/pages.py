"""The pages. Everything that came from the service or a shopper goes through e()."""
from calendar import Calendar
from datetime import date as Date, timedelta
from html import escape

from mirror import CURRENCY, decimals

# The search form: label, type and example of each field.
FIELDS = {
    "text": ("What", "search", "museum par"),
    "near": ("Near (latitude, longitude)", "text", "48.86, 2.35"),
    "km": ("Within (km)", "text", "5"),
    "date": ("On", "date", ""),
    "most": (f"At most ({CURRENCY})", "text", "30"),
}


def e(text):
    return "" if text is None else escape(str(text))


def money(minor):
    """Minor units as people write them."""
    if minor is None:
        return ""
    whole, rest = divmod(minor, 10 ** decimals())
    return f"{whole}.{rest:0{decimals()}} {CURRENCY}" if decimals() else f"{whole} {CURRENCY}"


def price(row):
    """The price that is printed of a product or a date; where it is not an adult's, whose it is."""
    return money(row["price"]) + ("" if row["price_of"] in ("adult", None) else f' ({spoken(row["price_of"])})')


def from_price(mirror, product):
    """What a product costs at least, while it is for sale and its price may be shown."""
    shown = product["sellable"] and product["price"] is not None and mirror.policy("product_prices", product["freshness"]) != "hide"
    return f"from {price(product)}" if shown else ""


def spoken(text):
    return (text or "").replace("within_month", "within a month").replace("more_than_month", "in more than a month").replace("_", " ")


def day(date):
    at = Date.fromisoformat(date)
    return f"{at:%A} {at.day} {at:%B %Y}"


def page(title, body):
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{e(title)}</title>'
            f'<link rel="stylesheet" href="/shop.css"><header><a href="/">Tickets</a></header><main>{body}</main>\n')


def notice(text, kind="notice"):
    """`text` is escaped already."""
    return f'<p class="{kind}">{text}</p>'


def form(action, fields, controls):
    inputs = "".join(f'<input type="hidden" name="{name}" value="{e(value)}">' for name, value in fields.items())
    return f'<form method="post" action="{action}">{inputs}{controls}</form>'


def search_page(mirror, ask, filters, hits):
    unread = [name for name in FIELDS if name in ask and filters[name] is None]
    lines = "".join(hit_line(mirror, hit, filters["date"]) for hit in hits)
    found = f'<ul class="hits">{lines}</ul>' if hits else "<p>Nothing found.</p>"
    return page("Search", f"<h1>Find tickets</h1>{search_form(ask, unread)}{found}")


def search_form(ask, unread):
    """What was not understood is said, and shown again."""
    def field(name, label, kind, hint):
        # A browser would leave a date field empty where the value is no date.
        kind, mark = ("text", ' aria-invalid="true"') if name in unread else (kind, "")
        return f'<label>{label}<input type="{kind}" name="{name}" value="{e(ask.get(name))}" placeholder="{hint}"{mark}></label>'

    fields = "".join(field(name, *about) for name, about in FIELDS.items())
    wrong = ", ".join(f"{FIELDS[name][0]} “{e(ask[name])}”" for name in unread)
    return (f'<form class="search">{fields}<button>Search</button></form>'
            + (notice(f"Not understood, and left out of the search: {wrong}") if wrong else ""))


def hit_line(mirror, hit, date):
    shown = e(from_price(mirror, hit)) or ("see dates" if hit["sellable"] else "closed now")
    where = e(hit["city_name"]) + ("" if hit["km"] is None else f', {hit["km"]:.1f} km')
    return (f'<li><span><a href="/product/{hit["product_id"]}{f"?date={date}" if date else ""}">{e(hit["title"])}</a><br>'
            f'<span class="quiet">{where}</span></span><b>{shown}</b></li>')


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
    quoting = "hide" if day["price"] is None else mirror.policy("day_prices", day["freshness"])
    words = "available" if quoting == "hide" else ("from " if quoting == "show_as_from" else "") + price(day)
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
        counts = "".join(f"<option>{count}</option>" for count in range(1, 1 + slot["most"]))
        return (f'<tr><td>{e(spoken(slot["time"]))}<td>{e(slot["label"] or "Ticket")}<td>{money(slot["retail_price"])}'
                f'<td>{form("/checkout", fields, f"""<select name="count">{counts}</select> <button>Book</button>""")}</tr>')

    table = f'<table><tr><th>Time<th>Ticket<th>Price<th></tr>{"".join(map(row, slots))}</table>'
    return f'<h2 id="slots">{day(date)}</h2>{table if slots else "<p>No tickets are known for this date.</p>"}'


def instead_list(others):
    """Products, dates or times, each as (address, words, price or None)."""
    lines = (f'<li><a href="{e(address)}">{e(words)}</a><b>{money(price)}</b></li>' for address, words, price in others)
    return f'<h2>Instead</h2><ul class="hits instead">{"".join(lines)}</ul>' if others else ""


def closed(product, recommended):
    """Why a product is off sale, until when, and what there is instead."""
    reason = f': {spoken(product["disabled_reason"])}' if product["disabled_reason"] else ""
    back = f', expected back {spoken(product["expected_reopening"])}' if product["expected_reopening"] else ""
    others = [(f'/product/{other["product_id"]}', other["title"], None) for other in recommended]
    return notice(f'This is not on sale now{e(f"{reason}{back}.")}') + instead_list(others)


def product_page(mirror, product, today, month, date):
    number = product["product_id"]
    shown = e(from_price(mirror, product))
    must_know = mirror.must_know(number)
    days = mirror.calendar(number, f"{month:%Y-%m}-01", f"{month:%Y-%m}-31")
    lang = f'lang="{e(product["language_shown"])}"'
    return page(product["title"], f'<h1 {lang}>{e(product["title"])}</h1><p class="quiet">{e(product["city_name"])}</p>{gallery(mirror.images(number))}'
                f'<p {lang}>{e(product["tagline"])}</p>' + ("" if product["sellable"] else closed(product, mirror.recommended(number)))
                + (f'<p class="price">{shown}</p>' if shown else "")
                + (notice(e(must_know)) if must_know else "") + calendar_table(mirror, month, today, date, days)
                + (slots_table(number, date, mirror.slots(number, date)) if date and product["sellable"] else ""))


def purchase(wish, names, price):
    """What is bought, as the shopper knows it."""
    tickets = f'{names["ticket"] or "Ticket"} × {wish["count"]}'
    lines = {"Date": day(wish["date"]), "Time": spoken(wish["time"]), "Tickets": tickets, "Price": money(price)}
    return f'<h2>{e(names["title"])}</h2><dl>{"".join(f"<dt>{term}<dd>{e(words)}" for term, words in lines.items())}</dl>'


def checkout_page(wish, order, names, answer, instead):
    """What the check says, in words and with what can be done: confirm, accept the new price, choose again, ask again."""
    def again(words, fields):
        return form("/checkout", fields, f"<button>{words}</button>")

    shown, now = wish["count"] * wish["price"], ((answer["now"] or {}).get("price") or {}).get("amount")
    match answer["verdict"]:
        case "ordered":
            body = notice("Thank you: your order is confirmed.", "notice good")
        case "holds":
            body = notice("Still available at this price.", "notice good") + form("/order", {**wish, "order": order}, "<button>Confirm the order</button>")
        case "changed" if now is not None:
            body = (notice(f"The price has changed: it is {money(now)} now, not {money(shown)}.")
                    + again(f"Take it for {money(now)}", {**wish, "price": now // wish["count"]}))
        case "changed":
            body = notice("This can be had no more as you want it: perhaps there are fewer tickets left.") + instead_list(instead)
        case "gone":
            body = notice("This is not to be had any more.") + instead_list(instead)
        case _:
            body = notice("We cannot tell at the moment whether this is still available. Nothing was ordered.") + again("Ask again", wish)
    return page("Checkout", f'<h1>Checkout</h1><section class="purchase" data-verdict="{e(answer["verdict"])}">'
                f'{purchase(wish, names, shown if now is None else now)}</section>{body}'
                f'<p><a href="/product/{wish["product"]}?date={wish["date"]}">Back to the dates</a></p>')
