"""The records of a trial as a metric asks for them, from columns of a test."""

import numpy as np

from rmwbench.analysis.records.columns import EndpointRow
from rmwbench.analysis.records.ledger import ABSENT

MAY_BE_ABSENT = ("begun_ns", "fill_ns")
"""What an imported campaign, or a worker from before, has not stamped."""


class Columns:
    """`sent` and `received`: name of a column -> its values."""

    def __init__(self, sent, received):
        self._sent, self._received = sent, received

    def sent(self, column):
        if column in MAY_BE_ABSENT and column not in self._sent:
            return np.full(len(self._sent["seq"]), ABSENT)
        return self._sent[column]

    def received(self, column):
        return self._received[column]


UNSTAMPED = ("return_ns", "cause_endpoint", "cause_seq")
UNSTAMPED += ("notified_ns", "callback_ns", "consumed_ns")


class Records:
    """Columns from two lists of dictionaries, defaults filled in."""

    def __init__(self, sent, received):
        usual, absent = {"flags": 0, "bytes": 100}, dict.fromkeys(UNSTAMPED, ABSENT)
        self._sent = [
            {**usual, "endpoint": 1, **absent, "begun_ns": r["intended_ns"], **r} for r in sent
        ]
        self._received = [{**usual, "endpoint": 2, "writer": 1, **absent, **r} for r in received]

    def sent(self, column):
        return np.array([r[column] for r in self._sent], np.uint64 if column == "seq" else np.int64)

    def received(self, column):
        return np.array(
            [r[column] for r in self._received], np.uint64 if column == "seq" else np.int64
        )


def message(seq, intended, call=None, back=None, **more):
    call = intended + 10 if call is None else call
    return {
        "seq": seq,
        "intended_ns": intended,
        "call_ns": call,
        "return_ns": (call if call == ABSENT else call + 20) if back is None else back,
    } | more


PAIR = [EndpointRow(1, "publisher", "t"), EndpointRow(2, "subscription", "t")]


def sent_columns(due_ns, **columns):
    """Of writer 1, each message called and returned when it was due, but for what is given."""
    zero = np.zeros(len(due_ns), np.int64)
    at_once = dict.fromkeys(("intended_ns", "begun_ns", "call_ns", "return_ns"), due_ns)
    seq = np.arange(len(due_ns), dtype=np.uint64)
    return {
        "endpoint": zero + 1,
        "seq": seq,
        **at_once,
        "flags": zero,
        "bytes": zero + 100,
    } | columns


def received_columns(seq, taken_ns, **columns):
    """Of reader 2 from writer 1, each message read when it was taken, but for what is given."""
    zero = np.zeros(len(seq), np.int64)
    at_once = dict.fromkeys(("notified_ns", "taken_ns", "consumed_ns"), taken_ns)
    ends = {"endpoint": zero + 2, "writer": zero + 1, "seq": seq.astype(np.uint64)}
    return {**ends, **at_once, "flags": zero, "bytes": zero + 100} | columns
