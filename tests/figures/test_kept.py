"""`rmwbench claims --save` keeps the cells that a source's figures draw: their measured panels can
be shipped."""

from rmwbench.evaluations.campaign import Arm, Campaign, Workload
from rmwbench.evaluations.claims.measured import expanded, measured, text
from rmwbench.evaluations.claims.model import Claims
from rmwbench.evaluations.figures.model import OVER_TIME, Measured, drawn_of, sources
from rmwbench.results.model import Fact, Metric

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
DRAWN = Measured(
    suite="s/one", metric="cpu_cores", times="loss", workload=("w",), at={"rate_hz": 30}, x="x"
)


def arm(name, rate_hz=30, **more):
    metrics = ("cpu_cores", "loss", "rss")
    return Arm(
        arm=name,
        middleware="zenoh",
        layer="native",
        version="1",
        profile="p",
        factors={"rate_hz": rate_hz},
        metrics=dict.fromkeys(metrics, Metric(unit="1", value=1.0, trials=3)),
        per_trial={metric: {0: 1.0} for metric in metrics},
        **more,
    )


def campaign(*arms, workload="w", suite="s-one"):
    return Campaign(
        name="c",
        suite=suite,
        created_utc="2026-11-22T00:00:00Z",
        blocks_complete=3,
        machine="2 × CPU, Linux",
        facts=(Fact(name="cores", value="2 of 2", note=None),),
        workloads=(Workload(workload=f"{workload} [rate_hz=30]", arms=arms),),
    )


def test_cells_and_metrics_of_the_figures_are_kept_beside_those_of_claims():
    found = measured(
        CLAIMS, [campaign(arm("a"), arm("slow", 100), arm("floor", is_floor=True))], [DRAWN]
    )
    (again,) = expanded(found)
    (kept,) = again.workloads[0].arms
    assert (kept.arm, set(kept.metrics), set(kept.per_trial)) == (
        "a",
        {"cpu_cores", "loss"},
        {"cpu_cores", "loss"},
    )
    assert text(found).count("rss") == 0


def test_nothing_is_kept_of_other_workloads_and_suites():
    assert measured(CLAIMS, [campaign(arm("a"), workload="v")], [DRAWN]) is None
    other = campaign(arm("a"), suite="t")
    assert measured(CLAIMS, [other], [DRAWN]) is None
    assert measured(CLAIMS, [campaign(arm("a"))]) is None, "no claim asks for it"


def test_what_arrives_over_time_is_not_a_metric_to_keep():
    one = Measured(suite="s/one", metric="delivered", x="second")
    (again,) = expanded(measured(CLAIMS, [campaign(arm("a"))], [one, DRAWN]))
    assert set(again.workloads[0].arms[0].metrics) == {"cpu_cores", "loss"}


def test_every_shipped_source_names_what_it_draws():
    for name in sources():
        assert {metric for one in drawn_of(name) for metric in one.metrics} - set(OVER_TIME), name
    assert drawn_of("no such source") == []
