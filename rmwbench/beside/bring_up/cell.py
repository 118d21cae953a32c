"""The lifecycle nodes that a cell's manager brings up."""

from typing import Any

from rmwbench.beside.bring_up.keys import ManagedNodes, managed_nodes
from rmwbench.suite.cells import Cell


def managed_nodes_of(cell: Cell) -> ManagedNodes | None:
    """The nodes that the cell's manager brings up; None for most cells."""
    return managed_nodes(cell.workload.written_out)


def definition(cell: Cell) -> dict[str, Any]:
    group = managed_nodes_of(cell)
    return {} if group is None else {"bring_up": group.definition()}


def may_be_absent(cell: Cell) -> set[str]:
    """Processes of lifecycle nodes: one that does not come up is what such a trial counts, not a
    failure of it."""
    group = managed_nodes_of(cell)
    if group is None:
        return set()
    return {process.name for process in cell.processes} - {group.process}
