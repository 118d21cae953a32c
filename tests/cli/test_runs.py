"""A campaign at a terminal: what stops it says how to mend that, and how to go on; a suite that says
what is acceptable makes a gate of `show` and `run`."""

import errno
import shlex
from pathlib import Path

import pytest

from rmwbench.bundle import BundleWriter
from rmwbench.cli.runs import exit_code, resume_command, run_stoppable
from rmwbench.cli.verbs.capacity import code_of
from rmwbench.errors import UserError
from rmwbench.results.show_model import SuiteAnswer
from tests.support import synthetic_bundle
from tests.support.command import rmwbench
from tests.support.edited import campaign_json, limit_median
from tests.support.typed import typed

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


def conditions_with(*outcomes):
    return [{"outcome": outcome} for outcome in outcomes]


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (conditions_with(), 2),
        (conditions_with("meets"), 0),
        (conditions_with("meets", "open"), 2),
        (conditions_with("unknown"), 2),
        (conditions_with("open", "misses"), 1),
        (conditions_with("only"), 1),
        (conditions_with("none"), 1),
        # what may no longer be acceptable is not
        ([{"outcome": "open", "may": ["misses", "none"]}], 1),
        ([{"outcome": "open", "may": ["meets", "misses"]}], 2),
    ],
)
def test_the_worst_condition_decides(conditions, code):
    assert exit_code(typed(SuiteAnswer, {"outcomes": {"conditions": conditions}})) == code


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["bracketed", "at least"], 0),
        (["bracketed", "no data"], 2),
        (["below", "no data"], 1),
        (["below", "bracketed"], 1),
    ],
)
def test_an_arm_without_capacity_is_a_no_whatever_is_unknown_of_others(states, code):
    assert code_of(states) == code


def written(tmp_path, **options):
    """A campaign of the floor and one arm, with one workload."""
    arms = (synthetic_bundle.ARMS[0], synthetic_bundle.ARMS[2])
    return synthetic_bundle.write(tmp_path / "campaign", workloads=("imu",), arms=arms, **options)


def shown_with_limits(tmp_path, campaign, most_ms, workload):
    file = tmp_path / "limits.yaml"
    file.write_text(
        f"limits: mine\nacceptable: {{response_latency_p50_ms: {most_ms}}}\n"
        f"of: {{workload: {workload}}}\n"
    )
    return rmwbench("show", campaign, "--limits", file)


@pytest.mark.parametrize("about", [{"kind": "capacity"}, {"imported": {}}])
def test_limits_of_what_is_not_judged_are_refused(tmp_path, about):
    """A gate passed."""
    path = written(tmp_path)
    with campaign_json(path) as document:
        document |= about
    done = shown_with_limits(tmp_path, path, "1000", "imu")
    assert done.returncode == 2 and "limits are for the verdicts of a campaign" in done.stderr
    assert not done.stdout and "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("at_most_ns", "blocks", "minimum", "code"),
    [
        (1e9, 6, 5, 0),
        (1.0, 6, 5, 1),
        # what fewer blocks show decides nothing, on either side
        (1e9, 4, 2, 2),
        (1.0, 4, 2, 2),
        (1.0, 6, 8, 2),
    ],
)
def test_show_ends_with_the_answer(tmp_path, at_most_ns, blocks, minimum, code):
    path = written(tmp_path, blocks=blocks)
    limit_median(path, at_most_ns)
    with campaign_json(path) as document:
        document["plan"]["blocks"]["minimum"] = minimum
    for form in ([], ["--json"]):
        done = rmwbench("show", path, *form)
        assert (done.returncode, done.stderr) == (code, "") and done.stdout


@pytest.mark.parametrize(
    ("most_ms", "workload", "code", "words"),
    [
        ("1000", "imu", 0, "imu"),
        ("0.000001", "imu", 1, "imu"),
        ("1", "camera", 2, "no measured cell matches"),
        ("fast", "imu", 2, "limits.yaml:2"),
    ],
)
def test_show_is_a_gate_by_a_limits_file(tmp_path, most_ms, workload, code, words):
    done = shown_with_limits(tmp_path, written(tmp_path), most_ms, workload)
    assert done.returncode == code
    assert words in done.stdout + done.stderr and "Traceback" not in done.stderr
