"""What a worker in Python implements: the harness's traits in Python's words.

Objects are plain classes with these methods; what a middleware does not have is left out of
`CAPABILITIES` and its methods. Every time is CLOCK_MONOTONIC in ns (`time.monotonic_ns`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

UNSUPPORTED, INVALID, FAILED = 0, 1, 2
TURN = 4
"""Messages taken from one reader before the others of its thread are looked at, as in
`rmwbench_worker.h`."""


class WorkerError(Exception):
    """`kind` is UNSUPPORTED, INVALID or FAILED; `about` names the object: `mode transport`,
    `endpoint 3`."""

    def __init__(self, kind: int, about: str, message: str):
        super().__init__(message)
        self.kind, self.about = kind, about


class Full(Exception):
    """A publish call gave up because a queue was full."""


@dataclass(frozen=True)
class Layout:
    """A message type: `cdr_prefix` + payload + `cdr_suffix` is the whole XCDR1 message,
    encapsulation included."""

    name: str
    ros_type: str
    dds_type: str
    payload_bytes: int
    cdr_prefix: bytes
    cdr_suffix: bytes


def payload_of(cdr: memoryview, layout: Layout) -> memoryview:
    """Return the payload between the two CDR parts; a shorter message has a shorter one."""
    begin = len(layout.cdr_prefix)
    return cdr[begin : begin + layout.payload_bytes]


@dataclass(frozen=True)
class Qos:
    """ROS 2's words; `depth` is without meaning where `keep_all`."""

    reliable: bool
    transient_local: bool
    keep_all: bool
    depth: int


@dataclass(frozen=True)
class EndpointConfig:
    endpoint: int
    topic: str
    dds_topic: str
    type: Layout
    reply_type: Layout | None
    dds_reply_topic: str
    qos: Qos
    wait: str
    """block, poll or callback"""


@dataclass(frozen=True)
class SessionConfig:
    profile_name: str
    profile_text: str
    options: dict[str, str]
    modes: dict[str, str]
    domain_id: int


@dataclass
class Granted:
    qos: Qos
    wait: str
    publish_mode: str = "default"
    notes: list[str] = field(default_factory=list)
    take: str = "typed"
    """typed or lent; of what reads. Python's workers copy into an object of the reader's own."""
    when_full: str = ""
    """blocks, overwrites_at_writer, drops_at_writer, drops_at_reader, never_full; empty where it is
    not known."""


@dataclass
class Account:
    """`counters` are the middleware's own; `evidence` lists (path, messages, note)."""

    counters: dict[str, int] = field(default_factory=dict)
    evidence: list[tuple[str, int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Profile:
    name: str
    format: str
    text: str
    summary: str


@dataclass(frozen=True)
class Description:
    middleware: str
    layer: str
    version: str
    release_date: str
    build: dict[str, str]
    capabilities: dict[str, str]
    profiles: list[Profile]
    modes: dict[str, str] = field(default_factory=dict)
    inherit: tuple[str, ...] = ()
    """Variables of the user's that the worker needs within a trial."""
    variants: dict[str, dict[str, str]] = field(default_factory=dict)
    """Middlewares that this one program can be, each with the variables that make it that one."""
    daemons: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Middleware → the daemons that each of its profiles needs, in the order of their start."""
    daemons_each_host: tuple[str, ...] = ()
    """Of the daemons' names, those that stand on every host of a trial."""


Deliver = Callable[[bytes | memoryview, int, int], None]
"""(payload, notified_ns, taken_ns): hands a message to the harness."""
Handle = Callable[[bytes | memoryview, int, int, Callable[[memoryview], None]], None]
"""The same for a request, with the function that sends its reply."""


class Endpoint(Protocol):
    def matched(self) -> int: ...

    def granted(self) -> Granted: ...

    def account(self) -> Account: ...

    def close(self) -> None: ...


class Publisher(Endpoint, Protocol):
    """A client too: its `publish` sends a request."""

    def publish(self, payload: memoryview) -> None: ...


class Composer(Publisher, Protocol):
    """A publisher whose users write into a message of the API's own before they publish it."""

    def own_memory(self, size: int) -> memoryview | None:
        """Where that message has its payload, `size` bytes that stay there; None where it cannot be
        had."""

    def publish_own(self) -> None:
        """Publishes what was written there, without a copy."""


class Node(Protocol):
    def publisher(self, config: EndpointConfig) -> Publisher: ...

    def subscription(self, config: EndpointConfig, deliver: Deliver) -> Endpoint: ...

    def client(self, config: EndpointConfig, deliver: Deliver) -> Publisher: ...

    def service(self, config: EndpointConfig, handle: Handle) -> Endpoint: ...

    def close(self) -> None: ...


class Session(Protocol):
    def node(self, name: str) -> Node: ...

    def configuration(self) -> tuple[str, str] | None:
        """(format, text) of the configuration in force; None where there is none to tell."""

    def close(self) -> None: ...


class Daemon(Protocol):
    def close(self) -> None: ...


class Middleware(Protocol):
    def describe(self) -> Description: ...

    def open(self, config: SessionConfig) -> Session: ...

    def daemon(self, name: str) -> Daemon:
        """Returns when it serves. Left out where the description names no daemons."""


def known_options(config: SessionConfig, known: dict[str, Any]) -> None:
    """Refuses options that nobody knows; modes are refused by the harness, from the description."""
    for option in config.options:
        if option not in known:
            raise WorkerError(
                INVALID, f"option {option}", "known options: " + (", ".join(known) or "none")
            )
