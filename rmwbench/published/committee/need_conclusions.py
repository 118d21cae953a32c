"""The page of conclusions of a committee's report: per need who meets it, by the number that
decides, and what a default costs whoever has another need.

Every sentence is made of facts (`NeedFact`), which `consistency.py` holds against the finished
document. No sentence recommends a default: what a committee weighs is not measured here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rmwbench.analysis.verdicts.limit_outcomes import Outcome
from rmwbench.published.committee.needs import NeedAnswer, NeedCandidate, NeedCaseAnswer, NeedMark
from rmwbench.report.view import Block, Items, Section, Table, TableCell, Text
from rmwbench.results.answer.facts import names
from rmwbench.results.decide import decide_words
from rmwbench.words.numbers import counted

TITLE = "Who meets which need"
LIMITS_TITLE = "Appendix: the limits of each need"
KEY = (
    "✓ meets every limit of the need; ! meets those of one of its cases, and those of another it "
    "misses or is not shown to meet; ✗ misses one; ? is open, or was not measured. The limits of "
    "each need stand in the appendix, with every number."
)
NOT_CONCLUDED = (
    "A verdict holds for this machine, these versions and these configurations; another machine "
    "may order them otherwise.",
    "Open says that these trials do not tell, not that two candidates are equal.",
    "The limits of the needs are ours. Who has others changes them, and runs `rmwbench decide`.",
    "Each section has its own error budget of 5 %: of twenty sections in which nothing differs, "
    "one says that something does.",
    "What earlier reports said was measured with other versions on other machines: a difference to "
    "them is not a trend.",
)
_WORTH = (NeedMark.MISSES, NeedMark.UNKNOWN, NeedMark.PARTLY, NeedMark.MEETS)
"""From the least that a candidate may be said to do for a need to the most."""


@dataclass(frozen=True)
class NeedFact:
    """A candidate's mark for a need, and the `text` that says it."""

    need: str
    candidate: str
    mark: NeedMark
    text: str


@dataclass(frozen=True)
class NeedSentence:
    """What is said of a need. `facts`: of the candidates that it names."""

    title: str
    text: str
    facts: tuple[NeedFact, ...]


@dataclass(frozen=True)
class RmwColumn:
    """A middleware of which a committee chooses, by the name of its `candidate` as installed, or of
    a tuned one where there is no other."""

    middleware: str
    candidate: str

    def installed(self, need: NeedAnswer) -> NeedCandidate | None:
        """What it has for the need as installed."""
        return next((candidate for candidate in self._own(need) if candidate.as_installed), None)

    def better(self, need: NeedAnswer) -> NeedCandidate | None:
        """The first of the tuned ones that does most, where that is more than as installed."""
        installed = self.installed(need)
        least = _worth(need, installed) if installed else -1
        tuned = [candidate for candidate in self._own(need) if not candidate.as_installed]
        best = max(tuned, key=lambda candidate: _worth(need, candidate), default=None)
        return best if best and _worth(need, best) > least else None

    def mark(self, need: NeedAnswer) -> NeedMark:
        """As installed; unknown where it was not measured so."""
        installed = self.installed(need)
        return need.mark(installed.candidate) if installed else NeedMark.UNKNOWN

    def _own(self, need: NeedAnswer) -> list[NeedCandidate]:
        return [one for one in need.candidates if one.arm.middleware == self.middleware]


def subjects(needs: Sequence[NeedAnswer]) -> tuple[RmwColumn, ...]:
    """ROS 2's RMWs where there is one, for no node can take anything else; else all."""
    candidates = [candidate for need in needs for candidate in need.candidates]
    chosen = [candidate for candidate in candidates if candidate.arm.is_rmw] or candidates
    columns = []
    for middleware in dict.fromkeys(candidate.arm.middleware for candidate in chosen):
        own = [candidate for candidate in chosen if candidate.arm.middleware == middleware]
        installed = [candidate for candidate in own if candidate.as_installed]
        name = min((candidate.candidate for candidate in installed or own), key=len)
        columns.append(RmwColumn(middleware, name))
    return tuple(columns)


def sentences(needs: Sequence[NeedAnswer]) -> Iterator[NeedSentence]:
    columns = subjects(needs)
    for need in needs:
        facts = [
            NeedFact(need.need.need, one.candidate, need.mark(one.candidate), _clause(need, one))
            for column in columns
            for one in filter(None, (column.installed(need), column.better(need)))
        ]
        text = " ".join(fact.text for fact in facts)
        text = text or f"Nothing is known: {need.why or 'nothing was judged'}."
        yield NeedSentence(need.need.title, text, tuple(facts))


def _worth(need: NeedAnswer, one: NeedCandidate) -> int:
    return _WORTH.index(need.mark(one.candidate))


def _clause(need: NeedAnswer, one: NeedCandidate) -> str:
    """`rclcpp/zenoh misses it with four of 1280 × 720 at 30 Hz: CPU 0.906 cores …`"""
    name, mark = one.candidate, need.mark(one.candidate)
    if mark is NeedMark.PARTLY:
        return _partly(need, name)
    decisive = need.decisive(name)
    assert decisive is not None, "a candidate stands in a case"
    case, judged = decisive
    where = f" ({case.case.title})" if len(need.cases) > 1 else ""
    if mark is NeedMark.MEETS:
        return f"{name} meets it; nearest{where}: {_nearest(need, one)}."
    return f"{name} {_outcome(judged)}{where}: {decide_words.reason(judged.answer)}."


def _partly(need: NeedAnswer, name: str) -> str:
    """The cases that it meets; each that it misses and each that is open, with the reason; those in
    which it was not measured."""
    others = [
        *_cases(need, name, Outcome.MISSES),
        *_cases(need, name, Outcome.OPEN, Outcome.UNKNOWN),
    ]
    beside = [
        f"{_outcome(judged)} ({case.case.title}): {decide_words.reason(judged.answer)}"
        for case, judged in others
    ]
    text = f"{name} meets it with {names(_titles(need, name, Outcome.MEETS))}"
    if beside:
        text += f", and {'; '.join(beside)}"
    if absent := [case.case.title for case in need.cases if case.of(name) is None]:
        text += f"; {names(absent)} {'was' if len(absent) == 1 else 'were'} not measured"
    return f"{text}."


def _outcome(judged: NeedCandidate) -> str:
    return "misses it" if judged.outcome is Outcome.MISSES else "is open"


def _cases(
    need: NeedAnswer, candidate: str, *outcomes: Outcome
) -> list[tuple[NeedCaseAnswer, NeedCandidate]]:
    """The cases in which it has one of these outcomes."""
    return [pair for pair in need.cases_of(candidate) if pair[1].outcome in outcomes]


def _titles(need: NeedAnswer, candidate: str, outcome: Outcome) -> list[str]:
    return [case.case.title for case, _ in _cases(need, candidate, outcome)]


def _nearest(need: NeedAnswer, one: NeedCandidate) -> str:
    """The limit that has the least room, over all cases."""
    measured = [
        met
        for _, judged in need.cases_of(one.candidate)
        for met in judged.answer.limits
        if met.measured is not None
    ]
    return decide_words.measured(max(measured, key=lambda met: decide_words.times(met) or 0.0))


def default_sentences(needs: Sequence[NeedAnswer]) -> Iterator[str]:
    """What a default costs: how many needs each meets as installed, what it misses of those that
    another meets, what none meets, and what was measured with settings of its own alone, which no
    default has."""
    columns = subjects(needs)
    measured = [need for need in needs if need.candidates]
    known = [need for need in measured if any(column.installed(need) for column in columns)]
    if not known:
        return
    met = {
        column.candidate: [n for n in known if column.mark(n) is NeedMark.MEETS]
        for column in columns
    }
    counts = [f"{name} meets {len(own)}" for name, own in met.items()]
    unknown = len(needs) - len(measured)
    rest = f"; of {counted(unknown, 'need')} nothing is known" if unknown else ""
    yield f"As installed, {names(counts)} of {counted(len(known), 'measured need')}{rest}."
    by_somebody = [need for need in known if any(need in own for own in met.values())]
    costs = [
        f"{column.candidate} misses {names(missed)}"
        for column in columns
        if (missed := list(filter(None, (_missed(need, column) for need in by_somebody))))
    ]
    if costs:
        yield f"Of what another meets as installed, {'; '.join(costs)}."
    by_nobody = [need for need in known if need not in by_somebody]
    if by_nobody:
        yield f"As installed, no candidate is shown to meet {names(list(map(_title, by_nobody)))}."
    set_up = [need for need in measured if need not in known]
    if set_up:
        was = "was" if len(set_up) == 1 else "were"
        titles = names(list(map(_title, set_up)))
        yield f"{titles} {was} measured with settings of {'its' if was == 'was' else 'their'} own alone."


def _missed(need: NeedAnswer, column: RmwColumn) -> str | None:
    """`“services” (ten clients)`: the need, with the cases that it misses as installed where it meets
    others; None where it misses none."""
    installed = column.installed(need)
    cases = [] if installed is None else _titles(need, installed.candidate, Outcome.MISSES)
    if not cases:
        return None
    partly = column.mark(need) is NeedMark.PARTLY
    return f"{_title(need)} ({names(cases)})" if partly else _title(need)


def _title(need: NeedAnswer) -> str:
    """The title in quotation marks, since it has words of its own: `“cameras on one board”`."""
    return f"“{need.need.title[0].lower()}{need.need.title[1:]}”"


def page(needs: Sequence[NeedAnswer]) -> Iterator[Block]:
    yield Items([Text(one.text, lead=f"{one.title}.") for one in sentences(needs)])
    columns = subjects(needs)
    if columns:
        yield Section(title=TITLE, blocks=[_marks(needs, columns), Text(KEY)])
    trade = list(default_sentences(needs))
    if trade:
        yield Section(title="If there must be one default", blocks=[Text(" ".join(trade))])
    yield Section(title="What not to conclude", blocks=[Items(NOT_CONCLUDED)])


def _marks(needs: Iterable[NeedAnswer], columns: Sequence[RmwColumn]) -> Table:
    heads = ("need", *(column.candidate for column in columns))
    return Table(
        heads, [[need.need.title, *(_cell(need, one) for one in columns)] for need in needs]
    )


def _cell(need: NeedAnswer, column: RmwColumn) -> TableCell:
    mark, better = column.mark(need), column.better(need)
    if better is None:
        return TableCell(mark)
    tuned = f"{better.candidate} {need.mark(better.candidate)}"
    return TableCell(f"{mark}, {tuned}" if column.installed(need) else tuned)


def limits_table(needs: Iterable[NeedAnswer]) -> Table:
    """Every candidate in every case of every need: outcome, probability, and the number behind
    it."""
    rows: list[list[TableCell | str]] = []
    for need in needs:
        for case in need.cases:
            title = f"{need.need.title}: {case.case.title}"
            if case.why is not None:
                rows.append([title, "–", "not known", "–", case.why])
            for one in case.judged:
                rows.append(
                    [
                        title,
                        one.candidate,
                        str(one.outcome),
                        decide_words.probability(one.answer),
                        decide_words.reason(one.answer),
                    ]
                )
    return Table(("need: case", "candidate", "all limits", "P", "because"), rows)
