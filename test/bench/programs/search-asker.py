"""Asks statements of a mirror, as a storefront in Python does: processor milliseconds of each, and the products found."""
import json, sqlite3, sys, time

given = json.load(sys.stdin)
db = sqlite3.connect(f"file:{given['mirror']}?mode=ro", uri=True)
answers = []
for ask in given["asks"]:
    times = []
    for _ in range(given["rounds"]):
        started = time.process_time()
        rows = db.execute(ask["sql"], ask["bound"]).fetchall()
        times.append(1000 * (time.process_time() - started))
    answers.append({"ms": times, "ids": [row[0] for row in rows[:3]]})
json.dump(answers, sys.stdout)
