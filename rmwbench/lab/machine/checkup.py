"""The card with its warnings, for every campaign; and the whole check-up, for `rmwbench doctor`.

Both apply the same rules to facts; a campaign gathers only facts that cost milliseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rmwbench.lab.machine import machine_card, machine_facts
from rmwbench.lab.machine.checks import checks, warnings
from rmwbench.lab.machine.finding import SEVERITIES, Finding

SCHEMA, VERSION = "rmwbench/doctor", 1


def describe() -> dict[str, Any]:
    """The machine card (`machine_card.describe`) with `warnings`: sentences, red ones first."""
    card = machine_card.describe()
    return {**card, "warnings": warnings(machine_facts.report_facts(card))}


@dataclass(frozen=True)
class Checkup:
    """The result of a check-up; `findings` are sorted, worst first."""

    summary: str
    findings: tuple[Finding, ...]

    @property
    def level(self) -> str:
        return self.findings[0].level if self.findings else "unknown"

    def document(self) -> dict[str, Any]:
        """The document that `rmwbench doctor --json` prints (docs/doctor.md)."""
        counts = {
            level: sum(finding.level == level for finding in self.findings) for level in SEVERITIES
        }
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "machine": self.summary,
            "counts": counts,
            "findings": [finding.document() for finding in self.findings],
        }


def checkup(*, tools: Mapping[str, Any], calibration: Mapping[str, Any] | None) -> Checkup:
    """Applies all rules, which takes about two seconds. `tools` is {"middlewares": {name: problem},
    "tools": {name: problem}}, with the problem "" where one is ready; `calibration` is {"summary",
    "age_days"} of the newest calibration of this machine."""
    card = machine_card.describe()
    facts = machine_facts.all_facts(card, tools=tools, calibration=calibration)
    return Checkup(card["summary"], tuple(checks(facts)))
