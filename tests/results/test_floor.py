"""A floor below which an arm is decided to be is not called a lower bound."""

import pytest

from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.show_model import SuiteAnswer
from tests.support.typed import typed


def arm(name, value, low, high, family="copy"):
    ratio = {"value": value, "low": low, "high": high, "blocks": 6}
    return {
        "arm": name,
        "family": family,
        "role": "contender",
        "times_floor": ratio,
        "verdict": {"verdict": "undecided"},
        "trials": {"done": 6},
    }


def floor(name, family="copy"):
    return {"arm": name, "family": family, "role": "floor"}


def told(*arms, primary="response_latency_p50"):
    workload = {
        "workload": "w",
        "primary_metric": primary,
        "arms": list(arms),
        "topic_names": ["t"],
    }
    shown = typed(SuiteAnswer, {"workloads": [workload], "campaign": {"blocks_complete": 6}})
    lines = conclusions(shown, calibrated=True, margin=0.05, one_host=True)
    return [line.text for line in lines if "bound here" in line.text]


def test_an_arm_below_its_floor_takes_the_floor_its_name():
    (line,) = told(floor("floor futex"), arm("quick one", 0.49, 0.47, 0.51))
    assert line.startswith("floor futex is no lower bound here: below it is quick one (0.490×")


def test_a_floor_of_a_rate_is_an_upper_bound():
    (line,) = told(floor("floor futex"), arm("a", 1.3, 1.2, 1.4), primary="achieved_rate")
    assert line.startswith("floor futex is no upper bound here: above it is a (1.30×")
    assert told(floor("floor futex"), arm("a", 0.5, 0.4, 0.6), primary="achieved_rate") == []


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (0.49, 0.2, 1.1),  # by luck
        (0.97, 0.96, 0.98),  # within the margin, below which nothing is claimed
        (1.9, 1.8, 2.0),
    ],
)
def test_noise_says_nothing(value, low, high):
    assert told(floor("floor futex"), arm("a", value, low, high)) == []


def test_each_family_has_its_own_floor():
    (line,) = told(
        floor("floor futex"),
        floor("floor loan", "loan"),
        arm("a", 1.2, 1.1, 1.3),
        arm("b", 0.5, 0.4, 0.6, "loan"),
        arm("c", 0.6, 0.5, 0.7, "loan"),
    )
    assert line.startswith("By loan: floor loan is no lower bound here: below it are b (0.500×")


def test_arms_by_loan_alone_have_the_floor_by_loan():
    """The floor by copy, which is first, was called no lower bound."""
    floors = floor("floor futex"), floor("floor loan", "loan")
    (line,) = told(*floors, arm("b", 0.5, 0.4, 0.6, "loan"))
    assert line.startswith("floor loan is no lower bound here: below it is b (0.500×")
