"""What each reply and event of the worker protocol must contain for us to go on; anything beyond is
ignored, as the protocol says.

Checked at the door, so that a worker's mistake is reported as that worker's mistake and not as an
exception somewhere behind.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError


class _MessagePart(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _FirstMessage(_MessagePart):
    endpoint: int
    writer: int
    time_ns: int


class _Finished(_MessagePart):
    endpoint: int
    scheduled: int
    sent: int
    failed: int
    never_sent: int
    last_seq: int | None = None
    time_ns: int


class _Log(_MessagePart):
    level: str
    message: str


class _Step(_MessagePart):
    node: str
    step: Literal["service", "configure", "activate"]
    outcome: Literal["done", "timed_out", "refused"]
    asked_ns: int
    time_ns: int


class _Granted(_MessagePart):
    qos: dict[str, Any]
    publish_mode: str | None = None
    wait: str | None = None
    take: Literal["typed", "raw", "lent"] | None = None
    when_full: (
        Literal[
            "blocks", "overwrites_at_writer", "drops_at_writer", "drops_at_reader", "never_full"
        ]
        | None
    ) = None


class _Configuration(_MessagePart):
    format: str
    text: str


class _Opened(_MessagePart):
    configuration: _Configuration | None = None
    time_ns: int | None = None


class _Created(_MessagePart):
    endpoints: dict[str, _Granted]
    time_ns: int | None = None


class _Started(_MessagePart):
    schedule: Literal["own", "shared"] | None = None


class _MatchedEndpoint(_MessagePart):
    matched: int
    time_ns: int


class _Matched(_MessagePart):
    endpoints: dict[str, _MatchedEndpoint]


class _Drained(_MessagePart):
    complete: bool
    time_ns: int


class _Usage(_MessagePart):
    at: str
    time_ns: int
    cpu_ns: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    allocations: int | None = None
    allocated_bytes: int | None = None
    frees: int | None = None
    interfaces: dict[str, dict[str, int]] = {}
    udp: dict[str, int] | None = None


class _Segment(_MessagePart):
    name: str
    rss_bytes: int
    pss_bytes: int


class _Memory(_MessagePart):
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    peak_rss_bytes: int | None = None
    virtual_bytes: int | None = None
    records_rss_bytes: int | None = None
    threads: int | None = None
    shared_segments: list[_Segment] = []


class _Evidence(_MessagePart):
    path: str
    messages: int


class _Account(_MessagePart):
    publish_failures: int | None = None
    reader_drops: int | None = None
    counters: dict[str, int] = {}
    evidence: list[_Evidence] = []


class _Collected(_MessagePart):
    usage: list[_Usage]
    memory: _Memory
    endpoints: dict[str, _Account]


class _Clock(_MessagePart):
    received_ns: int
    sent_ns: int


_EVENTS: dict[str, type] = {
    "first_message": _FirstMessage,
    "finished": _Finished,
    "log": _Log,
    "step": _Step,
}
_REPLIES: dict[str, type] = {
    "open": _Opened,
    "create": _Created,
    "start": _Started,
    "match": _Matched,
    "drain": _Drained,
    "collect": _Collected,
    "clock": _Clock,
}
_CHECKS: dict[type, TypeAdapter[Any]] = {
    model: TypeAdapter(model) for model in (*_EVENTS.values(), *_REPLIES.values())
}


def event_problem(event: dict[str, Any]) -> str | None:
    """What is wrong with an event that we know, or None."""
    return _problem(_EVENTS.get(event["event"]) if isinstance(event["event"], str) else None, event)


def is_known_event(event: dict[str, Any]) -> bool:
    return isinstance(event["event"], str) and event["event"] in _EVENTS


def reply_problem(cmd: str, ok: dict[str, Any]) -> str | None:
    """What is wrong with the `ok` of a command, or None. Endpoint numbers are keys, so they must be
    written as numbers."""
    problem = _problem(_REPLIES.get(cmd), ok)
    if problem is None and "endpoints" in ok and cmd in _REPLIES:
        strange = [key for key in ok["endpoints"] if not key.isdigit()]
        return f"endpoints: {strange[0]!r} is not an endpoint number" if strange else None
    return problem


def _problem(model: type | None, value: dict[str, Any]) -> str | None:
    if model is None:
        return None
    try:
        _CHECKS[model].validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return None
