"""What a table calls an arm."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from rmwbench.bundle import Bundle
from rmwbench.bundle.schema import table_from_rows
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import BufferShortfall, WorkloadArm
from tests.support import synthetic_bundle
from tests.support.edited import campaign_json
from tests.support.typed import typed

OLD = {"arm": "fastdds tuned", "middleware": "fastdds", "version": "2.9.1", "outdated": True}


def test_what_is_not_granted_stands_in_the_name_wherever_the_arm_is_named():
    wish = {"side": "receive", "asked_bytes": 1 << 24, "granted_bytes": 1 << 22, "setting": "s"}
    arm = {"arm": "cyclonedds tuned", "middleware": "cyclonedds", "ungranted": [wish]}
    assert typed(WorkloadArm, arm).label == "cyclonedds tuned (4.19 MB granted)"
    both = [wish | {"machine": name} for name in ("rover", "desk")]
    assert typed(WorkloadArm, arm | {"ungranted": both}).label == (
        "cyclonedds tuned (4.19 MB granted on rover, 4.19 MB granted on desk)"
    )
    old = typed(WorkloadArm, OLD | {"ungranted": [wish]})
    assert old.label == "fastdds 2.9 tuned (4.19 MB granted)"


@pytest.mark.parametrize(
    ("month", "label"),
    [("2026-01", "fastdds 3.3 untouched"), ("2026-11", "fastdds untouched"), (None, None)],
)
def test_a_middleware_has_its_bare_name_while_its_vendor_supports_that_version(
    tmp_path, month, label
):
    arms = tuple(
        replace(arm, version="3.3.0", release_date="2025-07-10")
        if arm.middleware == "fastdds"
        else arm
        for arm in synthetic_bundle.ARMS
    )
    path = synthetic_bundle.write(tmp_path / "c", arms=arms, workloads=("imu",), blocks=2)
    with campaign_json(path) as document:
        for described in document["middlewares"]:
            if described["middleware"] == "fastdds" and month:
                described["build"]["end_of_life"] = month
    (workload,) = summarise(Bundle(path)).workloads
    (arm,) = [arm for arm in workload.arms if arm.arm == "fastdds untouched"]
    assert arm.label == (label or arm.arm)
    ended = month == "2026-01"
    assert arm.support_ended == (month if ended else None)
    assert any("without its vendor's support since 2026-01" in x for x in arm.flags) == ended


def test_the_bundle_says_what_was_not_granted(tmp_path):
    """A fact of the cell, and not a sentence, by which a headline leaves the arm out."""
    bundle = synthetic_bundle.write(tmp_path / "c", merged=True)
    (path,) = (bundle / "tables" / "cells").glob("*.parquet")
    wish = {"side": "receive", "asked_bytes": 1 << 24, "granted_bytes": 1 << 22, "setting": "s"}
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        if row["arm"] == "cyclonedds tuned":
            row["definition"] = json.dumps(json.loads(row["definition"]) | {"ungranted": [wish]})
    pq.write_table(table_from_rows("cells", rows), path)
    arms = [arm for workload in summarise(Bundle(bundle)).workloads for arm in workload.arms]
    ungranted = {arm.arm: arm.ungranted for arm in arms if arm.ungranted}
    assert ungranted == {"cyclonedds tuned": (BufferShortfall(**wish),)}
