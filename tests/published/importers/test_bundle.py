"""An imported bundle is a bundle: it is checked, read by trial, queried with SQL and shown, and it
says what it cannot tell."""

import json
from functools import partial

import pytest

from rmwbench.bundle import Bundle
from rmwbench.published.importers import KINDS, import_published
from tests.published.importers.samples import SAMPLES, put
from tests.support.command import captured


@pytest.fixture
def rmwbench(capsys, monkeypatch):
    """Run the command line in this process, because a process of its own takes half a second to
    begin."""

    monkeypatch.setenv("COLUMNS", "160")
    return partial(captured, capsys)


def place(tmp_path, name):
    return put(tmp_path / "in", SAMPLES[name][1])


@pytest.fixture
def mininet(tmp_path):
    import_published(place(tmp_path, "tsc-2020-mininet"), tmp_path / "out")
    return Bundle(tmp_path / "out")


def test_every_kind_has_a_sample():
    assert {kind for kind, _ in SAMPLES.values()} == set(KINDS)


def test_trials_are_read_one_by_one_and_together(mininet):
    mininet.check()
    assert mininet.unnamed() == [] and mininet.journal.finished
    whole = mininet.table("windows")
    parts = [mininet.table("windows", t.trial) for t in mininet.trials()]
    counts = [mininet.count("windows", t.trial) for t in mininet.trials()]
    assert [p.num_rows for p in parts] == counts and sum(counts) == whole.num_rows
    assert [set(p.column("trial").to_pylist()) for p in parts] == [{0}, {1}]
    of_one = mininet.columns("windows", 1, ["trial", "value"])
    assert of_one["trial"].tolist() == [1] * counts[1]
    assert mininet.table("sent", 0).num_rows == 0


def test_campaign_json_says_where_it_comes_from(mininet):
    imported = mininet.campaign.imported
    assert imported["kind"] == "tsc-2020-mininet" and imported["source"]["files"] == 6
    assert len(imported["source"]["sha256"]) == 64
    assert all(x["no_data"] for x in imported["limits"])
    assert all(x["text"] for x in imported["errors"])
    assert str(mininet.directory.parent) not in (mininet.directory / "campaign.json").read_text()


def test_it_is_shown(tmp_path, rmwbench):
    import_published(place(tmp_path, "gscam"), tmp_path / "out")
    code, out, err = rmwbench("show", tmp_path / "out")
    assert code == 0, err
    for words in (
        "gscam_latency_max",
        "minimum labelled maximum",
        "No data",
        "loss by sequence number",
    ):
        assert words in out


def test_verbs_that_need_messages_say_so(mininet, rmwbench):
    for verb in (("report",), ("explain",), ("compare", mininet.directory)):
        code, _, err = rmwbench(*verb, mininet.directory)
        assert code == 2 and "was imported" in err and "Traceback" not in err


def test_the_verb_imports_and_prints_both_columns(tmp_path, rmwbench, monkeypatch):
    source = place(tmp_path, "gscam")
    monkeypatch.chdir(source)
    code, out, err = rmwbench("published", "import", ".", "--figures")
    assert code == 0, err
    assert "as published" in out and "as corrected" in out
    (made,) = (source / "campaigns").iterdir()
    assert made.name.startswith("import-in-") and "imported from in (" in " ".join(out.split())
    newest = json.loads(rmwbench("show", "--json")[1])
    assert newest["schema"] == "rmwbench/imported" and newest["campaign"]["name"] == made.name
    (latency,) = [r for r in newest["figures"] if r["figure"] == "gscam_latency_max"]
    assert (latency["as_published"], latency["as_corrected"]) == (0.5, 1.5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "one path"),
        (("gscam",), "no path to import"),
        (("gscan", "in"), "did you mean `gscam`"),
        (("gscam", "in", "more"), "3 words"),
        (("ddsperf", "in"), "findings.txt:1"),
        (("nowhere",), "no such file"),
    ],
)
def test_what_is_typed_wrong_is_one_error(words, said, tmp_path, rmwbench, monkeypatch):
    place(tmp_path, "gscam")
    monkeypatch.chdir(tmp_path)
    code, _, err = rmwbench("published", "import", *words)
    assert code == 2 and err.count("error: ") == 1 and "Traceback" not in err
    assert said in err, err
    assert {p.name for p in tmp_path.iterdir()} == {"in"}


def test_the_list_names_every_kind(rmwbench):
    code, out, _ = rmwbench("published", "import", "--list")
    assert code == 0 and all(kind in out for kind in KINDS)
