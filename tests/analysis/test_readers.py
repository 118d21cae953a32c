"""Which readers of a topic are judged apart, and what they are called."""

from rmwbench.analysis.metrics.comparisons import in_focus
from rmwbench.analysis.metrics.judged_topics import judged_topics, workload_limit_names
from tests.analysis.test_topics import endpoint

FAST, THIN = {"down": {"rate_bps": 300_000_000}}, {"down": {"rate_bps": 5_000_000}}


def reader(number, node, topic="image", **more):
    return endpoint(number, topic, "subscription", node=node, **{"process": node} | more)


CAMERA = endpoint(1, "image", host="robot")


def parts(*rows, **definition):
    return judged_topics(rows, definition)


def names(*rows, **definition):
    return [one.name for one in parts(*rows, **definition)]


def test_a_symmetrical_fan_out_has_one_number():
    rows = [CAMERA, *(reader(n, f"listener_{n}", host="base") for n in range(2, 7))]
    assert names(*rows) == []
    two_hosts = [CAMERA, reader(2, "a", host="base"), reader(3, "b", host="tablet")]
    assert names(*two_hosts, network={"links": {"base": FAST, "tablet": FAST}}) == []


def test_readers_are_apart_by_their_links_and_places():
    far = [CAMERA, reader(2, "planner", host="base"), reader(3, "viewer", host="tablet")]
    groups = parts(*far, network={"links": {"base": FAST, "tablet": THIN}})
    assert [(one.name, one.endpoints, one.readers.differ) for one in groups] == [
        ("planner", {1, 2}, ("link",)),
        ("viewer", {1, 3}, ("link",)),
    ]
    change = {"at_s": 1.0, "host": "tablet", "change": "down"}
    assert names(*far, network={"changes": [change]}) == ["planner", "viewer"]
    near = [CAMERA, reader(2, "near", host="robot"), reader(3, "far", host="base")]
    assert names(*near) == ["near", "far"]
    inside = [CAMERA, reader(2, "in", process="node_1"), reader(3, "out")]
    assert names(*inside) == ["in", "out"]


def test_readers_are_apart_by_what_was_asked_of_them():
    rows = [CAMERA, reader(2, "control"), reader(3, "logger")]
    held = [{"endpoint": 2}, {"endpoint": 3, "hold_ns": 50_000_000}]
    groups = parts(*rows, endpoints=held)
    assert [(one.name, one.readers.asked.hold_ns) for one in groups] == [
        ("control", 0),
        ("logger", 50_000_000),
    ]
    assert groups[0].readers.differ == ("hold_ns",)
    late = reader(3, "late", joins_ns=1_000_000_000)
    assert names(CAMERA, reader(2, "viewer"), late) == ["viewer", "late"]
    lossy = reader(3, "lossy", reliability="best_effort")
    groups = parts(CAMERA, reader(2, "sure"), lossy)
    assert [(one.name, one.reliable) for one in groups] == [("sure", True), ("lossy", False)]


def test_who_comes_again_is_one_reader():
    again = [reader(3, "planner"), reader(4, "planner", joins_ns=2_000_000_000)]
    groups = parts(CAMERA, reader(2, "logger"), *again)
    assert [(one.name, one.endpoints) for one in groups] == [
        ("logger", {1, 2}),
        ("planner", {1, 3, 4}),
    ]


def test_names_say_the_topic_where_there_are_several_and_are_of_groups():
    held = [{"endpoint": n, "hold_ns": 7} for n in (4, 5)]
    rows = [CAMERA, *(reader(n, f"viewer_{n}") for n in (2, 3)), reader(4, "log"), reader(5, "bag")]
    assert names(*rows, endpoints=held) == ["viewer_*", "log,bag"]
    imu = [endpoint(8, "imu", rate_hz=200.0), reader(9, "control", "imu")]
    assert names(*rows, *imu, endpoints=held) == ["image → viewer_*", "image → log,bag", "imu"]
    # where a reader is called as its topic
    assert names(CAMERA, reader(4, "image"), reader(6, "x"), endpoints=held) == [
        "image → image",
        "image → x",
    ]
    numbered = [CAMERA, *(reader(n, f"viewer_{n}") for n in (2, 3, 4, 5))]
    assert names(*numbered, endpoints=held) == ["viewer_2,viewer_3", "viewer_4,viewer_5"]


def test_two_unlike_readers_of_one_node_have_two_names():
    """Of two parts with one name, the first had no answer."""
    rows = [CAMERA, reader(2, "viewer"), reader(3, "control"), reader(4, "control")]
    held = [{"endpoint": 3, "hold_ns": 7}, {"endpoint": 4, "hold_ns": 9}]
    groups = parts(*rows, endpoints=held)
    assert [(group.name, group.endpoints) for group in groups] == [
        ("viewer", {1, 2}),
        ("control", {1, 3}),
        ("control#2", {1, 4}),
    ]


def test_the_hops_of_a_chain_stay_together():
    rows = [
        endpoint(1, "way", node="a", process="a"),
        reader(2, "b", "way", process="a"),
        endpoint(3, "way_1", node="b", process="a", arrival={"kind": "relay", "from": 2}),
        reader(4, "c", "way_1"),
    ]
    assert names(*rows) == []


def test_a_focus_may_be_a_reader():
    imu = [endpoint(8, "imu", rate_hz=200.0), reader(9, "control", "imu")]
    rows = [CAMERA, reader(2, "control"), reader(3, "logger"), *imu]
    held, focus = [{"endpoint": 3, "hold_ns": 7}], {"focus": ["logger"]}
    assert [r["endpoint"] for r in in_focus(rows, {"workload": focus})] == [1, 3]
    assert names(*rows, endpoints=held, workload=focus) == []
    focus = {"focus": ["control"]}
    assert names(*rows, endpoints=held, workload=focus) == ["image", "imu"]


def test_a_common_name_limits_unlike_topics_too():
    """It was of alike ones alone, and of two scans of different sizes nothing had it."""
    apart = parts(endpoint(1, "scan_1"), endpoint(2, "scan_2", size=4096))
    assert len(apart) == 2 and all("scan_*" in topic.limit_names for topic in apart)


def test_what_may_be_limited():
    held = [{"endpoint": 3, "hold_ns": 7}]
    _, logger = parts(CAMERA, reader(2, "control"), reader(3, "logger"), endpoints=held)
    assert logger.limit_names == ("image", "logger", "logger", "image → logger")
    several = [reader(n, f"viewer_{n}") for n in (2, 3)]
    named = ("image", "viewer_*", "viewer_2", "viewer_3", "image → viewer_*")
    assert workload_limit_names([CAMERA, *several], {})[:5] == named
