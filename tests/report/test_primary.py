"""A workload is judged by any metric, a larger one being better or worse: the headline names it, and
who delivers stands before who is fast."""

import pytest

from rmwbench.analysis.metrics.fates import FateCounts
from rmwbench.analysis.metrics.glossary import METRICS, Use
from rmwbench.analysis.verdicts import best
from rmwbench.analysis.verdicts.ranking_words import is_resource, words
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules
from rmwbench.results.answer import facts as said
from rmwbench.results.answer.headline import headline
from rmwbench.results.model import document as written
from rmwbench.results.show_model import WorkloadAnswer
from rmwbench.suite.workload.workload import Workload as Asked
from tests.support.typed import exact, typed

RATE, MEDIAN, CALL = "achieved_rate", "response_latency_p50", "publish_call_p50"
UNITS = {RATE: "hz", MEDIAN: "ns", CALL: "ns"}
BLOCKS = 6
NOISE = (0.99, 1.01, 1.0, 0.995, 1.005, 1.002)


def part(metric, **arms):
    """A workload that is judged by the metric: arm -> (its value, messages undelivered of a thousand
    in each block)."""
    order = words(metric)
    judged = [
        JudgedArm(
            name,
            {
                block: order.as_lower_is_better(value * NOISE[(block + at) % BLOCKS])
                for block in range(BLOCKS)
            },
            {block: (lost, 1000) for block, lost in enumerate(missing)},
            reliable=False,
            order=order,
            fates={block: FateCounts(1000, lost, 0, 0, {}) for block, lost in enumerate(missing)},
        )
        for at, (name, (value, missing)) in enumerate(arms.items())
    ]
    verdicts = best.judge({"w": judged}, Rules())["w"]
    shown = []
    for arm in judged:
        value, missing = arms[arm.name]
        lost = sum(missing) / 1000 / BLOCKS
        shares = dict.fromkeys(("undelivered", "loss"), lost)
        entries = {metric: exact(value, UNITS[metric], trials=6)}
        entries |= {name: exact(share) for name, share in shares.items()}
        per_trial = [{"trial": b, "block": b, "value": n / 1000} for b, n in enumerate(missing)]
        shown.append(
            {
                "arm": arm.name,
                "role": "contender",
                "qos": "best_effort",
                "metrics": entries,
                "per_trial": {"undelivered": per_trial},
                "times_floor": {"no_data": "none"},
                "trials": {"done": BLOCKS},
                "verdict": written(verdicts[arm.name]),
            }
        )
    return typed(WorkloadAnswer, {"workload": "w", "primary_metric": metric, "arms": shown})


WHOLE = (0,) * BLOCKS
EACH = (90, 520, 300, 10, 600, 200)
SOME = (0, 0, 3, 0, 0, 0)


def test_the_larger_rate_is_the_better_one_and_the_headline_names_it():
    workload = part(RATE, slow=(1e6, WHOLE), fast=(2e6, WHOLE))
    assert said.verdict_of(workload.arms[1]) == "best"
    worse = workload.arms[0].verdict
    assert worse.verdict == "worse" and worse.ratio.value == pytest.approx(0.5, rel=0.02)
    assert worse.ratio.low < worse.ratio.value < worse.ratio.high < 1
    assert worse.reason.startswith("0.5× fast")
    assert headline(workload).answer == (
        "Take fast: it has the highest achieved rate; slow reaches 0.500× as much."
    )


def test_who_loses_in_each_block_is_not_offered_beside_who_delivers_all():
    workload = part(MEDIAN, one=(1e6, WHOLE), other=(1.001e6, EACH), third=(1e6, WHOLE))
    (fact, *_) = said.of_workload(workload)
    assert isinstance(fact, said.DeliverAll), fact
    assert set(fact.arms) == {"one", "third"} and dict(fact.others).keys() == {"other"}
    assert headline(workload).answer.startswith("Take one or third")


def test_a_loss_in_one_block_is_told_and_takes_nobody_out():
    workload = part(MEDIAN, one=(1e6, WHOLE), other=(1e6, SOME))
    text = headline(workload).answer
    assert "one or other" in text and "other loses 0.05 % of its messages" in text


def test_with_unlike_delivery_the_headline_is_a_trade_off_in_both_numbers():
    one = part(MEDIAN, fast=(1e6, (0, 50, 20, 0, 30, 10)), whole=(1.5e6, WHOLE))
    text = headline(one).answer
    assert text.startswith(
        "Take whole if every message counts: it delivers them all and takes 1.50× as long as fast, "
        "which loses 1.8 % of its messages;"
    )
    assert "take fast: it is the fastest, although it loses" in text


def test_what_sends_as_fast_as_it_can_is_judged_by_what_gets_through():
    sending = {"name": "x", "message": "Bytes(64)"}
    saturation = {"kind": "saturation", "limit": 1000}
    assert Asked.model_validate(sending | {"arrival": saturation}).primary_metric == RATE
    assert Asked.model_validate(sending | {"rate_hz": 10}).primary_metric == MEDIAN
    said_so = sending | {"arrival": saturation, "primary_metric": CALL}
    assert Asked.model_validate(said_so).primary_metric == CALL


@pytest.mark.parametrize(
    "metric", [RATE, "achieved_throughput", "delivery", "cpu_per_message", "pss"]
)
def test_a_workload_may_be_judged_by_what_gets_through_and_by_what_it_costs(metric):
    asked = {"name": "x", "message": "Bytes(64)", "rate_hz": 10, "primary_metric": metric}
    assert Asked.model_validate(asked).primary_metric == metric
    with pytest.raises(ValueError, match="unknown primary_metric"):
        Asked.model_validate(asked | {"primary_metric": "offered_rate"})


def test_a_resource_is_what_an_idle_process_has_too():
    """`recovery_bytes` is in bytes and rests on messages, as the CPU per message does."""
    resources = {m.name for m in METRICS if Use.PRIMARY in m.use and is_resource(m.name)}
    assert resources == {"cpu_cores", "pss", "rss", "peak_rss", "bring_up_time"}
    assert not is_resource("recovery_bytes") and not is_resource("link_bytes_per_payload_byte")


def test_a_metric_that_this_version_does_not_know_is_not_called_fast():
    """It had the words of latency."""
    order = words("jitter_of_another_version")
    assert order.best == "is the best by jitter_of_another_version"
    assert "jitter_of_another_version" in order.behind_of("a") and "fast" not in order.good
