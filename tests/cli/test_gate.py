"""A suite that says what is acceptable makes a gate of `show` and `run`."""

import json

import pytest

from rmwbench.bundle import Bundle
from rmwbench.cli.gate import exit_code, limits
from rmwbench.cli.verbs.capacity import code_of
from rmwbench.results.shown import SuiteAnswer
from tests.support import synthetic_bundle
from tests.support.command import rmwbench
from tests.support.typed import typed


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([], 2),
        (["meets"], 0),
        (["meets", "open"], 2),
        (["unknown"], 2),
        (["open", "misses"], 1),
        (["only"], 1),
        (["none"], 1),
    ],
)
def test_the_worst_condition_decides(found, code):
    conditions = [{"outcome": one} for one in found]
    assert exit_code(typed(SuiteAnswer, {"outcomes": {"conditions": conditions}})) == code


def test_what_may_no_longer_be_acceptable_is_not():
    for may, code in ((["misses", "none"], 1), (["meets", "misses"], 2)):
        conditions = [{"outcome": "open", "may": may}]
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


@pytest.mark.parametrize("about", [{"kind": "capacity"}, {"imported": {}}])
def test_limits_of_what_is_not_judged_are_refused(tmp_path, about):
    """A gate passed."""
    arms = (synthetic_bundle.ARMS[0], synthetic_bundle.ARMS[2])
    path = synthetic_bundle.write(tmp_path / "campaign", workloads=("imu",), arms=arms)
    document = json.loads((path / "campaign.json").read_text())
    (path / "campaign.json").write_text(json.dumps(document | about))
    file = tmp_path / "limits.yaml"
    file.write_text(LIMITS % ("1000", "imu"))
    done = rmwbench("show", path, "--limits", file)
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
    path = synthetic_bundle.write(
        tmp_path / "campaign",
        blocks=blocks,
        workloads=("imu",),
        arms=(synthetic_bundle.ARMS[0], synthetic_bundle.ARMS[2]),
    )
    assert not limits(Bundle(path))
    document = json.loads((path / "campaign.json").read_text())
    document["plan"]["outcomes"] = {
        "acceptable": [{"metric": "response_latency_p50", "at_most": at_most_ns}],
        "none": {"metric": "undelivered", "at_least": 0.95},
    }
    document["plan"]["blocks"]["minimum"] = minimum
    (path / "campaign.json").write_text(json.dumps(document))
    assert limits(Bundle(path))
    for form in ([], ["--json"]):
        done = rmwbench("show", path, *form)
        assert (done.returncode, done.stderr) == (code, "") and done.stdout


LIMITS = "limits: mine\nacceptable: {response_latency_p50_ms: %s}\nof: {workload: %s}\n"


@pytest.mark.parametrize(
    ("most_ms", "workload", "code", "words"),
    [
        ("1000", "imu", 0, "mine"),
        ("0.000001", "imu", 1, "imu"),
        ("1", "camera", 2, "no cell of these campaigns"),
        ("fast", "imu", 2, "limits.yaml:2"),
    ],
)
def test_show_is_a_gate_by_a_limits_file(tmp_path, most_ms, workload, code, words):
    arms = (synthetic_bundle.ARMS[0], synthetic_bundle.ARMS[2])
    path = synthetic_bundle.write(tmp_path / "campaign", workloads=("imu",), arms=arms)
    file = tmp_path / "limits.yaml"
    file.write_text(LIMITS % (most_ms, workload))
    done = rmwbench("show", path, "--limits", file)
    assert done.returncode == code
    assert words in (done.stderr or done.stdout) or code < 2
    assert "Traceback" not in done.stderr
