"""Reads the slots of a product as a storefront would: read-only, nothing but what Python brings."""
import sqlite3
import sys

file, product = sys.argv[1], int(sys.argv[2])
db = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=2)
rows = db.execute(
    """SELECT date, time, variant_id, availability, max_tickets, retail_price, booking_fee, stale
       FROM availability_slots WHERE product_id = ? AND currency = 'EUR' ORDER BY date, time, variant_id""",
    (product,),
)
for row in rows:
    print("|".join(str(value) for value in row))
