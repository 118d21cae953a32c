"""Small networks for tests: links from a suite's words, and hosts that can be joined, or a loud
skip."""

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.host import check_tap
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse
from rmwbench.suite.network.network import Links

SUITE = """
suite: mini
title: a test
blocks: {{planned: 1, minimum: 1}}
timeline: {{warmup_s: 0.1, drain_s: 0.5, grace_s: 0.2, match_s: 10}}
arms:
{arms}
workloads:
  - name: w
    message: Bytes(320)
    rate_hz: 100
    {workload}
    network: {network}
    timeline: {{steady_s: {steady_s}}}
"""


def cell(
    network: str = "{}",
    workload: str = "hosts: [robot, base]",
    arms: str = "  - {name: a, middleware: cyclonedds}",
    steady_s: float = 3.0,
) -> Cell:
    text = SUITE.format(network=network, workload=workload, arms=arms, steady_s=steady_s)
    return cells(parse(text, where="mini.yaml", middlewares=["fake"]))[0]


def links(network: str = "{}", hosts: str = "[robot, base]") -> Links:
    found = cell(network, f"hosts: {hosts}").links
    assert found is not None
    return found


def taps() -> None:
    """Skips where hosts cannot be joined."""
    try:
        check_tap()
    except UserError as error:
        pytest.skip(f"no network between hosts here: {error}")
