"""What a factor does to each arm: by the rules of a verdict, in values and in words."""

from dataclasses import replace
from math import inf

import pytest

from rmwbench.analysis.metrics.fates import Fates
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.records.ledger import UnsentBy
from rmwbench.analysis.verdicts.statements import FractionChange, Statement, StatementAnswer
from rmwbench.analysis.verdicts.verdict import BlockRatio, NoRatio, Rules
from rmwbench.bundle import Bundle
from rmwbench.report.render.markdown import render_markdown
from rmwbench.report.show import level_view
from rmwbench.report.show.suite_view import view
from rmwbench.report.show.workload_view import _resolved
from rmwbench.results.answer import level_sentences as said
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import Levels, LevelStep, WorkloadAnswer
from rmwbench.results.workload.factor_levels import is_not_worse
from tests.support import synthetic_bundle
from tests.support.typed import exact, typed
from tests.support.views import page, printed, texts

ZENOH = tuple(arm for arm in synthetic_bundle.ARMS if arm.arm in ("zenoh tuned", "floor futex"))
PRIMARY = "response_latency_p50"
ALONE = "verdict: alone: the only contender with data; its levels are compared with each other"


def made(path, workload="camera", **asked):
    written = synthetic_bundle.write(
        path, arms=ZENOH, workloads=(workload,), levels=3, blocks=8, sd=0.01, **asked
    )
    return summarise(Bundle(written))


def verdicts(one, metric=PRIMARY):
    steps = [step for step in one.steps if step.metric == metric]
    return {(step.level, step.against): step.answer.verdict for step in steps}


def test_a_factor_that_slows_an_arm_down_is_told_level_by_level(tmp_path):
    doc = made(tmp_path / "c", slower=1.5)
    (one,) = doc.levels
    assert (one.factor, one.arm, one.levels) == ("level", "zenoh tuned", (0, 1, 2)), "no floor"
    assert verdicts(one) == {(1, 0): "worse", (2, 1): "worse", (2, 0): "worse"}
    for step in one.steps:
        if step.metric == PRIMARY:
            expected = 1.5 ** (step.level - step.against)
            assert step.answer.effect.value == pytest.approx(expected, rel=0.05)
            assert step.answer.effect.low < expected < step.answer.effect.high
    assert set(verdicts(one, "undelivered").values()) == {"equivalent"}
    text = said.sentence(one)
    assert text.startswith("1.5") and "as long at level 1 as at level 0" in text
    assert "everything is delivered at each level" in text


def test_a_factor_that_changes_nothing_is_the_same_within_the_margin(tmp_path):
    (one,) = made(tmp_path / "c", "imu").levels  # the median of many messages scatters least
    assert set(verdicts(one).values()) == {"equivalent"}
    assert said.sentence(one).startswith("the median response is the same, within the margin")


def test_of_a_single_arm_the_factor_is_the_answer(tmp_path):
    doc = made(tmp_path / "c", slower=1.5)
    assert len(level_view.answered(doc)) == 3
    text = printed(view(doc), 200)
    assert "measured alone" not in text and "nothing to compare" not in text
    for whole in (page(doc), render_markdown(view(doc, draw=True))):
        assert "measured alone" not in whole and "nothing to compare it" not in whole
    assert texts(view(doc, draw=True).sections).count(ALONE) == 3, "the evidence of each level"
    answer = text[text.index("The answer") :]
    assert "camera along level" in answer and "as long at level 1 as at level 0" in answer
    assert [one.title.rsplit(", ", 1)[1] for one in doc.workloads] == [
        "level 0",
        "level 1",
        "level 2",
    ]


def estimate(value, unit="ns"):
    return {"unit": unit, "value": value, "low": value, "high": value, "count": 9, "trials": 5}


def invented(levels, medians, fates, answers, factor="message", primary=PRIMARY):
    """An arm at these levels; `answers`: (metric, level, against) -> its answer."""
    fates = [Fates(trials=5, **one) for one in fates]
    ladder = typed(
        Levels,
        {
            "factor": factor,
            "levels": list(levels),
            "primary_metric": primary,
            "values": {
                primary: [estimate(value) for value in medians],
                "undelivered": [estimate(one.undelivered, "fraction") for one in fates],
            },
        },
    )
    steps = [
        typed_step(metric, level, against, answer)
        for (metric, level, against), answer in answers.items()
    ]
    return replace(ladder, steps=tuple(steps), fates=tuple(fates))


def typed_step(metric, level, against, answer):
    return LevelStep(metric=metric, level=level, against=against, answer=answer)


SIZES = ("Bytes(400000)", "Bytes(600000)", "Bytes(2000000)")


def lost(share):
    return {"lost": share}


def unsent(share):
    return {"never_sent": share, "held_by": UnsentBy.CALL}


def overdue(share):
    return {"late": share, "overdue": share}


MORE = StatementAnswer("worse", FractionChange(0.07, 0.02, 0.12, 5), "")


def test_loss_begins_between_the_last_level_without_and_the_first_that_is_decided():
    answers = {("undelivered", SIZES[2], SIZES[0]): MORE}
    text = said.sentence(invented(SIZES, (1e6, 2e6, inf), ({}, {}, lost(0.07)), answers))
    assert "loss begins between 600 kB and 2 MB, and is 7 % at 2 MB" in text


def test_between_off_and_on_there_is_no_level_at_which_loss_begins():
    answers = {("undelivered", True, False): MORE}
    ladder = invented((False, True), (1e6, inf), ({}, lost(0.07)), answers, factor="qos.batching")
    assert "begins between" not in said.sentence(ladder)
    assert "at batching true 7 percentage points more" in said.sentence(ladder)


def test_an_undecided_loss_at_a_level_between_is_not_without_loss():
    answers = {("undelivered", SIZES[2], SIZES[0]): MORE}
    fates = {}, lost(0.01), lost(0.07)
    text = said.sentence(invented(SIZES, (1e6, 2e6, inf), fates, answers))
    assert "loss begins between 400 kB and 2 MB" in text


@pytest.mark.parametrize(
    ("one", "two", "told"),
    [
        (lost(0.68), lost(0.24), "at 2 readers {} is lost than at 1 reader."),
        (
            unsent(0.68),
            unsent(0.24),
            "at 2 readers {} is never sent than at 1 reader (its publish call was held).",
        ),
        (overdue(0.68), overdue(0.24), "at 2 readers {} is late than at 1 reader."),
        (
            unsent(0.5) | lost(0.36),
            lost(0.24),
            "at 2 readers (lost 24 %) {} is undelivered than at 1 reader (lost 36 %, never sent "
            "50 %) (its publish call was held).",
        ),
    ],
)
def test_less_loss_with_a_second_reader_is_told_in_points_and_by_its_fate(one, two, told):
    less = StatementAnswer("better", FractionChange(-0.45, -0.6, -0.3, 5), "")
    levels = invented((1, 2), (inf, inf), (one, two), {("undelivered", 2, 1): less}, "subscribers")
    assert said.sentence(levels) == told.format("45 percentage points less [30.0–60.0]")


@pytest.mark.parametrize(
    ("fates", "told"),
    [
        (unsent(0.28), "it never sends 28 % of its messages (its publish call was held)"),
        ({"failed": 2}, "it fails in 2 of 5 trials"),
    ],
)
def test_what_was_never_sent_does_not_begin_to_be_lost(fates, told):
    answers = {("undelivered", SIZES[2], SIZES[0]): MORE}
    one = invented(SIZES, (1e6, 2e6, inf), ({}, {}, fates), answers)
    expected = f"what is not delivered begins between 600 kB and 2 MB: at 2 MB {told}."
    assert said.sentence(one) == expected
    details = [cell.detail for cell in level_view._cells(one)]
    assert "lost" not in "".join(details) and Fates(trials=5, **fates).short() in details[2]


def test_a_reader_without_values_of_its_own_has_a_row_only_where_it_lost_something():
    whole = invented((1, 2), (1e6, 2e6), ({}, {}), {})
    absent = {"unit": "ns", "no_data": "the workload is judged by another metric"}
    values = typed(Levels, {"values": {PRIMARY: [absent, absent]}}).values
    reader = replace(whole, topic="logger", values=values)
    lossy = replace(reader, fates=(Fates(trials=5), Fates(trials=5, lost=0.5)))
    ladders = (whole, reader, replace(reader, topic=None), lossy)
    assert [level_view._has_row(one) for one in ladders] == [True, False, True, True]


def test_what_a_reliable_arm_has_under_way_is_not_delivered():
    one = invented(SIZES, (1e6, 2e6, inf), ({}, {}, {"late": 0.6}), {})
    assert said.sentence(one) == (
        "at 2 MB it has 60 % of its messages still under way when the trials end."
    )


BY_ORDER = NoRatio(no_data="it is 0 in some trials")


@pytest.mark.parametrize(
    ("verdict", "told"),
    [("worse", "worse at 2 Hz than at 1 Hz"), ("better", "worse at 1 Hz than at 2 Hz")],
)
@pytest.mark.parametrize(
    ("metric", "title"), [(PRIMARY, "median response"), ("achieved_rate", "achieved rate")]
)
def test_without_a_ratio_the_worse_level_is_named_with_the_metric(metric, title, verdict, told):
    answers = {(metric, 2, 1): StatementAnswer(verdict, BY_ORDER, "")}
    one = invented((1, 2), (0.0, 9.0), ({}, {}), answers, "rate_hz", metric)
    assert said.sentence(one) == f"{title} {told}; all is delivered."


@pytest.mark.parametrize(
    ("metric", "verdict", "told"),
    [
        (PRIMARY, "worse", "16.0× [15.0–17.0] as long at 5 Hz as at 1 Hz, more at each level"),
        (
            "achieved_rate",
            "worse",
            "achieved rate 16.0× [15.0–17.0] as much at 1 Hz as at 5 Hz, less at each level",
        ),
    ],
)
def test_many_steps_are_told_by_their_direction(metric, verdict, told):
    """Worse is more of a latency and less of a rate."""
    levels = (1, 2, 3, 4, 5)
    ratio = BlockRatio(16.0, 15.0, 17.0, 8)
    ratio = ratio if metric == PRIMARY else ratio.inverse()
    pairs = [(at, at - 1) for at in levels[1:]] + [(5, 1)]
    answers = {(metric, *pair): StatementAnswer(verdict, ratio, "") for pair in pairs}
    one = invented(levels, (1e6,) * 5, ({},) * 5, answers, "rate_hz", metric)
    assert said.sentence(one).split(";")[0] == told


def test_a_table_counts_messages_where_its_metric_is_of_messages(tmp_path):
    doc = made(tmp_path / "c")
    (workload, *_) = doc.workloads
    for metric, noun in ((PRIMARY, "messages"), ("delivery", "messages"), ("pss", "trials")):
        assert f" {noun} per arm" in _resolved(replace(workload, primary_metric=metric))


def test_the_intervals_below_a_table_are_those_that_it_prints():
    def arm(value, interval):
        end = exact(value, "ns", count=600, trials=5, interval=interval)
        return {"metrics": {PRIMARY: end}}

    sound = arm(1e6, "95 % t interval on the log of 5 trial medians")
    lossy = arm(inf, "median and range of 5 trial medians (93.8 %), 5 of them infinite")
    for arms, expected in (
        ((sound, lossy, lossy), "[low–high]: 95 % t interval on the log of 5 trial medians; n = "),
        ((lossy,), "n = "),
    ):
        part = typed(WorkloadAnswer, {"arms": arms, "primary_metric": PRIMARY})
        assert _resolved(part) == f"{expected}600 messages per arm."


@pytest.mark.parametrize(
    ("metric", "low", "high", "bound_ns", "noise", "expected"),
    [
        (PRIMARY, 0.88, 1.04, 0.0, 0.0, True),
        (PRIMARY, 0.88, 1.06, 0.0, 0.0, False),
        (PRIMARY, 0.88, 1.04, 5e3, 0.0, False),
        (PRIMARY, 0.88, 1.04, 0.0, 0.10, False),
        ("achieved_rate", 0.96, 1.2, 0.0, 0.0, True),
        ("achieved_rate", 0.90, 1.0, 0.0, 0.0, False),
    ],
)
def test_who_may_be_ahead_and_is_not_behind_by_the_margin_is_unharmed(
    metric, low, high, bound_ns, noise, expected
):
    blocks = dict.fromkeys(range(5), 1e5)
    bounds = dict.fromkeys(blocks, bound_ns)
    asked = Statement(
        left=blocks, right=blocks, metric=GLOSSARY[metric], paired=True, bounds=(bounds, bounds)
    )
    answer = StatementAnswer("undecided", BlockRatio((low * high) ** 0.5, low, high, 5), "")
    assert is_not_worse(asked, answer, Rules(aa_floor=noise)) is expected
    assert not is_not_worse(asked, replace(answer, verdict="worse"), Rules())
