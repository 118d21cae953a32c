"""The topics of a workload as a matrix: arms down, topics across, in each place the primary metric,
what did not arrive, and a mark for the verdict. One place, so that terminal, page and Markdown agree.
"""

from dataclasses import dataclass

from rmwbench.results.answer import facts
from rmwbench.results.shown import Topic, TopicArm, Workload
from rmwbench.words import numbers as fmt

MARKS = {
    "best": "★",
    "equivalent": "=",
    "worse": "✗",
    "undecided": "?",
    "alone": "",
    "reference": "",
    "no data": "·",
}
KEY = "★ best, = equivalent, ✗ worse, ? undecided, · no data"


@dataclass(frozen=True)
class Cell:
    """An arm in a topic: `value` of the primary metric, what did not arrive in `missing` (`lost
    12 %`, `never sent 28 %`; empty where all did), the `verdict`, its `mark` (empty where the topic
    is not judged), by `what` a worse one is worse, `full` with the interval, `reason`."""

    value: str
    full: str
    missing: str
    verdict: str
    mark: str
    what: str
    reason: str

    @property
    def text(self) -> str:
        """`175 ms ✗`, and in a second line `lost 12 %`."""
        value = f"{self.value} {self.mark}".rstrip()
        return f"{value}\n{self.missing}" if self.missing else value


@dataclass(frozen=True)
class Row:
    """`worst`: the topic that the arm's verdict of the workload rests on; empty where none does."""

    arm: str
    role: str
    cells: tuple[Cell, ...]
    verdict: str
    worst: str


def rows(workload: Workload) -> list[Row]:
    found = []
    for place, arm in enumerate(workload.arms):
        cells = tuple(_cell(topic, topic.arms[place]) for topic in workload.topics)
        verdict = arm.verdict
        found.append(Row(arm.label, arm.role, cells, verdict.verdict, verdict.topic or ""))
    return found


def _cell(topic: Topic, arm: TopicArm) -> Cell:
    shown = fmt.metric(arm.metrics.get(topic.primary_metric))
    verdict = facts.verdict_of(arm)
    return Cell(
        "never" if shown.state == "never" else shown.text,
        shown.full,
        facts.fates_of(arm, topic).short(),
        verdict if topic.judged else "",
        MARKS.get(verdict, "") if topic.judged else "",
        facts.by_what(arm),
        arm.verdict.reason,
    )
