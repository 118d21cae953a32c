"""Hosts of a workload on machines of their own: the same cells, with the real network between the
machines.

A suite defines hosts and the network between them; the network between machines cannot be emulated.
So an emulated network is left out, and the plan says so. A suite that *compares* networks (a factor
with several levels, or workloads `against` each other that differ in it), or changes one within a
trial, is refused: without the emulation it would answer another question.
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


def place_cells(cells: Iterable[Cell], where: str) -> tuple[Cell, ...]:
    """The cells with real networks between their hosts; cells of one host are unchanged, and run
    isolated on one machine. Raises UserError for a cell whose network must be emulated; `where` is
    the option's name."""
    cells = tuple(cells)
    networks = {
        (cell.suite, cell.workload.name): cell.links.network for cell in cells if cell.links
    }
    _check_factors(cells, where)
    for cell in cells:
        if cell.links:
            _check(cell, cell.links, where)
            _check_against(cell, cell.links, networks, where)
    placed_cells = tuple(_place_cell(cell) for cell in cells)
    if not any(cell.real for cell in placed_cells):
        raise UserError(
            "no workload of this suite is over several hosts",
            where=where,
            expected="nodes with `host:`, or `hosts: [robot, base]`",
            fix=f"run it without {where}: each trial then runs whole on one machine",
        )
    return placed_cells


def _check_factors(cells: tuple[Cell, ...], where: str) -> None:
    """Refuses factors with several levels of an emulated network; a single level is left out."""
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
            f"the network of workload `{cell.workload.name}` changes within the trial, and a real "
            "one cannot be changed",
            where=where,
            actual=f"{changes[0].change or 'a new link'} of host {changes[0].host} at "
            f"{changes[0].at_s:g} s",
            fix=FIX,
        )
    if traffic := links.network.cross_traffic:
        raise UserError(
            f"the cross traffic of workload `{cell.workload.name}` needs hosts of its own, for which "
            "there is no machine",
            where=where,
            actual=traffic[0].words,
            fix=FIX,
        )
    for name, condition in cell.conditions.items():
        if condition not in ("idle", "as_found"):
            raise UserError(
                f"`{name}: {condition}` is for one machine, and this trial runs on several",
                where=where,
                actual=f"suite {cell.suite}, workload {cell.workload.name}, arm {cell.arm.name}",
                fix=FIX,
            )


def _check_against(
    cell: Cell, links: Links, networks: Mapping[tuple[str, str], Network], where: str
) -> None:
    """`networks`: (suite, workload) → its emulated network."""
    against = cell.workload.against
    other_network = None if against is None else networks.get((cell.suite, against))
    if other_network is not None and other_network != links.network:
        raise UserError(
            f"workloads `{cell.workload.name}` and `{against}` are compared and differ in their "
            "emulated network, but between machines the network is the same",
            where=where,
            actual=f"suite {cell.suite}, workload {cell.workload.name}",
            fix=FIX,
        )


def _place_cell(cell: Cell) -> Cell:
    if cell.links is None:
        return cell
    left_out = tuple(network_lines(cell.links, all_hosts=False))
    real = RealNetwork(cell.links.hosts, left_out)
    return replace(cell, links=None, real=real)
