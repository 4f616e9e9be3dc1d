"""Reading the mirror: open read-only, wait a little where it is busy, try once more, see one state in a page."""
import json
import os
import sqlite3
from functools import cache
from math import asin, cos, degrees, pi, radians, sin, sqrt
from pathlib import Path

LANGUAGE, CURRENCY = "en", "EUR"
EARTH_KM = 6371.0

# What a shop prints of a product `p`: what an adult pays at least, or, where no adult can buy, whose price it is. Where no date
# has a price, what the service says.
PRINTED = """(SELECT COALESCE(c.lowest_adult_price, c.from_price) FROM product_prices c
      WHERE c.product_id = p.product_id AND c.currency = :currency) AS price,
    (SELECT c.price_variant_type FROM product_prices c WHERE c.product_id = p.product_id AND c.currency = :currency) AS price_of"""


SEARCH = Path(os.environ.get("SEARCH_SQL") or Path(__file__).resolve().parent / "../../../schema/search.sql").read_text()
NARROWS_NOTHING = dict.fromkeys(["city_id", "country_id", "tag_id", "min_rating", "max_price", "sellable", "from", "to"])


class Mirror:
    """One connection, for one thread: several questions inside `with` are answered from one state."""

    def __enter__(self):
        self.db = sqlite3.connect(f"file:{os.environ['MIRROR']}?mode=ro", uri=True, timeout=2, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        self.db.execute("BEGIN")
        self.actions = {(row["resource"], row["state"]): row["action"] for row in self.rows("SELECT * FROM policies")}
        return self

    def __exit__(self, *_):
        self.db.close()

    def rows(self, sql, **values):
        """All rows; `:names` are bound from the values."""
        return self.db.execute(sql, {"language": LANGUAGE, "currency": CURRENCY, **values}).fetchall()

    def policy(self, resource, state):
        """What the mirror advises to do with a row in this state: show, show_as_from, check_first or hide."""
        return self.actions[resource, state or "unknown"]

    def row(self, sql, **values):
        return next(iter(self.rows(sql, **values)), None)

    def product(self, product):
        return self.row(f"SELECT p.*, {PRINTED} FROM products p WHERE p.product_id = :id AND p.language = :language", id=product)

    def withdrawn(self, product):
        return self.row("""SELECT w.title, w.successor_product_id AS successor, p.title AS successor_title FROM withdrawn_products w
            LEFT JOIN products p ON p.product_id = w.successor_product_id AND p.language = :language WHERE w.product_id = :id""", id=product)

    def names(self, product, variant):
        """What a shopper calls a ticket: the title of its product, and its own name; each may be None."""
        about = self.product(product) or self.withdrawn(product)
        own = self.row("SELECT label FROM variants WHERE product_id = :id AND variant_id = :variant AND language = :language",
                       id=product, variant=variant)
        return {"title": about and about["title"], "ticket": own and own["label"]}

    def images(self, product):
        return self.rows("SELECT large_url, alt_text, credit FROM images WHERE product_id = :id ORDER BY position", id=product)

    def must_know(self, product):
        found = self.row("SELECT must_know FROM checkout_information WHERE product_id = :id AND language = :language", id=product)
        return found and found["must_know"]

    def calendar(self, product, first, last):
        """By date, from the first to the last; a date that was never read is not in it."""
        days = self.rows("""SELECT date, state, lowest_adult_price AS price, price_variant_type AS price_of, freshness FROM availability_days
            WHERE product_id = :id AND currency = :currency AND date BETWEEN :first AND :last""", id=product, first=first, last=last)
        return {day["date"]: day for day in days}

    def slots(self, product, date):
        """What can be put into an order, as far as the mirror may still be believed."""
        return self.rows("""SELECT s.time, s.variant_id, v.label, s.retail_price, min(COALESCE(s.availability, 9), COALESCE(s.max_tickets, 9), 9) AS most
            FROM availability_slots s
            LEFT JOIN variants v ON v.product_id = s.product_id AND v.variant_id = s.variant_id AND v.language = :language
            WHERE s.product_id = :id AND s.currency = :currency AND s.date = :date AND s.freshness <> 'expired'
            AND most > 0 AND s.retail_price >= 0
            ORDER BY s.time, v.variant_type IS NOT 'adult', s.retail_price DESC""", id=product, date=date)

    def recommended(self, product):
        """What the service recommends instead of a closed product, while that is itself on sale."""
        return self.rows("""SELECT p.product_id, p.title FROM alternatives a JOIN products p ON p.product_id = a.alternative_product_id
            WHERE a.product_id = :id AND p.language = :language""", id=product)

    def search(self, filters):
        """Products by words (`text`), near a place, with tickets on a date, for at most a price; what was not asked for is
        None. With a date the cheapest come first, else the nearest, the best match, what is on sale."""
        price, order, distance = PRINTED, "p.sellable DESC, p.title", "NULL"
        joins, where, values = "", "p.language = :language", {}
        if filters["text"]:
            # What a shopper means, typos and all, the best first.
            found = self.rows(SEARCH, **NARROWS_NOTHING, text=filters["text"], limit=500, offset=0)
            joins += " JOIN json_each(:found) f ON f.value = p.product_id"
            order, values["found"] = "f.key", json.dumps([hit["product_id"] for hit in found])
        if filters["near"]:
            # The square of the straight line through the globe: no distance is lost at the date line or the poles.
            distance = "((g.x - :x) * (g.x - :x) + (g.y - :y) * (g.y - :y) + (g.z - :z) * (g.z - :z))"
            joins += " JOIN product_places g ON g.product_id = p.product_id AND g.min_latitude >= :south AND g.max_latitude <= :north"
            where += f" AND {distance} <= :chord"
            latitude, longitude = map(radians, filters["near"])
            angle = min((filters["km"] or 5.0) / EARTH_KM, pi)
            values |= {"x": cos(latitude) * cos(longitude), "y": cos(latitude) * sin(longitude), "z": sin(latitude), "chord": (2 * sin(angle / 2)) ** 2,
                       "south": degrees(latitude - angle) - 0.001, "north": degrees(latitude + angle) + 0.001}
            order = distance
        if filters["date"]:
            joins += " JOIN bookable_days b ON b.product_id = p.product_id AND b.currency = :currency AND b.date = :date AND b.freshness <> 'expired'"
            price, order = "b.lowest_adult_price AS price, b.price_variant_type AS price_of", "price IS NULL, price"
            values["date"] = filters["date"]
        if filters["most"] is not None:
            where += " AND price <= :most AND p.sellable"
            values["most"] = filters["most"]
        hits = self.rows(f"""SELECT p.product_id, p.title, p.city_name, p.sellable, p.freshness, {price}, {distance} AS chord
            FROM products p{joins} WHERE {where} ORDER BY {order} LIMIT 30""", **values)
        return [{**hit, "km": None if hit["chord"] is None else 2 * EARTH_KM * asin(sqrt(hit["chord"]) / 2)} for hit in hits]


def together(page):
    """A page from one state of the mirror; what fails once is tried once more, on a new connection."""
    try:
        with Mirror() as mirror:
            return page(mirror)
    except sqlite3.Error:
        with Mirror() as mirror:
            return page(mirror)


@cache
def decimals():
    """How many decimals the currency has: the tables of many runtimes are wrong."""
    return together(lambda mirror: mirror.row("SELECT exponent FROM currencies WHERE currency = :currency")["exponent"])
