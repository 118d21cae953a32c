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
