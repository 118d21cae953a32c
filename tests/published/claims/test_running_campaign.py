"""A campaign under way, as `claims run` looks at it, is what its ledger judges afterwards."""

from rmwbench.bundle import Bundle
from rmwbench.published.campaign import RunningCampaign, of_shown
from rmwbench.results import judged
from rmwbench.results.suite_document import summarise
from tests.support import synthetic_bundle

BLOCKS = 6


def test_a_look_is_the_ledgers_campaign_and_reads_each_trial_once(tmp_path, monkeypatch):
    arms = tuple(arm for arm in synthetic_bundle.ARMS if arm.middleware in ("zenoh", "fastdds"))
    path = synthetic_bundle.write(tmp_path / "c", blocks=BLOCKS, arms=arms, workloads=("camera",))
    measured = []
    measure = judged.measure_trial

    def counted(found, *more):
        return measured.append(found.trial) or measure(found, *more)

    monkeypatch.setattr(judged, "measure_trial", counted)
    under_way = RunningCampaign(path)
    looks = [under_way.campaign(), under_way.campaign()]
    assert sorted(measured) == [line.trial for line in Bundle(path).trials("done")]
    assert looks == 2 * [of_shown(summarise(Bundle(path)))]
