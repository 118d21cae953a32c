"""The view of a likeness: a line per topic, and a sentence whether it is a twin."""

from rmwbench.report.view import Table, TableColumn, TableRow, Text, View, panel
from rmwbench.robot.twin.twin_likeness import TopicDifference, TwinLikeness, TwinTopicLikeness
from rmwbench.words import numbers as fmt

COLUMNS = (
    TableColumn("topic"),
    TableColumn("rate", right=True),
    TableColumn("size", right=True),
    TableColumn("like its source"),
)
LOSS_NOTE = (
    "Messages that {} does not deliver are missing here, too: play it with the middleware that "
    "recorded the bag (--with) to exclude that."
)


def view(
    likeness: TwinLikeness, source: str, other_name: str, middleware: str | None = None
) -> View:
    """The view of a likeness. `middleware` is the one that played the twin, if any."""
    rows = [_row(topic) for topic in likeness.topics]
    table = Table(COLUMNS, rows)
    return View(
        title=f"{other_name}, compared with {source}",
        sections=[
            panel("Topic by topic", ["Values are those of the source, then the other's."], table)
        ],
        answer=[
            Text(sentence(likeness), "good" if likeness.alike else "bad"),
            *(
                [Text(LOSS_NOTE.format(middleware), "muted")]
                if middleware and any(map(_lacks, likeness.unlike))
                else []
            ),
        ],
    )


def sentence(likeness: TwinLikeness) -> str:
    judged, unlike_topics = len(likeness.judged), likeness.unlike
    not_judged = len(likeness.topics) - judged
    note = f"; {fmt.counted(not_judged, 'topic')} not judged" if not_judged else ""
    if not judged:
        return f"Not decided: no topic can be judged{note}."
    if not unlike_topics:
        return f"A twin: {fmt.counted(judged, 'topic')} of {judged} like the source{note}."
    differences = "; ".join(f"{topic.topic} ({_differs(topic)})" for topic in unlike_topics)
    return f"Not a twin in {len(unlike_topics)} of {fmt.counted(judged, 'topic')}: {differences}{note}."


def _row(topic: TwinTopicLikeness) -> TableRow:
    by_name = {part.quantity: part for part in topic.differences}
    verdict = topic.why_not or ("yes" if topic.alike else _differs(topic))
    values = [_values(by_name[name]) if name in by_name else "–" for name in ("rate", "size")]
    tone = "muted" if topic.why_not else "" if topic.alike else "bad"
    return TableRow([topic.topic, *values, verdict], tone=tone)  # type: ignore[arg-type]


def _differs(topic: TwinTopicLikeness) -> str:
    if topic.missing:
        return "no message of it arrived"
    if topic.kinds is not None:
        return f"{_kind(topic.kinds[0])} in the source, {_kind(topic.kinds[1])} here"
    return ", ".join(
        f"{part.quantity} {_values(part)}" for part in topic.differences if not part.alike
    )


def _lacks(topic: TwinTopicLikeness) -> bool:
    """Whether messages that did not arrive may explain all differences."""
    unlike = {part.quantity for part in topic.differences if not part.alike}
    return (
        topic.missing
        or topic.kinds is not None
        or bool(unlike & {"rate", "messages", "missing messages"})
    )


def _kind(kind: str) -> str:
    return kind.replace("_", " ")


def _values(part: TopicDifference) -> str:
    return f"{_value(part.source, part.unit)} → {_value(part.twin, part.unit)}"


def _value(value: float, unit: str) -> str:
    if unit == "fraction":
        return fmt.percent(value) if value else "0 %"
    if unit == "Hz":
        return f"{value:.4g} Hz"
    return fmt.quantity(value, unit)
