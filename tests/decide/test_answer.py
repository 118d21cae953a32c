"""What is said of a candidate: meets, misses, open or unknown, and which limit is the reason."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rmwbench.analysis.decide.decisions import (
    CaseOutcomes,
    DecideCandidate,
    FailureCount,
    Outcome,
    UserLimit,
    Why,
    decide,
    factor_outcomes,
)
from rmwbench.analysis.decide.posterior import BlockValues, posterior
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.results.decide import decide_words

LATENCY = UserLimit("w", None, "response_latency_p99", 10e6)
LOSS = UserLimit("w", "front", "undelivered", 0.01)
CPU = UserLimit("w", None, "cpu_cores", 1.0)
RULES = Rules()
SCATTER = np.array([0.97, 1.02, 0.99, 1.03, 1.0, 0.98, 1.01, 1.0])


def blocks(values, kind="positive", of=(), campaigns=None, bound=0.0):
    values = [float(value) for value in values]
    campaigns = tuple(campaigns or (0,) * len(values))
    places = tuple(enumerate(range(len(values))))
    return BlockValues(kind, tuple(values), campaigns, places, tuple(of), bound)


def about(value, n=8):
    return blocks(value * SCATTER[:n])


def lost(counts, wanted=100_000):
    return blocks(counts, "fraction", [wanted] * len(counts))


def one(data, limits=(LATENCY, LOSS, CPU), **more):
    (answer,) = decide([DecideCandidate("x", data, **more)], list(limits), RULES)
    return answer


def of(met):
    return UserLimit(met.case, met.topic, met.metric, met.at_most)


GOOD = {LATENCY: about(5e6), LOSS: lost([0] * 8), CPU: about(0.4)}


def test_all_limits_with_room_are_met():
    answer = one(GOOD)
    assert (answer.outcome, answer.why, answer.binding) == (Outcome.MEETS, Why.LIMIT, None)
    assert answer.probability > 0.99 and answer.blocks == 8
    assert {met.outcome for met in answer.limits} == {Outcome.MEETS}


@pytest.mark.parametrize(
    ("limit", "worse"),
    [(LATENCY, about(20e6)), (LOSS, lost([5000] * 8)), (CPU, about(1.5))],
    ids=lambda x: getattr(x, "metric", ""),
)
def test_one_limit_that_is_missed_is_the_reason(limit, worse):
    answer = one({**GOOD, limit: worse})
    assert (answer.outcome, answer.why) == (Outcome.MISSES, Why.LIMIT)
    assert of(answer.binding) == limit and answer.probability < 0.001


@pytest.mark.parametrize("n", [1, 2, 4])
def test_fewer_than_five_blocks_decide_nothing_however_clear(n):
    for value in (1e6, 90e6):
        answer = one({LATENCY: about(value, n), LOSS: lost([0] * n), CPU: about(0.4, n)})
        assert (answer.outcome, answer.why) == (Outcome.OPEN, Why.TOO_FEW_BLOCKS)
        assert answer.probability is None


def test_a_metric_without_data_is_unknown_and_never_met():
    data = {limit: b for limit, b in GOOD.items() if limit != CPU}
    answer = one(data, absent={CPU: "no counters"})
    assert (answer.outcome, answer.why) == (Outcome.UNKNOWN, Why.NO_DATA)
    assert answer.binding.no_data == "no counters" and answer.probability is None
    assert one({**data, LATENCY: about(20e6)}).outcome is Outcome.MISSES


def test_blocks_that_straddle_the_limit_leave_it_open():
    answer = one({**GOOD, LATENCY: about(10e6)})
    assert (answer.outcome, answer.why) == (Outcome.OPEN, Why.INTERVAL)
    assert of(answer.binding) == LATENCY and 0.05 < answer.probability < 0.95


FEW = UserLimit("w", None, "undelivered", 0.05)


def among(limits, data, others):
    """The answer of a candidate beside `others` other candidates, which share the error."""
    rivals = [DecideCandidate(f"rival {n}", {}) for n in range(others)]
    return decide([DecideCandidate("x", data), *rivals], list(limits), RULES)[0]


def test_an_open_answer_that_looks_decided_says_what_is_asked():
    """0 % [0–4.2] of a limit of 5 % was open beside P `> 0.99`."""
    answer = among((FEW,), {FEW: lost([0] * 8, wanted=87)}, others=9)
    assert (answer.outcome, answer.why, answer.error) == (Outcome.OPEN, Why.INTERVAL, 0.005)
    assert answer.binding.measured.high < 0.05
    assert decide_words.probability(answer) == "0.993 < 0.995"
    text = "P that it is within is 0.993, and 0.995 is asked"
    assert decide_words.reason(answer).endswith(f"[0–0.843]; {text}")
    few = among((FEW, LATENCY), {FEW: lost([0] * 8, wanted=87), LATENCY: about(5e6)}, others=9)
    assert decide_words.reason(few).endswith(
        "; P of all limits together is 0.993, and 0.995 is asked"
    )
    (limit,) = (one for one in few.limits if one.metric == "undelivered")
    assert decide_words.probability(limit) == "0.993 < 0.998"  # 1 − 0.05 ÷ 10 ÷ 2
    met = among((FEW,), {FEW: lost([0] * 8, wanted=400)}, others=9)
    assert met.outcome is Outcome.MEETS and decide_words.probability(met) == "> 0.99"


def test_an_open_answer_that_looks_missed_says_what_is_asked():
    answer = among((LATENCY,), {LATENCY: about(10.24e6)}, others=9)
    assert answer.outcome is Outcome.OPEN and answer.binding.measured.low > 10e6
    assert decide_words.probability(answer.binding) == "0.006 > 0.005"
    assert decide_words.reason(answer).endswith(
        "; P that it is within is 0.006, and a miss asks for 0.005 at most"
    )
    straddles = among((LATENCY,), {LATENCY: about(10e6)}, others=9)
    assert "asked" not in decide_words.reason(straddles)


def test_what_is_asked_is_told_apart_from_what_was_found():
    """Both have as many digits as that takes."""
    answer = among((FEW,), {FEW: lost([0] * 8, wanted=87)}, others=9)
    for chance, error, text in (
        (0.99166, 1 - 0.99167, "0.99166 < 0.99167"),
        (0.9951, 0.0001, "0.9951 < 0.9999"),
    ):
        assert decide_words.probability(replace(answer, probability=chance, error=error)) == text


def test_a_candidate_whose_trials_fail_is_not_said_to_meet():
    answer = one(GOOD, failed=FailureCount(trials=1, of=9))
    assert (answer.outcome, answer.why) == (Outcome.OPEN, Why.FAILED)


def test_failed_blocks_count_as_nothing_arrived():
    broken = {LATENCY: blocks([math.inf] * 8), LOSS: lost([100_000] * 8)}
    answer = one(broken, absent={CPU: "failed"}, failed=FailureCount(trials=8, of=8))
    assert (answer.outcome, answer.why) == (Outcome.MISSES, Why.LIMIT)


def test_a_machine_without_time_is_not_a_reason_to_miss():
    bound = {"machine_bound": frozenset({"w"})}
    answer = one({**GOOD, LATENCY: about(20e6)}, **bound)
    assert (answer.outcome, answer.why) == (Outcome.OPEN, Why.MACHINE_BOUND)
    assert of(answer.binding) == LATENCY and answer.binding.outcome is Outcome.OPEN
    assert one(GOOD, **bound).outcome is Outcome.MEETS


def test_a_case_without_time_excuses_what_is_missed_in_it_and_nothing_else():
    busy = replace(LATENCY, case="busy")
    limits, bound = (LATENCY, busy), {"machine_bound": frozenset({"busy"})}
    answer = one({LATENCY: about(5e6), busy: about(20e6)}, limits, **bound)
    assert (answer.outcome, answer.why) == (Outcome.OPEN, Why.MACHINE_BOUND)
    answer = one({LATENCY: about(20e6), busy: about(40e6)}, limits, **bound)
    assert (answer.outcome, answer.why) == (Outcome.MISSES, Why.LIMIT)
    assert of(answer.binding) == LATENCY, "the worse one is excused"


def test_the_clocks_of_two_hosts_must_leave_room():
    near = about(9e6)
    assert one({**GOOD, LATENCY: near}).outcome is Outcome.MEETS
    shifted = blocks(near.values, bound=1.5e6)
    assert one({**GOOD, LATENCY: shifted}).outcome is Outcome.OPEN
    above = blocks(about(11e6).values, bound=1.5e6)
    assert one({**GOOD, LATENCY: above}).outcome is Outcome.OPEN
    assert one({**GOOD, LATENCY: blocks(above.values)}).outcome is Outcome.MISSES


def test_what_was_still_under_way_must_leave_room_too():
    """Nothing was lost, and whether two fifths would have arrived is not known."""
    none_lost = lost([0] * 8)
    assert one({**GOOD, LOSS: replace(none_lost, under_way=0.4)}).outcome is Outcome.OPEN
    assert one({**GOOD, LOSS: replace(none_lost, under_way=0.001)}).outcome is Outcome.MEETS
    assert one({**GOOD, LOSS: replace(lost([5000] * 8), under_way=0.4)}).outcome is Outcome.MISSES


def test_more_candidates_need_clearer_blocks():
    """One error is shared, so what is just decided alone is open among ten."""
    data = {LATENCY: blocks(10e6 * np.array([0.8, 1.05, 0.9, 0.97, 0.85, 1.0, 0.93, 0.9]))}
    alone = decide([DecideCandidate("x", data)], [LATENCY], RULES)[0]
    among = decide([DecideCandidate(str(n), data) for n in range(10)], [LATENCY], RULES)[0]
    assert (alone.outcome, among.outcome) == (Outcome.MEETS, Outcome.OPEN)
    assert alone.probability == among.probability


def test_campaigns_that_differ_are_not_pooled_as_one():
    values = np.concatenate([8e6 * SCATTER, 11e6 * SCATTER])
    campaigns = [0] * 8 + [1] * 8
    apart, alike = blocks(values, campaigns=campaigns), blocks(values, campaigns=[0] * 16)
    assert posterior(apart).differ and not posterior(alike).differ
    assert posterior(apart).interval()[2] > posterior(alike).interval()[2]
    same = blocks(np.tile(8e6 * SCATTER, 2), campaigns=campaigns)
    assert not posterior(same).differ
    nothing = blocks([0] * 4, "fraction", [100, 100, 5000, 5000], campaigns=[0, 0, 1, 1])
    assert not posterior(nothing).differ


def test_campaigns_that_lose_equally_many_messages_do_not_differ_by_the_rounding_of_a_mean():
    campaigns = [0] * 5 + [1] * 7
    for lost in range(1, 40):
        equal = blocks([lost] * 12, "fraction", [3000] * 12, campaigns=campaigns)
        assert not posterior(equal).differ


def test_campaigns_that_differ_are_one_observation_each_for_the_five_blocks_too():
    """Two of three blocks each said `meets` of two observations."""
    apart = blocks([9.99e6, 10e6, 10.01e6, 10.99e6, 11e6, 11.01e6], campaigns=[0, 0, 0, 1, 1, 1])
    limit = replace(LATENCY, at_most=200e6)
    answer = one({limit: apart}, (limit,))
    assert (answer.outcome, answer.why) == (Outcome.OPEN, Why.TOO_FEW_BLOCKS)
    assert answer.blocks == 2 and answer.binding.campaigns_differ and answer.probability is None
    many = blocks(np.repeat([8e6, 9e6, 10e6, 11e6, 12e6], 2), campaigns=sorted([*range(5)] * 2))
    assert one({limit: many}, (limit,)).outcome is Outcome.MEETS
    losses = blocks([90, 110, 0, 2], "fraction", [100_000] * 4, [0, 0, 1, 1])
    together = posterior(replace(losses, campaigns=(0,) * 4))
    assert posterior(losses).differ and posterior(losses).count == 2
    assert posterior(losses).interval()[2] > together.interval()[2]


class TestFlips:
    def at(self, cameras, a, b, **levels):
        return CaseOutcomes("w", {"cameras": cameras, **levels}, {"a": Outcome(a), "b": Outcome(b)})

    def test_a_candidate_that_stops_meeting_flips_and_open_levels_widen_the_gap(self):
        cases = [
            self.at(8, "misses", "meets"),
            self.at(2, "meets", "meets"),
            self.at(4, "open", "meets"),
        ]
        (ways,) = factor_outcomes(cases)
        assert [at.level for at in ways.levels] == [2, 4, 8]
        (flip,) = ways.flips
        assert (flip.arm, flip.from_, flip.to) == ("a", 2, 8)
        assert [at.meets for at in ways.levels] == [("a", "b"), ("b",), ("b",)]

    def test_who_misses_is_told_from_who_was_not_there(self):
        without = CaseOutcomes("w", {"cameras": 4}, {"a": Outcome.MISSES})
        (ways,) = factor_outcomes([self.at(2, "meets", "misses"), without])
        assert [at.misses for at in ways.levels] == [("b",), ("a",)]

    def test_unknown_and_open_never_flip(self):
        (ways,) = factor_outcomes([self.at(2, "meets", "open"), self.at(4, "unknown", "misses")])
        assert ways.flips == () and [at.open for at in ways.levels] == [("b",), ("a",)]

    def test_the_order_in_which_a_suite_names_its_factors_makes_no_other_case(self):
        few = self.at(2, "meets", "meets", loss=0.1, rate=30)
        many = self.at(4, "misses", "meets", rate=30, loss=0.1)
        (ways,) = factor_outcomes([few, many])
        assert [flip.arm for flip in ways.flips] == ["a"]

    def test_the_other_factors_stay(self):
        cases = [self.at(n, "meets", "meets", loss=loss) for n in (1, 2) for loss in (0.0, 0.1)]
        ways = factor_outcomes(cases)
        assert [(one.factor, dict(one.fixed)) for one in ways] == [
            ("cameras", {"loss": 0.0}),
            ("cameras", {"loss": 0.1}),
            ("loss", {"cameras": 1}),
            ("loss", {"cameras": 2}),
        ]
