"""Trials with services, late joiners, leavers and modes on the fake worker: what workers are asked,
what is kept."""

import json

import pytest

from rmwbench.analysis.metrics.bring_up import bring_up
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import rows, well
from tests.lab import fake_worker

pytestmark = pytest.mark.usefixtures("any_machine")

SUITE = """
timeline: {{warmup_s: 0.05, drain_s: 0.2, grace_s: 0.1, match_s: 20, steady_s: {steady_s}}}
arms: [{{name: a, middleware: fake{arm}}}]
workloads:
  - {workload}
"""
BRIEFLY = "timeline: {match_s: 0.3}"
"""The timeline of a workload whose discovery ends in vain. Other workloads may take as long as the
slowest machine."""
CALLS = "{name: add, clients: 2, request: Bytes(64), reply: Bytes(1024), rate_hz: 100}"
LATE = """name: w
    arrival: {kind: periodic, rate_hz: 100, phase_ns: 0}
    message: Bytes(64)
    nodes:
      - {name: talker, publishers: [{topic: x}]}
      - {name: early, subscriptions: [{topic: x}]}
      - {name: late, subscriptions: [{topic: x}], joins_s: 0.2}
      - {name: again, subscriptions: [{topic: x}], leaves_s: 0.1, restarts_s: 0.3}
      - {name: guest, publishers: [{topic: x}], joins_s: 0.1, leaves_s: 0.4}
      - {name: server, services: [{service: add, request: Bytes(64), reply: Bytes(100)}], joins_s: 0.2}
      - {name: caller, clients: [{service: add}]}
"""


def cell(workload: str, arm="", steady_s=0.3) -> Cell:
    return only_cell(SUITE.format(workload=workload, arm=arm, steady_s=steady_s))


def run(tmp_path, made: Cell, fault="", stage="") -> TrialResult:
    path = fake_worker.install(tmp_path, fault, stage)
    return run_trial(order(made), Worker("fake", path, fake_worker.DESCRIBE, None))


def test_every_call_is_a_request_and_the_reply_that_it_caused(tmp_path):
    result = run(tmp_path, cell(CALLS))
    assert well(result)
    ends = {row["endpoint"]: row for row in rows(result, "endpoints")}
    kinds = {number: row["kind"] for number, row in ends.items()}
    assert kinds == {1: "service", 2: "client", 3: "client"}
    assert json.loads(ends[1]["peers"]) == [2, 3]
    assert (ends[2]["payload_bytes"], ends[2]["reply_bytes"]) == (64, 1024)
    sent, received = rows(result, "sent"), rows(result, "received")
    requests = {(row["endpoint"], row["seq"]) for row in sent if row["cause_endpoint"] is None}
    replies = {
        (row["endpoint"], row["seq"]): (row["cause_endpoint"], row["cause_seq"])
        for row in sent
        if row["cause_endpoint"]
    }
    assert len(requests) == 70 and set(replies.values()) == requests
    assert {(row["writer"], row["seq"]) for row in received if row["endpoint"] == 1} == requests
    for client in (2, 3):  # each reads the replies to its own requests, and no others
        read = {replies[row["writer"], row["seq"]] for row in received if row["endpoint"] == client}
        assert read == {one for one in requests if one[0] == client}
    assert {row["bytes"] for row in received if row["endpoint"] == 2} == {1024}
    finished = {row["endpoint"]: row["value"] for row in rows(result, "events", event="finished")}
    assert finished == {1: 70, 2: 35, 3: 35}
    roles = {row["process"]: row["role"] for row in rows(result, "counters")}
    assert (roles["service"], roles["client_1"]) == ("service", "client")


def test_who_comes_late_and_who_leaves_is_told_with_its_times(tmp_path):
    result = run(tmp_path, cell(LATE, steady_s=0.6))
    assert well(result)
    (trial,) = rows(result, "trials")
    begin = trial["steady_begin_ns"]
    ends = {row["endpoint"]: row for row in rows(result, "endpoints")}
    number = {row["node"]: n for n, row in ends.items() if n < 8}  # the second life of `again` is 8
    assert ends[8]["node"] == "again" and ends[8]["joins_ns"] == 300_000_000
    assert ends[number["late"]]["leaves_ns"] is None
    events = rows(result, "events")

    def at(event: str, endpoint: int) -> list[int]:
        return [
            e["time_ns"] - begin for e in events if (e["event"], e["endpoint"]) == (event, endpoint)
        ]

    assert all(at("created", n) and at("created", n)[0] < 0 for n in (1, 2, number["caller"]))
    joins_ms = {number["late"]: 200, 8: 300, number["guest"]: 100, number["server"]: 200}
    for n, ms in joins_ms.items():
        (created,) = at("created", n)
        assert created >= ms * 1_000_000
        # a sending publisher cannot be asked
        assert bool(at("matched", n)) == (n != number["guest"])
    for n, leaves_ms in ((number["again"], 100), (number["guest"], 400)):
        assert at("destroyed", n)[0] >= leaves_ms * 1_000_000
    joining = {e["text"] for e in events if e["event"] == "joining"}
    assert joining == {"late", "again", "guest", "server"}
    read = {}
    for row in rows(result, "received"):
        read.setdefault((row["endpoint"], row["writer"]), []).append(row["seq"])
    guest = number["guest"]
    assert read[2, 1] == list(range(65))
    sent = {(row["endpoint"], row["seq"]): row for row in rows(result, "sent")}
    # What it heard had left after it joined: a busy machine sends earlier messages late.
    for reader in (number["late"], 8):
        first = sent[1, min(read[reader, 1])]
        assert first["return_ns"] - begin >= joins_ms[reader] * 1_000_000
    # Who leaves is told to at its time and is gone when it says so: a busy machine may put time
    # between the two.
    last = sent[1, max(read[number["again"], 1])]
    assert last["call_ns"] - begin <= at("destroyed", number["again"])[0]
    guests = [row for (writer, _), row in sent.items() if writer == guest]
    assert all(row["intended_ns"] - begin >= 100_000_000 for row in guests)
    assert all(row["call_ns"] - begin <= at("destroyed", guest)[0] for row in guests)
    assert max(read[8, guest]) <= max(row["seq"] for row in guests)
    # requests from before there was a service are sent, and never answered
    called = [seq for writer, seq in sent if writer == number["caller"]]
    answered = read[number["caller"], number["server"]]
    assert called == list(range(65)) and 0 < len(answered) < 50


def test_a_process_whose_nodes_are_all_late_opens_when_they_join(tmp_path):
    events = rows(run(tmp_path, cell(LATE, steady_s=0.6)), "events")
    start = min(e["time_ns"] for e in events if e["event"] == "first_message")
    opened = {e["process"]: e["time_ns"] for e in events if e["event"] == "opened"}
    opened_late = {name for name, time_ns in opened.items() if time_ns > start}
    assert opened_late == {"late", "guest", "server"}
    assert all(
        e["time_ns"] <= opened[e["process"]]
        for e in events
        if e["event"] == "joining" and e["text"] != "again"
    )


def test_a_late_joiner_that_never_matches_fails_nothing(tmp_path):
    never = LATE.replace("      - {name: server", "#").replace("      - {name: caller", "#")
    result = run(tmp_path, cell(never, steady_s=0.6), "nobody", "match")
    assert well(result)
    lonely = {e["endpoint"] for e in rows(result, "events") if e["event"] == "unmatched"}
    assert lonely == {3, 6}


@pytest.mark.own_host
def test_interfaces_are_read_before_the_first_session_and_at_the_complete_graph(tmp_path):
    counted = {
        (row["counter"], row["at"]): row["value"]
        for row in rows(run(tmp_path, cell(CALLS)), "counters")
        if row["at"] in ("before_open", "complete")
    }
    assert {at for _, at in counted} == {"before_open", "complete"}
    for counter in ("interface.lo.tx_bytes", "interface.eth0.rx_packets", "udp.out_datagrams"):
        assert counted[counter, "complete"] >= counted[counter, "before_open"] >= 0


def test_modes_reach_the_worker_and_its_configuration_is_kept(tmp_path):
    result = run(tmp_path, cell(CALLS, arm=", modes: {transport: udp, threads: 3}"))
    configuration = json.loads(result.files["service.configuration.json"])
    assert configuration == {"transport": "udp", "threads": 3}
    assert not [name for name in run(tmp_path, cell(CALLS)).files if "configuration" in name]


@pytest.mark.parametrize("stage", ["open", "create"])
def test_what_a_worker_says_is_impossible_is_not_a_failure(tmp_path, stage):
    result = run(tmp_path, cell(CALLS), "cannot", stage)
    assert result.status == "unsupported" and result.reason == "mode transport: udp only"
    assert not result.tables


def test_no_match_and_no_delivery_are_told_apart(tmp_path):
    result = run(tmp_path, cell(CALLS.replace("}", f", {BRIEFLY}}}")), "apart", "match")
    assert (result.status, result.cause) == ("failed", "no match") and "found 0" in result.reason
    made = cell(f"{{name: w, rate_hz: 100, message: Bytes(64), {BRIEFLY}}}")
    assert well(run(tmp_path, made, "deaf", "match")), "matched and heard nothing: a result"
    assert run(tmp_path, cell(CALLS), "segfault", "match").cause is None


SILENCED = f"{{name: w, rate_hz: 100, message: Bytes(64), {BRIEFLY}, ros_variables: 'off'}}"
"""A case in which no match, and no message, is what the documentation demands."""


def test_where_ros_variables_may_silence_a_trial_without_a_message_is_done(tmp_path):
    result = run(tmp_path, cell(SILENCED), "deaf", "match")
    assert well(result), result.reason
    assert len(rows(result, "sent")) > 20
    assert "received" not in result.tables


BROUGHT_UP = "{name: w, primary_metric: bring_up_time, bring_up: {nodes: 2}}"


def test_a_lifecycle_node_whose_session_does_not_open_fails_no_trial_and_is_never_active(tmp_path):
    made = cell(BROUGHT_UP, steady_s=0.6)
    result = run(tmp_path, made, "no_node", "open")
    assert well(result), result.reason
    events = rows(result, "events")
    left = [(row["process"], row["text"]) for row in events if row["event"] == "not_joined"]
    assert sorted(process for process, _ in left) == ["node_1", "node_2"], (
        "each once, with what it said first"
    )
    assert all("no participant" in why for _, why in left)
    assert bring_up(events, made.definition(), None).stopped == {"session.refused": 2}


def test_a_manager_that_does_not_open_fails_the_trial(tmp_path):
    result = run(tmp_path, cell(BROUGHT_UP, steady_s=0.6), "apart", "open")
    assert result.status == "failed" and "manager" in result.reason
