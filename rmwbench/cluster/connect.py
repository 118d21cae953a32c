"""The connection to a running Ray cluster, whose errors become UserErrors."""

import importlib.util
import logging
import socket
from typing import Any

from rmwbench.errors import UserError

INSTALL = "pip install 'rmwbench[cluster]'"
REACH_TIMEOUT_S = 5.0
RESOURCE = "rmwbench"
"""A custom resource of Ray: if any machine has it, only machines that have it are used."""


def connect(address: str) -> Any:
    """Connect to a cluster and return the module `ray`. `address`: `auto`, `HOST:PORT` of the head,
    or `ray://HOST:PORT` from outside. Raises UserError."""
    if importlib.util.find_spec("ray") is None:
        raise UserError(
            "--cluster needs Ray, which is not installed", where="--cluster", fix=INSTALL
        )
    if address.startswith("ray://") and importlib.util.find_spec("grpc") is None:
        raise UserError(
            "a ray:// address needs Ray's client",
            where="--cluster",
            actual="the package grpcio is not installed",
            fix="pip install 'ray[client]', or run rmwbench on a machine of the cluster with "
            "--cluster auto",
        )
    _check_reachable(_running_cluster() if address == "auto" else address)
    import ray

    try:
        ray.init(
            address=address, namespace="rmwbench", log_to_driver=False, logging_level=logging.ERROR
        )
    except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        raise _unreachable(address, error_line(error)) from None
    return ray


def _running_cluster() -> str:
    """Return the address that `auto` stands for. No public function of Ray tells it, and Ray would
    try the address of a dead cluster for minutes."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        return canonicalize_bootstrap_address("auto") or ""
    except (ConnectionError, ValueError) as error:
        raise _unreachable("auto", error_line(error)) from None


def _check_reachable(address: str) -> None:
    """Raises UserError if the address does not answer: Ray itself would try it for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise UserError(
            "this is not an address of a Ray cluster",
            where="--cluster",
            expected="auto, HOST:PORT of the head (its port is 6379 unless chosen), or "
            "ray://HOST:10001",
            actual=address,
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_TIMEOUT_S).close()
    except (OSError, UnicodeError) as error:  # idna refuses `head..local`
        raise _unreachable(address, getattr(error, "strerror", None) or str(error)) from None


def _unreachable(address: str, why: str) -> UserError:
    return UserError(
        "cannot reach this Ray cluster",
        where="--cluster",
        expected="a cluster that runs, with this machine in it, or ray://HOST:10001 from outside",
        actual=f"{address}: {why}",
        fix="`ray status` tells whether one runs; `ray start --address=HEAD:6379` joins one",
    )


def nodes(ray: Any) -> list[dict[str, Any]]:
    """Return the machines that may be used: those alive with the resource `rmwbench` if any has it,
    else those with processors for work."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    with_resource = [node for node in alive if node["Resources"].get(RESOURCE)]
    usable = with_resource or [node for node in alive if node["Resources"].get("CPU")]
    return sorted(usable, key=lambda node: (node["NodeName"], node["NodeID"]))


def error_line(error: BaseException, *, last: bool = False) -> str:
    """Return the most informative line of an error: the first, or the `last` of a traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1 if last else 0][:300] if lines else type(error).__name__
