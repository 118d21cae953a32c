"""Calls as actions of rclcpp_action, and as parameters that are set: every call has its reply, from
one client and from many, over every RMW."""

import json
import time
from pathlib import Path

import pytest

from rmwbench.suite.workload.message_type import service_type
from tests.ros2 import sourced
from tests.ros2.test_campaign import campaign, finished_trials, rows, told
from tests.ros2.test_worker import QOS, Opened

pytestmark = [sourced.needed, pytest.mark.timing]
actions = pytest.mark.skipif(
    not sourced.has_package("rclcpp_action"),
    reason="THE SOURCED ROS 2 HAS NO rclcpp_action: it is not tested",
)

SUITE = """
suite: actions
title: calls as actions
description: by one client and by three
blocks: {{minimum: 1, planned: 1}}
timeline: {{warmup_s: 0.2, drain_s: 1.0, steady_s: 1}}
arms:
{arms}
workloads:
  - &one
    name: one
    title: one client
    description: small replies
    clients: 1
    request: Bytes(64)
    reply: Bytes(64)
    rate_hz: 20
    qos: {{history: keep_last, depth: 20}}
  - <<: *one
    name: three
    title: three clients
    clients: 3
    reply: Bytes(20000)
"""


def suite(arms: dict[str, dict]) -> str:
    return SUITE.format(
        arms="\n".join(f"  - {json.dumps({'name': name, **arm})}" for name, arm in arms.items())
    )


def replied(bundle: Path) -> list[tuple[str, str]]:
    """Arm and workload of the trials that are done. Fails where a call had no reply, or where there
    was none."""
    if not finished_trials(bundle):
        pytest.skip("the machine disturbed every trial")
    calls = rows(
        bundle,
        """select arm, workload, count(sent.seq), (select count(*) from received join endpoints using (trial, endpoint)
             where kind = 'client' and received.trial = any_value(sent.trial))
           from sent join endpoints using (trial, endpoint) join trials using (trial) join cells using (cell)
           where kind = 'client' and status = 'done' group by arm, workload""",
    )
    assert all(requests == replies > 0 for _, _, requests, replies in calls), calls
    return [(arm, workload) for arm, workload, _, _ in calls]


@pytest.mark.parametrize("rmw", sourced.RMWS)
@pytest.mark.parametrize("kind", [pytest.param("action", marks=actions), "parameter"])
def test_every_call_has_its_reply(tmp_path, rmw, kind):
    sourced.worker(rmw)
    middleware = {"middleware": f"rclcpp/{rmw}"}
    arms = {"service": middleware, kind: middleware | {"options": {"calls": kind}}}
    bundle = campaign(tmp_path, suite(arms))
    assert len(replied(bundle)) == 4
    assert rows(bundle, "select sum(flags & 1) from received") == [(0,)]


@actions
@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
def test_every_executor_serves_an_action(tmp_path, rmw):
    sourced.worker(rmw)
    arms = {
        executor: {
            "middleware": f"rclcpp/{rmw}",
            "options": {"calls": "action"},
            "modes": {"executor": executor},
        }
        for executor in ("multi_threaded", "events", "events_cbg", "static")
    }
    found = {arm for arm, _ in replied(campaign(tmp_path, suite(arms)))}
    assert found >= {"multi_threaded", "events"}  # not every rclcpp has the static one


@actions
def test_an_action_needs_an_executor(tmp_path):
    rmw = "rmw_cyclonedds_cpp"
    sourced.worker(rmw)
    arm = {
        "middleware": f"rclcpp/{rmw}",
        "options": {"calls": "action"},
        "modes": {"executor": "wait_set"},
    }
    said = told(tmp_path, suite({"refused": arm}))
    assert "not supported: endpoint" in said and "served by an executor" in said


@actions
@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
def test_a_client_that_left_is_gone_for_the_server_of_its_action(rmw):
    types = {
        "type": service_type("Bytes(64)", "request").wire(),
        "reply_type": service_type("Bytes(64)", "reply").wire(),
    }
    each = types | {"topic": "act", "qos": QOS, "touch": "all", "wait": "callback"}
    calls = each | {"kind": "client", "arrival": {"kind": "periodic", "period_ns": 10_000_000}}
    nodes = [
        {"name": "server", "endpoints": [each | {"endpoint": 1, "kind": "service", "matches": 2}]},
        {"name": "leaves", "endpoints": [calls | {"endpoint": 2, "matches": 1}]},
        {"name": "stays", "endpoints": [calls | {"endpoint": 3, "matches": 1}]},
    ]
    with Opened(rmw, options={"calls": "action"}) as opened:
        opened.ask("open", **opened.open)
        opened.ask("create", nodes=nodes)
        opened.ask("match", timeout_ns=10_000_000_000)
        opened.ask("destroy", nodes=["leaves"])
        deadline = time.monotonic() + 5
        matched = 2
        while matched != 1 and time.monotonic() < deadline:
            time.sleep(0.1)
            matched = opened.ask("collect")["endpoints"]["1"]["matched"]
        assert matched == 1
