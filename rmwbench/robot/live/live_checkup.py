"""The look at a running system, for `rmwbench doctor --live`."""

from dataclasses import replace
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.lab.machine.finding import LEVELS
from rmwbench.robot.live.live_model import LiveCheckup
from rmwbench.robot.live.live_processes import look
from rmwbench.robot.live.live_rules import findings
from rmwbench.words.numbers import counted


def checkup(domain: int | None = None, proc: Path = Path("/proc")) -> LiveCheckup:
    """`domain`: only processes of that one. Raises UserError where there is no /proc."""
    try:
        system = look(proc)
    except OSError as error:
        raise UserError(
            "cannot look at what runs on this machine",
            where=str(proc),
            expected="Linux with /proc",
            actual=error.strerror or str(error),
        ) from error
    if domain is not None:
        there = tuple(one for one in system.processes if domain in one.domains)
        system = replace(system, processes=there)
    found = sorted(findings(system), key=lambda one: LEVELS.index(one.level))
    return LiveCheckup(domain=domain, system=system, findings=tuple(found))


def summary(found: LiveCheckup) -> str:
    """One line: what was looked at, and what could not be read."""
    where = "" if found.domain is None else f" in domain {found.domain}"
    processes = found.system.processes
    rmws = sorted({one.rmw for one in processes if one.rmw})
    told = f"{counted(len(processes), 'process', 'processes')} of middlewares{where}"
    told += f" ({', '.join(rmws)})" if rmws else ""
    if found.system.unread:
        told += (
            f"; {counted(found.system.unread, 'process', 'processes')} of other users could not be "
            "read: run it as root"
        )
    return told if found.findings else f"{told}; nothing found"
