"""A campaign under way, as `claims run` looks at it, is what its ledger judges afterwards."""

from rmwbench.analysis.verdicts.interim import InterimCell
from rmwbench.bundle import Bundle
from rmwbench.published.campaign import RunningCampaign, of_shown
from rmwbench.results import judged_campaign
from rmwbench.results.show_document import summarise
from tests.support import network_bundle, synthetic_bundle

BLOCKS = 6


def test_a_look_is_the_ledgers_campaign_and_reads_each_trial_once(tmp_path, monkeypatch):
    arms = tuple(arm for arm in synthetic_bundle.ARMS if arm.middleware in ("zenoh", "fastdds"))
    path = synthetic_bundle.write(tmp_path / "c", blocks=BLOCKS, arms=arms, workloads=("camera",))
    measured = []
    measure = judged_campaign.measure_trial

    def counted(trial, *more):
        return measured.append(trial.trial) or measure(trial, *more)

    monkeypatch.setattr(judged_campaign, "measure_trial", counted)
    under_way = RunningCampaign(path)
    looks = [under_way.campaign(), under_way.campaign()]
    assert sorted(measured) == [line.trial for line in Bundle(path).trials("done")]
    assert looks == 2 * [of_shown(summarise(Bundle(path)))]


def test_what_a_busy_machine_spoilt_for_verdicts_it_spoilt_for_claims(tmp_path, monkeypatch):
    """One trial of six of one arm was machine-bound, so that no arm uses that block. The other
    workload, in which one arm was machine-bound in four blocks, keeps its blocks."""
    path = network_bundle.write(tmp_path / "c", blocks=6)
    lines = Bundle(path).trials()
    bound = {line.trial for line in lines if line.cell == 4 and line.block == 3}
    bound |= {line.trial for line in lines if line.cell == 2 and line.block < 4}
    add = InterimCell.add
    monkeypatch.setattr(
        InterimCell,
        "add",
        lambda self, trial, *more: add(self, trial, *more[:3], bound=trial.trial in bound),
    )
    seen = of_shown(summarise(Bundle(path)))
    spoilt = {one.workload: {arm.spoilt_blocks for arm in one.arms} for one in seen.workloads}
    assert spoilt == {"range": {frozenset()}, "lossy": {frozenset({3})}}
