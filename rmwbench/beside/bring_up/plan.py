"""The conditions under which lifecycle nodes can be brought up, and the options that pass them to a
worker."""

from rmwbench.beside.bring_up.cell import managed_nodes_of
from rmwbench.campaign.plan.profile import Workers
from rmwbench.lab.host import HostKind
from rmwbench.lab.middleware.ros2 import NAME as LAYER
from rmwbench.suite.cells import Cell

OLD_WORKER = f"no: its worker was built before it had them: rmwbench middlewares build {LAYER}"


def missing(cell: Cell, workers: Workers, _kind: HostKind) -> str | None:
    """Return why the cell's lifecycle nodes are not supported, None if they are or there are none.
    The description of a worker says `yes` or `no: REASON`."""
    if managed_nodes_of(cell) is None:
        return None
    for name in cell.middlewares:
        program = name.partition("/")[0]
        if program != LAYER:
            return f"{name} has no lifecycle nodes: they are ROS 2's, and only {LAYER} has them"
        description = workers[name].description if name in workers else None
        if description is None:
            continue
        answer = description.get("lifecycle", OLD_WORKER)
        if answer != "yes":
            return f"{name} has no lifecycle nodes{answer.removeprefix('no')}"
    return None


def options(cell: Cell, process: str) -> dict[str, str | int]:
    """Return the options for a worker: the lifecycle nodes of its process, and the nodes that it
    brings up; empty without any."""
    group = managed_nodes_of(cell)
    if group is None:
        return {}
    worker_options: dict[str, str | int] = {}
    process_nodes = [node for node in cell.workload.all_nodes if node.process_name == process]
    times = {node.name: node.lifecycle for node in process_nodes if node.lifecycle is not None}
    if times:
        worker_options["lifecycle_nodes"] = " ".join(
            f"{name}:{round(1e3 * transitions.configure_s)}:{round(1e3 * transitions.activate_s)}"
            for name, transitions in times.items()
        )
    if process == group.process:
        worker_options |= {"manager": group.manager, "manages": " ".join(group.nodes)}
        worker_options["service_timeout_ms"] = round(1e3 * group.service_timeout_s)
    return worker_options
