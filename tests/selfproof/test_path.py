"""A path is attested, not believed: what the arm asked for, what the middleware says and what the
kernel counted must agree, or the trial is void with its reason."""

import pytest

pytestmark = pytest.mark.traffic


@pytest.mark.parametrize(
    ("arm", "path"), [("honest memory", "shm"), ("honest tcp", "tcp"), ("honest unix", "unix")]
)
def test_an_honest_middleware_is_attested(campaign, arm, path):
    campaign.trials(arm)
    assert campaign.arm(arm)["path"].startswith(path + " ")


@pytest.mark.parametrize(
    ("arm", "asked"),
    [("wrong wish", "shm"), ("memory called udp", "udp"), ("tcp called memory", "shm")],
)
def test_another_path_than_asked_voids_the_trial_whatever_the_middleware_says(campaign, arm, asked):
    shown = campaign.arm(arm)
    assert shown["trials"]["done"] == 0
    # one that only the machine spoilt ran again
    failures = [one["reason"] for one in shown["trials"]["failures"] if "path:" in one["reason"]]
    assert len(failures) == 2
    assert all(f"path: asked for {asked}, but only 0 %" in reason for reason in failures)
    assert shown["verdict"]["verdict"] == "no data"
    assert "no_data" in shown["metrics"]["response_latency_p50"]


def test_a_lie_that_nobody_asked_about_is_not_repeated(campaign):
    arm = "tcp called memory unasked"
    assert campaign.arm(arm)["path"].startswith("tcp ")
    for trial in campaign.trials(arm):
        rows = campaign.bundle.rows("attestations", trial.trial)
        assert all("own word was shm" in row["note"] for row in rows if row["label"] == "counted")
        assert not [row for row in rows if row["label"] == "evidence"]
