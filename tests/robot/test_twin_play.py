"""A small twin is played with a real middleware, recorded, and compared with its source."""

import numpy as np
import pytest

from tests.support import robot_bag
from tests.support.command import rmwbench
from tests.support.robot_bag import Planted

pytestmark = [pytest.mark.traffic, pytest.mark.own_host]
S = 1e9


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """Sizes of `varied` are apart by more than a twin can be."""
    rng = np.random.default_rng(1)
    image = np.arange(200) * S / 20
    topics = [
        Planted("/camera/image", image, 50_000, reliable=False),
        Planted("/camera/info", image + 1e5, 400, reliable=False),
        Planted("/joints", np.arange(400) * S / 40 + rng.normal(2e6, 5e5, 400), 700),
        Planted("/map", np.array([0.0]), 5000, latched=True),
        Planted("/varied", np.arange(200) * S / 20 + 1e7, np.where(np.arange(200) % 10, 100, 9000)),
    ]
    return robot_bag.mcap(tmp_path_factory.mktemp("played") / "run.mcap", topics)


def test_the_played_twin_is_compared_topic_by_topic(bag, tmp_path):
    """What the middleware delivered has the sizes of the source, and only the topic that no suite
    can be like is unlike by them. Rates are asserted nowhere: the machine may be busy."""
    verb = rmwbench(
        "twin", bag, "--check", "--for", "3s", "--with", "zenoh untouched", cwd=tmp_path
    )
    assert verb.returncode == 1, verb.stderr
    assert "/camera/image" in verb.stdout and "50.0 kB → 50.0 kB" in verb.stdout
    answer = " ".join(verb.stdout.splitlines()[-5:])  # of several lines on a narrow terminal
    assert "/varied" in answer and "95 % size" in verb.stdout
    assert [path.name[:14] for path in (tmp_path / "campaigns").iterdir()] == ["my-robot-twin-"]


def test_who_cannot_play_it_is_told_before_anything_is_run(bag, tmp_path):
    verb = rmwbench("twin", bag, "--check", "--with", "zenho untouched", cwd=tmp_path)
    assert verb.returncode == 2 and "zenoh untouched" in verb.stderr
    assert not (tmp_path / "campaigns").exists()
