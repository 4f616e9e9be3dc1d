"""An example storefront with Python's own server: MIRROR=data/mirror.db DAEMON=unix:///…/storefront.sock python3 shop.py 8000"""
import re
import sys
import traceback
from datetime import date as Date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from check import check, report, seen
from forms import asked, date_of, filters_of, number_of, order_of, wish_of
from mirror import together
from pages import checkout_page, day, e, page, product_page, search_page, spoken


def show_search(ask):
    """Status and page, as all that answer a request."""
    filters = filters_of(ask)
    return 200, together(lambda mirror: search_page(mirror, ask, filters, mirror.search(filters)))


def show_product(mirror, number, ask):
    product = mirror.product(number)
    if product is None or mirror.policy("products", product["freshness"]) == "hide":
        if gone := mirror.withdrawn(number):
            other = f'<p>See instead: <a href="/product/{gone["successor"]}">{e(gone["successor_title"])}</a></p>' if gone["successor_title"] else ""
            return 410, page(gone["title"], f'<h1>{e(gone["title"])}</h1><p>This is no longer offered.</p>{other}')
        return 404, page("Not found", "<h1>There is no such product</h1>")
    today = datetime.now(ZoneInfo(product["timezone"] or "UTC")).date().isoformat()
    date = date_of(ask.get("date", ""))
    month = Date.fromisoformat(date or date_of(ask.get("month", "") + "-01") or today).replace(day=1)
    return 200, product_page(mirror, product, today, month, date)


def buy(step, form):
    """The last check before the money: what does not hold is not ordered."""
    wish = wish_of(form)
    if wish is None:
        return 400, page("Checkout", "<h1>That is no order</h1>")
    order, answer = order_of(form.get("order", "")), check(wish)
    if answer is None:
        return 404, page("Checkout", "<h1>This ticket is not sold here</h1>")
    # Read before anything is ordered: afterwards nothing may fail.
    names, instead = together(lambda mirror: (mirror.names(wish["product"], wish["variant"]),
                                              [alternative(mirror, other) for other in answer["alternatives"]]))
    if step == "/order" and answer["verdict"] == "holds":
        # Here a real shop makes its order with the service; only when that is confirmed does it say so.
        report(wish, order)
        answer["verdict"] = "ordered"
    return 200, checkout_page(wish, order, names, answer, instead)


def alternative(mirror, other):
    """Another time or date, or another product, for a list of what there is instead."""
    product = mirror.product(other["product_id"]) if other["kind"] == "product" else None
    words = [product["title"] if product else "", day(other["date"]), spoken(other["time"])]
    return f'/product/{other["product_id"]}?date={other["date"]}#slots', ", ".join(filter(None, words)), (other["price"] or {}).get("amount")


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        ask = asked(url.query)
        if url.path == "/shop.css":
            self.answer(200, Path(__file__).parent.parent.joinpath("shop.css").read_text(), "text/css")
        elif found := re.fullmatch(r"/product/(\d{1,15})", url.path, re.ASCII):
            if self.respond(lambda: together(lambda mirror: show_product(mirror, int(found[1]), ask))) == 200:
                seen(int(found[1]), date_of(ask.get("date", "")))
        elif url.path == "/":
            self.respond(lambda: show_search(ask))
        else:
            self.answer(404, page("Not found", "<h1>There is no such page</h1>"))

    def do_POST(self):
        length = number_of(self.headers.get("Content-Length", ""), 0, 10_000)
        if self.path not in ("/checkout", "/order") or length is None:
            return self.answer(400, page("Checkout", "<h1>That is no order</h1>"))
        form = dict(parse_qsl(self.rfile.read(length).decode("utf-8", "replace")))
        self.respond(lambda: buy(self.path, form))

    def respond(self, make):
        try:
            status, html = make()
        except Exception as mistake:
            # What went wrong is for the log, not for visitors.
            self.log_error("%r in %s", mistake, traceback.extract_tb(mistake.__traceback__)[-1])
            status, html = 500, page("Sorry", "<h1>Something went wrong on our side</h1><p>Please try again later.</p>")
        self.answer(status, html)
        return status

    def answer(self, status, text, kind="text/html; charset=utf-8"):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", "default-src 'none'; img-src http: https:; style-src 'self'; form-action 'self'")
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
