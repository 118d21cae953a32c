"""Where the time of typical messages goes: parts that add up, of messages around the median."""

from math import isclose

import numpy as np

from rmwbench.analysis.causes.median import Phase, typical_message
from rmwbench.analysis.causes.tail import PairMessages
from rmwbench.analysis.records.ledger import ABSENT


def messages(n: int = 100, *, notified: int = 800, **more: np.ndarray) -> PairMessages:
    """Due every ms: 10 ns before the call, which takes 100, notified 800 behind the due time, taken
    50 later, read 7 later."""
    due = np.arange(n, dtype=np.int64) * 1_000_000
    columns = {
        "begun_ns": due + 4,
        "call_ns": due + 10,
        "return_ns": due + 110,
        "notified_ns": due + notified,
        "taken_ns": due + notified + 50,
        "steady": np.ones(n, bool),
        "consumed_ns": due + notified + 57,
    }
    return PairMessages(due, **(columns | more))


def test_phases_add_up_to_the_response_and_reading_comes_behind_it():
    typical = typical_message([messages()])
    assert typical.phases_ns == {
        Phase.BEFORE: 10,
        Phase.PUBLISH: 100,
        Phase.WAY: 690,
        Phase.TAKE: 50,
        Phase.READ: 7,
    }
    assert typical.response_ns == 850


def test_a_reader_that_is_woken_within_the_call_ends_it():
    typical = typical_message([messages(notified=60)])
    assert typical.phases_ns[Phase.PUBLISH] == 50 and typical.phases_ns[Phase.WAY] == 0
    parts = (v for phase, v in typical.phases_ns.items() if phase is not Phase.READ)
    assert isclose(sum(parts), typical.response_ns)


def test_a_tail_and_what_never_arrived_are_not_typical():
    pair = messages()
    slow, lost = pair.taken_ns.copy(), slice(60, 70)
    slow[:10] += 10**9
    slow[lost] = ABSENT
    typical = typical_message([messages(taken_ns=slow, consumed_ns=np.full(100, ABSENT))])
    assert typical.response_ns == 850 and Phase.READ not in typical.phases_ns


def test_without_a_whole_message_there_is_none():
    absent = np.full(100, ABSENT)
    assert typical_message([messages(notified_ns=absent)]) is None
    assert typical_message([]) is None


def test_the_median_is_of_all_that_should_have_come():
    taken = messages().taken_ns.copy()
    taken[:30] = ABSENT
    taken[30:65] += 4000  # the middle of the 70 that came, and not of the 100
    assert typical_message([messages(taken_ns=taken)]).response_ns == 4850
    taken[:51] = ABSENT
    assert typical_message([messages(taken_ns=taken)]) is None


def test_a_message_far_from_the_median_is_not_typical_though_its_rank_is_near():
    taken = messages().taken_ns.copy()
    taken[:47] += 10**9
    assert typical_message([messages(taken_ns=taken)]).response_ns == 850
