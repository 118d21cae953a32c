"""Which thread of a process sends for its publishers and clients.

`own`: each has one, so a publish call that takes long makes nobody else late. `shared`: one sends
for all that begin together, in the order in which their messages are due, as a single-threaded
executor runs its timers. Until there was a choice all were `shared`, which charged a command's
topic with the publish call of the camera beside it; so a cell stores `own`, and says nothing where
it is `shared`, as cells from before do.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rmwbench.suite.fault import Fault

Schedule = Literal["own", "shared"]

WITHOUT = ("relay", "saturation")
"""Kinds of arrival that share no thread: a relay sends in its subscription's callback, and one that
sends as fast as it can lets nobody else have a turn."""
MOST_THREADS = 1_000
"""In a process. A thread's stack takes memory as it is used, some tens of kilobytes; what the
kernel lets one user have of threads is some tens of thousands."""


@dataclass(frozen=True)
class Sender:
    """A publisher or client. `joins`: its node and the time, where it joins in the course of a
    trial, by which it is begun apart from the others of its process; `arrival`: its kind."""

    endpoint: int
    process: str
    joins: tuple[str, float] | None
    arrival: str


def sharing(senders: Iterable[Sender]) -> frozenset[int]:
    """The endpoints for which one thread sends, along with others, where the schedule is
    `shared`."""
    scheduled = [sender for sender in senders if sender.arrival not in WITHOUT]
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
    """The schedule of a cell as it is stored; None where no thread could be shared."""
    senders = (
        Sender(
            stored.get("endpoint", number),
            stored.get("process") or "",
            None if (at_s := stored.get("joins_s")) is None else (stored.get("node") or "", at_s),
            (stored.get("arrival") or {}).get("kind", WITHOUT[0]),
        )
        for number, stored in enumerate(definition.get("endpoints") or ())
    )
    if not sharing(senders):
        return None
    return "own" if definition.get("schedule") == "own" else "shared"
