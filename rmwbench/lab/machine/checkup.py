"""The card with its warnings, for every campaign; and the whole check-up, for `rmwbench doctor`.

Both apply the same rules to facts; a campaign gathers only facts that cost milliseconds. The rules
are pure functions, so that each is tested with invented facts. A rule is a row of a table: its name,
the expected value, the reason, and the function that judges the facts. It makes no finding where
its facts were not gathered (`NotGathered`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rmwbench.lab.machine import (
    ability_rules,
    hardware_rules,
    machine_card,
    machine_facts,
    network_rules,
)
from rmwbench.lab.machine.finding import SEVERITIES, DoctorRule, Finding, MachineFacts, NotGathered

SCHEMA, VERSION = "rmwbench/doctor", 1

RULES: tuple[DoctorRule, ...] = (
    *ability_rules.RULES,
    hardware_rules.robot,  # before the findings that a robot causes
    *network_rules.RULES,
    *hardware_rules.RULES,
)


def checks(facts: MachineFacts) -> list[Finding]:
    """The findings on these facts, worst first, otherwise in the order of the rules."""
    findings = []
    for rule in RULES:
        try:
            findings.append(rule(facts))
        except NotGathered:
            continue
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.level))


def warnings(facts: MachineFacts) -> list[str]:
    """The warnings of a report: the red and yellow findings that spoil trials, red ones marked."""
    return [
        ("RED " if finding.level == "red" else "") + finding.warning()
        for finding in checks(facts)
        if finding.spoils and finding.level in ("red", "yellow")
    ]


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
