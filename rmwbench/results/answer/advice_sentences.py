"""Says in one line what is known to help against a symptom: the symptom, then the command that
tries the remedy or what the remedy gained. A line is made from codes and amounts, and from nothing
else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite

from rmwbench.analysis.causes.symptoms import Symptom
from rmwbench.analysis.verdicts.statements import FractionChange
from rmwbench.analysis.verdicts.verdict import BlockRatio
from rmwbench.results.answer.facts import title_of
from rmwbench.results.answer.level_sentences import points_more, times_as
from rmwbench.results.explain.explain_model import Advice, SymptomOfArm, TriedRemedy
from rmwbench.words import numbers as fmt

TITLES: Mapping[Symptom, str] = {
    Symptom.SEGMENT_TOO_SMALL: "its shared-memory segment is smaller than the message, and messages "
    "are lost or repaired",
    Symptom.RECEIVE_BUFFER_FULL: "receive buffers of sockets drop datagrams, and messages are lost or "
    "late",
    Symptom.LATE_REPAIR: "silence over a lossy link for as long as a heartbeat",
    Symptom.BURST_OVER_DEPTH: "a burst longer than the history loses messages",
    Symptom.QUEUE_HOLDS_PUBLISHER: "a full queue holds the publisher for half a period and more",
    Symptom.COPIES_THOUGH_IT_LENDS: "messages of 512 KiB and more are copied, though it lends memory",
    Symptom.THREAD_OF_THE_WAIT_SET: "small messages wait for the thread of a wait set",
    Symptom.SLEEPING_PROCESSOR: "messages at up to 100 Hz take longer than at a higher rate",
}
"""Symptom -> its name in a table of remedies."""
MOST_ARMS = 4
Range = Callable[[str, str], str]
"""A function: (name of an amount, its unit) -> the measured values, such as `600 kB to 10 MB`."""


def lines(advice: Sequence[Advice], *, harm_only: bool = False) -> list[str]:
    """Return a line for each symptom and remedy, about all middlewares that share both."""
    groups: dict[tuple[Symptom, str | None, str | None], list[Advice]] = {}
    for item in advice:
        if item.is_harm or not harm_only:
            groups.setdefault((item.symptom, item.arm, item.setting), []).append(item)
    return [f"{_symptom(group)}. {_remedy(group)}" for group in groups.values()]


def _symptom(group: Sequence[Advice]) -> str:
    """Return `fastdds: its shared-memory segment (524 kB) is smaller than the message (4 MB)`."""
    seen = [symptom for advice in group for symptom in advice.seen]
    return f"{arms_of(seen)}: {_WORDS[group[0].symptom](_ranges(seen))}"


def symptom_of(advice: Advice, workload: str, arm: str) -> str:
    """Return the symptom of that arm in that workload, without the arm's name."""
    seen = [of_arm for of_arm in advice.seen if (of_arm.workload, of_arm.arm) == (workload, arm)]
    return _WORDS[advice.symptom](_ranges(seen))


def arms_of(seen: Sequence[SymptomOfArm]) -> str:
    names = [*dict.fromkeys(symptom.arm for symptom in seen)]
    more = f" and {len(names) - MOST_ARMS} more" if len(names) > MOST_ARMS else ""
    return ", ".join(names[:MOST_ARMS]) + more


def _ranges(seen: Sequence[SymptomOfArm]) -> Range:
    def amount(name: str, unit: str) -> str:
        values = [v for symptom in seen if (v := symptom.amounts.get(name)) is not None]
        ends = dict.fromkeys(fmt.quantity(v, unit) for v in (min(values), max(values)))
        return " to ".join(ends)

    return amount


_WORDS: Mapping[Symptom, Callable[[Range], str]] = {
    Symptom.SEGMENT_TOO_SMALL: lambda amount: (
        f"the shared-memory segment ({amount('segment_bytes', 'bytes')}) is smaller than the message "
        f"({amount('payload_bytes', 'bytes')}), and what has no room is dropped"
    ),
    Symptom.RECEIVE_BUFFER_FULL: lambda amount: (
        f"the receive buffers of its sockets had no room for {amount('dropped', 'messages')} "
        "datagrams"
    ),
    Symptom.LATE_REPAIR: lambda amount: (
        f"what a link loses is asked for only every {amount('heartbeat_ns', 'ns')}, and nothing came "
        f"for {amount('stall_ns', 'ns')}"
    ),
    Symptom.BURST_OVER_DEPTH: lambda amount: (
        f"a burst has {amount('burst', 'messages')} messages, and the history keeps "
        f"{amount('depth', 'messages')}"
    ),
    Symptom.QUEUE_HOLDS_PUBLISHER: lambda amount: (
        f"a full queue holds the publisher: {amount('held_ns', 'ns')} for a call, one is due every "
        f"{amount('period_ns', 'ns')}"
    ),
    Symptom.COPIES_THOUGH_IT_LENDS: lambda amount: (
        f"each message of {amount('payload_bytes', 'bytes')} is copied, though the middleware lends "
        "memory"
    ),
    Symptom.THREAD_OF_THE_WAIT_SET: lambda amount: (
        f"a wait set wakes one thread more for each message of {amount('payload_bytes', 'bytes')}"
    ),
    Symptom.SLEEPING_PROCESSOR: lambda amount: (
        f"a message every {amount('period_ns', 'ns')} wakes a sleeping processor, and takes longer "
        "than one of a higher rate"
    ),
}


def _remedy(group: Sequence[Advice]) -> str:
    first = group[0]
    worth = f"; measured: {first.worth}" if first.worth else ""
    if tried := [remedy for advice in group for remedy in advice.tried]:
        return f"{'; '.join(_gains(tried))}."
    if first.command:
        return f"Try `{first.command}` ({first.setting}{worth})"
    if first.setting:
        return f"What helps: {first.setting}{worth}"
    return f"Nothing is known to help{worth}"


def _gains(tried: Sequence[TriedRemedy]) -> Iterator[str]:
    """Yield `fastdds tuned in image: 0.034× [0.030–0.039] as long as fastdds (better)` for each
    arm."""
    several = len({remedy.workload for remedy in tried}) > 1
    gains: dict[tuple[str, str, str], list[str]] = {}
    for remedy in tried:
        gains.setdefault((remedy.workload, remedy.arm, remedy.against), []).append(gain(remedy))
    for (workload, arm, against), texts in gains.items():
        where = f" in {workload}" if several else ""
        yield f"{arm}{where}: {', '.join(filter(None, texts)) or 'no data'} against {against}"


def gain(tried: TriedRemedy) -> str:
    """Return the gain in one metric with its verdict; empty if there is nothing to say."""
    effect, verdict = tried.answer.effect, tried.answer.verdict
    if isinstance(effect, FractionChange):
        if not effect.value and verdict == "equivalent":
            return ""
        return f"{points_more(effect)} is missing ({verdict})"
    if isinstance(effect, BlockRatio) and isfinite(effect.value):
        return f"{times_as(tried.metric, effect)} ({verdict})"
    if verdict in ("equivalent", "no data"):
        return ""
    return f"{title_of(tried.metric)} {verdict}"
