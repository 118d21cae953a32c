"""Where a suite asks for `schedule: shared`, publishers of one process share a thread, as timers
share a single-threaded executor. One's publish call then makes another late, whose response latency
holds the harness's own queue: that is flagged. With a thread each it cannot happen."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.codes import Code, Reason
from rmwbench.lab.process.records import SENT, RecordSection

LATE_NS = 100_000
"""A schedule thread that is only woken is later than this on a busy machine alone."""
SHARE = 0.01
WARMUP = 4


def flags(outcome: TrialOutcome) -> Iterator[Reason]:
    """A flag per publisher or client of which at least 1 % of the steady messages waited more than
    0.1 ms for the publish call of another one that shares its thread."""
    cell = outcome.order.cell
    if cell.schedule != "shared":
        return
    senders = {sender.endpoint: sender for sender in cell.senders}
    by_thread: dict[tuple[str, Any], list[RecordSection]] = defaultdict(list)
    for section in outcome.sections:
        if section.kind == SENT and section.endpoint in cell.sharing and len(section.rows):
            sender = senders[section.endpoint]
            by_thread[sender.process, sender.late].append(section)
    for (process, _), sections in by_thread.items():
        for endpoint, share, longest_ns in _held_up(sections):
            if share >= SHARE:
                yield Reason(
                    Code.LATE_BY_SIBLING,
                    f"late_by_sibling: {100 * share:.2g} % of the messages of endpoint {endpoint} "
                    f"waited for the publish call of another publisher of process {process}, at "
                    f"most {longest_ns / 1e6:.3g} ms",
                )


def _held_up(sections: list[RecordSection]) -> Iterator[tuple[int, float, int]]:
    """Per publisher: the share of its steady messages that a sibling held up, and the longest time
    in ns."""
    columns = {
        name: np.concatenate([section.rows[name] for section in sections]).astype(np.int64)
        for name in ("intended_ns", "begun_ns", "return_ns", "flags")
    }
    owner = np.concatenate([np.full(len(section.rows), section.endpoint) for section in sections])
    order = np.argsort(columns["begun_ns"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    owner = owner[order]
    # One thread: what was sent just before a message is what it waited for, if it was due by then.
    waited_ns = np.zeros(len(owner), np.int64)
    waited_ns[1:] = columns["return_ns"][:-1] - columns["intended_ns"][1:]
    by_sibling = np.zeros(len(owner), bool)
    by_sibling[1:] = owner[1:] != owner[:-1]
    held_up = by_sibling & (waited_ns > LATE_NS)
    steady = (columns["flags"] & WARMUP) == 0
    for endpoint in np.unique(owner):
        mine = steady & (owner == endpoint)
        if mine.any():
            held = mine & held_up
            longest_ns = int(waited_ns[held].max()) if held.any() else 0
            yield int(endpoint), float(held.sum() / mine.sum()), longest_ns
