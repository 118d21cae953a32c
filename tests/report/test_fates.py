"""What did not arrive: its column, its sentence and its limit have one word and one number."""

from functools import partial
from types import SimpleNamespace

import pytest

from rmwbench.analysis.capacity.limit import parse_limit
from rmwbench.analysis.metrics.aggregate import FATES, FATES_OF_CHAIN
from rmwbench.report import table_columns
from rmwbench.report.capacity.capacity_view import curve
from rmwbench.report.chart.workload_charts import figures
from rmwbench.results.answer import facts
from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.answer.headline import headline
from rmwbench.results.capacity.capacity_model import RaisedFactor, SearchLevel
from rmwbench.results.show_model import SuiteAnswer, WorkloadAnswer
from rmwbench.suite.limits import KEYS, TOPIC_KEYS
from rmwbench.words import numbers as fmt
from tests.support.typed import exact, typed
from tests.support.views import cells, heads

P50 = "response_latency_p50"


metric = partial(exact, count=600, trials=6)


def arm(name, verdict, *, failed=0, unsent_by=None, qos="best_effort", **fates):
    shares = dict.fromkeys(FATES, 0.0) | fates
    return {
        "arm": name,
        "role": "contender",
        "qos": qos,
        "metrics": {P50: metric(1e6, "ns")} | {n: metric(value) for n, value in shares.items()},
        "unsent_by": unsent_by or {},
        "trials": {
            "done": 6 - failed,
            "failures": [
                {"block": n, "status": "failed", "failed_by": "worker"} for n in range(failed)
            ],
        },
        "verdict": verdict,
    }


SOUND = arm("sound", {"verdict": "best", "against": "held"})
HELD = arm(
    "held",
    {
        "verdict": "worse",
        "by": "delivery",
        "against": "sound",
        "fates": {"never_sent": 0.28, "held_by": "call"},
    },
    unsent_by={"call": 160, "machine": 8},
    never_sent_share=0.28,
)


def workload(*arms):
    return {"workload": "w", "primary_metric": P50, "arms": list(arms)}


def shown(*arms):
    return typed(WorkloadAnswer, workload(*arms))


@pytest.mark.parametrize(
    ("arms", "told"),
    [
        ((SOUND,), []),
        ((SOUND, HELD), ["never sent"]),
        ((SOUND, arm("slow", {}, late_share=0.1)), ["late"]),
        ((HELD, arm("slow", {}, late_share=0.1)), ["never sent", "late"]),
    ],
)
def test_a_fate_has_its_column_where_some_arm_has_it(arms, told):
    titles = [column.title for column in table_columns.of(shown(*arms))]
    at = titles.index("lost") + 1
    assert titles[at : at + len(told)] == told
    assert not {"never sent", "late"} & {*titles} - {*told}


def test_the_sentence_and_the_table_have_the_same_number():
    """A trial that failed was all lost in the text, and in no number of the table."""
    verdict = {
        "verdict": "worse",
        "by": "delivery",
        "against": "sound",
        "fates": {"lost": 0.7, "failed": 1, "trials": 6},
    }
    part = shown(SOUND, arm("flaky", verdict, failed=1, loss=0.778))
    flaky = part.arms[1]
    table = fmt.percent(flaky.value("loss"))
    assert (
        f"flaky loses {table} of its messages and fails in 1 of 6 trials" in headline(part).answer
    )
    assert facts.verdict_basis(flaky) == "by loss, 1 of 6 trials failed"
    assert facts.fates_of(flaky, part).short() == f"lost {table}, 1 of 6 trials failed"


# Reliable: what was late is in no share of the undelivered, whose parts add up to it but for rounding.
WAITS = arm(
    "waits",
    {},
    loss=0.1,
    late_share=0.2,
    never_sent_share=0.3,
    undelivered=0.3 + 0.7 * 0.1,
)


def test_of_a_chain_the_table_and_the_picture_have_what_its_verdict_judges():
    """A half lost by the second of two hops is a quarter of what both wanted."""
    along = dict.fromkeys(FATES_OF_CHAIN, 0.0) | {FATES_OF_CHAIN.lost: 0.5}
    chain = workload(arm("late hop", {}, loss=0.25, late_share=0.1, **along))
    part = typed(WorkloadAnswer, chain | {"primary_metric": "end_to_end_latency_p50"})
    fates = {c.title: c.metrics for c in table_columns.of(part) if c.title in ("lost", "late")}
    assert fates == {"lost": (FATES_OF_CHAIN.lost,)}
    (lost, *_) = table_columns.fates(shown(SOUND))
    assert lost == table_columns.LOSS
    (picture,) = (one for one in figures(part) if one.key == "loss")
    assert [row["value"] for row in picture.spec["datasets"]["rows"]] == [0.5]


def test_what_decides_nothing_is_told_by_its_fate():
    undecided = {"verdict": "undecided", "against": "sound"}
    lossy = arm("lossy", undecided, qos="reliable, keep_last 10", loss=0.03)
    held = arm("held", undecided, never_sent_share=0.02, unsent_by={"sibling": 12})
    slow = arm("slow", undecided, late_share=0.04, undelivered=0.04)
    answer = typed(SuiteAnswer, {"workloads": [workload(SOUND, lossy, held, slow)]})
    lines = conclusions(answer, calibrated=True, margin=0.05, one_host=False)
    told = [line.text for line in lines if line.workload]
    assert any("messages were lost: lossy 3 %." in text for text in told)
    assert any(text.startswith("Due and never sent: held 2 % (the publish call") for text in told)
    part = shown(WAITS)
    assert facts.fates_of(part.arms[0], part).overdue == 0
    assert any(text == "Late, which best effort may be: slow 4 %." for text in told)
    assert not any("held" in text for text in told if "were lost" in text)


def test_the_verdict_of_one_arm_rests_and_those_of_two_rest_on_something():
    def told(*arms, **suite):
        answer = typed(SuiteAnswer, {"workloads": [workload(SOUND, *arms)], **suite})
        lines = conclusions(answer, calibrated=True, margin=0.05, one_host=False)
        return " ".join(line.text for line in lines)

    undecided = {"verdict": "undecided", "against": "sound"}
    lossy = [arm(name, undecided, qos="reliable", loss=0.03) for name in ("one", "two")]
    assert "Its verdict rests on latency" in told(lossy[0])
    assert "Their verdicts rest on latency" in told(*lossy)
    one, two = ({"campaign": {"trials": {"void": count}}} for count in (1, 2))
    assert "1 trial is void" in told(**one) and "no number contains it." in told(**one)
    assert "2 trials are void" in told(**two) and "no number contains them." in told(**two)


def test_arms_that_are_all_unlike_each_other_are_not_listed():
    arms = [arm(name, {"verdict": "undecided"}) | {"unlike": ["mode"]} for name in "abc"]
    unable = arm("d", {"verdict": "no data"}, failed=6)

    def told(*arms):
        answer = typed(SuiteAnswer, {"workloads": [workload(*arms)]})
        lines = conclusions(answer, calibrated=True, margin=0.05, one_host=False)
        (text,) = (line.text for line in lines if "unlike the others" in line.text)
        return text.partition(":")[0]

    assert told(*arms, unable) == "every arm"
    assert told(*arms, SOUND) == "a, b and c"
    assert told(*arms[:2]) == "a and b"


def test_of_arms_that_are_not_timed_none_has_no_data():
    """They have a table of numbers; only no verdict."""
    counted = [arm(name, {"verdict": "no data"}) | {"untimed": True} for name in ("one", "two")]
    answer = typed(SuiteAnswer, {"workloads": [workload(*counted)]})
    lines = conclusions(answer, calibrated=True, margin=0.05, one_host=False)
    assert not [line.text for line in lines if line.workload]
    assert any("This campaign counted allocations" in line.text for line in lines)


def test_each_fate_is_a_limit():
    assert {*FATES, *FATES_OF_CHAIN, "undelivered"} <= {*KEYS} and {*FATES} <= {*TOPIC_KEYS}
    limit = parse_limit("loss < 1 %, late < 2 %, never sent < 3 %")
    assert [one.metric for one in limit.conditions] == [*FATES]
    assert parse_limit(limit.text) == limit


def test_a_level_of_a_search_has_the_fates_that_there_are():
    search = typed(RaisedFactor, {"curve": [P50, P50], "title": "rate", "unit": "hz"})
    level = {"metrics": {n: metric(0.0) for n in (P50, *FATES, "achieved_rate")}, "idle": 0.5}
    held = {**level, "metrics": level["metrics"] | {"never_sent_share": metric(0.28)}}
    levels = [typed(SearchLevel, level), typed(SearchLevel, held)]

    one = SimpleNamespace(levels=levels[:1])
    assert "lost" in heads(curve(one, search)) and "never sent" not in heads(curve(one, search))
    one.levels = levels
    table = curve(one, search)
    place = heads(table).index("never sent")
    assert [row[place] for row in cells(table)] == ["0 %", "28.0 %"]
