"""A limit in words, `p99 response < 5 ms, loss < 0.1 %`, and whether a trial holds it.

Every condition must hold, and the system must always be stable: a growing queue holds any limit for
a while. How many messages a trial must have follows from its conditions: ten beyond a percentile
(rule 5), and three at the limit of a fraction (where none of 3/limit messages is lost, the loss is
below the limit with 95 % confidence).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from rmwbench.analysis.metrics.aggregate import (
    MeasuredTrial,
    clock_bound,
    fraction_of,
    trial_value,
    under_way_of,
)
from rmwbench.analysis.metrics.glossary import GLOSSARY, METRICS, Fate
from rmwbench.analysis.metrics.stability import Stability
from rmwbench.analysis.stats.estimate import allowed, needed
from rmwbench.analysis.verdicts import limit_outcomes
from rmwbench.analysis.verdicts.limit_outcomes import OneTrial, Outcome
from rmwbench.errors import UserError, did_you_mean
from rmwbench.words import numbers as fmt

EXAMPLE = "p99 response < 5 ms, loss < 0.1 %"
NAMED = {word: m for m in METRICS if m.kind != "quantile" for word in m.words}
LATENCIES = {word: m.source for m in METRICS if m.kind == "quantile" for word in m.words}
UNIT_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
SEARCHED = frozenset(m.name for m in METRICS if m.words)
"""The metrics by which a search can judge a trial."""
EXPECTED_AT_LIMIT = 3
WHERE = "--limit"


@dataclass(frozen=True)
class LimitCondition:
    """`metric` (of the glossary) is below `below`, in the metric's unit (ns, or a fraction), or at
    it where the condition is `inclusive`."""

    metric: str
    below: float
    inclusive: bool = False

    @property
    def name(self) -> str:
        """The name as people say it: `p99 response`, `loss`, `longest stall`."""
        entry = GLOSSARY[self.metric]
        if entry.kind == "quantile":
            return f"p{entry.q * 100:g} {entry.words[0]}"
        return entry.title

    @property
    def text(self) -> str:
        """The condition in words, which `parse_limit` reads: its number has all its digits."""
        of_fraction = GLOSSARY[self.metric].unit == "fraction"
        unit = "%" if of_fraction else _unit(self.below)
        divisor = 0.01 if of_fraction else UNIT_NS[unit]
        number = (Decimal(repr(self.below)) / Decimal(repr(divisor))).normalize()
        return f"{self.name} {'≤' if self.inclusive else '<'} {number:f} {unit}"

    @property
    def messages(self) -> int:
        """The fewest messages that a trial needs to be judged by this condition."""
        entry = GLOSSARY[self.metric]
        if entry.kind == "quantile":
            return needed(entry.q)
        # guards against 3/0.001 = 3000.0000000000005
        return math.ceil(EXPECTED_AT_LIMIT / self.below - 1e-6) if entry.kind == "fraction" else 2

    def value(self, trial: MeasuredTrial) -> float | None:
        """The trial's value at the upper end of its clock bound, +inf where messages that did not
        arrive reach it; None where the trial has too few messages."""
        entry = GLOSSARY[self.metric]
        if entry.kind == "quantile":
            sample = trial.messages.samples.get(entry.source)
            if sample is None or not allowed(sample.count, entry.q):
                return None
        value = trial_value(entry, trial)
        return None if value is None else value + clock_bound(entry, trial)

    def outcome(self, value: float, trial: MeasuredTrial) -> Outcome:
        """The outcome for a trial with this value; open where messages that were still under way
        when the trial ended decide it."""
        under_way, messages = under_way_of(self.metric, trial)
        share = under_way / messages if under_way else 0.0
        belief = OneTrial(value, self.inclusive)
        return limit_outcomes.judge(belief, self.below, level=0.0, under_way=share).outcome

    def document(self) -> dict[str, Any]:
        condition = {"metric": self.metric, "name": self.name, "below": self.below}
        return condition | ({"inclusive": True} if self.inclusive else {})

    def value_text(self, value: float) -> str:
        """The value with its unit, in three digits, or in as many as tell it from the limit."""
        if GLOSSARY[self.metric].unit == "fraction":
            return fmt.distinct(fmt.percent, value, self.below)[0]
        if math.isinf(value):
            return "never arrived"
        unit = _unit(value)
        number, _ = fmt.distinct(fmt.concise, value / UNIT_NS[unit], self.below / UNIT_NS[unit])
        return f"{number} {unit}"


def _unit(value_ns: float) -> str:
    in_three_digits = float(f"{value_ns:.3g}")
    return next((unit for unit in ("s", "ms", "µs") if in_three_digits >= UNIT_NS[unit]), "ns")


@dataclass(frozen=True)
class CapacityLimit:
    conditions: tuple[LimitCondition, ...]

    @property
    def text(self) -> str:
        return ", ".join(condition.text for condition in self.conditions)

    @property
    def messages(self) -> int:
        """The fewest messages of a trial by which all conditions can be judged."""
        return self.demanding.messages

    @property
    def demanding(self) -> LimitCondition:
        """The condition that needs the most messages."""
        return max(self.conditions, key=lambda condition: condition.messages)

    def document(self) -> dict[str, Any]:
        return {"text": self.text, "conditions": [c.document() for c in self.conditions]}


Kind = Literal["holds", "slow", "lossy", "never_sent", "unstable", "failed"]
KIND_OF_FATE: Mapping[Fate, Kind] = {
    Fate.LOST: "lossy",
    Fate.NEVER_SENT: "never_sent",
    Fate.LATE: "slow",
}
"""Fate of most messages that break a limit -> how the trial fails, the most fundamental first."""


@dataclass(frozen=True)
class LimitFinding:
    """Whether a trial held the limit; `causes`: how it broke the limit (`p99 response 7.2 ms`), the
    most fundamental cause first."""

    kind: Kind
    causes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.kind == "holds"


def judge(limit: CapacityLimit, trial: MeasuredTrial, stability: Stability) -> LimitFinding | None:
    """The finding about one done trial; None where the trial has too few messages to be judged (the
    schedule's draw was short)."""
    if stability.unstable:
        return LimitFinding("unstable", (stability.text,))
    broken: list[LimitCondition] = []
    undecided: list[LimitCondition] = []
    texts: list[str] = []
    under_way_text = "{} of the messages were still under way at the end"
    for condition in limit.conditions:
        value = condition.value(trial)
        if value is None:
            return None
        outcome = condition.outcome(value, trial)
        if outcome is Outcome.MISSES:
            broken.append(condition)
            texts.append(f"{condition.name} {condition.value_text(value)}")
        elif outcome is Outcome.OPEN:
            undecided.append(condition)
    if not broken:
        if not undecided:
            return LimitFinding("holds")
        under_way, total = under_way_of(undecided[0].metric, trial)
        return LimitFinding("slow", (under_way_text.format(fmt.percent(under_way / total)),))
    fractions = [GLOSSARY[c.metric].kind == "fraction" for c in broken]
    infinite = any(math.isinf(c.value(trial) or 0.0) for c in broken)
    if infinite and not any(fractions):  # a percentile that never arrived is explained by its loss
        count, total = fraction_of("undelivered", trial)
        under_way, _ = under_way_of("undelivered", trial)
        if count or not under_way:
            texts.append(f"{fmt.percent(count / total)} of the messages did not arrive")
        if under_way:
            texts.append(under_way_text.format(fmt.percent(under_way / total)))
    order = sorted(range(len(texts)), key=lambda i: i < len(broken) and not fractions[i])
    kinds = {_kind_of(condition, trial) for condition in broken}
    kind = next(kind for kind in KIND_OF_FATE.values() if kind in kinds)
    return LimitFinding(kind, tuple(texts[i] for i in order))


def _kind_of(broken: LimitCondition, trial: MeasuredTrial) -> Kind:
    """How a trial breaks a condition: by the fate that the condition limits; where it limits
    several fates, or a message that did not arrive broke it, by the fate of most such messages."""
    entry, ledger = GLOSSARY[broken.metric], trial.messages.ledger
    if entry.fate is not None:
        return KIND_OF_FATE[entry.fate]
    if not (entry.judged_first or math.isinf(broken.value(trial) or 0.0)):
        return "slow"
    counts = {
        Fate.LOST: ledger.lost,
        Fate.NEVER_SENT: ledger.never_sent,
        Fate.LATE: ledger.after_drain if entry.judged_first else ledger.late,
    }
    return KIND_OF_FATE[max(counts, key=lambda fate: counts[fate])]


def of_limits(document: Mapping[str, Any], where: str) -> CapacityLimit:
    """The limit of a limits file for a search, which judges a whole workload. `document`: as
    `Limits.document`. Raises UserError where the file limits single topics, or a metric that a
    search does not measure."""
    if document.get("topics"):
        raise UserError(
            "a search judges a whole workload, not single topics",
            where=where,
            expected="limits below `acceptable` alone",
            actual=f"limits of {', '.join(document['topics'])}",
            fix="leave `topics` out, or run the suite and ask `rmwbench decide`",
        )
    limits = {limit["metric"]: float(limit["at_most"]) for limit in document["acceptable"]}
    unknown = [metric for metric in limits if metric not in SEARCHED]
    if unknown:
        raise UserError(
            f"a search does not judge `{unknown[0]}`",
            where=where,
            expected=f"percentiles of {', '.join(LATENCIES)}; "
            + ", ".join(dict.fromkeys(metric.name for metric in NAMED.values())),
            actual=", ".join(unknown),
        )
    return CapacityLimit(
        tuple(LimitCondition(metric, at_most, inclusive=True) for metric, at_most in limits.items())
    )


def parse_limit(text: str) -> CapacityLimit:
    """The conditions of a limit in words. Raises UserError where a part is not understood."""
    if comma := re.search(r"\d+,\d+", text):
        raise UserError(
            f"`{comma[0]}`: a comma ends a condition",
            where=WHERE,
            expected="a decimal point, and nothing between thousands",
            actual=text,
            fix=f"write {comma[0].replace(',', '.')}, or {comma[0].replace(',', '')}",
        )
    parts = [part.strip() for part in re.split(r",|;|\band\b", text) if part.strip()]
    if not parts:
        raise UserError(
            "a limit without a condition",
            where=WHERE,
            expected=f"for example `{EXAMPLE}`",
            actual=text,
        )
    conditions = tuple(_condition(part) for part in parts)
    for condition in conditions:
        twice = [c for c in conditions if c.metric == condition.metric]
        if len(twice) > 1:
            raise UserError(
                f"`{condition.name}` is limited twice",
                where=WHERE,
                actual=", ".join(c.text for c in twice),
            )
    return CapacityLimit(conditions)


def _condition(part: str) -> LimitCondition:
    match = re.fullmatch(r"(.+?)\s*(<=|≤|<|>=|≥|>|=)\s*([0-9.eE+-]+)\s*(\S*)", part)
    if not match:
        raise UserError(
            f"`{part}` is not a limit",
            where=WHERE,
            expected=f"METRIC < VALUE UNIT, as in `{EXAMPLE}`",
        )
    phrase, sign, number, unit = match.groups()
    unit = unit.replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")  # they look the same
    if not sign.startswith(("<", "≤")):
        raise UserError(
            f"`{part}`: a limit is an upper one",
            where=WHERE,
            expected=f"`<`, as in `{EXAMPLE}`",
            actual=sign,
            fix="for delivery, say `loss < …`" if "deliver" in phrase else None,
        )
    metric = _metric(phrase, part)
    try:
        value = float(number)
    except ValueError:
        raise UserError(f"`{number}` is not a number", where=WHERE, actual=part) from None
    below = fmt.scaled(value, _factor(metric, unit, part))
    if not (below > 0 and math.isfinite(below)):
        raise UserError(
            f"`{part}`: nothing is below this",
            where=WHERE,
            expected="more than 0",
            actual=f"{number} {unit}".strip(),
        )
    if GLOSSARY[metric].unit == "fraction" and below > 1:
        raise UserError(
            f"`{part}` is always true",
            where=WHERE,
            expected="at most 100 %",
            actual=f"{number} {unit}",
        )
    return LimitCondition(metric, below, inclusive=sign in ("<=", "≤"))


def _metric(phrase: str, part: str) -> str:
    words = [w for w in phrase.lower().replace("_", " ").split() if w not in ("latency", "call")]
    if (metric := NAMED.get(" ".join(words))) is not None:
        return metric.name
    percentiles = [w for w in words if re.fullmatch(r"p\d+(\.\d+)?", w) or w == "median"]
    rest = [w for w in words if w not in percentiles]
    known_words = [*LATENCIES, *dict.fromkeys(m.words[0] for m in NAMED.values()), "median"]
    if len(percentiles) != 1 or len(rest) > 1:
        wrong = next((w for w in rest if w not in known_words), phrase)
        raise UserError(
            f"`{part}`: unknown metric `{phrase}`",
            where=WHERE,
            expected="pNN with " + ", ".join(LATENCIES) + "; or loss, late, never sent, "
            "undelivered, stall",
            fix=did_you_mean(wrong, known_words),
        )
    stem = LATENCIES.get(rest[0] if rest else "response")
    if stem is None:
        raise UserError(
            f"`{part}`: unknown latency `{rest[0]}`",
            where=WHERE,
            expected="one of " + ", ".join(LATENCIES),
            fix=did_you_mean(rest[0], known_words),
        )
    q = 0.5 if percentiles[0] == "median" else float(percentiles[0][1:]) / 100
    names = {e.q: e.name for e in GLOSSARY.values() if e.kind == "quantile" and e.source == stem}
    name = next((name for known_q, name in names.items() if abs(known_q - q) < 1e-9), None)
    if name is None:
        raise UserError(
            f"`{part}`: p{q * 100:g} is not measured",
            where=WHERE,
            expected="one of " + ", ".join(f"p{known_q * 100:g}" for known_q in sorted(names)),
            actual=percentiles[0],
        )
    return name


def _factor(metric: str, unit: str, part: str) -> float:
    """The factor from the unit in which a condition is written to that of its metric."""
    of_fraction = GLOSSARY[metric].unit == "fraction"
    factors = {"%": 0.01, "": 1.0} if of_fraction else UNIT_NS
    if unit in factors:
        return factors[unit]
    problem, fix = f"unknown unit `{unit}`", did_you_mean(unit, factors)
    if not unit:
        problem, fix = "a time needs a unit", f"did you mean `{part.strip()} ms`?"
    raise UserError(
        f"`{part}`: {problem}",
        where=WHERE,
        expected="% or a bare fraction" if of_fraction else "one of " + ", ".join(UNIT_NS),
        actual=unit or "none",
        fix=fix,
    )
