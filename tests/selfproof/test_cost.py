"""Injected costs come back: what an injected arm costs more than the uninjected one, block by
block.

The worker spends the injected processor time and memory beside what it spends anyway, and finding a
warm cache may change the latter; so the uninjected cost itself is the width by which the truth may
miss the interval of the difference, and twice that cost how far the injected arm's own interval may
lie above the truth. Intervals of the difference are taken at 99.9 %: the nine of them, with that
width on top, raise a false alarm less than once in a thousand runs.
"""

import numpy as np
import pytest

from rmwbench.analysis.stats.intervals import plain_t
from tests.selfproof import proof

pytestmark = pytest.mark.timing

BLOCK_NS = 500_000
PUBLISHER_BURN_NS, READER_BURN_NS = 300_000, 200_000
PUBLISHER_GROWTH_BYTES, READER_GROWTH_BYTES = 65_536, 32_768


def holds(campaign, metric: str, arm: str, truth: float, below: float = 0.0) -> bool:
    """Whether the truth is what this arm costs more than `plain`, in paired blocks and between the
    reported intervals; `below` is what the arm takes besides, such as for the barrier's probes."""
    campaign.trials(arm, at_least=2), campaign.trials("plain", at_least=2)
    injected, plain = campaign.per_block(metric, arm), campaign.per_block(metric, "plain")
    common = injected.keys() & plain.keys()
    if len(common) < 3:
        pytest.skip("the machine took so many trials that there are hardly any pairs left")
    _, low, high = plain_t(np.array([injected[block] - plain[block] for block in common]), 0.999)
    rest = campaign.metric(metric, "plain")
    paired = low - rest["value"] - below <= truth <= high + rest["value"]
    own = campaign.metric(metric, arm)
    return paired and proof.inside(own, truth, below=2 * rest["high"] + below)


def test_every_trial_was_good_and_complete(campaign):
    for arm in ("plain", "blocking", "burning", "growing"):
        campaign.trials(arm)
        assert campaign.metric("undelivered", arm)["value"] == 0


@pytest.mark.parametrize("q", [50, 90])
def test_a_blocking_publish_call_is_measured_as_long_as_it_blocks(campaign, q):
    metric = f"publish_call_p{q}"
    campaign.trials("plain"), campaign.trials("blocking")
    assert all(value >= BLOCK_NS for value in campaign.per_trial(metric, "blocking").values())
    assert max(campaign.per_trial("publish_call_p50", "plain").values()) < BLOCK_NS
    assert holds(campaign, metric, "blocking", BLOCK_NS)


def test_a_blocking_publish_call_does_not_delay_its_own_message(campaign):
    """It blocks after handing over, so its length must not leak into the latency."""
    campaign.trials("blocking")
    assert campaign.metric("service_latency_p50", "blocking")["low"] < BLOCK_NS


def test_burnt_processor_time_comes_back_on_its_side(campaign):
    assert holds(campaign, "cpu_per_message_publisher", "burning", PUBLISHER_BURN_NS)
    assert holds(campaign, "cpu_per_message_subscription", "burning", READER_BURN_NS)
    assert holds(campaign, "cpu_per_message", "burning", PUBLISHER_BURN_NS + READER_BURN_NS)
    cores = (
        campaign.metric("cpu_cores", "burning")["value"]
        - campaign.metric("cpu_cores", "plain")["value"]
    )
    assert cores == pytest.approx(500 * (PUBLISHER_BURN_NS + READER_BURN_NS) / 1e9, rel=0.2)


def test_grown_memory_comes_back_on_its_side(campaign):
    """Each message of the whole trial takes memory, the warm-up's and the barrier's probes too:
    one, or a few more on a busy machine."""
    (count,) = {
        1 + len(campaign.bundle.rows("sent", trial.trial)) for trial in campaign.trials("growing")
    }
    assert count == 351
    publisher, reader = PUBLISHER_GROWTH_BYTES, READER_GROWTH_BYTES
    for metric, growth in (
        ("pss_publisher", publisher),
        ("pss_subscription", reader),
        ("pss", publisher + reader),
        ("rss", publisher + reader),
    ):
        assert holds(campaign, metric, "growing", count * growth, below=5 * growth)
