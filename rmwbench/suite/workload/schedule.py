"""The threads of a process that send for its publishers and clients.

`own`: each has a thread, so a publish call that takes long delays no other. `shared`: one thread
sends for all that begin together, in the order in which their messages are due, as a
single-threaded executor runs its timers. In older campaigns all were `shared`, which added the
publish call of a camera to the latency of a command's topic; so a cell stores `own`, and a stored
cell without a schedule is `shared`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rmwbench.suite.fault import Fault

Schedule = Literal["own", "shared"]

UNSHARED_ARRIVALS = ("relay", "saturation")
"""Kinds of arrival that share no thread: a relay sends in its subscription's callback, and a
saturation leaves no time for others."""
MOST_THREADS = 1_000
"""The most threads of a process. A thread's stack uses some tens of kilobytes, and the kernel's
limit for a user is some tens of thousands of threads."""


@dataclass(frozen=True)
class Sender:
    """A publisher or client. `joins`: the node and the time if it joins within a trial, so that it
    begins apart from the others of its process. `arrival`: the kind."""

    endpoint: int
    process: str
    joins: tuple[str, float] | None
    arrival: str


def sharing(senders: Iterable[Sender]) -> frozenset[int]:
    """The endpoints that share a thread with others under the schedule `shared`."""
    scheduled = [sender for sender in senders if sender.arrival not in UNSHARED_ARRIVALS]
    counts = Counter((sender.process, sender.joins) for sender in scheduled)
    return frozenset(
        sender.endpoint for sender in scheduled if counts[sender.process, sender.joins] > 1
    )


def check_threads(senders: Iterable[Sender]) -> None:
    """Raises Fault where `own` would start more threads in a process than it should have."""
    for process, count in Counter(sender.process for sender in senders).items():
        if count > MOST_THREADS:
            raise Fault(
                f"process `{process}` has too many publishers and clients for a thread each",
                expected=f"at most {MOST_THREADS}",
                actual=count,
                fix="`schedule: shared`, one thread for all, or several processes",
            )


def schedule_of(definition: Mapping[str, Any]) -> Schedule | None:
    """The schedule of a stored cell; None where no thread could be shared."""
    senders = (
        Sender(
            stored.get("endpoint", number),
            stored.get("process") or "",
            None if (at_s := stored.get("joins_s")) is None else (stored.get("node") or "", at_s),
            (stored.get("arrival") or {}).get("kind", UNSHARED_ARRIVALS[0]),
        )
        for number, stored in enumerate(definition.get("endpoints") or ())
    )
    if not sharing(senders):
        return None
    return "own" if definition.get("schedule") == "own" else "shared"
