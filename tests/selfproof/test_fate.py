"""Injected losses, copies, disorder and damage come back as exact counts, for every trial and
reader.

Three tellers must agree: the truth computed beforehand, the worker's own counters, and the ledger
in the report. Nothing here depends on speed; only `reordered` does, since a held message is
overtaken only if others were sent meanwhile. The last message of a trial is not doubled or held:
the drain ends with it, and what comes after is late.
"""

import itertools

import pytest

from tests.selfproof import proof

pytestmark = pytest.mark.traffic

SINGLE = ["bernoulli", "burst", "duplicate", "reorder", "corrupt"]
ARMS = [*SINGLE, "everything"]
WORKLOADS = ["stream", "fan_out"]
LOST = ("lost_start", "lost_middle", "lost_end")


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("arm", ARMS)
def test_the_ledger_is_the_truth(campaign, arm, workload):
    reported = {
        name: campaign.per_trial(name, arm, workload)
        for name in (
            *LOST,
            "late",
            "corrupt",
            "duplicates",
            "loss",
            "undelivered",
            "never_sent",
            "publish_failures",
        )
    }
    for trial in campaign.trials(arm, workload):
        fates = campaign.truth(arm, trial.sent, workload)
        readers = len(trial.readers)
        assert readers == (1 if workload == "stream" else 2)
        assert reported["never_sent"][trial.trial] == reported["publish_failures"][trial.trial] == 0
        lost = sum(fate["lost"] for fate in fates)
        copies = [1 + fate["duplicated"] for fate in fates]
        damaged = sum(
            count for count, fate in zip(copies, fates, strict=True) if fate["corrupt"] is not None
        )
        unsound = sum(fate["corrupt"] is not None for fate in fates)
        doubled = sum(fate["duplicated"] and fate["corrupt"] is None for fate in fates)
        assert sum(reported[name][trial.trial] for name in LOST) == readers * lost
        assert reported["late"][trial.trial] == 0
        assert reported["corrupt"][trial.trial] == readers * damaged
        assert reported["duplicates"][trial.trial] == readers * doubled
        fraction = (lost + unsound) / len(fates)
        assert reported["loss"][trial.trial] == pytest.approx(fraction, rel=proof.DIGITS)
        assert reported["undelivered"][trial.trial] == pytest.approx(fraction, rel=proof.DIGITS)
        own = {
            name: trial.own[f"steady_injected_{name}"]
            for name in ("lost", "duplicated", "corrupted", "reordered")
        }
        assert own == {
            "lost": readers * lost,
            "duplicated": readers * sum(fate["duplicated"] for fate in fates),
            "corrupted": readers * unsound,
            "reordered": readers * sum(fate["reordered"] for fate in fates),
        }
        assert trial.own["steady_delivered"] == readers * (len(fates) - lost)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("arm", ARMS)
def test_the_reported_intervals_hold_the_truth(campaign, arm, workload):
    trials = campaign.trials(arm, workload, at_least=2)
    fates = [campaign.truth(arm, trial.sent, workload) for trial in trials]
    of = sum(len(trial.readers) * len(fate) for trial, fate in zip(trials, fates, strict=True))
    hit = sum(
        len(trial.readers) * sum(fate["lost"] or fate["corrupt"] is not None for fate in fates)
        for trial, fates in zip(trials, fates, strict=True)
    )
    loss = campaign.metric("loss", arm, workload)
    assert loss["count"] == of and proof.inside(loss, hit / of)
    assert loss["value"] == pytest.approx(hit / of, rel=proof.DIGITS)
    if hit:
        assert 0 < loss["low"] < loss["value"] < loss["high"]
    else:
        assert loss["low"] == loss["value"] == 0 < loss["high"]


def test_every_injection_happened(campaign):
    """A count of zero would prove nothing."""
    expected = {
        "bernoulli": "lost",
        "burst": "lost",
        "duplicate": "duplicated",
        "reorder": "reordered",
    }
    for arm, what in (expected | {"corrupt": "corrupted"}).items():
        for trial in campaign.trials(arm):
            own = {
                name: trial.own[f"steady_injected_{name}"]
                for name in {*expected.values(), "corrupted"}
            }
            assert own.pop(what) >= 5 and not any(own.values())
    for trial in campaign.trials("everything"):
        for name in ("lost", "duplicated", "corrupted"):
            assert trial.own[f"steady_injected_{name}"] >= 5


def test_a_burst_is_seen_as_a_stall(campaign):
    """The reader waits from the arrival before the burst to the one after it, which is not earlier
    than intended."""
    stalls, bursts = campaign.per_trial("longest_stall", "burst"), 0
    for trial in campaign.trials("burst"):
        (reader,) = trial.readers
        lost = [fate["lost"] for fate in campaign.truth("burst", trial.sent)]
        bursts += sum(a and b for a, b in itertools.pairwise(lost))
        before = None
        for seq, intended_ns, gone in zip(
            trial.sent.seq, trial.sent.intended_ns, lost, strict=True
        ):
            if not gone:
                if before is not None:
                    gap_ns = intended_ns - trial.first_taken_ns[reader, before]
                    assert stalls[trial.trial] >= gap_ns * (1 - proof.DIGITS)
                before = seq
    assert bursts


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("arm", ARMS)
def test_reordered_is_what_sql_counts_in_the_records(campaign, arm, workload):
    """First sound arrivals behind a higher sequence number: the definition, asked of the raw
    records in another language."""
    reported = campaign.per_trial("reordered", arm, workload)
    for trial in campaign.trials(arm, workload):
        ((counted,),) = campaign.query(
            """
            with sound as (
                select endpoint, writer, seq, min(taken_ns) as taken_ns, min(flags & 4) as warmup
                from received where trial = {trial} and flags & 25 = 0 group by all
            ), ordered as (
                select seq, warmup, max(seq) over (partition by endpoint, writer order by taken_ns, seq) as highest
                from sound
            )
            select count(*) from ordered where seq < highest and warmup = 0
            """,
            trial.trial,
        )
        assert reported[trial.trial] == counted
        held = trial.own["steady_injected_reordered"]
        # held for ten periods: only a publisher that stalls as long lets one through in order
        if arm == "reorder":
            assert 0.8 * held <= counted <= held
        else:
            assert counted == 0
