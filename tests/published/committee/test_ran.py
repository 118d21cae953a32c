"""Which conditions of a section ran, beside those that did not."""

import pytest

from rmwbench.published.committee.ran import words


def stream(loss):
    return f"stream [message=Array1k, network.rate_mbps=54, network.loss={loss}]"


def chain(relays, rate_hz):
    return f"pipeline [relays={relays}, rate_hz={rate_hz}]"


@pytest.mark.parametrize(
    ("ran", "not_run", "told"),
    [
        ([stream(0.0)], [], ""),
        ([], [stream(0.1)], ""),
        ([stream(0.0)], [stream(0.1), stream(0.2)], "network.loss=0.0; 0.1 and 0.2 were not run"),
        (
            [stream(0.0), stream(0.2)],
            [stream(0.1)],
            "network.loss=0.0 and network.loss=0.2; 0.1 was not run",
        ),
        (
            ["nodes_2"],
            ["nodes_4", "nodes_8", "air"],
            "nodes_2; nodes_4, nodes_8 and air were not run",
        ),
        (
            [chain(1, 20)],
            [chain(5, 20), chain(1, 100), chain(5, 100)],
            "relays=1 rate_hz=20; 3 more were not run",
        ),
        (
            ["topics [graph.topics=1]"],
            ["small [graph.topics=1]", "topics [graph.topics=10]"],
            "topics graph.topics=1; 2 more were not run",
        ),
        (
            ["whole [rate_hz=30]"],
            [f"whole [rate_hz={rate_hz}]" for rate_hz in range(40, 100, 10)],
            "rate_hz=30; 40, 50, 60 and 3 others were not run",
        ),
    ],
)
def test_what_tells_conditions_apart_is_named(ran, not_run, told):
    assert words(ran, not_run) == told
