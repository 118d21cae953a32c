"""rclpy over each RMW of the sourced ROS 2: messages as objects and serialised, one service, and
what each needs."""

import os
import sys
from pathlib import Path

import pytest

from rmwbench.lab.middleware import find_workers, ros2
from tests.ros2 import sourced
from tests.ros2.rclpy_cases import CASES
from tests.ros2.test_campaign import campaign, everything_arrived, finished_trials, rows, run
from tests.support.program import run_program

pytestmark = [sourced.needed, pytest.mark.timing]
CALLS = """
suite: calls
title: rclpy
blocks: {{planned: 2, minimum: 2}}
timeline: {{warmup_s: 0.2, drain_s: 1.0, match_s: 20, steady_s: 0.5}}
arms: [{{name: service, middleware: {middleware}, wait: callback}}]
workloads: [{{name: add, clients: 2, request: Bytes(64), reply: Bytes(1024), rate_hz: 40}}]
"""


def needed(rmw: str) -> str:
    """The name of the worker; skips where this Python cannot import rclpy or the install lacks the
    RMW."""
    name = f"rclpy/{rmw}"
    found = find_workers([name])
    if name in found and found[name].description:
        return name
    if not any((prefix / "lib" / f"lib{rmw}.so").is_file() for prefix in ros2.prefixes()):
        pytest.skip(f"the sourced ROS 2 has no {rmw}")
    problem = found["rclpy"].problem if "rclpy" in found else "the worker is not installed"
    if "not to be imported" in problem:
        pytest.skip(problem)
    pytest.fail(problem)


@pytest.mark.parametrize("rmw", sourced.RMWS)
def test_messages_arrive(tmp_path, rmw):
    middleware = {"middleware": needed(rmw), "wait": "callback"}
    arms = {"objects": middleware, "serialised": middleware | {"options": {"raw": True}}}
    arms["threads"] = middleware | {"modes": {"executor": "multi_threaded"}}
    arms["assigned"] = middleware | {"options": {"assign": True}}
    bundle = run(tmp_path, arms, message="Image(64x48)")
    everything_arrived(bundle)
    damaged = "select count(*) from received where flags & 1 = 1"
    assert rows(bundle, damaged) == [(0,)]
    noted = """select distinct arm from endpoints join trials using (trial) join cells using (cell)
        where granted like '%assigned:%'"""
    assert rows(bundle, noted) == [("assigned",)]


@pytest.mark.parametrize("rmw", sourced.RMWS)
def test_each_client_gets_the_replies_to_its_own_requests(tmp_path, rmw):
    bundle = campaign(tmp_path, CALLS.format(middleware=needed(rmw)))
    if not finished_trials(bundle):
        pytest.skip("the machine disturbed every trial")
    heard = rows(
        bundle,
        """select count(*), count(*) filter (where reply.cause_endpoint = received.endpoint)
        from received join sent reply on reply.trial = received.trial
        and reply.endpoint = received.writer and reply.seq = received.seq where reply.cause_endpoint > 0""",
    )
    requests = rows(bundle, "select count(*) from sent where coalesce(cause_endpoint, 0) = 0")[0][0]
    assert heard == [(requests, requests)] and requests >= 2 * 2 * 20


def test_only_rmw_zenoh_has_a_router():
    needed("rmw_cyclonedds_cpp")
    daemons = {
        name: worker.profile("untouched").get("daemons", [])
        for name, worker in find_workers(["rclpy"]).items()
    }
    for name, found in daemons.items():
        assert found == (["router"] if name.endswith("/rmw_zenoh_cpp") else []), name


@pytest.mark.parametrize("case", CASES)
def test_the_workers_own_objects(case):
    name = needed("rmw_cyclonedds_cpp")
    environment = os.environ | find_workers([name])[name].environment
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    words = [sys.executable, "-m", "tests.ros2.rclpy_cases", case]
    done = run_program(*words, cwd=Path(__file__).parents[2], env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
