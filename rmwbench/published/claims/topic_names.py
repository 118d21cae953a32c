"""What a test's `topic` may name: a topic that its workload is judged by besides others
(`analysis.metrics.judged_topics`).

The names follow from the suite, so a wrong one is told when the claims file is read. A suite that
cannot be read here is not a mistake of the claims file: then `topic` is taken as it stands.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rmwbench.analysis.metrics.judged_topics import OF_TOPICS, Topic, judged_topics
from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.fault import Fault, unknown
from rmwbench.suite.file.load import parse
from rmwbench.suite.file.places import find, read, shown

if TYPE_CHECKING:
    from rmwbench.published.claims.claims_file import ClaimTest


def check(test: "ClaimTest", at: tuple[str | int, ...]) -> None:
    """Fault, counted from `at`, for a metric that no topic has and for a topic that the workload
    does not have."""
    for metric, topic in test.inputs:
        if topic is not None and metric not in OF_TOPICS:
            key = next(
                key
                for key in ("metric", "times_metric", "right_metric")
                if getattr(test, key) == metric
            )
            raise unknown("metric of a topic", metric, list(OF_TOPICS), at=(*at, key))
    known = _of_suite(test.suite)
    if known is None:
        return
    of_right = "right_topic" if test.right_topic else "topic"
    left, right = test.topics
    for key, topic, workload in (
        ("topic", left, test.workload),
        (of_right, right if test.right else None, test.right_workload or test.workload),
    ):
        if topic is not None:
            _check_name(topic, workload, known, (*at, key))


def steady_messages(cell: Cell, topic: str | None) -> int:
    """The fewest messages that a reader of the topic should see in the steady state of one trial;
    of the whole workload where `topic` is None, and 0 where the workload does not have it."""
    if topic is None:
        return cell.steady_messages
    own = next((one.endpoints for one in _of_cell(cell) if one.name == topic), frozenset())
    return min(
        (e.steady_messages for e in cell.endpoints if e.reads and e.endpoint in own), default=0
    )


def _check_name(
    topic: str, workload: str | None, known: dict[str, tuple[str, ...]], at: tuple[str | int, ...]
) -> None:
    if workload is not None and workload not in known:
        raise unknown("workload", workload, list(known), at=at)
    asked_workloads = known if workload is None else {workload: known[workload]}
    names = list(dict.fromkeys(name for topics in asked_workloads.values() for name in topics))
    if not names:
        of = f"workload `{workload}`" if workload is not None else "the suite"
        raise Fault(
            f"{of} has no topics that are judged one by one",
            expected="no topic: it has one, or all are alike, and its metrics are those of all of "
            "them",
            actual=topic,
            at=at,
        )
    if topic not in names:
        raise unknown("topic", topic, names, at=at)


def _of_suite(name: str) -> dict[str, tuple[str, ...]] | None:
    """Workload -> the names of its topics, at whatever levels; None for a suite that cannot be read
    here."""
    try:
        path = find(name)
        return _of_text(read(path), shown(path), path.parent)
    except UserError:
        return None


@lru_cache(maxsize=8)
def _of_text(text: str, where: str, directory: Path) -> dict[str, tuple[str, ...]]:
    """As `_of_suite`. What was read once is not read again."""
    try:
        suite = parse(text, where=where, directory=directory)
    except UserError:
        # A middleware of the user's own? To look for those takes as long as all claims of a source.
        from rmwbench.lab.middleware import names_here

        suite = parse(text, where=where, directory=directory, middlewares=names_here())
    topics: dict[str, dict[str, None]] = {workload.name: {} for workload in suite.workloads}
    seen = set()
    for cell in cells(suite):
        case = (cell.workload.name, tuple(map(str, cell.factors.values())))
        if case not in seen:  # arms do not change it
            seen.add(case)
            topics[cell.workload.name] |= dict.fromkeys(one.name for one in _of_cell(cell))
    return {workload: tuple(names) for workload, names in topics.items()}


def _of_cell(cell: Cell) -> list[Topic]:
    """As a trial's rows of `endpoints` would tell them."""
    rows = [
        {
            "endpoint": endpoint.endpoint,
            "kind": endpoint.kind,
            "node": endpoint.node,
            "process": endpoint.process,
            "host": endpoint.host,
            "topic": endpoint.topic,
            "type": endpoint.type.name,
            "payload_bytes": endpoint.type.payload_bytes,
            "asked": json.dumps(endpoint.wire(cell.arm, 0)),
            "granted": None,
            "joins_ns": endpoint.life.begin_s,
        }
        for endpoint in cell.endpoints
    ]
    return judged_topics(rows, cell.definition())
