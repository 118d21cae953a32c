"""The questionnaire's document as lines for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rmwbench.published.questionnaire.pages import measured_at, summary
from rmwbench.published.questionnaire.responses import NOT_APPLICABLE
from rmwbench.words.printable import printable

Line = tuple[str, str]
"""Style and text."""


def lines(document: Mapping[str, Any]) -> Iterator[Line]:
    document = printable(dict(document))
    section = None
    for question in document["questions"]:
        if question["section"] != section:
            section = question["section"]
            yield "bold underline", f"\n{section}"
        yield "bold", f"\n{question['asks']}  ({question['id']})"
        if question["not_measured"]:
            yield "dim", f"  not measured: {question['not_measured']}"
        if question["remark"]:
            yield "dim", f"  {question['remark']}"
        for answer in question["answers"]:
            yield from _answer(answer, document["campaigns"])
    yield "", "\n" + summary(document).replace("**", "")


def _answer(answer: Mapping[str, Any], campaigns: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    yield "", f"  {answer['middleware']}: {answer['state']}"
    cell = None
    for row in answer["measured"]:
        here = (row["number"], row["workload"], row["arm"])
        if here != cell:
            cell = here
            what = f"{row['version']}, {row['layer']}, {row['profile']}"
            yield "dim", f"    {row['suite']}, {row['workload']}, {row['arm']} ({what})"
            yield "dim", f"    {measured_at(campaigns[row['number'] - 1])}"
        yield (
            "",
            f"      {row['title']}: {row['text']}"
            + (f"; {row['basis']}" if row["text"] == "no data" else ""),
        )
    for item in answer["evidence"]:
        where = item["command"] or item["url"]
        yield "", f"    {item['kind']}: {item['answer']}"
        if where:
            yield "dim", f"      {where}, {item['date']}"
    if answer["state"] != NOT_APPLICABLE and answer["without"]:
        yield "dim", "    open: " + "; ".join(f"rmwbench run {one}" for one in answer["without"])
