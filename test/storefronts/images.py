"""Prints the images of a product, each with its credit, as a page would: nothing that the service sent is markup."""
import sqlite3
import sys
from html import escape

file, product = sys.argv[1], int(sys.argv[2])
db = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=2)
images = db.execute("SELECT large_url, alt_text, credit FROM images WHERE product_id = ? ORDER BY position", (product,))
for url, alt, credit in images:
    caption = "" if credit is None else f"<figcaption>{escape(credit)}</figcaption>"
    print(f'<figure><img src="{escape(url or "")}" alt="{escape(alt or "")}">{caption}</figure>')
