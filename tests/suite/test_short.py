"""`short:` of a suite file: fewer levels and shorter trials of the same thing."""

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.file.load import load, parse
from rmwbench.suite.file.suite_files import shipped_suites

from .suite_text import edited

FACTORS = "factors: {rate_hz: [50, 100, 1000], message: [Array1k, Array60k]}\n"
SHORT = """\
short:
  arms: [b]
  factors: {rate_hz: [100]}
  timeline: {steady_s: 0.5, warmup_s: 0.1}
  blocks: {planned: 7, minimum: 6}
"""


def parsed(text: str, shortened: bool = True):
    return parse(text, where="f.yaml", shortened=shortened)


def test_the_short_version_replaces_what_it_names_and_keeps_the_rest():
    text = edited(more=FACTORS + SHORT)
    whole, short = parsed(text, False), parsed(text)
    assert [arm.name for arm in whole.arms] == ["a", "b"] and whole.factors["rate_hz"] == (
        50,
        100,
        1000,
    )
    assert [arm.name for arm in short.arms] == ["b"] and short.factors["rate_hz"] == (100,)
    assert short.factors["message"] == whole.factors["message"]
    assert (short.blocks.planned, whole.blocks.planned) == (7, 6)
    # The workload had a steady state of its own, which the short one's replaces as well.
    assert short.workloads[0].timeline.over(short.timeline).steady_s == 0.5
    assert short.timeline.warmup_s == 0.1
    assert whole.workloads[0].timeline.over(whole.timeline).steady_s == 1.0


def test_a_shorter_trial_may_be_judged_by_a_lower_percentile():
    text = edited(more=FACTORS + SHORT + "  primary_metric: service_latency_p50\n")
    whole, short = parsed(text, False), parsed(text)
    assert {workload.primary_metric for workload in short.workloads} == {"service_latency_p50"}
    assert {workload.primary_metric for workload in whole.workloads} == {"response_latency_p50"}
    with pytest.raises(UserError, match="primary_metric"):
        parsed(text.replace("service_latency_p50", "service_latency_p42"))


def test_what_names_a_part_that_is_left_out_is_left_out_as_well():
    """It was `unknown` there, so such a suite had no short version."""
    rules = "exclude: [{arm: a, rate_hz: 50}, {rate_hz: 1000}, {arm: b, message: Array60k}]\n"
    arm = ("middleware: zenoh", "middleware: zenoh, against: a")
    text = edited(arm, more=FACTORS + SHORT + rules)
    whole, short = parsed(text, False), parsed(text)
    assert len(whole.exclude) == 3 and whole.arms[1].against == "a"
    assert short.exclude == ({"arm": "b", "message": "Array60k"},)
    assert short.arms[0].against is None


def test_a_short_version_waits_for_none_of_the_workloads_that_it_leaves_out():
    blocks = ("planned: 6", "maximum: 6, decide: [w, v]")
    more = "  - {name: v, message: Array1k, rate_hz: 100}\nshort: {workloads: [w]}\n"
    text = edited(blocks, more=more)
    assert parsed(text, False).blocks.decide == ("w", "v")
    assert parsed(text).blocks.decide == ("w",)


def test_limits_of_a_workload_that_a_short_version_leaves_out_are_no_mistake():
    more = (
        "  - {name: v, message: Array1k, rate_hz: 100}\nshort: {workloads: [w]}\n"
        "outcomes: {topics: {v: {undelivered: 0.1}}}\n"
    )
    short = parsed(edited(more=more))
    assert [workload.name for workload in short.workloads] == ["w"]
    with pytest.raises(UserError, match="unknown topic or reader `u`"):
        parsed(edited(more=more.replace("{v: {", "{u: {")), False)


def test_levels_of_a_merged_mapping_stay_in_the_short_version():
    merged = "factors:\n  <<: {message: [Array1k, Array60k]}\n  rate_hz: [50, 100]\n"
    short = parsed(edited(more=merged + "short: {factors: {rate_hz: [100]}}\n"))
    assert short.factors == {"message": ("Array1k", "Array60k"), "rate_hz": (100,)}


@pytest.mark.parametrize(
    ("short", "line", "words"),
    [
        ("short: {arms: [c]}\n", 14, "no arm is called `c`"),
        ("short: {factors: {rate: [1]}}\n", 14, "no factor is called `rate`"),
        ("short: {suite: x}\n", 14, "`suite` cannot be shortened"),
        ("short: [1]\n", 14, "`short` is not a mapping"),
        ("short: {workloads: w}\n", 14, "list of names"),
        ("short: {timeline: 3}\n", 14, "`timeline` is not a mapping"),
    ],
)
@pytest.mark.parametrize("shortened", [True, False])
def test_a_wrong_short_version_is_one_error_wanted_or_not(short, line, words, shortened):
    with pytest.raises(UserError) as caught:
        parsed(edited(more=FACTORS + short), shortened)
    assert caught.value.where == f"f.yaml:{line}" and words in str(caught.value)


@pytest.mark.parametrize("name", shipped_suites())
def test_every_shipped_suite_loads_in_both_versions(name):
    whole = load(name)
    try:
        short = load(name, shortened=True)
    except UserError as error:
        assert "no short version" in str(error)
        return
    assert set(short.factors) == set(whole.factors)
    for factor, levels in short.factors.items():
        assert 1 <= len(levels) <= len(whole.factors[factor])
