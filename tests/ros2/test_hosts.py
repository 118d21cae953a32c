"""Each RMW over two hosts, in every shape of discovery that it has, with real trials: messages of
the robot arrive at the base, also from a process that was killed and started again."""

from pathlib import Path

import pytest

from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.lab.host import Hosts
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse
from tests.lab import tools
from tests.network.laboratory import taps
from tests.ros2 import sourced

pytestmark = [sourced.needed, pytest.mark.timing]

SUITE = """
suite: hosts
title: over two hosts
timeline: {{warmup_s: 0.1, drain_s: 1, grace_s: 0.5, match_s: 20}}
arms:
  - {{name: a, middleware: rclcpp/{rmw}, profile: {profile}{modes}}}
workloads:
  - name: w
    message: Bytes(320)
    rate_hz: 50
    network: {{}}
    timeline: {{steady_s: {steady_s}}}
    nodes:
{nodes}
"""
TWO = """
      - {name: talker, host: robot, publishers: [{topic: t}]}
      - {name: listener, host: base, subscriptions: [{topic: t}]}
"""
RESTARTED = """
      - {name: talker, host: robot, killed_s: 1, restarts_s: 2, publishers: [{topic: t}]}
      - {name: listener, host: base, subscriptions: [{topic: t}]}
"""
ZENOH = "rmw_zenoh_cpp"
SHAPES = [
    ("rmw_cyclonedds_cpp", ""),
    ("rmw_cyclonedds_cpp", "multicast"),
    ("rmw_cyclonedds_cpp", "spdp"),
    ("rmw_cyclonedds_cpp", "peers"),
    ("rmw_fastrtps_cpp", ""),
    ("rmw_fastrtps_cpp", "multicast"),
    ("rmw_fastrtps_cpp", "peers"),
    ("rmw_fastrtps_cpp", "server"),
    *((ZENOH, level) for level in ("", "routers", "server", "client", "peers", "multicast")),
]


@pytest.fixture(scope="module", autouse=True)
def _possible():
    taps()
    tools.built("link")


def cell(
    rmw: str,
    level: str,
    nodes: str,
    steady_s: float,
    profile: str = "untouched",
    security: bool = False,
) -> Cell:
    asked = [f"discovery: {level}"] if level else []
    asked += ["security: true"] if security else []
    modes = f", modes: {{{', '.join(asked)}}}" if asked else ""
    words = {"rmw": rmw, "profile": profile, "modes": modes, "steady_s": steady_s}
    text = SUITE.format(nodes=nodes.strip("\n"), **words)
    return cells(parse(text, where="hosts.yaml", directory=Path(), middlewares=[f"rclcpp/{rmw}"]))[
        0
    ]


def trial(made: Cell, rmw: str) -> TrialResult:
    order = Order(1, made, 0, 0, seed=7, nonce=0xFEED_FACE_CAFE_BEEF)
    return run_trial(order, sourced.worker(rmw), Hosts("ros2", made.hosts))


def counted(result: TrialResult, table: str) -> int:
    return result.tables[table].num_rows if table in result.tables else 0


@pytest.mark.parametrize(("rmw", "level"), SHAPES)
def test_messages_reach_another_host(rmw, level):
    result = trial(cell(rmw, level, TWO, steady_s=1.0), rmw)
    assert result.status == "done" or result.cause == "machine", result.reason
    sent, received = counted(result, "sent"), counted(result, "received")
    assert sent >= 50 and received >= 0.9 * sent


SECURED = [("rmw_cyclonedds_cpp", ""), ("rmw_fastrtps_cpp", "")]
SECURED += [(ZENOH, level) for level in ("", "client", "peers")]


@pytest.mark.parametrize(("rmw", "level"), SECURED)
def test_two_hosts_trust_each_others_keys(rmw, level):
    secured = sourced.worker(rmw).description["modes"]["security"]
    if isinstance(secured, str) and secured.startswith("no"):
        pytest.skip(f"{rmw}: security: {secured}")
    result = trial(cell(rmw, level, TWO, steady_s=1.0, security=True), rmw)
    assert result.status == "done" or result.cause == "machine", result.reason
    (told,) = (text.decode() for name, text in result.files.items() if "talker.conf" in name)
    assert ("enable_mtls:true" if rmw == ZENOH else "ROS_SECURITY_STRATEGY=Enforce") in told
    sent, received = counted(result, "sent"), counted(result, "received")
    assert sent >= 50 and received >= 0.9 * sent


@pytest.mark.parametrize("level", ["routers", "server", "client", "peers"])
def test_a_session_of_rmw_zenoh_that_comes_back_is_found_again(level):
    result = trial(cell(ZENOH, level, RESTARTED, steady_s=8.0), ZENOH)
    assert result.status == "done" or result.cause == "machine", result.reason
    events = result.tables["events"].to_pylist()
    killed_ns = next(row["time_ns"] for row in events if row["event"] == "killed")
    (trial_row,) = result.tables["trials"].to_pylist()
    rows = result.tables["received"].to_pylist()
    late = [row for row in rows if row["taken_ns"] > killed_ns + 2_000_000_000]
    assert trial_row["steady_end_ns"] > killed_ns and late, "nothing arrived of the second process"


def test_what_is_made_for_one_host_is_not_supported_over_two():
    rmw = "rmw_cyclonedds_cpp"
    made = cell(rmw, "", TWO, steady_s=1.0, profile="tuned")
    (reason,) = unsupported_reasons([made], {f"rclcpp/{rmw}": sourced.worker(rmw)}).values()
    assert "is for one host: it uses loopback alone" in reason
