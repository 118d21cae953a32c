"""Says what more blocks would decide: every open comparison, with the length of a campaign that
would decide it."""

import math
from collections.abc import Sequence

from rmwbench.results.answer import facts
from rmwbench.results.show_model import OpenComparison, SuiteAnswer, TopicAnswer, WorkloadAnswer
from rmwbench.words import numbers as fmt


def open_comparisons(
    workloads: Sequence[WorkloadAnswer], minutes_per_block: float | None
) -> tuple[OpenComparison, ...]:
    """Return an entry per arm that is open in a workload, or in a topic that is judged by itself;
    the one that needs the least time first (docs/formats/show.md)."""
    out = []
    for workload in workloads:
        judged = [topic for topic in workload.topics if topic.judged]
        for part in judged or (workload,):
            for arm in facts.contenders(part):
                if facts.verdict_of(arm) == "undecided":
                    minutes = fmt.finite(arm.verdict.minutes_to_decide)
                    out.append(
                        OpenComparison(
                            workload=workload.workload,
                            topic=part.topic if isinstance(part, TopicAnswer) else None,
                            arm=arm.arm,
                            against=arm.verdict.against,
                            blocks=None
                            if minutes is None or not minutes_per_block
                            else round(minutes / minutes_per_block),
                            minutes=minutes,
                        )
                    )
    return tuple(sorted(out, key=lambda c: math.inf if c.minutes is None else c.minutes))


def lines(suite: SuiteAnswer) -> list[str]:
    """Return a line for each length of campaign that decides something, then one for comparisons
    that no length is known to decide."""
    groups: dict[str, list[OpenComparison]] = {}
    for c in suite.more:
        groups.setdefault(_length(c), []).append(c)
    out, decided = [], 0
    for length, members in groups.items():
        listed = facts.names(_what(members))
        if members[0].minutes is None:
            out.append(f"{length}: {listed}")
        else:
            decided += len(members)
            out.append(f"{length}: {listed} ({decided} of {len(suite.more)} that are open)")
    return out


def _length(c: OpenComparison) -> str:
    if c.minutes is None:
        return "no number of blocks that is known to suffice"
    blocks = f"{fmt.counted(c.blocks, 'block')}, " if c.blocks else ""
    return f"{blocks}about {fmt.minutes(c.minutes)}"


def _what(members: list[OpenComparison]) -> list[str]:
    """Return `zenoh (whole: imu and front)`, `zenoh (camera)`."""
    topics: dict[tuple[str, str], list[str]] = {}
    for c in members:
        topics.setdefault((c.arm, c.workload), []).extend([c.topic] if c.topic else [])
    return [
        f"{arm} ({where}{': ' + facts.names(of) if of else ''})"
        for (arm, where), of in topics.items()
    ]
