"""How a trial sends, from records, counters and frames made by hand."""

import numpy as np
import pytest

from rmwbench.analysis.metrics.sending import (
    EARLY,
    MULTICAST,
    NONE_LATE,
    OTHERS,
    VARIATION,
    sending,
)
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.records.ledger import ABSENT

SECOND = 1_000_000_000
WINDOW = SteadyWindow(10 * SECOND, 19 * SECOND)
PUBLISHER = [{"endpoint": 1, "kind": "publisher"}]
CLIENTS = [{"endpoint": n, "kind": "client"} for n in (2, 3)]


class Records:
    def __init__(self, calls=(), received=()):
        self._calls, self._received = np.array(calls, np.int64), np.array(received, np.int64)

    def sent(self, column):
        return self._calls if column == "call_ns" else np.ones(len(self._calls), np.int64)

    def received(self, column):
        assert column == "endpoint"
        return self._received


def calls(*each):
    """So many publish calls in each second of the window."""
    at = [WINDOW.begin_ns + n * SECOND + i for n, count in enumerate(each) for i in range(count)]
    return [*at, ABSENT, WINDOW.begin_ns - 5, WINDOW.end_ns + 5]


def paces(*each, window=WINDOW):
    return sending(Records(calls(*each)), PUBLISHER, [], None, window)


def test_a_steady_rate_varies_by_nothing_and_begins_as_it_ends():
    got = paces(*[30] * 9)
    assert (got[VARIATION], got[EARLY]) == (0.0, 1.0)


def test_a_noisy_rate_has_its_spread():
    each = [30, 20, 40, 30, 20, 40, 30, 20, 40]
    got = paces(*each)
    assert got[VARIATION] == pytest.approx(np.std(each, ddof=1) / 30)


def test_a_rate_that_is_held_after_some_seconds_begins_faster():
    assert paces(40, 10, 10, 10, 10, 10, 10, 10, 10)[EARLY] == 1.0, "only the history went out"
    assert paces(30, 30, 30, 30, 10, 10, 10, 10, 10)[EARLY] == 3.0


def test_a_rate_that_ends_varies_and_has_no_end_to_begin_faster_than():
    """It was said that nothing was published in the window."""
    got = paces(30, 30, 30, 30, 30, 30)
    assert got[VARIATION] == pytest.approx(np.std([30] * 6 + [0] * 3, ddof=1) / 20)
    assert got[EARLY] == NONE_LATE


@pytest.mark.parametrize("window", [None, SteadyWindow(0, 5 * SECOND)])
def test_a_short_window_has_neither(window):
    got = paces(*[30] * 9, window=window)
    assert got[VARIATION] == got[EARLY] and "6 whole seconds" in got[EARLY]


def test_nothing_published_is_no_rate():
    assert "nothing was published" in paces()[VARIATION]


def log(*rows):
    """(index, class, multicast) of each."""
    index, kinds, multicast = zip(*rows, strict=True)
    names = tuple(dict.fromkeys(kinds))
    none = np.zeros(len(rows), bool)
    texts = (np.full(len(rows), -1), ())
    return {
        "index": np.array(index),
        "in_ns": np.arange(len(rows)),
        "frame_bytes": np.full(len(rows), 100),
        "class": (np.array([names.index(kind) for kind in kinds]), names),
        "multicast": np.array(multicast),
        "from_host": texts,
        "to_host": texts,
        "verdict": texts,
        "direction": texts,
        "interface": texts,
        **dict.fromkeys(("retransmission", "duplicate", "corrupted", "fragment"), none),
    }


def test_a_frame_to_everybody_counts_once_and_the_networks_own_do_not():
    frames = log(
        (1, "discovery", True),
        (1, "discovery", True),  # its second destination
        (2, "discovery", False),
        (3, "data", True),
        (4, "resolution", True),  # ARP
        (5, "other", True),  # IGMP
    )
    got = sending(Records(), PUBLISHER, [], frames, WINDOW)
    assert got[MULTICAST] == 2.0
    assert sending(Records(), PUBLISHER, [], log((1, "data", False)), WINDOW)[MULTICAST] == 0.0
    assert "no whole log" in sending(Records(), PUBLISHER, [], None, WINDOW)[MULTICAST]
    assert sending(Records(), PUBLISHER, [], None, WINDOW)[OTHERS] == "the workload has no client"


def test_replies_to_others_are_counted_per_reply_of_ones_own():
    others = [
        {"counter": "own.other_clients_replies", "value": 90},
        {"counter": "own.other_clients_replies", "value": 90},
        {"counter": "own.sample_lost", "value": 7},
    ]
    records = Records(received=[2] * 10 + [3] * 10 + [4] * 50)
    got = sending(records, CLIENTS, others, None, WINDOW)
    assert got[OTHERS] == 9.0
    assert sending(records, CLIENTS, [{**others[0], "value": 0}], None, WINDOW)[OTHERS] == 0.0
    assert "does not count" in sending(records, CLIENTS, [], None, WINDOW)[OTHERS]
    assert "no client" in sending(Records(), CLIENTS, others, None, WINDOW)[OTHERS]
