"""Two campaigns, or parts of them -> the answer of `rmwbench compare`, from which terminal and HTML
are rendered and whose document is docs/formats/compare.md: first in what they differ besides their
results, then every cell that both have, then what cannot be compared.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, aggregate, judged_loss
from rmwbench.analysis.metrics.comparisons import comparisons
from rmwbench.analysis.metrics.glossary import (
    FAILED_TRIALS,
    GLOSSARY,
    METRICS,
    Better,
    Use,
    names_for,
)
from rmwbench.analysis.metrics.judged_topics import OF_TOPICS, Topic
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.verdicts.disturbed import unbound
from rmwbench.analysis.verdicts.failed_arms import lost_by_its_arm
from rmwbench.analysis.verdicts.interim import MARGIN, InterimCell, aa_noise, is_bound
from rmwbench.analysis.verdicts.statements import (
    Counts,
    FractionChange,
    Statement,
    StatementAnswer,
    StatementVerdict,
    judge,
    overall,
)
from rmwbench.analysis.verdicts.unlike import between
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.evidence import SmallTables
from rmwbench.errors import UserError, did_you_mean
from rmwbench.results.compare.compare_model import (
    Compared,
    ComparedSide,
    JudgedBy,
    MetricRow,
    NotComparable,
    TopicLikeness,
)
from rmwbench.results.compare.environment import definition_differences, environment
from rmwbench.results.compare.match import Match, Unmatched, match, name
from rmwbench.results.judged import readers_apart
from rmwbench.results.model import Estimate, Ratio, TrialCounts
from rmwbench.results.selection import Selection
from rmwbench.results.workload.workload_arm import ArmReport, CellEvidence, statement

COST = names_for(Use.COMPARED)
"""Judged beside the primary metric and loss, where neither side names metrics."""
EXIT_CODES: Mapping[StatementVerdict, Literal[0, 1, 2]] = {
    "better": 0,
    "equivalent": 0,
    "worse": 1,
    "undecided": 2,
}


@dataclass
class _Half:
    """A side with its measured cells (`arms`, by cell) and its finished trials."""

    side: Selection
    arms: dict[int, ArmReport]
    lines: list[TrialLine]


def compare(
    a: Selection, b: Selection, *, margin: float | None = None, metrics: Sequence[str] = ()
) -> Compared:
    """B against A. `margin`: the ratio minus 1 that matters, 5 % where None; `metrics` instead of
    the primary one, CPU and memory; loss is judged beside them. UserError for a broken bundle, a
    metric that is unknown or says nothing of better and worse, or nothing to compare.
    """
    _check_metrics(metrics)
    one = _is_one_campaign(a, b)
    matches, alone = match(a, b)
    comparable = [m for m in matches if m.chosen or not definition_differences(m)]
    alone += [
        Unmatched(name(m.a), _definition_reason(m), True) for m in matches if m not in comparable
    ]
    halves = _halves(a, b, comparable)
    rules, floors = _rules(a.bundle, b.bundle, margin)
    groups = [
        _Group(m, halves[0].arms[m.a["cell"]], halves[1].arms[m.b["cell"]], one, metrics)
        for m in comparable
    ]
    asked = [(g, q) for g in groups for q in g.statements()]
    answers = judge([q for _, q in asked], rules)
    shown = [(g, q, x) for (g, q), x in zip(asked, answers, strict=True) if g.is_shown(q, x)]
    verdict = overall(x.verdict for g, q, x in shown if g.counts(q, x))
    if verdict in ("equivalent", "better") and any(x.counts for x in alone):
        verdict = "undecided"  # what A has and B lacks may be what broke
    topics = environment(a, b, matches, (halves[0].lines, halves[1].lines))
    return Compared(
        a=_side(halves[0]),
        b=_side(halves[1]),
        paired=one,
        rules=JudgedBy(
            alpha=rules.alpha,
            margin=rules.margin,
            aa_floor=rules.aa_floor if any(floors) and not one else None,
        ),
        cautions=tuple(_cautions(one, rules, floors, topics)),
        environment=topics,
        rows=tuple(g.row(q, x) for g, q, x in shown),
        not_comparable=tuple(NotComparable(cell=x.cell, reason=x.reason) for x in alone),
        verdict=verdict,
        exit_code=EXIT_CODES[verdict],
    )


def _is_one_campaign(a: Selection, b: Selection) -> bool:
    """Raises UserError where a cell is on both sides."""
    one = a.is_of_campaign(b)
    both = {c["cell"] for c in a.cells} & {c["cell"] for c in b.cells}
    if one and both:
        raise UserError(
            f"{len(both)} cells are on both sides: a trial cannot be compared with itself",
            where=b.text,
            fix=f"select an arm on each side, such as {a.bundle.directory}:ARM, or name another "
            "campaign",
        )
    return one


class _Group:
    """A pair of cells, one on each side. `named`: the metrics that a user asked for, if any."""

    def __init__(
        self, match: Match, a: ArmReport, b: ArmReport, paired: bool, named: Sequence[str]
    ):
        self.match, self.a, self.b, self.paired, self.named = match, a, b, paired, named
        self.key = (match.a["cell"], match.b["cell"])
        self.flags = (*match.chosen, *between(a.facts, b.facts))

    def statements(self) -> Iterator[Statement]:
        """Loss is asked for whatever a user names: what is lost costs nothing to deliver."""
        loss = judged_loss(self.a.primary)
        wanted = (*self.named, loss) if self.named else (self.a.primary, loss, *COST)
        for metric in dict.fromkeys(wanted):
            for topic in self._topics(metric):
                yield replace(
                    statement(self.b, self.a, metric, topic, self.key),
                    paired=self.paired,
                    bounds=(self.b.clock_bound(metric, topic), self.a.clock_bound(metric, topic)),
                )
        failed = [{0: _failed(x.lines)} for x in (self.a, self.b)]
        if any(side[0][0] for side in failed):
            right, left = failed
            yield Statement(
                group=self.key, metric=FAILED_TRIALS, left=left, right=right, paired=False
            )

    def is_shown(self, q: Statement, answer: StatementAnswer) -> bool:
        """A loss that nobody asked for where it is decided; of the metrics that are judged where
        nobody names any, those that either side has."""
        if self._is_beside(q):
            return answer.verdict in ("worse", "better")
        return bool(self.named) or not self.has_none(q, answer)

    def counts(self, q: Statement, answer: StatementAnswer) -> bool:
        """Whether the answer of the whole table rests on it."""
        return not self._is_beside(q) or answer.verdict == "worse"

    def _is_beside(self, q: Statement) -> bool:
        """Whether it is a loss beside other metrics that a user named."""
        return (
            bool(self.named) and q.metric is not FAILED_TRIALS and q.metric.name not in self.named
        )

    def _topics(self, metric: str) -> list[str | None]:
        """The topics that both have and that are judged one by one; [None], the whole, where there
        are none or the metric is of no single topic."""
        names = self.a.shared(self.b)
        return [*names] if names and metric in OF_TOPICS else [None]

    def has_none(self, q: Statement, answer: StatementAnswer) -> bool:
        """Neither side has a metric that nobody asked for: there is nothing to compare, and nothing
        open."""
        return (
            answer.verdict == "no data"
            and not q.left
            and not q.right
            and not self.refused(q)
            and bool(self.a.trials and self.b.trials)
        )

    def refused(self, q: Statement) -> str | None:
        """Why a side has nothing to compare by this metric, though it was measured."""
        if q.metric is FAILED_TRIALS:
            return None
        reasons = (("A", self.a.refused(q.metric)), ("B", self.b.refused(q.metric)))
        return next((f"{side}: {reason}" for side, reason in reasons if reason), None)

    def row(self, q: Statement, answer: StatementAnswer) -> MetricRow:
        if q.metric is FAILED_TRIALS:
            shown = [
                Estimate(unit="fraction", value=k / n, count=n) if n else None
                for k, n in (q.right[0], q.left[0])
            ]
        else:
            shown = [aggregate(q.metric, x.trials_in(q.topic)) for x in (self.a, self.b)]
        effect = answer.effect
        return MetricRow(
            cell=name(self.match.a),
            workload=self.match.a["workload"],
            arm_a=self.match.a["arm"],
            arm_b=self.match.b["arm"],
            cell_a=self.key[0],
            cell_b=self.key[1],
            metric=q.metric.name,
            topic=q.topic,
            title=q.metric.title if q.topic is None else f"{q.topic}: {q.metric.title}",
            unit=q.metric.unit,
            larger_is_better=q.metric.better is Better.HIGHER,
            a=shown[0],
            b=shown[1],
            trials=(len(q.right), len(q.left))
            if q.metric is not FAILED_TRIALS
            else (q.right[0][1], q.left[0][1]),
            ratio=effect if isinstance(effect, Ratio) else None,
            difference=effect if isinstance(effect, FractionChange) else None,
            verdict=answer.verdict,
            reason=self.refused(q) or answer.reason,
            needed=answer.needed,
            flags=self.flags,
        )


def _failed(lines: Sequence[TrialLine]) -> Counts:
    """A void trial says nothing of the arm, nor does one that its host broke."""
    failed = sum(map(lost_by_its_arm, lines))
    return failed, failed + sum(x.status == "done" for x in lines)


def _check_metrics(metrics: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in GLOSSARY:
            raise UserError(
                f"no metric {metric!r}",
                where="--metric",
                expected=", ".join(m.name for m in METRICS if m.better is not Better.NEITHER),
                fix=did_you_mean(metric, GLOSSARY),
            )
        if other := GLOSSARY[metric].instead:
            raise UserError(
                f"more of {metric!r} is neither better nor worse",
                where="--metric",
                expected="a metric of which more is better, or less",
                fix=f"--metric {other}",
            )


def _rules(a: Bundle, b: Bundle, margin: float | None) -> tuple[Rules, list[float]]:
    """The rules, and the A/A floors that are known. The larger counts: a difference is real only
    above both."""
    floors = [f for x in (a, b) if (f := aa_noise(x.campaign.machine.aa_floor)) is not None]
    floor = max(floors, default=0.0)
    return Rules(margin=MARGIN if margin is None else margin, aa_floor=floor), floors


def _cautions(
    one: bool, rules: Rules, floors: Sequence[float], topics: Sequence[TopicLikeness]
) -> Iterator[str]:
    of = {one.topic: one for one in topics}
    if of["machine"].answer == "different":
        yield "The machines differ: every ratio compares machines as well as what ran on them."
    if not one:
        yield (
            "The two campaigns were not interleaved: what changed between them besides what you "
            "changed (the machine's state, other load, a new kernel) is in every ratio, and no "
            "number of trials averages it out. To be sure, run both in one campaign."
        )
    day = of["day"].differences
    if day:
        differing = ", ".join(f"{d.name} {d.a} → {d.b}" for d in day[:3])
        yield (
            f"The conditions differed ({differing}{', …' if len(day) > 3 else ''}): a difference "
            "may be theirs."
        )
    if one:
        return  # what identical arms differ by is in the scatter of its blocks
    if not floors:
        yield (
            "This machine's A/A noise is not known (`rmwbench calibrate` measures it): a small "
            "difference may be noise."
        )
    elif rules.aa_floor > rules.margin:
        floor = f"{rules.aa_floor * 100:.2g} %"
        yield (
            f"Identical arms differ by up to {floor} here: no smaller difference is claimed, and "
            "nothing is called equivalent."
        )


def _definition_reason(m: Match) -> str:
    differences = definition_differences(m)
    shown = [f"{d.name}: {_known(d.a)} → {_known(d.b)}" for d in differences[:3]]
    more = f", and {len(differences) - 3} more" if len(differences) > 3 else ""
    return f"the workload is another one: {'; '.join(shown)}{more}"


def _known(text: str | None) -> str:
    return "absent" if text is None else text


def _halves(a: Selection, b: Selection, matches: Sequence[Match]) -> tuple[_Half, _Half]:
    """Measures the cells that are compared; one campaign is read once."""
    wanted = [{m.a["cell"] for m in matches}, {m.b["cell"] for m in matches}]
    of_sides = (readers_apart(side.bundle, SmallTables(side.bundle)) for side in (a, b))
    apart = list({topic.name: topic for topics in of_sides for topic in topics}.values())
    if a.is_of_campaign(b):
        arms = _measured(a.bundle, wanted[0] | wanted[1], apart)
        measured = [arms, arms]
    else:
        measured = [_measured(s.bundle, w, apart) for s, w in ((a, wanted[0]), (b, wanted[1]))]

    def half(n: int, side: Selection) -> _Half:
        lines = [line for line in side.bundle.trials() if line.cell in wanted[n]]
        return _Half(side, measured[n], lines)

    return half(0, a), half(1, b)


def _measured(bundle: Bundle, cells: set[int], apart: Sequence[Topic]) -> dict[int, ArmReport]:
    """Cell -> its arm."""
    small = SmallTables(bundle)
    lines: dict[int, list[TrialLine]] = defaultdict(list)
    for line in bundle.trials():
        lines[line.cell].append(line)
    trials: dict[int, list[MeasuredTrial]] = {c: [] for c in cells}
    done = [x for c in cells for x in lines[c] if x.status == "done"]
    for evidence in bundle.evidence(sorted(done, key=lambda x: x.trial), small):
        trials[evidence.cell].append(measure_trial(evidence, apart))
    arms = {}
    for w in comparisons(bundle.planned_comparisons, bundle.rows("cells")):
        for cell in w.cells:
            if (n := cell["cell"]) in cells:
                of_cell = CellEvidence(cell=dict(cell), trials=trials[n], lines=lines[n])
                arms[n] = ArmReport(w.labels[n], of_cell, small, bundle, w.primary_metric)
        ran = [_ran(w.labels[c["cell"]], c, lines[c["cell"]], small) for c in w.cells]
        for cell, judged in zip(w.cells, unbound(ran), strict=True):
            if cell["cell"] in arms:
                arms[cell["cell"]].judged[None] = judged
    return arms


def _ran(label: str, cell: Any, lines: Sequence[TrialLine], small: SmallTables) -> JudgedArm:
    """An arm without what was measured: a block that a busy machine spoilt for one that is not
    compared is spoilt for those that are."""
    busy = {x.block: is_bound(small.events[x.trial]) for x in lines if x.status == "done"}
    return InterimCell(busy=busy).arm(label, cell, None, lines)


def _side(half: _Half) -> ComparedSide:
    c = half.side.bundle.campaign
    return ComparedSide(
        text=half.side.text,
        directory=str(half.side.bundle.directory),
        campaign=c.campaign,
        created_utc=c.created_utc,
        finished=half.side.bundle.journal.finished,
        tool_version=c.tool_version,
        machine=c.machine.summary,
        selection=dict(half.side.wanted),
        trials=TrialCounts.of(line.status for line in half.lines),
    )
