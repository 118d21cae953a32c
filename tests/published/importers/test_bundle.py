"""An imported bundle is a bundle: checked, read by trial, asked with SQL, shown; and it says what
it cannot tell."""

import json
from types import SimpleNamespace

import pytest

from rmwbench.bundle import Bundle
from rmwbench.published.importers import KINDS, import_published
from tests.published.importers.samples import SAMPLES
from tests.support.command import exit_code


@pytest.fixture
def rmwbench(capsys, monkeypatch):
    """The command line in this process: one of its own takes half a second to begin."""

    def types(*arguments, cwd=None):
        monkeypatch.setenv("COLUMNS", "160")
        if cwd is not None:
            monkeypatch.chdir(cwd)
        code = exit_code(*arguments)
        out = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=out.out, stderr=out.err)

    return types


def place(tmp_path, name):
    for path, text in SAMPLES[name][1].items():
        (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / path).write_text(text)
    return tmp_path / "in"


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
    assert (
        sum(p.num_rows for p in parts)
        == whole.num_rows
        == sum(mininet.count("windows", t.trial) for t in mininet.trials())
    )
    assert [set(p.column("trial").to_pylist()) for p in parts] == [{0}, {1}]
    assert (
        mininet.columns("windows", 1, ["trial", "value"])["trial"].tolist()
        == [1] * parts[1].num_rows
    )
    assert mininet.table("sent", 0).num_rows == 0


def test_campaign_json_says_where_it_comes_from(mininet):
    imported = mininet.campaign.imported
    assert imported["kind"] == "tsc-2020-mininet" and imported["source"]["files"] == 6
    assert len(imported["source"]["sha256"]) == 64
    assert all(x["no_data"] for x in imported["limits"]) and all(
        x["text"] for x in imported["errors"]
    )
    assert str(mininet.directory.parent) not in (mininet.directory / "campaign.json").read_text()


def test_it_is_shown(tmp_path, rmwbench):
    import_published(place(tmp_path, "gscam"), tmp_path / "out")
    shown = rmwbench("show", tmp_path / "out")
    assert shown.returncode == 0, shown.stderr
    for words in (
        "gscam_latency_max",
        "minimum labelled maximum",
        "No data",
        "loss by sequence number",
    ):
        assert words in shown.stdout


def test_verbs_that_need_messages_say_so(mininet, rmwbench):
    for verb in (("report",), ("explain",), ("compare", mininet.directory)):
        done = rmwbench(*verb, mininet.directory)
        assert (
            done.returncode == 2
            and "was imported" in done.stderr
            and "Traceback" not in done.stderr
        )


def test_the_verb_imports_and_prints_both_columns(tmp_path, rmwbench):
    source = place(tmp_path, "gscam")
    done = rmwbench("published", "import", source, "--figures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "as published" in done.stdout and "as corrected" in done.stdout
    (made,) = (tmp_path / "campaigns").iterdir()
    newest = json.loads(rmwbench("show", "--json", cwd=tmp_path).stdout)
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
def test_what_is_typed_wrong_is_one_error(words, said, tmp_path, rmwbench):
    place(tmp_path, "gscam")
    done = rmwbench("published", "import", *words, cwd=tmp_path)
    assert (
        done.returncode == 2
        and done.stderr.count("error: ") == 1
        and "Traceback" not in done.stderr
    )
    assert said in done.stderr, done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"in"}


def test_the_list_names_every_kind(rmwbench):
    done = rmwbench("published", "import", "--list")
    assert done.returncode == 0 and all(kind in done.stdout for kind in KINDS)
