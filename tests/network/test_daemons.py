"""Where daemons run: on one host, on every host, or nowhere, as the worker says of itself; and
which of them an accident takes."""

from pathlib import Path

import pytest

from rmwbench.campaign.plan.profile import daemons, needed_daemons
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.lab.host import Hosts
from rmwbench.lab.middleware import Worker
from rmwbench.suite import placement
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse
from tests.lab import fake_worker, tools
from tests.network.laboratory import taps

SUITE = """
suite: mini
title: a test
timeline: {{warmup_s: 0.05, drain_s: 0.1, grace_s: 0.1, match_s: 5}}
networks:
  thin: {{}}
arms:
  - {{name: a, middleware: fake{modes}}}
workloads:
  - name: w
    message: Bytes(100)
    rate_hz: 200
    hosts: {hosts}
    daemons_host: base
    subscribers: {subscribers}
    network: thin
    timeline: {{steady_s: 0.2}}
"""
ACCIDENT = """
suite: mini
title: a test
timeline: {warmup_s: 0.05, drain_s: 0.1, grace_s: 0.1, match_s: 5, steady_s: 2}
networks:
  thin: {}
arms:
  - {name: a, middleware: fake}
workloads:
  - name: w
    message: Bytes(100)
    rate_hz: 50
    network: thin
    daemons_host: base
    daemons_end_s: 0.1
    daemons_end: daemons_host
    daemons_return_s: 0.2
    nodes:
      - {name: robot_talker, host: robot, publishers: [{topic: x}]}
      - {name: robot_listener, host: robot, subscriptions: [{topic: x}]}
      - {name: base_talker, host: base, publishers: [{topic: y}]}
      - {name: base_listener, host: base, subscriptions: [{topic: y}]}
"""
"""The fake worker speaks over the loopback, so each topic stays on its host."""
BY_MODE = {"multicast": [], "server": ["central"], "routers": ["router"]}


def made_of(text: str) -> Cell:
    return cells(parse(text, where="mini.yaml", directory=Path(), middlewares=["fake"]))[0]


def cell(hosts="[robot, base]", subscribers=1, modes="") -> Cell:
    return made_of(SUITE.format(hosts=hosts, subscribers=subscribers, modes=modes))


def describing(path: Path | None = None) -> Worker:
    profile = fake_worker.DESCRIBE["profiles"][0] | {"daemons": ["router"]}
    told = {"profiles": [profile], "daemons_each_host": ["router"]}
    told["mode_daemons"] = {"discovery": BY_MODE}
    path = path and fake_worker.install(path, describe=told)
    return Worker("fake", path, fake_worker.DESCRIBE | told, None)


def placed(made: Cell) -> list[tuple[str, str]]:
    found = needed_daemons(made, {"fake": describing()}, 1, 0)
    return [(daemon.label, daemon.host) for daemon in found]


def ran(made: Cell, directory: Path) -> tuple[TrialResult, list[dict]]:
    """A trial of the cell, and its events."""
    taps()
    tools.built("link")
    order = Order(1, made, 0, 0, seed=7, nonce=0xFEED_FACE_CAFE_BEEF)
    result = run_trial(order, describing(directory), Hosts("test", made.hosts))
    return result, result.tables["events"].to_pylist()


def test_a_daemon_of_each_host_is_on_every_host_with_a_process_in_the_order_of_the_addresses():
    assert placed(cell()) == [("router robot", "robot"), ("router base", "base")]
    three = cell("[robot, base, lab]", subscribers=2)
    assert [host for _, host in placed(three)] == ["robot", "base", "lab"]


def test_a_daemon_that_all_share_is_on_the_daemons_host():
    shared = cell(modes=", modes: {discovery: server}")
    assert placed(shared) == [("central", "base")]
    # Where hosts are machines its name tells whose clock its sampler stamps with.
    (afar,) = placement.place_cells([shared], "--place")
    assert placed(afar) == [("central base", "base")]


@pytest.mark.parametrize(
    ("level", "needed"),
    [("routers", ["router"]), ("server", ["central"]), ("multicast", []), ("peers", ["router"])],
)
def test_a_level_that_says_which_daemons_it_needs_says_so_in_the_profiles_place(level, needed):
    (side, *_) = cell(modes=f", modes: {{discovery: {level}}}").sides.values()
    assert daemons(side, describing()) == needed


@pytest.mark.traffic
def test_each_host_has_its_router_in_a_trial(tmp_path):
    result, events = ran(cell(), tmp_path)
    said = {row["process"] for row in events if row["event"] == "hello"}
    assert {"router robot", "router base"} <= said, result.reason
    assert {"router robot.stdout", "router base.stdout"} <= result.files.keys()


@pytest.mark.traffic
def test_the_daemon_of_the_daemons_host_alone_is_killed_and_returns(tmp_path):
    result, events = ran(made_of(ACCIDENT), tmp_path)
    found = {
        name: [row["process"] for row in events if row["event"] == name]
        for name in ("killed", "returned")
    }
    expected = {"killed": ["router base"], "returned": ["router base again"]}
    assert found == expected, result.reason
