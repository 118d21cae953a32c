"""Hosts of a workload on machines of their own: the same cells, with the network that is really
between them.

A suite says which hosts there are and what lies between them; where its hosts are machines, the
second half is not ours to make. So an emulated network is left out and said to be; but what a suite
*compares* in it (a factor with several levels, or workloads `against` each other that differ in
it), and what it lets happen to it in a trial (changes), is refused: leaving that out would answer
another question.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell
from rmwbench.suite.network.interfaces import RealNetwork
from rmwbench.suite.network.network import Links, Network
from rmwbench.suite.network.network_words import network_lines
from rmwbench.words.level_names import level_text

FIX = "run this workload emulated, without --place and --gang, or leave it out with --workload"
NETWORK_FACTOR = "network"


def placed(cells: Iterable[Cell], where: str) -> tuple[Cell, ...]:
    """The cells with real networks between their hosts; cells of one host stay as they are, and run
    isolated on one machine. Raises UserError where a cell asks for a network that must be emulated;
    `where` is the option's name."""
    cells = tuple(cells)
    networks = {
        (cell.suite, cell.workload.name): cell.links.network for cell in cells if cell.links
    }
    _check_factors(cells, where)
    for cell in cells:
        if cell.links:
            _check(cell, cell.links, where)
            _check_against(cell, cell.links, networks, where)
    placed_cells = tuple(_placed(cell) for cell in cells)
    if not any(cell.real for cell in placed_cells):
        raise UserError(
            "no workload of this suite is over several hosts",
            where=where,
            expected="nodes with `host:`, or `hosts: [robot, base]`",
            fix=f"run it without {where}: each trial then runs whole on one machine",
        )
    return placed_cells


def _check_factors(cells: tuple[Cell, ...], where: str) -> None:
    """One level of an emulated network compares nothing; it is left out like any other."""
    levels: dict[tuple[str, str], set[str]] = {}
    for cell in cells:
        if cell.links:
            for name, level in cell.factors.items():
                if name.split(".")[0] == NETWORK_FACTOR:
                    levels.setdefault((cell.suite, name), set()).add(level_text(level))
    for (suite, name), network_levels in levels.items():
        if len(network_levels) > 1:
            raise UserError(
                f"factor `{name}` compares emulated networks, and between machines there is the "
                "real one",
                where=where,
                actual=f"suite {suite} with the levels {', '.join(sorted(network_levels))}",
                fix=f"choose one: --at {name}={min(network_levels)}; or run it emulated, without --place "
                "and --gang",
            )


def _check(cell: Cell, links: Links, where: str) -> None:
    if changes := links.network.changes:
        raise UserError(
            f"the network of workload `{cell.workload.name}` changes within the trial, which a "
            "real one is not told to",
            where=where,
            actual=f"{changes[0].change or 'a new link'} of host {changes[0].host} at "
            f"{changes[0].at_s:g} s",
            fix=FIX,
        )
    if traffic := links.network.cross_traffic:
        raise UserError(
            f"the cross traffic of workload `{cell.workload.name}` needs hosts of its own, which "
            "no machine is",
            where=where,
            actual=traffic[0].words,
            fix=FIX,
        )
    for name, condition in cell.conditions.items():
        if condition not in ("idle", "as_found"):
            raise UserError(
                f"`{name}: {condition}` is made on one machine only, and this trial runs on several",
                where=where,
                actual=f"suite {cell.suite}, workload {cell.workload.name}, arm {cell.arm.name}",
                fix=FIX,
            )


def _check_against(
    cell: Cell, links: Links, networks: Mapping[tuple[str, str], Network], where: str
) -> None:
    """`networks`: (suite, workload) → what is emulated there."""
    against = cell.workload.against
    other_network = None if against is None else networks.get((cell.suite, against))
    if other_network is not None and other_network != links.network:
        raise UserError(
            f"workloads `{cell.workload.name}` and `{against}` are put beside each other and "
            "differ in their emulated network, which between machines is one and the same",
            where=where,
            actual=f"suite {cell.suite}, workload {cell.workload.name}",
            fix=FIX,
        )


def _placed(cell: Cell) -> Cell:
    if cell.links is None:
        return cell
    emulated = (line for line in network_lines(cell.links) if not line.endswith(": does nothing"))
    real = RealNetwork(cell.links.hosts, tuple(emulated))
    return replace(cell, links=None, real=real)
