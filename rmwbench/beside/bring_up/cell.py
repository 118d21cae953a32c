"""The lifecycle nodes that a cell's manager brings up."""

from typing import Any

from rmwbench.beside.bring_up.keys import Managed, managed
from rmwbench.suite.cells import Cell


def managed_of(cell: Cell) -> Managed | None:
    """The nodes that the cell's manager brings up; None for most cells."""
    return managed(cell.workload.written_out)


def definition(cell: Cell) -> dict[str, Any]:
    managed_nodes = managed_of(cell)
    return {} if managed_nodes is None else {"bring_up": managed_nodes.definition()}


def may_be_absent(cell: Cell) -> set[str]:
    """Processes of lifecycle nodes: one that does not come up is what such a trial counts, not a
    failure of it."""
    managed_nodes = managed_of(cell)
    return (
        set()
        if managed_nodes is None
        else {process.name for process in cell.processes} - {managed_nodes.process}
    )
