"""The lifecycle nodes that a cell's manager brings up."""

from typing import Any

from rmwbench.beside.bring_up.keys import ManagedNodes, managed_nodes
from rmwbench.suite.cells import Cell


def managed_nodes_of(cell: Cell) -> ManagedNodes | None:
    """Return the nodes that the cell's manager brings up, None if it has no manager."""
    return managed_nodes(cell.workload.all_nodes)


def definition(cell: Cell) -> dict[str, Any]:
    group = managed_nodes_of(cell)
    return {} if group is None else {"bring_up": group.definition()}


def may_be_absent(cell: Cell) -> set[str]:
    """Return the processes of lifecycle nodes: a trial counts those that do not come up, and does
    not fail by them."""
    group = managed_nodes_of(cell)
    if group is None:
        return set()
    return {process.name for process in cell.processes} - {group.process}
