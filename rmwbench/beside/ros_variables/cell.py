"""The ROS variables of a cell's processes."""

from typing import Any

from rmwbench.beside.ros_variables.keys import CASES, KEY, VariablesCase
from rmwbench.suite.cells import Cell


def case_of(cell: Cell) -> VariablesCase | None:
    """Return the cell's case, None if it sets no ROS variables."""
    name = getattr(cell.workload.beside, KEY)
    return None if name is None else CASES[name]


def variables_of(cell: Cell, process: str) -> dict[str, str]:
    """Return the variables of one process, with PEER for the other's address."""
    case = case_of(cell)
    if case is None:
        return {}
    writes = any(endpoint.writes for endpoint in cell.endpoints if endpoint.process == process)
    return case.writer if writes else case.reader


def definition(cell: Cell) -> dict[str, Any]:
    case = case_of(cell)
    if case is None:
        return {}
    return {
        KEY: {
            "case": getattr(cell.workload.beside, KEY),
            "text": case.text,
            "writer": case.writer,
            "reader": case.reader,
            "expected": case.expected(len(cell.hosts)),
            "source": case.source,
        }
    }


def may_silence(cell: Cell) -> bool:
    """Whether silence may be the outcome that the cell asks for."""
    return case_of(cell) is not None
