"""The user survey: the published means come from the scrambled scale, the documented ones from the
text's."""

import pytest

from tests.published.importers.original import bundle, figures, printed, prints

SOURCE = ("tsc-galactic-2020", "user_survey")
TABLE = {  # n, documented mapping, published; Cyclone and Fast
    1: (29, 59, 3.86, 4.17, 4.00, 3.97),
    2: (30, 59, 4.17, 3.97, 4.43, 4.07),
    3: (30, 57, 4.53, 3.74, 4.17, 3.84),
    4: (29, 58, 3.79, 2.88, 3.55, 2.97),
    5: (30, 56, 2.90, 3.18, 2.90, 3.14),
    6: (30, 52, 4.17, 4.12, 4.13, 3.90),
    7: (30, 55, 3.67, 3.96, 3.63, 3.84),
    8: (28, 53, 3.50, 3.60, 3.57, 3.42),
    9: (30, 59, 4.23, 4.08, 4.27, 4.10),
    10: (30, 57, 4.20, 3.93, 4.10, 3.86),
    11: (29, 56, 2.97, 2.57, 3.14, 2.68),
    12: (29, 58, 3.66, 4.10, 3.59, 4.07),
    13: (30, 50, 4.50, 4.12, 4.10, 3.80),
    14: (30, 54, 4.63, 4.17, 4.17, 4.00),
    15: (24, 49, 4.13, 4.10, 3.88, 4.04),
    16: (29, 56, 4.10, 4.16, 4.07, 3.98),
    17: (28, 55, 4.18, 4.38, 3.96, 4.02),
    18: (30, 56, 4.03, 3.91, 4.07, 3.75),
    19: (24, 47, 4.04, 3.85, 3.96, 3.81),
}


@pytest.mark.parametrize("n", TABLE)
def test_a_question(n):
    f = figures(*SOURCE)
    cyclone, fast = (f["survey_mean", group, f"Q{n}"] for group in ("Cyclone", "Fast"))
    assert (cyclone["count"], fast["count"]) == TABLE[n][:2]
    found = [p[k] for k in ("as_corrected", "as_published") for p in (cyclone, fast)]
    assert all(
        prints(value, f"{wanted:.2f}") for value, wanted in zip(found, TABLE[n][2:], strict=True)
    ), found


def test_the_sign_flips_on_four_questions():
    flips = [
        p["x"] for p in figures(*SOURCE).of("survey_difference") if p["note"] == "the sign flips"
    ]
    assert flips == ["Q1", "Q8", "Q15", "Q16"]


def test_which_differences_a_test_finds():
    p = {row["x"]: row["as_corrected"] for row in figures(*SOURCE).of("survey_p_value")}
    assert {x for x, value in p.items() if value < 0.05} == {"Q3", "Q4", "Q12", "Q14"}
    assert [
        round(p[x], d) for x, d in (("Q3", 4), ("Q4", 4), ("Q14", 3), ("Q12", 3), ("Q13", 3))
    ] == [
        0.0002,
        0.0025,
        0.015,
        0.038,
        0.055,
    ]


def test_responses_differ_from_the_text():
    f = figures(*SOURCE)
    found = {
        g: (f.published("survey_responses", g, ""), f.corrected("survey_responses", g, ""))
        for g in ("All", "Cyclone", "Fast")
    }
    assert found == {"All": (96, 94), "Cyclone": (31, 30), "Fast": (60, 59)}
    versions = {p["x"]: p["as_published"] for p in f.of("survey_version") if p["series"] == "All"}
    assert versions == {"Foxy": 70, "Eloquent": 13, "Dashing": 10, "other": 1}


def test_no_free_text_reaches_the_bundle():
    """Nothing a single person wrote: every answer is of the scale, a number, or given at least
    twice."""
    found = bundle(*SOURCE)
    assert found.tables() == ["figures"] and not list((found.directory / "files").iterdir())
    for row in found.rows("figures"):
        if (
            row["figure"].startswith("survey_")
            and row["x"] != "other"
            and row["figure"] in ("survey_application", "survey_domain")
        ):
            assert row["as_published"] > 1
        assert len(row["x"]) < 100


def test_the_distributions_are_binned_by_the_wrong_scores():
    f = figures(*SOURCE)
    for answer, shown, right in (
        ("Strongly Agree", 23.3, 66.7),
        ("Agree", 66.7, 23.3),
        ("Neutral", 6.7, 6.7),
    ):
        point = f["survey_sentiment", "Q13 Cyclone", answer]
        assert (printed(point["as_published"], 1), printed(point["as_corrected"], 1)) == (
            shown,
            right,
        )
    everybody = [p for p in f.of("survey_sentiment") if p["series"] == "Q13 All"]
    assert (
        sum(p["as_published"] for p in everybody)
        == pytest.approx(100)
        == sum(p["as_corrected"] for p in everybody)
    )


def test_histograms_of_skill_are_densities():
    """Nine bins from 2 to 10: the bar over 8 is 29 of 94 respondents ÷ 0.889."""
    f = figures(*SOURCE)
    assert printed(f.published("survey_skill_networking_skill", "All", "7.33"), 2) == 34.71
    assert printed(f.corrected("survey_skill_networking_skill", "All", 8), 2) == 30.85
    same = f.of("survey_skill_debugging_skill")
    assert all(p["as_published"] == pytest.approx(p["as_corrected"]) for p in same), (
        "bins that are one wide"
    )
