"""The answer on ROS variables: for each case (rmwbench/beside/ros_variables/keys.py) and each arm,
whether its readers heard messages as ROS 2's documentation says.

There is no interval and no verdict: either some messages arrive in every trial, or none in any
trial. Silence alone proves nothing, so it counts only if the same arm on the same hosts heard every
message in every trial of the case without variables (the control); else there is no data. Being
heard proves as little if no setting of the variable silences the arm, since an arm that ignores the
variable is heard as well. A message that is heard against the documentation needs no control.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.beside.ros_variables.keys import CONTROL, HEARD, LENT, LOANS, NOT_HEARD, NOT_LENT
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.evidence import SmallTables
from rmwbench.codes import FOREIGN
from rmwbench.results.answer.progress import few_trials, why_none
from rmwbench.results.judged_campaign import JudgedCampaign
from rmwbench.results.show_model import (
    RosVariables,
    RosVariablesArm,
    RosVariablesRow,
    RosVariablesVerdict,
)
from rmwbench.words import numbers as fmt

OBEYED: RosVariablesVerdict = "obeyed"
NOT_OBEYED: RosVariablesVerdict = "not obeyed"
NO_DATA: RosVariablesVerdict = "no data"
NOT_SUPPORTED: RosVariablesVerdict = "not supported"
IS_CONTROL: RosVariablesVerdict = "control"
TAKEN_AS_LOAN = "own.taken_as_loan"
"""The worker's counter of messages that it took in the middleware's memory; absent if it is 0."""
TEXT = (
    "Obeyed: in every trial the reader heard messages where ROS 2's documentation says that it "
    "does, or none where it says that it does not. Silence counts only where the same arm heard "
    "everything without any variable (the control), and being heard only where another setting of "
    "the same variable silenced the arm."
)


@dataclass(frozen=True, kw_only=True)
class CaseCounts:
    """The counts of one arm in one case.

    For each done trial: `heard`, the messages of the steady state that readers took;
    `heard_at_all`, whether any message arrived at any time, since silence is more than an empty
    steady state; `wanted`, the messages of the steady state that were published for them; `lent`,
    the messages that readers took as a loan, warm-up included. `matched`: the number of trials in
    which a reader was matched; `missed`: the finished trials that are not done.
    """

    heard: tuple[int, ...]
    heard_at_all: tuple[bool, ...]
    wanted: tuple[int, ...]
    lent: tuple[int, ...]
    matched: int
    missed: tuple[TrialLine, ...]

    @property
    def trials(self) -> int:
        return len(self.heard)

    @property
    def all_heard(self) -> bool:
        return bool(self.heard) and self.heard == self.wanted and 0 not in self.wanted

    @property
    def text(self) -> str:
        """A text such as `heard 150 of 150, matched in 3 of 3 trials`."""
        trials = fmt.counted(self.trials, "trial")
        outside = sum(
            at_all and not steady
            for at_all, steady in zip(self.heard_at_all, self.heard, strict=True)
        )
        text = f"heard {sum(self.heard)} of {sum(self.wanted)}"
        if outside:
            text += f", only outside the steady state in {outside} of {trials}"
        if any(self.lent):
            text += f", took {sum(self.lent)} as loans"
        return f"{text}, matched in {self.matched} of {trials}"


@dataclass(frozen=True)
class VariablesAnswer:
    """`reason`: why there is no data, or in how few trials the answer holds; empty if the numbers
    need no explanation."""

    answer: RosVariablesVerdict
    reason: str = ""


def judge(expected: str, counts: CaseCounts, control: CaseCounts | None) -> VariablesAnswer:
    """Judge the counts of a case by the `expected` outcome. `control`: the counts of the same arm
    on the same hosts without variables, or in the case in which it may lend; None if the campaign
    has none."""
    if not counts.trials:
        return VariablesAnswer(NO_DATA, _why_no_trial(counts))
    if 0 in counts.wanted:
        return VariablesAnswer(NO_DATA, "a writer published nothing")
    if expected in (LENT, NOT_LENT):
        return _judge_loans(expected, counts, control)
    heard = sum(counts.heard_at_all)
    outside = "heard only outside the steady state" if heard and not any(counts.heard) else ""
    if expected == NOT_HEARD and heard:
        reasons = (outside, _in_only("heard", heard, counts))
        return VariablesAnswer(NOT_OBEYED, "; ".join(filter(None, reasons)))
    if expected == HEARD and heard == counts.trials:
        return VariablesAnswer(OBEYED, outside)
    if control is None:
        return VariablesAnswer(
            NO_DATA,
            f"silence without a control: the campaign has no case `{CONTROL}` of this arm here",
        )
    if not control.all_heard:
        why = control.text if control.trials else _why_no_trial(control)
        return VariablesAnswer(NO_DATA, f"silence without a control: without variables {why}")
    if expected == HEARD and heard:
        return VariablesAnswer(NO_DATA, f"trials disagree: {_in_only('heard', heard, counts)}")
    return VariablesAnswer(NOT_OBEYED if expected == HEARD else OBEYED)


def _judge_loans(expected: str, counts: CaseCounts, control: CaseCounts | None) -> VariablesAnswer:
    """Judge as `judge` does whether messages are lent. An arm that may lend and never does is
    perhaps unable to, so it does not disobey."""
    lending = sum(count > 0 for count in counts.lent)
    if expected == NOT_LENT and lending:
        return VariablesAnswer(NOT_OBEYED, _in_only("took loans", lending, counts))
    if expected == LENT and lending == counts.trials:
        return VariablesAnswer(OBEYED)
    if not any(counts.heard_at_all):
        return VariablesAnswer(NO_DATA, "nothing was heard, so nothing could be taken as a loan")
    if expected == LENT:
        loans = _in_only("took loans", lending, counts)
        return VariablesAnswer(
            NO_DATA, loans if lending else "it lent nothing though it was allowed to"
        )
    if problem := _loans_problem(control):
        return VariablesAnswer(NO_DATA, f"no loan without a control: {problem}")
    # A trial in which nothing was heard does not show that a message was copied.
    silence = _in_only("heard", sum(counts.heard_at_all), counts)
    return VariablesAnswer(NO_DATA, silence) if silence else VariablesAnswer(OBEYED)


def _loans_problem(control: CaseCounts | None) -> str:
    """Return why the case in which the arm may lend does not show that it can, empty if it does."""
    if control is None:
        return f"the campaign has no case `{LOANS}` of this arm here"
    if control.trials:
        lending = sum(count > 0 for count in control.lent)
        why = _in_only("took loans", lending, control) if lending else "it lent nothing"
    else:
        why = _why_no_trial(control)
    return f"in the case `{LOANS}` {why}" if why else ""


def _require_enough_trials(
    answer: VariablesAnswer, expected: str, counts: CaseCounts, control: CaseCounts | None
) -> VariablesAnswer:
    """Return no data if the trials are too few for an answer. What shows itself by silence, or by
    no loan, rests on the trials of the control as well."""
    if answer.answer not in (OBEYED, NOT_OBEYED):
        return answer
    trials = counts.trials
    if control is not None and (expected in (NOT_HEARD, NOT_LENT)) == (answer.answer == OBEYED):
        trials = min(trials, control.trials)
    reason = few_trials(answer.answer, trials)
    return VariablesAnswer(NO_DATA, reason) if reason else answer


def _in_only(verb: str, trials: int, counts: CaseCounts) -> str:
    """Return a text such as `heard in only 2 of 5 trials`, or nothing for all trials."""
    if trials == counts.trials:
        return ""
    return f"{verb} in only {trials} of {fmt.counted(counts.trials, 'trial')}"


def _judge_control(counts: CaseCounts) -> VariablesAnswer:
    if not counts.trials:
        return VariablesAnswer(NO_DATA, _why_no_trial(counts))
    if not counts.all_heard:
        return VariablesAnswer(NO_DATA, "not everything is heard without variables")
    return VariablesAnswer(IS_CONTROL)


def _why_no_trial(counts: CaseCounts) -> str:
    return f"no trial is done: {why_none(counts.missed)}" if counts.missed else "no trial was run"


def of_campaign(bundle: Bundle, campaign: JudgedCampaign) -> dict[str, Any]:
    return {"ros_variables": variables_answer(bundle, campaign.measured, campaign.small)}


def variables_answer(
    bundle: Bundle, measured: Mapping[int, Sequence[MeasuredTrial]], small: SmallTables
) -> RosVariables | None:
    """Return the answer on ROS variables, None if no cell has any."""
    cells = [
        (row, definition)
        for row in bundle.rows("cells")
        if row["cell"] in measured
        and (definition := json_column(row["definition"])).get("ros_variables")
    ]
    if not cells:
        return None
    lines = bundle.trials()
    counts = {
        row["cell"]: _case_counts(bundle, row["cell"], measured, lines, small) for row, _ in cells
    }
    controls = {
        (definition["ros_variables"]["case"], _condition(row, definition)): counts[row["cell"]]
        for row, definition in cells
        if definition["ros_variables"]["case"] in (CONTROL, LOANS)
    }
    cases: dict[tuple[str, str], dict[str, Any]] = {}
    arms: dict[tuple[str, str], list[RosVariablesArm]] = {}
    for row, definition in cells:
        case_definition = definition["ros_variables"]
        key = definition["comparison"], case_definition["case"]
        cases.setdefault(
            key,
            {"workload": key[0], "title": definition["workload"]["title"], **case_definition},
        )
        case_counts = counts[row["cell"]]
        if reason := bundle.unsupported.get(row["cell"]):
            answer = VariablesAnswer(NOT_SUPPORTED, reason)
        elif case_definition["case"] == CONTROL:
            answer = _judge_control(case_counts)
        else:
            expected = case_definition["expected"]
            control_case = LOANS if expected == NOT_LENT else CONTROL
            control = controls.get((control_case, _condition(row, definition)))
            answer = judge(expected, case_counts, control)
            answer = _require_enough_trials(answer, expected, case_counts, control)
        arms.setdefault(key, []).append(_arm(row, answer, case_counts))
    rows = _require_contrast(
        [RosVariablesRow(**case, arms=tuple(arms[key])) for key, case in cases.items()]
    )
    return RosVariables(text=TEXT, summary=_summary(rows), rows=rows)


def _arm(row: Mapping[str, Any], answer: VariablesAnswer, counts: CaseCounts) -> RosVariablesArm:
    any_done = bool(counts.trials)
    return RosVariablesArm(
        arm=row["arm"],
        middleware=row["middleware"],
        version=row["version"],
        cell=row["cell"],
        answer=answer.answer,
        reason=answer.reason,
        trials=counts.trials,
        heard=sum(counts.heard) if any_done else None,
        wanted=sum(counts.wanted) if any_done else None,
        lent=sum(counts.lent) if any_done else None,
        matched=counts.matched if any_done else None,
        text=counts.text if any_done else "",
    )


def _require_contrast(rows: Sequence[RosVariablesRow]) -> tuple[RosVariablesRow, ...]:
    """Return the rows in which being heard counts as obeyed only if another setting of one of the
    same variables silences the arm, since an arm that ignores the variables is heard, too."""
    silenced_by: dict[str, set[str]] = {}
    for row in rows:
        for arm in row.arms:
            if row.expected == NOT_HEARD and arm.answer == OBEYED:
                silenced_by.setdefault(arm.arm, set()).update((*row.writer, *row.reader))

    def checked(row: RosVariablesRow, arm: RosVariablesArm) -> RosVariablesArm:
        names = dict.fromkeys((*row.writer, *row.reader))
        is_heard = row.expected == HEARD and arm.answer == OBEYED
        if not is_heard or silenced_by.get(arm.arm, set()) & names.keys():
            return arm
        why = (
            f"heard as without variables, and no setting of {' or '.join(names)} silenced this arm"
        )
        return replace(arm, answer=NO_DATA, reason=why)

    return tuple(replace(row, arms=tuple(checked(row, arm) for arm in row.arms)) for row in rows)


def _condition(row: Mapping[str, Any], definition: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the condition that an arm and its control share: everything but the case."""
    levels = {
        name: level for name, level in definition["factors"].items() if name != "ros_variables"
    }
    return row["arm"], definition["workload"]["name"], tuple(levels.items())


def _case_counts(
    bundle: Bundle,
    cell: int,
    measured: Mapping[int, Sequence[MeasuredTrial]],
    lines: Sequence[TrialLine],
    small: SmallTables,
) -> CaseCounts:
    trials = measured.get(cell, ())
    ledgers = [trial.messages.ledger for trial in trials]
    return CaseCounts(
        heard=tuple(ledger.delivered for ledger in ledgers),
        heard_at_all=tuple(
            bool(ledger.delivered) or _anything_arrived(bundle, trial.trial)
            for trial, ledger in zip(trials, ledgers, strict=True)
        ),
        wanted=tuple(ledger.published for ledger in ledgers),
        lent=tuple(_lent(trial.trial, small) for trial in trials),
        matched=sum(_reader_matched(trial.trial, small) for trial in trials),
        missed=tuple(
            line for line in lines if line.cell == cell and line.status in ("failed", "void")
        ),
    )


def _lent(trial: int, small: SmallTables) -> int:
    return sum(
        int(row["value"]) for row in small.counters[trial] if row["counter"] == TAKEN_AS_LOAN
    )


def _reader_matched(trial: int, small: SmallTables) -> bool:
    readers = {row["endpoint"] for row in small.endpoints[trial] if row["kind"] == "subscription"}
    events = small.events[trial]
    return any(
        row["event"] == "matched" and row["value"] and row["endpoint"] in readers for row in events
    )


def _anything_arrived(bundle: Bundle, trial: int) -> bool:
    """Whether a message of the trial's writers arrived at any time."""
    flags = bundle.columns("received", trial, ["flags"])["flags"]
    return bool(((flags & FOREIGN) == 0).any())


def _summary(rows: Sequence[RosVariablesRow]) -> str:
    """Return a sentence for each arm, such as `rclcpp/zenoh: 4 obeyed, 7 not obeyed, 1 no data.`,
    without the controls."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for arm in row.arms:
            if row.case != CONTROL:
                counts.setdefault(arm.arm, Counter())[arm.answer] += 1
    order = (OBEYED, NOT_OBEYED, NO_DATA, NOT_SUPPORTED)
    sentences = {
        arm: ", ".join(f"{arm_counts[name]} {name}" for name in order if arm_counts[name])
        for arm, arm_counts in counts.items()
    }
    return " ".join(f"{arm}: {text}." for arm, text in sentences.items())


def notes(variables: RosVariables) -> list[str]:
    """Return `ARM, ANSWER in WORKLOADS: REASON` for each arm with a reason, equal ones once."""
    workloads_of_note: dict[tuple[str, str, str], list[str]] = {}
    for row in variables.rows:
        for arm in row.arms:
            if arm.reason:
                note = arm.arm, arm.answer, arm.reason
                workloads_of_note.setdefault(note, []).append(row.workload)
    return [
        f"{arm}, {answer} in {', '.join(workloads)}: {reason}"
        for (arm, answer, reason), workloads in workloads_of_note.items()
    ]
