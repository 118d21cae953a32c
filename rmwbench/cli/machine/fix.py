"""`rmwbench doctor --fix` and `--undo`: the commands are shown, one question is asked, and what was
before is kept, so that it can be set back."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from rmwbench.cli.console import print_json
from rmwbench.errors import UserError
from rmwbench.typed import as_typed

if TYPE_CHECKING:
    from rmwbench.lab.machine.finding import Finding
    from rmwbench.lab.machine.fixes import FixOutcome, FixStep

DONE, NOT_DONE = 0, 1


def fix(findings: "Sequence[Finding]", only: Sequence[str], *, yes: bool, as_json: bool) -> int:
    """The exit code. Changes nothing where one of the steps is not this user's to do: then it says
    what to type."""
    from rmwbench.lab.machine.fixes import KernelFiles, apply, command_of, fixable, steps_of

    kernel = KernelFiles()
    wanted = fixable(findings, only)
    steps = steps_of(wanted, kernel)
    if not steps:
        return _end([], as_json, _nothing(findings, only))
    if denied := [step for step in steps if not kernel.may(step)]:
        return _by_hand(steps, denied, as_json)
    _show("This changes, until the machine starts anew:", [command_of(step) for step in steps])
    if not _agreed("Run them?", yes):
        return NOT_DONE
    outcomes = apply(steps, kernel)
    code = _end(outcomes, as_json, as_typed("`rmwbench doctor --undo` sets it back."))
    lasting = [one.permanent for one in wanted if one.permanent]
    if lasting:
        _show("For good, as root, what a restart does not undo:", lasting)
    return code


def undo(*, yes: bool, as_json: bool) -> int:
    """The exit code."""
    from rmwbench.lab.machine.fixes import KernelFiles, command_of, kept_steps, undo

    kernel = KernelFiles()
    steps = [step for step in reversed(kept_steps(kernel)) if step.before is not None]
    if not steps:
        return _end([], as_json, "Nothing is to be set back: --fix has changed nothing.")
    if denied := [step for step in steps if not kernel.may(step)]:
        return _by_hand(steps, denied, as_json, back=True)
    _show("This sets back:", [command_of(step, step.before) for step in steps])
    if not _agreed("Run them?", yes):
        return NOT_DONE
    return _end(undo(kernel), as_json, "")


def _nothing(findings: "Sequence[Finding]", only: Sequence[str]) -> str:
    """Why there is nothing to change: what was asked for by name is good, or only a person can
    change it."""
    by_hand = [
        f"{one.check}: {one.found}" + (f" (by hand: {one.fix})" if one.fix else "")
        for one in findings
        if one.check in only and one.level != "green"
    ]
    if by_hand:
        return "Nothing that --fix could set: " + "; ".join(by_hand)
    return "Nothing is to be changed: all that --fix can set is as it should be."


def _by_hand(
    steps: "Sequence[FixStep]", denied: "Sequence[FixStep]", as_json: bool, back: bool = False
) -> int:
    from rmwbench.lab.machine.fixes import FixOutcome, command_of

    if as_json:
        return _end([FixOutcome(step, "not allowed") for step in steps], as_json, "")
    what = ", ".join(dict.fromkeys(step.target for step in denied))
    _show(
        f"This user may not change {what}. As root (in a container: on its host):",
        [command_of(step, step.before if back else None, sudo=True) for step in steps],
    )
    return NOT_DONE


def _show(heading: str, lines: Sequence[str]) -> None:
    """On stderr, so that stdout is the document alone."""
    typer.echo(heading, err=True)
    for line in lines:
        typer.echo(f"  {line}", err=True)


def _agreed(question: str, yes: bool) -> bool:
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "nothing is changed without being asked, and there is no terminal to ask on",
            expected="a terminal, or --yes",
        )
    return typer.confirm(question, default=False, err=True)


def _end(outcomes: "Sequence[FixOutcome]", as_json: bool, told: str) -> int:
    from rmwbench.lab.machine.fixes import SCHEMA, VERSION, command_of

    code = NOT_DONE if any(one.problem for one in outcomes) else DONE
    if as_json:
        rows = [
            {"kind": one.step.kind, "target": one.step.target, "before": one.step.before}
            | {"value": one.step.value, "problem": one.problem or None}
            | {"command": command_of(one.step)}
            for one in outcomes
        ]
        print_json({"schema": SCHEMA, "version": VERSION, "changes": rows})
        return code
    for one in outcomes:
        if one.problem:
            print(f"{one.step.target}: not set: {one.problem}")
        else:
            print(f"{one.step.target}: done")
    if told:
        print(told)
    return code
