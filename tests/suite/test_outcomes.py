"""`outcomes:` of a suite file: limits with units, mistakes with their line, and the plan's words
for them."""

import pytest

from .suite_text import error, nodes, suite

DECLARED = """\
outcomes:
  acceptable:
    undelivered: 0.01
    service_latency_p50_ms: 30
"""


TOPIC = suite().workloads[0].all_nodes[0].topics[0]
"""The topic of the suite that these tests change."""


def test_limits_of_topics_reach_the_plan_and_may_stand_alone():
    declared = f"outcomes:\n  topics:\n    {TOPIC}: {{response_latency_p50_ms: 20}}\n"
    document = suite(more=declared).outcomes.document()
    assert document["acceptable"] == []
    assert document["topics"] == {TOPIC: [{"metric": "response_latency_p50", "at_most": 20e6}]}


READER = suite().workloads[0].all_nodes[-1].name


def limiting(name: str) -> str:
    return f"outcomes:\n  topics:\n    {name}: {{response_latency_p50_ms: 20}}\n"


def test_limits_may_be_of_readers_and_an_error_says_who_there_are():
    for name in (READER, f"{TOPIC} → {READER}"):
        limits = suite(more=limiting(name)).outcomes
        assert list(limits.document()["topics"]) == [name]
    caught = error(more="outcomes: {topics: {nobody: {undelivered: 0.9}}}\n")
    assert {TOPIC, READER} <= {*caught.expected.removeprefix("one of ").split(", ")}


TWO = (("rate_hz: 1000", "rate_hz: 1000\n    subscribers: 2"),)


@pytest.mark.parametrize("name", ["listener_*", "w → listener_*", "listener_2", "w → listener_2"])
def test_readers_that_differ_by_a_number_have_a_common_name(name):
    assert list(suite(*TWO, more=limiting(name)).outcomes.topics) == [name]


@pytest.mark.parametrize("name", ["lis*", "listener*", "*", "w*", "listener_3"])
def test_a_limit_that_would_be_of_nothing_is_refused(name):
    """A pattern was accepted, and no answer has a topic or a reader of such a name."""
    assert f"unknown topic or reader `{name}`" in error(*TWO, more=limiting(f"'{name}'")).what


def test_a_limit_of_a_topic_out_of_focus_is_refused():
    graph = nodes(
        "{name: x, publishers: [{topic: image}, {topic: status}]}",
        "{name: y, subscriptions: [{topic: image}, {topic: status}]}",
        "{name: z, subscriptions: [{topic: image}]}",
    )
    focus = (graph, ("rate_hz: 1000", "rate_hz: 1000\n    focus: [z]"))
    for name in ("image", "z", "image → z"):
        assert list(suite(*focus, more=limiting(name)).outcomes.topics) == [name]
    for name in ("status", "y", "image → y"):
        assert f"unknown topic or reader `{name}`" in error(*focus, more=limiting(name)).what


def test_limits_reach_the_plan_in_their_metrics_own_units():
    assert suite(more=DECLARED).outcomes.document() == {
        "acceptable": [
            {"metric": "undelivered", "at_most": 0.01},
            {"metric": "service_latency_p50", "at_most": 30e6},
        ],
        "none": {"metric": "undelivered", "at_least": 0.95},
    }
    assert suite().outcomes is None


@pytest.mark.parametrize(
    ("more", "line", "words"),
    [
        (
            DECLARED.replace("undelivered: 0.01", "undeliverd: 0.01"),
            15,
            "unknown limit `undeliverd`",
        ),
        (
            DECLARED.replace("p50_ms: 30", "p50: 30"),
            16,
            "the limit of `service_latency_p50` has no unit",
        ),
        (
            DECLARED.replace("undelivered: 0.01", "undelivered: 1"),
            15,
            "`undelivered` is a fraction",
        ),
        (
            DECLARED.replace("undelivered: 0.01", "undelivered: -1"),
            15,
            "`undelivered` is out of range",
        ),
        (DECLARED.replace("p50_ms: 30", "p50_ms: fast"), 16, "is not a number"),
        ("outcomes:\n  acceptable: {}\n", 14, "there is no limit"),
        ("outcomes: {none: {undelivered: 0.95}}\n", 13, "acceptable"),
        (DECLARED + "  none: {undelivered: 1.0}\n", 17, "`undelivered` is out of range"),
        (DECLARED + "  nothing: {undelivered: 0.9}\n", 17, "unknown key `nothing`"),
        (
            DECLARED + "  topics: {nowhere: {undelivered: 0.9}}\n",
            17,
            "unknown topic or reader `nowhere`",
        ),
        (DECLARED + "  topics: {TOPIC: {}}\n", 17, "has no limit"),
        (
            DECLARED + "  topics: {TOPIC: {recovery_time_ms: 5}}\n",
            17,
            "unknown limit `recovery_time_ms`",
        ),
        (DECLARED + "  topics: {TOPIC: {response_latency_p50: 5}}\n", 17, "has no unit"),
    ],
)
def test_a_mistake_has_its_line(more, line, words):
    caught = error(more=more.replace("TOPIC", TOPIC))
    assert caught.where == f"f.yaml:{line}"
    assert words in str(caught)
