"""A suite that says what is acceptable makes a gate of `show` and `run`."""

import json
import subprocess
import sys

import pytest

from rmwbench.bundle import Bundle
from rmwbench.cli.gate import exit_code, limits
from tests import synthetic_bundle

COMMAND = [sys.executable, "-c", "from rmwbench.cli.main import main; main()"]


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([], 2),
        (["all acceptable"], 0),
        (["all acceptable", "undecided"], 2),
        (["no data"], 2),
        (["undecided", "degraded"], 1),
        (["only"], 1),
        (["none"], 1),
    ],
)
def test_the_worst_condition_decides(found, code):
    assert exit_code({"outcomes": {"conditions": [{"outcome": one} for one in found]}}) == code


def test_without_limits_there_is_no_gate():
    assert exit_code({"outcomes": None}) == 0 and exit_code({}) == 0


@pytest.mark.parametrize(("at_most_ns", "code"), [(1e9, 0), (1.0, 1)])
def test_show_ends_with_the_answer(tmp_path, at_most_ns, code):
    path = synthetic_bundle.write(
        tmp_path / "campaign", workloads=("imu",), arms=(synthetic_bundle.ARMS[0], synthetic_bundle.ARMS[2])
    )
    assert not limits(Bundle(path))
    document = json.loads((path / "campaign.json").read_text())
    document["plan"]["outcomes"] = {
        "acceptable": [{"metric": "response_latency_p50", "at_most": at_most_ns}],
        "none": {"metric": "undelivered", "at_least": 0.95},
    }
    (path / "campaign.json").write_text(json.dumps(document))
    assert limits(Bundle(path))
    for form in ([], ["--json"]):
        done = subprocess.run([*COMMAND, "show", str(path), *form], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (code, "") and done.stdout
