"""The fields that each reply and event of the worker protocol (docs/formats/worker-protocol.md) must
have. They are checked on arrival, so that a mistake of a worker is reported as that worker's, and
not as an exception later. Further fields are ignored, as the protocol says."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

EndpointNumber = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,10}$")]
"""A number of at most ten digits as text, since the keys of a JSON object are texts."""


class _MessagePart(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _FirstMessageEvent(_MessagePart):
    endpoint: int
    writer: int
    time_ns: int


class _FinishedEvent(_MessagePart):
    endpoint: int
    scheduled: int
    sent: int
    failed: int
    never_sent: int
    last_seq: int | None = None
    time_ns: int


class _LogEvent(_MessagePart):
    level: str
    message: str


class _StepEvent(_MessagePart):
    node: str
    step: Literal["service", "configure", "activate"]
    outcome: Literal["done", "timed_out", "refused"]
    asked_ns: int
    time_ns: int


class _GrantedEndpoint(_MessagePart):
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


class _OpenReply(_MessagePart):
    configuration: _Configuration | None = None
    time_ns: int | None = None


class _CreateReply(_MessagePart):
    endpoints: dict[EndpointNumber, _GrantedEndpoint]
    time_ns: int | None = None


class _StartReply(_MessagePart):
    schedule: Literal["own", "shared"] | None = None


class _EndpointMatches(_MessagePart):
    matched: int
    time_ns: int


class _MatchReply(_MessagePart):
    endpoints: dict[EndpointNumber, _EndpointMatches]


class _ProbeReply(_MessagePart):
    sent: dict[EndpointNumber, int] = {}


class _ProbeCounts(_MessagePart):
    count: int
    seen: int


class _SettleReply(_MessagePart):
    quiet: bool
    heard: dict[EndpointNumber, dict[EndpointNumber, _ProbeCounts]]


class _DrainReply(_MessagePart):
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


class _EndpointAccount(_MessagePart):
    publish_failures: int | None = None
    reader_drops: int | None = None
    counters: dict[str, int] = {}
    evidence: list[_Evidence] = []


class _CollectReply(_MessagePart):
    usage: list[_Usage]
    memory: _Memory
    endpoints: dict[EndpointNumber, _EndpointAccount]


class _ClockReply(_MessagePart):
    received_ns: int
    sent_ns: int


EVENTS: dict[str, type[BaseModel]] = {
    "first_message": _FirstMessageEvent,
    "finished": _FinishedEvent,
    "log": _LogEvent,
    "step": _StepEvent,
}
REPLIES: dict[str, type[BaseModel]] = {
    "open": _OpenReply,
    "create": _CreateReply,
    "match": _MatchReply,
    "probe": _ProbeReply,
    "settle": _SettleReply,
    "start": _StartReply,
    "drain": _DrainReply,
    "collect": _CollectReply,
    "clock": _ClockReply,
}


def event_model(event: dict[str, Any]) -> type[BaseModel] | None:
    """The model that an event must fit; None for an unknown event."""
    name = event["event"]
    return EVENTS.get(name) if isinstance(name, str) else None


def message_problem(model: type[BaseModel], message: dict[str, Any]) -> str | None:
    """The first fault of an event, a reply or a document, with its place; else None."""
    try:
        model.model_validate(message)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return None
