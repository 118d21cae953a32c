"""Why a publisher did not send messages that were due: its own publish call, the call of another
publisher for which its thread waited, or neither.

A publisher is behind from the last message that it sent before the next message was due until its
schedule gave up. This time is divided into the time within its own publish calls, the time within
the calls of other publishers of its process, and the rest. The largest part is the cause of all
messages that the publisher never sent, since these wait in one queue.

Whether publishers of a process share a thread follows from the records: on one thread no two calls
overlap."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rmwbench.analysis.records.ledger import ABSENT, UnsentBy


@dataclass(frozen=True)
class Calls:
    """A publisher's messages in the order in which they were due, ns: arrays of shape (n,).
    `called_ns` is ABSENT where no call was made, `returned_ns` where none returned."""

    intended_ns: np.ndarray
    called_ns: np.ndarray
    returned_ns: np.ndarray

    def with_open_call(self) -> "Calls":
        """The calls with the call that had not returned when the trial was over, which has no
        record and began when its message was due, or when the call before it returned."""
        called = np.flatnonzero(self.called_ns != ABSENT)
        place = int(called[-1]) + 1 if len(called) else 0
        if place == len(self.called_ns):
            return self
        with_open_ns = self.called_ns.copy()
        with_open_ns[place] = self.returned_ns[:place].max(initial=self.intended_ns[place])
        return replace(self, called_ns=with_open_ns)

    @cached_property
    def spans(self) -> np.ndarray:
        """The publisher's calls in order of time, shape (calls, 2); a call that never returned has
        no end."""
        called = self.called_ns != ABSENT
        end = np.where(self.returned_ns == ABSENT, np.iinfo(np.int64).max, self.returned_ns)
        spans = np.stack([self.called_ns[called], end[called]], axis=1)
        ordered: np.ndarray = spans[np.argsort(spans[:, 0], kind="stable")]
        return ordered


def held_by(own: Calls, others: Sequence[Calls]) -> UnsentBy:
    """What held back the messages of `own`; `others` are the other publishers of its process."""
    spans, theirs = own.spans, [other.spans for other in others]
    since_ns, until_ns = _behind(own), _end([own, *others])
    own_ns = _within(spans, since_ns, until_ns)
    sibling_ns = 0
    if _one_thread([spans, *theirs]):
        sibling_ns = sum(_within(of_one, since_ns, until_ns) for of_one in theirs)
    rest_ns = until_ns - since_ns - own_ns - sibling_ns
    spent = ((UnsentBy.CALL, own_ns), (UnsentBy.SIBLING, sibling_ns), (UnsentBy.MACHINE, rest_ns))
    return max(spent, key=lambda cause: cause[1])[0]


def _behind(calls: Calls) -> int:
    """When the publisher fell behind: at the call of the last message that was sent before the next
    message was due, or else when the first message was due."""
    in_time = (calls.called_ns[:-1] != ABSENT) & (calls.called_ns[:-1] < calls.intended_ns[1:])
    places = np.flatnonzero(in_time)
    return int(calls.called_ns[places[-1]] if len(places) else calls.intended_ns[0])


def _end(calls: Iterable[Calls]) -> int:
    """When the schedule gave up, as far as the records show: at the last return, or the last due
    time."""
    return max(
        int(column.max())
        for publisher in calls
        for column in (publisher.intended_ns, publisher.called_ns, publisher.returned_ns)
        if len(column)
    )


def _within(spans: np.ndarray, since_ns: int, until_ns: int) -> int:
    return int(np.diff(np.clip(spans, since_ns, until_ns), axis=1).sum())


def _one_thread(calls: Sequence[np.ndarray]) -> bool:
    spans = np.concatenate(calls)
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    return bool((spans[1:, 0] >= spans[:-1, 1]).all())
