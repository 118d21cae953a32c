"""The facts that a report may state about a workload, as types that are read off its document. Each
fact knows its own words.

A sentence is made from facts and from nothing else, so a test can check every sentence of a report
against the report's own numbers (tests/report/test_facts.py), without reading English."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, Literal, TypeVar, overload

from rmwbench.analysis.metrics.aggregate import fates_of as fates_in
from rmwbench.analysis.metrics.aggregate import judged_loss
from rmwbench.analysis.metrics.fates import Fates, main_cause
from rmwbench.analysis.metrics.glossary import GLOSSARY, Fate
from rmwbench.analysis.metrics.judged_topics import PREPOSITION, Noun, noun
from rmwbench.analysis.metrics.stability import Drift
from rmwbench.analysis.verdicts.best import is_carried
from rmwbench.analysis.verdicts.limit_outcomes import (
    MEETS,
    MISSES,
    NONE,
    NOT_SUPPORTED,
    OPEN,
    UNKNOWN,
)
from rmwbench.analysis.verdicts.ranking_words import TIME, RankingWords, phrase, words
from rmwbench.analysis.verdicts.verdict import (
    By,
    Family,
    Rules,
    Verdict,
    VerdictName,
    lost_by_its_arm,
)
from rmwbench.results.show_model import (
    AnyArm,
    LevelsOutcome,
    Matrix,
    Part,
    Settling,
    TopicAnswer,
    TopicArm,
    WorkloadAnswer,
    WorkloadArm,
)
from rmwbench.words import numbers as fmt

UNLIKE = 0.01
"""The share of undelivered messages from which on a sentence does not praise an arm without naming
an arm that delivers every message, even if few blocks show it."""


AnswerTone = Literal["decided", "shared", "open", "none"]


@dataclass(frozen=True)
class WorkloadFact:
    """A fact about a workload. `tone`: of an answer that begins with it. `concludes`: whether it is
    decided, so that it stands under the conclusions. `beside_none`: whether a sentence states it
    although no arm carries the workload."""

    tone: ClassVar[AnswerTone] = "open"
    concludes: ClassVar[bool] = True
    beside_none: ClassVar[bool] = False

    @property
    def offered(self) -> tuple[str, ...]:
        """The arms that the fact calls the best, or possibly the best."""
        return ()

    def clause(self, order: RankingWords) -> str:
        raise NotImplementedError

    def advice(self, order: RankingWords) -> str:
        """Return the clause with the advice which arm to take, if the fact gives one."""
        return self.clause(order)


@dataclass(frozen=True)
class OfArm(WorkloadFact):
    """A decided fact about the one arm that is ahead."""

    tone: ClassVar[AnswerTone] = "decided"
    arm: str

    @property
    def offered(self) -> tuple[str, ...]:
        return (self.arm,)


@dataclass(frozen=True)
class OfArms(WorkloadFact):
    """The same statement about each of these arms. `verbs`: for one arm, and for several."""

    verbs: ClassVar[tuple[str, str]]
    arms: tuple[str, ...]

    def clause(self, order: RankingWords) -> str:
        return f"{names(self.arms)} {verb_of(self.arms, *self.verbs)}"


@dataclass(frozen=True)
class OfferedArms(WorkloadFact):
    """A fact about arms of which each is the best, or may be."""

    arms: tuple[str, ...]

    @property
    def offered(self) -> tuple[str, ...]:
        return self.arms


@dataclass(frozen=True)
class NoneCarries(WorkloadFact):
    """No contender with data delivers what was asked. `fates`: each arm with the fates of its
    messages. `where`: the topic or the readers that are judged by themselves, such as `for
    viewer`."""

    fates: tuple[tuple[str, Fates], ...]
    where: str = ""

    def clause(self, order: RankingWords) -> str:
        losses: list[str] = []
        losing = False
        for arm, fates in self.fates:
            again = losing and fates.loses_only
            losses.append(f"{arm} {fmt.percent(fates.lost) if again else fates.verbs()}")
            losing = fates.loses_only
        where = f"{self.where} " if self.where else ""
        return f"{where}no arm carries this: {', '.join(losses)}"


@dataclass(frozen=True)
class Best(OfArm):
    """Every other contender with data is decided to be worse, and none has a smaller primary
    metric. `fates`: the fates of its messages, if not all arrived in time."""

    fates: Fates | None = None

    def clause(self, order: RankingWords) -> str:
        return f"{self.arm} {order.best}{_although(self.fates)}"

    def advice(self, order: RankingWords) -> str:
        return f"take {self.arm}: it {order.best}{_although(self.fates)}"


@dataclass(frozen=True)
class BestByDelivery(OfArm):
    """Every other contender with data is decided to be worse; `faster` have a smaller primary
    metric and are worse because they deliver less. `fates`: as in `Best`."""

    faster: tuple[str, ...]
    fates: Fates | None = None

    def clause(self, order: RankingWords) -> str:
        return f"{self.arm} is the best: {self._others(order)}"

    def advice(self, order: RankingWords) -> str:
        return f"take {self.arm}: {self._others(order)}"

    def _others(self, order: RankingWords) -> str:
        faster = "faster" if order == TIME else f"better by {order.by}"
        deliver = verb_of(self.faster, "delivers", "deliver")
        too = "" if self.fates is None else f"; {self.arm} itself {self.fates.verbs()}"
        return f"{names(self.faster)} may be {faster}, but {deliver} less{too}"


@dataclass(frozen=True)
class BestByBlocks(OfArm):
    """Every other contender with data is decided to be worse within blocks, although the pooled
    metric of `smaller` is smaller: blocks were lost, or their level moved."""

    smaller: tuple[str, ...]

    def clause(self, order: RankingWords) -> str:
        verb = verb_of(self.smaller, "is", "are")
        return (
            f"{self.arm} is the best: {names(self.smaller)} {verb} {order.worse} within the blocks "
            "that they share, although not over all blocks together"
        )


@dataclass(frozen=True)
class DeliversMost(OfArm):
    """The arm is the best because it delivers most; its primary metric (`title`) is infinite, so it
    is not fast."""

    title: str
    fates: Fates

    def clause(self, order: RankingWords) -> str:
        return (
            f"{self.arm} delivers most, although it {self.fates.verbs()}, and its {self.title} is "
            "infinite too"
        )


@dataclass(frozen=True)
class Alone(WorkloadFact):
    """The arm is the only contender with data; `absent` have none, `failing` failed in every trial,
    of which there are too few to decide that they do not work."""

    tone: ClassVar[AnswerTone] = "none"
    concludes: ClassVar[bool] = False
    arm: str
    absent: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()

    def clause(self, order: RankingWords) -> str:
        if not self.absent and not self.failing:
            return f"{self.arm} was measured alone, so there is nothing to compare it with"
        states = ((self.absent, "none"), (self.failing, "failed in every trial so far"))
        others = [
            f"{names(arms)} {verb_of(arms, 'has', 'have')} {state}"
            for arms, state in states
            if arms
        ]
        return (
            f"only {self.arm} has data, and {', and '.join(others)}: there is nothing to compare "
            "it with"
        )


@dataclass(frozen=True)
class OnlyOne(OfArm):
    """The arm is the only contender whose trials came to their end, and it is decided that the
    others do not work. `fates`: as in `Best`."""

    fates: Fates | None = None

    def clause(self, order: RankingWords) -> str:
        return f"{self.arm} is the only arm that works here{_although(self.fates)}"

    def advice(self, order: RankingWords) -> str:
        return f"take {self.arm}: it is the only arm that works here{_although(self.fates)}"


@dataclass(frozen=True)
class Equal(OfferedArms):
    """Each arm is decided not to be slower than any other arm by more than the margin, except
    `faster`, which are worse because they deliver less. `fates`: (arm, fates as in `Best`), without
    arms that deliver all messages in time."""

    tone: ClassVar[AnswerTone] = "shared"
    faster: tuple[str, ...] = ()
    fates: tuple[tuple[str, Fates], ...] = ()

    def clause(self, order: RankingWords) -> str:
        if len(self.arms) == 1:
            return f"{self.arms[0]} is {self._alone(order)}"
        return f"{names(self.arms)} {self._together(order)}"

    def advice(self, order: RankingWords) -> str:
        if len(self.arms) == 1:
            return f"take {self.arms[0]}: it is {self._alone(order)}"
        return f"take {names(self.arms, 'or')}: they {self._together(order)}"

    def _alone(self, order: RankingWords) -> str:
        others = "any other that delivers as much" if self.faster else "any other"
        own = self.fates[0][1] if self.fates else None
        return f"not {order.behind_of(others)} by more than the margin{_although(own)}"

    def _together(self, order: RankingWords) -> str:
        losses = [f"{arm} {fates.verbs()}" for arm, fates in self.fates]
        although = f", although {names(losses)}" if losses else ""
        return f"{order.alike}, within the margin{although}"


@dataclass(frozen=True)
class Between(OfferedArms):
    """None of these arms is decided against another: one or several of them are the best. `fates`:
    (arm, fates as in `Best`), without arms that deliver all messages in time."""

    concludes: ClassVar[bool] = False
    all_arms: bool
    fates: tuple[tuple[str, Fates], ...] = ()

    def clause(self, order: RankingWords) -> str:
        if self.all_arms:
            return f"nothing is decided yet between {names(self.arms)}{_but(self.fates)}"
        return f"which of {names(self.arms)} {order.best} is not decided{_but(self.fates)}"

    def advice(self, order: RankingWords) -> str:
        if self.all_arms:
            return self.clause(order)
        which = "which of the two" if len(self.arms) == 2 else "which of them"
        taken = f"take {names(self.arms, 'or')}: {which} {order.best} is not decided"
        return f"{taken}{_but(self.fates)}"


@dataclass(frozen=True)
class DeliverAll(OfferedArms):
    """These arms deliver every message in every block. Every other contender that is not decided to
    be worse loses some in each block (`others`), which no ratio makes up for."""

    tone: ClassVar[AnswerTone] = "decided"
    others: tuple[tuple[str, Fates], ...]

    def clause(self, order: RankingWords) -> str:
        verb = verb_of(self.arms, "delivers", "deliver")
        return f"{names(self.arms)} {verb} every message, and {self._others()}"

    def advice(self, order: RankingWords) -> str:
        verb = verb_of(self.arms, "it delivers", "they deliver")
        return f"take {names(self.arms, 'or')}: {verb} every message, and {self._others()}"

    def _others(self) -> str:
        return f"{names([f'{arm} {fates.verbs()}' for arm, fates in self.others])}, in each block"


@dataclass(frozen=True)
class TradeOff(WorkloadFact):
    """`whole` delivers every message and is decided to be worse by the primary metric than `lossy`,
    which does not. `ratio`: of `whole` to `lossy`; None if there is none."""

    tone: ClassVar[AnswerTone] = "decided"
    whole: str
    lossy: str
    ratio: float | None
    fates: Fates

    @property
    def offered(self) -> tuple[str, ...]:
        return (self.whole,)

    def clause(self, order: RankingWords) -> str:
        return f"{self.whole} delivers every message and {self._costs(order)}"

    def advice(self, order: RankingWords) -> str:
        return (
            f"take {self.whole} if every message counts: it delivers them all and "
            f"{self._costs(order)}"
        )

    def _costs(self, order: RankingWords) -> str:
        which = f"{self.lossy}, which {self.fates.verbs()}"
        if self.ratio is None:
            return f"is {order.behind_of(which)}"
        return f"{order.amount(1, f'{fmt.significant(self.ratio)}×')} as {which}"


@dataclass(frozen=True)
class Slower(WorkloadFact):
    """Each of `arms` is decided to be worse by the primary metric: (arm, its ratio to `against`),
    the nearest first. A ratio is None if the arm is decided by sign, because messages that did not
    arrive reach the metric. `lead`: whether the sentence is about `against`."""

    against: str
    arms: tuple[tuple[str, float | None], ...]
    lead: bool = True

    def clause(self, order: RankingWords) -> str:
        by_ratio = [(arm, value) for arm, value in self.arms if value is not None]
        by_sign = [arm for arm, value in self.arms if value is None]
        than = "" if self.lead else f" as {self.against}"
        parts = []
        if 0 < len(by_ratio) <= 2:
            first = order.amount(1, f"{fmt.significant(by_ratio[0][1])}×")
            rest = "".join(f", {arm} {fmt.significant(value)}×" for arm, value in by_ratio[1:])
            parts.append(f"{by_ratio[0][0]} {first}{than}{rest}")
        elif by_ratio:
            near, far = (fmt.significant(by_ratio[n][1]) for n in (0, -1))
            span = f"{near}×" if near == far else f"{near} to {far}×"
            parts.append(
                f"{names([arm for arm, _ in by_ratio])} {order.amount(len(by_ratio), span)}{than}"
            )
        if by_sign:
            parts.append(
                f"{names(by_sign)} {verb_of(by_sign, 'is', 'are')} {order.behind_of(self.against)}: "
                f"{order.why_infinite('the metric')}"
            )
        return ", ".join(parts)


@dataclass(frozen=True)
class DeliversLess(WorkloadFact):
    """The arm is decided to be worse by delivery. `fates`: the fates of its messages; `at_worst`:
    where it delivers least (`for viewer`), with the fates there, if its readers or topics are not
    judged by themselves. The fact has a line of its own under the conclusions."""

    concludes: ClassVar[bool] = False
    arm: str
    against: str
    fates: Fates
    at_worst: tuple[str, Fates] | None = None

    def clause(self, order: RankingWords) -> str:
        worst = ""
        if self.at_worst is not None:
            where, fates = self.at_worst
            worst = f" ({where} it {fates.verbs()})"
        return f"{self.arm} {self.fates.verbs() or f'delivers less than {self.against}'}{worst}"


@dataclass(frozen=True)
class NotGranted(WorkloadFact):
    """The configurations of these arms ask the kernel for more than it grants, so they ran with
    other ones, and no ratio is stated. `settings`: the kernel's names, with the machine's if a
    trial runs on several."""

    beside_none: ClassVar[bool] = True
    arms: tuple[str, ...]
    settings: tuple[str, ...]

    def clause(self, order: RankingWords) -> str:
        return (
            f"{names(self.arms)} {verb_of(self.arms, 'asks', 'ask')} the kernel for more than it grants "
            f"({', '.join(self.settings)}), so this is not yet {verb_of(self.arms, 'its', 'their')} "
            "configuration "
            "(`rmwbench doctor --fix` changes that)"
        )


@dataclass(frozen=True)
class NotStationary(WorkloadFact):
    """The latency of these arms rises or falls within the window, so its quantiles are moments of a
    ramp and no ratio is stated. `slower`: they are decided to be slower nevertheless; `all_arms`:
    no contender with data has a stationary latency."""

    ramps: tuple[tuple[str, Drift, Settling | None], ...]
    slower: bool = False
    all_arms: bool = False

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(arm for arm, *_ in self.ramps)

    def clause(self, order: RankingWords) -> str:
        verb = verb_of(self.arms, "is", "are")
        also = f"{order.worse} and " if self.slower else ""
        moves = {"rises" if drift.rises else "falls" for _, drift, _ in self.ramps}
        rise, move = moves == {"rises"}, " or ".join(sorted(moves, reverse=True))
        ramps = "; ".join(_ramp(drift, settling) for _, drift, settling in self.ramps[:3])
        if self.all_arms and rise:
            return (
                f"no arm carries this: the latency of {names(self.arms)} rises within the window "
                f"({ramps})"
            )
        return (
            f"{names(self.arms)} {verb} {also}not stationary: the latency {move} within the window "
            f"({ramps})"
        )


def _ramp(drift: Drift, settling: Settling | None) -> str:
    """Return `5.00 to 500 ms`, and the result of a longer window if there is one."""
    begin, end = (fmt.quantity(value, "ns") for value in (drift.begin_ns, drift.end_ns))
    text = f"{begin} to {end}"
    if settling is None:
        return text
    window = fmt.quantity(settling.window_s * 1e9, "ns")
    if settling.rises:
        return f"{text}, growing on in one of {window}"
    at = settling.response_p50_ns
    middle = "" if at is None else f" at about {fmt.quantity(at, 'ns')}"
    return f"{text}, settled{middle} in one of {window}"


@dataclass(frozen=True)
class DoesNotWork(OfArms):
    """It is decided by failure that these arms do not work: by their own fault, none of the
    `trials` of each came to its end."""

    verbs: ClassVar[tuple[str, str]] = (
        "does not work here: it failed in each of",
        "do not work here: they failed in each of",
    )
    beside_none: ClassVar[bool] = True
    trials: int

    def clause(self, order: RankingWords) -> str:
        return f"{super().clause(order)} {self.trials} trials"


@dataclass(frozen=True)
class Open(OfArms):
    """These arms are undecided against the lead."""

    verbs: ClassVar[tuple[str, str]] = ("is open", "are open")
    concludes: ClassVar[bool] = False


@dataclass(frozen=True)
class NoDataFact(OfArms):
    verbs: ClassVar[tuple[str, str]] = ("has no data", "have no data")
    concludes: ClassVar[bool] = False
    beside_none: ClassVar[bool] = True


@dataclass(frozen=True)
class Unable(OfArms):
    """These arms were not run, because they do not support what the workload asks for."""

    verbs: ClassVar[tuple[str, str]] = ("is not supported", "are not supported")
    concludes: ClassVar[bool] = False
    beside_none: ClassVar[bool] = True


@dataclass(frozen=True)
class OverTopics(OfArm):
    """The arm is decided to be worse in no topic, while every other contender is worse in one.
    `open_in`: topics in which it is not decided; `what`: the word for one of them; `fates`: the
    topic in which it delivers least, with the fates there, if it does not deliver all."""

    open_in: tuple[str, ...] = ()
    what: Noun = "topic"
    fates: tuple[str, Fates] | None = None

    def clause(self, order: RankingWords) -> str:
        return f"{self.arm} {self._only()}"

    def advice(self, order: RankingWords) -> str:
        return f"take {self.arm}: it {self._only()}"

    def _only(self) -> str:
        where = PREPOSITION[self.what]
        still = f", and is open {where} {names(self.open_in)}" if self.open_in else ""
        although = (
            f", although {where} {self.fates[0]} it {self.fates[1].verbs()}" if self.fates else ""
        )
        return f"is the only arm that is worse {where} no {self.what}{although}{still}"


@dataclass(frozen=True)
class NoneInAll(WorkloadFact):
    """Every contender is worse in some topic. `best_in`: (arm, the topics in which it is the
    best)."""

    tone: ClassVar[AnswerTone] = "shared"
    best_in: tuple[tuple[str, tuple[str, ...]], ...]
    what: Noun = "topic"

    def clause(self, order: RankingWords) -> str:
        where = PREPOSITION[self.what]
        verbs = [order.best, *[""] * len(self.best_in)]
        best = ", ".join(
            " ".join(filter(None, (arm, verb, where, names(topics))))
            for verb, (arm, topics) in zip(verbs, self.best_in, strict=False)
        )
        return f"no arm is the best {where} every {self.what}{f': {best}' if best else ''}"


@dataclass(frozen=True)
class AtWorst(WorkloadFact):
    """The worst topic of an arm, in which it is decided to be worse: by its `ratio` to the best
    there, by the `fates` of its messages there, or by sign (both None)."""

    arm: str
    topic: str
    ratio: float | None
    fates: Fates | None
    what: Noun = "topic"

    def clause(self, order: RankingWords) -> str:
        where = f"{PREPOSITION[self.what]} {self.topic}"
        if self.fates is not None and self.what == "topic":
            return f"{self.arm} {self.fates.verbs(self.topic)}"
        if self.fates is not None:
            return f"{where} {self.arm} {self.fates.verbs()}"
        if self.ratio is not None:
            return f"{self.arm} {order.amount(1, f'{fmt.significant(self.ratio)}×')} ({where})"
        return f"{self.arm} is {order.behind_of('another')} ({where})"


@dataclass(frozen=True)
class PairsFact(WorkloadFact):
    """The outcome of arms that are pairs of middlewares (results/workload/interop.py). `deliver`:
    how many pairs deliver every message sound, once and in order; `others`: the other pairs by
    outcome."""

    tone: ClassVar[AnswerTone] = "decided"
    deliver: int
    of: int
    others: tuple[tuple[str, tuple[str, ...]], ...]

    def clause(self, order: RankingWords) -> str:
        if not self.others:
            return f"all {self.of} pairs deliver every message"
        others = [
            f"{names(pairs)} {_OF_PAIRS[outcome][len(pairs) > 1]}" for outcome, pairs in self.others
        ]
        return "; ".join([f"{self.deliver} of {self.of} pairs deliver every message", *others])


_OF_PAIRS = {
    "degraded": ("is degraded", "are degraded"),
    "no delivery": ("matches and delivers nothing", "match and deliver nothing"),
    "no match": ("never matches", "never match"),
    "failed": ("failed in every trial", "failed in every trial"),
    "no data": ("has no data", "have no data"),
    "not supported": ("is not supported", "are not supported"),
    "not run": ("was not run", "were not run"),
}
"""Outcome -> the verb for one pair, and for several."""


@dataclass(frozen=True)
class LimitsFact(WorkloadFact):
    """The contenders by their outcome under the user's limits; `misses`: (arm, the topic of the
    limit), for which the word is `what`."""

    meets: tuple[str, ...]
    misses: tuple[tuple[str, str | None], ...]
    open: tuple[str, ...]
    what: Noun = "topic"

    def clause(self, order: RankingWords) -> str:
        parts = []
        if self.meets:
            parts.append(f"{names(self.meets)} {verb_of(self.meets, 'meets', 'meet')} your limits")
        else:
            parts.append("no arm is shown to meet your limits")
        if self.misses:
            where = PREPOSITION[self.what]
            arms = [arm + (f" ({where} {topic})" if topic else "") for arm, topic in self.misses]
            parts.append(f"{names(arms)} {verb_of(arms, 'misses', 'miss')} them")
        if self.open:
            parts.append(f"{names(self.open)} may or may not")
        return "; ".join(parts)


_OWN_WORDS = ("take ", "all ", "no ", "nothing ", "only ", "which ", "for ", "in ")


def with_opening(opening: str, text: str) -> str:
    """Return the sentence behind its opening, such as `By copy: `."""
    begins = text[:1].lower() + text[1:]
    return opening + (begins if begins.startswith(_OWN_WORDS) else text)


def sentence(facts: Iterable[WorkloadFact], order: RankingWords, *, advise: bool = False) -> str:
    """Return the facts as one sentence; empty if there are none. `advise`: the sentence may say
    which arm to take, which suits a whole workload: nobody takes another arm for each topic. A
    sentence that begins with an arm's name keeps its spelling."""
    clauses: list[str] = []
    losing = False
    for fact in facts:
        if isinstance(fact, DeliversLess) and fact.fates.loses_only and fact.at_worst is None:
            if losing:
                clauses[-1] += f", {fact.arm} {fmt.percent(fact.fates.lost)}"
                continue
            losing = True
        else:
            losing = False
        clauses.append(fact.advice(order) if advise else fact.clause(order))
    text = "; ".join(clauses)
    if text.startswith(_OWN_WORDS):
        text = text[0].upper() + text[1:]
    return f"{text}." if text else ""


@overload
def contenders(part: WorkloadAnswer) -> list[WorkloadArm]: ...
@overload
def contenders(part: TopicAnswer) -> list[TopicArm]: ...
def contenders(part: Part) -> list[Any]:
    return [arm for arm in part.arms if arm.role != "floor"]


AnyPart = TypeVar("AnyPart", bound=Part)


def with_labels(part: AnyPart) -> AnyPart:
    """Return the part with the label of each arm instead of its name (`WorkloadArm.label`), for
    sentences."""
    if not isinstance(part, WorkloadAnswer):
        return part
    labels = {arm.arm: arm.label for arm in part.arms}
    topics = tuple(replace(topic, arms=_renamed(topic.arms, labels)) for topic in part.topics)
    return replace(part, arms=_renamed(part.arms, labels), topics=topics)


def _renamed(arms: Sequence[Any], labels: Mapping[str, str]) -> tuple[Any, ...]:
    return tuple(
        replace(
            arm,
            arm=labels.get(arm.arm, arm.arm),
            verdict=replace(
                arm.verdict, against=labels.get(arm.verdict.against, arm.verdict.against)
            ),
        )
        for arm in arms
    )


def families(part: AnyPart) -> list[tuple[str, AnyPart]]:
    """Return (the opening of a sentence, the part of one family): arms by copy and by loan are
    judged apart, so each family has a sentence. The whole part is returned without an opening if it
    has one family."""
    arms = [arm for arm in part.arms if arm.role != "floor"]
    present = [family for family in Family if any(a.family is family for a in arms)]
    if len(present) < 2:
        return [("", part)]
    return [(f"By {family}: ", _of_family(part, family)) for family in present]


def _of_family(part: Any, family: Family) -> Any:
    arms = tuple(arm for arm in part.arms if arm.family is family)
    if isinstance(part, WorkloadAnswer):
        topics = tuple(_of_family(topic, family) for topic in part.topics)
        return replace(part, arms=arms, topics=topics)
    return replace(part, arms=arms)


def by_verdict(workload: Part) -> dict[str, list[AnyArm]]:
    arms: dict[str, list[AnyArm]] = {}
    for arm in contenders(workload):
        arms.setdefault(verdict_of(arm), []).append(arm)
    return arms


def verdict_of(arm: AnyArm) -> VerdictName:
    return arm.verdict.verdict


def of_workload(workload: Part) -> list[WorkloadFact]:
    """Return the decided facts first, then the open ones, then those without data. If the topics of
    a workload are judged by themselves, the facts are about all of them. If its arms are pairs of
    middlewares, the fact says which pairs communicate, since nobody takes the fastest pair.
    `workload` has one family (`families`)."""
    if isinstance(workload, WorkloadAnswer):
        if workload.matrix:
            return [_pairs(workload.matrix)]
        if any(topic.judged for topic in workload.topics):
            return _over_topics(workload)
    groups = by_verdict(workload)
    lead = leader(workload)
    if lead is None:
        return []
    if verdict_of(lead) == "alone":
        return _alone(lead, groups, workload)
    drifting = [arm for arm in contenders(workload) if arm.drift is not None]
    rising = [arm for arm in drifting if arm.drift and arm.drift.rises]
    with_data = [arm for arm in contenders(workload) if primary(arm, workload) < inf]
    if rising and len(rising) == len(with_data):
        return [
            _not_stationary(rising, all_arms=True),
            *_less_delivered(groups.get("worse", []), workload),
            *_do_not_work(groups.get("worse", [])),
            *_without_data(groups.get("no data", [])),
        ]
    facts = _ahead(groups, workload)
    settled = bool(facts) and isinstance(facts[0], DeliverAll | Between)
    open_ = () if settled else tuple(arm.arm for arm in groups.get("undecided", []))
    leads = facts and lead.arm in facts[0].offered and not isinstance(facts[0], Between)
    facts += _worse(groups.get("worse", []), lead.arm if leads else None, workload)
    if standing := [arm for arm in drifting if verdict_of(arm) != "worse"]:
        facts.append(_not_stationary(standing))
    facts += _not_granted(workload)
    if open_:
        facts.append(Open(open_))
    return [*facts, *_without_data(groups.get("no data", []))]


def _ahead(groups: Mapping[str, Sequence[AnyArm]], part: Part) -> list[WorkloadFact]:
    """Return the facts about the arms that are the best, or may be."""
    worse = groups.get("worse", [])
    if deliver_all := _deliver_all(groups, part):
        return [deliver_all]
    if best := groups.get("best"):
        return _best_of(best[0], worse, part)
    if equal := groups.get("equivalent"):
        slowest = max(primary(arm, part) for arm in equal)
        faster = [arm for arm in worse if is_by_delivery(arm) and primary(arm, part) < slowest]
        return [_equal(equal, part, faster)]
    if undecided := groups.get("undecided"):
        open_ = tuple(arm.arm for arm in undecided)
        return [Between(open_, not worse, _all_worth_telling(undecided, part))]
    return []


def carries(arm: AnyArm, part: Part) -> bool:
    """Whether the arm delivers its messages, except for MOST_LOST. If a rate is judged, every arm
    carries the workload, since its publishers send as fast as they can."""
    return is_carried(fates_of(arm, part).undelivered, part.primary_metric)


def none_carries(part: Part, where: str = "") -> NoneCarries | None:
    """Return the fact that no contender with data carries the part; None if one does. None for a
    workload with topics, since each topic has its own."""
    if isinstance(part, WorkloadAnswer) and any(topic.judged for topic in part.topics):
        return None
    running = [
        arm for arm in contenders(part) if verdict_of(arm) != "no data" and not is_by_failure(arm)
    ]
    if not running or any(carries(arm, part) for arm in running):
        return None
    order = sorted(running, key=lambda arm: fates_of(arm, part).undelivered)
    return NoneCarries(tuple((arm.arm, fates_of(arm, part)) for arm in order), where)


def is_ungranted(arm: AnyArm) -> bool:
    """Whether the arm's configuration asks the kernel for more than it grants."""
    return isinstance(arm, WorkloadArm) and bool(arm.ungranted)


def _not_granted(part: Part) -> list[NotGranted]:
    asking = [arm for arm in contenders(part) if isinstance(arm, WorkloadArm) and arm.ungranted]
    settings = dict.fromkeys(
        ungranted.setting + (f" on {ungranted.machine}" if ungranted.machine else "")
        for arm in asking
        for ungranted in arm.ungranted
    )
    return [NotGranted(tuple(arm.arm for arm in asking), tuple(settings))] if asking else []


def _not_stationary(
    arms: Sequence[AnyArm], *, slower: bool = False, all_arms: bool = False
) -> NotStationary:
    ramps = tuple(
        (arm.arm, arm.drift, arm.settling if isinstance(arm, WorkloadArm) else None)
        for arm in arms
        if arm.drift is not None
    )
    return NotStationary(ramps, slower, all_arms)


def _alone(lead: AnyArm, groups: Mapping[str, Sequence[AnyArm]], part: Part) -> list[WorkloadFact]:
    """Return the facts about a workload in which `lead` is the only contender whose blocks can be
    compared."""
    worse, absent = groups.get("worse", []), groups.get("no data", [])
    failing = tuple(arm.arm for arm in groups.get("undecided", []))
    if not worse:
        return [Alone(lead.arm, tuple(arm.arm for arm in absent), failing)]
    open_facts: list[WorkloadFact] = [Open(failing)] if failing else []
    works = all(map(is_by_failure, worse))
    fates = _worth_telling(lead, part)
    first: WorkloadFact = OnlyOne(lead.arm, fates) if works else _best(lead, worse, part)
    return [first, *_worse(worse, lead.arm, part), *open_facts, *_without_data(absent)]


def _without_data(arms: Sequence[AnyArm]) -> list[WorkloadFact]:
    unable = tuple(arm.arm for arm in arms if isinstance(arm, WorkloadArm) and arm.not_supported)
    absent = tuple(arm.arm for arm in arms if arm.arm not in unable)
    return [*([NoDataFact(absent)] if absent else []), *([Unable(unable)] if unable else [])]


def _although(fates: Fates | None) -> str:
    return "" if fates is None else f", although it {fates.verbs()}"


def _but(fates: Sequence[tuple[str, Fates]]) -> str:
    losses = [f"{arm} {own.verbs()}" for arm, own in fates]
    return f", but {names(losses)}" if losses else ""


def _worth_telling(arm: AnyArm, part: Part) -> Fates | None:
    """Return the arm's fates if it did not deliver everything in time, so that no sentence names it
    first without them; else None."""
    fates = fates_of(arm, part)
    return fates if max(fates.undelivered, fates.late) > 0 else None


def _all_worth_telling(arms: Iterable[AnyArm], part: Part) -> tuple[tuple[str, Fates], ...]:
    fates = ((arm.arm, _worth_telling(arm, part)) for arm in arms)
    return tuple((arm, own) for arm, own in fates if own is not None)


def _delivers_all(arm: AnyArm, part: Part) -> bool:
    fates = fates_of(arm, part)
    return arm.trials.done > 0 and not (fates.undelivered or fates.late or fates.failed)


def _loses_in_each(arm: AnyArm, part: Part) -> bool:
    """Whether the arm failed to deliver some messages in each of at least five blocks."""
    values = [loss.value for loss in arm.per_trial.get(judged_loss(part.primary_metric), ())]
    return len(values) >= Rules.min_blocks and min(values) > 0


def _deliver_all(groups: Mapping[str, Sequence[AnyArm]], part: Part) -> DeliverAll | None:
    """Return the fact that some standing contenders deliver all messages in every block while all
    others lose some in every block; None if that is not so. The losers are not offered, whether
    that is decided or not."""
    standing = [
        *groups.get("best", []),
        *groups.get("equivalent", []),
        *groups.get("undecided", []),
    ]
    whole = [arm for arm in standing if _delivers_all(arm, part)]
    losing = [arm for arm in standing if _loses_in_each(arm, part)]
    if not whole or not losing or len(whole) + len(losing) < len(standing):
        return None
    others = tuple((arm.arm, fates_of(arm, part)) for arm in losing)
    return DeliverAll(tuple(arm.arm for arm in whole), others)


def _best_of(best: AnyArm, worse: Sequence[AnyArm], part: Part) -> list[WorkloadFact]:
    """Return the best arm, after its trade-off if a slower arm delivers every message and it does
    not."""
    fates = fates_of(best, part)
    unlike = fates.undelivered >= UNLIKE or (fates.undelivered and _loses_in_each(best, part))
    by_primary = [arm for arm in worse if not (is_by_delivery(arm) or is_by_failure(arm))]
    whole = [arm for arm in by_primary if _delivers_all(arm, part) and not is_ungranted(arm)]
    if not unlike or not whole:
        return [_best(best, worse, part)]
    nearest = min(whole, key=lambda arm: primary(arm, part))
    ratio = _ratio(nearest) if nearest.verdict.against == best.arm else None
    return [TradeOff(nearest.arm, best.arm, ratio, fates), _best(best, worse, part)]


def _equal(equal: Sequence[AnyArm], part: Part, faster: Sequence[AnyArm] = ()) -> Equal:
    fates = _all_worth_telling(equal, part)
    return Equal(tuple(arm.arm for arm in equal), tuple(arm.arm for arm in faster), fates)


def _pairs(matrix: Matrix) -> PairsFact:
    pairs: dict[str, list[str]] = {}
    for cell in matrix.cells:
        pairs.setdefault(cell.outcome, []).append(cell.arm)
    others = tuple((outcome, tuple(pairs[outcome])) for outcome in _OF_PAIRS if outcome in pairs)
    return PairsFact(len(pairs.get("delivers", ())), len(matrix.cells), others)


def _best(best: AnyArm, worse: Sequence[AnyArm], workload: Part) -> WorkloadFact:
    if best.value(workload.primary_metric) == inf:  # it delivers most, but is not fast
        title = title_of(workload.primary_metric)
        return DeliversMost(best.arm, title, fates_of(best, workload))
    fates = _worth_telling(best, workload)
    smaller = [arm for arm in worse if primary(arm, workload) < primary(best, workload)]
    if not smaller:
        return Best(best.arm, fates)
    listed = tuple(arm.arm for arm in smaller)
    if all(is_by_delivery(arm) for arm in smaller):
        return BestByDelivery(best.arm, listed, fates)
    return BestByBlocks(best.arm, listed)


def _worse(worse: Sequence[AnyArm], lead: str | None, part: Part) -> list[WorkloadFact]:
    """Return the facts about arms that are worse: those behind the lead first, then those behind
    others, then those that deliver less. `lead`: the arm that the sentence is about; None if it is
    about several."""
    by_against: dict[str, list[tuple[str, float | None]]] = {}
    by_primary = [arm for arm in worse if not (is_by_delivery(arm) or is_by_failure(arm))]
    drifting = [arm for arm in by_primary if arm.drift is not None]
    for arm in by_primary:
        if arm not in drifting and not is_ungranted(arm):
            value = _ratio(arm)
            by_against.setdefault(str(arm.verdict.against), []).append((arm.arm, value))
    order = sorted(by_against, key=lambda against: against != lead)
    cost = words(part.primary_metric).as_lower_is_better

    def behind(arm: tuple[str, float | None]) -> float:
        return inf if arm[1] is None else cost(arm[1])

    facts: list[WorkloadFact] = [
        Slower(against, tuple(sorted(by_against[against], key=behind)), against == lead)
        for against in order
    ]
    if drifting:
        facts.append(_not_stationary(drifting, slower=True))
    return [*facts, *_less_delivered(worse, part), *_do_not_work(worse)]


def _less_delivered(worse: Iterable[AnyArm], part: Part) -> list[DeliversLess]:
    return [
        DeliversLess(
            arm.arm, str(arm.verdict.against), fates_of(arm, part), _at_worst_reader(part, arm.arm)
        )
        for arm in worse
        if is_by_delivery(arm)
    ]


def _at_worst_reader(part: Part, name: str) -> tuple[str, Fates] | None:
    """Return the topic or readers in which an arm delivers least, if the workload is judged as a
    whole; None if its readers and topics are alike."""
    if not isinstance(part, WorkloadAnswer) or (least := _least_delivered(part, name)) is None:
        return None
    topic, fates = least
    return f"{PREPOSITION[noun(part.topics)]} {topic}", fates


def _do_not_work(worse: Iterable[AnyArm]) -> list[DoesNotWork]:
    by_trials: dict[int, list[str]] = {}
    for arm in worse:
        if is_by_failure(arm):
            by_trials.setdefault(own_failures(arm), []).append(arm.arm)
    return [DoesNotWork(tuple(arms), trials) for trials, arms in by_trials.items()]


def _over_topics(workload: WorkloadAnswer) -> list[WorkloadFact]:
    """Return the facts over all topics, after those about topics that no arm carries: these decide
    nothing between the arms."""
    where = PREPOSITION[noun(workload.topics)]
    judged = {t.topic: none_carries(t, f"{where} {t.topic}") for t in workload.topics if t.judged}
    uncarried = [none for none in judged.values() if none is not None]
    if len(uncarried) == len(judged):
        groups = by_verdict(workload)
        return [
            *uncarried,
            *_do_not_work(groups.get("worse", [])),
            *_without_data(groups.get("no data", [])),
        ]
    if not uncarried:
        return _over_carried(workload, workload)
    carried = tuple(topic for topic in workload.topics if judged.get(topic.topic) is None)
    part = replace(workload, topics=carried)
    return [*uncarried, *(_within(fact, part) for fact in _over_carried(part, workload))]


def _within(fact: WorkloadFact, carried: WorkloadAnswer) -> WorkloadFact:
    """Return the fact with the fates of equal arms in these topics alone."""
    if not isinstance(fact, Equal):
        return fact
    least = [(arm, _least_delivered(carried, arm)) for arm in fact.arms]
    return replace(fact, fates=tuple((arm, worst[1]) for arm, worst in least if worst is not None))


def _over_carried(workload: WorkloadAnswer, whole: WorkloadAnswer) -> list[WorkloadFact]:
    """Return the facts over the topics of `workload`, which is `whole` without the topics that no
    arm carries."""
    arms = contenders(workload)
    worse = [arm for arm in arms if verdict_of(arm) == "worse"]
    running = [arm for arm in worse if not is_by_failure(arm)]
    groups = by_verdict(workload)
    if groups.get("alone") and not running:
        return _alone(groups["alone"][0], groups, workload)
    standing = [arm for arm in arms if arm not in worse and verdict_of(arm) != "no data"]
    facts: list[WorkloadFact] = []
    if len(standing) == 1 and worse:
        open_in = _open_in(workload, standing[0].arm)
        least = _least_delivered(workload, standing[0].arm)
        facts.append(OverTopics(standing[0].arm, open_in, noun(workload.topics), least))
    elif standing:
        open_ = tuple(arm.arm for arm in standing if verdict_of(arm) in ("undecided", "alone"))
        equal = [arm for arm in standing if arm.arm not in open_]
        if equal:
            facts.append(_equal(equal, workload))
            facts += [Open(open_)] if open_ else []
        else:
            facts.append(Between(open_, not worse))  # each topic states its own losses
    elif worse:
        facts.append(NoneInAll(_best_in(workload), noun(workload.topics)))
    facts += [_at_worst(arm, whole) for arm in sorted(running, key=_severity)]
    facts += _do_not_work(worse)
    return [*facts, *_without_data([arm for arm in arms if verdict_of(arm) == "no data"])]


def _ratio(arm: AnyArm) -> float | None:
    """Return the ratio of the arm's verdict; None if there is none, or it is decided by sign."""
    return None if arm.verdict.ratio is None else fmt.finite(arm.verdict.ratio.value)


def _severity(arm: AnyArm) -> tuple[bool, float]:
    value = _ratio(arm)
    return is_by_delivery(arm), inf if value is None else value


def _at_worst(arm: WorkloadArm, workload: WorkloadAnswer) -> AtWorst:
    topic = str(arm.verdict.topic)
    fates = None
    if is_by_delivery(arm):
        (topic_there,) = [t for t in workload.topics if t.topic == topic]
        (own,) = [a for a in topic_there.arms if a.arm == arm.arm]
        fates = fates_of(own, topic_there)
    return AtWorst(arm.arm, topic, _ratio(arm), fates, noun(workload.topics))


def _best_in(workload: WorkloadAnswer) -> tuple[tuple[str, tuple[str, ...]], ...]:
    topics_of: dict[str, list[str]] = {}
    for topic in workload.topics:
        for fact in of_workload(topic):
            if isinstance(fact, Best):
                topics_of.setdefault(fact.arm, []).append(topic.topic)
    return tuple((arm, tuple(topics)) for arm, topics in topics_of.items())


def _least_delivered(workload: WorkloadAnswer, name: str) -> tuple[str, Fates] | None:
    """Return the topic in which the arm delivers least, with the fates there; None if it delivers
    everything in time."""
    losses = [
        (topic.topic, fates)
        for topic in workload.topics
        for arm in topic.arms
        if arm.arm == name and (fates := _worth_telling(arm, topic)) is not None
    ]
    return max(losses, key=lambda loss: (loss[1].undelivered, loss[1].late), default=None)


def _open_in(workload: WorkloadAnswer, name: str) -> tuple[str, ...]:
    return tuple(
        topic.topic
        for topic in workload.topics
        for arm in topic.arms
        if arm.arm == name and verdict_of(arm) in ("undecided", "no data")
    )


def limits(condition: LevelsOutcome | None, part: Part) -> LimitsFact | None:
    """Return the outcome of the contenders in a condition; None if the suite declares no limits."""
    if condition is None:
        return None
    arms = [arm for arm in condition.arms if arm.outcome != NOT_SUPPORTED]
    return LimitsFact(
        tuple(arm.arm for arm in arms if arm.outcome == MEETS),
        tuple((arm.arm, arm.topic) for arm in arms if arm.outcome in (MISSES, NONE)),
        tuple(arm.arm for arm in arms if arm.outcome in (OPEN, UNKNOWN)),
        noun(part.topics) if isinstance(part, WorkloadAnswer) else "topic",
    )


def leader(workload: Part) -> AnyArm | None:
    """Return the contender that the others are judged against: the best if there is one, else the
    one that most verdicts name, else the one with the smallest primary metric."""
    arms: Sequence[AnyArm] = contenders(workload)
    for arm in arms:
        if verdict_of(arm) in ("best", "alone"):
            return arm
    named = [
        arm.verdict.against
        for arm in arms
        if verdict_of(arm) in ("worse", "equivalent", "undecided")
    ]
    for arm in sorted(arms, key=lambda arm: -named.count(arm.arm)):
        if arm.arm in named and verdict_of(arm) != "worse":
            return arm
    measured = [arm for arm in arms if primary(arm, workload) < inf]
    return min(measured, key=lambda arm: primary(arm, workload), default=None)


def primary(arm: AnyArm, workload: Part) -> float:
    """Return the primary metric, turned so that a smaller value is better; infinite if there is
    none."""
    value = arm.value(workload.primary_metric)
    return inf if value is None else words(workload.primary_metric).as_lower_is_better(value)


def fates_of(arm: AnyArm, part: Part) -> Fates:
    """Return the fates of the messages that a verdict of `part` judges: the fractions that tables
    have, over its done trials, and the trials that it failed by its own fault."""
    fate_metrics = fates_in(part.primary_metric)
    lost, late, never_sent = (fmt.finite(arm.value(name)) or 0.0 for name in fate_metrics)
    undelivered = fmt.finite(arm.value(judged_loss(part.primary_metric))) or 0.0
    of_sent = (undelivered - never_sent) / (1 - never_sent) if never_sent < 1 else 0.0
    failed = own_failures(arm)
    return Fates(
        lost=lost,
        late=late,
        never_sent=never_sent,
        overdue=min(late, max(round(of_sent - lost, 12), 0.0)),
        held_by=main_cause(arm.unsent_by) if never_sent else None,
        failed=failed,
        trials=arm.trials.done + failed,
    )


def own_failures(arm: AnyArm) -> int:
    """Return how many blocks the arm lost by its own fault; a failure of the host is not
    counted."""
    if isinstance(arm, TopicArm):
        return arm.trials.lost
    return len({x.block for x in arm.trials.failures if lost_by_its_arm(x)})


BY_FATE: Mapping[Fate | None, str] = {
    Fate.LOST: "by loss",
    Fate.LATE: "by what came late",
    Fate.NEVER_SENT: "by what it never sent",
    Fate.FAILED: "by failed trials",
}


def is_by_delivery(arm: AnyArm) -> bool:
    return verdict_of(arm) == "worse" and arm.verdict.by == By.DELIVERY


def is_by_failure(arm: AnyArm) -> bool:
    return verdict_of(arm) == "worse" and arm.verdict.by == By.FAILURE


def verdict_basis(arm: AnyArm, *, whole: bool = False) -> str:
    """Return the words beside `worse`: the ratio, or the fate that decided it, since `worse 0.44×`
    reads like a contradiction; empty beside other verdicts. `whole`: return the interval, too, and
    the ratio of any verdict that rests on it, as tables have them."""
    if is_by_delivery(arm):
        return worse_by(arm.verdict) + _failed(arm)
    if is_by_failure(arm):
        return worse_by(arm.verdict)
    if arm.drift is not None:
        return "not stationary" if verdict_of(arm) == "worse" else ""
    ratio = fmt.ratio(arm.verdict.ratio)
    with_ratio = ("worse", "undecided", "equivalent") if whole else ("worse",)
    if ratio.state != "measured" or verdict_of(arm) not in with_ratio:
        return ""
    return ratio.full if whole else ratio.text


def worse_by(verdict: Verdict) -> str:
    """Return the fate or the ratio that decided `worse`; empty without either."""
    if verdict.by == By.DELIVERY:
        return BY_FATE.get(verdict.fates.main if verdict.fates else None, "by delivery")
    if verdict.by == By.FAILURE:
        return "by failure"
    ratio = fmt.ratio(verdict.ratio)
    return ratio.text if ratio.state == "measured" and verdict.verdict == "worse" else ""


def _failed(arm: AnyArm) -> str:
    """Return `, 1 of 5 trials failed`: failed trials count in the verdict, and in no fraction of a
    table."""
    failed = own_failures(arm)
    of = fmt.counted(arm.trials.done + failed, "trial")
    return f", {failed} of {of} failed" if failed else ""


def title_of(metric: str) -> str:
    """Return the name of a metric within a sentence."""
    plain = metric == "response_latency_p50" or metric not in GLOSSARY
    return "median response" if plain else phrase(GLOSSARY[metric])


def names(arms: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b, c and 3 others`."""
    arms = list(arms)
    if len(arms) > 4:
        arms = [*arms[:3], f"{len(arms) - 3} others"]
    return arms[0] if len(arms) == 1 else f"{', '.join(arms[:-1])} {last} {arms[-1]}"


def verb_of(arms: Sequence[str], of_one: str, of_several: str) -> str:
    return of_one if len(arms) == 1 else of_several
