"""Every mistake gives one UserError with its line, what was expected, what stood there, and the
nearest name."""

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.arm import MAX_PROFILE_BYTES
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import load, parse

from .suite_text import GOOD, edited, error, nodes, suite

RATE, QOS = "rate_hz: 1000", "qos: {reliability: reliable}"
NAMES = {
    "middleware": (("zenoh", "zenho"), 6, "zenoh"),
    "key of a workload": (("rate_hz", "rate_hzz"), 10, "rate_hz"),
    "key of the suite": (("blocks:", "blokcs:"), 3, "blocks"),
    "key of the quality of service": ((QOS, "qos: {relibility: reliable}"), 11, "reliability"),
    "message type": (("Bytes(320)", "PointClud512k"), 9, "PointCloud512k"),
    "reliability": ((QOS, "qos: {reliability: relable}"), 11, "reliable"),
    "arrival": ((RATE, "arrival: {kind: possion, rate_hz: 5}"), 10, "poisson"),
    "key of an arrival": (
        (RATE, "arrival: {kind: periodic, rate_hz: 5, fase_ns: 0}"),
        10,
        "phase_ns",
    ),
    "primary metric": (
        (RATE, RATE + "\n    primary_metric: response_latncy_p50"),
        11,
        "response_latency_p50",
    ),
    "workload to decide": (("planned: 6", "maximum: 6, decide: [ww]"), 3, "w"),
    "key of an arm": (("middleware: zenoh", "middleware: zenoh, wiat: poll"), 6, "wait"),
}


@pytest.mark.parametrize("what", NAMES)
def test_an_unknown_name_suggests_the_nearest(what):
    change, line, suggestion = NAMES[what]
    mistake = error(change)
    assert mistake.where == f"f.yaml:{line}"
    assert f"`{suggestion}`" in mistake.fix
    assert suggestion in mistake.expected
    assert mistake.actual is not None


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("middleware: zenoh", "middleware: zenoh, transport: shm"), "modes: {transport"),
        (("middleware: zenoh", "middleware: zenoh, rate_hz: 3"), "of a workload"),
        (("middleware: zenoh", "middleware: zenoh, loss: 0.1"), "both: {loss: …"),
        (("middleware: zenoh", "middleware: zenoh, depth: 5"), "`qos: {depth: …}` of a workload"),
        (("blocks:", "network: {loss: 0.1}\nblocks:"), "networks: {thin"),
        (("blocks:", "subscribers: [1, 2]\nblocks:"), "or `factors: {subscribers: […]}`"),
        (("blocks:", "transport: udp\nblocks:"), "`modes: {transport: …}` of an arm"),
        (("blocks:", "profile: tuned\nblocks:"), "`profile` of an arm"),
        (("blocks:", "steady_s: 3\nblocks:"), "`timeline: {steady_s: …}`"),
        ((RATE, RATE + "\n    transport: udp"), "`modes: {transport: …}` of an arm"),
        ((RATE, RATE + "\n    loss: 0.1"), "networks: {thin: {links: {all: {both: {loss: …"),
        ((RATE, RATE + "\n    depth: 5"), "`qos: {depth: …}`"),
        ((RATE, RATE + "\n    loan: true"), "`loan` of an arm"),
        ((RATE, RATE + "\n    hold_ms: 5"), "`hold_ms` of a subscription"),
        ((RATE, RATE + "\n    steady_s: 3"), "`timeline: {steady_s: …}`"),
    ],
)
def test_a_key_that_belongs_elsewhere_is_answered_with_its_place(change, place):
    mistake = error(change)
    assert mistake.fix.startswith("it belongs elsewhere: ") and place in mistake.fix


CONTRADICTIONS = {
    "depth with keep_all": ((QOS, "qos: {history: keep_all, depth: 5}"), 11, "keep_all"),
    "depth 0": ((QOS, "qos: {depth: 0}"), 11, "keeps nothing"),
    "payload below the header": (("Bytes(320)", "Bytes(63)"), 9, "identity"),
    "rate above the clock": ((RATE, "rate_hz: 3e6"), 10, "clock"),
    "two schedules": (
        (RATE, RATE + "\n    arrival: {kind: saturation, limit: 5}"),
        10,
        "contradict",
    ),
    "no schedule": (("    rate_hz: 1000\n", ""), 8, "without a rate"),
    "relay without source": ((RATE, "arrival: {kind: relay, from: w}"), 10, "starts the messages"),
    "two arms of one name": (("name: b", "name: a"), 6, "two arms"),
    "fewer blocks than needed": (("planned: 6", "planned: 4"), 3, "fewer blocks"),
    "neither fixed nor sequential": (
        ("planned: 6, minimum: 5", "minimum: 5"),
        3,
        "either fixed or sequential",
    ),
    "fixed and sequential": (("planned: 6", "planned: 6, maximum: 20"), 3, "either fixed"),
    "fewer at most than needed": (("planned: 6", "maximum: 4"), 3, "fewer blocks"),
    "looks at too little": (
        ("planned: 6, minimum: 5", "maximum: 6, minimum: 4"),
        3,
        "too few blocks",
    ),
    "waiting with a fixed number": (
        ("planned: 6", "planned: 6, decide: [w]"),
        3,
        "waits for no workload",
    ),
    "a phase beyond any trial": (
        (RATE, f"arrival: {{kind: periodic, rate_hz: 1000, phase_ns: {10**30}}}"),
        10,
        "`phase_ns` is out of range",
    ),
    "a time beyond any trial": (
        (RATE, f"arrival: {{kind: trace, offsets_ns: [0, {10**30}]}}"),
        10,
        "`offsets_ns` is out of range",
    ),
    "no steady state": (("steady_s: 1.0", "steady_s: 0"), 12, "steady"),
    "too few messages for the percentile": ((RATE, "rate_hz: 19"), 8, "too few messages"),
    # 20 in phase 0, and 19 in half of the phases that are drawn
    "too few messages whatever the phase": ((RATE, "rate_hz: 19.5"), 8, "too few messages"),
    "shorthand and nodes": ((RATE, RATE + "\n    relays: 1\n    nodes: []"), 11, "contradict"),
    "number as text": ((RATE, "rate_hz: '30'"), 10, "not a number"),
    "truth value as number": ((RATE, "rate_hz: true"), 10, "not a number"),
    "no arms": (
        ("arms:\n  - {name: a, middleware: floor}\n  - {name: b, middleware: zenoh}", "arms: []"),
        4,
        "the list is empty",
    ),
    "text for a list": (
        ("arms:\n  - {name: a, middleware: floor}\n  - {name: b, middleware: zenoh}", "arms: both"),
        4,
        "list",
    ),
    "missing key": (("title: a small suite\n", ""), 1, "missing key `title`"),
    "option that is a mapping": (("zenoh}", "zenoh, options: {a: {b: 1}}}"), 6, "single value"),
    "missing profile": (("zenoh}", "zenoh, profile: ./mine.json5}"), 6, "cannot be read"),
    "orphaned subscription": (
        nodes("{name: x, publishers: [{topic: t}]}", "{name: y, subscriptions: [{topic: u}]}"),
        15,
        "no node publishes",
    ),
    "qualities that never match": (
        nodes(
            "{name: x, publishers: [{topic: t, qos: {reliability: best_effort}}]}",
            "{name: y, subscriptions: [{topic: t}]}",
        ),
        13,
        "never matches",
    ),
    "two types on a topic": (
        nodes(
            "{name: x, publishers: [{topic: t}]}",
            "{name: y, publishers: [{topic: t, message: Array1k}]}",
            "{name: z, subscriptions: [{topic: t}]}",
        ),
        15,
        "two message types",
    ),
    "relays in a circle": (
        nodes(
            "{name: x, publishers: [{topic: t}]}",
            "{name: y, subscriptions: [{topic: t}], publishers: [{topic: u, arrival: {kind: relay, "
            "from: t}}]}",
            "{name: z, subscriptions: [{topic: u}], publishers: [{topic: t, arrival: {kind: relay, "
            "from: u}}]}",
        ),
        15,
        "circle",
    ),
    "relay of a topic it does not hear": (
        nodes(
            "{name: x, publishers: [{topic: t}]}",
            "{name: y, subscriptions: [{topic: t}], publishers: [{topic: u, arrival: {kind: relay, "
            "from: v}}]}",
        ),
        15,
        "does not subscribe",
    ),
    "process on two hosts": (
        nodes(
            "{name: x, process: p, publishers: [{topic: t}]}",
            "{name: y, process: p, host: other, subscriptions: [{topic: t}]}",
        ),
        15,
        "two hosts",
    ),
    "duplicate key": (("title: a small suite", "title: a\ntitle: b"), 3, "duplicate"),
    "not YAML": (("title: a small suite", "title: ["), 4, "not YAML"),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_a_contradiction_is_reported_at_its_line(what):
    change, line, words = CONTRADICTIONS[what]
    mistake = error(change)
    assert words in mistake.what
    assert mistake.where == f"f.yaml:{line}"


def test_several_mistakes_are_one_error_that_names_the_other_lines():
    mistake = error(
        ("zenoh", "zenho"), ("Bytes(320)", "Bytes(1)"), ("rate_hz: 1000", "rate_hz: -1")
    )
    assert mistake.where == "f.yaml:6"
    assert "lines 9, 10" in mistake.fix


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n- b\n",
        "hello",
        "1",
        "\t",
        "a: &x [*x]\n",
        "\0",
        "arms: !!python/object:os.system x\n",
    ],
)
def test_what_is_not_a_suite_is_a_user_error(text):
    with pytest.raises(UserError):
        parse(text, where="f.yaml")


def test_an_alias_inside_itself_is_not_an_endless_loop():
    with pytest.raises(UserError):
        parse(GOOD.replace("arms:\n", "arms: &x\n  - *x\n"), where="f.yaml")


@pytest.mark.parametrize("kind", ["missing", "directory", "binary"])
def test_an_unreadable_file_is_a_user_error(tmp_path, kind):
    path = tmp_path / "mine.yaml"
    if kind == "directory":
        path.mkdir()
    if kind == "binary":
        path.write_bytes(bytes(range(256)))
    with pytest.raises(UserError):
        load(str(path))


def test_a_profile_file_is_read_relative_to_the_suite(tmp_path):
    (tmp_path / "mine.xml").write_text("<CycloneDDS/>")
    (tmp_path / "suite.yaml").write_text(edited(("zenoh}", "cyclonedds, profile: mine.xml}")))
    profile = load(str(tmp_path / "suite.yaml")).arms[1].profile
    assert profile.definition() == {"name": "mine", "format": "xml", "text": "<CycloneDDS/>"}


def test_a_wrong_value_that_came_by_a_merge_is_told_at_the_entry_that_merges_it():
    more = (
        "  - &w\n    name: v\n    message: Bytes(320)\n    rate_hz: 100\n    timeline: "
        "{steady_s: 1.0}\n"
    )
    caught = error(
        more=more + "  - {<<: *w, name: u, rate_hz: -1}\n  - {<<: *w, name: t, message: Bytes(1)}\n"
    )
    assert caught.where == "f.yaml:18" and "19" in caught.fix
    wrong = more.replace("rate_hz: 100", "rate_hz: -1")
    caught = error(more=wrong + "  - {<<: *w, name: u}\n")
    assert caught.where == "f.yaml:16" and "18" in caught.fix


def test_a_span_without_a_value_is_refused_in_a_workload_as_in_the_suite():
    caught = error(("timeline: {steady_s: 1.0}", "timeline: {steady_s: }"))
    assert caught.what == "`steady_s` is not a number"


def test_a_circle_is_shown_whole():
    relay = (
        "{name: %s, subscriptions: [{topic: %s}],"
        " publishers: [{topic: %s, arrival: {kind: relay, from: %s}}]}"
    )
    hops = [("x", "t", "u"), ("y", "u", "v"), ("z", "v", "t")]
    mistake = error(
        nodes(
            "{name: talker, publishers: [{topic: t}]}",
            *(relay % (name, source, topic, source) for name, source, topic in hops),
        )
    )
    assert mistake.actual.count("→") == 3 and {"`t`", "`u`", "`v`"} <= set(mistake.actual.split())


def test_a_topic_that_nobody_publishes_suggests_the_nearest():
    mistake = error(
        nodes(
            "{name: x, publishers: [{topic: camera}]}", "{name: y, subscriptions: [{topic: camra}]}"
        )
    )
    assert mistake.expected == "one of camera" and "`camera`" in mistake.fix


@pytest.mark.parametrize(
    ("content", "expected"),
    [(bytes(MAX_PROFILE_BYTES + 1), f"at most {MAX_PROFILE_BYTES} bytes"), (b"\xff", "UTF-8")],
)
def test_a_profile_that_is_there_gets_no_advice_about_its_path(tmp_path, content, expected):
    (tmp_path / "mine.json5").write_bytes(content)
    suite = tmp_path / "f.yaml"
    suite.write_text(edited(("zenoh}", "zenoh, profile: ./mine.json5}")))
    with pytest.raises(UserError, match="cannot be read") as refused:
        load(suite)
    assert expected in refused.value.expected and refused.value.fix is None


@pytest.mark.parametrize(
    ("changes", "more", "line"),
    [
        ([("planned: 6", "maximum: 6, within_s: .nan")], "", 3),
        ([], "sampling: {series_hz: .nan}\n", 13),
        ([], "outcomes: {acceptable: {response_latency_p50_ms: .inf}}\n", 13),
    ],
)
def test_a_number_that_is_not_finite_is_refused(changes, more, line):
    mistake = error(*changes, more=more)
    assert mistake.where == f"f.yaml:{line}"
    assert mistake.expected == "a finite number"


def test_advised_seconds_are_enough_and_can_be_copied():
    rate = (RATE, "rate_hz: 1\n    primary_metric: response_latency_p99")
    assert "lengthen the steady state to about 1000 s" in error(rate).fix
    depth = (QOS, "qos: {reliability: reliable, depth: 6055}")
    mistake = error(depth, ("steady_s: 1.0", "steady_s: 20"))
    assert mistake.expected == "at least 6.06 s, for 6055 messages at 1000 Hz"
    assert "`drain_s: 6.06`" in mistake.fix
    suite(depth, ("steady_s: 1.0", "steady_s: 20, drain_s: 6.06"))


def test_a_truth_value_with_an_anchor_is_one_in_an_unusual_file_too():
    """libyaml's reader leaves 1_000 to ruamel.yaml."""
    arms = suite(("zenoh}", "zenoh, loan: &loan true}"), (RATE, "rate_hz: 1_000")).arms
    assert arms[1].loan is True


FLOOD = nodes(
    "{name: controller, publishers: [{topic: control, arrival: {kind: periodic, rate_hz: 1}}]}",
    "{name: camera, publishers: [{topic: flood, arrival: {kind: saturation, limit: 1000}}]}",
    "{name: reader, subscriptions: [{topic: control}, {topic: flood}]}",
)


def test_a_saturation_excuses_no_other_topic():
    assert "too few messages" in str(error(FLOOD))
    assert "too few messages" in str(error(FLOOD, (RATE, RATE + "\n    focus: [control]")))
    (cell, _) = cells(suite(FLOOD, (RATE, RATE + "\n    focus: [flood]")))
    assert cell.saturating
