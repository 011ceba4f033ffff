"""What Schemathesis has to know of this API besides its description. `.ci/fuzz` loads it."""

import json

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.specs.openapi.checks import ignored_auth

# Faults that depend on what is stored, or on several values together: no schema of one value can exclude them. U+0000
# is excluded once for all texts, names of members included.
BEYOND_A_SCHEMA = {
    "duplicate-token",
    "install-id-mismatch",
    "invalid-cursor",
    "invalid-host",
    "invalid-local-time",
    "invalid-origin",
    "invalid-percent-encoding",
    "invalid-token",
    "invalid-url",
    "locked-topic-is-out",
    "not-above-touch-interval",
    "nul-character",
    "push-service-not-allowed",
    "segment-cycle",
    "too-deep",
    "too-wide",
    "unknown-message",
    "unknown-segment",
    "unknown-topic",
    "wrong-app",
    "wrong-provider",
}


def is_positive(case):
    """Whether the request fits the description."""
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.check
def described_requests_are_accepted(ctx, response, case):
    """A request that fits the description is a 400 only for a reason that no schema can say."""
    if response.status_code != 400 or not is_positive(case):
        return
    problem = response.json()
    faults = problem.get("errors", [problem])
    unexpected = [
        fault
        for fault in faults
        if fault["code"] not in BEYOND_A_SCHEMA
        and not is_of_key(fault)
        and not is_of_header(fault, case)
        and not is_of_query(fault, case)
        and not is_of_duration(fault)
        and not is_of_payload(fault)
        and not is_of_web_push(fault, case)
        and not is_of_typed_token(fault)
        and not is_outside_pattern(fault, response)
    ]
    assert not unexpected, f"The description allows this, the service does not: {unexpected}"


def is_of_key(fault):
    """What a JSON web key needs depends on its `kty`, and a set needs a key that verifies signatures."""
    return f"{fault.get('pointer')}/".startswith("/jwks/keys/")


def is_of_duration(fault):
    """A longest duration, which a pattern cannot compare."""
    names = ("/expiresIn", "/receiptRetention", "/ttl", "interval")
    return fault["code"] == "out-of-range" and (fault.get("pointer") or fault.get("parameter")) in names


def is_of_payload(fault):
    """A payload is any JSON but null, which few generators of clients understand in a schema."""
    return fault["code"] == "required" and fault.get("pointer") == "/payload"


def is_of_web_push(fault, case):
    """Keys are required for one provider alone, which few generators of clients understand in a schema."""
    provider = case.body.get("provider") if isinstance(case.body, dict) else None
    return fault["code"] == "required" and fault.get("pointer") == "/keys" and provider == "webPush"


def is_of_typed_token(fault):
    """A Live Activity needs a name; an expiry is a time in the next 400 days."""
    if str(fault.get("pointer") or "").endswith("/expiresAt"):
        return fault["code"] in ("invalid-time", "out-of-range")
    return fault["code"] == "required" and (fault.get("parameter") == "name" or fault["pointer"].endswith("/name"))


def is_outside_pattern(fault, response):
    """U+FFFD in a path. The pattern of ids excludes it, though Schemathesis takes the request for a valid one."""
    return fault["code"] == "invalid-install-id" and "%EF%BF%BD" in response.request.url


@schemathesis.check
def credentials_are_required(ctx, response, case):
    """The check of Schemathesis, for which a 429 of the limit on failed authentications is a refusal, too."""
    try:
        return ignored_auth(ctx, response, case)
    except Failure as failure:
        if "429" not in failure.message:
            raise
        # Otherwise each later call of the operation would send more invalid credentials.
        if ctx.auth_enforced_operations is not None:
            ctx.auth_enforced_operations.add(case.operation.label)


def is_of_header(fault, case):
    """A day that its month lacks, or an entity tag whose quotes Schemathesis has dropped."""
    if fault.get("parameter") == "If-Match":
        return not str((case.headers or {}).get("If-Match")).startswith('"')
    return fault.get("parameter") == "X-Session-Expires-At"


def is_of_query(fault, case):
    """A value of a filter in the query: the description has the names of its parameters alone."""
    names = ("unknown-parameter", "operator-not-allowed")
    return case.operation.definition.raw.get("operationId") == "countAudienceByQuery" and fault["code"] not in names


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Completes requests that would say nothing: a session without a user, and limits that make the rest a 429."""
    if not is_positive(case):
        return
    headers = case.headers or {}
    if "X-Session-Expires-At" in headers:
        headers.setdefault("X-Session-Id", "s-81")
    if "X-Session-Id" in headers:
        headers.setdefault("X-User-Id", "alice")
    if case.operation.path == "/v1/apps/{app}" and isinstance(case.body, dict):
        case.body.pop("rateLimits", None)


@schemathesis.serializer("application/x-ndjson", "application/ndjson")
def lines(ctx, value):
    """One item a line."""
    items = value if isinstance(value, list) else [value]
    return "".join(json.dumps(item) + "\n" for item in items).encode()
