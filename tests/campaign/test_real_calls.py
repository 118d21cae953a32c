"""Services, late joiners and leavers on the floor: a worker of the harness does what the fake
worker only plays."""

import pytest

from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import rows, well
from tests.lab import tools

pytestmark = [pytest.mark.traffic, pytest.mark.usefixtures("any_machine")]

SUITE = """
timeline: {{warmup_s: 0.1, drain_s: 0.2, grace_s: 0.1, match_s: 5, steady_s: 1.0}}
arms: [{{name: a, middleware: floor, options: {{transport: {transport}}}}}]
workloads:
  - {workload}
"""


def run(workload: str, transport: str) -> TrialResult:
    made = only_cell(SUITE.format(workload=workload, transport=transport))
    return run_trial(order(made), tools.worker("floor"))


def test_every_request_is_answered_once_and_to_its_own_client():
    result = run(
        "{name: add, clients: 2, request: Bytes(64), reply: Bytes(4096), rate_hz: 100}", "unix"
    )
    assert well(result)
    sent, received = rows(result, "sent"), rows(result, "received")
    caused = [row for row in sent if row["cause_endpoint"] is not None]
    replies = {
        (row["endpoint"], row["seq"]): (row["cause_endpoint"], row["cause_seq"]) for row in caused
    }
    requests = {(row["endpoint"], row["seq"]) for row in sent} - set(replies)
    assert len(requests) == 220 == len(replies) and set(replies.values()) == requests
    for client in (2, 3):
        read = [replies[row["writer"], row["seq"]] for row in received if row["endpoint"] == client]
        assert sorted(read) == sorted(one for one in requests if one[0] == client)
    assert {row["bytes"] for row in received if row["endpoint"] != 1} == {4096}


def test_who_is_late_or_leaves_reads_what_was_sent_meanwhile():
    nodes = """name: w
    rate_hz: 100
    message: Bytes(64)
    nodes:
      - {name: talker, publishers: [{topic: x}]}
      - {name: whole, subscriptions: [{topic: x}]}
      - {name: late, subscriptions: [{topic: x}], joins_s: 0.5}
      - {name: again, subscriptions: [{topic: x}], leaves_s: 0.3, restarts_s: 0.6}
"""
    result = run(nodes, "unix")
    assert well(result)
    read: dict[int, list[int]] = {}
    for row in rows(result, "received"):
        read.setdefault(row["endpoint"], []).append(row["seq"])
    assert read[2] == list(range(110))
    # A floor keeps nothing for who comes late, at 60 and 70; a publisher may be some messages late.
    assert min(read[3]) >= 50 and max(read[3]) == 109
    assert max(read[4]) < 60 <= min(read[5])
    events = {(row["event"], row["endpoint"]): row["time_ns"] for row in rows(result, "events")}
    for late in (3, 5):
        assert events["created", late] <= events["matched", late]
        assert ("first_message", late) in events
    assert ("destroyed", 4) in events
