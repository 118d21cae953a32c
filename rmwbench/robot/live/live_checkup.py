"""The checkup of a running system, for `rmwbench doctor --live`."""

from dataclasses import replace

from rmwbench.errors import UserError
from rmwbench.lab.machine.finding import SEVERITIES
from rmwbench.robot.live.live_model import LiveCheckup
from rmwbench.robot.live.live_processes import PROC, read_system
from rmwbench.robot.live.live_rules import findings
from rmwbench.words.numbers import counted


def checkup(domain: int | None) -> LiveCheckup:
    """The checkup of all processes, or of those in one `domain`. Raises UserError without a
    /proc."""
    try:
        system = read_system()
    except OSError as error:
        raise UserError(
            "cannot read the processes of this machine",
            where=str(PROC),
            expected="Linux with /proc",
            actual=error.strerror or str(error),
        ) from error
    if domain is not None:
        of_domain = tuple(process for process in system.processes if domain in process.domains)
        system = replace(system, processes=of_domain)
    sorted_findings = sorted(findings(system), key=lambda finding: SEVERITIES.index(finding.level))
    return LiveCheckup(domain=domain, system=system, findings=tuple(sorted_findings))


def summary(checkup: LiveCheckup) -> str:
    """One line with the counts of processes, also of those that could not be read."""
    domain = "" if checkup.domain is None else f" in domain {checkup.domain}"
    processes = checkup.system.processes
    rmws = sorted({process.rmw for process in processes if process.rmw})
    text = f"{counted(len(processes), 'process', 'processes')} of middlewares{domain}"
    text += f" ({', '.join(rmws)})" if rmws else ""
    if checkup.system.unread:
        text += (
            f"; {counted(checkup.system.unread, 'process', 'processes')} of other users could not be "
            "read: run it as root"
        )
    return text if checkup.findings else f"{text}; nothing found"
