"""Makes the changes of `rmwbench doctor --fix` on this machine, and takes them back.

A finding names its changes as data (`Finding.changes`): a file of the kernel that gets a value, or
a limit of the calling shell. The command that the doctor shows and the change that is made come
from the same data, so they cannot differ. The old values are written to the state file before any
change; taking back touches only places that still have the value that was set.
"""

import json
import os
import resource
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rmwbench import home
from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.host.marker import started_ticks
from rmwbench.lab.host.shared_files import parent_of
from rmwbench.lab.kernel_files import file_text, kernel_value
from rmwbench.lab.machine import machine_facts
from rmwbench.lab.machine.finding import Finding, FixChange
from rmwbench.whole_file import make_directory, write_whole

SCHEMA, VERSION = "rmwbench/doctor-fix", 1
BOOT_ID = "proc/sys/kernel/random/boot_id"
UNLIMITED = "unlimited"
CAP_SYS_RESOURCE = 24
CALLERS = ("sudo", "doas", "su", "uv", "env")
"""Programs that run another one and are no shell: a limit of theirs would end with them."""
LIMITS = {"memlock": resource.RLIMIT_MEMLOCK, "nofile": resource.RLIMIT_NOFILE}


@dataclass(frozen=True)
class FixStep:
    """A change of one file or one limit. `before` is None where it cannot be read; `process` is
    (PID, start time) of the shell whose limit is changed."""

    kind: str
    target: str
    before: str | None
    value: str
    process: tuple[int, int] | None = None

    @property
    def is_needed(self) -> bool:
        return self.before != self.value


@dataclass(frozen=True)
class FixOutcome:
    """The outcome of a step; `problem` tells why the step failed, and is empty where it did not."""

    step: FixStep
    problem: str = ""


def steps_of(findings: Sequence[Finding], kernel: "MachineSettings") -> list[FixStep]:
    """The needed steps of these findings, each once, in the order of the findings."""
    steps = [
        step for finding in findings for change in finding.changes for step in kernel.steps(change)
    ]
    return [step for step in dict.fromkeys(steps) if step.is_needed]


def fixable(findings: Sequence[Finding], only: Sequence[str] = ()) -> list[Finding]:
    """The findings to fix; with `only`, those of these names. Raises UserError."""
    names = [finding.check for finding in findings]
    for name in only:
        if name not in names:
            raise not_one_of(f"the doctor has no check `{name}`", name, names, where="--only")
    return [
        finding
        for finding in findings
        if finding.changes
        and finding.level in ("red", "yellow")
        and (not only or finding.check in only)
    ]


class MachineSettings:
    """The settings that steps change: the kernel's files below `root`, and limits of the process
    `shell`."""

    def __init__(self, root: Path = Path("/"), shell: int | None = None):
        self.root = root
        self.shell = calling_shell() if shell is None else shell

    def steps(self, change: FixChange) -> list[FixStep]:
        """The steps of a change: one for each file that matches its pattern, or one for a limit."""
        if change.kind == "limit":
            process = (self.shell, started_ticks(self.shell) or -1)
            before = _limit(self.shell, change.target)
            return [FixStep("limit", change.target, before, change.value, process)]
        paths = sorted(self.root.glob(change.target.lstrip("/")))
        return [
            FixStep("file", f"/{path.relative_to(self.root)}", kernel_value(path), change.value)
            for path in paths
        ]

    def may(self, step: FixStep) -> bool:
        """Whether this user may take the step."""
        if step.kind == "file":
            return os.access(self._path(step), os.W_OK)
        hard = _pair(step.value)[1]
        raises = step.before is None or _order(hard) > _order(_pair(step.before)[1])
        return not raises or machine_facts.has_capability(CAP_SYS_RESOURCE)

    def set(self, step: FixStep, value: str) -> str:
        """Sets the value. Returns the reason why that failed, or an empty text."""
        try:
            if step.kind == "limit":
                pid = step.process[0] if step.process else self.shell
                resource.prlimit(pid, LIMITS[step.target], _pair(value))
            else:
                self._path(step).write_text(value)
        except (OSError, ValueError) as error:
            return getattr(error, "strerror", None) or str(error)
        now = self.now(step)
        return "" if now == value else f"it is {now} afterwards"

    def now(self, step: FixStep) -> str | None:
        """The present value; None where the file or the process is gone."""
        if step.kind == "file":
            return kernel_value(self._path(step))
        if step.process is None or (started_ticks(step.process[0]) or -1) != step.process[1]:
            return None
        return _limit(step.process[0], step.target)

    def boot(self) -> str:
        try:
            return (self.root / BOOT_ID).read_text().strip()
        except OSError:
            return ""

    def _path(self, step: FixStep) -> Path:
        return self.root / step.target.lstrip("/")


def calling_shell() -> int:
    """The PID of the shell that called rmwbench, past the programs through which it did."""
    pid = os.getppid()
    while file_text(f"/proc/{pid}/comm") in CALLERS and (parent := parent_of(pid)):
        pid = parent
    return pid


def command_of(step: FixStep, value: str | None = None, sudo: bool = False) -> str:
    """The shell command that has the effect of a step."""
    value = step.value if value is None else value
    root = "sudo " if sudo else ""
    if step.kind == "limit":
        pid = step.process[0] if step.process else "$$"
        return f"{root}prlimit --pid {pid} --{step.target}={value}"
    if step.target.startswith("/proc/sys/"):
        return f"{root}sysctl -w {sysctl_name(step.target)}={value}"
    return f"echo {value} | {root}tee {step.target}" if sudo else f"echo {value} > {step.target}"


def sysctl_name(target: str) -> str:
    return target.removeprefix("/proc/sys/").replace("/", ".")


def apply(steps: Sequence[FixStep], kernel: MachineSettings) -> list[FixOutcome]:
    """Takes the steps in order. The old values are written to the state file first; for a step that
    an earlier run took, the file keeps the oldest value."""
    earlier_steps = saved_steps(kernel)
    step_of = {(step.kind, step.target, step.process): step for step in earlier_steps}
    for step in steps:
        key = (step.kind, step.target, step.process)
        before = step_of[key].before if key in step_of else step.before
        step_of[key] = replace(step, before=before)
    _save(list(step_of.values()), kernel)
    outcomes = [FixOutcome(step, kernel.set(step, step.value)) for step in steps]
    failed = {outcome.step.target for outcome in outcomes if outcome.problem}
    unchanged = [
        step
        for step in step_of.values()
        if step.target in failed and kernel.now(step) == step.before
    ]
    _save([step for step in step_of.values() if step not in unchanged], kernel)
    return outcomes


def undo(kernel: MachineSettings) -> list[FixOutcome]:
    """Takes the steps of the state file back, the last one first. A step is dropped where its file
    or shell is gone, and where its value has been changed since, which is left as it is. A step
    that could not be taken back stays in the file."""
    outcomes, remaining = [], []
    for step in reversed(saved_steps(kernel)):
        now = kernel.now(step)
        if now is None or step.before is None:
            continue
        if now != step.value:
            outcomes.append(FixOutcome(step, f"it was changed since, to {now}, and is left so"))
        elif problem := kernel.set(step, step.before):
            outcomes.append(FixOutcome(step, problem))
            remaining.append(step)
        else:
            outcomes.append(FixOutcome(step))
    _save(list(reversed(remaining)), kernel)
    return outcomes


def state_file() -> Path:
    return home.state() / "doctor-fix.json"


def saved_steps(kernel: MachineSettings) -> list[FixStep]:
    """The steps of the state file, which can be taken back; empty where the machine was rebooted
    since. Raises UserError where the state file cannot be read."""
    path = state_file()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["boot"] != kernel.boot():
            return []
        return [_step(row) for row in document["changes"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            "the changes of `rmwbench doctor --fix` are not known",
            where=str(path),
            expected="the file that it left",
            actual=str(error),
            fix=f"set back by hand the values that it lists, then: rm {path}",
        ) from error


def _step(row: dict[str, Any]) -> FixStep:
    process = row["process"]
    return FixStep(**row | {"process": process and (int(process[0]), int(process[1]))})


def _save(steps: Sequence[FixStep], kernel: MachineSettings) -> None:
    path = state_file()
    if not steps:
        path.unlink(missing_ok=True)
        return
    rows = [asdict(step) for step in steps]
    document = {"schema": SCHEMA, "version": VERSION, "boot": kernel.boot(), "changes": rows}
    make_directory(path.parent)
    write_whole(path, json.dumps(document, indent=1) + "\n")


def _limit(pid: int, name: str) -> str | None:
    """A limit of a process as `SOFT:HARD` (prlimit(1)); None where it cannot be read."""
    try:
        pair = resource.prlimit(pid, LIMITS[name])
    except (OSError, ValueError):
        return None
    return ":".join(UNLIMITED if limit == resource.RLIM_INFINITY else str(limit) for limit in pair)


def _pair(value: str) -> tuple[int, int]:
    """The soft and the hard limit of `SOFT:HARD`."""
    soft, _, hard = value.partition(":")
    return _number(soft), _number(hard)


def _number(text: str) -> int:
    return resource.RLIM_INFINITY if text == UNLIMITED else int(text)


def _order(limit: int) -> float:
    return float("inf") if limit == resource.RLIM_INFINITY else limit
