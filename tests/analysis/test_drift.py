"""A latency that rises within the window is a moment of a ramp; one that scatters is not."""

from dataclasses import replace

import numpy as np
import pytest

from rmwbench.analysis.metrics.stability import FEWEST_ARRIVED, Drift, drift, drift_of_arm
from rmwbench.analysis.verdicts.verdict import JudgedArm
from rmwbench.results.answer import facts
from rmwbench.results.answer.headline import headline
from rmwbench.results.show_model import BufferShortfall, Settling, WorkloadAnswer
from tests.report.test_facts import part
from tests.support.judging import judged
from tests.support.typed import typed

MS = 1e6


def test_a_ramp_is_told_with_where_it_begins_and_ends():
    ramped = drift([np.linspace(5 * MS, 500 * MS, 21)])
    assert ramped is not None and ramped.rises
    assert ramped.begin_ns < 70 * MS and ramped.end_ns > 440 * MS


def queued(service_ns: float, period_ns: float) -> np.ndarray:
    """Latencies behind one server that takes so long for each."""
    due = np.arange(30) * period_ns
    done, free = [], 0.0
    for at in due:
        free = max(free, at) + service_ns
        done.append(free)
    return np.array(done) - due


def but(latencies: np.ndarray, places: list[int] | slice, value: float) -> np.ndarray:
    latencies[places] = value
    return latencies


@pytest.mark.parametrize(
    ("latencies", "way"),
    [
        pytest.param(queued(40 * MS, 33 * MS), "rises", id="served more slowly than it is filled"),
        pytest.param(np.linspace(100 * MS, 2 * MS, 40), "falls", id="falling"),
        pytest.param(
            300 * MS + np.tile([1.0, -1.0], 15) * 30 * MS, None, id="a queue that is full and stays"
        ),
        pytest.param(but(np.full(100, MS), slice(60, 66), 80 * MS), None, id="one stall"),
        pytest.param(
            but(np.linspace(5 * MS, 500 * MS, 21), [3, 4, 5, 12], np.inf),
            "rises",
            id="what never arrived is left to the losses",
        ),
        pytest.param(np.full(40, np.inf), None, id="nothing arrived"),
        *(
            pytest.param(np.linspace(MS, 100 * MS, count), None, id=f"of {count} messages")
            for count in (0, 1, FEWEST_ARRIVED - 1)
        ),
    ],
)
def test_what_drifts_and_which_way(latencies, way):
    drifted = drift([latencies])
    assert (drifted and ("rises" if drifted.rises else "falls")) == way


@pytest.mark.long
def test_noise_of_any_size_rarely_drifts_and_an_arm_of_it_never():
    rng = np.random.default_rng(3)
    trials = [drift([rng.lognormal(0, 1, 21) * MS]) for _ in range(2000)]
    assert np.mean([one is not None for one in trials]) < 0.03
    few = [drift([rng.lognormal(0, 1, FEWEST_ARRIVED + n % 6) * MS]) for n in range(2000)]
    assert np.mean([one is not None for one in few]) < 0.03
    arms = [drift_of_arm(trials[at : at + 6]) for at in range(0, 1998, 6)]
    assert not any(arms)


def test_an_arm_drifts_with_half_of_its_trials_in_one_direction_and_three_at_least():
    up, down = Drift(MS, 10 * MS), Drift(10 * MS, MS)
    assert drift_of_arm([up, up]) is None
    assert drift_of_arm([up, up, up, None, None, None, None]) is None
    assert drift_of_arm([up, up, down, down, None]) is None
    assert drift_of_arm([up, up, up, down, None]) == Drift(MS, 10 * MS, 3, 5)
    assert drift_of_arm([]) is None


def workload(levels, drifts):
    arms = [
        JudgedArm(
            name, {b: level * (1 + 0.01 * b) for b in range(6)}, {b: (0, 100) for b in range(6)}
        )
        for name, level in levels.items()
    ]
    verdicts = judged(arms)
    whole = typed(WorkloadAnswer, part(arms, verdicts) | {"workload": "w"})
    shown = tuple(replace(arm, drift=drifts.get(arm.arm)) for arm in whole.arms)
    return replace(whole, arms=shown)


RAMP = Drift(5 * MS, 500 * MS, 5, 6)


def test_an_arm_on_a_ramp_has_no_factor_in_the_sentence_nor_beside_its_verdict():
    answer = workload({"calm": 2 * MS, "slow": 4 * MS, "ramp": 194 * MS}, {"ramp": RAMP})
    assert headline(answer).answer == (
        "Take calm: it is the fastest; slow takes 2.00× as long; ramp is slower and not "
        "stationary: the latency rises within the window (5.00 ms to 500 ms)."
    )
    (ramp,) = (arm for arm in answer.arms if arm.arm == "ramp")
    assert facts.verdict_basis(ramp) == facts.verdict_basis(ramp, whole=True) == "not stationary"


def test_two_arms_that_settle_do_not_rise_or_fall():
    falls = Drift(500 * MS, 5 * MS, 5, 6)
    levels = {"calm": 2 * MS, "a": 100 * MS, "b": 110 * MS}
    settling = headline(workload(levels, {"a": falls, "b": falls})).answer
    assert "not stationary: the latency falls within the window" in settling
    mixed = headline(workload(levels, {"a": falls, "b": RAMP})).answer
    assert "the latency rises or falls within the window" in mixed


def test_where_every_arm_is_on_a_ramp_none_is_advised():
    answer = workload({"a": 100 * MS, "b": 300 * MS}, {"a": RAMP, "b": RAMP})
    (fact,) = facts.of_workload(answer)
    assert fact.all_arms and fact.arms == ("a", "b")
    assert headline(answer).answer.startswith("No arm carries this: ")
    assert headline(answer).tone == "open"


def test_an_arm_that_is_not_granted_what_it_asks_for_has_no_factor():
    answer = workload({"calm": 2 * MS, "slow": 4 * MS, "large": 30 * MS}, {})
    wish = BufferShortfall(
        side="receive", asked_bytes=16_000_000, granted_bytes=4_000_000, setting="net.core.rmem_max"
    )
    calm, slow, large = answer.arms
    shown = replace(answer, arms=(calm, slow, replace(large, ungranted=(wish,))))
    assert headline(shown).answer == (
        "Take calm: it is the fastest; slow takes 2.00× as long; large (4.00 MB granted) asks the "
        "kernel for more than it grants (net.core.rmem_max), so this is not yet its configuration "
        "(`rmwbench doctor --fix` changes that)."
    )


def test_what_a_longer_window_found_is_told():
    answer = workload({"calm": 2 * MS, "ramp": 194 * MS}, {"ramp": RAMP})
    calm, ramp = answer.arms
    for settling, told in (
        (Settling(window_s=2.8, rises=True, response_p50_ns=None), "growing on in one of 2.80 s"),
        (
            Settling(window_s=2.8, rises=False, response_p50_ns=530 * MS),
            "settled at about 530 ms in one of 2.80 s",
        ),
    ):
        shown = replace(answer, arms=(calm, replace(ramp, settling=settling)))
        assert told in headline(shown).answer
