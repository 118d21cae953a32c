"""The figures that explain an arm's numbers on the page, each with its legend in words and with the
same as tables: nothing is in a picture or a colour only. Where there is nothing to explain, a
sentence says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rmwbench.report.explain import shares
from rmwbench.report.explain.explain_charts import shares as draw
from rmwbench.report.explain.shares import CLAIMED, COUNTED, INFERRED, ShareBar, percent
from rmwbench.report.view import LegendKey, Picture, Table, TableColumn
from rmwbench.results.shown import WorkloadAnswer, WorkloadArm
from rmwbench.results.workload.lost_messages import measure, slow_of
from rmwbench.words import numbers as fmt

PHASES = {"late": "waiting to be sent", "writing": "writing", "flight": "in flight"}
WORST = 3


def with_legend(picture: Picture, keys: Sequence[LegendKey], tables: Sequence[Table]) -> Picture:
    return replace(picture, keys=keys, tables=tables)


def numbers(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], first: int) -> Table:
    """A table whose columns from `first` on are numbers."""
    columns = [TableColumn(head, right=n >= first) for n, head in enumerate(heads)]
    return Table(columns, rows, title)


def explained(workload: WorkloadAnswer, *, phone: bool = False) -> Iterator[Picture]:
    """Paths, losses and causes of a workload."""
    arms = workload.arms
    yield _paths(arms, phone)
    yield _causes(arms, phone)
    yield _places(arms, phone)


def _figure(
    key: str, title: str, reading: str, bars: list[ShareBar], axis: str, phone: bool, *, wide: bool
) -> Picture:
    spec = draw(bars, axis)
    return Picture(
        key,
        title,
        reading,
        spec,
        wide=wide,
        narrow=draw(bars, axis, narrow=True) if phone else None,
    )


def _paths(arms: Sequence[WorkloadArm], phone: bool) -> Picture:
    bars = shares.paths(arms)
    title = "Where the bytes went"
    if not bars:
        return Picture("paths", title, "No data: nobody looked at the paths of these trials.", None)
    reading = "The share of the payload that took each path."
    known = {part.known for bar in bars for part in bar.parts}
    keys = shares.path_keys(bars)
    words = {
        COUNTED: ("filled", "counted by the kernel"),
        CLAIMED: (
            "outlined",
            "the middleware's own word, and the kernel's counters leave room for it",
        ),
        INFERRED: ("dashed", "inferred: what the counters leave over"),
    }
    keys += [LegendKey("unknown", how, *words[how]) for how in words if how in known]
    rows = [
        (
            arm.arm,
            shares.PATHS.get(one.path, one.path),
            one.interface or "–",
            one.label,
            percent(one.fraction),
        )
        for arm in arms
        for one in arm.paths
    ]
    table = numbers("", ("arm", "path", "interface", "how it is known", "share"), rows, 4)
    return with_legend(
        _figure("paths", title, reading, bars, "share of the payload", phone, wide=False),
        keys,
        (table,),
    )


def _places(arms: Sequence[WorkloadArm], phone: bool) -> Picture:
    bars = shares.places(arms)
    title = "Where messages went missing"
    under_way = "".join(f" {arm.arm}: {text}." for arm in arms if (text := slow_of(arm.losses)))
    if not bars:
        done = [arm for arm in arms if arm.trials.done]
        of = "" if len(done) == len(arms) else " of those with a trial that was done"
        nowhere = f"Nowhere: no arm{of} misses a message.{under_way}"
        if not done:
            nowhere = "No data: no trial was done."
        return Picture("places", title, nowhere, None, wide=True)
    reading = (
        "The share of the wanted messages that did not arrive sound and in time, only of arms that "
        "miss some. Filled: counted there. Outlined: at most so many, because the place counts "
        f"something else than messages. Dashed: inferred, or not located.{under_way}"
    )
    rows = []
    for arm in arms:
        losses = arm.losses
        if losses is None:
            continue
        for one in losses.places:
            if one.messages:
                share = percent(one.messages / losses.wanted)
                rows.append((arm.arm, one.place, one.text, measure(one), share))
        if losses.not_located:
            share = percent(losses.not_located / losses.wanted)
            count = fmt.counted(losses.not_located, "message")
            rows.append((arm.arm, "not located", "", count, share))
    table = numbers("", ("arm", "place", "what it means", "messages", "of the wanted"), rows, 4)
    figure = _figure(
        "places", title, reading, bars, "share of the wanted messages", phone, wide=True
    )
    return with_legend(figure, shares.place_keys(arms), (table,))


def _causes(arms: Sequence[WorkloadArm], phone: bool) -> Picture:
    bars = shares.causes(arms)
    title = "Why the slowest were slow"
    if not bars:
        reading = "No arm has a message that took twice its median, or too few arrived to say."
        return Picture("causes", title, reading, None)
    reading = (
        "The slowest messages of each arm's worst trial by their cause; the number is the slowest "
        "of all. A cause is named where evidence covers half of what the message took beyond the "
        "median."
    )
    rows, worst = [], []
    unwatched: dict[str, None] = {}
    for arm in arms:
        for tail in arm.tails[:1]:
            unwatched |= dict.fromkeys(tail.unwatched)
            rows += [
                (arm.arm, one.cause, str(one.messages), percent(one.share)) for one in tail.causes
            ]
            worst += [
                (
                    arm.arm,
                    f"trial {tail.trial}, seq {one.seq}",
                    one.cause,
                    *tuple(fmt.quantity(one.phases_ns.get(phase), "ns") for phase in PHASES),
                    fmt.quantity(one.latency_ns, "ns"),
                )
                for one in tail.worst[:WORST]
            ]
    if unwatched:
        reading += f" Not watched: {', '.join(unwatched)}."
    tables = (
        numbers(
            f"The {WORST} slowest of each arm",
            ("arm", "message", "cause", *PHASES.values(), "together"),
            worst,
            3,
        ),
        numbers("All by cause", ("arm", "cause", "messages", "share"), rows, 2),
    )
    figure = _figure(
        "causes", title, reading, bars, "share of the slowest messages", phone, wide=False
    )
    return with_legend(figure, shares.cause_keys(arms), tables)
