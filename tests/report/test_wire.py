"""Links, outages and late nodes in the report: the numbers that the fixture put in come out, in
every rendering."""

import dataclasses
import json

import pytest

from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.bundle import Bundle
from rmwbench.report.chart.workload_charts import figures
from rmwbench.results.model import document as answer_document
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import WorkloadArm
from rmwbench.results.workload.groups import slowest
from tests.support import network_bundle
from tests.support.network_bundle import ARMS
from tests.support.shown import arm_of
from tests.support.typed import exact, typed


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return Bundle(network_bundle.write(tmp_path_factory.mktemp("network") / "c"))


@pytest.fixture(scope="module")
def shown(bundle):
    return summarise(bundle)


@pytest.fixture(scope="module")
def document(shown):
    return answer_document(shown)


@pytest.mark.parametrize(
    ("begin_s", "end_s", "when"),
    [
        (1.0, 2.5, "1 s to 2.5 s"),
        (999.6, 1234.6, "1\u202f000 s to 1\u202f235 s"),  # 1e+03 s to 1.23e+03 s
        (0.25, None, "0.25 s to the end"),
        (3.0, 3.0, "3 s"),
    ],
)
def test_the_time_of_an_interruption_has_no_exponent(begin_s, end_s, when):
    stream = {"topic": "scan", "writer": "a", "reader": "b", "recovery_time": exact(2e9, "ns")}
    outage = {"kind": "link", "who": "robot", "what": "away", "streams": [stream]}
    outage |= {"begin_s": begin_s, "end_s": end_s}
    ((interruption, time, *_),) = slowest(typed(WorkloadArm, {"network": {"outages": [outage]}}))
    assert (interruption, time) == ("robot: away", when)


def value(document, workload, name, metric):
    return arm_of(document, workload, name)["metrics"][metric]["value"]


def test_the_time_to_recover_is_the_one_that_was_put_in(document):
    for one in ARMS:
        assert value(document, "range", one.arm, "recovery_time") == one.recovery_ns
        (outage,) = arm_of(document, "range", one.arm)["network"]["outages"]
        assert (outage["who"], outage["what"], outage["begin_s"]) == ("robot", "blackhole", 1)
        assert outage["end_s"] == 2
        assert outage["streams"][0]["recovery_time"]["value"] == one.recovery_ns
    ranked = {a["arm"]: a["verdict"]["verdict"] for a in document["workloads"][0]["arms"]}
    assert ranked["zenoh"] == "best"


def test_what_the_outage_lost_and_what_it_delayed(document):
    in_outage = (network_bundle.UP_NS - network_bundle.DOWN_NS) // network_bundle.PERIOD_NS
    for one in ARMS:
        assert value(document, "range", one.arm, "repaired_after_outage") == network_bundle.REPAIRED
        assert (
            value(document, "range", one.arm, "lost_in_outage")
            == in_outage - network_bundle.REPAIRED
        )
        # the first after the return is the one that came
        before = one.recovery_ns // network_bundle.PERIOD_NS - 1
        assert value(document, "range", one.arm, "lost_before_recovery") == before
        assert value(document, "range", one.arm, "lost_after_recovery") == 0


def test_discovery_is_told_from_delivery(document):
    for one in ARMS:
        total = network_bundle.LENGTH_NS // network_bundle.PERIOD_NS
        before = one.discovery_ns // network_bundle.PERIOD_NS
        # A message sent just then may still be lost three times: at most a few of five trials'
        # thousand.
        assert value(document, "lossy", one.arm, "lost_in_discovery") == pytest.approx(
            before / total, abs=0.01
        )
        unmatched = -(-one.discovery_ns // 2 // network_bundle.PERIOD_NS)
        assert value(document, "lossy", one.arm, "lost_unmatched") == pytest.approx(
            unmatched / total, abs=0.001
        )
        three_times = (1 - (1 - network_bundle.LOSS) ** 2) ** 3
        metric = arm_of(document, "lossy", one.arm)["metrics"]["lost_after_first"]
        assert metric["low"] <= three_times <= metric["high"] * 2


def test_losses_are_on_the_link_where_they_were_put(document):
    for one in ARMS:
        links = {
            (x["host"], x["direction"]): x
            for x in arm_of(document, "lossy", one.arm)["network"]["links"]
        }
        for link, verdict in ((("robot", "up"), "lost_up"), (("base", "down"), "lost_down")):
            assert links[link]["verdicts"].keys() == {verdict}
            assert (
                links[link]["lost"]["low"]
                <= network_bundle.LOSS
                <= links[link]["lost"]["high"] * 1.2
            )
        assert links["base", "up"]["verdicts"] == {}
        away = {
            (x["host"], x["direction"]): x["verdicts"]
            for x in arm_of(document, "range", one.arm)["network"]["links"]
        }
        assert "blackhole" in away["robot", "up"] and "blackhole" in away["robot", "down"]
        assert "blackhole" not in away["base", "up"] and "blackhole" not in away["base", "down"]


def test_the_network_explains_losses_and_tails(document):
    """Repaired messages waited for the link or a repeat; no history is blamed for what a link
    lost."""
    (tail,) = arm_of(document, "range", "zenoh")["tails"]
    assert tail["causes"][0]["cause"] == "link away"
    (tail,) = arm_of(document, "range", "fastdds")["tails"]
    assert tail["causes"][0]["cause"] == "frame lost"
    for one in ARMS:
        places = arm_of(document, "range", one.arm)["losses"]["places"]
        assert {place["place"] for place in places} == {
            "link robot up: out of range",
            "link base down: random loss",
        }


def test_bytes_by_class_add_up(document):
    for one in ARMS:
        metrics = arm_of(document, "range", one.arm)["metrics"]
        whole = metrics["link_bytes_per_payload_byte"]["value"]
        parts = [
            m["value"]
            for name, m in metrics.items()
            if name.startswith("link_bytes_per_payload_byte_")
        ]
        assert len(parts) == 5
        assert sum(parts) == pytest.approx(whole, rel=1e-4)
        assert sum(
            x["share"] for x in arm_of(document, "range", one.arm)["network"]["sent"]
        ) == pytest.approx(1, abs=1e-4)


def test_the_picture_has_a_panel_per_arm_with_its_outage(shown):
    drawn = {f.key: f.spec for f in figures(shown.workloads[0])}
    rows = drawn["delivered"]["datasets"]["points"]
    assert {row["n"] for row in rows} == {0, 1, 2}
    for panel in range(3):
        (band,) = [row for row in rows if row["n"] == panel and row["kind"] == "outage"]
        assert (band["t"], band["t2"], band["moment"]) == (1, 2, False)
        mean = [
            row["y"]
            for row in rows
            if row["n"] == panel and row["kind"] == "mean" and 1 <= row["t"] < 1.95
        ]
        assert mean and max(mean) == 0
        trials = {row["line"] for row in rows if row["n"] == panel and row["kind"] == "trial"}
        assert len(trials) == 5


def test_a_workload_stands_beside_the_one_that_it_names(document):
    """Each arm's median is the same in both workloads of the fixture, and the ratio is of
    blocks."""
    beside, alone = document["workloads"][1], document["workloads"][0]
    assert alone["effects"] == []
    assert [one["against"] for one in beside["effects"]] == [f"{one.arm} in range" for one in ARMS]
    for one in beside["effects"]:
        assert one["ratios"]["response_latency_p50"] == {
            "value": 1,
            "low": 1,
            "high": 1,
            "blocks": 5,
            "answer": "equivalent",
        }
        assert "undelivered" in one["text"]


def test_with_a_focus_other_topics_are_load(bundle):
    """Latencies are of the focus; what a message costs is shared by all."""
    evidence = next(bundle.evidence(bundle.trials("done")[:1]))
    whole = measure_trial(evidence)
    definition = json.loads(evidence.definition)
    definition["workload"]["focus"] = ["another"]
    other = measure_trial(dataclasses.replace(evidence, definition=json.dumps(definition)))
    assert whole.messages.ledger.wanted == 200
    assert other.messages.ledger.wanted == 0
    assert "recovery_time" in whole.values and "recovery_time" not in other.values
    for metric in ("link_bytes_per_payload_byte", "link_utilisation"):
        assert other.values[metric] == whole.values[metric]
