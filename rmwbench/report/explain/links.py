"""What the links carried, as a bar per arm and as tables: by class and sender, what each link lost
and to what, and how long each stream took to recover."""

from collections.abc import Iterator, Mapping, Sequence

from rmwbench.analysis.metrics.network.link_bytes import BYTES
from rmwbench.analysis.records.frames import CLASSES
from rmwbench.report.explain.explain_charts import shares as draw
from rmwbench.report.explain.figures import numbers, with_legend
from rmwbench.report.explain.shares import COUNTED, BarPart, ShareBar, percent
from rmwbench.report.view import LegendKey, Picture, Table
from rmwbench.results.shown import WorkloadAnswer, WorkloadArm
from rmwbench.results.workload.groups import VERDICTS, slowest
from rmwbench.words import numbers as fmt

KINDS = {
    "data": ("udp", "messages with their headers, repeats included"),
    "acknowledgement": (
        "reader",
        "acknowledgements, heartbeats, gaps, TCP segments without payload",
    ),
    "discovery": ("shm", "the middleware's own discovery"),
    "resolution": ("publisher", "address resolution and group membership"),
    "other": ("machine", "anything else"),
}
"""Class → whose colour it has, and what it is."""

SEEN = 0.002


def links(workload: WorkloadAnswer, *, phone: bool = False) -> Iterator[Picture]:
    """Of a workload whose hosts are behind links; nothing for any other."""
    arms = [arm for arm in workload.arms if arm.network]
    if not arms:
        return
    bars = [bar for arm in arms if (bar := _bar(arm)).parts]
    reading = (
        "The bytes that hosts sent into the network by what they carried; the number is all of "
        "them for each payload byte that reached another host."
    )
    axis = "share of the bytes"
    spec, narrow = draw(bars, axis), draw(bars, axis, narrow=True) if phone else None
    seen = {part.name for bar in bars for part in bar.parts}
    keys = [
        LegendKey(kind, COUNTED, name, words)
        for name, (kind, words) in KINDS.items()
        if name in seen
    ]
    tables = [table for table in (_sent(arms), _lost(arms), _recovered(arms)) if table.rows]
    yield with_legend(
        Picture("links", "What crossed the links", reading, spec, wide=True, narrow=narrow),
        keys,
        tables,
    )


def _bar(arm: WorkloadArm) -> ShareBar:
    sent = arm.network.sent if arm.network else ()
    parts = []
    for name in CLASSES:
        share = sum(one.share for one in sent if one.class_ == name)
        if share >= SEEN:
            text = percent(share)
            parts.append(
                BarPart(
                    name,
                    share,
                    KINDS[name][0],
                    COUNTED,
                    f"{name} {text}",
                    f"{text} {KINDS[name][1]}",
                )
            )
    return ShareBar(arm.arm, parts, fmt.metric(arm.metrics.get(BYTES)).text)


def _sent(arms: Sequence[WorkloadArm]) -> Table:
    found = [
        (
            arm.arm,
            one.host,
            one.class_,
            fmt.significant_count(one.frames),
            fmt.metric(one.bytes_per_s).full,
            percent(one.share),
        )
        for arm in arms
        if arm.network
        for one in arm.network.sent
    ]
    return numbers(
        "Who sent what",
        ("arm", "from", "what", "frames", "bytes per second", "of all bytes"),
        found,
        3,
    )


def _lost(arms: Sequence[WorkloadArm]) -> Table:
    found = [
        (
            arm.arm,
            f"{one.host} {one.direction}",
            _reasons(one.verdicts),
            fmt.metric(one.bytes_per_s).full,
            fmt.metric(one.lost).full,
        )
        for arm in arms
        if arm.network
        for one in arm.network.links
    ]
    return numbers(
        "What each link lost", ("arm", "link", "frames lost to", "let through", "lost"), found, 3
    )


def _reasons(verdicts: Mapping[str, int]) -> str:
    return (
        ", ".join(f"{VERDICTS.get(v, v)} {fmt.significant_count(n)}" for v, n in verdicts.items())
        or "none"
    )


def _recovered(arms: Sequence[WorkloadArm]) -> Table:
    found = [(arm.arm, *line) for arm in arms for line in slowest(arm)]
    return numbers(
        "Who recovered when", ("arm", "what", "away", "stream", "time to recover"), found, 4
    )
