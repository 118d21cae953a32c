"""The sentences of a decision, which are made from the codes and numbers of the answer and from
nothing else."""

from collections.abc import Sequence
from dataclasses import replace

from rmwbench.analysis.decide.decisions import (
    DecisionAnswer,
    FactorOutcomes,
    Flip,
    LevelOutcomes,
    LimitDecision,
)
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.results.answer.facts import names, verb_of
from rmwbench.results.decide.decide_model import DecideLimits, MachineDecision
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import LimitedValue
from rmwbench.results.workload.outcomes import amount, in_unit_of_limit
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import named_level


def answer(limits: DecideLimits, machines: Sequence[MachineDecision], outcome: Outcome) -> str:
    """Return the whole answer: which candidate to take, or why that is not decided. `outcome`: over
    all machines."""
    title = limits.title or limits.name
    parts = []
    for machine in machines:
        where = f"On {machine.summary}: " if len(machines) > 1 else ""
        parts.append(f"{where}{_on_machine(machine)}")
    if outcome is Outcome.OPEN and len(machines) > 1 and all(map(_meets, machines)):
        parts.append("No candidate of one version and profile is shown to meet them everywhere.")
    return f"{title[:1].upper()}{title[1:]}. {' '.join(parts)}"


def _meets(machine: MachineDecision) -> bool:
    return any(candidate.outcome == Outcome.MEETS for candidate in machine.candidates)


def _all_miss(machine: MachineDecision) -> bool:
    outcomes = {candidate.outcome for candidate in machine.candidates}
    return outcomes == {Outcome.MISSES}


def _on_machine(machine: MachineDecision) -> str:
    arms_of: dict[Outcome, list[str]] = {outcome: [] for outcome in Outcome}
    for candidate in machine.candidates:
        arms_of[candidate.outcome].append(candidate.arm)
    meets, misses, open_, unknown = (arms_of[outcome] for outcome in Outcome)
    unable = [
        candidate.arm for candidate in machine.candidates if candidate.why == Why.NOT_SUPPORTED
    ]
    misses = [arm for arm in misses if arm not in unable]
    sentences = []
    if meets:
        who = verb_of(meets, "it meets", "they meet")
        sentences.append(f"Take {names(meets, 'or')}: {who} all limits.")
    elif _all_miss(machine):
        sentences.append("No candidate meets the limits.")
    else:
        sentences.append("No candidate is shown to meet all limits yet.")
    if misses and not _all_miss(machine):
        sentences.append(f"{names(misses)} {verb_of(misses, 'misses', 'miss')} one.")
    if unable and not _all_miss(machine):
        sentences.append(f"{names(unable)} cannot run here.")
    if open_:
        sentences.append(f"{names(open_)} {verb_of(open_, 'is', 'are')} open.")
    if unknown:
        sentences.append(f"For {names(unknown)}, at least one limited metric was not measured.")
    return " ".join(sentences)


def reason(candidate: DecisionAnswer) -> str:
    """Return the reason for a candidate's outcome: the limit that binds, with its value and
    interval."""
    why, binding, failed = candidate.why, candidate.binding, candidate.failed
    if why == Why.NOT_SUPPORTED:
        return str(candidate.limits[0].no_data) if candidate.limits else "not supported"
    if why == Why.FAILED:
        return (
            f"within every limit, but {failed.trials} of {fmt.counted(failed.of, 'trial')} failed"
        )
    if binding is None:
        if why == Why.NO_DATA:
            return "no trial ended, so nobody knows the topics that are limited"
        return f"within every limit; nearest: {nearest(candidate)}"
    if why == Why.NO_DATA:
        return f"{limit_name(binding)} is unknown: {binding.no_data}"
    if why == Why.TOO_FEW_BLOCKS:
        few = f"fewer than {DECIDABLE_BLOCKS} decide nothing"
        return f"{observed(binding)} of {limit_name(binding)}: {few}"
    text = measured(binding)
    if why == Why.MACHINE_BOUND:
        return f"{text}, but the machine had no time left, which may be the cause"
    if candidate.outcome == Outcome.OPEN:
        text += _why_open(candidate)
    if candidate.outcome == Outcome.OPEN and failed.trials:
        text += f"; {failed.trials} of {fmt.counted(failed.of, 'trial')} failed"
    if binding.campaigns_differ:
        text += "; the campaigns differ by more than chance"
    return text


def observed(met: LimitDecision) -> str:
    """Return `8 blocks`, or `2 differing campaigns`: the basis of a probability."""
    return fmt.counted(met.blocks, "differing campaign" if met.campaigns_differ else "block")


def nearest(candidate: DecisionAnswer) -> str:
    limits = [met for met in candidate.limits if met.measured is not None]
    if not limits:
        return "none was measured"
    return measured(max(limits, key=lambda met: times(met) or 0.0))


def measured(met: LimitDecision) -> str:
    """Return `p99 response 7.2 ms [6.1–8.4], limit 5 ms: 1.44× [1.22–1.68]`; for one block without
    intervals."""
    interval = met.measured
    if interval is None:
        return f"{limit_name(met)} was not measured"
    metric = Estimate(unit=met.unit, value=interval.value)
    if met.blocks > 1:
        metric = replace(metric, low=interval.low, high=interval.high)
    text = against_limit(met, metric)
    ratio = times(met)
    if ratio is None:
        return text
    text += f": {fmt.significant(ratio)}×"
    if met.blocks < 2:
        return text
    ends = [fmt.finite(end) for end in (interval.low, interval.high)]
    span = "–".join("∞" if end is None else fmt.significant(end / met.at_most) for end in ends)
    return f"{text} [{span}]"


def against_limit(limit: LimitDecision | LimitedValue, measured: Estimate) -> str:
    """Return `front: response latency, p99 41 ms [38–45], limit 33 ms`."""
    return f"{limit_name(limit)} {value(measured)}, limit {amount(limit.at_most, limit.metric)}"


def value(metric: Estimate | None) -> str:
    """Return `7.2 ms [6.1–8.4]`, memory in MiB as in limits, or `no data`."""
    return fmt.metric(in_unit_of_limit(metric)).full


def times(met: LimitDecision) -> float | None:
    """Return the measured value as a multiple of the limit, which is positive; None if it is absent
    or infinite."""
    finite = None if met.measured is None else fmt.finite(met.measured.value)
    return None if finite is None else finite / met.at_most


def limit_name(limit: LimitDecision | LimitedValue) -> str:
    where = f"{limit.topic}: " if limit.topic else ""
    return f"{where}{GLOSSARY[limit.metric].title}"


def probability(answer: DecisionAnswer | LimitDecision) -> str:
    """Return the probability with two digits, and never 0 or 1, since nothing measured is certain.
    An open one that looks decided has the bound that it would have to reach: `0.992 < 0.995`,
    `0.004 > 0.0005`."""
    chance = answer.probability
    if chance is None:
        return "unknown"
    if 0.01 <= chance <= 0.99:
        return f"{chance:.2f}"
    if answer.outcome == Outcome.OPEN:
        if answer.error < chance < 0.01 and isinstance(answer, LimitDecision):
            return " > ".join(_apart(chance, answer.error))
        if 0.99 < chance < 1 - answer.error:
            return " < ".join(_apart(chance, 1 - answer.error))
    return "< 0.01" if chance < 0.01 else "> 0.99"


def _apart(chance: float, bound: float) -> tuple[str, str]:
    """Return both numbers with as few digits as distinguish them from each other, and from 0 and
    1."""
    for digits in range(2, 10):
        texts = f"{chance:.{digits}f}", f"{bound:.{digits}f}"
        if len({*map(float, texts), 0.0, 1.0}) == 4:
            break
    return texts


def _why_open(candidate: DecisionAnswer) -> str:
    """Return why a candidate is open although the interval of its binding limit does not contain
    the limit; empty if it does."""
    met, chance = candidate.binding, candidate.probability
    if met is None or met.measured is None or met.probability is None or chance is None:
        return ""
    if met.measured.high <= met.at_most and chance < 1 - candidate.error:
        of = "that it is within" if len(candidate.limits) < 2 else "of all limits together"
        reached, bound = _apart(chance, 1 - candidate.error)
        return f"; P {of} is {reached}, and {bound} is asked"
    if met.measured.low > met.at_most and met.probability > met.error:
        reached, bound = _apart(met.probability, met.error)
        return f"; P that it is within is {reached}, and a miss asks for {bound} at most"
    return ""


def flip(change: Flip, along: FactorOutcomes) -> str:
    """Return `zenoh meets the limits up to cameras=4 and misses them from cameras=8 on`; `at`
    instead of either part if not every level on that side is decided to be the same."""
    levels = [at.level for at in along.levels]
    ordered = all(isinstance(x, int | float) and not isinstance(x, bool) for x in levels)
    below = along.levels[: levels.index(change.from_) + 1] if ordered else ()
    above = along.levels[levels.index(change.to) :] if ordered else ()
    before, after = (
        "meets" if outcome == Outcome.MEETS else "misses"
        for outcome in (change.before, change.after)
    )
    low, high = (named_level(along.factor, level) for level in (change.from_, change.to))
    low = f"up to {low}" if _alike(below, change.arm, change.before) else f"at {low}"
    high = f"from {high} on" if _alike(above, change.arm, change.after) else f"at {high}"
    return f"{change.arm} {before} the limits {low} and {after} them {high}"


def _alike(levels: Sequence[LevelOutcomes], arm: str, outcome: Outcome) -> bool:
    """Whether the arm is decided to have this outcome at each of several levels."""
    decided = [level.meets if outcome == Outcome.MEETS else level.misses for level in levels]
    return len(decided) > 1 and all(arm in arms for arms in decided)


def only(along: FactorOutcomes) -> list[str]:
    """Return `only fastdds meets them at cameras=8` for each level at which one candidate alone
    meets the limits."""
    return [
        f"only {level.meets[0]} meets them at {named_level(along.factor, level.level)}"
        for level in along.levels
        if len(level.meets) == 1 and not level.open
    ]


NO_FLIP = "no candidate is decided to meet the limits at one level and to miss them at another"
