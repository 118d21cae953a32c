"""Totals of ros2-performance: each share says what it is a share of."""

import pytest

from rmwbench.bundle import Bundle
from rmwbench.published.importers import import_published
from tests.published.importers.samples import SAMPLES, put

SUBSCRIPTIONS = "fastrtps/mont/latency_all.txt"


def test_the_share_of_the_lost_is_of_those_received_or_lost(tmp_path):
    """The original computes it so. The note said that it was a share of the received messages, as
    the shares of the late ones are."""
    files = dict(SAMPLES["irobot"][1])
    files[SUBSCRIPTIONS] = files[SUBSCRIPTIONS].replace("600  1  0  0", "600  9  0  100")
    done = import_published(put(tmp_path / "in", files), tmp_path / "out")
    shares = {
        row["figure"]: (row["as_corrected"], row["note"])
        for row in Bundle(done.directory).rows("figures")
        if row["figure"].endswith("_share")
    }
    assert shares["irobot_lost_share"] == (
        pytest.approx(100 * 100 / (900 + 100)),
        "of those received or lost",
    )
    assert shares["irobot_late_share"] == (pytest.approx(100 * 9 / 900), "of those received")
