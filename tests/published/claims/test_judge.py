"""A campaign under way, as `claims run` looks at it, is what its ledger judges afterwards: the same
values, the same lost blocks, the same machine, and so the same answer."""

import dataclasses

import pytest

from rmwbench.bundle import Bundle
from rmwbench.published.campaign import of_shown
from rmwbench.published.claims.campaign.judge import Judge
from rmwbench.published.claims.judge import today
from rmwbench.results.show import summarise
from tests.published.claims.asking import one_claim
from tests.support import synthetic_bundle

BLOCKS = 6
METRICS = ("service_latency_p50", "achieved_rate", "loss")
ABOUT = (
    *("arm", "middleware", "layer", "version", "factors", "touch", "machine_bound"),
    *("lost_blocks", "done", "lost_all"),
)
CLAIMS = {
    "claims": "s",
    "title": "t",
    "published": "2020",
    "text": "x.txt",
    "layer": "native",
    "sides": {"zenoh": ["zenoh tuned"], "fast": ["fastdds untouched"]},
}


def asked(conditions=None, **test):
    return one_claim(
        {**CLAIMS, "conditions": conditions or {}},
        {"suite": "fixture", "workload": "camera", "left": "zenoh", **test},
    )


def campaigns(directory, fails):
    """Under way, and shown."""
    arms = tuple(
        dataclasses.replace(arm, fails=fails if arm.fails else ())
        for arm in synthetic_bundle.ARMS
        if arm.arm in ("zenoh tuned", "fastdds untouched")
    )
    path = synthetic_bundle.write(directory, blocks=BLOCKS, arms=arms, workloads=("camera",))
    bundle = Bundle(path)
    return Judge(bundle, METRICS).campaign(), of_shown(summarise(bundle))


@pytest.mark.parametrize("fails", [(), (2,), (1, 2, 3), tuple(range(BLOCKS))])
def test_a_look_has_the_numbers_of_the_ledger(tmp_path, fails):
    under_way, shown = campaigns(tmp_path / "bundle", fails)
    for name in ("name", "suite", "created_utc", "machine", "facts"):
        assert getattr(under_way, name) == getattr(shown, name)
    (mine,), (theirs,) = under_way.workloads, shown.workloads
    for one, other in zip(mine.arms, theirs.arms, strict=True):
        for name in ABOUT:
            assert getattr(one, name) == getattr(other, name), name
        for name in METRICS:
            assert one.metrics[name] == other.metrics[name]
            values = one.per_trial.get(name, {})
            assert values == pytest.approx(other.per_trial.get(name, {}), rel=1e-5)
    (fast,) = (arm for arm in mine.arms if arm.middleware == "fastdds")
    assert (fast.lost_blocks, fast.done) == (fails, BLOCKS - len(fails))


@pytest.mark.parametrize(
    ("test", "fails", "answer"),
    [
        ({"metric": "service_latency_p50", "relation": "less"}, (), "holds"),
        ({"metric": "service_latency_p50", "relation": "less"}, (1, 2, 3), "undecided"),
        ({"metric": "achieved_rate", "relation": "within", "factor": 1.1}, (), "holds"),
        ({"metric": "achieved_rate", "relation": "within", "factor": 1.1}, (1, 2, 3), "undecided"),
    ],
)
def test_a_look_answers_as_the_ledger_and_not_by_the_survivors(tmp_path, test, fails, answer):
    claims = asked(right="fast", **test)
    found = [
        today(claims, claims.items[0], one)[0] for one in campaigns(tmp_path / "bundle", fails)
    ]
    assert [one.answer for one in found] == [answer, answer]
    assert [cell.blocks for one in found for cell in one.cells] == [BLOCKS, BLOCKS]


@pytest.mark.parametrize(
    ("processors", "answer"), [(2, "holds"), (16, "no data")], ids=["this class", "another"]
)
def test_a_look_knows_the_machine_that_an_absolute_number_is_of(tmp_path, processors, answer):
    claims = asked(
        metric="achieved_rate",
        relation="greater",
        level=10.0,
        of_machine=True,
        conditions={"processors": processors},
    )
    for one in campaigns(tmp_path / "bundle", ()):
        assert today(claims, claims.items[0], one)[0].answer == answer
