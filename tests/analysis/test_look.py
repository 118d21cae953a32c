"""A campaign's looks and its report see the same arms, however often and early one looks."""

import json

import pytest

from rmwbench.analysis.metrics.fates import FateCounts
from rmwbench.analysis.verdicts import best, sequential
from rmwbench.analysis.verdicts.disturbances import without_machine_bound
from rmwbench.analysis.verdicts.interim import (
    BlockFacts,
    InterimCell,
    Looks,
    is_bound,
    leaving,
    rules,
)
from rmwbench.analysis.verdicts.verdict import Verdict
from rmwbench.bundle import Bundle
from rmwbench.results.judged_campaign import judge_campaign
from rmwbench.results.model import document as written
from tests.support import network_bundle, synthetic_bundle
from tests.support.shown import show_document


def cut(directory, trials):
    """The same campaign as it stood after so many trials."""
    journal = directory / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    trial_lines = [n for n, line in enumerate(lines) if json.loads(line)["type"] == "trial"]
    journal.write_text("".join(lines[: trial_lines[trials - 1] + 1]))
    return "".join(lines)


def test_looking_early_and_often_gives_what_looking_once_at_the_end_gives(tmp_path):
    directory = synthetic_bundle.write(tmp_path / "c", blocks=3, workloads=("camera",))
    whole = cut(directory, 5)
    looks = Looks(Bundle(directory))
    assert sum(len(a.primary) for a in looks.arms()["camera"]) == 5
    (directory / "journal.jsonl").write_text(whole)
    assert looks.arms() == looks.arms() == Looks(Bundle(directory)).arms()
    assert [a.name for a in looks.arms()["camera"]] == [a.arm for a in synthetic_bundle.ARMS]


@pytest.mark.long
def test_a_look_and_the_report_come_to_the_same_verdicts(tmp_path):
    directory = synthetic_bundle.write(tmp_path / "c", merged=True)
    document = show_document(Bundle(directory))
    minutes = document["campaign"]["wall_s"] / 60 / 6
    verdicts = best.judge(Looks(Bundle(directory)).arms(), rules(None, minutes))
    for workload in document["workloads"]:
        for arm in workload["arms"]:
            written_verdict = written(verdicts[workload["workload"]][arm["arm"]])
            assert written_verdict | {"topic": None} == arm["verdict"]


def test_the_machines_noise_is_known_and_leaves_the_margin():
    noisy, quiet = rules(0.12, None), rules(0.01, None)
    # the interval contains what blocks average out
    assert (noisy.margin, noisy.noise, noisy.aa_floor) == (0.05, 0.12, 0.0)
    assert (quiet.margin, quiet.aa_floor) == (0.05, 0.0)
    assert rules(None, None).noise == 0.0


def test_what_leaves_a_campaign_is_worse_or_the_floor_or_its_comparison_is_closed():
    def verdict(word):
        return Verdict(word, None, None, "so")

    verdicts = {
        "open": {
            "a": verdict("undecided"),
            "b": verdict("worse"),
            "floor": verdict("reference"),
            "c": verdict("equivalent"),
        },
        "closed": {"a": verdict("best"), "b": verdict("worse"), "floor": verdict("reference")},
    }
    cells = {
        (w, arm): n
        for n, (w, arm) in enumerate((w, arm) for w, arms in verdicts.items() for arm in arms)
    }
    assert leaving(verdicts, cells) == (
        cells["open", "b"],
        cells["open", "floor"],
        *(cells["closed", arm] for arm in ("a", "b", "floor")),
    )
    tied = {key: cell for key, cell in cells.items() if key != ("open", "b")}
    assert cells["open", "b"] not in leaving(verdicts, tied)


@pytest.fixture
def busy(monkeypatch):
    """Trials that were machine-bound, whatever their bundle says."""
    bound: set[int] = set()
    add = InterimCell.add

    def with_events(self, trial, primary, endpoints, focus=(), bound_itself=False):
        add(self, trial, primary, endpoints, focus, bound_itself or trial.trial in bound)

    monkeypatch.setattr(InterimCell, "add", with_events)
    return bound


def test_no_verdict_about_a_network_rests_on_machine_bound_trials(tmp_path, busy):
    directory = network_bundle.write(tmp_path / "c", blocks=6)
    first = Bundle(directory).trials()
    # zenoh in `range` in four of six blocks: barred. fastdds in `lossy` in one: that block is
    # nobody's.
    busy.update([t.trial for t in first if t.cell == 2][:4])
    busy.update(t.trial for t in first if t.cell == 4 and t.block == 3)
    arms = {w: sequential.arms_after(a, 6) for w, a in Looks(Bundle(directory)).arms().items()}
    by_name = {a.name: a for a in arms["range"]}
    assert by_name["zenoh"].primary == {}
    assert "machine-bound in 4 of 6 trials" in by_name["zenoh"].barred
    assert set(by_name["fastdds"].primary) == set(range(6))
    assert all(3 not in a.primary and 3 not in a.undelivered for a in arms["lossy"])
    document = show_document(Bundle(directory))
    ranged, lossy = document["workloads"]
    verdict = next(a["verdict"] for a in ranged["arms"] if a["arm"] == "zenoh")
    assert verdict["verdict"] == "no data" and "do not judge a network" in verdict["reason"]
    assert (ranged["machine_bound_blocks"], lossy["machine_bound_blocks"]) == ([], [3])
    assert any(
        line["workload"] == "lossy" and line["text"].startswith("1 block in no verdict here")
        for line in document["conclusions"]
    )


def test_memory_is_the_same_on_a_busy_machine_and_bytes_of_traffic_are_not(tmp_path, busy):
    directory = network_bundle.write(tmp_path / "c", blocks=6)
    busy.update(t.trial for t in Bundle(directory).trials() if t.cell == 4 and t.block == 3)
    arm = judge_campaign(Bundle(directory)).arms["lossy"][0]
    for trial in arm.trials:
        trial.values |= dict.fromkeys(("rss", "pss_at_end", "stray_bytes"), 1e6)
    kept = {name: set(arm.in_blocks(name)) for name in ("rss", "pss_at_end", "stray_bytes")}
    assert kept == {"rss": {*range(6)}, "pss_at_end": {*range(6)}, "stray_bytes": {*range(6)} - {3}}


@pytest.mark.long
@pytest.mark.parametrize("blocks", [3, 5])
def test_what_a_look_decided_stays_though_an_arm_that_was_barred_is_judged_later(
    tmp_path, busy, blocks
):
    """fastdds is machine-bound in the first blocks only. Over all blocks that bars it no more, and
    leaves those blocks out for everybody: cyclonedds has none besides, because it left."""
    directory = network_bundle.write(tmp_path / "c", blocks=12)
    lines = Bundle(directory).trials()
    busy.update(x.trial for x in lines if x.cell == 1 and x.block < blocks)
    left = {x.trial for x in lines if x.cell == 0 and x.block >= 5}
    journal = directory / "journal.jsonl"
    kept = [
        line
        for line in journal.read_text().splitlines(keepends=True)
        if json.loads(line).get("trial") not in left
    ]
    journal.write_text("".join(kept))

    def judged(after):
        arms = {"range": Looks(Bundle(directory)).arms()["range"]}
        return sequential.judge(arms, rules(None, None), (5, 8, 12), blocks=after)["range"]

    report, look_again = judged(12), judged(5)
    cut(directory, 30)
    look = judged(5)
    words = {name: verdict.verdict for name, verdict in look.items()}
    assert words == {"cyclonedds": "worse", "fastdds": "no data", "zenoh": "best"}
    assert look_again == look
    assert report["cyclonedds"] == look["cyclonedds"]
    assert report["fastdds"].verdict in ("worse", "undecided")


def test_without_a_network_a_busy_machine_flags_and_bars_nobody(tmp_path, busy):
    directory = synthetic_bundle.write(tmp_path / "c", blocks=5, workloads=("camera",))
    before = Looks(Bundle(directory)).arms()
    busy.update(t.trial for t in Bundle(directory).trials())
    assert Looks(Bundle(directory)).arms() == before
    assert show_document(Bundle(directory))["workloads"][0]["machine_bound_blocks"] == []


def test_a_floor_that_is_machine_bound_bars_nobody_and_a_code_says_it_not_a_text():
    flag = {"event": "flag", "text": "machine_bound: busy"}
    assert is_bound([flag | {"code": "machine_bound"}])
    assert not is_bound([flag | {"code": "canary"}, flag])
    network = {"network": {"links": {}}}
    floor, arm = (
        {"layer": "native", "definition": json.dumps(network | {"arm": {"role": r}})}
        for r in ("floor", "contender")
    )
    arms = [
        InterimCell(busy={0: bound, 1: bound}).arm(name, cell, None)
        for name, cell, bound in (("floor", floor, True), ("arm", arm, False))
    ]
    assert arms[0].busy == {0: True, 1: True}
    assert all(
        a.excluded_blocks == frozenset() and a.barred is None for a in without_machine_bound(arms)
    )


def test_a_primary_value_of_0_is_data_and_none_is_not():
    blocks = [
        BlockFacts(block=block, cost=cost, undelivered=(0, 9), bound=0.0, fates=FateCounts())
        for block, cost in ((0, 0.0), (1, None))
    ]
    cell = {"definition": "{}", "middleware": "x", "layer": "native"}
    arm = InterimCell(blocks={None: blocks}).arm("a", cell, None)
    assert arm.primary == {0: 0.0} and set(arm.undelivered) == {0, 1}
