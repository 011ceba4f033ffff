"""Runs the sender of the page about messages against a scripted registry and provider."""
import json
import sys
import types

calls = []
ROWS = [{"provider": "fcm", "token": f"t{number}", "receipt": f"r{number}"} for number in range(25_000)]


class Response:
    def __init__(self, rows=()):
        self.rows = rows

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def raise_for_status(self):
        pass

    def iter_lines(self):
        return (json.dumps(row).encode() for row in self.rows)


class Session:
    def __init__(self):
        self.headers = {}

    def put(self, url, json):
        calls.append(("PUT", url, self.headers["Authorization"], json))
        return Response()

    def post(self, url, json=None, data=None, headers=None, stream=False):
        calls.append(("POST", url, (headers or {}).get("Content-Type"), json if data is None else data))
        return Response(ROWS if stream else ())


def push(provider, token, payload):
    assert provider == "fcm" and payload["receipt"] == "r" + token[1:]
    return (None, None) if int(token[1:]) % 2 else ("UNREGISTERED", "2026-11-22T00:00:00Z")


sys.modules["requests"] = types.SimpleNamespace(Session=Session)
with open("sender-sample.py", encoding="utf-8") as sample:
    exec(compile(sample.read(), "sender-sample.py", "exec"), {"KEY": "prk", "push": push})

api = "https://push.example.com/v1/apps/com.example.mail"
assert calls[0][:3] == ("PUT", f"{api}/messages/spring-sale", "Bearer prk")
assert calls[1][:2] == ("POST", f"{api}/audience/export") and calls[1][3]["message"] == "spring-sale"
accepted = [call for call in calls if call[1] == f"{api}/messages/spring-sale/accepted"]
lines = [json.loads(line)["receipt"] for call in accepted for line in call[3].split("\n")]
assert lines == [f"r{number}" for number in range(1, 25_000, 2)]
assert all(call[2] == "application/x-ndjson" for call in accepted) and len(accepted) == 2
feedback = [call for call in calls if call[1] == f"{api}/feedback"]
items = [item for call in feedback for item in call[3]]
assert len(feedback) == 2 and max(len(call[3]) for call in feedback) == 10_000
assert [item["receipt"] for item in items] == [f"r{number}" for number in range(0, 25_000, 2)]
assert all(item["reason"] == "UNREGISTERED" and item["timestamp"] for item in items)
print("ok the sender reports what the provider said")
