"""ROS variables obeyed or not: for each case of them (rmwbench/beside/ros_variables/keys.py) and each
arm, what was heard, against what ROS 2's documentation says must happen.

No interval and no verdict: of messages to be heard some arrive in every trial, of others none does
in any. Silence alone proves nothing, so it counts only beside the case without variables, in which
the same arm on the same hosts heard every message in every trial; without that there is no data. To
be heard proves as little where no setting of the variable silences the arm: who ignores it is heard
as well. What was heard against the documentation needs no proof.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.comparisons import loads
from rmwbench.analysis.records.ledger import FOREIGN
from rmwbench.beside.ros_variables.keys import CONTROL, HEARD, LENT, LOANS, NOT_HEARD, NOT_LENT
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.results.few_trials import undecided, why_none
from rmwbench.results.judged import JudgedCampaign
from rmwbench.results.report_tables import ReportTables
from rmwbench.results.shown import RosVariables, RosVariablesArm, RosVariablesRow
from rmwbench.words import numbers as fmt

Word = Literal["control", "obeyed", "not obeyed", "no data", "not supported"]
OBEYED: Word = "obeyed"
NOT_OBEYED: Word = "not obeyed"
NO_DATA: Word = "no data"
NOT_SUPPORTED: Word = "not supported"
IS_CONTROL: Word = "control"
TAKEN_AS_LOAN = "own.taken_as_loan"
"""The worker's counter of messages that it took in the middleware's memory; absent where there were
none."""
TEXT = (
    "Obeyed: in every trial the reader heard messages where ROS 2's documentation says that it "
    "does, or none where it says that it does not. Silence counts only where the same arm heard "
    "everything without any variable (the control), and being heard only where another setting of "
    "the same variable silenced the arm."
)


@dataclass(frozen=True)
class CaseCounts:
    """What one arm did in one case: messages of the steady state that readers took and that were
    published for them, of each done trial; those that readers took as a loan, warm-up included; the
    trials in which a reader was matched; and the finished trials that are not done."""

    heard: tuple[int, ...]
    wanted: tuple[int, ...]
    lent: tuple[int, ...]
    matched: int
    missed: tuple[TrialLine, ...]

    @property
    def trials(self) -> int:
        return len(self.heard)

    @property
    def everything(self) -> bool:
        return bool(self.heard) and self.heard == self.wanted and 0 not in self.wanted

    @property
    def text(self) -> str:
        """`heard 150 of 150, matched in 3 of 3 trials`."""
        of = f"{fmt.counted(self.trials, 'trial')}"
        lent = f", took {sum(self.lent)} as loans" if any(self.lent) else ""
        return (
            f"heard {sum(self.heard)} of {sum(self.wanted)}{lent}, matched in {self.matched} "
            f"of {of}"
        )


@dataclass(frozen=True)
class VariablesAnswer:
    """`reason`: why there is no data, or in how many trials alone; empty where the numbers say
    all."""

    answer: Word
    reason: str = ""


def judged(expected: str, seen: CaseCounts, control: CaseCounts | None) -> VariablesAnswer:
    """What is seen of a case against what must happen there. `control` is what the same arm does on
    the same hosts where it is not to be silent (without variables), or where it is to lend; None
    where the campaign has none."""
    if not seen.trials:
        return VariablesAnswer(NO_DATA, _missed(seen))
    if 0 in seen.wanted:
        return VariablesAnswer(NO_DATA, "a writer published nothing")
    if expected in (LENT, NOT_LENT):
        return _of_loans(expected, seen, control)
    some = sum(count > 0 for count in seen.heard)
    if expected == NOT_HEARD and some:
        return VariablesAnswer(NOT_OBEYED, _alone("heard", some, seen))
    if expected == HEARD and some == seen.trials:
        return VariablesAnswer(OBEYED)
    if control is None:
        return VariablesAnswer(
            NO_DATA,
            f"silence without a control: the campaign has no case `{CONTROL}` of this arm here",
        )
    if not control.everything:
        why = control.text if control.trials else _missed(control)
        return VariablesAnswer(NO_DATA, f"silence without a control: without variables {why}")
    if expected == HEARD and some:
        return VariablesAnswer(NO_DATA, f"trials disagree: {_alone('heard', some, seen)}")
    return VariablesAnswer(NOT_OBEYED if expected == HEARD else OBEYED)


def _of_loans(expected: str, seen: CaseCounts, control: CaseCounts | None) -> VariablesAnswer:
    """The same of loans. An arm that is allowed to lend and never does may be unable to: that is
    not disobedience."""
    some = sum(count > 0 for count in seen.lent)
    if expected == NOT_LENT and some:
        return VariablesAnswer(NOT_OBEYED, _alone("took loans", some, seen))
    if expected == LENT and some == seen.trials:
        return VariablesAnswer(OBEYED)
    if not any(seen.heard):
        return VariablesAnswer(NO_DATA, "nothing was heard, so nothing could be taken as a loan")
    if expected == LENT:
        return VariablesAnswer(
            NO_DATA,
            _alone("took loans", some, seen)
            if some
            else "it lent nothing though it was allowed to",
        )
    if control is None or not control.trials or 0 in control.lent:
        return VariablesAnswer(
            NO_DATA, f"it lent nothing where it was allowed to either (case `{LOANS}`)"
        )
    return VariablesAnswer(OBEYED)


def _of_enough_trials(answer: VariablesAnswer, seen: CaseCounts) -> VariablesAnswer:
    if answer.answer not in (OBEYED, NOT_OBEYED):
        return answer
    reason = undecided(answer.answer, seen.trials)
    return VariablesAnswer(NO_DATA, reason) if reason else answer


def _alone(verb: str, some: int, seen: CaseCounts) -> str:
    """Empty where it was in all trials."""
    return (
        ""
        if some == seen.trials
        else f"{verb} in {some} of {fmt.counted(seen.trials, 'trial')} alone"
    )


def of_control(seen: CaseCounts) -> VariablesAnswer:
    """The case without variables itself."""
    if not seen.trials:
        return VariablesAnswer(NO_DATA, _missed(seen))
    return (
        VariablesAnswer(IS_CONTROL)
        if seen.everything
        else VariablesAnswer(NO_DATA, "not everything is heard without variables")
    )


def _missed(seen: CaseCounts) -> str:
    return f"no trial is done: {why_none(seen.missed)}" if seen.missed else "no trial was run"


def of_campaign(bundle: Bundle, found: JudgedCampaign) -> dict[str, Any]:
    """The field of the answer."""
    return {"ros_variables": answered(bundle, found.measured, found.small)}


def answered(
    bundle: Bundle, measured: Mapping[int, Sequence[MeasuredTrial]], small: ReportTables
) -> RosVariables | None:
    """None where no cell has any."""
    chosen = [row for row in bundle.rows("cells") if row["cell"] in measured]
    found = [(row, loads(row["definition"])) for row in chosen]
    found = [(row, definition) for row, definition in found if definition.get("ros_variables")]
    if not found:
        return None
    lines = bundle.trials()
    seen = {row["cell"]: _seen(bundle, row["cell"], measured, lines, small) for row, _ in found}
    controls = {
        (definition["ros_variables"]["case"], _place(row, definition)): seen[row["cell"]]
        for row, definition in found
        if definition["ros_variables"]["case"] in (CONTROL, LOANS)
    }
    cases: dict[tuple[str, str], dict[str, Any]] = {}
    arms: dict[tuple[str, str], list[RosVariablesArm]] = {}
    for row, definition in found:
        asked = definition["ros_variables"]
        key = definition["comparison"], asked["case"]
        cases.setdefault(
            key,
            {"workload": key[0], "title": definition["workload"]["title"], **asked},
        )
        one = seen[row["cell"]]
        if reason := bundle.unsupported.get(row["cell"]):
            answer = VariablesAnswer(NOT_SUPPORTED, reason)
        elif asked["case"] == CONTROL:
            answer = of_control(one)
        else:
            control = LOANS if asked["expected"] == NOT_LENT else CONTROL
            answer = judged(
                asked["expected"], one, controls.get((control, _place(row, definition)))
            )
            answer = _of_enough_trials(answer, one)
        arms.setdefault(key, []).append(_arm(row, answer, one))
    rows = _only_what_differs(
        [RosVariablesRow(**case, arms=tuple(arms[key])) for key, case in cases.items()]
    )
    return RosVariables(text=TEXT, summary=_summary(rows), rows=rows)


def _arm(row: Mapping[str, Any], answer: VariablesAnswer, seen: CaseCounts) -> RosVariablesArm:
    any_done = bool(seen.trials)
    return RosVariablesArm(
        arm=row["arm"],
        middleware=row["middleware"],
        version=row["version"],
        cell=row["cell"],
        answer=answer.answer,
        reason=answer.reason,
        trials=seen.trials,
        heard=sum(seen.heard) if any_done else None,
        wanted=sum(seen.wanted) if any_done else None,
        lent=sum(seen.lent) if any_done else None,
        matched=seen.matched if any_done else None,
        text=seen.text if any_done else "",
    )


def _only_what_differs(rows: Sequence[RosVariablesRow]) -> tuple[RosVariablesRow, ...]:
    """To be heard is what an arm does without variables, too, and so does one that ignores them: it
    is obedience only where the same arm is silent at another setting of one of these variables that
    demands it."""
    reads: dict[str, set[str]] = {}
    for row in rows:
        for arm in row.arms:
            if row.expected == NOT_HEARD and arm.answer == OBEYED:
                reads.setdefault(arm.arm, set()).update((*row.writer, *row.reader))

    def told(row: RosVariablesRow, arm: RosVariablesArm) -> RosVariablesArm:
        names = dict.fromkeys((*row.writer, *row.reader))
        heard = row.expected == HEARD and arm.answer == OBEYED
        if not heard or reads.get(arm.arm, set()) & names.keys():
            return arm
        why = (
            f"heard as without variables, and by no setting of {' or '.join(names)} is it silenced"
        )
        return replace(arm, answer=NO_DATA, reason=why)

    return tuple(replace(row, arms=tuple(told(row, arm) for arm in row.arms)) for row in rows)


def _place(row: Mapping[str, Any], definition: Mapping[str, Any]) -> tuple[Any, ...]:
    """What an arm and its control have in common: everything but the case."""
    levels = {
        name: level for name, level in definition["factors"].items() if name != "ros_variables"
    }
    return row["arm"], definition["workload"]["name"], tuple(levels.items())


def _seen(
    bundle: Bundle,
    cell: int,
    measured: Mapping[int, Sequence[MeasuredTrial]],
    lines: Sequence[TrialLine],
    small: ReportTables,
) -> CaseCounts:
    trials = measured.get(cell, ())
    ledgers = [trial.messages.ledger for trial in trials]
    matched = sum(_reader_matched(trial.trial, small) for trial in trials)
    return CaseCounts(
        tuple(
            one.delivered or _anything(bundle, trial.trial)
            for trial, one in zip(trials, ledgers, strict=True)
        ),
        tuple(one.published for one in ledgers),
        tuple(_lent(trial.trial, small) for trial in trials),
        matched,
        tuple(line for line in lines if line.cell == cell and line.status in ("failed", "void")),
    )


def _lent(trial: int, small: ReportTables) -> int:
    return sum(
        int(row["value"]) for row in small.counters[trial] if row["counter"] == TAKEN_AS_LOAN
    )


def _reader_matched(trial: int, small: ReportTables) -> bool:
    readers = {row["endpoint"] for row in small.endpoints[trial] if row["kind"] == "subscription"}
    events = small.events[trial]
    return any(
        row["event"] == "matched" and row["value"] and row["endpoint"] in readers for row in events
    )


def _anything(bundle: Bundle, trial: int) -> int:
    """Messages of the trial's own writers that arrived at any time: silence is more than a steady
    state without."""
    flags = bundle.columns("received", trial, ["flags"])["flags"]
    return int(np.count_nonzero((flags & FOREIGN) == 0))


def _summary(rows: Sequence[RosVariablesRow]) -> str:
    """`rclcpp/zenoh: 4 obeyed, 7 not obeyed, 1 no data.`, a sentence for each arm; controls are not
    cases."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for arm in row.arms:
            if row.case != CONTROL:
                counts.setdefault(arm.arm, Counter())[arm.answer] += 1
    order = (OBEYED, NOT_OBEYED, NO_DATA, NOT_SUPPORTED)
    said = {
        arm: ", ".join(f"{found[name]} {name}" for name in order if found[name])
        for arm, found in counts.items()
    }
    return " ".join(f"{arm}: {text}." for arm, text in said.items())


def notes(found: RosVariables) -> list[str]:
    """`one_host [ros_variables=off], rclcpp/zenoh: no data: REASON` of each arm with a reason, the
    same ones once."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for row in found.rows:
        for arm in row.arms:
            if arm.reason:
                said.setdefault((arm.arm, arm.answer, arm.reason), []).append(row.workload)
    return [
        f"{arm}, {answer} in {', '.join(where)}: {reason}"
        for (arm, answer, reason), where in said.items()
    ]
