"""The topics of a workload that are judged by themselves, as the show document has them. Each has
the form of a workload, so that a renderer of workloads (headline, table, charts) renders topics,
too."""

from collections.abc import Iterator, Mapping, Sequence

from rmwbench.analysis.metrics import judged_topics as measured
from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.analysis.verdicts.interim import failed_blocks
from rmwbench.analysis.verdicts.verdict import Verdict
from rmwbench.results.show_model import Readers, TopicAnswer, TopicArm, TopicTrials
from rmwbench.results.workload import chart_points
from rmwbench.results.workload.workload_arm import ArmReport, floors, qos_words
from rmwbench.words import numbers as fmt

Verdicts = Mapping[str | None, Mapping[str, Verdict]]
"""Topic -> arm -> verdict. It has None alone, the whole workload, if the workload is judged by a
metric that no topic has by itself, such as a time to recover: then its topics are shown and not
judged."""


def topics(arms: Sequence[ArmReport]) -> list[measured.Topic]:
    """Return the topics of the first arm that has any, then those that other arms have in
    addition."""
    by_name: dict[str, measured.Topic] = {}
    for arm in arms:
        for topic in arm.topics:
            by_name.setdefault(topic.name, topic)
    return list(by_name.values())


def topic_answers(
    arms: Sequence[ArmReport], primary: str, verdicts: Verdicts
) -> tuple[TopicAnswer, ...]:
    """Return the `topics` of a workload: empty if it has one topic or only topics that are
    alike."""
    judged = any(topic is not None for topic in verdicts)
    return tuple(
        _topic(part, arms, primary if judged else "response_latency_p50", verdicts)
        for part in topics(arms)
    )


def verdict_in(topic: str, arm: ArmReport, verdicts: Verdicts) -> Verdict:
    """Return the arm's verdict in a topic: without data if the workload is not judged by its
    topics."""
    verdict = verdicts.get(topic, {}).get(arm.name)
    return verdict or Verdict("no data", None, None, "the workload is not judged by its topics")


def _topic(
    topic: measured.Topic, arms: Sequence[ArmReport], primary: str, verdicts: Verdicts
) -> TopicAnswer:
    floor = floors(arms)
    trials = {arm.name: arm.trials_in(topic.name) for arm in arms}
    return TopicAnswer(
        topic=topic.name,
        title=topic.name,
        members=tuple(topic.members),
        readers=_readers(topic),
        message=topic.message,
        payload_bytes=topic.payload_bytes,
        rate_hz=topic.rate_hz,
        reliable=topic.reliable,
        judged=topic.name in verdicts,
        primary_metric=primary,
        arms=tuple(
            _arm(
                arm,
                topic.name,
                trials[arm.name],
                floor.get(arm.family),
                verdict_in(topic.name, arm, verdicts),
            )
            for arm in arms
        ),
        charts=chart_points.curves(trials, primary),
    )


def _readers(topic: measured.Topic) -> Readers | None:
    if topic.readers is None:
        return None
    readers, asked = topic.readers, topic.readers.asked
    return Readers(
        nodes=readers.nodes,
        hosts=readers.hosts,
        differ=readers.differ,
        qos=qos_words(json_column(asked.qos)),
        process=asked.process,
        hold_ns=asked.hold_ns,
        joins=asked.joins,
    )


def _arm(
    arm: ArmReport,
    topic: str,
    trials: Sequence[MeasuredTrial],
    floor: ArmReport | None,
    verdict: Verdict,
) -> TopicArm:
    return TopicArm(
        **vars(arm.common(topic, floor)),
        trials=TopicTrials(
            done=len(trials),
            failed=sum(line.status == "failed" for line in arm.lines),
            lost=len(failed_blocks(arm.lines)),
            void=sum(line.status == "void" for line in arm.lines),
            numbers=tuple(t.trial for t in trials),
        ),
        under_way=sum(t.messages.ledger.under_way for t in trials),
        missing=sum(t.messages.ledger.undelivered for t in trials),
        verdict=verdict,
    )


def facts(topic: TopicAnswer) -> str:
    """Return `524 kB at 10 Hz, best effort`, with `8 topics` before it if several are alike.
    Readers that differ from others have their difference, too, such as `keeps each message 50
    ms`."""
    parts = [f"{len(topic.members)} topics"] if len(topic.members) > 1 else []
    size_bytes, rate_hz = topic.payload_bytes, topic.rate_hz
    size = "any size" if size_bytes is None else fmt.quantity(size_bytes, "bytes")
    parts.append(size + ("" if rate_hz is None else f" at {fmt.quantity(rate_hz, 'hz')}"))
    readers = topic.readers
    if readers and "qos" in readers.differ:
        parts.append(readers.qos.replace("_", " "))
    else:
        parts.append("reliable" if topic.reliable else "best effort")
    return ", ".join([*parts, *(_differing(readers) if readers else ())])


def _differing(readers: Readers) -> Iterator[str]:
    if {"link", "host"} & {*readers.differ}:
        yield f"on {', '.join(readers.hosts)}"
    if "process" in readers.differ:
        yield "in the process that sends" if readers.process == "all" else "in another process"
    if readers.hold_ns:
        yield f"keeps each message {fmt.quantity(readers.hold_ns, 'ns')}"
    if readers.joins != "start":
        yield f"comes {readers.joins}"
