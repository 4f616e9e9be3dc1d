"""Calendars out of a mirror beside those of a table that has the same rows: microseconds of the processor for each, as JSON."""
import json
import sqlite3
import sys
import time

path, rounds, ids = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
db.execute(sys.argv[4])
for product_id in ids:
    db.execute("INSERT INTO bare SELECT * FROM availability_days WHERE product_id = ?", (product_id,))
taken = {name: [] for name in ("view", "bare", "four")}
asked = {"view": ("*", "availability_days"), "bare": ("*", "bare"), "four": ("date, state, lowest_adult_price, stale", "availability_days")}
for turn in range(-3, rounds):
    for name, (columns, table) in asked.items():
        text = f"SELECT {columns} FROM {table} WHERE product_id = ? AND currency = 'EUR' ORDER BY date"
        began = time.process_time()
        for product_id in ids:
            db.execute(text, (product_id,)).fetchall()
        if turn >= 0:
            taken[name].append(1e6 * (time.process_time() - began) / len(ids))
print(json.dumps(taken))
