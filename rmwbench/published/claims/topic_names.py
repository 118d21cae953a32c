"""What a test's `topic` may name: a topic that the workload is judged by, besides others
(`analysis.metrics.judged_topics`).

The names follow from the suite, so a wrong name is an error when the claims file is read. A suite
that cannot be read here is no mistake of the claims file: then any name is accepted.
"""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rmwbench.analysis.metrics.judged_topics import (
    OF_TOPICS,
    Topic,
    judged_topics,
    planned_endpoints,
)
from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.fault import Fault, unknown
from rmwbench.suite.file.load import parse
from rmwbench.suite.file.suite_files import find, path_text, read

if TYPE_CHECKING:
    from rmwbench.published.claims.claims_file import ClaimTest


def check(test: "ClaimTest", at: tuple[str | int, ...]) -> None:
    """Raise Fault, counted from `at`, for a metric that no topic has and for a topic that the
    workload does not have."""
    for metric, topic in test.inputs:
        if topic is not None and metric not in OF_TOPICS:
            key = next(
                key
                for key in ("metric", "times_metric", "right_metric")
                if getattr(test, key) == metric
            )
            raise unknown("metric of a topic", metric, list(OF_TOPICS), at=(*at, key))
    topics = _topics_of_suite(test.suite)
    if topics is None:
        return
    right_key = "right_topic" if test.right_topic else "topic"
    left, right = test.topics
    for key, topic, workload in (
        ("topic", left, test.workload),
        (right_key, right if test.right else None, test.right_workload or test.workload),
    ):
        if topic is not None:
            _check_name(topic, workload, topics, (*at, key))


def steady_messages(cell: Cell, topic: str | None) -> int:
    """Return the fewest messages that a reader of the topic should see in the steady state of one
    trial. `topic` None: the whole workload. The result is 0 if the workload does not have the
    topic."""
    if topic is None:
        return cell.steady_messages
    endpoints = next((x.endpoints for x in _topics(cell) if x.name == topic), frozenset())
    messages = (x.steady_messages for x in cell.endpoints if x.reads and x.endpoint in endpoints)
    return min(messages, default=0)


def _check_name(
    topic: str, workload: str | None, topics: dict[str, tuple[str, ...]], at: tuple[str | int, ...]
) -> None:
    if workload is not None and workload not in topics:
        raise unknown("workload", workload, list(topics), at=at)
    of_workloads = topics.values() if workload is None else [topics[workload]]
    names = list(dict.fromkeys(name for of_workload in of_workloads for name in of_workload))
    if not names:
        subject = f"workload `{workload}`" if workload is not None else "the suite"
        raise Fault(
            f"{subject} has no topics that are judged one by one",
            expected="no topic: it has one, or all are alike, and its metrics are those of all of "
            "them",
            actual=topic,
            at=at,
        )
    if topic not in names:
        raise unknown("topic", topic, names, at=at)


def _topics_of_suite(name: str) -> dict[str, tuple[str, ...]] | None:
    """Return workload -> the names of its topics, at any levels; None for a suite that cannot be
    read here."""
    try:
        path = find(name)
        return _topics_of_text(read(path), path_text(path), path.parent)
    except UserError:
        return None


@lru_cache(maxsize=8)
def _topics_of_text(text: str, where: str, directory: Path) -> dict[str, tuple[str, ...]]:
    """Return what `_topics_of_suite` does, for the text of a suite; texts are cached."""
    try:
        suite = parse(text, where=where, directory=directory)
    except UserError:
        # A middleware of the user's own? To look for those takes as long as all claims of a source.
        from rmwbench.lab.middleware import names_here

        suite = parse(text, where=where, directory=directory, middlewares=names_here())
    topics: dict[str, dict[str, None]] = {workload.name: {} for workload in suite.workloads}
    conditions = set()
    for cell in cells(suite):
        condition = (cell.workload.name, tuple(map(str, cell.factors.values())))
        if condition not in conditions:  # the arms of a condition have the same topics
            conditions.add(condition)
            topics[cell.workload.name] |= dict.fromkeys(topic.name for topic in _topics(cell))
    return {workload: tuple(names) for workload, names in topics.items()}


def _topics(cell: Cell) -> list[Topic]:
    definition = cell.definition()
    return judged_topics(planned_endpoints(definition), definition)
