"""Where the time of each arm's typical messages goes, over its done trials with an interval, beside
what it took: pieces, wake-ups, what was sent again."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from rmwbench.analysis.causes.median import Phase, TypicalMessage, typical_message
from rmwbench.analysis.causes.tail import PairMessages, pairs
from rmwbench.analysis.metrics.aggregate import aggregate
from rmwbench.analysis.metrics.comparisons import PRIMARY
from rmwbench.analysis.metrics.context import Context
from rmwbench.analysis.metrics.glossary import GLOSSARY, Use, names_for
from rmwbench.analysis.verdicts.verdict import Verdict
from rmwbench.bundle import Bundle
from rmwbench.bundle.evidence import TrialEvidence, evidence
from rmwbench.results.explain.explain_model import MedianAnswer, PhaseAnswer
from rmwbench.results.judged import JudgedCampaign
from rmwbench.results.workload.chain_answer import over_parts
from rmwbench.results.workload.workload_arm import ArmReport

NOT_STAMPED = "half of the messages or more did not arrive, or none near the median has all stamps"
_ACROSS = (Phase.WAY,)
"""Phases between two hosts, whose clocks are not known better than to a bound."""
Typical = Mapping[int, Mapping[str | None, TypicalMessage]]
"""Trial -> topic, or None where these are alike -> its typical message."""


def typical_messages(
    bundle: Bundle, campaign: JudgedCampaign, arms: Sequence[ArmReport]
) -> Typical:
    """Those of the done trials of these arms; reads their records once."""
    topics = {
        t.trial: {one.name: one.endpoints for one in arm.topics} for arm in arms for t in arm.trials
    }
    lines = [line for line in bundle.trials("done") if line.trial in topics]
    return {
        one.trial: dict(_of_trial(one, topics[one.trial]))
        for one in evidence(bundle, lines, campaign.small)
    }


def _of_trial(
    trial: TrialEvidence, topics: Mapping[str, frozenset[int]]
) -> Iterator[tuple[str | None, TypicalMessage]]:
    context = Context.of(trial)
    records, window = context.evidence.records, context.window
    groups: dict[str | None, list[PairMessages]] = {}
    for writer, reader, _, pair in pairs(records, context.judged, window, context.lives):
        own = [name for name, endpoints in topics.items() if {writer, reader} <= endpoints]
        for topic in own if topics else [None]:
            groups.setdefault(topic, []).append(pair)
    for topic, messages in groups.items():
        if (typical := typical_message(messages)) is not None:
            yield topic, typical


def medians(
    arm: ArmReport, typical: Typical, verdicts: Mapping[str | None, Mapping[str, Verdict]]
) -> tuple[MedianAnswer, ...]:
    """One, or one for each topic that is judged by itself."""
    if not arm.trials:
        return ()
    topics: list[str | None] = [topic.name for topic in arm.topics]
    return tuple(_median(arm, topic, typical, verdicts) for topic in topics or [None])


def _median(
    arm: ArmReport,
    topic: str | None,
    typical: Typical,
    verdicts: Mapping[str | None, Mapping[str, Verdict]],
) -> MedianAnswer:
    response = aggregate(GLOSSARY[PRIMARY], arm.trials_in(topic))
    own = [one for t in arm.trials if (one := typical.get(t.trial, {}).get(topic)) is not None]
    if response.value == inf:
        own = []
    bound_ns = arm.clock_bound(PRIMARY, topic)
    count = sum(one.messages for one in own)
    whole = sum(one.response_ns for one in own)
    phases = []
    for phase in Phase:
        spent = [one.phases_ns.get(phase) for one in own]
        of = None if phase is Phase.READ or not whole else sum(x or 0.0 for x in spent) / whole
        across = bound_ns if phase in _ACROSS else 0.0
        time = over_parts(spent, count, across, absent=NOT_STAMPED)
        phases.append(PhaseAnswer(phase=phase, time=time, share=of))
    verdict = verdicts.get(topic, {}).get(arm.name)
    behind = verdict is not None and verdict.verdict != "best"
    return MedianAnswer(
        topic=topic,
        response=response,
        phases=tuple(phases),
        beside={name: aggregate(GLOSSARY[name], arm.trials) for name in names_for(Use.MEDIAN)},
        taken=arm.take,
        verdict=verdict.verdict if verdict else None,
        against=verdict.against if verdict and behind else None,
        ratio=verdict.ratio if verdict and behind and arm.primary == PRIMARY else None,
    )
