"""Lifecycle nodes and the manager that brings them up, as Nav2's lifecycle manager does: it waits
for the services of each, configures all in order, then activates all in order, one at a time.

A workload has them as a shorthand, `bring_up: {nodes: 100}`, or written out: nodes with
`lifecycle`, and one with `manages`. Both are for workers that have lifecycle nodes (rclcpp);
nothing is sent but what bringing up sends.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.timeline import Span

SERVICE_TIMEOUT_S = 5.0
"""Nav2's own: the default of its parameter `service_timeout`."""
MANAGER = "manager"
LAUNCH_S = 0.2
"""When the shorthand starts its nodes: after each process has noted what it used until the steady
state began."""


def _timeout(seconds: float) -> float:
    if not 0.001 <= seconds <= 3600:
        raise Fault(
            "a time-out is between a millisecond and an hour",
            expected="0.001 … 3600",
            actual=seconds,
        )
    return seconds


Timeout = Annotated[float, AfterValidator(_timeout)]


class Lifecycle(Strict):
    """How long the node's own callbacks take, as a driver's that waits for its device; one that
    takes longer than the manager waits is one that hangs."""

    configure_s: Span = 0.0
    activate_s: Span = 0.0


class Manages(Strict):
    """Brings up all lifecycle nodes of the workload, in their order. `service_timeout_s`: how long
    it waits for a node's service, and for each answer."""

    service_timeout_s: Timeout = SERVICE_TIMEOUT_S


class BringUp(Lifecycle):
    """node_1 … node_N, each a process of its own, and their manager, in the last. All are started
    as a launch file does: their sessions are opened and their nodes created at once, at the
    beginning of the steady state, and the manager begins when it is there."""

    nodes: int = Field(ge=1, le=1000)
    service_timeout_s: Timeout = SERVICE_TIMEOUT_S

    def expanded(self) -> list[dict[str, Any]]:
        times = {"configure_s": self.configure_s, "activate_s": self.activate_s}
        names = [f"node_{number}" for number in range(1, self.nodes + 1)]
        made: list[dict[str, Any]] = [
            {"name": name, "joins_s": LAUNCH_S, "lifecycle": times} for name in names
        ]
        return [
            *made,
            {
                "name": MANAGER,
                "joins_s": LAUNCH_S,
                "manages": {"service_timeout_s": self.service_timeout_s},
            },
        ]
