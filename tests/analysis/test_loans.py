"""A loan is part of the publish call: one that is refused is a call that failed, and waiting for
one is the call's. Writing into it is ours: it is in no time of the middleware's, as where a message
is copied."""

import numpy as np
import pytest

from rmwbench.analysis.causes.tail import explain, pairs
from rmwbench.analysis.metrics.latency import measure
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.codes import FAILED, LOANED
from rmwbench.results.workload.workload_arm import taken_as
from tests.support.columns import PAIR, Columns, received_columns, sent_columns

MS = 1_000_000


def measured(call_ns, flags, fill_ns, lent=0):
    """Ten messages, one per 10 ms; a call returns 7 ms after its message was due, half a
    millisecond later it is taken, and the last five are refused their loan."""
    n = 10
    due = 1000 * MS + np.arange(n) * 10 * MS
    sent = sent_columns(
        due,
        call_ns=np.where(call_ns == ABSENT, ABSENT, due + call_ns),
        return_ns=due + 7 * MS,
        flags=flags,
        fill_ns=fill_ns,
    )
    (came,) = np.nonzero((flags & FAILED) == 0)
    received = received_columns(
        came,
        due[came] + 7 * MS + MS // 2,
        consumed_ns=due[came] + 8 * MS,
        flags=np.where(came < lent, LOANED, 0),
    )
    return measure(Columns(sent, received), PAIR, SteadyWindow(1000 * MS, 1100 * MS))


HALF_REFUSED = np.array([LOANED] * 5 + [LOANED | FAILED] * 5)


@pytest.mark.parametrize(
    "refused_call_ns", [0, ABSENT], ids=["stamped before the loan", "of an older worker"]
)
def test_a_refused_loan_is_a_failed_call_and_not_a_message_that_was_never_sent(refused_call_ns):
    call_ns = np.array([0] * 5 + [refused_call_ns] * 5)
    messages = measured(call_ns, HALF_REFUSED, np.where(HALF_REFUSED & FAILED, ABSENT, 2 * MS))
    assert (messages.ledger.failed, messages.ledger.not_attempted, messages.ledger.delivered) == (
        5,
        0,
        5,
    )


def test_waiting_for_a_loan_is_publish_time_and_writing_into_it_is_not():
    """Of 7 ms from asking to the return, 2 ms are ours."""
    messages = measured(np.zeros(10, np.int64), np.full(10, LOANED), np.full(10, 2 * MS))
    assert messages.samples["publish_call"].values.tolist() == [5 * MS] * 10
    assert messages.samples["service_latency"].values.tolist() == [5.5 * MS] * 10


US = 1000


def stream(writing_ns, loaned):
    """One message per 10 ms of a middleware that takes 20 µs for each: its call 10 µs, then 10 µs
    until it is taken. Writing a message takes `writing_ns`, before the call or within it."""
    n = len(writing_ns)
    due = 1000 * MS + np.arange(n) * 10 * MS
    written = due + US + writing_ns
    sent = sent_columns(
        due,
        begun_ns=due + US,
        call_ns=due + US if loaned else written,
        return_ns=written + 10 * US,
        flags=np.full(n, LOANED if loaned else 0),
        fill_ns=writing_ns if loaned else np.full(n, ABSENT),
    )
    received = received_columns(np.arange(n), written + 20 * US, notified_ns=written + 15 * US)
    return Columns(sent, received), SteadyWindow(1000 * MS, (1000 + 10 * n) * MS)


@pytest.mark.parametrize("loaned", [False, True], ids=["copied", "loaned"])
def test_our_writing_is_in_the_response_latency_alone_whether_a_message_is_loaned_or_copied(loaned):
    columns, window = stream(np.full(10, 2 * MS), loaned)
    samples = measure(columns, PAIR, window).samples
    took_ns = {name: np.unique(samples[name].values).tolist() for name in samples}
    assert took_ns["response_latency"] == [2 * MS + 21 * US]
    assert (took_ns["service_latency"], took_ns["publish_call"]) == ([20 * US], [10 * US])
    late = US
    assert took_ns["writing"] == [2 * MS] == [2 * MS + 21 * US - 20 * US - late]


def test_how_long_we_wrote_is_not_known_of_a_loan_that_a_worker_did_not_stamp():
    """Unknown is not a time of 0, by which a zero-copy middleware's own part would be told."""
    sometimes = np.where(np.arange(10) < 4, 2 * MS, ABSENT)
    messages = measured(np.zeros(10, np.int64), np.full(10, LOANED), sometimes)
    assert messages.samples["writing"].values.tolist() == [2 * MS] * 4
    never = measured(np.zeros(10, np.int64), np.full(10, LOANED), np.full(10, ABSENT))
    assert never.samples["writing"].count == 0


@pytest.mark.parametrize("loaned", [False, True], ids=["copied", "loaned"])
def test_a_message_that_took_us_long_to_write_is_slow_for_that(loaned):
    columns, window = stream(np.where(np.arange(400) == 200, 700 * US, 5 * US), loaned)
    ((_, _, _, pair),) = pairs(columns, PAIR, window)
    (slow,) = explain(pair).messages
    assert (slow.place, slow.cause) == (200, "payload writing")
    assert slow.phases_ns == {"late": US, "writing": 700 * US, "flight": 20 * US}


@pytest.mark.parametrize(
    ("granted", "lent", "shown"),
    [
        ("lent", 10, "lent"),
        ("lent", 0, "typed"),
        ("lent", 4, "lent / typed"),
        ("raw", 4, "lent / raw"),
        ("typed", 10, "lent"),
        (None, 10, None),
    ],
)
def test_how_messages_were_taken_is_what_their_records_say(granted, lent, shown):
    """Whether an API can lend one depends on where it comes from: not over a network, for one."""
    messages = measured(np.zeros(10, np.int64), np.zeros(10, np.int64), np.zeros(10), lent)
    assert (messages.lent, messages.taken) == (lent, 10)
    assert taken_as(granted, messages.lent, messages.taken) == shown


def test_where_nothing_was_taken_what_was_granted_is_shown():
    assert taken_as("lent", 0, 0) == "lent"
