"""The sentences of a decision, each made from the codes and numbers of the answer and from nothing
else."""

from collections.abc import Sequence

from rmwbench.analysis.decide.answer import Outcome, Why
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.results.answer.facts import names
from rmwbench.results.decide.model import Along, Answer, Flip, Limits, Machine, Met, Worth
from rmwbench.results.model import Metric
from rmwbench.results.workload.outcomes import amount as amount  # a page says `words.amount`
from rmwbench.words import numbers as fmt


def answer(limits: Limits, machines: Sequence[Machine]) -> str:
    """The whole answer: whom to take, or why nobody can say."""
    title = limits.title or limits.name
    parts = []
    for machine in machines:
        where = f"On {machine.summary}: " if len(machines) > 1 else ""
        parts.append(f"{where}{_on_machine(machine)}")
    return f"{title[:1].upper()}{title[1:]}. {' '.join(parts)}"


def _on_machine(machine: Machine) -> str:
    by: dict[Outcome, list[str]] = {outcome: [] for outcome in Outcome}
    for one in machine.candidates:
        by[one.outcome].append(one.arm)
    meets, misses, open_, unknown = (by[outcome] for outcome in Outcome)
    only_misses = bool(misses) and len(misses) == len(machine.candidates)
    said = []
    if meets:
        who = _verb(meets, "it meets", "they meet")
        said.append(f"Take {names(meets, 'or')}: {who} all limits.")
    elif only_misses:
        said.append("No candidate meets the limits.")
    else:
        said.append("No candidate is shown to meet all limits yet.")
    if misses and not only_misses:
        said.append(f"{names(misses)} {_verb(misses, 'misses', 'miss')} one.")
    if open_:
        said.append(f"{names(open_)} {_verb(open_, 'is', 'are')} open.")
    if unknown:
        said.append(f"Of {names(unknown)} something that is limited was not measured.")
    return " ".join(said)


def _verb(found: Sequence[str], one: str, several: str) -> str:
    return one if len(found) == 1 else several


def reason(candidate: Answer) -> str:
    """Why a candidate's outcome is what it is: which limit binds, by how much, with its
    interval."""
    why, binding, failed = candidate.why, candidate.binding, candidate.failed
    if why == Why.NOT_SUPPORTED:
        return str(candidate.limits[0].no_data) if candidate.limits else "not supported"
    if why == Why.FAILED:
        return f"within every limit, but {failed.trials} of {failed.of} trials failed"
    if binding is None:
        if why == Why.NO_DATA:
            return "no trial ended, so nobody knows the topics that are limited"
        return f"within every limit; nearest: {nearest(candidate)}"
    if why == Why.NO_DATA:
        return f"{limit_name(binding)} is unknown: {binding.no_data}"
    if why == Why.TOO_FEW_BLOCKS:
        what = "differing campaign" if binding.campaigns_differ else "block"
        return (
            f"{fmt.counted(binding.blocks, what)} of {limit_name(binding)}: fewer than "
            "five decide nothing"
        )
    told = measured(binding)
    if why == Why.MACHINE_BOUND:
        return f"{told}, but the machine had no time left, which may be the cause"
    if candidate.outcome == Outcome.OPEN and failed.trials:
        told += f"; {failed.trials} of {failed.of} trials failed"
    if binding.campaigns_differ:
        told += "; the campaigns differ by more than chance"
    return told


def nearest(candidate: Answer) -> str:
    """The limit that has the least room."""
    found = [one for one in candidate.limits if one.measured is not None]
    if not found:
        return "none was measured"
    return measured(max(found, key=lambda one: times(one) or 0.0))


def measured(met: Met) -> str:
    """`p99 response 7.2 ms [6.1–8.4], limit 5 ms: 1.44× [1.22–1.68]`."""
    found = met.measured
    if found is None:
        return f"{limit_name(met)} was not measured"
    metric = Metric(unit=met.unit, value=found.value, low=found.low, high=found.high)
    told = f"{limit_name(met)} {value(metric)}, limit {amount(met.at_most, met.metric)}"
    ratio = times(met)
    if ratio is None or not met.at_most:
        return told
    ends = [fmt.finite(end) for end in (found.low, found.high)]
    interval = "–".join("∞" if end is None else fmt.significant(end / met.at_most) for end in ends)
    return f"{told}: {fmt.significant(ratio)}× [{interval}]"


def value(metric: Metric | None) -> str:
    """`7.2 ms [6.1–8.4]`, or `no data`."""
    return fmt.metric(metric).full


def times(met: Met) -> float | None:
    """What was measured, as a multiple of the limit."""
    found = None if met.measured is None else fmt.finite(met.measured.value)
    return None if found is None or not met.at_most else found / met.at_most


def limit_name(met: Met) -> str:
    where = f"{met.topic}: " if met.topic else ""
    return f"{where}{GLOSSARY[met.metric].title}"


def probability(chance: float | None) -> str:
    """Two digits, and never 0 or 1: nothing measured is certain."""
    if chance is None:
        return "unknown"
    if chance < 0.01:
        return "< 0.01"
    return "> 0.99" if chance > 0.99 else f"{chance:.2f}"


def flip(found: Flip, along: Along) -> str:
    """`zenoh meets the limits up to cameras=4 and misses them from cameras=8`."""
    ordered = all(isinstance(one.level, int | float) for one in along.levels)
    before, after = (
        "meets" if outcome == Outcome.MEETS else "misses" for outcome in (found.before, found.after)
    )
    low, high = f"{along.factor}={found.from_}", f"{along.factor}={found.to}"
    if ordered:
        return f"{found.arm} {before} the limits up to {low} and {after} them from {high} on"
    return f"{found.arm} {before} the limits at {low} and {after} them at {high}"


def only(along: Along) -> list[str]:
    """`only fastdds meets them at cameras=8`, for levels at which the answer is one candidate's."""
    return [
        f"only {one.meets[0]} meets them at {along.factor}={one.level}"
        for one in along.levels
        if len(one.meets) == 1 and not one.open
    ]


def worth(found: Worth | None) -> str:
    """What another hour of measuring would be worth."""
    if found is None:
        return (
            "What more measuring is worth cannot be said yet: no candidate has five blocks of "
            "every limit. That is the first thing to measure."
        )
    spent = fmt.duration(found.hours * 3600)
    more = fmt.counted(found.blocks, "block")
    if found.decided_now:
        return (
            f"Another {spent} of measuring ({more}) would change "
            f"the choice with probability {probability(found.changes)}: the answer is decided."
        )
    return (
        f"Another {spent} of measuring ({more}) decides the answer with probability "
        f"{probability(found.decided)} and changes the choice ({found.choice} now) with "
        f"probability {probability(found.changes)}. The chance that the choice meets all limits "
        f"is {found.now:.2f} now, on average {found.after:.2f} then (a gain of "
        f"{max(found.after - found.now, 0.0):.2f}), and {found.perfect:.2f} were everything known."
    )


NO_FLIP = "no candidate is decided to meet the limits at one level and to miss them at another"
