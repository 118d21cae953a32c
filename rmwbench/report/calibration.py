"""The view of `rmwbench calibrate`: the failed truths in a table, the machine's noise and the
instrument's own costs, and last the answer in one sentence."""

from collections.abc import Iterator

from rmwbench.report.view import Block, Section, Table, TableColumn, TableRow, Text, Tone, View
from rmwbench.results.machine.calibration_document import exit_code, own_text
from rmwbench.results.machine.machine_model import AA, CalibrationDocument, CallCost
from rmwbench.results.model import Estimate
from rmwbench.words import numbers as fmt

ANSWERS: tuple[Tone, ...] = ("good", "bad", "open")
"""The sentence for each exit code."""
TRUTHS = tuple(
    TableColumn(head) for head in ("truth", "arm", "outcome", "what", "expected", "found")
)


def view(answer: CalibrationDocument) -> View:
    odd = _odd(answer)
    tests: list[Block] = [*_pairs(answer.aa)]
    tests += [
        Text(f"not tested: {missing.what}: {missing.why}", "muted") for missing in answer.not_tested
    ]
    if odd:
        tests.insert(0, Table(TRUTHS, odd))
    return View(
        title="Calibration",
        sections=[Section("", tests), Section("", [*_noise(answer.aa), *_costs(answer)])],
        answer=[
            Text(
                f"took {fmt.duration(answer.wall_s)}; stored as {answer.stored}",
                "muted",
            ),
            Text(sentence(answer), ANSWERS[exit_code(answer)]),
        ],
    )


def sentence(answer: CalibrationDocument) -> str:
    truths, aa = answer.truths, answer.aa
    failed = f" ({truths.failed} failed, {truths.unknown} could not tell)" if _odd(answer) else ""
    unknown = f" ({aa.unknown} could not tell)" if aa.unknown else ""
    return (
        f"recovered {truths.recovered} of {truths.total} injected truths{failed}; "
        f"A/A declared different in {aa.different} of {aa.total}{unknown}"
    )


def _odd(answer: CalibrationDocument) -> list[TableRow]:
    rows = []
    for truth in answer.truths.list_ or ():
        if truth.outcome == "recovered":
            continue
        tone: Tone = "bad" if truth.outcome == "failed" else "open"
        checks = [check for check in truth.checks if check.outcome != "recovered"]
        lines = [(check.what, check.expected, check.found) for check in checks]
        for line in lines or [(truth.reason or "", "", "")]:
            arm = f"{truth.workload}: {truth.arm}"
            rows.append(TableRow([truth.truth, arm, truth.outcome, *map(str, line)], tone=tone))
    return rows


def _pairs(aa: AA) -> Iterator[Text]:
    for pair in aa.pairs or ():
        name = f"A/A {pair.middleware} {pair.workload}"
        if pair.outcome != "no difference":
            yield Text(f"{name}: {pair.outcome}, {pair.reason}")
        if pair.unconfirmed:
            yield Text(f"{name}: different at first, not again ({pair.unconfirmed})")


def _noise(aa: AA) -> Iterator[Text]:
    floor = aa.floor or {}
    if (whole := floor.get("all")) is not None:
        sizes = ", ".join(
            f"{name} {_percent(value)}"
            for name, value in floor.items()
            if name != "all" and value is not None
        )
        yield Text(
            f"A/A noise at {aa.floor_blocks} blocks: {_percent(whole)} ({sizes}): a smaller "
            "difference is told with a warning"
        )
    for size in ("small", "large"):
        texts = [
            f"{pair.middleware} {_percent(of.value)} [{_percent(of.low)} to {_percent(of.high)}]"
            for pair in aa.pairs or ()
            if pair.workload == size and (of := pair.floor)
        ]
        if texts:
            yield Text(f"each arm's own, {size}: {', '.join(texts)}", "muted")


def _costs(answer: CalibrationDocument) -> Iterator[Text]:
    truths, own = answer.truths, answer.own_cost
    void = fmt.counted(truths.void_trials or 0, "trial")
    yield Text(f"{truths.checks} checks, {void} void by the machine")
    if text := own_text(own):
        yield Text(text)
    costs = [
        f"{title} {fmt.metric(_metric(cost)).full}"
        for cost, title in ((own.clock_read, "a reading of the clock"), (own.record, "a record"))
        if cost is not None and cost.value is not None
    ]
    if costs:
        yield Text(", ".join(costs))


def _metric(cost: CallCost) -> Estimate:
    return Estimate(unit=cost.unit, value=cost.value, low=cost.low, high=cost.high)


def _percent(fraction: float) -> str:
    return f"{fmt.significant(100 * fraction)} %"
