"""The sentences about a claim: what its source's own data says, what was measured here, and by
which experiment. Pure. The ledger's view and the section of a campaign's report consist of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rmwbench.published.claims.amounts import (
    POINTS,
    UNITLESS,
    bar_text,
    side_title,
    title_of,
    value_unit,
)
from rmwbench.published.claims.claims_file import Claim, ClaimTest, SourceVerdict, levels_of
from rmwbench.published.claims.claims_ledger import JudgedClaim
from rmwbench.published.claims.judging.campaign_answers import CellAnswer, MeasuredAnswer
from rmwbench.suite.predicate import RANGES, CellCount
from rmwbench.words import numbers as fmt

NO_LETTERS: Mapping[str, str] = {}


def published_text(claim: Claim) -> str:
    """Return what the source's own data says, or from what we inferred the claim."""
    if claim.inferred is not None:
        return f"ours: {claim.inferred}"
    return judged_text(claim.published)


def judged_text(judgement: SourceVerdict | None) -> str:
    if judgement is None:
        return ""
    p = "" if judgement.p is None else f" (p = {judgement.p:g})"
    return f"{judgement.verdict}: {judgement.why}{p}"


def in_brief(judged: JudgedClaim) -> str:
    """Return the verdicts without their reasons: `published supported; here holds, rclcpp, 6
    blocks`."""
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
    """A line about a claim. `is_result`: it says what was measured here."""

    text: str
    is_result: bool = False


def in_full(judged: JudgedClaim, run: str, *, cells: bool) -> Iterator[ClaimLine]:
    """Yield everything that is known about a claim. `run` measures what is open; with `cells`, each
    cell has a line."""
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
    if not judged.measured:
        command = f" (nothing measured yet: {run})" if judged.state == "open" else ""
        text = results(judged) if claim.test else experiment(claim)
        yield ClaimLine(f"here: {text}{command}", is_result=True)
    for place, measured in enumerate(judged.measured):
        state = "machines differ: " if not place and judged.state == "machines differ" else ""
        yield ClaimLine(f"{'also' if place else 'here'}: {state}{result(measured)}", is_result=True)
        if cells:
            yield from map(ClaimLine, _details(measured))
    if claim.test:
        yield ClaimLine(f"experiment: {experiment(claim)}")


def _details(measured: MeasuredAnswer) -> Iterator[str]:
    """Yield arms, versions and machine, then every cell."""
    where = (
        f"{measured.machine or 'this machine'}, {measured.date}, {', '.join(measured.campaigns)}"
    )
    yield f"{', '.join(measured.arms)}; {where}"
    if measured.proxy:
        yield "proxy: " + "; ".join(measured.proxy)
    yield from map(_cell, measured.cells)


def _cell(cell: CellAnswer) -> str:
    interval = cell.interval()
    if not interval:
        return f"{cell.workload}: {cell.answer}, {cell.reason}"
    reason = f" ({cell.reason})" if cell.reason else ""
    return f"{cell.workload}: {cell.answer}, {_sides(cell)} {interval}{reason}"


def _sides(cell: CellAnswer) -> str:
    """Return the sides as the value is made of them: `a ÷ b`, `a − b`, or for an exponent `a
    against b`."""
    if cell.right is None:
        return cell.left
    sign = {POINTS: "−", UNITLESS: "against"}.get(cell.unit, "÷")
    return f"{cell.left} {sign} {cell.right}"


def result_and_experiment(judged: JudgedClaim, letters: Mapping[str, str] = NO_LETTERS) -> str:
    """Return the results and the experiment in a few words, or why there is none. `letters` as in
    `results`."""
    text = experiment(judged.claim)
    return f"{results(judged, letters)}; {text}" if judged.claim.tests else text


def experiment(claim: Claim) -> str:
    """Return `suite [levels]: metric of left < factor × right`, or why there is none."""
    if not claim.tests:
        return f"not testable here: {claim.not_testable}"
    return "; and ".join(map(_experiment, claim.tests))


def _experiment(test: ClaimTest) -> str:
    base = f" ÷ its own{levels(test.base_at)}" if test.base_at else ""
    left = test.left + levels(test.left_at) + base
    where = f"{test.suite}{levels(test.at, test.workload, test.topic)}"
    title = side_title(test, test.metric)
    metric = f"{title}," if "," in title else title
    if test.by == "exponent":
        metric = f"growth exponent of {metric}"
    text = f"{where}: {metric} of {left} {_RELATION[test.relation]} {_right_side(test, base)}"
    if test.existence:
        text += " (anything in any block)"
    return text + _cells_text(test.cells)


_RELATION = {"less": "<", "greater": ">", "within": "within", "differs": "not within"}


def _right_side(test: ClaimTest, base: str) -> str:
    width = f"a factor of {test.factor:g} of " if test.relation in RANGES else ""
    level = test.level or 0.0
    if test.right is None:
        return width + bar_text(level, value_unit(test))
    right = test.right + levels(test.right_at, test.right_workload, test.right_topic) + base
    if test.right_metric:
        right = f"{title_of(test.right_metric)} of {right}"
    if test.by == "difference":
        return f"{right} {'+' if level >= 0 else '−'} {bar_text(abs(level), POINTS)}"
    if test.by == "exponent":
        return f"{width}{level:g} against {right}"
    if width:
        return width + ("" if test.times == 1 else f"{test.times:g} × ") + right
    return f"{test.factor:g} × {right}" if test.factor != 1 else right


def _cells_text(cells: CellCount | None) -> str:
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


def levels(at: Mapping[str, Any], workload: str | None = None, topic: str | None = None) -> str:
    parts: Sequence[str] = [
        *([workload] if workload else []),
        *([f"topic {topic}"] if topic else []),
        *(f"{name}={' or '.join(map(str, levels_of(level)))}" for name, level in at.items()),
    ]
    return f" [{', '.join(parts)}]" if parts else ""


def results(judged: JudgedClaim, letters: Mapping[str, str] = NO_LETTERS) -> str:
    """Return `holds, rclcpp, 6 blocks: 0.520× [0.500–0.550]` for each machine that has data, side
    by side; `open` if there is none. `letters`: machine -> its short name, as in `6 blocks on
    B`."""
    if not judged.measured:
        return "open"
    with_data = [measured for measured in judged.measured if measured.answer != "no data"]
    text = " · ".join(result(measured, letters) for measured in with_data or judged.measured[:1])
    return f"machines differ: {text}" if judged.state == "machines differ" else text


def result(measured: MeasuredAnswer, letters: Mapping[str, str] = NO_LETTERS) -> str:
    blocks = f", {fmt.counted(measured.blocks, 'block')}" if measured.blocks else ""
    if measured.missing and measured.blocks:
        blocks += f", without {measured.missing} of its cells"
    machine = letters.get(measured.machine or "")
    place = f" on {machine}" if machine else ""
    differences = ", ".join(_differences(measured))
    proxy = f" ({'proxy: ' * (measured.verdict == 'proxy')}{differences})" if differences else ""
    leans = f" (leans to {measured.leans})" if measured.leans else ""
    values_text = f": {values}" if (values := measured.seen()) else ""
    name, reason = measured.name, _reason(measured)
    if measured.takes is not None:
        name, reason = "undecidable", f"it takes {measured.takes.text()}, if nothing is lost"
    text = f"{name}{measured.with_versions}{leans}{proxy}, {measured.layer}{blocks}{place}{values_text}"
    return f"{text}: {reason}" if reason else text


def _differences(measured: MeasuredAnswer) -> list[str]:
    """Return the differences from the original, with both numbers if there are two: `version`,
    `length 1.1 of 300 s`, `conditions 9 of 54`. An answer that decides nothing has only the
    shortfalls."""
    length, conditions = measured.length, measured.conditions
    length_s = "unknown" if length.measured_s is None else f"{length.measured_s:g}"
    texts = {
        "length": f"length {length_s} of {length.of_s or 0:g} s",
        "conditions": f"conditions {conditions.measured} of {conditions.of}",
    }
    is_proxy = measured.verdict == "proxy"
    return [texts.get(code, code) for code in measured.proxy_codes if is_proxy or code in texts]


def _reason(measured: MeasuredAnswer) -> str | None:
    """Return why there is no value, or why a value beyond its bar decides nothing, if all undecided
    cells have the same reason. The number of blocks already shows that there are too few."""
    if not measured.seen():
        return next((cell.reason for cell in measured.cells if cell.reason), None)
    if measured.answer != "undecided":
        return None
    undecided = [cell for cell in measured.cells if cell.answer == "undecided"]
    reasons = {cell.reason for cell in undecided if cell.code != "few_blocks"}
    return reasons.pop() if len(reasons) == 1 else None
