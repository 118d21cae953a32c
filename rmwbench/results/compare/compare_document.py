"""Computes the answer of `rmwbench compare` from two campaigns or parts of them
(docs/formats/compare.md); the terminal and HTML are rendered from it. It has first the differences
besides the results, then every cell that both sides have, then the cells that cannot be
compared."""

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
from rmwbench.analysis.verdicts.disturbances import without_machine_bound
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
from rmwbench.analysis.verdicts.unlike_arms import between
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules, lost_by_its_arm
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
from rmwbench.results.judged_campaign import readers_apart
from rmwbench.results.model import Estimate, Ratio, TrialCounts
from rmwbench.results.selection import Match, Selection, Unmatched, cell_name, match
from rmwbench.results.workload.workload_arm import ArmReport, CellEvidence, statement
from rmwbench.words import numbers as fmt

COST = names_for(Use.COMPARED)
"""The metrics that are judged beside the primary one and loss if a user names none."""
EXIT_CODES: Mapping[StatementVerdict, Literal[0, 1, 2]] = {
    "better": 0,
    "equivalent": 0,
    "worse": 1,
    "undecided": 2,
}


@dataclass
class _MeasuredSide:
    """A side with its measured cells (`arms`, by cell) and its finished trials."""

    side: Selection
    arms: dict[int, ArmReport]
    lines: list[TrialLine]


def compare(
    a: Selection, b: Selection, *, margin: float | None = None, metrics: Sequence[str] = ()
) -> Compared:
    """Return the comparison of B with A. `margin`: the ratio minus 1 that matters, 5 % if None;
    `metrics` replace the primary one, CPU and memory; loss is judged beside them. Raises UserError
    for a broken bundle, a metric that is unknown or of which neither more nor less is better, or
    nothing to compare."""
    _check_metrics(metrics)
    paired = _is_one_campaign(a, b)
    matches, unmatched = match(a, b)
    comparable = [m for m in matches if m.chosen or not definition_differences(m)]
    unmatched += [
        Unmatched(cell_name(m.a), _definition_reason(m), True)
        for m in matches
        if m not in comparable
    ]
    sides = _measured_sides(a, b, comparable)
    rules, floors = _rules(a.bundle, b.bundle, margin)
    pairs = [
        _CellPair(m, sides[0].arms[m.a["cell"]], sides[1].arms[m.b["cell"]], paired, metrics)
        for m in comparable
    ]
    questions = [(pair, question) for pair in pairs for question in pair.statements()]
    answers = judge([question for _, question in questions], rules)
    rows, verdicts = [], []
    for (pair, question), answer in zip(questions, answers, strict=True):
        if pair.is_shown(question, answer):
            rows.append(pair.row(question, answer))
            if pair.counts(question, answer):
                verdicts.append(answer.verdict)
    verdict = overall(verdicts)
    if verdict in ("equivalent", "better") and any(cell.counts for cell in unmatched):
        verdict = "undecided"  # a cell that B lacks may have become worse
    topics = environment(a, b, matches, (sides[0].lines, sides[1].lines))
    return Compared(
        a=_side(sides[0]),
        b=_side(sides[1]),
        paired=paired,
        rules=JudgedBy(
            alpha=rules.alpha,
            margin=rules.margin,
            aa_floor=rules.aa_floor if any(floors) and not paired else None,
        ),
        cautions=tuple(_cautions(paired, rules, floors, topics)),
        environment=topics,
        rows=tuple(rows),
        not_comparable=tuple(NotComparable(cell=u.cell, reason=u.reason) for u in unmatched),
        verdict=verdict,
        exit_code=EXIT_CODES[verdict],
    )


def _is_one_campaign(a: Selection, b: Selection) -> bool:
    """Whether both sides are of one campaign. Raises UserError if a cell is on both sides."""
    if not a.is_of_campaign(b):
        return False
    if shared := {c["cell"] for c in a.cells} & {c["cell"] for c in b.cells}:
        raise UserError(
            f"{fmt.counted(len(shared), 'cell is', 'cells are')} on both sides: a trial cannot be "
            "compared with itself",
            where=b.text,
            fix=f"select an arm on each side, such as {a.bundle.directory}:ARM, or name another "
            "campaign",
        )
    return True


class _CellPair:
    """A pair of cells, one on each side. `named`: the metrics that a user asked for, if any."""

    def __init__(
        self, match: Match, a: ArmReport, b: ArmReport, paired: bool, named: Sequence[str]
    ):
        self.match, self.a, self.b, self.paired, self.named = match, a, b, paired, named
        self.key = (match.a["cell"], match.b["cell"])
        self.flags = (*match.chosen, *between(a.facts, b.facts))

    def statements(self) -> Iterator[Statement]:
        """Yield the statements about the pair. Loss is always among them, since messages that are
        lost cost nothing to deliver."""
        loss = judged_loss(self.a.primary)
        metrics = (*self.named, loss) if self.named else (self.a.primary, loss, *COST)
        for metric in dict.fromkeys(metrics):
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
        """Whether the row is shown. A loss beside named metrics is shown if it is decided. If no
        metrics are named, a metric that neither side has is left out: it leaves nothing open."""
        if self._is_beside(q):
            return answer.verdict in ("worse", "better")
        absent = answer.verdict == "no data" and not q.left and not q.right and not self.refused(q)
        return bool(self.named) or not (absent and self.a.trials and self.b.trials)

    def counts(self, q: Statement, answer: StatementAnswer) -> bool:
        """Whether the verdict of the whole table rests on the answer."""
        return not self._is_beside(q) or answer.verdict == "worse"

    def _is_beside(self, q: Statement) -> bool:
        """Whether the statement is about a loss beside other metrics that a user named."""
        return (
            bool(self.named) and q.metric is not FAILED_TRIALS and q.metric.name not in self.named
        )

    def _topics(self, metric: str) -> list[str | None]:
        """Return the topics that both arms have and that are judged by themselves; [None], the
        whole workload, if there are none or no topic has the metric by itself."""
        names = self.a.shared(self.b)
        return [*names] if names and metric in OF_TOPICS else [None]

    def refused(self, q: Statement) -> str | None:
        """Return why a side's values of this metric are not compared, though it was measured."""
        if q.metric is FAILED_TRIALS:
            return None
        reasons = (("A", self.a.refused(q.metric)), ("B", self.b.refused(q.metric)))
        return next((f"{side}: {reason}" for side, reason in reasons if reason), None)

    def row(self, q: Statement, answer: StatementAnswer) -> MetricRow:
        estimates: list[Estimate | None]
        if q.metric is FAILED_TRIALS:
            counts = q.right[0], q.left[0]
            estimates = [
                Estimate(unit="fraction", value=k / n, count=n) if n else None for k, n in counts
            ]
            trials = counts[0][1], counts[1][1]
        else:
            estimates = [aggregate(q.metric, x.trials_in(q.topic)) for x in (self.a, self.b)]
            trials = len(q.right), len(q.left)
        effect = answer.effect
        return MetricRow(
            cell=cell_name(self.match.a),
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
            a=estimates[0],
            b=estimates[1],
            trials=trials,
            ratio=effect if isinstance(effect, Ratio) else None,
            difference=effect if isinstance(effect, FractionChange) else None,
            verdict=answer.verdict,
            reason=self.refused(q) or answer.reason,
            needed=answer.needed,
            flags=self.flags,
        )


def _failed(lines: Sequence[TrialLine]) -> Counts:
    """Return (failed, all) trials; without void trials, and without those that the host broke."""
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
        if other := GLOSSARY[metric].ranked_by:
            raise UserError(
                f"more of {metric!r} is neither better nor worse",
                where="--metric",
                expected="a metric of which more is better, or less",
                fix=f"--metric {other}",
            )


def _rules(a: Bundle, b: Bundle, margin: float | None) -> tuple[Rules, list[float]]:
    """Return the rules, and the known A/A noise of each side. The larger one counts: a difference
    is real only if it is above both."""
    floors = [f for x in (a, b) if (f := aa_noise(x.campaign.machine.aa_floor)) is not None]
    floor = max(floors, default=0.0)
    return Rules(margin=MARGIN if margin is None else margin, aa_floor=floor), floors


def _cautions(
    paired: bool, rules: Rules, floors: Sequence[float], topics: Sequence[TopicLikeness]
) -> Iterator[str]:
    by_name = {topic.topic: topic for topic in topics}
    if by_name["machine"].answer == "different":
        yield "The machines differ: every ratio compares machines as well as what ran on them."
    if not paired:
        yield (
            "The two campaigns were not interleaved: what changed between them besides what you "
            "changed (the machine's state, other load, a new kernel) is in every ratio, and no "
            "number of trials averages it out. To be sure, run both in one campaign."
        )
    day = by_name["day"].differences
    if day:
        differing = ", ".join(f"{d.name} {d.a} → {d.b}" for d in day[:3])
        yield (
            f"The conditions differed ({differing}{', …' if len(day) > 3 else ''}): a difference "
            "may be theirs."
        )
    if paired:
        return  # the scatter of the blocks contains the noise between identical arms
    if not floors:
        yield (
            "This machine's A/A noise is not known (`rmwbench calibrate` measures it): a small "
            "difference may be noise."
        )
    elif rules.aa_floor > rules.margin:
        floor = fmt.percent(rules.aa_floor)
        yield (
            f"Identical arms differ by up to {floor} here: no smaller difference is claimed, and "
            "nothing is called equivalent."
        )


def _definition_reason(m: Match) -> str:
    differences = definition_differences(m)
    texts = [
        f"{d.name}: {' → '.join('absent' if x is None else x for x in (d.a, d.b))}"
        for d in differences[:3]
    ]
    more = f", and {len(differences) - 3} more" if len(differences) > 3 else ""
    return f"the workload is another one: {'; '.join(texts)}{more}"


def _measured_sides(
    a: Selection, b: Selection, matches: Sequence[Match]
) -> tuple[_MeasuredSide, _MeasuredSide]:
    """Return both sides with the cells that are compared; one campaign is read once."""
    cells_a, cells_b = {m.a["cell"] for m in matches}, {m.b["cell"] for m in matches}
    small_a, small_b = SmallTables(a.bundle), SmallTables(b.bundle)
    topics = (*readers_apart(a.bundle, small_a), *readers_apart(b.bundle, small_b))
    apart = list({topic.name: topic for topic in topics}.values())
    if a.is_of_campaign(b):
        arms_a = arms_b = _measured(a.bundle, small_a, cells_a | cells_b, apart)
    else:
        arms_a = _measured(a.bundle, small_a, cells_a, apart)
        arms_b = _measured(b.bundle, small_b, cells_b, apart)
    return (
        _MeasuredSide(a, arms_a, [x for x in a.bundle.trials() if x.cell in cells_a]),
        _MeasuredSide(b, arms_b, [x for x in b.bundle.trials() if x.cell in cells_b]),
    )


def _measured(
    bundle: Bundle, small: SmallTables, cells: set[int], apart: Sequence[Topic]
) -> dict[int, ArmReport]:
    lines: dict[int, list[TrialLine]] = defaultdict(list)
    for line in bundle.trials():
        lines[line.cell].append(line)
    trials: dict[int, list[MeasuredTrial]] = {c: [] for c in cells}
    done_lines = [x for c in cells for x in lines[c] if x.status == "done"]
    for evidence in bundle.evidence(sorted(done_lines, key=lambda x: x.trial), small):
        trials[evidence.cell].append(measure_trial(evidence, apart))
    arms = {}
    for w in comparisons(bundle.planned_comparisons, bundle.rows("cells")):
        for cell in w.cells:
            if (n := cell["cell"]) in cells:
                of_cell = CellEvidence(cell=dict(cell), trials=trials[n], lines=lines[n])
                arms[n] = ArmReport(w.labels[n], of_cell, small, bundle, w.primary_metric)
        ran = [_ran(w.labels[c["cell"]], c, lines[c["cell"]], small) for c in w.cells]
        for cell, judged in zip(w.cells, without_machine_bound(ran), strict=True):
            if cell["cell"] in arms:
                arms[cell["cell"]].judged[None] = judged
    return arms


def _ran(label: str, cell: Any, lines: Sequence[TrialLine], small: SmallTables) -> JudgedArm:
    """Return an arm with its blocks and without values: if the machine disturbed a block for an arm
    that is not compared, the block is unusable for those that are."""
    busy = {x.block: is_bound(small.events[x.trial]) for x in lines if x.status == "done"}
    return InterimCell(busy=busy).arm(label, cell, None, lines)


def _side(measured: _MeasuredSide) -> ComparedSide:
    side, bundle = measured.side, measured.side.bundle
    return ComparedSide(
        text=side.text,
        directory=str(bundle.directory),
        campaign=bundle.campaign.campaign,
        created_utc=bundle.campaign.created_utc,
        finished=bundle.journal.finished,
        tool_version=bundle.campaign.tool_version,
        machine=bundle.campaign.machine.summary,
        selection=dict(side.wanted),
        trials=TrialCounts.of(line.status for line in measured.lines),
    )
