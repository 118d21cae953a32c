"""The loss from the first reception on, against simulated runs whose loss is known message by
message."""

import numpy as np
import pytest

from rmwbench.published.importers.formats.mininet_figures import (
    after_first_reception,
    first_reception,
)
from rmwbench.published.importers.formats.perf_log import Log

SIZE, RATE, SECONDS = 1040, 30, 15


def log(ends: np.ndarray, **counted: np.ndarray) -> Log:
    """Return a log as the tool writes it: counts between two resets ÷ T_loop of the row before, cut
    to whole numbers."""
    loop = np.diff(ends, prepend=0.0)
    interval = np.concatenate((loop[:1], loop[:-1]))
    columns = {"T_experiment": ends, "T_loop": loop}
    for name in ("received", "sent", "lost"):
        per = loop if name == "sent" else interval
        columns[name] = np.floor(counted.get(name, np.zeros(len(ends))) / per + 1e-9)
    columns["data_received"] = np.floor(
        counted.get("received", np.zeros(len(ends))) * SIZE / interval
    )
    return Log("x", "x", {}, columns)


def simulated(seed: int, loss: float, matched_s: float, latency_s: float, offset_s: float = 0.02):
    """Return (publisher, subscriber, truth in %): messages before the match never come, later ones
    come with probability 1 − `loss`, in order, `latency_s` late on average. The subscriber starts
    `offset_s` earlier."""
    random = np.random.default_rng(seed)
    sent = np.arange(0, SECONDS, 1 / RATE)
    number = np.arange(len(sent))
    latency = random.exponential(latency_s, len(sent)) if latency_s else np.zeros(len(sent))
    comes = (sent >= matched_s) & (random.random(len(sent)) >= loss)
    # Two cycles of a loop are told apart by their lengths, as in the original: 1 s or 1.033 s.
    ends = np.cumsum(np.where(random.random(SECONDS) < 0.5, 1.0, 1.0335)) + 1e-4
    arrives = np.maximum.accumulate(sent + latency)[comes] + offset_s
    comes_number = number[comes][arrives <= ends[-1]]
    arrives = arrives[arrives <= ends[-1]]
    row = np.searchsorted(ends, arrives)
    gaps = np.diff(comes_number, prepend=-1) - 1
    received, lost = (
        np.bincount(row, weights=w, minlength=SECONDS) for w in (np.ones(len(row)), gaps)
    )
    own = np.arange(1, SECONDS + 1) * 1.0015
    publisher = log(own, sent=np.histogram(sent, np.concatenate(([-1], own)))[0].astype(float))
    subscriber = log(ends, received=received, lost=lost)
    first = first_reception(subscriber)
    if first is None:
        return publisher, subscriber, None
    last = comes_number[row <= first][-1]
    window = len(sent) - 1 - last
    return publisher, subscriber, 100.0 * (1 - (row > first).sum() / window)


CASES = [
    (loss, matched, late)
    for loss in (0.0, 0.01, 0.2, 0.6)
    for matched in (0.0, 0.4, 5.7)
    for late in (0.0, 0.02, 0.15)
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_truth_lies_between_the_bounds(case):
    for seed in range(20):
        publisher, subscriber, truth = simulated(seed, *case)
        loss_found = after_first_reception(publisher, subscriber, SIZE)
        assert loss_found.least - 1e-9 <= truth <= loss_found.most + 1e-9, (seed, truth, loss_found)
        assert 0 <= loss_found.least <= loss_found.percent <= loss_found.most <= 100
        # One message of the window at either end is all that stays open.
        assert loss_found.most - loss_found.least < 1.6


def test_no_loss_is_not_a_loss():
    for seed in range(50):
        publisher, subscriber, _ = simulated(seed, 0.0, 0.0, 0.001)
        loss = after_first_reception(publisher, subscriber, SIZE)
        assert loss.least == 0 and loss.percent < 0.3


def test_a_row_printed_as_zero_may_hold_the_first_message():
    """One message in 1.0335 s is a rate of 0, but the bytes tell that it came."""
    publisher = log(np.arange(1, 4) * 1.0015, sent=np.full(3, 30.0))
    ends = np.array([1.0335, 2.067, 3.1005])
    subscriber = log(ends, received=np.array([0.0, 1.0, 30.0]), lost=np.array([0.0, 40.0, 0.0]))
    assert subscriber.columns["received"][1] == 0
    assert first_reception(subscriber) == 1
    loss = after_first_reception(publisher, subscriber, SIZE)
    assert loss.least <= 100 * (1 - 30 / 49) <= loss.most


def test_nothing_to_tell_is_none():
    publisher = log(np.arange(1, 4) * 1.0015, sent=np.full(3, 30.0))
    ends = np.arange(1, 4) * 1.0335
    for received in ([0.0, 0.0, 0.0], [0.0, 0.0, 5.0]):
        assert (
            after_first_reception(publisher, log(ends, received=np.array(received)), SIZE) is None
        )


def test_the_two_ends_may_have_different_numbers_of_rows():
    publisher, subscriber, truth = simulated(1, 0.2, 0.0, 0.01)
    shorter = Log("x", "x", {}, {name: column[:-1] for name, column in subscriber.columns.items()})
    assert after_first_reception(publisher, shorter, SIZE).percent > truth
