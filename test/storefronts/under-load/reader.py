"""Reads a mirror as hard as it can and judges every answer; what it is asked and what it prints: start-readers.ts."""
import json
import os
import sqlite3
import sys
from time import perf_counter_ns as clock

with open(sys.argv[1]) as file:
    job = json.load(file)
db = sqlite3.connect(f"file:{job['path']}?mode=ro", uri=True, timeout=2, isolation_level=None)
schedule = os.open("/proc/self/schedstat", os.O_RDONLY)


def rows(name, *values):
    return db.execute(job["sql"][name], values).fetchall()


def judge_calendar(days, count):
    """What is wrong with the calendar, if anything; its state number."""
    numbers = {number for _, _, *told in days for number in told if number is not None}
    if len(numbers) != 1:
        return f"states in one calendar: {sorted(numbers)}", None
    (state,) = numbers
    for day, sale, *_ in days:
        if (sale == "sold_out") != ((day + state) % 5 == 0):
            return f"day {day} is {sale} in state {state}", state
    return (None if len(days) == count else f"{len(days)} of {count} days"), state


def judge_slots(slots, state):
    numbers = {number for slot in slots for number in slot} | ({state} if state is not None else set())
    return None if len(numbers) <= 1 else f"states in one read of slots: {sorted(numbers)}"


def read(turn):
    """One read: None, or what is inconsistent in it."""
    product, start, end, count = job["questions"][turn // 8 % len(job["questions"])]
    kind = job["turns"][turn % len(job["turns"])]
    if kind == "product":
        found = rows("product", product)
        return None if found and found[0][0] == f"State {found[0][1]}" else f"product {found}"
    if kind == "slots":
        return judge_slots(rows("slots", product, start, start), None)
    if kind == "calendar":
        return judge_calendar(rows("calendar", product, start, end), count)[0]
    db.execute(job["begin"])
    wrong, state = judge_calendar(rows("calendar", product, start, end), count)
    slots = rows("slots", product, start, job["few"][start])
    db.execute(job["commit"])
    return wrong or judge_slots(slots, state)


def busy_time():
    """Nanoseconds that this thread ran or wanted to run: the rest of a read's time it slept."""
    ran, waited, _ = os.pread(schedule, 100, 0).split()
    return int(ran) + int(waited)


turn = retries = inconsistent = blocked = 0
first, errors, times = None, [], []
while True:
    busy = busy_time()
    start = clock()
    try:
        try:
            wrong = read(turn)
        except sqlite3.Error:
            retries += 1
            if db.in_transaction:
                db.execute("ROLLBACK")
            wrong = read(turn)
        inconsistent += wrong is not None
        first = first or wrong
    except sqlite3.Error as error:
        errors.append(str(error))
    end = clock()
    times.append((end - start) / 1000)
    turn += 1
    if end - start > 1e6:
        blocked = max(blocked, end - start - (busy_time() - busy))
    if turn % 256 == 0:
        print(turn, flush=True)
        if os.path.exists(job["stop"]):
            break
result = {"reads": turn, "inconsistent": inconsistent, "first": first, "retries": retries, "errors": errors[:5],
          "blocked_ms": blocked / 1e6, "times_us": times}
print(json.dumps(result), flush=True)
