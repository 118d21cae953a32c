"""The records of a trial as a metric asks for them, from columns of a test."""

import numpy as np

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
