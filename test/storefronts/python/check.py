"""Asking the daemon: the check before an order, and the report after one. DAEMON is unix:///path or tcp://127.0.0.1:port."""
import http.client
import json
import os
import socket
import sys

from mirror import CURRENCY

PATIENCE = 7


class Local(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.host)


def connection(patience=PATIENCE):
    kind, _, address = os.environ["DAEMON"].partition(":")
    where = address.lstrip("/")
    return Local(f"/{where}", timeout=patience) if kind == "unix" else http.client.HTTPConnection(where, timeout=patience)


def post(talk, path, body):
    headers = {"Content-Type": "application/json", "Host": "localhost"}
    if token := os.environ.get("DAEMON_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    talk.request("POST", path, json.dumps(body), headers)


def daemon(path, body):
    """Status and JSON of the answer to a POST; None where none came in time: nobody knows then, and nothing is guessed."""
    talk = connection()
    try:
        post(talk, path, body)
        answer = talk.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if answer.status == 200 or text.startswith(b"{") else {}
    except (OSError, http.client.HTTPException, ValueError):
        print(f"no answer from the daemon at {os.environ['DAEMON']}", file=sys.stderr)
        return None
    finally:
        talk.close()


def check(wish):
    """Whether what the shopper was shown still holds: holds, changed, gone or unknown. None: the ticket is not sold."""
    status, answer = daemon("/v1/check", {
        "product_id": wish["product"], "date": wish["date"], "time": wish["time"],
        "variants": [{"variant_id": wish["variant"], "count": wish["count"]}],
        "expect_price": {"amount": wish["count"] * wish["price"], "currency": CURRENCY}, "deadline_ms": 5000,
    }) or (200, {"verdict": "unknown", "now": None, "alternatives": []})
    if status == 200:
        return answer
    if answer.get("error") in ("unknown-product", "unknown-variant"):
        return None
    raise RuntimeError(f"the daemon answers {status}: {answer.get('message')}")


def report(wish, order):
    """The daemon reads the dates of an order again, and counts the sale. It is no part of the order: it may fail."""
    daemon("/v1/orders", {"product_id": wish["product"], "date": wish["date"], "time": wish["time"],
                          "quantity": wish["count"], "outcome": "confirmed", "order_id": order})


def seen(product, date):
    """What shoppers look at is read more often. Told after the page, and nobody waits for an answer."""
    talk = connection(patience=0.1)
    try:
        post(talk, "/v1/seen", {"seen": [{"product_id": product, "date": date}]})
    except (OSError, http.client.HTTPException):
        pass
    finally:
        talk.close()
