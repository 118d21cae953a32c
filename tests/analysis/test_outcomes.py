"""What becomes of an arm and of a condition: intervals against limits, and nothing settled that is
open."""

import itertools
import math
from dataclasses import dataclass, field, replace

import pytest

from rmwbench.analysis.verdicts.outcomes import (
    ACCEPTABLE,
    DEGRADED,
    NO_DATA,
    NONE,
    UNDECIDED,
    AtLeast,
    AtMost,
    Judged,
    of_arm,
    of_condition,
    of_topics,
)
from rmwbench.results.explain.model import Failure
from rmwbench.results.model import Metric

ACCEPTED = (
    AtMost(metric="undelivered", at_most=0.01),
    AtMost(metric="service_latency_p50", at_most=30e6),
)
NOTHING = AtLeast(metric="undelivered", at_least=0.95)
MS = 1e6


@dataclass(frozen=True)
class Trials:
    done: int
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Lost:
    wanted: int
    missing: int
    under_way: int = 0


@dataclass(frozen=True)
class Arm:
    trials: Trials
    losses: Lost | None
    metrics: dict[str, Metric]
    disturbed_by: dict[str, int] = field(default_factory=dict)
    not_supported: str | None = None
    chain: Lost | None = None


def interval(low, high, unit="ns", count=None):
    return Metric(unit=unit, value=low, low=low, high=high, count=count)


def arm(lost=(0.0, 0.005), latency=(1 * MS, 2 * MS), *, done=5, failures=(), nothing=False, **more):
    missing = 1000 if nothing else 3
    return Arm(
        Trials(done, tuple(failures)),
        Lost(1000, missing) if lost[1] else None,
        {
            "undelivered": interval(*lost, "fraction", 1000),
            "service_latency_p50": latency if isinstance(latency, Metric) else interval(*latency),
        },
        **more,
    )


def waiting(count, **more):
    """Of 1000 messages so many were still under way when the trials ended."""
    return replace(arm(**more), losses=Lost(1000, 3, count))


def failed(cause=None, failed_by=None):
    return Failure(
        trial=7,
        block=0,
        status="failed",
        reason="it died\nstderr: …",
        cause=cause,
        failed_by=failed_by,
        codes=(),
    )


BOUND = {"machine_bound": 5}
SILENT = [failed("no match")]


@pytest.mark.parametrize(
    ("one", "outcome", "may"),
    [
        (arm(), "acceptable", "a"),
        (arm(lost=(0.0, 0.0)), "acceptable", "a"),
        (arm(lost=(0.0, 0.02)), "undecided", "ad"),
        (arm(lost=(0.02, 0.2)), "degraded", "d"),
        (arm(latency=(31 * MS, 50 * MS)), "degraded", "d"),
        (arm(latency=(10 * MS, 50 * MS)), "undecided", "ad"),
        # One limit missed for certain is enough, whatever the other may be.
        (arm(lost=(0.0, 0.02), latency=(31 * MS, 50 * MS)), "degraded", "d"),
        (arm(latency=Metric(unit="ns", no_data="n is 3")), "undecided", "ad"),
        (arm(latency=Metric(unit="ns", at_least=5 * MS)), "undecided", "ad"),
        (arm(latency=Metric(unit="ns", at_least=40 * MS)), "degraded", "d"),
        (arm(latency=interval(math.inf, math.inf)), "degraded", "d"),
        (arm(latency=interval(1e6, math.inf)), "undecided", "ad"),
        (arm(lost=(0.97, 1.0), nothing=True), "none", "n"),
        (arm(lost=(0.90, 1.0), nothing=True), "undecided", "dn"),
        # One message arrived: not none, however little is delivered.
        (arm(lost=(0.97, 0.9999)), "degraded", "d"),
        # Below five blocks no interval decides; that a message arrived is none.
        (arm(done=4), "undecided", "ad"),
        (arm(done=4, lost=(0.02, 0.2)), "undecided", "ad"),
        (arm(done=4, lost=(0.97, 1.0), nothing=True), "undecided", "adn"),
        (arm(done=2, lost=(0.97, 1.0), nothing=True, failures=SILENT * 3), "none", "n"),
        (arm(done=2, lost=(0.02, 0.2), failures=SILENT * 3), "undecided", "ad"),
        (arm(done=0), "no data", "adn"),
        (arm(done=0, failures=[failed()] * 3), "no data", "adn"),
        (arm(done=0, failures=SILENT * 5), "none", "n"),
        (arm(done=0, failures=SILENT * 4), "undecided", "adn"),
        # Trials that never matched are in no metric: what is left looks too good.
        (arm(failures=[failed("no delivery")]), "undecided", "ad"),
        # Nor are trials that the arm broke: it may work in six of ten, and no robot takes it for
        # that.
        (arm(failures=[failed()]), "undecided", "ad"),
        (arm(lost=(0.02, 0.2), failures=[failed()]), "degraded", "d"),
        (arm(failures=[failed(failed_by="host")]), "acceptable", "a"),
        (arm(failures=[replace(failed(), status="void")]), "acceptable", "a"),
        (arm(disturbed_by=BOUND), "acceptable", "a"),
        (arm(lost=(0.02, 0.2), disturbed_by=BOUND), "undecided", "ad"),
        (arm(lost=(0.97, 1.0), nothing=True, disturbed_by=BOUND), "undecided", "adn"),
        (arm(not_supported="no hosts"), "not supported", ""),
        # Nothing is lost, but two fifths had not arrived when the trials ended: whether they would
        # have is not known.
        (waiting(400), "undecided", "ad"),
        (waiting(2), "acceptable", "a"),
        (waiting(400, lost=(0.02, 0.2)), "degraded", "d"),
        (waiting(400, latency=(31 * MS, 50 * MS)), "degraded", "d"),
    ],
)
def test_an_arm_is_judged_by_whole_intervals(one, outcome, may):
    found = of_arm(ACCEPTED, NOTHING, one, 5)
    assert (found.outcome, sorted(name[0] for name in found.may)) == (outcome, sorted(may))


@pytest.mark.parametrize(("count", "outcome"), [(400, UNDECIDED), (2, ACCEPTABLE)])
def test_a_limit_along_a_chain_has_room_for_what_is_under_way_on_its_ways(count, outcome):
    """The ledger may not have it: it is of the topics in focus, and once however often they fork."""
    along = {"end_to_end_undelivered": interval(0.0, 0.005, "fraction", 1000)}
    one = replace(arm(chain=Lost(1000, 0, count)), losses=None, metrics=along)
    limit = AtMost(metric="end_to_end_undelivered", at_most=0.01)
    nothing = AtLeast(metric="end_to_end_undelivered", at_least=0.95)
    assert of_arm([limit], nothing, one, 5).outcome == outcome


@pytest.mark.parametrize(("count", "outcome"), [(400, UNDECIDED), (2, ACCEPTABLE)])
def test_a_limit_on_what_late_nodes_lost_has_room_for_what_is_under_way(count, outcome):
    lost = {"lost_after_first": interval(0.0, 0.005, "fraction", 1000)}
    one = replace(waiting(count), metrics=lost)
    limit = AtMost(metric="lost_after_first", at_most=0.01)
    assert of_arm([limit], NOTHING, one, 5).outcome == outcome


def test_what_no_metric_says_has_a_reason():
    assert of_arm(ACCEPTED, NOTHING, arm(done=0), 5).reason == "no trial was run"
    assert (
        of_arm(ACCEPTED, NOTHING, arm(done=0, failures=[failed()]), 5).reason
        == "trial 7 failed: it died"
    )
    assert of_arm(ACCEPTED, NOTHING, arm(not_supported="no hosts"), 5).reason == "no hosts"
    bound = of_arm(ACCEPTED, NOTHING, arm(lost=(0.02, 0.2), disturbed_by=BOUND), 5)
    assert (bound.metric, bound.reason.partition(":")[0]) == (
        None,
        "machine-bound",
    ) and "5 of 5 trials" in bound.reason
    assert of_arm(ACCEPTED, NOTHING, arm(lost=(0.0, 0.02)), 5).metric == "undelivered"


def test_a_suite_may_ask_for_more_blocks_than_a_verdict_needs():
    found = of_arm(ACCEPTED, NOTHING, arm(done=5), 8)
    assert found.outcome == UNDECIDED
    assert found.reason.startswith("5 of 8 blocks: ") and "`rmwbench resume`" in found.reason


NAMES = {"a": "acceptable", "d": "degraded", "n": "none"}


def judged(may):
    """By the initials of what it may be; `?` has no data, nothing is not supported."""
    outcome = {"": "not supported", "?": "no data"}.get(may) or (
        NAMES[may] if len(may) == 1 else "undecided"
    )
    return Judged(outcome, frozenset(NAMES[c] for c in may.replace("?", "adn")))


@pytest.mark.parametrize(
    ("arms", "outcome", "only"),
    [
        (("a", "a", "a"), "all acceptable", None),
        (("a", "d", "n"), "degraded", None),
        (("d", "d"), "degraded", None),
        (("a", "n", "n"), "only", "arm 0"),
        (("n", "d"), "only", "arm 1"),
        (("n", "n"), "none", None),
        (("a",), "all acceptable", None),
        (("d",), "degraded", None),
        (("n",), "none", None),
        (("a", "ad"), "undecided", None),
        # Whichever it is, the condition's outcome is the same.
        (("d", "ad"), "degraded", None),
        (("n", "ad"), "only", "arm 1"),
        (("n", "dn"), "undecided", None),
        (("d", "d", "?"), "degraded", None),
        (("a", "a", "?"), "undecided", None),
        (("?", "?"), "no data", None),
        (("a", ""), "all acceptable", None),
        (("", ""), "no data", None),
    ],
)
def test_a_condition_over_its_arms(arms, outcome, only):
    found = of_condition({f"arm {n}": judged(may) for n, may in enumerate(arms)})
    assert (found.outcome, found.only) == (outcome, only)


def test_an_undecided_condition_says_what_it_may_be():
    found = of_condition({"x": judged("n"), "y": judged("dn")})
    assert found.may == ("only y", "none")
    assert of_condition({"x": judged("a"), "y": judged("ad")}).may == ("all acceptable", "degraded")


def settled(outcomes):
    """The summary of arms whose outcomes are known, said in words of its own."""
    there = [name for name, outcome in outcomes.items() if outcome != "n"]
    if len(there) == len(outcomes) and set(outcomes.values()) == {"a"}:
        return "all acceptable"
    if not there:
        return "none"
    return f"only {there[0]}" if len(there) == 1 < len(outcomes) else "degraded"


def test_it_is_decided_exactly_where_every_possibility_leads_to_the_same():
    sets = ["a", "d", "n", "ad", "dn", "an", "adn"]
    for size in (1, 2, 3):
        for mays in itertools.product(sets, repeat=size):
            names = [f"arm {n}" for n in range(size)]
            possible = {
                settled(dict(zip(names, chosen, strict=True)))
                for chosen in itertools.product(*mays)
            }
            found = of_condition({name: judged(may) for name, may in zip(names, mays, strict=True)})
            told = (
                {f"only {found.only}" if found.only else found.outcome}
                if not found.may
                else set(found.may)
            )
            assert told == possible, mays
            assert (found.outcome == "undecided") == (len(possible) > 1)


def test_an_arm_over_its_topics():
    acceptable, degraded, none = (
        Judged(name, frozenset((name,)), "undelivered") for name in (ACCEPTABLE, DEGRADED, NONE)
    )
    either = Judged(UNDECIDED, frozenset((ACCEPTABLE, DEGRADED)), "undelivered")
    absent = Judged(NO_DATA, frozenset((ACCEPTABLE, DEGRADED, NONE)))

    def found(**topics):
        judged, topic = of_topics(topics)
        return judged.outcome, topic

    assert found(imu=acceptable, front=acceptable) == (ACCEPTABLE, None)
    assert found(imu=acceptable, front=degraded) == (DEGRADED, "front")
    assert found(imu=acceptable, front=none) == (DEGRADED, "front")
    assert found(imu=none, front=none) == (NONE, "imu")
    assert found(imu=acceptable, front=either) == (UNDECIDED, "front")
    assert found(imu=degraded, front=either) == (DEGRADED, "imu")
    assert found(imu=acceptable, front=absent) == (UNDECIDED, "front")
    assert found(imu=absent, front=absent) == (NO_DATA, None)
