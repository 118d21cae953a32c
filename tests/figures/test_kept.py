"""`rmwbench claims --save` keeps the cells that a source's figures draw: their measured panels can
be shipped."""

from rmwbench.evaluations.claims.measured import expanded, measured, text
from rmwbench.evaluations.claims.model import Claims
from rmwbench.evaluations.figures.model import OVER_TIME, Measured, drawn_of, sources

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
    metrics = {
        name: {"unit": "1", "value": 1.0, "trials": 3} for name in ("cpu_cores", "loss", "rss")
    }
    per_trial = {name: [{"block": 0, "value": 1.0}] for name in metrics}
    about = {
        "arm": name,
        "middleware": "zenoh",
        "layer": "native",
        "version": "1",
        "profile": "p",
        "role": "contender",
    }
    return (
        about | {"factors": {"rate_hz": rate_hz}, "metrics": metrics, "per_trial": per_trial} | more
    )


def shown(*arms, workload="w"):
    return {
        "campaign": {
            "name": "c",
            "suite": "s-one",
            "created_utc": "2026-11-22T00:00:00Z",
            "blocks_complete": 3,
        },
        "machine": {"summary": "2 × CPU, Linux", "facts": [{"name": "cores", "value": "2 of 2"}]},
        "workloads": [{"workload": f"{workload} [rate_hz=30]", "arms": list(arms)}],
    }


def test_cells_and_metrics_of_the_figures_are_kept_beside_those_of_claims():
    found = measured(
        CLAIMS, [shown(arm("a"), arm("slow", 100), arm("floor", role="floor"))], [DRAWN]
    )
    (document,) = expanded(found)
    (kept,) = document["workloads"][0]["arms"]
    assert (kept["arm"], set(kept["metrics"]), set(kept["per_trial"])) == (
        "a",
        {"cpu_cores", "loss"},
        {"cpu_cores", "loss"},
    )
    assert text(found).count("rss") == 0


def test_nothing_is_kept_of_other_workloads_and_suites():
    assert measured(CLAIMS, [shown(arm("a"), workload="v")], [DRAWN]) is None
    other = shown(arm("a"))
    other["campaign"]["suite"] = "t"
    assert measured(CLAIMS, [other], [DRAWN]) is None
    assert measured(CLAIMS, [shown(arm("a"))]) is None, "no claim asks for it"


def test_what_arrives_over_time_is_not_a_metric_to_keep():
    one = Measured(suite="s/one", metric="delivered", x="second")
    (document,) = expanded(measured(CLAIMS, [shown(arm("a"))], [one, DRAWN]))
    assert set(document["workloads"][0]["arms"][0]["metrics"]) == {"cpu_cores", "loss"}


def test_every_shipped_source_names_what_it_draws():
    for name in sources():
        assert {metric for one in drawn_of(name) for metric in one.metrics} - set(OVER_TIME), name
    assert drawn_of("no such source") == []
