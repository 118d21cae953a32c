"""The records of a trial as a metric asks for them, from columns of a test."""


class Columns:
    """`sent` and `received`: name of a column -> its values."""

    def __init__(self, sent, received):
        self._sent, self._received = sent, received

    def sent(self, column):
        return self._sent[column]

    def received(self, column):
        return self._received[column]
