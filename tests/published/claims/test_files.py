"""Claims files: every mistake is reported with file and line, and with one fix."""

import pytest

from rmwbench.errors import UserError
from rmwbench.published.claims.claims_file import load

GOOD = """\
claims: mine
title: Mine
published: "2026"
text: mine.txt
layer: native
sides:
  a: [zenoh]
  b: [cyclonedds]
items:
  - id: one
    heading: H
    says: Zenoh is faster.
    kind: comparison
    published: {verdict: data not published, why: plots only}
    test: {suite: quick, metric: response_latency_p50, left: a, relation: less, right: b}
  - {id: two, heading: H, says: Zenoh is nicer., kind: opinion}
"""


def load_text(tmp_path, text):
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    return load(path)


PLOTS, KIND, RIGHT = "data not published, why: plots only", "kind: comparison\n", "right: b}"
ALONE = "is for two sides, and one side is compared with a level"


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("left: a", "left: aa", 15, "unknown side `aa`"),
        (PLOTS, "contradicted, why: x", 14, "no place in the source"),
        (KIND, f"{KIND}    inferred: from its plots\n", 15, "not judged as its statement"),
        ("why: plots only", "why: plots only, p: 1.5", 14, "out of range"),
        (PLOTS, "supported, why: x, p: 0.07", 14, "the data does not show"),
        (KIND, f"{KIND}    place: page 3\n", 14, "place"),
        ("kind: comparison", "kind: comparision", 13, "did you mean `comparison`"),
        ("verdict: data not published", "verdict: refuted", 14, "one of supported"),
        ("id: two", "id: one", 16, "two claims have the id `one`"),
        (
            "kind: opinion",
            "kind: opinion, published: {verdict: supported, why: x}",
            16,
            "an opinion is listed, not judged",
        ),
        (RIGHT, "right: b, level: 3}", 15, "another side or with a level"),
        (", right: b}", "}", 15, "another side or with a level"),
        ("relation: less", "relation: within", 15, "needs a factor above 1"),
        ("relation: less", "relation: less, times: 2", 15, "the middle of a range"),
        (f"    published: {{verdict: {PLOTS}}}\n", "", 10, "no verdict as published"),
        ("    test: {suite", "    not_testable: no time\n    test: {suite", 15, "is not testable"),
        ("    test: {", "    tests: {", 15, "did you mean `test`?"),
        ("says: Zenoh is faster.", 'says: ""', 12, "says"),
        (RIGHT, "right: b, by: exponent, level: 2}", 15, "two sides at two sizes"),
        (RIGHT, "right: b, by: exponent, level: 2, sizes: [4, 4]}", 15, "two sides at two sizes"),
        (RIGHT, "right: b, sizes: [16, 4]}", 15, "sizes belong to an exponent"),
        (RIGHT, "right: b, cells: {of: 3, at_least: 4}}", 15, "this number of cells is impossible"),
        (RIGHT, "right: b, of_machine: true}", 15, "`of_machine` is for a level"),
        (RIGHT, "level: 3, right_metric: loss}", 15, ALONE),
        (RIGHT, "level: 3, base_at: {n: 1}}", 15, ALONE),
        ("relation: less, right: b}", "relation: differs, right: b}", 15, "needs a factor above 1"),
        (RIGHT, "right: b, by: difference, level: 0.1, base_at: {n: 1}}", 15, "has no factor"),
        (RIGHT, "right: b, by: difference, level: 0.1, base_at: {n: 1}}", 15, "base_at: {'n': 1}"),
        (RIGHT, "right: b, by: difference}", 15, "actual: right: b"),
        (RIGHT, "by: exponent}", 15, "actual: none of them"),
        (RIGHT, "level: 3, right_topic: front}", 15, ALONE),
        ("suite: quick", "suite: robot, topic: fornt", 15, "did you mean `front`?"),
        (
            "suite: quick",
            "suite: robot, workload: whole, topic: imu, right_topic: rera",
            15,
            "did you mean `rear`?",
        ),
        ("suite: quick", "suite: robot, workload: hole, topic: imu", 15, "did you mean `whole`?"),
        ("suite: quick", "suite: quick, topic: image", 15, "no topics that are judged one by one"),
        (
            "suite: quick, metric: response_latency_p50",
            "suite: robot, topic: imu, metric: rss",
            15,
            "of a topic `rss`",
        ),
        (
            "layer: native",
            'layer: native\nconditions: {rclcpp: ["5.x", "6.0"]}',
            6,
            "a version is numbers and points",
        ),
    ],
)
def test_a_mistake_has_its_line(tmp_path, old, new, line, said):
    _refused(tmp_path, GOOD, old, new, line, said)


ALSO = "    also: [{suite: quick, metric: loss, left: a, relation: less, right: b}]\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (
            "left: a, relation: less, right: b}]",
            "left: aa, relation: less, right: b}]",
            16,
            "unknown side `aa`",
        ),
        ("also: [{suite: quick", "also: [{suite: robot", 16, "are of several suites"),
    ],
)
def test_a_mistake_in_a_further_test_has_its_line(tmp_path, old, new, line, said):
    text = GOOD.replace("  - {id: two", ALSO + "  - {id: two")
    assert len(load_text(tmp_path, text).items[0].tests) == 2
    _refused(tmp_path, text, old, new, line, said)


def _refused(tmp_path, text, old, new, line, said):
    assert old in text
    with pytest.raises(UserError) as error:
        load_text(tmp_path, text.replace(old, new, 1))
    assert f"claims.yaml:{line}:" in error.value.render(), error.value.render()
    assert said in error.value.render()


def test_a_topic_of_a_suite_that_is_not_here_is_taken_as_it_stands(tmp_path):
    for suite in ("robot", "nowhere"):
        claims = load_text(tmp_path, GOOD.replace("suite: quick", f"suite: {suite}, topic: front"))
        assert claims.items[0].test.topics == ("front", "front")


def test_an_unknown_source_is_guessed():
    with pytest.raises(UserError, match="did you mean `galactic-2020`"):
        load("galactic")
