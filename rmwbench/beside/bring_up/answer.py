"""The answer on bring-up: for each workload with lifecycle nodes and each arm, the number of trials
in which all nodes became active, the number of nodes that were active after certain times, and the
places at which the other nodes stopped. The verdict is that of the workload, by its primary
metric."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.bring_up import PLACES, TrialBringUp
from rmwbench.analysis.metrics.glossary import BRING_UP, METRICS
from rmwbench.bundle import Bundle
from rmwbench.results.judged_campaign import JudgedCampaign
from rmwbench.results.show_model import (
    ActiveAfter,
    ActiveNodes,
    BringUpAnswer,
    BringUpArm,
    BringUpRow,
    StoppedNodes,
)
from rmwbench.results.workload.workload_arm import ArmReport

TIMES_S = (0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600)
"""The times in s at which a report counts the active nodes."""
MOST_POINTS = 400
"""The largest number of points of a curve, whose chart is some hundred pixels wide."""
HEADINGS = {m.heading: m.name for m in METRICS if m.group is BRING_UP and m.heading}
"""Heading of a column -> its metric."""
TEXT = (
    "Time counts from the launch of the nodes, whose programs had been started before; a node is "
    "active when the manager knows it. Half, all: the time until that many are active. Complete: "
    "trials in which all became active. Nav2's manager stops at the first node that fails; the one "
    "used here skips it and continues."
)


def of_campaign(_bundle: Bundle, campaign: JudgedCampaign) -> dict[str, Any]:
    titles = {workload.name: workload.title for workload in campaign.workloads}
    return {"bring_up": bring_up_answer(campaign.arms, titles)}


def of_workload(arms: Sequence[ArmReport]) -> dict[str, Any]:
    return {"steady_s": steady_s(arms)}


def charts(arms: Sequence[ArmReport]) -> dict[str, Any]:
    up = (chart(arm.name, arm.trials) for arm in arms)
    return {"up": tuple(filter(None, up))}


def bring_up_answer(
    arms: Mapping[str, Sequence[ArmReport]], titles: Mapping[str, str]
) -> BringUpAnswer | None:
    """Return the answer on bring-up, None if nothing is brought up. `arms`: comparison → its arms;
    `titles`: comparison → its title."""
    rows = []
    for name, reports in arms.items():
        with_manager = [arm for arm in reports if arm.definition.get("bring_up")]
        if not with_manager:
            continue
        group = with_manager[0].definition["bring_up"]
        window_s = steady_s(with_manager)
        times_s = _times_s(with_manager, window_s)
        rows.append(
            BringUpRow(
                workload=name,
                title=titles[name],
                nodes=len(group["nodes"]),
                service_timeout_s=group["service_timeout_s"],
                window_s=window_s,
                arms=tuple(_arm(arm, times_s) for arm in with_manager),
            )
        )
    return BringUpAnswer(text=TEXT, rows=tuple(rows)) if rows else None


def steady_s(arms: Sequence[ArmReport]) -> float | None:
    """Return the length of the steady window of their trials, None if no definition has it."""
    return next(
        (arm.definition["timeline"]["steady_s"] for arm in arms if arm.definition.get("timeline")),
        None,
    )


def _arm(arm: ArmReport, times_s: Sequence[float]) -> BringUpArm:
    bring_ups = [trial.bring_up for trial in arm.trials if trial.bring_up is not None]
    stopped = sum((Counter(bring_up.stopped) for bring_up in bring_ups), Counter[str]())
    return BringUpArm(
        arm=arm.name,
        middleware=arm.cell["middleware"],
        version=arm.cell["version"],
        cell=arm.cell["cell"],
        not_supported=arm.not_supported,
        trials=len(bring_ups),
        blocks=len({trial.block for trial in arm.trials if trial.bring_up is not None}),
        complete=sum(bring_up.whole for bring_up in bring_ups),
        stopped=tuple(
            StoppedNodes(place=place, text=PLACES[place], nodes=stopped[place])
            for place in PLACES
            if stopped[place]
        ),
        nodes_of_all_trials=sum(bring_up.nodes for bring_up in bring_ups),
        up=tuple(
            ActiveAfter(after_s=after_s, nodes=round(active_after(bring_ups, after_s), 3))
            for after_s in times_s
            if bring_ups
        ),
    )


def active_after(trials: Sequence[TrialBringUp], after_s: float) -> float:
    """Return the number of nodes that are active so long after the launch, as the mean over
    trials."""
    return sum(ns <= after_s * 1e9 for trial in trials for ns in trial.up_ns) / len(trials)


def _times_s(arms: Sequence[ArmReport], window_s: float | None) -> list[float]:
    """Return the times in s at which the active nodes are counted: within the window, until the
    last node became active."""
    bring_ups = [trial.bring_up for arm in arms for trial in arm.trials if trial.bring_up]
    last_ns = max((b.up_ns[-1] for b in bring_ups if b.up_ns), default=0)
    times_s = [time_s for time_s in TIMES_S if window_s is None or time_s <= window_s]
    earlier = sum(time_s * 1e9 < last_ns for time_s in times_s)
    return times_s[: earlier + 1]


def chart(arm: str, trials: Sequence[MeasuredTrial]) -> ActiveNodes | None:
    """Return the points of `charts.up` of an arm, None if nothing is brought up: the number of
    active nodes over time as the mean over trials, with a point for each node that becomes active,
    and one at 0."""
    bring_ups = [trial.bring_up for trial in trials if trial.bring_up is not None]
    if not bring_ups:
        return None
    times_s = np.sort(np.array([ns for trial in bring_ups for ns in trial.up_ns], float)) / 1e9
    active = np.arange(1, len(times_s) + 1) / len(bring_ups)
    points = np.unique(np.linspace(0, len(times_s) - 1, min(len(times_s), MOST_POINTS)).astype(int))
    return ActiveNodes(
        arm=arm,
        nodes=bring_ups[0].nodes,
        time_s=(0.0, *(round(float(times_s[i]), 4) for i in points)),
        active=(0.0, *(round(float(active[i]), 3) for i in points)),
    )
