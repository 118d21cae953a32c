"""`rmwbench published claims --save` keeps the cells that a source's figures draw, so that their
measured panels can be shipped."""

from dataclasses import replace

from rmwbench.published.campaign import OVER_TIME, CampaignArm, CampaignWorkload, MeasuredCampaign
from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.summary import json_text, machine_summary
from rmwbench.published.figures.figures_file import MeasuredFigure, measured_figures, sources
from rmwbench.published.summaries import campaigns_of
from rmwbench.results.model import Estimate, Fact

CLAIMS = Claims.model_validate(
    {
        "claims": "s",
        "title": "A source",
        "published": "2020",
        "text": "t.txt",
        "layer": "rclcpp",
        "versions": [],
        "sides": {},
        "items": [{"id": "o", "heading": "h", "says": "x", "kind": "opinion", "layer": "rclcpp"}],
        "headings": [],
    }
)
DRAWN = MeasuredFigure(
    suite="s/one", metric="cpu_cores", times="loss", workload=("w",), at={"rate_hz": 30}, x="x"
)


def arm(name, rate_hz=30, **more):
    metrics = ("cpu_cores", "loss", "rss")
    return CampaignArm(
        arm=name,
        middleware="zenoh",
        layer="native",
        version="1",
        profile="p",
        factors={"rate_hz": rate_hz},
        metrics=dict.fromkeys(metrics, Estimate(unit="1", value=1.0, trials=3)),
        per_trial={metric: {0: 1.0} for metric in metrics},
        **more,
    )


def campaign(*arms, workload="w", suite="s-one"):
    return MeasuredCampaign(
        name="c",
        suite=suite,
        created_utc="2026-11-22T00:00:00Z",
        blocks_complete=3,
        machine="2 × CPU, Linux",
        facts=(Fact(name="cores", value="2 of 2", note=None),),
        workloads=(
            CampaignWorkload(workload=f"{workload} [rate_hz=30]", name=workload, arms=arms),
        ),
    )


def test_cells_and_metrics_of_the_figures_are_kept_beside_those_of_claims():
    summary = machine_summary(
        CLAIMS, [campaign(arm("a"), arm("slow", 100), arm("floor", is_floor=True))], [DRAWN]
    )
    (again,) = campaigns_of(summary)
    (kept,) = again.workloads[0].arms
    assert (kept.arm, set(kept.metrics)) == ("a", {"cpu_cores", "loss"})
    assert set(kept.per_trial) == {"cpu_cores", "loss"}
    assert json_text(summary).count("rss") == 0


def test_nothing_is_kept_of_other_workloads_and_suites():
    assert machine_summary(CLAIMS, [campaign(arm("a"), workload="v")], [DRAWN]) is None
    other = campaign(arm("a"), suite="t")
    assert machine_summary(CLAIMS, [other], [DRAWN]) is None
    assert machine_summary(CLAIMS, [campaign(arm("a"))]) is None, "no claim asks for it"


def test_what_is_drawn_second_by_second_is_kept():
    one = MeasuredFigure(suite="s/one", metric="delivered", x="second")
    there = {
        "delivered": ((1, 29.966666), (2, 30.0)),
        "sent": ((1, 30.0),),
        "latency_by_second": None,
    }
    timed = replace(arm("a"), by_second=there)
    (again,) = campaigns_of(machine_summary(CLAIMS, [campaign(timed)], [one, DRAWN]))
    (kept,) = again.workloads[0].arms
    assert set(kept.metrics) == {"cpu_cores", "loss"}
    assert kept.by_second == {"delivered": ((1, 29.967), (2, 30.0))}, "what a figure draws"
    long = MeasuredFigure(suite="s/one", metric="latency_by_second", x="second")
    (again,) = campaigns_of(machine_summary(CLAIMS, [campaign(timed)], [long]))
    assert again.workloads[0].arms[0].by_second == {"latency_by_second": None}, "too many messages"


def test_every_shipped_source_names_what_it_draws():
    for name in sources():
        assert {metric for one in measured_figures(name) for metric in one.metrics} - set(
            OVER_TIME
        ), name
    assert measured_figures("no such source") == []
