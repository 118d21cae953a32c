"""The conditions under which ROS variables can be set, and the option that passes them to a
worker."""

from rmwbench.beside.ros_variables.cell import case_of, variables_of
from rmwbench.beside.ros_variables.keys import KEY, PEER
from rmwbench.campaign.plan.profile import Workers, address_environment
from rmwbench.lab.host import HostKind
from rmwbench.lab.middleware.ros2 import NAME as LAYER
from rmwbench.suite.cells import Cell


def missing(cell: Cell, workers: Workers, kind: HostKind) -> str | None:
    """Return why the cell's variables cannot be set here, None if they can or there are none."""
    if case_of(cell) is None:
        return None
    if kind.shared:
        return (
            "ROS variables are tried in namespaces alone, which cannot be made here: they "
            "would reach other robots"
        )
    if cell.real is not None:
        return (
            "ROS variables are tried in namespaces alone: on other machines they would reach "
            "other robots"
        )
    for name in cell.middlewares:
        program = name.partition("/")[0]
        if program != LAYER:
            return f"{name} has no ROS variables that its worker could set: only {LAYER} has"
        description = workers[name].description if name in workers else None
        if description and not description.get(KEY):
            return (
                f"the worker of {name} was built before it took ROS variables: rmwbench "
                f"middlewares build {program}"
            )
    return None


def options(cell: Cell, process: str) -> dict[str, str | int]:
    assignments = variable_assignments(cell, process)
    return {KEY: assignments} if assignments else {}


def variable_assignments(cell: Cell, process: str) -> str:
    """Return the value of a worker's option `ros_variables` for a process, `NAME=VALUE NAME=VALUE`;
    empty for none."""
    variables = variables_of(cell, process)
    if not variables:
        return ""
    hosts = {p.name: p.host for p in cell.processes}
    peers = address_environment(cell, hosts[process]).get("RMWBENCH_PEERS", "").split()
    addresses = ";".join(dict.fromkeys(peers))
    return " ".join(f"{name}={value.replace(PEER, addresses)}" for name, value in variables.items())
