"""Time and cost on a number of machines."""

import json

import pytest

from rmwbench.cluster.batch_schedule import duration_s, machine_budget_s, time_document, time_text
from rmwbench.errors import UserError
from tests.campaign.test_course import plan
from tests.support.command import exit_code


def make(machine_s):
    return plan("{planned: 12, minimum: 5}", budget_s=machine_s)


def test_machines_cost_as_long_as_they_are_held():
    whole = make(None)
    # 12 blocks of two comparisons: 24 parts, five on four of the machines
    document = time_document(whole, 5)
    assert document["estimated_s"] == pytest.approx(duration_s(whole, 5), abs=1e-3)
    assert document["machine_hours"] == pytest.approx(5 * document["estimated_s"] / 3600, abs=1e-4)
    assert document["busy"] == pytest.approx(
        whole.estimated_s / (5 * document["estimated_s"]), abs=1e-3
    )
    assert document["useful_machines"] == 24
    assert "machines beyond 24 have nothing to do" in time_text(
        time_document(whole, 30)
    ) and "beyond" not in time_text(document)


@pytest.mark.parametrize(
    ("budget_s", "machines", "most_s"), [(None, 1, 69.0), (None, 9, 69.0), (70.0, 1, 69.0)]
)
def test_a_campaign_by_the_clock_takes_no_longer_than_its_time(budget_s, machines, most_s):
    """40 blocks would take 9 minutes on one machine; a budget of 70 s holds five."""
    timed = plan("{maximum: 40, minimum: 5, within_s: 60}", budget_s=budget_s)
    document = time_document(timed, machines)
    assert document["estimated_s"] == pytest.approx(
        min(most_s, duration_s(timed, machines)), abs=1e-3
    )
    assert 0.5 < document["busy"] <= 1


@pytest.mark.parametrize("machines", [1, 3, 7])
@pytest.mark.parametrize("budget_s", [90.0, 200.0, 1000.0])
def test_a_budget_of_the_cluster_is_kept_and_used(machines, budget_s):
    affordable = make(machine_budget_s(make, machines, budget_s))
    assert duration_s(affordable, machines) <= budget_s + 1e-6
    assert (
        duration_s(make((affordable.blocks + machines) * affordable.block_s), machines) > budget_s
    )


def test_a_budget_that_is_too_small_says_what_so_many_machines_need():
    with pytest.raises(UserError, match="too small") as raised:
        machine_budget_s(make, 3, 10.0)
    assert "on 3 machines: 5 blocks" in raised.value.expected
    with pytest.raises(UserError, match="too small") as raised:
        machine_budget_s(make, 4, 10.0, per_trial=2)
    assert "on 4 machines: 5 blocks" in raised.value.expected


def test_machines_that_are_too_few_for_another_trial_are_paid_and_run_none():
    two, three = (time_document(make(None), machines, per_trial=2) for machines in (2, 3))
    assert three["estimated_s"] == two["estimated_s"]
    assert three["machine_hours"] == pytest.approx(1.5 * two["machine_hours"], abs=2e-4)
    assert three["busy"] == pytest.approx(two["busy"] / 1.5, abs=1e-3)


def test_many_machine_hours_are_written_without_an_exponent():
    document = {
        "machines": 4,
        "useful_machines": 9,
        "estimated_s": 110e3,
        "machine_hours": 122.2222,
    }
    text = time_text(document | {"busy": 0.9})
    assert text.endswith("at most about 30.6 h, 122 machine-hours, 90 % of them trials.")


def test_plan_tells_it(capsys):
    for arguments in (["quick", "--cluster", "4"], ["quick", "--cluster", "4", "--json"]):
        assert exit_code("plan", *arguments) == 0
    out = capsys.readouterr().out
    assert "On 4 machines of a cluster: at most about" in out
    document = json.loads(out[out.index('{"schema"') :])["cluster"]
    assert document["machines"] == 4 and 0 < document["busy"] <= 1
