"""A finding of the doctor, and the rule that derives it from facts."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["red", "yellow", "unknown", "green"]
SEVERITIES: tuple[Severity, ...] = ("red", "yellow", "unknown", "green")
"""Worst first."""


@dataclass(frozen=True)
class FixChange:
    """A change that `rmwbench doctor --fix` makes for a finding, and can take back. `file`: the
    kernel's files that match the pattern `target` get the value. `limit`: the calling shell gets
    the limit `target` (`memlock`, `nofile`), as `SOFT:HARD`."""

    kind: Literal["file", "limit"]
    target: str
    value: str


@dataclass(frozen=True)
class Finding:
    """The finding of a rule. `check` is its short name, `found` and `expected` are values, and
    `why` is a sentence.

    `fix` is a command for now, and `permanent` a change that survives a reboot; `worth` is the
    measured effect of the fix (docs/doctor.md), None where it was not measured. `spoils`: trials
    themselves are affected, so that reports repeat the finding. `changes` are those that `--fix`
    makes; it is empty where only a person can make them, or where they affect more than benchmarks.
    """

    check: str
    level: Severity
    found: str
    expected: str
    why: str
    fix: str | None = None
    permanent: str | None = None
    worth: str | None = None
    spoils: bool = False
    changes: tuple[FixChange, ...] = ()

    def document(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[tuple[str, str, bool]]:
        """The lines in a terminal: label, text, and whether the text is a command."""
        rows = [
            ("expected", self.expected, False),
            ("why", self.why, False),
            ("do", self.fix, True),
            ("for good", self.permanent, True),
            ("worth", self.worth, False),
        ]
        return [(label, text, is_command) for label, text, is_command in rows if text]

    def warning(self) -> str:
        """One line for a report."""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.check}: {self.found}; {self.why}{fix}"


class NotGathered(Exception):
    """A fact that a rule needs was not gathered, so the rule makes no finding."""


MachineFacts = Mapping[str, Any]


@dataclass(frozen=True)
class Diagnosis:
    """The fields of a Finding that depend on the facts; None stands for the rule's own text."""

    level: Severity
    found: str
    fix: str | None = None
    permanent: str | None = None
    worth: str | None = None
    spoils: bool = False
    changes: tuple[FixChange, ...] = ()
    expected: str | None = None
    why: str | None = None


@dataclass(frozen=True)
class DoctorRule:
    """A row of the doctor's table. `judge` raises NotGathered where its facts were not gathered."""

    check: str
    expected: str
    why: str
    judge: Callable[[MachineFacts], Diagnosis]

    def __call__(self, facts: MachineFacts) -> Finding:
        fields = vars(self.judge(facts))
        given_fields = {name: value for name, value in fields.items() if value is not None}
        return Finding(
            **{"check": self.check, "expected": self.expected, "why": self.why, **given_fields}
        )


def rule(
    check: str, *, expected: str, why: str
) -> Callable[[Callable[[MachineFacts], Diagnosis]], DoctorRule]:
    """Turns a function that judges facts into a row of the table."""
    return lambda judge: DoctorRule(check, expected, why, judge)


def fact(facts: Mapping[str, Any], *path: str) -> Any:
    """The fact at a path, None where it is unknown. Raises NotGathered where it was not gathered."""
    value: Any = facts
    for depth, key in enumerate(path):
        if value is None and depth:
            return None
        if not isinstance(value, Mapping) or key not in value:
            raise NotGathered(".".join(path))
        value = value[key]
    return value


def bytes_text(value: float) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            quantity = value / size  # up to 1023, which three digits would round
            return f"{quantity:.0f} {unit}" if quantity >= 100 else f"{quantity:.3g} {unit}"
    return f"{value:.0f} B"


def idle_state_text(state: Mapping[str, Any]) -> str:
    """The name of an idle state, with its wake-up time where that is known."""
    latency_us = state["latency_us"]
    return str(state["name"]) if latency_us is None else f"{state['name']} {latency_us} µs"
