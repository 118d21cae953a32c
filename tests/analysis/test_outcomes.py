"""What becomes of an arm and of a condition: intervals against limits, and nothing settled that is
open."""

import itertools
import math
from dataclasses import replace

import pytest

from rmwbench.analysis.verdicts.limit_outcomes import (
    MEETS,
    MISSES,
    NONE,
    NOT_SUPPORTED,
    OPEN,
    UNKNOWN,
    ArmJudgement,
    AtMost,
    NothingArrives,
    Tried,
    Why,
    counts_under_way,
    of_arm,
    of_condition,
    of_topics,
)
from rmwbench.results.explain.explain_model import UndoneTrial
from rmwbench.results.model import Estimate

ACCEPTED = (
    AtMost(metric="undelivered", at_most=0.01),
    AtMost(metric="service_latency_p50", at_most=30e6),
)
NOTHING = NothingArrives(metric="undelivered", at_least=0.95)
MS = 1e6
INITIALS = {MEETS: "m", MISSES: "i", NONE: "n"}


def interval(low, high, unit="ns", count=None):
    return Estimate(unit=unit, value=low, low=low, high=high, count=count)


def arm(lost=(0.0, 0.005), latency=(1 * MS, 2 * MS), *, nothing=False, done=5, **more):
    metrics = {
        "undelivered": interval(*lost, "fraction", 1000),
        "service_latency_p50": latency if isinstance(latency, Estimate) else interval(*latency),
    }
    return Tried(done=done, metrics=metrics, nothing_arrived=nothing, **more)


def waiting(count, **more):
    """Of 1000 messages so many were still under way when the trials ended."""
    return arm(**more, under_way={"undelivered": count})


def failed(cause=None, failed_by=None):
    return UndoneTrial(
        trial=7,
        block=0,
        status="failed",
        reason="it died\nstderr: …",
        cause=cause,
        failed_by=failed_by,
        codes=(),
    )


BOUND = 5
SILENT = [failed("no match")]


@pytest.mark.parametrize(
    ("one", "outcome", "may"),
    [
        (arm(), "meets", "m"),
        (arm(lost=(0.0, 0.0)), "meets", "m"),
        (arm(lost=(0.0, 0.02)), "open", "mi"),
        (arm(lost=(0.02, 0.2)), "misses", "i"),
        (arm(latency=(31 * MS, 50 * MS)), "misses", "i"),
        (arm(latency=(10 * MS, 50 * MS)), "open", "mi"),
        # One limit missed for certain is enough, whatever the other may be.
        (arm(lost=(0.0, 0.02), latency=(31 * MS, 50 * MS)), "misses", "i"),
        (arm(latency=Estimate(unit="ns", no_data="n is 3")), "open", "mi"),
        (arm(latency=Estimate(unit="ns", at_least=5 * MS)), "open", "mi"),
        (arm(latency=Estimate(unit="ns", at_least=40 * MS)), "misses", "i"),
        (arm(latency=interval(math.inf, math.inf)), "misses", "i"),
        (arm(latency=interval(1e6, math.inf)), "open", "mi"),
        (arm(lost=(0.97, 1.0), nothing=True), "none", "n"),
        (arm(lost=(0.90, 1.0), nothing=True), "open", "in"),
        # One message arrived: not none, however little is delivered.
        (arm(lost=(0.97, 0.9999)), "misses", "i"),
        # Below five blocks no interval decides; that a message arrived is none.
        (arm(done=4), "open", "mi"),
        (arm(done=4, lost=(0.02, 0.2)), "open", "mi"),
        (arm(done=4, lost=(0.97, 1.0), nothing=True), "open", "min"),
        (arm(done=2, lost=(0.97, 1.0), nothing=True, failures=SILENT * 3), "none", "n"),
        (arm(done=2, lost=(0.02, 0.2), failures=SILENT * 3), "open", "mi"),
        (arm(done=0), "unknown", "min"),
        (arm(done=0, failures=[failed()] * 3), "unknown", "min"),
        (arm(done=0, failures=SILENT * 5), "none", "n"),
        (arm(done=0, failures=SILENT * 4), "open", "min"),
        # Trials that never matched are in no metric: what is left looks too good.
        (arm(failures=[failed("no delivery")]), "open", "mi"),
        # Nor are trials that the arm broke: it may work in six of ten, and no robot takes it for
        # that.
        (arm(failures=[failed()]), "open", "mi"),
        (arm(lost=(0.02, 0.2), failures=[failed()]), "misses", "i"),
        (arm(failures=[failed(failed_by="host")]), "meets", "m"),
        (arm(failures=[replace(failed(), status="void")]), "meets", "m"),
        (arm(machine_bound=BOUND), "meets", "m"),
        (arm(lost=(0.02, 0.2), machine_bound=BOUND), "open", "mi"),
        (arm(lost=(0.97, 1.0), nothing=True, machine_bound=BOUND), "open", "min"),
        (arm(not_supported="no hosts"), "not supported", ""),
        # Nothing is lost, but two fifths had not arrived when the trials ended: whether they would
        # have is not known.
        (waiting(400), "open", "mi"),
        (waiting(2), "meets", "m"),
        (waiting(400, lost=(0.02, 0.2)), "misses", "i"),
        (waiting(400, latency=(31 * MS, 50 * MS)), "misses", "i"),
    ],
)
def test_an_arm_is_judged_by_whole_intervals(one, outcome, may):
    judgement = of_arm(ACCEPTED, NOTHING, one, 5)
    assert (judgement.outcome, {INITIALS[name] for name in judgement.may}) == (outcome, set(may))


def test_blocks_settle_no_limit_of_a_metric_that_no_trial_has():
    """They were asked for: a campaign that ends by its limits ran until its last block."""
    limits = (*ACCEPTED, AtMost(metric="pss", at_most=4e8))
    unread = {"pss": Estimate(unit="bytes", no_data="smaps is not readable")}
    without = replace(arm(), metrics={**arm().metrics, **unread})
    judgement = of_arm(limits, NOTHING, without, 5)
    assert (judgement.outcome, judgement.why, judgement.metric) == (OPEN, Why.NO_DATA, "pss")
    wide = replace(without, metrics={**arm(lost=(0.0, 0.02)).metrics, **unread})
    open_by_both = of_arm(limits[::-1], NOTHING, wide, 5)
    assert (open_by_both.why, open_by_both.metric) == (Why.INTERVAL, "undelivered")
    few = arm(latency=Estimate(unit="ns", no_data="p50 needs 20 messages, there are 3"))
    assert of_arm(ACCEPTED, NOTHING, few, 5).why == Why.INTERVAL
    assert of_topics({"a": judgement, "b": open_by_both})[1] == "b"


@pytest.mark.parametrize(("count", "outcome"), [(400, OPEN), (2, MEETS)])
@pytest.mark.parametrize(
    ("metric", "undelivered", "counted_in"),
    [
        pytest.param("end_to_end_undelivered", "end_to_end_undelivered", "chain", id="of a chain"),
        pytest.param("lost_after_first", "undelivered", "ledger", id="of late nodes"),
    ],
)
def test_a_limit_has_room_for_what_is_under_way(metric, undelivered, counted_in, count, outcome):
    assert counts_under_way(metric) == counted_in
    one = arm(under_way={metric: count})
    one = replace(one, metrics={metric: interval(0.0, 0.005, "fraction", 1000)})
    nothing = NothingArrives(metric=undelivered, at_least=0.95)
    assert of_arm([AtMost(metric=metric, at_most=0.01)], nothing, one, 5).outcome == outcome


NAMES = {"a": MEETS, "d": MISSES, "n": NONE}


def judged(may):
    """By the initials of what it may be; `?` has no data, nothing is not supported."""
    outcome = {"": NOT_SUPPORTED, "?": UNKNOWN}.get(may) or (NAMES[may] if len(may) == 1 else OPEN)
    return ArmJudgement(outcome, frozenset(NAMES[c] for c in may.replace("?", "adn")), Why.LIMIT)


@pytest.mark.parametrize(
    ("arms", "outcome", "only"),
    [
        (("a", "a", "a"), "meets", None),
        (("a", "d", "n"), "misses", None),
        (("d", "d"), "misses", None),
        (("a", "n", "n"), "only", "arm 0"),
        (("n", "d"), "only", "arm 1"),
        (("n", "n"), "none", None),
        (("a",), "meets", None),
        (("d",), "misses", None),
        (("n",), "none", None),
        (("a", "ad"), "open", None),
        # Whichever it is, the condition's outcome is the same.
        (("d", "ad"), "misses", None),
        (("n", "ad"), "only", "arm 1"),
        (("n", "dn"), "open", None),
        (("d", "d", "?"), "misses", None),
        (("a", "a", "?"), "open", None),
        (("?", "?"), "unknown", None),
        (("a", ""), "meets", None),
        (("", ""), "unknown", None),
    ],
)
def test_a_condition_over_its_arms(arms, outcome, only):
    condition = of_condition({f"arm {n}": judged(may) for n, may in enumerate(arms)})
    assert (condition.outcome, condition.only) == (outcome, only)


def test_an_undecided_condition_says_what_it_may_be():
    condition = of_condition({"x": judged("n"), "y": judged("dn")})
    assert condition.may == ("only y", "none")
    assert of_condition({"x": judged("a"), "y": judged("ad")}).may == ("meets", "misses")


def settled(outcomes):
    """The summary of arms whose outcomes are known, said in words of its own."""
    there = [name for name, outcome in outcomes.items() if outcome != "n"]
    if len(there) == len(outcomes) and set(outcomes.values()) == {"a"}:
        return "meets"
    if not there:
        return "none"
    return f"only {there[0]}" if len(there) == 1 < len(outcomes) else "misses"


def test_it_is_decided_exactly_where_every_possibility_leads_to_the_same():
    sets = ["a", "d", "n", "ad", "dn", "an", "adn"]
    for size in (1, 2, 3):
        for mays in itertools.product(sets, repeat=size):
            names = [f"arm {n}" for n in range(size)]
            possible = {
                settled(dict(zip(names, chosen, strict=True)))
                for chosen in itertools.product(*mays)
            }
            condition = of_condition(
                {name: judged(may) for name, may in zip(names, mays, strict=True)}
            )
            told = (
                {f"only {condition.only}" if condition.only else condition.outcome}
                if not condition.may
                else set(condition.may)
            )
            assert told == possible, mays
            assert (condition.outcome == "open") == (len(possible) > 1)


def test_an_arm_over_its_topics():
    meets, misses, none = (
        ArmJudgement(name, frozenset((name,)), Why.LIMIT, "undelivered")
        for name in (MEETS, MISSES, NONE)
    )
    either = ArmJudgement(OPEN, frozenset((MEETS, MISSES)), Why.INTERVAL, "undelivered")
    absent = ArmJudgement(UNKNOWN, frozenset((MEETS, MISSES, NONE)), Why.NO_DATA)

    def over(**topics):
        judged, topic = of_topics(topics)
        return judged.outcome, topic

    assert over(imu=meets, front=meets) == (MEETS, None)
    assert over(imu=meets, front=misses) == (MISSES, "front")
    assert over(imu=meets, front=none) == (MISSES, "front")
    assert over(imu=none, front=none) == (NONE, "imu")
    assert over(imu=meets, front=either) == (OPEN, "front")
    assert over(imu=misses, front=either) == (MISSES, "imu")
    assert over(imu=meets, front=absent) == (OPEN, "front")
    assert over(imu=absent, front=absent) == (UNKNOWN, None)
