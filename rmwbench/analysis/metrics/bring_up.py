"""How lifecycle nodes come up under a manager: when each node was active, and at which step those
that never were active stopped.

The steps of the manager for each node are events of the trial (`step`, docs/formats/bundle.md).
Time counts from the command that starts the first node, as a launch file starts all nodes at once.
A node is active when its manager knows that it is: the change of state was answered, and the state
that the manager asked for then was `active`."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.records.clocks import STEP
from rmwbench.analysis.records.columns import Row
from rmwbench.analysis.stats.estimate import Measures

LAUNCHED, NOT_OPENED = "joining", "not_joined"
"""Events: a node that is told to start, and a process whose session did not open."""
STEPS = ("service", "configure", "activate")
"""The steps of a manager for each node, in order."""
DONE, TIMED_OUT, REFUSED, UNFINISHED = "done", "timed_out", "refused", "unfinished"
"""How a step ended; `unfinished`: when the window ended the step had not ended, or not begun."""
SESSION = "session"
"""The place of nodes whose session did not open; their manager sees only a missing service."""
PLACES = {
    f"{SESSION}.{REFUSED}": "session did not open",
    "service.timed_out": "service not available",
    "configure.timed_out": "configure timed out",
    "configure.refused": "configure refused",
    "activate.timed_out": "activate timed out",
    "activate.refused": "activate refused",
    "service.refused": "service not usable",
    "service.unfinished": "still waited for when the window ended",
    "configure.unfinished": "not configured when the window ended",
    "activate.unfinished": "not activated when the window ended",
}
"""Where a node stopped, in words."""
FRACTIONS = {"never_active": (SESSION, *STEPS)} | {
    f"stopped_at_{place}": (place,) for place in (SESSION, *STEPS)
}
"""Metric → steps; the metric is the share of the nodes that stopped at one of them."""
NONE = "nothing is brought up in this workload"
NO_CHANGE = "the manager asked no node to change its state"
NO_PSS = "the counter pss was not read"
NO_CPU = "the processor time was not read at both ends of the window"


@dataclass(frozen=True)
class TrialBringUp:
    """The bring-up of one trial. `up_ns`: when each node was active, counted from the launch,
    ascending; `stopped`: STEP.OUTCOME → how many nodes stopped there and were never active;
    `longest_change_ns`: the longest change of state, infinite where one was not answered, None
    where none began."""

    nodes: int
    up_ns: tuple[float, ...]
    stopped: Mapping[str, int]
    longest_change_ns: float | None

    @property
    def whole(self) -> bool:
        """Whether all nodes are active, as Nav2's manager demands."""
        return len(self.up_ns) == self.nodes

    def stopped_at(self, steps: Collection[str]) -> int:
        """How many nodes stopped at one of these steps and were never active."""
        return sum(n for place, n in self.stopped.items() if place.partition(".")[0] in steps)

    def until_ns(self, share: float) -> float:
        """The time until this share of the nodes was active; infinite where it never was."""
        needed = max(1, math.ceil(self.nodes * share - 1e-9))
        return self.up_ns[needed - 1] if needed <= len(self.up_ns) else math.inf


def bring_up(
    events: Iterable[Row], definition: Mapping[str, Any], end_ns: int | None
) -> TrialBringUp | None:
    """The bring-up of a trial, from its rows of `events` and its cell's definition; an event after
    `end_ns`, the window's end, came too late. None where the cell brings nothing up, or nothing was
    launched."""
    planned = definition.get("bring_up")
    rows = list(events)
    launched = [row["time_ns"] for row in rows if row["event"] == LAUNCHED]
    if not planned or not launched:
        return None
    last: dict[str, tuple[str, str, int]] = {}
    """Node → its last step, its outcome and its time."""
    changes: list[float] = []
    steps = (row for row in rows if row["event"] == STEP)
    for row in sorted(steps, key=lambda row: row["time_ns"]):
        step, _, outcome = row["code"].partition(".")
        # A change that was under way at the end of the window counts with its whole time.
        if step != STEPS[0] and (end_ns is None or row["value"] <= end_ns):
            took_ns = float(row["time_ns"] - row["value"])
            changes.append(math.inf if outcome == TIMED_OUT else took_ns)
        if end_ns is None or row["time_ns"] <= end_ns:
            last[row["text"]] = step, outcome, row["time_ns"]
    unopened = {row["process"] for row in rows if row["event"] == NOT_OPENED}
    processes = [process for process in definition["processes"] if process["name"] in unopened]
    without_session = {node for process in processes for node in process["nodes"]}
    begin_ns = min(launched)
    up: list[float] = []
    stopped: Counter[str] = Counter()
    for node in planned["nodes"]:
        step, outcome, time_ns = last.get(node, ("", DONE, 0))
        if (step, outcome) == (STEPS[-1], DONE):
            up.append(float(time_ns - begin_ns))
        elif node in without_session:
            stopped[f"{SESSION}.{REFUSED}"] += 1
        elif outcome == DONE:
            following = STEPS[STEPS.index(step) + 1] if step else STEPS[0]
            stopped[f"{following}.{UNFINISHED}"] += 1
        else:
            stopped[f"{step}.{outcome}"] += 1
    return TrialBringUp(
        len(planned["nodes"]), tuple(sorted(up)), dict(stopped), max(changes, default=None)
    )


def metrics(
    trial: TrialBringUp | None, costs: Mapping[str, float], window_ns: int | None
) -> Measures:
    """The metrics of a trial; fractions are of its nodes. `costs` has `pss` and `cpu_cores` of all
    processes, the manager and daemons included, where they were read."""
    if trial is None:
        return dict.fromkeys(names_of(MetricScope.NODES), NONE)
    longest_ns, pss, cores = trial.longest_change_ns, costs.get("pss"), costs.get("cpu_cores")
    return {
        "bring_up_time": trial.until_ns(1.0),
        "half_up_time": trial.until_ns(0.5),
        "longest_change": NO_CHANGE if longest_ns is None else longest_ns,
        "pss_per_node": NO_PSS if pss is None else pss / trial.nodes,
        "cpu_per_node": NO_CPU
        if cores is None or not window_ns
        else cores * window_ns / trial.nodes,
    } | {name: (trial.stopped_at(steps), trial.nodes) for name, steps in FRACTIONS.items()}
