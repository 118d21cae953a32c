"""What differs between two configurations, as settings or as lines."""

import pytest

from rmwbench.results.compare.environment import differences, lines, of_texts


def changed(a, b):
    return [(one.name, one.a, one.b) for one in differences(a, b)]


def test_changed_lines_that_look_like_the_heading_of_a_diff_are_kept():
    assert lines("---\nx: 1\n-->", "++\nx: 1\n-->")[1:] == ("----", "+++", " x: 1")
    assert lines("a\n-->", "a")[1:] == (" a", "--->")
    assert lines("a", "a") == ()


@pytest.mark.parametrize(
    ("a", "b", "texts"),
    [
        (True, 1, ("true", "1")),
        ([True], [1], ("[true]", "[1]")),
        ("4", 4, ('"4"', "4")),
        ("true", True, ('"true"', "true")),
        ("4", 5, ("4", "5")),
        ("a", None, ("a", None)),
    ],
)
def test_values_of_two_types_differ_and_are_told_apart(a, b, texts):
    assert changed({"x": a}, {"x": b}) == [("x", *texts)]


@pytest.mark.parametrize(("a", "b"), [(1, 1.0), ([1, 2], [1.0, 2]), (float("nan"),) * 2])
def test_a_number_is_the_same_however_it_is_written(a, b):
    assert changed({"x": a}, {"x": b}) == []


@pytest.mark.parametrize(("kind", "between"), [("yaml", ": "), ("toml", " = ")])
def test_dates_are_values_like_others(kind, between):
    a, b = (f"since{between}2026-11-{day}\nalso{between}[2026-11-{day}]" for day in (29, 30))
    settings = of_texts(a, b, kind).settings
    assert [one.name for one in settings] == ["since", "also"]
    assert "2026-11-29" in settings[0].a and "2026-11-30" in settings[1].b


def test_an_empty_document_has_no_setting():
    assert changed({}, {"x": 1}) == [("x", None, "1")]
    assert changed({}, {}) == []
    assert changed({"x": {}}, {}) == [("x", "{}", None)]


def test_what_is_empty_on_one_side_is_not_called_absent():
    assert changed({"x": {}}, {"x": {"y": 1}}) == [("x.y", None, "1")]
    assert changed({"x": [{"y": 1}]}, {"x": []}) == [("x[0].y", "1", None)]
    xml = of_texts("<a><b/></a>", "<a><b><c>1</c></b></a>", "xml").settings
    assert [(one.name, one.a, one.b) for one in xml] == [("a.b.c", None, "1")]
    assert changed({"x": ""}, {}) == [("x", "", None)]
