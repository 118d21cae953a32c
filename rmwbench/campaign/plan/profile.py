"""The configuration that a side of an arm runs with: the user's file, or what the worker carries
under that name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rmwbench.beside import each
from rmwbench.campaign.plan.host_setups import daemon_address, file_domain, needs_of
from rmwbench.campaign.trial.void import PATH_OPTION
from rmwbench.lab.host import Hosts
from rmwbench.lab.middleware import Worker, ros2
from rmwbench.lab.network import addresses
from rmwbench.suite.cells import Cell
from rmwbench.suite.side import Profile, Side

DAEMONS_OPTION = "daemons"
"""The option that names the daemons of a user's own profile, separated by spaces; it is for us and
not for the worker, which knows those of the profiles that it carries."""

Workers = Mapping[str, Worker]
"""Middleware → worker."""


def resolved_profile(side: Side, worker: Worker) -> dict[str, Any]:
    """Name, format and text. Raises UserError for a name that the worker does not have."""
    return _resolved(side.profile, worker)


def _resolved(profile: Profile, worker: Worker) -> dict[str, Any]:
    if profile.text is not None:
        return {"name": profile.name, "format": profile.format or "", "text": profile.text}
    embedded = worker.profile(profile.name)
    return {key: embedded[key] for key in ("name", "format", "text")}


def forced(side: Side, worker: Worker) -> str | None:
    """What isolation or the worker forces on an embedded profile, in its words; None where nothing
    is."""
    profile = side.profile
    return None if profile.text is not None else worker.profile(profile.name).get("forced")


def open_fields(side: Side, worker: Worker, nonce: int, domain_id: int = 0) -> dict[str, Any]:
    """The protocol's `open`. Left out are the options that are for us: what path to attest, which
    daemons to start."""
    options = {
        name: value
        for name, value in side.options.items()
        if name not in (PATH_OPTION, DAEMONS_OPTION)
    }
    found = {
        "trial_nonce": f"{nonce:016x}",
        "domain_id": domain_id,
        "profile": resolved_profile(side, worker),
    }
    return found | {"options": options, "modes": dict(side.modes)}


def address_environment(cell: Cell, host: str) -> dict[str, str]:
    """What a worker or daemon on this host is told of addresses; nothing where there is no other
    host. Each other host is named once per process there."""
    if len(cell.hosts) < 2:
        return {}
    if cell.real is not None and cell.real.gang is not None:
        known = {name: spot.address for name, spot in cell.real.gang.spots.items()}
    else:
        known = {
            name: addresses.text(addresses.ipv4(number))
            for number, name in enumerate(cell.hosts, start=1)
        }
    return {
        "RMWBENCH_ADDRESS": known[host],
        "RMWBENCH_PEERS": " ".join(
            known[process.host]
            for process in cell.processes
            if process.host != host and process.follows is None
        ),
        "RMWBENCH_DAEMON_ADDRESS": known[cell.daemons_host],
    }


def beside_options(cell: Cell, process: str) -> dict[str, str | int]:
    """What the worker of a process is told for what runs beside the trial."""
    found: dict[str, str | int] = {}
    for told in each("plan", "options", cell, process):
        found |= told
    return found


def publish_mode_option(cell: Cell, side: Side) -> dict[str, str]:
    """A process's publish mode as rclcpp's worker wants it, before its session opens: an RMW may
    have it per participant. Empty where the arm asks for none, and for all other workers."""
    mode = cell.arm.publish_mode
    asked = mode != "default" and side.middleware.startswith(f"{ros2.NAME}/")
    return {"publish_mode": mode} if asked else {}


def domain_id(cell: Cell, hosts: Hosts) -> int:
    """In a network of our own that which a user's file is for, else 0; on a shared host, and among
    machines, what keeps a trial out of a robot's domain and apart from other trials."""
    if cell.real is not None and cell.real.gang is not None:
        return cell.real.gang.domain_id
    return hosts.first.domain_id or file_domain(cell) or 0


def daemons(side: Side, worker: Worker) -> list[str]:
    """Daemons that must serve before workers open with the profile and the modes, in that order.

    A level of a mode that says which daemons it needs, or none, says so in the profile's place. A
    user's own file needs those that it connects to.
    """
    asked = side.options.get(DAEMONS_OPTION)
    if asked is not None:
        return str(asked).split()
    by_mode = (worker.description or {}).get("mode_daemons", {})
    levels = [by_mode.get(mode, {}).get(str(level)) for mode, level in side.modes.items()]
    needed = [names for names in levels if names is not None]
    if not needed and side.profile.text is None:
        needed = [worker.profile(side.profile.name).get("daemons", [])]
    elif not needed:
        needed = [needs_of(side).daemons]
    return list(dict.fromkeys(name for names in needed for name in names))


def known_daemons(worker: Worker) -> set[str]:
    """Those that the worker's description names anywhere."""
    described = worker.description or {}
    listed = [one.get("daemons", []) for one in described.get("profiles", [])]
    listed += [
        names for levels in described.get("mode_daemons", {}).values() for names in levels.values()
    ]
    return {name for names in listed for name in names}


@dataclass(frozen=True)
class NeededDaemon:
    """`label` is its name, with the host's or the middleware's behind it where another has the
    same."""

    label: str
    name: str
    worker: Worker
    fields: dict[str, Any]
    host: str
    environment: dict[str, str] = field(default_factory=dict)


def needed_daemons(
    cell: Cell, workers: Workers, nonce: int, domain_id: int
) -> Iterator[NeededDaemon]:
    """The daemons of all sides of a cell, each once.

    Those that each host has of its own are there once on each host of that side.
    """
    seen: list[tuple[str, Any, dict[str, Any], str]] = []
    labels: set[str] = set()
    for side in distinct_sides(cell):
        worker = workers[side.middleware]
        for name, fields, environment in side_daemons(side, worker, domain_id, nonce):
            hosts = _daemon_hosts(cell, side, worker, name)
            for host in hosts:
                if (name, worker.executable, fields, host) in seen:
                    continue
                label = name if len(hosts) == 1 else f"{name} {host}"
                if label in labels:
                    label += f" {side.middleware}"
                seen.append((name, worker.executable, fields, host))
                labels.add(label)
                yield NeededDaemon(label, name, worker, fields, host, environment)


class SideDaemon(NamedTuple):
    """A daemon that a side needs: the fields of its `open`, which are the side's own but for the
    daemon's file where it has one; and where it is to listen, where the user's file says so."""

    name: str
    fields: dict[str, Any]
    environment: dict[str, str]


def side_daemons(
    side: Side, worker: Worker, domain_id: int = 0, nonce: int = 1
) -> list[SideDaemon]:
    fields = open_fields(side, worker, nonce, domain_id)
    if side.daemon is not None:
        fields["profile"] = _resolved(side.daemon.profile, worker)
    at = {name: daemon_address(side, name) for name in daemons(side, worker)}
    return [
        SideDaemon(name, fields, {} if address is None else {"RMWBENCH_ADDRESS": address})
        for name, address in at.items()
    ]


def _daemon_hosts(cell: Cell, side: Side, worker: Worker, name: str) -> list[str]:
    """Where a daemon runs, in the order of the hosts' addresses."""
    if name not in (worker.description or {}).get("daemons_each_host", ()):
        return [cell.daemons_host]
    mine = side.side_definition()
    same = [one for one in cell.processes if cell.sides[one.name].side_definition() == mine]
    return [host for host in cell.hosts if any(process.host == host for process in same)]


def distinct_sides(cell: Cell) -> list[Side]:
    """What the processes of a cell run, each once; most cells have one."""
    found: list[Side] = []
    for side in cell.sides.values():
        if not any(side.side_definition() == other.side_definition() for other in found):
            found.append(side)
    return found
