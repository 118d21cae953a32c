"""Merged files are copies: the same rows, whatever is there of them."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.bundle_reader import ABSENT
from rmwbench.bundle.journal import TrialEnded
from rmwbench.bundle.schema import TABLES, table_from_rows
from rmwbench.bundle.sql import ask
from rmwbench.errors import UserError
from tests.support import synthetic_bundle
from tests.support.edited import journal
from tests.support.shown import show_document

pytestmark = pytest.mark.long

SHORT = ("pointcloud",)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return synthetic_bundle.write(tmp_path_factory.mktemp("merge") / "c", blocks=9, workloads=SHORT)


@pytest.fixture(scope="module")
def answer(plain):
    """What is shown of it."""
    return document(plain)


@pytest.fixture(scope="module")
def merged_once(plain):
    return merge(shutil.copytree(plain, plain.with_name("merged")))


@pytest.fixture
def merged(merged_once, tmp_path):
    return shutil.copytree(merged_once, tmp_path / "merged")


def merge(directory):
    with BundleWriter.reopen(directory) as writer:
        writer.merge()
    return directory


def rows(directory, name):
    rows = Bundle(directory).rows(name)
    return sorted(json.dumps(r, sort_keys=True) for r in rows)


def document(directory):
    shown = show_document(Bundle(directory))
    del shown["campaign"]["directory"]
    return json.dumps(shown)


def test_a_merged_bundle_says_what_it_said_before(plain, merged, answer):
    assert Bundle(merged).journal.merged
    for name in TABLES:
        assert len(Bundle(merged).paths(name)) <= 1
        assert rows(merged, name) == rows(plain, name)
    assert document(merged) == answer
    sql = (
        "select trial, count(*), sum(taken_ns), count(consumed_ns) from received group by trial "
        "order by trial"
    )
    assert ask(Bundle(merged), sql) == ask(Bundle(plain), sql)


def test_the_records_of_every_trial_come_back_from_the_merged_file(plain, merged, monkeypatch):
    # several row groups, several trials in each
    monkeypatch.setattr("rmwbench.bundle.merge.MERGED_ROWS", 200)
    merge(shutil.copytree(plain, merged.with_name("grouped")))
    for directory in (merged, merged.with_name("grouped")):
        bundle = Bundle(directory)
        (lots,) = bundle.lots("received")
        assert len(lots.trials) == 72
        for trial in [*range(72), 3, 70, 0]:
            here, own = lots.columns(trial), bundle.columns("received", trial)
            assert here.keys() == own.keys()
            assert all(np.array_equal(here[n], own[n]) for n in own)
    assert bundle._open(bundle.paths("received")[0]).num_row_groups > 5


def test_a_merged_file_from_before_a_column_was_added_is_read(merged):
    path = merged / "tables/sent/merged-000000.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["fill_ns"]), path)
    (lots,) = Bundle(merged).lots("sent")
    columns = lots.columns(3)
    assert len(columns["fill_ns"]) == len(columns["seq"]) > 0
    assert (columns["fill_ns"] == ABSENT).all()


def test_a_merged_file_that_the_journal_does_not_name_is_not_part_of_the_bundle(merged, answer):
    with journal(merged) as lines:
        lines[:] = [line for line in lines if line["type"] != "merged"]
    bundle = Bundle(merged)
    assert len(bundle.paths("sent")) == 72
    assert {p.name for p in bundle.unnamed()} == {"merged-000000.parquet"}
    BundleWriter.reopen(merged).close()
    assert not list(merged.glob("tables/*/merged-*"))
    assert document(merged) == answer


def test_a_campaign_that_goes_on_is_merged_again_and_only_what_is_new(merged):
    add(merged, range(100, 170))
    assert len(Bundle(merged).paths("sent")) == 71
    merge(merged)
    assert [p.name for p in Bundle(merged).paths("sent")] == [
        "merged-000000.parquet",
        "merged-000001.parquet",
    ]
    assert Bundle(merged).journal.merged[1].tables["sent"] == ((100, 169),)
    assert Bundle(merged).table("trials").num_rows == 142
    merge(merged)
    assert len(Bundle(merged).journal.merged) == 2


def test_a_trial_that_is_run_again_is_not_read_from_what_was_merged_before(merged):
    add(merged, [5])
    assert not Bundle(merged).journal.merged
    assert [r["reason"] for r in Bundle(merged).rows("trials") if r["trial"] == 5] == ["again"]


def test_damage_in_a_merged_file_is_named_and_harmless(merged, answer):
    path = merged / "tables/received/merged-000000.parquet"
    content = bytearray(path.read_bytes())
    content[8:800] = bytes(792)
    path.write_bytes(content)
    with pytest.raises(UserError, match="truncated or corrupt") as error:
        document(merged)
    assert f"{path}" in str(error.value) and "delete this file" in str(error.value)
    path.unlink()
    assert document(merged) == answer


def add(directory, trials):
    with BundleWriter.reopen(directory) as writer:
        for n in trials:
            row = {"trial": n, "cell": 0, "block": 99, "status": "failed", "reason": "again"}
            tables = {
                "trials": table_from_rows("trials", [row]),
                "sent": {"trial": [n], "seq": [0]},
            }
            writer.finish_trial(
                TrialEnded(
                    trial=n, cell=0, block=99, status="failed", reason="again", finished_utc=""
                ),
                tables,
            )
