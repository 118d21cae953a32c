"""What a recorder kept: what is said of an arm, and the table of it."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rmwbench.analysis.metrics.recording import RecordingFates
from rmwbench.beside.recorder.answer import judge, recordings
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.report.show import ros
from rmwbench.results.show_model import SuiteAnswer
from tests.support.typed import typed
from tests.support.views import cells, tables, texts


def fates(before=0, cache=0, disk=0, unplaced=0, sent=100, contradiction=""):
    kept = sent - before - cache - disk - unplaced
    places = {"unheard": 0, "before": before, "cache": cache, "disk": disk, "unplaced": unplaced}
    twice = {"twice": 0, "only_beside": 0, "only_kept": 0, "beside": sent}
    return RecordingFates(
        topic="", sent=sent, kept=kept, contradiction=contradiction, **places, **twice
    )


WHOLE, DROPS = fates(), fates(cache=30)


@pytest.mark.parametrize(
    ("trials", "answer", "places", "reason"),
    [
        ([WHOLE] * 5, "kept all", (), ""),
        ([DROPS] * 5, "loses", ("cache",), ""),
        ([fates(before=2, cache=3)] * 6, "loses", ("before", "cache"), ""),
        ([DROPS] * 4 + [fates(cache=1, disk=2)], "loses", ("cache",), "disk in 1 of 5 trials"),
        ([DROPS] * 4 + [WHOLE], "no data", (), "trials disagree: 4 of 5 trials lost messages"),
        ([DROPS] * 4, "no data", (), "loses (cache) in 4 trials, and fewer than 5 decide nothing"),
        ([WHOLE], "no data", (), "kept all in 1 trial, and fewer than 5 decide nothing"),
        (
            [fates(unplaced=1, contradiction="9 in the cache")] * 5,
            "loses",
            ("unplaced",),
            "9 in the cache",
        ),
        ([], "no data", (), "no trial with a bag is done"),
        ([WHOLE] * 4 + [fates(sent=0)], "no data", (), "in a trial nothing was published"),
    ],
)
def test_an_arm_is_judged_by_five_trials_that_agree(trials, answer, places, reason):
    verdict = judge(trials)
    assert verdict.answer == answer
    assert verdict.places == places
    assert reason in verdict.reason if reason else not verdict.reason


def test_without_a_trial_it_is_said_why_there_is_none():
    reason = "recorder: it ended with exit code 1\nits log"
    line = TrialLine(trial=4, cell=1, block=0, status="failed", reason=reason)
    reason = judge([], [line, line]).reason
    assert reason == (
        "no trial with a bag is done: 2 failed; the first: recorder: it ended with exit code 1"
    )


COUNTERS = {
    "bag.messages": ("count", 80, 1),
    "rosbag2.handed_to_storage": ("count", 80, 1),
    "rosbag2.lost_in_cache": ("count", 12, 1),
    "rosbag2.lost_in_transport": ("count", 3, None),
    "bag.size": ("bytes", 200e6, None),
    "rosbag2.stop": ("ns", 0.5e9, None),
    "peak_rss": ("bytes", 300e6, None),
}


def table(trials=5, unsupported=None, without=()):
    """A campaign of one arm whose recorder kept 80 of 100, 12 of them lost in the cache and 8
    before."""
    definition = {
        "comparison": "cameras [recorder.place=disk]",
        "workload": {"name": "cameras", "title": "five cameras"},
        "timeline": {"warmup_s": 1.0, "steady_s": 4.0},
        "recorder": {"place": "disk", "cache_mib": 5, "host": "local", "topics": ["image_1"]},
    }
    row = {"arm": "rclcpp/zenoh", "middleware": "rclcpp/rmw_zenoh_cpp", "version": "1", "cell": 1}
    numbers = np.arange(100)
    tables = {
        "sent": {
            "endpoint": np.ones(100, int),
            "seq": numbers,
            "flags": np.zeros(100, int),
            "call_ns": numbers + 1,
        },
        "received": {"writer": np.ones(100, int), "seq": numbers, "flags": np.zeros(100, int)},
        "recorded": {"endpoint": np.ones(80, int), "seq": numbers[:80]},
    }
    counters = [
        {
            "counter": name,
            "unit": unit,
            "value": value,
            "endpoint": endpoint,
            "at": "end",
            "role": "recorder",
        }
        for name, (unit, value, endpoint) in COUNTERS.items()
        if name not in without
    ]
    counters += [
        {"counter": "cpu", "value": value, "endpoint": None, "at": at, "role": "recorder"}
        for at, value in (("steady_begin", 1e9), ("steady_end", 3e9))
    ]
    publisher = {"kind": "publisher", "topic": "image_1", "endpoint": 1}
    bundle = SimpleNamespace(
        rows=lambda _: [row | {"definition": json.dumps(definition)}],
        unsupported=unsupported or {},
        trials=list,
        columns=lambda name, _, __: tables[name],
    )
    small = SimpleNamespace(
        endpoints={n: [publisher] for n in range(trials)},
        counters={n: counters for n in range(trials)},
    )
    measured = {1: [SimpleNamespace(trial=n) for n in range(trials)]}
    return replace(typed(SuiteAnswer), recordings=recordings(bundle, measured, small))


def the_arm(doc):
    ((arm,),) = (row.arms for row in doc.recordings.rows)
    return arm


def test_a_document_has_every_place_and_what_the_recorder_cost():
    arm = the_arm(table())
    assert (arm.answer, arm.places, arm.trials) == ("loses", ("before", "cache"), 5)
    counts = {
        name: getattr(arm, name)
        for name in ("sent", "kept", "unheard", "before", "cache", "disk", "unplaced", "beside")
    }
    assert counts == {
        "sent": 500, "kept": 400, "unheard": 0, "before": 40, "cache": 60, "disk": 0, "unplaced": 0, "beside": 500
    }  # fmt: skip
    assert (arm.transport, arm.bag_bytes, arm.written_bytes_per_s) == (15, 200e6, 40e6)
    assert (arm.cpu_cores, arm.stop_s, arm.peak_rss_bytes) == (0.5, 0.5, 300e6)
    assert [topic.topic for topic in arm.topics] == ["image_1"]


def test_its_view_has_a_table_and_the_reasons():
    doc = table(trials=4)
    (section,) = ros.sections(doc)
    (shown_table,) = tables([section])
    assert any("48 (12 %)" in row for row in cells(shown_table))
    assert any("fewer than 5 decide nothing" in text for text in texts([section]))
