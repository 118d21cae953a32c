"""What more blocks would decide: every comparison that is open, with how long a campaign would have
to be."""

import math
from collections.abc import Sequence

from rmwbench.results.answer import facts
from rmwbench.results.shown import OpenComparison, SuiteAnswer, TopicAnswer, WorkloadAnswer
from rmwbench.words import numbers as fmt


def more(
    workloads: Sequence[WorkloadAnswer], minutes_per_block: float | None
) -> tuple[OpenComparison, ...]:
    """`more` of the show document (docs/formats/show.md), what takes least first: one entry per arm
    that is open in a workload, or in a topic that is judged by itself."""
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
    return tuple(sorted(out, key=lambda one: math.inf if one.minutes is None else one.minutes))


def lines(shown: SuiteAnswer) -> list[str]:
    """The same in words: a line for each length of campaign that decides something, then what none
    would decide."""
    groups: dict[str, list[OpenComparison]] = {}
    for one in shown.more:
        groups.setdefault(_length(one), []).append(one)
    out, decided = [], 0
    for length, members in groups.items():
        listed = facts.names(_what(members))
        if members[0].minutes is None:
            out.append(f"{length}: {listed}")
        else:
            decided += len(members)
            out.append(f"{length}: {listed} ({decided} of {len(shown.more)} that are open)")
    return out


def _length(one: OpenComparison) -> str:
    if one.minutes is None:
        return "no number of blocks that is known to suffice"
    blocks = f"{fmt.counted(one.blocks, 'block')}, " if one.blocks else ""
    return f"{blocks}about {fmt.minutes(one.minutes)}"


def _what(members: list[OpenComparison]) -> list[str]:
    """`zenoh (whole: imu and front)`, `zenoh (camera)`."""
    topics: dict[tuple[str, str], list[str]] = {}
    for one in members:
        topics.setdefault((one.arm, one.workload), []).extend([one.topic] if one.topic else [])
    return [
        f"{arm} ({where}{': ' + facts.names(of) if of else ''})"
        for (arm, where), of in topics.items()
    ]
