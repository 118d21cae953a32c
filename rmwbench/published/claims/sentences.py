"""What is said of a claim: by its source's own data, what was found here, and by which experiment.
Pure; the ledger's view and the section of a campaign's report are made of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rmwbench.published.claims.amounts import POINTS, UNITLESS, bar_text, title_of, unit_of
from rmwbench.published.claims.claims_file import Claim, ClaimTest, Judged, levels_of
from rmwbench.published.claims.claims_ledger import JudgedClaim
from rmwbench.published.claims.judging.today import CellAnswer, Today
from rmwbench.suite.predicate import RANGES, CellCount
from rmwbench.words import numbers as fmt

NO_LETTERS: Mapping[str, str] = {}


def published_text(claim: Claim) -> str:
    """What the source's own data says, or from what an inference of ours is."""
    if claim.inferred is not None:
        return f"ours: {claim.inferred}"
    return judged_text(claim.published)


def judged_text(judged: Judged | None) -> str:
    if judged is None:
        return ""
    p = "" if judged.p is None else f" (p = {judged.p:g})"
    return f"{judged.verdict}: {judged.why}{p}"


def in_brief(judged: JudgedClaim) -> str:
    """The verdicts without their reasons: `published supported; here holds, rclcpp, 6 blocks`."""
    if judged.state == "opinion":
        return "opinion"
    parts = ["ours"] if judged.claim.inferred else []
    parts += [
        "its data is not published"
        if (key, judgement.verdict) == ("published", "data not published")
        else f"{key} {judgement.verdict}"
        for key, judgement in judged.claim.judgements
    ]
    untestable = judged.state == "not testable here"
    return "; ".join([*parts, judged.state if untestable else f"here {results(judged)}"])


class ClaimLine(NamedTuple):
    """A line about a claim; `is_result`: it says what was measured here."""

    text: str
    is_result: bool = False


def in_full(judged: JudgedClaim, run: str, *, cells: bool) -> Iterator[ClaimLine]:
    """Everything that is known of a claim; `run` measures what is open, and with `cells` each cell
    has a line."""
    claim = judged.claim
    if judged.state == "opinion":
        yield ClaimLine("opinion: listed, not judged")
        return
    if claim.place:
        yield ClaimLine(f"place: {claim.place}")
    if claim.inferred:
        yield ClaimLine(f"ours: not said by the source, but inferred {claim.inferred}")
    for key, judgement in claim.judgements:
        yield ClaimLine(f"{key}: {judged_text(judgement)}")
    if not judged.today:
        do = f" (nothing measured yet: {run})" if judged.state == "open" else ""
        text = results(judged) if claim.test else experiment(claim)
        yield ClaimLine(f"here: {text}{do}", is_result=True)
    for place, today in enumerate(judged.today):
        differ = "machines differ: " if not place and judged.state == "machines differ" else ""
        yield ClaimLine(f"{'also' if place else 'here'}: {differ}{result(today)}", is_result=True)
        if cells:
            yield from map(ClaimLine, _details(today))
    if claim.test:
        yield ClaimLine(f"experiment: {experiment(claim)}")


def _details(today: Today) -> Iterator[str]:
    """Arms, versions and machine, then every cell."""
    where = f"{today.machine or 'this machine'}, {today.date}, {', '.join(today.campaigns)}"
    yield f"{', '.join(today.arms)}; {where}"
    if today.proxy:
        yield "proxy: " + "; ".join(today.proxy)
    yield from map(_cell, today.cells)


def _cell(cell: CellAnswer) -> str:
    interval = cell.interval()
    if not interval:
        return f"{cell.workload}: {cell.answer}, {cell.reason}"
    between = f"{cell.left} ÷ {cell.right}" if cell.right else cell.left
    reason = f" ({cell.reason})" if cell.reason else ""
    return f"{cell.workload}: {cell.answer}, {between} {interval}{reason}"


def result_and_experiment(judged: JudgedClaim, letters: Mapping[str, str] = NO_LETTERS) -> str:
    """What was found here, and the experiment in a few words, or why there is none. `letters` as in
    `results`."""
    text = experiment(judged.claim)
    return f"{results(judged, letters)}; {text}" if judged.claim.tests else text


def experiment(claim: Claim) -> str:
    """`suite [levels]: metric of left < factor × right`, or why there is none."""
    if not claim.tests:
        return f"not testable here: {claim.not_testable}"
    return "; and ".join(map(_experiment, claim.tests))


def _experiment(test: ClaimTest) -> str:
    base = f" ÷ its own{_levels(test.base_at)}" if test.base_at else ""
    left = test.left + _levels(test.left_at) + base
    where = f"{test.suite}{_levels(test.at, test.workload, test.topic)}"
    title = title_of(test.metric)
    if test.times_metric:
        title = f"{title} × {title_of(test.times_metric)}"
    metric = f"{title}," if "," in title else title
    if test.by == "exponent":
        metric = f"growth exponent of {metric}"
    text = f"{where}: {metric} of {left} {_RELATION[test.relation]} {_against(test, base)}"
    if test.existence:
        text += " (anything in any block)"
    return text + _of_cells(test.cells)


_RELATION = {"less": "<", "greater": ">", "within": "within", "differs": "not within"}


def _against(test: ClaimTest, base: str) -> str:
    of_range = f"a factor of {test.factor:g} of " if test.relation in RANGES else ""
    level = test.level or 0.0
    if test.right is None:
        return of_range + bar_text(level, UNITLESS if test.times_metric else unit_of(test.metric))
    right = test.right + _levels(test.right_at, test.right_workload, test.right_topic) + base
    if test.right_metric:
        right = f"{title_of(test.right_metric)} of {right}"
    if test.by == "difference":
        return f"{right} {'+' if level >= 0 else '−'} {bar_text(abs(level), POINTS)}"
    if test.by == "exponent":
        return f"{of_range}{level:g} against {right}"
    if of_range:
        return of_range + ("" if test.times == 1 else f"{test.times:g} × ") + right
    return f"{test.factor:g} × {right}" if test.factor != 1 else right


def _of_cells(cells: CellCount | None) -> str:
    if cells is None:
        return ""
    least, most = cells.at_least, cells.at_most
    if least is None and most is None:
        return f", in all {cells.of} cells"
    if least == most:
        return f", in {least} of {cells.of} cells"
    bounds = [
        f"at least {least}" if least is not None else "",
        f"at most {most}" if most is not None else "",
    ]
    return f", in {' and '.join(filter(None, bounds))} of {cells.of} cells"


def _levels(at: Mapping[str, Any], workload: str | None = None, topic: str | None = None) -> str:
    parts: Sequence[str] = [
        *([workload] if workload else []),
        *([f"topic {topic}"] if topic else []),
        *(f"{name}={' or '.join(map(str, levels_of(level)))}" for name, level in at.items()),
    ]
    return f" [{', '.join(parts)}]" if parts else ""


def results(judged: JudgedClaim, letters: Mapping[str, str] = NO_LETTERS) -> str:
    """`holds, rclcpp, 6 blocks: 0.520× [0.500–0.550]`, of each machine that has data, side by side;
    `open` where there is none. `letters`: machine -> how it is called, as in `6 blocks on B`."""
    if not judged.today:
        return "open"
    with_data = [one for one in judged.today if one.answer != "no data"]
    text = " · ".join(result(today, letters) for today in with_data or judged.today[:1])
    return f"machines differ: {text}" if judged.state == "machines differ" else text


def result(today: Today, letters: Mapping[str, str] = NO_LETTERS) -> str:
    blocks = f", {fmt.counted(today.blocks, 'block')}" if today.blocks else ""
    if today.missing and today.blocks:
        blocks += f", without {today.missing} of its cells"
    machine = letters.get(today.machine or "")
    place = f" on {machine}" if machine else ""
    short = ", ".join(_codes(today))
    proxy = f" ({'proxy: ' * (today.verdict == 'proxy')}{short})" if short else ""
    leans = f" (leans to {today.leans})" if today.leans else ""
    seen = f": {values}" if (values := today.seen()) else ""
    name, reason = today.name, _reason(today)
    if today.takes is not None:
        name, reason = "undecidable", f"it takes {today.takes.text()}, if nothing is lost"
    text = f"{name}{today.with_versions}{leans}{proxy}, {today.layer}{blocks}{place}{seen}"
    return f"{text}: {reason}" if reason else text


def _codes(today: Today) -> list[str]:
    """In what an answer is another than the original, with both numbers where there are two:
    `version`, `length 1.1 of 300 s`, `conditions 9 of 54`. Of one that decides nothing only what it
    is short of."""
    length, counted = today.length, today.conditions
    numbers = {
        "length": "length "
        + ("unknown" if length.measured_s is None else f"{length.measured_s:g}")
        + f" of {length.of_s or 0:g} s",
        "conditions": f"conditions {counted.measured} of {counted.of}",
    }
    every = today.verdict == "proxy"
    return [numbers.get(c, c) for c in today.proxy_codes if every or c in numbers]


def _reason(today: Today) -> str | None:
    """Why there is no value; or why a value beyond its bar decides nothing, where all undecided
    cells have the same reason. Too few blocks are seen in their number."""
    if not today.seen():
        return next((cell.reason for cell in today.cells if cell.reason), None)
    if today.answer != "undecided":
        return None
    undecided = [cell for cell in today.cells if cell.answer == "undecided"]
    reasons = {cell.reason for cell in undecided if cell.code != "few_blocks"}
    return reasons.pop() if len(reasons) == 1 else None
