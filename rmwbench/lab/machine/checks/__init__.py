"""All rules of the doctor, which turn facts into findings. They are pure functions, so that each is
tested with invented facts.

A rule is a row of a table: its name, the expected value, the reason, and the function that judges
the facts. It makes no finding where its facts were not gathered (`Absent`). Reports apply the same
rules to the facts that are cheap to gather.
"""

from rmwbench.lab.machine.checks import ability_rules, memory_rules, network_rules, processor_rules
from rmwbench.lab.machine.finding import SEVERITIES, Absent, DoctorRule, Finding, MachineFacts

RULES: tuple[DoctorRule, ...] = (
    *ability_rules.RULES,
    processor_rules.robot,  # before the findings that a robot causes
    *network_rules.RULES,
    *processor_rules.RULES,
    *memory_rules.RULES,
)


def checks(facts: MachineFacts) -> list[Finding]:
    """The findings on these facts, worst first, otherwise in the order of the rules."""
    findings = []
    for rule in RULES:
        try:
            findings.append(rule(facts))
        except Absent:
            continue
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.level))


def warnings(facts: MachineFacts) -> list[str]:
    """The warnings of a report: the red and yellow findings that spoil trials, red ones marked."""
    return [
        ("RED " if finding.level == "red" else "") + finding.warning()
        for finding in checks(facts)
        if finding.spoils and finding.level in ("red", "yellow")
    ]
