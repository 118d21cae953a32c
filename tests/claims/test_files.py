"""Claims files: whatever is wrong has its file and line, and one fix."""

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.claims import load

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


def of(tmp_path, text):
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    return load(path)


def test_a_file_of_ones_own(tmp_path):
    assert [claim.id for claim in of(tmp_path, GOOD).items] == ["one", "two"]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("left: a", "left: aa", 15, "unknown side `aa`"),
        ("kind: comparison", "kind: comparision", 13, "did you mean `comparison`"),
        ("verdict: data not published", "verdict: refuted", 14, "one of supported"),
        ("id: two", "id: one", 16, "two claims have the id `one`"),
        (
            "kind: opinion",
            "kind: opinion, published: {verdict: supported, why: x}",
            16,
            "an opinion is listed, not judged",
        ),
        ("right: b}", "right: b, level: 3}", 15, "another side or with a level"),
        (", right: b}", "}", 15, "another side or with a level"),
        ("relation: less", "relation: within", 15, "needs a factor above 1"),
        ("relation: less", "relation: less, times: 2", 15, "the middle of a range"),
        ("    published: {verdict: data not published, why: plots only}\n", "", 10, "no verdict as published"),
        ("    test: {suite", "    not_testable: no time\n    test: {suite", 15, "is not testable"),
        ("    test: {", "    tests: {", 15, "did you mean `test`?"),
        ("says: Zenoh is faster.", 'says: ""', 12, "says"),
    ],
)
def test_a_mistake_has_its_line(tmp_path, old, new, line, said):
    assert old in GOOD
    with pytest.raises(UserError) as error:
        of(tmp_path, GOOD.replace(old, new, 1))
    assert f"claims.yaml:{line}:" in error.value.render(), error.value.render()
    assert said in error.value.render()


def test_the_mistake_of_the_only_item_is_the_error(tmp_path):
    """Not that the list were too short, which is what is left of it."""
    alone = GOOD[: GOOD.index("  - {id: two")].replace("kind: comparison", "kind: nonsense")
    with pytest.raises(UserError) as error:
        of(tmp_path, alone)
    said = error.value.render()
    assert "claims.yaml:13: `kind` cannot be 'nonsense'" in said and "one of comparison, scaling" in said
    assert "items" not in said and "then look at" not in said


def test_a_list_without_items_is_too_short(tmp_path):
    with pytest.raises(UserError, match="`items`"):
        of(tmp_path, GOOD[: GOOD.index("items:")] + "items: []\n")


def test_an_unknown_source_is_guessed():
    with pytest.raises(UserError, match="did you mean `galactic-2020`"):
        load("galactic")
