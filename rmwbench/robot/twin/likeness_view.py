"""What is shown of a likeness: a line per topic, and in one sentence whether it is a twin."""

from rmwbench.report.view import Table, TableColumn, TableRow, Text, View, panel
from rmwbench.robot.twin.twin_likeness import TopicDifference, TwinLikeness, TwinTopicLikeness
from rmwbench.words import numbers as fmt

COLUMNS = (
    TableColumn("topic"),
    TableColumn("rate", right=True),
    TableColumn("size", right=True),
    TableColumn("like its source"),
)
BY = (
    "What {} does not deliver is missing here, too: play it with the middleware that recorded the "
    "bag (--with) to tell a twin from a loss."
)


def view(found: TwinLikeness, source: str, other: str, by: str | None = None) -> View:
    """`by`: the middleware that it was played with."""
    rows = [_row(one) for one in found.topics]
    table = Table(COLUMNS, rows)
    return View(
        title=f"{other}, compared with {source}",
        sections=[
            panel("Topic by topic", ["Values are those of the source, then the other's."], table)
        ],
        answer=[
            Text(sentence(found), "good" if found.alike else "bad"),
            *([Text(BY.format(by), "muted")] if by and any(map(_lacks, found.unlike)) else []),
        ],
    )


def sentence(found: TwinLikeness) -> str:
    judged, unlike = len(found.judged), found.unlike
    beside = len(found.topics) - judged
    apart = f"; {fmt.counted(beside, 'topic')} with too few messages to judge" if beside else ""
    if not judged:
        return f"Not told: no topic has enough messages{apart}."
    if not unlike:
        return f"A twin: {fmt.counted(judged, 'topic')} of {judged} like the source{apart}."
    named = "; ".join(f"{one.topic} ({_differs(one)})" for one in unlike)
    return f"Not a twin in {len(unlike)} of {fmt.counted(judged, 'topic')}: {named}{apart}."


def _row(one: TwinTopicLikeness) -> TableRow:
    by_name = {part.what: part for part in one.compared}
    said = one.why_not or ("yes" if one.alike else _differs(one))
    values = [_values(by_name[name]) if name in by_name else "–" for name in ("rate", "size")]
    tone = "muted" if one.why_not else "" if one.alike else "bad"
    return TableRow([one.topic, *values, said], tone=tone)  # type: ignore[arg-type]


def _differs(one: TwinTopicLikeness) -> str:
    if one.missing:
        return "nothing of it arrived"
    if one.kinds is not None:
        return f"{_kind(one.kinds[0])} in the source, {_kind(one.kinds[1])} here"
    return ", ".join(f"{part.what} {_values(part)}" for part in one.compared if not part.alike)


def _lacks(one: TwinTopicLikeness) -> bool:
    """Whether messages that did not arrive may be all that it is unlike in."""
    fewer = any(
        part.what in ("rate", "missing messages") for part in one.compared if not part.alike
    )
    return one.missing or one.kinds is not None or fewer


def _kind(kind: str) -> str:
    return kind.replace("_", " ")


def _values(part: TopicDifference) -> str:
    return f"{_value(part.source, part.unit)} → {_value(part.twin, part.unit)}"


def _value(value: float, unit: str) -> str:
    if unit == "fraction":
        return fmt.percent(value) if value else "0 %"
    if unit == "Hz":
        return f"{value:.4g} Hz"
    if unit == "count":
        return fmt.significant(value)
    return fmt.quantity(value, unit)
