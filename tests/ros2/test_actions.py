"""Calls as actions of rclcpp_action, and as parameters that are set: every call has its reply, from
one client and from many, over every RMW."""

import json
import time
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

from rmwbench.suite.workload.message_type import service_type
from tests.ros2 import sourced
from tests.ros2.test_campaign import campaign, rows
from tests.ros2.test_worker import QOS, Opened

pytestmark = [sourced.needed, pytest.mark.timing]
actions = pytest.mark.skipif(
    not sourced.has_package("rclcpp_action"),
    reason="THE SOURCED ROS 2 HAS NO rclcpp_action: it is not tested",
)

SUITE = """
suite: actions
title: calls as actions
blocks: {{minimum: 1, planned: 1}}
timeline: {{warmup_s: 0.2, drain_s: 1.0, steady_s: 1}}
arms:
{arms}
workloads:
  - &one
    name: one
    clients: 1
    request: Bytes(64)
    reply: Bytes(64)
    rate_hz: 20
    qos: {{history: keep_last, depth: 20}}
  - <<: *one
    name: three
    clients: 3
    reply: Bytes(20000)
"""


def suite(arms: dict[str, dict]) -> str:
    return SUITE.format(
        arms="\n".join(f"  - {json.dumps({'name': name, **arm})}" for name, arm in arms.items())
    )


HEARD_NOTHING = "heard nothing from endpoint"
"""What the reason of a trial says in which matched endpoints never heard each other."""


@dataclass(frozen=True)
class Unanswered:
    """What a client lacks: so many replies, `behind` of them to requests after `last`, the last one
    that was answered (None: none was). Numbers of requests are the client's own."""

    arm: str
    workload: str
    client: int
    last: int | None
    missing: int
    behind: int

    @property
    def stalled(self) -> bool:
        """Whether all replies stop at one moment; scattered losses are something else."""
        return self.missing == self.behind

    def __str__(self) -> str:
        last = "none" if self.last is None else f"{self.last}, and {self.behind} are missing behind"
        return (
            f"{self.arm}, {self.workload}, client {self.client} lacks {self.missing} replies; the "
            f"last request that was answered is {last}"
        )


def unanswered(bundle: Path) -> list[Unanswered]:
    """Each client that lacks a reply, of the trials that are done."""
    calls = rows(
        bundle,
        """with answered as (
             select distinct r.trial, r.cause_endpoint as client, r.cause_seq as seq, true as is_answered
             from sent r join received a on a.trial = r.trial and a.endpoint = r.cause_endpoint
               and a.writer = r.endpoint and a.seq = r.seq)
           select c.arm, c.workload, q.trial, q.endpoint, q.seq, answered.is_answered
           from sent q join endpoints e on e.trial = q.trial and e.endpoint = q.endpoint
             join trials t on t.trial = q.trial join cells c on c.cell = t.cell
             left join answered on answered.trial = q.trial and answered.client = q.endpoint
               and answered.seq = q.seq
           where e.kind = 'client' and t.status = 'done' and q.call_ns is not null
           order by q.trial, q.endpoint, q.seq""",
    )
    found = []
    for (arm, workload, _, client), made in groupby(calls, key=lambda call: call[:4]):
        answers = {seq: bool(is_answered) for *_, seq, is_answered in made}
        last = max((seq for seq, answered in answers.items() if answered), default=None)
        missing = [seq for seq, answered in answers.items() if not answered]
        if missing:
            behind = sum(last is None or seq > last for seq in missing)
            found.append(Unanswered(arm, workload, client, last, len(missing), behind))
    return found


def replied(bundle: Path) -> list[tuple[str, str]]:
    """Arm and workload of the trials that are done. Fails where a trial failed that the machine did
    not disturb, where a call had no reply, or where there was none; with `FellAsleep` where all
    that is wrong looks like a process that nobody woke."""
    ended = rows(bundle, "select status, coalesce(reason, '') from trials")
    failed = [why for status, why in ended if status != "done" and not why.startswith("machine")]
    is_done = any(status == "done" for status, _ in ended)
    lacking = unanswered(bundle) if is_done else []
    if failed or lacking:
        asleep = all(HEARD_NOTHING in why for why in failed) and all(c.stalled for c in lacking)
        kind = sourced.FellAsleep if asleep else AssertionError
        raise kind("; ".join([*failed, *map(str, lacking)]))
    if not is_done:
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


GOALS = "select distinct counter, value from counters where starts_with(counter, 'own.goals')"

DECODING = """select workload, median(callback_ns - taken_ns)
  from received join endpoints using (trial, endpoint) join trials using (trial) join cells using (cell)
  where kind = 'client' and arm = 'parameter' group by workload"""
"""A reply's text becomes bytes after it was stamped: the longer it is, the later it is looked at."""


@pytest.mark.parametrize("rmw", sourced.RMWS)
@pytest.mark.parametrize("kind", [pytest.param("action", marks=actions), "parameter"])
def test_every_call_has_its_reply(tmp_path, rmw, kind):
    sourced.worker(rmw)
    middleware = {"middleware": f"rclcpp/{rmw}"}
    arms = {"service": middleware, kind: middleware | {"options": {"calls": kind}}}
    bundle = campaign(tmp_path, suite(arms))
    assert len(replied(bundle)) == 4
    assert rows(bundle, "select sum(flags & 1) from received") == [(0,)]
    none_lost = [("own.goals_not_succeeded", 0), ("own.goals_rejected", 0)]
    assert sorted(rows(bundle, GOALS)) == (none_lost if kind == "action" else [])
    if kind == "parameter":
        decoding = dict(rows(bundle, DECODING))
        assert decoding["three"] > 2 * decoding["one"]


NOT_IN_EVERY_RCLCPP = ("events_cbg", "static")


@actions
@pytest.mark.parametrize("executor", ["multi_threaded", "events", *NOT_IN_EVERY_RCLCPP])
@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
def test_every_executor_serves_an_action(tmp_path, rmw, executor):
    executors = sourced.worker(rmw).description["modes"]["executor"].split("|")
    if executor in NOT_IN_EVERY_RCLCPP and executor not in executors:
        pytest.skip(f"this rclcpp has no executor {executor}")
    arm = {
        "middleware": f"rclcpp/{rmw}",
        "options": {"calls": "action"},
        "modes": {"executor": executor},
    }
    bundle = campaign(tmp_path, suite({executor: arm}))
    with sourced.lost_wake_ups(rmw, executor):
        assert {name for name, _ in replied(bundle)} == {executor}


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
