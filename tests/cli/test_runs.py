"""What stops a campaign at a terminal says how to mend that, and how to go on."""

import errno
import shlex
from pathlib import Path

import pytest

from rmwbench.bundle import BundleWriter
from rmwbench.cli.runs import resume_command, run_stoppable
from rmwbench.errors import UserError

GO_ON = "rmwbench resume out --cluster auto"


def stopped_by(error: Exception) -> UserError:
    def run() -> None:
        raise error

    with pytest.raises(UserError) as stop:
        run_stoppable(run, Path("out"), GO_ON, "look")
    return stop.value


def test_an_error_keeps_its_own_advice_before_the_command_that_goes_on():
    """Each was told to make room, whatever its own advice was."""
    lost = UserError(
        "machines were lost", where="--cluster auto", expected="2", actual="1", fix="start them"
    )
    stop = stopped_by(lost)
    assert (stop.what, stop.where, stop.expected) == ("machines were lost", "--cluster auto", "2")
    assert stop.actual == "1"
    assert stop.fix.startswith("start them; ") and GO_ON in stop.fix and "room" not in stop.fix


def test_an_error_without_advice_gets_the_command_that_goes_on():
    stop = stopped_by(UserError("no machine can run this"))
    assert GO_ON in stop.fix and "None" not in stop.fix


def test_a_full_disk_is_told_to_make_room():
    stop = stopped_by(OSError(errno.ENOSPC, "No space left on device", "out/journal.jsonl"))
    assert (stop.where, stop.actual) == ("out/journal.jsonl", "No space left on device")
    assert stop.fix.startswith("make room") and GO_ON in stop.fix


def test_another_error_of_the_system_is_not_changed():
    with pytest.raises(ProcessLookupError):
        run_stoppable(
            lambda: (_ for _ in ()).throw(ProcessLookupError()), Path("out"), GO_ON, "look"
        )


def test_a_directory_with_a_blank_is_one_word_of_the_command_that_goes_on(tmp_path):
    directory = tmp_path / "my run"
    assert shlex.split(resume_command(directory, "auto")) == [
        *("rmwbench", "resume", str(directory), "--cluster", "auto"),
    ]
    directory.mkdir()
    (directory / "campaign.json").write_text("{}")
    with pytest.raises(UserError) as refused:
        BundleWriter.create(directory, {"campaign": "other"})
    assert f"rmwbench resume '{directory}'" in str(refused.value)
