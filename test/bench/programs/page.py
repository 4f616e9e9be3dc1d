"""Product pages out of files, on a new connection each or on one that stays open: microseconds of the processor for each, as JSON.

Takes {"files": {name: path}, "statements": [SQL with ? for the product], "ids": [...], "rounds": n, "redis": port or null}.
"""
import json
import socket
import sqlite3
import sys
import time

task = json.loads(sys.argv[1])


def opened(path):
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)


def page(db, product_id):
    for text in task["statements"]:
        db.execute(text, (product_id,)).fetchall()


class Redis:
    def __init__(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port)).makefile("rwb")

    def get(self, key):
        self.stream.write(b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key))
        self.stream.flush()
        size = int(self.stream.readline()[1:])
        return json.loads(self.stream.read(size + 2)[:size])


taken = {}


def note(name, work):
    began = time.process_time()
    for product_id in task["ids"]:
        work(product_id)
    taken.setdefault(name, []).append(1e6 * (time.process_time() - began) / len(task["ids"]))


def anew(path):
    def work(product_id):
        db = opened(path)
        page(db, product_id)
        db.close()

    return work


kept = {name: opened(path) for name, path in task["files"].items()}
redis = Redis(task["redis"]) if task["redis"] else None
for turn in range(-3, task["rounds"]):
    if turn == 0:
        taken.clear()
    for name, path in task["files"].items():
        note(f"{name}, new", anew(path))
        note(f"{name}, open", lambda product_id: page(kept[name], product_id))
    if redis:
        note("redis, new", lambda product_id: Redis(task["redis"]).get(b"%d" % product_id))
        note("redis, open", lambda product_id: redis.get(b"%d" % product_id))
print(json.dumps(taken))
