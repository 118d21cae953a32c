"""What is known to help against a symptom, as one line: what was seen, the command that tries the
remedy, or what it gained. Made from codes and amounts, and from nothing else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite

from rmwbench.analysis.causes.symptoms import Symptom
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.statements import FractionChange
from rmwbench.analysis.verdicts.verdict import BlockRatio
from rmwbench.results.remedies.remedy_model import Advice, SymptomOfArm, TriedRemedy
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
"""Of a table of remedies."""
MOST_ARMS = 4
Range = Callable[[str, str], str]
"""A name of an amount and its unit, to what was measured: `600 kB to 10 MB`."""


def lines(advice: Sequence[Advice], *, harm_only: bool = False) -> list[str]:
    """One for each symptom and remedy, of all middlewares that share both."""
    groups: dict[tuple[Symptom, str | None, str | None], list[Advice]] = {}
    for one in advice:
        if one.is_harm or not harm_only:
            groups.setdefault((one.symptom, one.arm, one.setting), []).append(one)
    return [f"{_symptom(group)}. {_remedy(group)}" for group in groups.values()]


def _symptom(group: Sequence[Advice]) -> str:
    """`fastdds: its shared-memory segment (524 kB) is smaller than the message (4 MB)`."""
    seen = [each for one in group for each in one.seen]
    return f"{arms_of(seen)}: {_WORDS[group[0].symptom](_ranges(seen))}"


def symptom_of(one: Advice, workload: str, arm: str) -> str:
    """The symptom of that arm in that workload, without its name."""
    seen = [each for each in one.seen if (each.workload, each.arm) == (workload, arm)]
    return _WORDS[one.symptom](_ranges(seen))


def arms_of(seen: Sequence[SymptomOfArm]) -> str:
    names = [*dict.fromkeys(one.arm for one in seen)]
    more = len(names) - MOST_ARMS
    return ", ".join(names[:MOST_ARMS]) + (f" and {more} more" if more > 0 else "")


def _ranges(seen: Sequence[SymptomOfArm]) -> Range:
    def amount(name: str, unit: str) -> str:
        values = [v for one in seen if (v := one.amounts.get(name)) is not None]
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
    if tried := [each for one in group for each in one.tried]:
        return f"{'; '.join(_gains(tried))}."
    if first.command:
        return f"Try `{first.command}` ({first.setting}{worth})"
    if first.setting:
        return f"What helps: {first.setting}{worth}"
    return f"Nothing is known to help{worth}"


def _gains(tried: Sequence[TriedRemedy]) -> Iterator[str]:
    """`fastdds tuned in image: 0.034× [0.030–0.039] as long as fastdds (better)`."""
    several = len({one.workload for one in tried}) > 1
    for pair in dict.fromkeys((one.workload, one.arm, one.against) for one in tried):
        workload, arm, against = pair
        mine = [one for one in tried if (one.workload, one.arm, one.against) == pair]
        where = f" in {workload}" if several else ""
        gains = [text for one in mine if (text := gain(one))]
        yield f"{arm}{where}: {', '.join(gains) or 'no data'} against {against}"


def gain(one: TriedRemedy) -> str:
    """With its verdict; empty where there is nothing to say of this metric. An end of an interval
    that is on the other side of its word is negative."""
    effect, verdict = one.answer.effect, one.answer.verdict
    if isinstance(effect, FractionChange):
        if not effect.value and verdict == "equivalent":
            return ""
        word, sign = ("more", 1) if effect.value > 0 else ("less", -1)
        ends = sorted(sign * end * 100 for end in (effect.low, effect.high))
        between = f"[{fmt.significant(ends[0])}–{fmt.significant(ends[1])}]"
        return f"{fmt.points(effect.value)} {word} {between} is missing ({verdict})"
    if isinstance(effect, BlockRatio) and isfinite(effect.value):
        much = words(one.metric).amount(1, fmt.ratio(effect).full).split(" ", 1)[1]
        return f"{much} ({verdict})"
    return "" if verdict in ("equivalent", "no data") else f"{verdict}, by order"
