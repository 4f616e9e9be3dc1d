"""Asking the daemon: the check before an order, and the report after one. ADMIN is unix:/path or tcp://127.0.0.1:port."""
import http.client
import json
import os
import socket

from mirror import CURRENCY


class Local(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.host)


def connection():
    kind, _, address = os.environ["ADMIN"].partition(":")
    if kind == "unix":
        return Local("/" + address.lstrip("/"), timeout=7)
    return http.client.HTTPConnection(address.lstrip("/"), timeout=7)


def daemon(path, body):
    """The answer to a POST; None where there is none in time: nobody knows then, and nothing is guessed."""
    headers = {"Content-Type": "application/json", "Host": "localhost"}
    if token := os.environ.get("ADMIN_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    talk = connection()
    try:
        talk.request("POST", path, json.dumps(body), headers)
        answer = talk.getresponse()
        return json.loads(answer.read()) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        talk.close()


def check(wish):
    """Whether what the shopper was shown still holds: holds, changed, gone or unknown."""
    answer = daemon("/v1/check", {
        "product_id": wish["product"], "date": wish["date"], "time": wish["time"],
        "variants": [{"variant_id": wish["variant"], "count": wish["count"]}],
        "expect_price": {"amount": wish["count"] * wish["price"], "currency": CURRENCY}, "deadline_ms": 5000,
    })
    return answer or {"verdict": "unknown", "now": None, "alternatives": []}


def report(wish):
    """The daemon reads the dates of an order again, and counts the sale. It is no part of the order: it may fail."""
    daemon("/v1/orders", {"product_id": wish["product"], "date": wish["date"], "time": wish["time"],
                          "quantity": wish["count"], "outcome": "confirmed"})
