"""Facts → findings: every rule of the doctor, pure, so that each is tested with facts that were
made up.

A rule is a row of a table: its name, what is expected, why, and the function that judges the facts.
It says nothing where these were not gathered (`Absent`). Reports use the same rules with the facts
that are cheap to gather, so there is one source of truth.
"""

from rmwbench.lab.machine.checks import ability_rules, memory_rules, network_rules, processor_rules
from rmwbench.lab.machine.finding import LEVELS, Absent, DoctorRule, Facts, Finding

RULES: tuple[DoctorRule, ...] = (
    *ability_rules.RULES,
    processor_rules.robot,  # before all that is slower by it
    *network_rules.RULES,
    *processor_rules.RULES,
    *memory_rules.RULES,
)


def checks(facts: Facts) -> list[Finding]:
    """Every finding that these facts allow, worst first, otherwise in the order of the rules."""
    findings = []
    for rule in RULES:
        try:
            findings.append(rule(facts))
        except Absent:
            continue
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))


def warnings(facts: Facts) -> list[str]:
    """The warnings of a report: red and yellow findings that spoil trials, red ones marked."""
    repeated = [
        finding
        for finding in checks(facts)
        if finding.spoils and finding.level in ("red", "yellow")
    ]
    return [("RED " if finding.level == "red" else "") + finding.warning() for finding in repeated]
