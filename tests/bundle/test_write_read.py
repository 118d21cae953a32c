"""A bundle is valid at every instant, and what is broken says so once, clearly."""

import errno
import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rmwbench.bundle import Bundle, BundleWriter, write
from rmwbench.bundle.bundle_reader import ABSENT
from rmwbench.bundle.journal import CampaignFinished, TrialEnded, read_line
from rmwbench.bundle.schema import TABLES, table_from_columns, table_from_rows
from rmwbench.errors import UserError
from rmwbench.whole_file import durable_file, durable_files
from tests.support import synthetic_bundle


def sent(n=5, **more):
    return {
        "trial": 0,
        "endpoint": 1,
        "seq": np.arange(n),
        "intended_ns": np.arange(n) * 10,
        "call_ns": np.arange(n) * 10,
        "flags": 0,
    } | more


def finish(writer, trial=0, status="done", reason=None, **tables):
    writer.finish_trial(
        TrialEnded(
            trial=trial,
            cell=0,
            block=0,
            status=status,
            reason=reason,
            finished_utc="2026-01-01T00:00:00Z",
        ),
        tables,
    )


@pytest.fixture
def directory(tmp_path):
    with BundleWriter.create(tmp_path / "c", {"campaign": "c"}) as writer:
        finish(writer, sent=sent())
    return tmp_path / "c"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return synthetic_bundle.write(
        tmp_path_factory.mktemp("bundle") / "c", blocks=1, workloads=("pointcloud",)
    )


def test_the_fixture_reads_back(whole):
    bundle = Bundle(whole)
    bundle.check()
    assert len(bundle.trials()) == 8
    assert bundle.trials("failed") == []
    assert bundle.table("sent").schema.equals(TABLES["sent"])
    assert bundle.table("sent", trial=0, columns=["seq", "endpoint"]).column_names == [
        "seq",
        "endpoint",
    ]
    assert bundle.table("spans").num_rows == 0
    assert bundle.count("sent", 0) == len(bundle.columns("sent", 0, ["seq"])["seq"])
    assert bundle.file(bundle.rows("files")[0]["sha256"]) == b"{mode: 'peer'}"


def test_units_are_in_the_files(whole):
    schema = pq.read_schema(whole / "tables/sent/000000.parquet")
    assert schema.field("intended_ns").metadata[b"unit"] == b"ns"
    assert schema.field("bytes").metadata[b"unit"] == b"bytes"


def test_zero_stamps_become_absent_and_stay_so(directory):
    table = Bundle(directory).table("sent")
    assert table.column("call_ns").to_pylist() == [None, 10, 20, 30, 40]
    # 0 is a time like any other here
    assert table.column("intended_ns").to_pylist() == [0, 10, 20, 30, 40]
    columns = Bundle(directory).columns("sent", 0)
    assert columns["call_ns"].tolist() == [ABSENT, 10, 20, 30, 40]
    assert columns["cause_seq"].tolist() == [ABSENT] * 5


@pytest.mark.parametrize("values", [[-1, 2, 3], [2**32, 0, 0]])
def test_a_value_that_does_not_fit_is_refused(values):
    with pytest.raises(pa.ArrowInvalid):
        table_from_columns("sent", sent(3, flags=np.array(values)))


def test_unknown_columns_and_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="no column latency"):
        table_from_columns("sent", {"latency": [1]})
    with pytest.raises(ValueError, match="unequal length"):
        table_from_columns("sent", {"seq": [1, 2], "flags": [0]})
    assert (
        table_from_rows(
            "events", [{"event": "a", "time_ns": 1}, {"event": "b", "writer": 3}]
        ).to_pylist()[1]["writer"]
        == 3
    )


def test_a_name_whose_bytes_are_not_utf_8_is_stored_with_escapes():
    """One that a middleware left in /tmp ended its trial."""
    table = table_from_rows("leftovers", [{"path": "/tmp/caf\udce9"}, {"path": None}])
    assert table["path"].to_pylist() == ["/tmp/caf\\udce9", None]


def test_large_tables_span_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("rmwbench.bundle.write.ROWS_PER_GROUP", 1000)
    call = np.arange(1, 3501)
    call[2500] = 0
    with BundleWriter.create(tmp_path / "c", {}) as writer:
        finish(writer, sent=sent(3500, call_ns=call, bytes=64))
    assert pq.ParquetFile(tmp_path / "c/tables/sent/000000.parquet").num_row_groups == 4
    columns = Bundle(tmp_path / "c").columns("sent", 0)
    assert columns["seq"].tolist() == list(range(3500))
    assert columns["call_ns"][[2499, 2500, 2501]].tolist() == [2500, ABSENT, 2502]
    assert columns["bytes"].strides == (0,)  # constant: not materialised
    assert columns["bytes"].tolist() == [64] * 3500


def test_only_what_the_journal_names_exists(directory):
    with BundleWriter.reopen(directory) as writer:
        writer.write_tables(1, {"sent": sent()})  # the power fails before the journal line
        assert [t.trial for t in Bundle(directory).trials()] == [0]
        assert Bundle(directory).table("sent").num_rows == 5
    with BundleWriter.reopen(directory):
        assert not (directory / "tables/sent/000001.parquet").exists()


def test_a_partial_file_is_never_seen_and_is_removed_on_resume(directory):
    partial = directory / "tables/sent/000007.parquet.partial"
    partial.write_bytes(b"half")
    assert Bundle(directory).table("sent").num_rows == 5
    with BundleWriter.reopen(directory):
        assert not partial.exists()


def test_a_trial_knows_after_how_many_blocks_its_campaign_had_been_judged(tmp_path):
    def trial(number, block):
        return {"type": "trial", "trial": number, "cell": 0, "block": block, "status": "void"}

    def judged(*lines):
        directory = tmp_path / str(len(list(tmp_path.iterdir())))
        with BundleWriter.create(directory, {"campaign": "c"}) as writer:
            for line in lines:
                writer.append(read_line(line))
        return [x.judged_before for x in Bundle(directory).trials()]

    finished = {"type": "finished"}
    look = {"type": "look", "blocks": 2, "looks": [2, 3], "decided": 0, "of": 1}
    look |= {"alpha": 0.01, "ended": False, "stop": None}
    assert judged(trial(1, 0), trial(2, 1), finished, trial(3, 0)) == [0, 0, 2]
    # what time left out is judged at the looks that are still to come
    assert judged(trial(1, 0), trial(2, 1), look, finished, trial(3, 2)) == [0, 0, 2]
    assert judged(trial(1, 0), trial(2, 0)) == [0, 0]


def test_a_cut_last_line_is_ignored_and_then_overwritten(directory):
    journal = directory / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"type": "trial", "tri')
    assert [t.trial for t in Bundle(directory).trials()] == [0]
    with BundleWriter.reopen(directory) as writer:
        writer.append(CampaignFinished())
    assert Bundle(directory).journal.finished
    assert [json.loads(line)["type"] for line in journal.read_text().splitlines()] == [
        "trial",
        "finished",
    ]


def test_half_a_character_in_a_path_or_a_note_is_read_as_a_replacement(tmp_path):
    """A suite whose file name is not UTF-8 was a crash that left a directory."""
    document = {"request": {"suite_file": "caf\udce9.yaml"}}
    with BundleWriter.create(tmp_path / "c", document) as writer:
        writer.note("caf\udce9")
    bundle = Bundle(tmp_path / "c")
    assert bundle.campaign.request == {"suite_file": "caf\ufffd.yaml"}
    assert bundle.journal.lines[0].text == "caf\ufffd"


def test_a_second_campaign_in_the_same_directory_is_refused(directory):
    before = (directory / "campaign.json").read_bytes()
    with pytest.raises(UserError, match="holds a campaign already") as error:
        BundleWriter.create(directory, {"campaign": "other"})
    assert "rmwbench resume" in str(error.value)
    assert (directory / "campaign.json").read_bytes() == before


def test_two_writers_at_once_are_refused(directory):
    with (
        BundleWriter.reopen(directory),
        pytest.raises(UserError, match="another rmwbench is writing"),
    ):
        BundleWriter.reopen(directory)
    BundleWriter.reopen(directory).close()


@pytest.mark.parametrize("closes", [True, False])
def test_a_campaign_that_began_in_the_same_directory_meanwhile_is_left_alone(
    tmp_path, monkeypatch, closes
):
    """Its lock, campaign.json and journal were removed while it ran."""
    place, refuse, first = tmp_path / "c", write._refuse_used, []

    def then_the_other_begins(directory):
        refuse(directory)
        monkeypatch.undo()
        first.append(BundleWriter.create(place, {"campaign": "first"}))
        if closes:
            first[0].close()

    monkeypatch.setattr(write, "_refuse_used", then_the_other_begins)
    with pytest.raises(UserError) as error:
        BundleWriter.create(place, {"campaign": "second"})
    assert ("holds a campaign already" if closes else "another rmwbench") in str(error.value)
    finish(first[0], sent=sent())
    first[0].close()
    Bundle(place).check()
    assert json.loads((place / "campaign.json").read_text())["campaign"] == "first"


def test_a_file_system_without_locks_is_not_another_writer(directory, monkeypatch):
    def refuse(file, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(write.fcntl, "flock", refuse)
    with pytest.raises(UserError, match="cannot lock files") as error:
        BundleWriter.reopen(directory)
    assert error.value.actual == "No locks available"


def test_what_another_writer_finished_until_it_gave_the_lock_is_kept(directory, monkeypatch):
    """The tables of its last trial were in no journal that had been read, and were removed."""
    other, take = BundleWriter.reopen(directory), write._take_lock

    def after_the_other(place):
        finish(other, trial=1, sent=sent())
        other.close()
        return take(place)

    monkeypatch.setattr(write, "_take_lock", after_the_other)
    BundleWriter.reopen(directory).close()
    Bundle(directory).check()
    assert Bundle(directory).table("sent", 1).num_rows == 5


def test_a_failed_trial_needs_its_reason(directory):
    with BundleWriter.reopen(directory) as writer, pytest.raises(ValueError, match="reason"):
        finish(writer, trial=1, status="failed")


def test_tables_of_the_campaign_and_of_trials_are_not_mixed_up(directory):
    with BundleWriter.reopen(directory) as writer:
        with pytest.raises(ValueError, match="whole campaign"):
            writer.write_tables(1, {"cells": {"cell": [0]}})
        with pytest.raises(ValueError, match="not of the whole campaign"):
            writer.write_tables(None, {"sent": sent()})


def broken(whole, tmp_path, damage):
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    damage(copy)
    return copy


SENT, RECEIVED = "tables/sent/000003.parquet", "tables/received/000003.parquet"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("campaign.json", None, "no campaign here"),
        ("campaign.json", b"{", "cannot be read"),
        ("campaign.json", b"[]", "not a campaign of rmwbench"),
        ("campaign.json", b'{"schema": "rosbag", "version": 1}', "not a campaign of rmwbench"),
        ("campaign.json", b'{"schema": "rmwbench/campaign", "version": 2}', "another version"),
        ("journal.jsonl", None, "no journal"),
        ("journal.jsonl", b'{"type": "note"}\nrubbish\n{"type": "finished"}\n', "journal.jsonl:2"),
        (SENT, None, "not there"),
        (SENT, b"PAR1", "truncated or corrupt"),
        (SENT, lambda copy: (copy / SENT).read_bytes()[:-100], "truncated or corrupt"),
        (SENT, lambda copy: (copy / RECEIVED).read_bytes(), "lacks columns"),
    ],
)
def test_a_broken_bundle_says_what_where_and_how_to_go_on(whole, tmp_path, name, content, says):
    def damage(copy):
        if content is None:
            (copy / name).unlink()
        else:
            (copy / name).write_bytes(content if isinstance(content, bytes) else content(copy))

    with pytest.raises(UserError) as error:
        Bundle(broken(whole, tmp_path, damage)).check()
    assert says in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_damage_in_the_middle_of_a_file_is_found_on_reading(whole, tmp_path):
    def damage(copy):
        path = copy / SENT
        content = bytearray(path.read_bytes())
        content[8:800] = bytes(792)
        path.write_bytes(content)

    bundle = Bundle(broken(whole, tmp_path, damage))
    for read in (lambda: bundle.table("sent"), lambda: bundle.columns("sent", 3)):
        with pytest.raises(UserError, match="truncated or corrupt"):
            read()


def test_no_flipped_bit_changes_a_number_silently(tmp_path):
    """Damage is either refused or harmless: never another value."""
    rng = np.random.default_rng(3)
    taken = np.cumsum(rng.integers(1, 1000, 4000))
    with BundleWriter.create(tmp_path / "c", {"campaign": "c"}) as writer:
        finish(writer, sent=sent(4000, intended_ns=taken))
    path = tmp_path / "c/tables/sent/000000.parquet"
    sound = path.read_bytes()
    refused = 0
    for place in rng.integers(4, len(sound) - 8, 60):
        flipped = bytearray(sound)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(flipped))
        try:
            stamps_ns = Bundle(tmp_path / "c").columns("sent", 0, ["intended_ns"])["intended_ns"]
        except UserError:
            refused += 1
        else:
            assert np.array_equal(stamps_ns, taken), f"byte {place}"
    assert refused > 10


def test_a_changed_file_is_found(whole, tmp_path):
    bundle = Bundle(
        broken(whole, tmp_path, lambda c: [p.write_bytes(b"x") for p in (c / "files").iterdir()])
    )
    with pytest.raises(UserError, match="was changed"):
        bundle.file(bundle.rows("files")[0]["sha256"])


def test_a_bundle_from_before_a_column_was_added_reads_it_as_null(tmp_path):
    from rmwbench.bundle.schema import ADDED
    from rmwbench.bundle.sql import ask

    row = {
        "endpoint": 1,
        "kind": "publisher",
        "node": "n",
        "process": "p",
        "payload_bytes": 64,
        "peers": "[2]",
    }
    with BundleWriter.create(tmp_path / "c", {"campaign": "c"}) as writer:
        for trial in (1, 2):
            columns = {name: [value] for name, value in row.items()} | {"trial": [trial]}
            finish(writer, trial, endpoints=columns)
    path = tmp_path / "c" / "tables" / "endpoints" / "000001.parquet"
    old = pq.read_table(path).drop_columns(list(ADDED["endpoints"]))
    pq.write_table(old, path)
    bundle = Bundle(tmp_path / "c")
    bundle.check()
    assert [(r["trial"], r["kind"], r["peers"]) for r in bundle.rows("endpoints")] == [
        (1, "publisher", None),
        (2, "publisher", "[2]"),
    ]
    assert np.array_equal(bundle.columns("endpoints", 1, ["reply_bytes"])["reply_bytes"], [ABSENT])
    assert ask(bundle, "select trial, peers, joins_ns from endpoints order by trial").rows == [
        (1, None, None),
        (2, "[2]", None),
    ]
    pq.write_table(
        pq.read_table(path.with_name("000002.parquet")).drop_columns(list(ADDED["endpoints"])),
        path.with_name("000002.parquet"),
    )
    assert ask(
        Bundle(tmp_path / "c"), "select max(peers), max(reply_bytes) from endpoints"
    ).rows == [(None, None)]
    pq.write_table(old.drop_columns(["kind"]), path)
    with pytest.raises(UserError, match="lacks columns"):
        Bundle(tmp_path / "c").rows("endpoints")


def test_a_durable_file_goes_where_a_symbolic_link_leads(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("file")
    with durable_file(link) as partial:
        partial.write_text("new")
    assert link.is_symlink() and (tmp_path / "file").read_text() == "new"


def test_the_durable_file_that_cannot_be_written_is_named_and_leaves_no_part(tmp_path):
    paths = [tmp_path / name for name in ("first", "second", "third")]
    paths[1].mkdir()
    with pytest.raises(UserError) as raised, durable_files() as durable:
        for path in paths:
            durable(path).write_text("new")
    assert raised.value.where == str(paths[1])
    assert sorted(tmp_path.iterdir()) == paths[:2] and paths[0].read_text() == "new"


def test_another_files_error_is_not_the_durable_files(tmp_path):
    with pytest.raises(FileNotFoundError), durable_file(tmp_path / "file") as partial:
        partial.write_text((tmp_path / "absent").read_text())
    assert list(tmp_path.iterdir()) == []
