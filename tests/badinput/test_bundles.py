"""Bundles that are damaged, and directories that are not bundles: the error names the file, and
nothing is changed."""

import json
import signal
import subprocess

import pytest

from rmwbench.bundle import Bundle
from tests.badinput.conftest import SUITE
from tests.support.command import COMMAND

SHOW, REPORT = ("show", "campaign"), ("report", "campaign")
QUERY = ("query", "select count(*) from received", "campaign")


def first(campaign, table):
    """Return the file of the first done trial. Trials that a busy machine spoilt are not read."""
    done = min(line.trial for line in Bundle(campaign).trials("done"))
    return campaign / "tables" / table / f"{done:06}.parquet"


@pytest.mark.long
@pytest.mark.parametrize(
    ("damage", "arguments"),
    [
        *((damage, SHOW) for damage in ("truncated", "empty", "overwritten", "gone")),
        ("truncated", REPORT),
        ("truncated", QUERY),
        ("gone", QUERY),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_damaged_table_is_named(user, campaign, damage, arguments):
    path = first(campaign, "received")
    if damage == "gone":
        path.unlink()
    elif damage == "overwritten":
        path.write_bytes(b"\0" * path.stat().st_size)
    else:
        path.write_bytes(path.read_bytes()[: 0 if damage == "empty" else 700])
    error = user.is_refused(*arguments)
    assert f"campaign/tables/received/{path.name}: " in error.splitlines()[0]
    assert "restore the campaign from a copy" in error


def test_a_campaign_of_another_version_is_refused(user, campaign):
    path = campaign / "campaign.json"
    path.write_text(path.read_text().replace('"version": 1,', '"version": 7,', 1))
    for verb in ("show", "resume"):
        assert "version 7" in user.is_refused(verb, "campaign")


def test_a_journal_that_lacks_the_end_of_its_last_line_loses_that_step_only(user, campaign):
    """A power cut leaves such a journal. The trial whose line is cut is run again."""
    journal = campaign / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if '"type": "trial"' in line)
    journal.write_text("".join(lines[:last]) + lines[last][:50])
    shown = user.types("show", "campaign", "--json")
    assert shown.returncode == 0 and json.loads(shown.stdout)["campaign"]["trials"]["done"] == 1
    assert user.types("resume", "campaign", "--no-report").returncode == 0
    bundle = Bundle(campaign)
    bundle.check()
    assert len(bundle.trials("done")) == 2 and bundle.journal.finished


def test_a_campaign_that_lacks_only_its_last_word_is_finished_by_resuming(user, campaign):
    journal = campaign / "journal.jsonl"
    # The last one: a trial that the machine took was run again behind another.
    before, cut, behind = journal.read_text().rpartition('{"type": "finished"}\n')
    assert cut and not behind
    journal.write_text(before + '{"type": "fin')
    assert not Bundle(campaign).journal.finished
    done = user.types("resume", "campaign", "--no-report")
    assert done.returncode == 0 and "every trial of this campaign is finished" in done.stderr
    assert Bundle(campaign).journal.finished


def test_resuming_what_is_not_a_campaign_is_refused(user):
    (user.path / "empty").mkdir()
    assert "no campaign here" in user.is_refused("resume", "empty")
    assert "no such directory" in user.is_refused("resume", "gone")
    user.is_refused("resume", "mini.yaml")


def test_a_campaign_that_was_begun_gets_no_other_budget(user, campaign):
    error = user.is_refused("resume", "campaign", "--budget", "5m")
    assert "--budget does not go with this" in error and "leave --budget out" in error


def test_resuming_a_finished_campaign_changes_nothing(user, campaign):
    files_before = user.tree()
    done = user.types("resume", "campaign", "--no-report")
    assert done.returncode == 0 and "every trial of this campaign is finished" in done.stderr
    assert {path: size for path, (size, _) in user.tree().items()} == {
        path: size for path, (size, _) in files_before.items()
    }


def test_resuming_with_an_edited_profile_is_refused_and_the_suite_may_change(user):
    """The suite's text is in the bundle; a profile file is not copied until the campaign begins,
    and then must stay."""
    user.suite.write_text(
        SUITE.replace("middleware: fake}", "middleware: fake, profile: ./mine.xml}")
    )
    (user.path / "mine.xml").write_text("<a/>")
    process = subprocess.Popen(
        [*COMMAND, "run", "mini.yaml", "--out", "out", "--no-report"],
        cwd=user.path,
        env=user._environ(),
        stderr=subprocess.PIPE,
        text=True,
    )
    # Before it a busy machine may have voided a trial.
    assert any(line.startswith("block 1 of 2 done") for line in iter(process.stderr.readline, ""))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    if process.returncode == 0:
        pytest.skip("the campaign ended before it was stopped")
    user.suite.write_text("nonsense")
    (user.path / "mine.xml").write_text("<b/>")
    error = user.is_refused("resume", "out")
    assert "cells are not what they were" in error and "restore the profile files" in error
    (user.path / "mine.xml").write_text("<a/>")
    assert user.types("resume", "out", "--no-report").returncode == 0


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("selec 1", "syntax error"),
        ("copy (select 1) to 'stolen.csv'", "disabled"),
        ("attach 'mine.db'", "disabled"),
    ],
)
def test_sql_that_is_wrong_or_reaches_elsewhere_is_refused(user, campaign, sql, complaint):
    assert complaint in user.is_refused("query", sql, "campaign")
