"""The verb on this machine, and proof that it can fail: the bundle that it just judged good is
judged again with one thing wrong at a time.

No absolute time is asserted; how long it took is printed. A truth that the machine did not let
through does not fail.
"""

import copy
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rmwbench.bundle import Bundle
from rmwbench.campaign.calibrate import (
    aa,
    checks,
    grid,
    recovery,
    synthetic_campaign,
    truth_verdicts,
)
from rmwbench.campaign.calibrate.synthetic_campaign import SyntheticCampaign
from rmwbench.lab.middleware import find_workers
from tests.support.command import COMMAND
from tests.support.edited import journal
from tests.support.shown import arm_of, show_document

pytestmark = pytest.mark.timing


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(directory, calibration, exit code, what it said) of one quick calibration."""
    out = tmp_path_factory.mktemp("calibrate") / "out"
    command = [*COMMAND, "calibrate", "--quick", "--json", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode in (0, 1, 2), done.stderr
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    print(f"\ncalibrate --quick took {document['wall_s']:.0f} s")
    return out, document, done.returncode, done.stderr


@pytest.fixture(scope="module")
def judged(run):
    """Return the bundle, its document and the worker, which the tests below sabotage."""
    directory = run[0] / "truths"
    return directory, show_document(Bundle(directory)), find_workers()["synthetic"].executable


def failed(document):
    return [
        f"{truth['arm']}: {truth['truth']}: {truth['reason'] or ''}"
        + "".join(
            f"\n    {c['what']}: expected {c['expected']}, found {c['found']}"
            for c in truth["checks"]
        )
        for truth in document["truths"]["list"]
        if truth["outcome"] == "failed"
    ] + [str(pair) for pair in document["aa"]["pairs"] if pair["outcome"] == "different"]


def test_every_truth_is_recovered_and_no_difference_is_seen_where_there_is_none(run):
    _, document, code, _ = run
    assert not failed(document), "\n".join(failed(document))
    assert code in (0, 2)
    assert document["truths"]["total"] >= 23 and document["truths"]["checks"] > 100
    assert document["aa"]["total"] >= 2 and document["aa"]["floor"]["all"] > 0


def test_it_says_how_long_it_will_take_and_stores_what_it_found(run):
    _, document, _, said = run
    assert re.search(r"campaigns, about [\d.]+ (s|min) together", said)
    assert re.search(
        r"Every middleware against itself: \d+ trials; about [\d.]+ (s|min) left", said
    )
    stored = json.loads(open(document["stored"]).read())  # noqa: SIM115
    assert stored["truths"] == document["truths"]
    assert document["stored"].startswith(os.environ["XDG_STATE_HOME"])
    # It must not rest on the calibration before it.
    for name in ("truths", "aa"):
        assert (
            "aa_floor" not in json.loads((run[0] / name / "campaign.json").read_text())["machine"]
        )


def test_what_is_ours_is_measured_and_small(run):
    own = run[1]["own_cost"]
    for name in ("latency", "cpu_per_message", "clock_read", "record"):
        assert 0 < own[name]["low"] <= own[name]["value"] <= own[name]["high"], name
    # A delivery through nothing is two stamps and a call: if it takes a tenth of a millisecond,
    # nothing else can be believed. It is a median over trials, so no single pause of the machine
    # reaches it.
    assert own["clock_read"]["value"] < own["latency"]["value"] < 100_000


def test_what_is_ours_grows_with_the_message_and_is_known_at_three_sizes(run):
    small, large, camera = run[1]["own_cost"]["sizes"]
    assert [one["payload_bytes"] for one in (small, large, camera)] == [64, 1_000_000, 6_220_800]
    for name in ("response_latency", "service_latency", "consumed_latency", "cpu_per_message"):
        assert all(one[name]["value"] > 0 for one in (small, large, camera)), name
    # Six megabytes are written and read: by a hundred times more than a header.
    assert camera["cpu_per_message"]["value"] > 10 * small["cpu_per_message"]["value"]
    assert camera["consumed_latency"]["value"] > camera["service_latency"]["value"]


# Sabotage. Each returns nothing wrong but the one thing that it did.


def outcomes(directory, document, worker, workloads=None):
    truths = truth_verdicts.judge_truths(
        SyntheticCampaign(Bundle(directory), document, worker), workloads or grid.truths(quick=True)
    )
    return {(truth.arm, truth.truth): truth for truth in truths}


@cache
def unsabotaged(directory, worker):
    return outcomes(directory, show_document(Bundle(directory)), worker)


def newly_failed(judged, directory=None, document=None, workloads=None):
    """The truths that fail now and did not before."""
    place, shown, worker = judged
    before = unsabotaged(place, worker)
    after = outcomes(directory or place, shown if document is None else document, worker, workloads)
    return {
        key
        for key, truth in after.items()
        if truth.outcome == recovery.FAILED and before[key].outcome != recovery.FAILED
    }


def only(workload, *names):
    """The grid's workload with the arms of these names, all where there are none: what a sabotage
    touches is judged again, and no more."""
    whole = next(one for one in grid.truths(quick=True) if one.name == workload)
    arms = tuple(arm for arm in whole.arms if not names or arm.name in names)
    return replace(whole, arms=arms)


def a_trial(judged, workload, name):
    """A done trial of the arm; skipped where the machine left none."""
    directory, document, _ = judged
    cell = arm_of(document, workload, name)["cell"]
    done = [line.trial for line in Bundle(directory).trials("done") if line.cell == cell]
    if len(done) < 2:
        pytest.skip("the machine took the arm's trials")
    return done[0]


def rewritten(judged, tmp_path, table, trial, change):
    """A copy of the bundle with one table of one trial changed, and its document made anew. Without
    the merged files, which hold the same rows once more."""
    copied = tmp_path / "copy"
    shutil.copytree(judged[0], copied, ignore=shutil.ignore_patterns("merged-*"))
    path = copied / "tables" / table / f"{trial:06d}.parquet"
    rows = pq.read_table(path)
    changed = change(rows)
    pq.write_table(changed.cast(rows.schema), path, write_page_checksum=True)
    return copied, show_document(Bundle(copied))


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_an_analysis_that_is_off_by_ten_percent_is_seen(judged, factor):
    document = copy.deepcopy(judged[1])
    for name in ("constant", "lognormal", "pareto", "bimodal"):
        arm = arm_of(document, "tail" if name == "pareto" else "stream", name)
        for metric, values in arm["per_trial"].items():
            if "latency" in metric:
                for value in values:
                    value["value"] = float(value["value"]) * factor
        for metric, value in arm["metrics"].items():
            if "latency" in metric and "value" in value:
                value |= {end: float(value[end]) * factor for end in ("value", "low", "high")}
    touched = [only("stream", "constant", "lognormal", "bimodal"), only("tail", "pareto")]
    failed = newly_failed(judged, document=document, workloads=touched)
    assert failed >= {
        (name, "latency") for name in ("constant", "lognormal", "pareto", "bimodal")
    } - {key for key in unknown(judged)}


def unknown(judged):
    directory, _, worker = judged
    return {
        key
        for key, truth in unsabotaged(directory, worker).items()
        if truth.outcome == recovery.UNKNOWN
    }


def test_records_that_are_stretched_by_ten_percent_are_not_excused_by_the_machine(judged, tmp_path):
    """Report and records agree here; only the worker's own count of its lateness contradicts
    them."""
    trial = a_trial(judged, "stream", "constant")
    sent = {row["seq"]: row["call_ns"] for row in Bundle(judged[0]).rows("sent", trial)}

    def change(table):
        taken, seq = table["taken_ns"].to_numpy(), table["seq"].to_numpy()
        later = np.array(
            [t + (t - sent[s]) // 10 for t, s in zip(taken, seq, strict=True)], np.int64
        )
        return table.set_column(
            table.schema.get_field_index("taken_ns"), "taken_ns", pa.array(later)
        )

    assert ("constant", "latency") in newly_failed(
        judged,
        *rewritten(judged, tmp_path, "received", trial, change),
        workloads=[only("stream", "constant")],
    )


def without_row_120(table):
    return pa.concat_tables([table.slice(0, 120), table.slice(121)])


def test_one_lost_row_is_seen(judged, tmp_path):
    trial = a_trial(judged, "stream", "plain")
    copied = rewritten(judged, tmp_path, "received", trial, without_row_120)
    assert ("plain", "nothing") in newly_failed(
        judged, *copied, workloads=[only("stream", "plain")]
    )


def test_one_doubled_record_is_seen(judged, tmp_path):
    trial = a_trial(judged, "stream", "plain")
    copied = rewritten(
        judged, tmp_path, "received", trial, lambda t: pa.concat_tables([t, t.slice(120, 1)])
    )
    assert ("plain", "nothing") in newly_failed(
        judged, *copied, workloads=[only("stream", "plain")]
    )


def test_a_lost_row_is_seen_where_rows_are_lost_anyway(judged, tmp_path):
    trial = a_trial(judged, "stream", "bernoulli")
    copied = rewritten(judged, tmp_path, "received", trial, without_row_120)
    assert ("bernoulli", "loss") in newly_failed(
        judged, *copied, workloads=[only("stream", "bernoulli")]
    )


@pytest.mark.parametrize(
    ("name", "truth", "setting", "other"),
    [
        ("constant", "latency", "latency", "constant ns=2200000"),
        ("lognormal", "latency", "latency", "lognormal median_ns=2200000 sigma=0.5"),
        ("bernoulli", "loss", "loss", "bernoulli p=0.12"),
        ("duplicate", "duplicate", "duplicate", 0.15),
        ("corrupt", "corrupt", "corrupt", 0.15),
        ("reorder", "reorder", "reorder", "p=0.1 by_ns=21000000"),
        ("burning", "cpu_burn_ns", "cpu_burn_ns", "publisher=600000 reader=200000"),
        ("growing", "memory_growth_bytes", "memory_growth_bytes", "publisher=131072 reader=32768"),
        ("everything", "loss", "seed", 5),
    ],
)
def test_an_arm_with_other_settings_than_the_truth_assumes_is_seen(
    judged, name, truth, setting, other
):
    """The grid's setting ran, and the truth is asked for another one."""
    if (name, truth) in unknown(judged):
        pytest.skip("the machine took the arm's trials")
    touched = only("stream", name)
    (arm,) = touched.arms
    other_arm = grid.GridArm(arm.name, {**arm.options, setting: other})
    touched = replace(touched, arms=(other_arm,))
    assert (name, truth) in newly_failed(judged, workloads=[touched])


def test_a_blocking_call_that_blocks_less_is_seen(judged, monkeypatch):
    if ("blocking", "publish_block_ns") in unknown(judged):
        pytest.skip("the machine took the arm's trials")
    key, touched = ("blocking", "publish_block_ns"), [only("stream", "blocking")]
    before = outcomes(*judged, touched)[key].outcome
    monkeypatch.setattr(checks, "BLOCK_NS", 600_000)
    after = outcomes(*judged, touched)[key].outcome
    assert (before, after) == (recovery.RECOVERED, recovery.FAILED)


def test_a_law_whose_formula_is_off_is_seen(judged, monkeypatch):
    right = synthetic_campaign.quantile_ns
    monkeypatch.setattr(synthetic_campaign, "quantile_ns", lambda law, q: 1.2 * right(law, q))
    after = outcomes(*judged, [only("stream", "constant", "bimodal")])
    assert after["constant", "latency"].outcome in (recovery.FAILED, recovery.UNKNOWN)
    assert after["bimodal", "latency"].outcome in (recovery.FAILED, recovery.UNKNOWN)


@pytest.mark.parametrize(
    ("workload", "name", "verdict", "key"),
    [
        ("twins", "20 ms", "worse", ("20 ms and 20 ms again", "equal arms")),
        ("twins", "20 ms again", "best", ("20 ms and 20 ms again", "equal arms")),
        (
            "apart",
            "30 ms of two",
            "equivalent",
            ("20 ms of two and 30 ms of two", "1.5 times as slow"),
        ),
        (
            "apart",
            "30 ms of two",
            "undecided",
            ("20 ms of two and 30 ms of two", "1.5 times as slow"),
        ),
    ],
)
def test_a_wrong_verdict_is_seen(judged, workload, name, verdict, key):
    if key in unknown(judged):
        pytest.skip("the machine took the arms' trials")
    document = copy.deepcopy(judged[1])
    arm_of(document, workload, name)["verdict"]["verdict"] = verdict
    assert key in newly_failed(judged, document=document, workloads=[only(workload)])


def test_a_ratio_without_an_upper_end_is_judged(judged):
    """It crashed the calibration."""
    document = copy.deepcopy(judged[1])
    ratio = arm_of(document, "apart", "30 ms of two")["verdict"]["ratio"] or {}
    if "value" not in ratio:
        pytest.skip("the machine took the arms' trials")
    ratio["high"] = "inf"
    (truth,) = outcomes(judged[0], document, judged[2], [only("apart")]).values()
    assert truth.checks[-1].found.endswith(", inf]")


def test_a_lie_that_is_believed_is_seen(judged, tmp_path):
    copied = tmp_path / "copy"
    shutil.copytree(judged[0], copied)
    cell = arm_of(judged[1], "path", "tcp called memory")["cell"]
    with journal(copied) as lines:
        for line in lines:
            if line.get("cell") == cell and line.get("status") == "void":
                line |= {"status": "done", "reason": None}
    failed = newly_failed(judged, copied, show_document(Bundle(copied)), [only("path")])
    assert ("tcp called memory", "path, a lie") in failed


def test_a_trial_lost_for_another_reason_than_the_machine_is_not_an_excuse(judged, tmp_path):
    trial = a_trial(judged, "stream", "constant")
    touched = [only("stream", "constant")]
    copied = tmp_path / "copy"
    shutil.copytree(judged[0], copied)
    with journal(copied) as lines:
        for line in lines:
            if line.get("trial") == trial and line["type"] == "trial":
                line |= {"status": "failed", "reason": "worker talker: died"}
    after = outcomes(copied, show_document(Bundle(copied)), judged[2], touched)
    assert after["constant", "latency"].outcome == recovery.FAILED
    assert "died" in after["constant", "latency"].reason
    # The machine's own reasons are: then nothing can be told.
    cell = arm_of(judged[1], "stream", "constant")["cell"]
    with journal(copied) as lines:
        for line in lines:
            if line["type"] == "trial" and line["cell"] == cell:
                line |= {"status": "void", "reason": "machine: steal", "cause": "machine"}
    after = outcomes(copied, show_document(Bundle(copied)), judged[2], touched)
    assert after["constant", "latency"].outcome == recovery.UNKNOWN


def test_an_arm_that_the_report_lost_is_seen(judged):
    document = copy.deepcopy(judged[1])
    stream = next(w for w in document["workloads"] if w["workload"] == "stream")
    stream["arms"] = [arm for arm in stream["arms"] if arm["arm"] != "burst"]
    assert ("burst", "loss") in newly_failed(
        judged, document=document, workloads=[only("stream", "burst")]
    )


def test_a_difference_in_a_pair_is_counted(run):
    directory = run[0] / "aa"
    document = show_document(Bundle(directory))
    names = [
        w["workload"].partition("_")[2]
        for w in document["workloads"]
        if w["workload"].startswith("small_")
    ]
    pairs = grid.aa_pairs(names, quick=True)
    assert (
        all(pair.outcome != aa.DIFFERENT for pair in aa.judge(document, pairs))
        or run[1]["aa"]["unconfirmed"]
    )
    document["workloads"][0]["arms"][1]["verdict"]["verdict"] = "worse"
    assert sum(pair.outcome == aa.DIFFERENT for pair in aa.judge(document, pairs)) >= 1
