"""From files to cells: topology, numbering, counts, capacities, factors."""

import pytest

from rmwbench.suite import factors
from rmwbench.suite.cells import cells, comparisons
from rmwbench.suite.file.load import load
from rmwbench.suite.file.suite_files import shipped_suites
from rmwbench.suite.workload.endpoints import RECEIVED, SENT
from rmwbench.suite.workload.workload import Workload

from .suite_text import error, nodes, suite


def only_cell(*changes, more=""):
    return cells(suite(*changes, more=more))[0]


def created_endpoints(cell, process, seed=0):
    """The endpoints of a process's `create`, by number."""
    return {
        e["endpoint"]: e for node in cell.create_command(process, seed) for e in node["endpoints"]
    }


def test_the_shorthand_is_a_talker_and_a_listener_in_processes_of_their_own():
    cell = only_cell()
    assert [(p.name, p.host, p.nodes) for p in cell.processes] == [
        ("talker", "local", ("talker",)),
        ("listener", "local", ("listener",)),
    ]
    talker, listener = created_endpoints(cell, "talker")[1], created_endpoints(cell, "listener")[2]
    phase_ns = talker["arrival"].pop("phase_ns")
    assert (
        talker["arrival"] == {"kind": "periodic", "period_ns": 1_000_000}
        and 0 <= phase_ns < 1_000_000
    )
    assert talker["topic"] == listener["topic"] == "w"
    assert talker["matches"] == listener["matches"] == 1
    assert "wait" not in talker and "arrival" not in listener
    assert cell.pairs == {2: (1,)}


def test_each_flow_has_a_phase_of_its_own_that_changes_from_trial_to_trial():
    topics = [f"t{number}" for number in range(5)]
    talker = ", ".join(f"{{topic: {topic}, rate_hz: 1000}}" for topic in topics)
    listener = ", ".join(f"{{topic: {topic}}}" for topic in topics)
    nodes = (
        f"      - {{name: a, publishers: [{talker}]}}\n      - {{name: b, subscriptions: "
        f"[{listener}]}}"
    )
    cell = only_cell(("rate_hz: 1000", f"nodes:\n{nodes}"))

    def phases(seed):
        wires = [created_endpoints(cell, p.name, seed) for p in cell.processes]
        return [
            e["arrival"]["phase_ns"]
            for endpoints in wires
            for e in endpoints.values()
            if "arrival" in e
        ]

    assert (
        len(set(phases(1))) == 5 and phases(1) == phases(1) and not set(phases(1)) & set(phases(2))
    )


def test_a_chain_relays_from_endpoint_to_endpoint():
    cell = only_cell(("rate_hz: 1000", "rate_hz: 1000\n    relays: 2\n    processes: one"))
    assert [(p.name, p.nodes) for p in cell.processes] == [
        ("robot", ("talker", "relay_1", "relay_2", "listener"))
    ]
    endpoints = created_endpoints(cell, "robot")
    assert [endpoints[number]["topic"] for number in range(1, 7)] == [
        "w",
        "w_1",
        "w",
        "w_2",
        "w_1",
        "w_2",
    ]
    assert endpoints[2]["arrival"] == {"kind": "relay", "from": 3}
    assert endpoints[4]["arrival"] == {"kind": "relay", "from": 5}
    assert {endpoint["type"]["name"] for endpoint in endpoints.values()} == {"Bytes(320)"}
    assert len({endpoint.sent or endpoint.received for endpoint in cell.endpoints}) == 1


def test_sections_cover_the_endpoints_of_the_process_alone():
    cell = only_cell(("rate_hz: 1000", "rate_hz: 1000\n    subscribers: 2"))
    assert cell.sections("talker") == [(SENT, 1, 2506)]
    assert cell.sections("listener_2") == [(RECEIVED, 3, 2506)]
    assert cell.record_bytes == 3 * 2506 * 64
    with pytest.raises(KeyError):
        cell.sections("nobody")


def test_a_poisson_schedule_follows_the_trial_and_not_the_arm():
    one, other = cells(suite(("rate_hz: 1000", "arrival: {kind: poisson, rate_hz: 1000}")))
    assert one.arm != other.arm
    seeds = [
        created_endpoints(cell, "talker", seed)[1]["arrival"]["seed"]
        for cell in (one, other)
        for seed in (1, 2)
    ]
    assert seeds[0] == seeds[2] != seeds[1] == seeds[3]
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_arm_settings_reach_their_endpoints():
    cell = only_cell(
        (
            "middleware: floor",
            "middleware: floor, wait: poll, loan: true, publish_mode: async, take: raw",
        )
    )
    talker, listener = created_endpoints(cell, "talker")[1], created_endpoints(cell, "listener")[2]
    assert (talker["loan"], talker["publish_mode"], listener["wait"]) == (True, "async", "poll")
    assert listener["take"] == "raw" and "take" not in talker


def test_factors_are_crossed_in_full_and_numbered():
    suite_cells = cells(
        suite(
            more="factors:\n  touch: [none, all]\n  message: [Bytes(64), Array1k]\n  wait: [block, "
            "poll]\n"
        )
    )
    assert [cell.number for cell in suite_cells] == list(range(1, 2 * 8 + 1))
    assert {(c.endpoints[0].touch, c.endpoints[0].type.name, c.arm.wait) for c in suite_cells} == {
        (touch, message, wait)
        for touch in ("none", "all")
        for message in ("Bytes(64)", "Array1k")
        for wait in ("block", "poll")
    }
    grouped = comparisons(suite_cells)
    assert len(grouped) == 8
    assert all([cell.arm.name for cell in group] == ["a", "b"] for group in grouped.values())
    assert "w [touch=none, message=Bytes(64), wait=block]" in grouped


def test_exclusions_remove_exactly_what_they_name():
    more = "factors: {depth: [1, 10]}\nexclude:\n  - {arm: b, depth: 1}\n"
    assert [(c.arm.name, c.factors["depth"]) for c in cells(suite(more=more))] == [
        ("a", 1),
        ("a", 10),
        ("b", 10),
    ]


@pytest.mark.parametrize(
    ("more", "line", "words"),
    [
        ("factors: {relibility: [reliable]}\n", 13, "unknown factor"),
        ("factors: {payload: [Array1k]}\n", 13, "unknown factor"),
        ("factors:\n  depth:\n    - 1\n    - 0\n", 16, "level `0`"),
        ("factors: {rate_hz: ['10']}\n", 13, "`rate_hz` is not a number"),
        ("factors: {depth: [1, 1]}\n", 13, "twice"),
        ("factors: {rate_hz: [1000, 1000.0]}\n", 13, "twice"),
        ("factors: {depth: []}\n", 13, "no levels"),
        ("exclude:\n  - {arm: c}\n", 14, "unknown level"),
        ("exclude:\n  - {amr: a}\n", 14, "unknown factor"),
        ("exclude:\n  - {}\n", 14, "everything"),
        ("exclude:\n  - {workload: w}\n", 13, "nothing to run"),
    ],
)
def test_bad_factors_are_reported_at_their_line(more, line, words):
    mistake = error(more=more)
    assert words in mistake.what
    assert mistake.where == f"f.yaml:{line}"


def test_a_factor_that_changes_nothing_is_refused():
    spelled_out = nodes(
        "{name: x, publishers: [{topic: t, rate_hz: 100}]}",
        "{name: y, subscriptions: [{topic: t}]}",
    )
    mistake = error(spelled_out, more="factors: {rate_hz: [10, 100]}\n")
    assert "changes nothing" in mistake.what


@pytest.mark.parametrize("name", shipped_suites())
def test_shipped_suites_load_and_explain_themselves(name):
    loaded = load(name)
    assert cells(loaded)
    for workload in loaded.workloads:
        assert loaded.reported or (workload.title and workload.description)


def test_every_key_of_a_workload_is_a_factor_unless_it_is_said_not_to_be():
    assert {*factors.WORKLOAD_FACTORS} | factors.NO_FACTORS == {
        *Workload.model_fields,
        "ros_variables",
    }


def test_a_rate_factor_keeps_the_kind_of_arrival():
    suite_cells = cells(
        suite(
            ("rate_hz: 1000", "arrival: {kind: poisson, rate_hz: 1000}"),
            more="factors: {rate_hz: [100, 200]}\n",
        )
    )
    assert [
        created_endpoints(c, "talker")[1]["arrival"]["rate_hz"]
        for c in suite_cells
        if c.arm.name == "a"
    ] == [
        100,
        200,
    ]
    assert {created_endpoints(c, "talker")[1]["arrival"]["kind"] for c in suite_cells} == {
        "poisson"
    }
