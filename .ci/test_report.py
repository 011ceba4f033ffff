"""Prints which suites a run of `swift test` waited for, and the skipped tests.

Usage: test_report.py EVENTS ALLOWED_SKIPS. EVENTS is the event stream of Swift Testing, JSON lines. Exits with 1 if CI
is set and a test was skipped that no line of ALLOWED_SKIPS names.

The stream does not tell how long a test ran: tests start together and wait for their turn. So the report has the times
at which suites ended. The last ones are those to make faster.
"""

import json
import os
import sys


def read_events(path):
    """Returns when each suite ended, in seconds since the first event, and the ids of the skipped tests."""
    begin, ends, skipped = None, {}, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["kind"] != "event":
                continue
            event = record["payload"]
            kind, test, now = event["kind"], event.get("testID", ""), event["instant"]["absolute"]
            begin = begin or now
            if kind == "testEnded" and ".swift:" in test:
                # `Target.Suite/function(_:)/File.swift:line:column`
                ends[test.split("(")[0].rsplit("/", 1)[0]] = now - begin
            elif kind == "testSkipped" and ".swift:" in test:
                skipped.append(test)
    return ends, skipped


def read_allowed(path):
    """The beginnings of ids that may be skipped: `id: reason` in each line."""
    with open(path, encoding="utf-8") as lines:
        entries = [line.split(":", 1) for line in lines if line.strip() and not line.startswith("#")]
    return [name.strip() for name, reason in entries if reason.strip()]


def main(events, allowed_path):
    if not os.path.exists(events):
        return 0
    ends, skipped = read_events(events)
    print("\nThe suites that ended last, and when, in seconds:")
    for name, end in sorted(ends.items(), key=lambda item: -item[1])[:10]:
        print(f"{end:8.1f}  {name}")
    allowed = read_allowed(allowed_path)
    refused = [test for test in skipped if not any(test.startswith(name) for name in allowed)]
    print(f"Skipped: {len(skipped)}")
    for test in refused:
        print(f"    {test}")
    if refused and os.environ.get("CI"):
        print("A skipped test is a failure in CI. Install what it needs, or add it to .ci/allowed-skips with a reason.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
