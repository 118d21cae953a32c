"""Nodes that join late, leave and come back, and graphs of many nodes: who should match whom, and
what each sends."""

import pytest

from rmwbench.suite.cells import cells
from rmwbench.suite.workload.topology import NodeLife

from .suite_text import error, nodes, suite

TALKER, LISTENER = "{name: a, publishers: [{topic: x}]}", "{name: b, subscriptions: [{topic: x}]}"


def only_cell(*changes):
    return cells(suite(("rate_hz: 1000", "rate_hz: 100"), *changes))[0]


def of(cell, node):
    return [e for e in cell.endpoints if e.node == node]


def graph(text):
    return (
        "    timeline: {steady_s: 1.0}\n",
        f"    timeline: {{steady_s: 1.0}}\n    graph: {text}\n",
    )


def test_a_late_joiner_is_not_part_of_the_barrier():
    cell = only_cell(
        nodes(TALKER, LISTENER, "{name: c, subscriptions: [{topic: x}], joins_s: 0.4}")
    )
    (talker,), (early,), (late,) = (of(cell, node) for node in "abc")
    assert talker.peers == (2, 3) and talker.present == (2,)
    assert late.present == (1,) and late.life == NodeLife(0.4, None)
    assert cell.pairs == {2: (1,)}
    assert [
        e["endpoint"] for p in "abc" for n in cell.create_command(p) for e in n["endpoints"]
    ] == [1, 2]
    assert cell.create_command("c", 0, (3,))[0]["endpoints"][0]["endpoint"] == 3
    assert {p.name: p.opens_s for p in cell.processes} == {"a": None, "b": None, "c": 0.4}
    assert (early.steady_messages, late.steady_messages, cell.steady_messages) == (100, 60, 100)


def test_a_late_talkers_schedule_begins_when_it_joins():
    cell = only_cell(
        nodes(TALKER, LISTENER, "{name: c, publishers: [{topic: x}], joins_s: 0.4, leaves_s: 0.9}")
    )
    (late,), (reader,) = of(cell, "c"), of(cell, "b")
    assert late.sent == 50 and late.steady_messages == 50
    assert reader.received == 150 + 50 and reader.steady_messages == 100 + 50


def test_a_restart_is_two_lives_of_one_name():
    cell = only_cell(
        nodes(
            TALKER,
            "{name: c, subscriptions: [{topic: x}], leaves_s: 0.3, restarts_s: 0.5}",
            LISTENER,
        )
    )
    first, second = of(cell, "c")
    # behind all others: a restart changes no number
    assert (first.endpoint, second.endpoint) == (2, 4)
    assert (first.life, second.life) == (NodeLife(None, 0.3), NodeLife(0.5, None))
    assert of(cell, "a")[0].peers == (2, 3, 4) and of(cell, "a")[0].present == (2, 3)
    assert [(c.at_s, c.joins, c.endpoints) for c in cell.changes] == [
        (0.3, False, (2,)),
        (0.5, True, (4,)),
    ]


KILLED = "{name: c, subscriptions: [{topic: x, hold_ms: 8}], killed_s: 0.3, restarts_s: 0.5}"


def test_who_is_killed_comes_back_in_another_process_with_another_records_file():
    cell = only_cell(nodes(TALKER, KILLED, LISTENER))
    first, second = of(cell, "c")
    assert (first.life, second.life) == (NodeLife(None, 0.3, killed=True), NodeLife(0.5, None))
    assert (first.process, second.process) == ("c", "c again")
    assert [(p.name, p.opens_s, p.follows) for p in cell.processes][2:] == [
        ("b", None, None),
        ("c again", 0.5, "c"),
    ]
    assert [(c.at_s, c.joins, c.killed, c.process) for c in cell.changes] == [
        (0.3, False, True, "c"),
        (0.5, True, False, "c again"),
    ]
    assert len(cell.sections("c")) == len(cell.sections("c again")) == 1
    assert [
        e["endpoint"] for n in cell.create_command("c again", 0, (4,)) for e in n["endpoints"]
    ] == [4]
    assert cell.sides["c again"] == cell.sides["c"]
    definition = cell.definition()
    assert [e.get("killed") for e in definition["endpoints"]] == [None, True, None, None]
    assert definition["processes"][-1] == {
        "name": "c again",
        "host": "local",
        "nodes": ["c"],
        "follows": "c",
    }
    assert first.wire(cell.arm, 0)["hold_ns"] == 8_000_000 and "hold_ns" not in of(cell, "b")[
        0
    ].wire(cell.arm, 0)


def test_an_empty_node_leaves_and_is_killed_as_any_other():
    """It stayed until the end, since it has no endpoint that could leave."""
    empty = ("{name: c, leaves_s: 0.4}", "{name: d, killed_s: 0.5, restarts_s: 0.7}")
    cell = only_cell(nodes(TALKER, LISTENER, *empty))
    assert [(c.at_s, c.joins, c.process, c.node, c.killed) for c in cell.changes] == [
        (0.4, False, "c", "c", False),
        (0.5, False, "d", "d", True),
        (0.7, True, "d again", "d", False),
    ]
    assert cell.create_command("d again", 0, (), "d") == [{"name": "d", "endpoints": []}]


def test_who_is_killed_for_good_has_one_life_and_no_successor():
    cell = only_cell(
        nodes(TALKER, "{name: c, subscriptions: [{topic: x}], killed_s: 0.3}", LISTENER)
    )
    assert [e.life for e in of(cell, "c")] == [NodeLife(None, 0.3, killed=True)]
    assert [p.name for p in cell.processes] == ["a", "c", "b"]


def test_a_process_that_holds_several_nodes_dies_as_a_whole():
    both = "{name: c, process: p, publishers: [{topic: y}], killed_s: 0.3, restarts_s: 0.5}"
    other = "{name: d, process: p, subscriptions: [{topic: x}], killed_s: 0.3}"
    cell = only_cell(nodes(TALKER, LISTENER, both, other, "{name: e, subscriptions: [{topic: y}]}"))
    assert [(p.name, p.nodes) for p in cell.processes][-1] == ("p again", ("c",))
    mistake = error(
        ("rate_hz: 1000", "rate_hz: 100"),
        nodes(TALKER, LISTENER, both, other.replace(", killed_s: 0.3", "")),
    )
    assert "process `p` is killed as a whole" in mistake.what and mistake.where == "f.yaml:17"


def test_a_graph_deals_topics_and_processes_out_in_turn():
    cell = only_cell(graph("{nodes: 5, topics: 10, subscriptions_per_topic: 2, processes: 2}"))
    assert len(cell.endpoints) == 30 and len(cell.processes) == 2
    assert cell.processes[0].nodes == ("node_1", "node_3", "node_5")
    writers = {e.topic: e.node for e in cell.endpoints if e.kind == "publisher"}
    assert len(writers) == 10 and all(e.node != writers[e.topic] for e in cell.endpoints if e.reads)
    assert {len(of(cell, f"node_{n}")) for n in range(1, 6)} == {6}
    assert all(len(e.peers) == (2 if e.kind == "publisher" else 1) for e in cell.endpoints)


@pytest.mark.parametrize(
    ("change", "words", "line"),
    [
        (
            nodes(TALKER, LISTENER[:-1] + ", joins_s: 1.0}"),
            "node `b` joins after the steady state",
            15,
        ),
        (
            nodes(TALKER, LISTENER[:-1] + ", joins_s: 0.5, leaves_s: 0.5}"),
            "leaves before it joins",
            15,
        ),
        (nodes(TALKER, LISTENER[:-1] + ", leaves_s: 0}"), "leaves before it joins", 15),
        (nodes(TALKER, LISTENER[:-1] + ", restarts_s: 0.5}"), "restarts before it leaves", 15),
        (
            nodes(TALKER, LISTENER[:-1] + ", leaves_s: 0.5, restarts_s: 0.5}"),
            "restarts before it leaves",
            15,
        ),
        (
            nodes(TALKER, LISTENER[:-1] + ", killed_s: 1.0}"),
            "node `b` is killed after the steady state",
            15,
        ),
        (
            nodes(TALKER, LISTENER[:-1] + ", joins_s: 0.5, killed_s: 0.4}"),
            "is killed before it joins",
            15,
        ),
        (
            nodes(TALKER, LISTENER[:-1] + ", leaves_s: 0.5, killed_s: 0.6}"),
            "node `b` has two ends",
            15,
        ),
        (
            nodes(TALKER, LISTENER[:-1] + ", killed_s: 0.5, restarts_s: 0.5}"),
            "restarts before it leaves",
            15,
        ),
        (
            nodes(TALKER, LISTENER.replace("x}", "x, hold_ms: 99999}")),
            "`hold_ms` is out of range",
            15,
        ),
        (nodes(TALKER, LISTENER[:-1] + ", joins_s: -1}"), "between 0 and 86400", 15),
        (nodes(TALKER, LISTENER[:-1] + ", joins_s: soon}"), "`joins_s` is not a number", 15),
        (graph("{nodes: 1}"), "`nodes` is out of range", 13),
        (graph("{nodes: 4, topics: 1}"), "leave node 3 of 4 without a topic", 13),
        (graph("{nodes: 4, publishers_per_topic: 5}"), "more endpoints of a topic than nodes", 13),
        (graph("{nodes: 4, processes: 5}"), "more processes than nodes", 13),
        (graph("{nodes: 4, processes: all}"), "not a valid number of processes", 13),
        (graph("{nodes: 4, stagger_s: 0.1}"), "`stagger_s` alone does nothing", 13),
        (graph("{nodes: 4, joins_s: 0.8, stagger_s: 0.1}"), "joins after the steady state", 13),
        (graph("{nodes: 4}\n    subscribers: 2"), "`subscribers` and `graph` contradict", 14),
        (
            ("rate_hz: 100\n", "rate_hz: 100\n    graph: {nodes: 4}\n    clients: 1\n"),
            "`clients` and `graph`",
            12,
        ),
    ],
)
def test_what_makes_no_sense_is_told_with_its_line(change, words, line):
    mistake = error(("rate_hz: 1000", "rate_hz: 100"), change)
    assert words in mistake.what and mistake.where == f"f.yaml:{line}", str(mistake)
