"""A suite that says what is acceptable makes a gate of `show` and `run`."""

import pytest

from rmwbench.cli.exit_code import exit_code
from rmwbench.cli.verbs.capacity import code_of
from rmwbench.results.show_model import SuiteAnswer
from tests.support import synthetic_bundle
from tests.support.command import rmwbench
from tests.support.edited import campaign_json, limit_median
from tests.support.typed import typed


def being(*outcomes):
    return [{"outcome": one} for one in outcomes]


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (being(), 2),
        (being("meets"), 0),
        (being("meets", "open"), 2),
        (being("unknown"), 2),
        (being("open", "misses"), 1),
        (being("only"), 1),
        (being("none"), 1),
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
        ("1000", "imu", 0, "mine"),
        ("0.000001", "imu", 1, "imu"),
        ("1", "camera", 2, "no measured cell matches"),
        ("fast", "imu", 2, "limits.yaml:2"),
    ],
)
def test_show_is_a_gate_by_a_limits_file(tmp_path, most_ms, workload, code, words):
    done = shown_with_limits(tmp_path, written(tmp_path), most_ms, workload)
    assert done.returncode == code
    assert words in (done.stderr or done.stdout) or code < 2
    assert "Traceback" not in done.stderr
