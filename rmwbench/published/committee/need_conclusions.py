"""The conclusions of a committee's report: which candidate meets which need, with the number that
decides, and what a default costs users with another need.

Every sentence is made of facts (`NeedFact`), which `consistency.py` compares with the finished
document. No sentence recommends a default, since the report does not measure how important each
need is to a committee.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rmwbench.analysis.decide.decisions import LimitDecision
from rmwbench.analysis.verdicts.limit_outcomes import Outcome
from rmwbench.published.committee.needs import NeedAnswer, NeedCandidate, NeedCaseAnswer, NeedMark
from rmwbench.report.view import Block, Items, Section, Table, TableCell, Text
from rmwbench.results.answer.facts import names
from rmwbench.results.decide import decide_words
from rmwbench.words.numbers import counted

TITLE = "Who meets which need"
LIMITS_TITLE = "Appendix: the limits of each need"
KEY = (
    "✓ meets every limit of the need; ! meets the limits of one of its cases, but misses those of "
    "another or is not shown to meet them; ✗ misses a limit; ? is open, or was not measured. The "
    "limits of each need are in the appendix, with every number."
)
NOT_CONCLUDED = (
    "A verdict holds for this machine, these versions and these configurations; another machine "
    "may order them otherwise.",
    "Open means that these trials do not tell, not that two candidates are equal.",
    "The limits of the needs are ours. Readers with other limits change them and run `rmwbench "
    "decide`.",
    "Each section has its own error budget of 5 %: of twenty sections in which nothing differs, "
    "one says that something does.",
    "Earlier reports measured other versions on other machines: a difference from them is not a "
    "trend.",
)
_MARKS_BY_WORTH = (NeedMark.MISSES, NeedMark.UNKNOWN, NeedMark.PARTLY, NeedMark.MEETS)
"""The marks, from the least to the most that a candidate does for a need."""


@dataclass(frozen=True)
class NeedFact:
    """A candidate's mark for a need, and the `text` that says it."""

    need: str
    candidate: str
    mark: NeedMark
    text: str


@dataclass(frozen=True)
class NeedSentence:
    """The sentence about a need, and the `facts` about the candidates that it names."""

    title: str
    text: str
    facts: tuple[NeedFact, ...]


@dataclass(frozen=True)
class RmwColumn:
    """A middleware from which a committee chooses. `candidate` is its name as installed, or the
    name of a tuned candidate if no other exists."""

    middleware: str
    candidate: str

    def installed(self, need: NeedAnswer) -> NeedCandidate | None:
        """Return the middleware's candidate for the need as installed."""
        return next(
            (candidate for candidate in self._own_candidates(need) if candidate.as_installed), None
        )

    def better(self, need: NeedAnswer) -> NeedCandidate | None:
        """Return the first of those tuned candidates that do most, if they do more than as
        installed."""
        installed = self.installed(need)
        least = _rank(need, installed) if installed else -1
        tuned = [
            candidate for candidate in self._own_candidates(need) if not candidate.as_installed
        ]
        best = max(tuned, key=lambda candidate: _rank(need, candidate), default=None)
        return best if best and _rank(need, best) > least else None

    def mark(self, need: NeedAnswer) -> NeedMark:
        """Return the mark as installed; unknown if it was not measured as installed."""
        installed = self.installed(need)
        return need.mark(installed.candidate_name) if installed else NeedMark.UNKNOWN

    def _own_candidates(self, need: NeedAnswer) -> list[NeedCandidate]:
        return [x for x in need.candidates if x.arm.middleware == self.middleware]


def subjects(needs: Sequence[NeedAnswer]) -> tuple[RmwColumn, ...]:
    """Return ROS 2's RMWs if there is one, since no node can take anything else; else all
    middlewares."""
    candidates = [candidate for need in needs for candidate in need.candidates]
    of_subjects = [candidate for candidate in candidates if candidate.arm.is_rmw] or candidates
    columns = []
    for middleware in dict.fromkeys(candidate.arm.middleware for candidate in of_subjects):
        own = [candidate for candidate in of_subjects if candidate.arm.middleware == middleware]
        installed = [candidate for candidate in own if candidate.as_installed]
        name = min((candidate.candidate_name for candidate in installed or own), key=len)
        columns.append(RmwColumn(middleware, name))
    return tuple(columns)


def sentences(needs: Sequence[NeedAnswer]) -> Iterator[NeedSentence]:
    columns = subjects(needs)
    for need in needs:
        facts = [
            NeedFact(
                need.need.need, x.candidate_name, need.mark(x.candidate_name), _clause(need, x)
            )
            for column in columns
            for x in filter(None, (column.installed(need), column.better(need)))
        ]
        text = " ".join(fact.text for fact in facts)
        text = text or f"Nothing is known: {need.why or 'nothing was judged'}."
        yield NeedSentence(need.need.title, text, tuple(facts))


def _rank(need: NeedAnswer, candidate: NeedCandidate) -> int:
    return _MARKS_BY_WORTH.index(need.mark(candidate.candidate_name))


def _clause(need: NeedAnswer, candidate: NeedCandidate) -> str:
    """Return, for example, `rclcpp/zenoh misses “four of 1280 × 720 at 30 Hz”: CPU 0.906 cores …`."""
    name, mark = candidate.candidate_name, need.mark(candidate.candidate_name)
    if mark is NeedMark.PARTLY:
        return _partly_clause(need, name)
    several = len(need.cases) > 1
    if mark is NeedMark.MEETS:
        case, limit = _nearest(need, name)
        where = f", in {_case_title(case)}" if several else ""
        return f"{name} meets it; nearest{where}: {decide_words.measured(limit)}."
    decisive = need.decisive(name)
    assert decisive is not None, "a candidate stands in a case"
    case, judged = decisive
    title = _case_title(case) if several else None
    return f"{name} {_outcome(judged, title)}: {decide_words.reason(judged.answer)}."


def _partly_clause(need: NeedAnswer, name: str) -> str:
    """Name the cases that the candidate meets, those that it misses or that are open, with the
    reasons, and those in which it was not measured."""
    failing = [
        *_cases(need, name, Outcome.MISSES),
        *_cases(need, name, Outcome.OPEN, Outcome.UNKNOWN),
    ]
    clauses = [
        f"meets {names([_case_title(case) for case, _ in _cases(need, name, Outcome.MEETS)])}",
        *(
            f"{_outcome(judged, _case_title(case))}: {decide_words.reason(judged.answer)}"
            for case, judged in failing
        ),
    ]
    if absent := [_case_title(case) for case in need.cases if case.candidate(name) is None]:
        clauses.append(f"{names(absent)} {'was' if len(absent) == 1 else 'were'} not measured")
    return f"{name} {'; '.join(clauses)}."


def _outcome(judged: NeedCandidate, case_title: str | None) -> str:
    """Return `misses “ten clients”`; `case_title` is None for the only case of a need."""
    if judged.outcome is Outcome.MISSES:
        return f"misses {case_title or 'it'}"
    return f"is open in {case_title}" if case_title else "is open"


def _case_title(case: NeedCaseAnswer) -> str:
    """Return the case's title in quotation marks, since it has words of its own."""
    return f"“{case.case.title}”"


def _cases(
    need: NeedAnswer, candidate: str, *outcomes: Outcome
) -> list[tuple[NeedCaseAnswer, NeedCandidate]]:
    return [pair for pair in need.cases_of(candidate) if pair[1].outcome in outcomes]


def _titles(need: NeedAnswer, candidate: str, outcome: Outcome) -> list[str]:
    return [case.case.title for case, _ in _cases(need, candidate, outcome)]


def _nearest(need: NeedAnswer, name: str) -> tuple[NeedCaseAnswer, LimitDecision]:
    """Return the limit with the least room over all cases, and its case."""
    measured = [
        (case, limit)
        for case, judged in need.cases_of(name)
        for limit in judged.answer.limits
        if limit.measured is not None
    ]
    return max(measured, key=lambda pair: decide_words.times(pair[1]) or 0.0)


def default_sentences(needs: Sequence[NeedAnswer]) -> Iterator[str]:
    """Yield what a default costs: how many needs each middleware meets as installed, which of the
    needs that another meets it misses, which needs none meets, and which needs were measured only
    with settings that no default has."""
    columns = subjects(needs)
    measured = [need for need in needs if need.candidates]
    installed_needs = [
        need for need in measured if any(column.installed(need) for column in columns)
    ]
    if not installed_needs:
        return
    needs_met = {
        column.candidate: [n for n in installed_needs if column.mark(n) is NeedMark.MEETS]
        for column in columns
    }
    counts = [f"{name} meets {len(own)}" for name, own in needs_met.items()]
    unknown = len(needs) - len(measured)
    rest = f"; of {counted(unknown, 'need')} nothing is known" if unknown else ""
    yield f"As installed, {names(counts)} of {counted(len(installed_needs), 'measured need')}{rest}."
    met_by_any = [
        need for need in installed_needs if any(need in own for own in needs_met.values())
    ]
    costs = [
        f"{column.candidate} misses {names(missed)}"
        for column in columns
        if (missed := list(filter(None, (_missed_need(need, column) for need in met_by_any))))
    ]
    if costs:
        yield f"Of what another meets as installed, {'; '.join(costs)}."
    met_by_none = [_title(need) for need in installed_needs if need not in met_by_any]
    if met_by_none:
        yield f"As installed, no candidate is shown to meet {names(met_by_none)}."
    titles = [_title(need) for need in measured if need not in installed_needs]
    if titles:
        verb, whose = ("was", "its") if len(titles) == 1 else ("were", "their")
        yield f"{names(titles)} {verb} measured with settings of {whose} own alone."


def _missed_need(need: NeedAnswer, column: RmwColumn) -> str | None:
    """Return `“services” (ten clients)`: the need, with the cases that are missed as installed if
    others are met; None if none is missed."""
    installed = column.installed(need)
    cases = [] if installed is None else _titles(need, installed.candidate_name, Outcome.MISSES)
    if not cases:
        return None
    partly = column.mark(need) is NeedMark.PARTLY
    return f"{_title(need)} ({names(cases)})" if partly else _title(need)


def _title(need: NeedAnswer) -> str:
    """Return the title in quotation marks, since it consists of several words: `“cameras on one
    board”`."""
    return f"“{need.need.title[0].lower()}{need.need.title[1:]}”"


def page(needs: Sequence[NeedAnswer]) -> Iterator[Block]:
    yield Items([Text(need.text, lead=f"{need.title}.") for need in sentences(needs)])
    columns = subjects(needs)
    if columns:
        heads = ("need", *(column.candidate for column in columns))
        rows: list[list[TableCell | str]] = [
            [need.need.title, *(_cell(need, column) for column in columns)] for need in needs
        ]
        yield Section(title=TITLE, blocks=[Table(heads, rows), Text(KEY)])
    if default := " ".join(default_sentences(needs)):
        yield Section(title="If there must be one default", blocks=[Text(default)])
    yield Section(title="What not to conclude", blocks=[Items(NOT_CONCLUDED)])


def _cell(need: NeedAnswer, column: RmwColumn) -> TableCell:
    mark, better = column.mark(need), column.better(need)
    if better is None:
        return TableCell(mark)
    tuned = f"{better.candidate_name} {need.mark(better.candidate_name)}"
    return TableCell(f"{mark}, {tuned}" if column.installed(need) else tuned)


def limits_table(needs: Iterable[NeedAnswer]) -> Table:
    """Return a row for every candidate in every case of every need: outcome, probability, and the
    number that decides."""
    rows: list[list[TableCell | str]] = []
    for need in needs:
        for case in need.cases:
            title = f"{need.need.title}: {case.case.title}"
            if case.why is not None:
                rows.append([title, "–", "not known", "–", case.why])
            for judged in case.judged:
                probability = decide_words.probability(judged.answer)
                reason = decide_words.reason(judged.answer)
                rows.append(
                    [title, judged.candidate_name, str(judged.outcome), probability, reason]
                )
    return Table(("need: case", "candidate", "all limits", "P", "because"), rows)
