"""How long readers wait for what is on its way."""

import numpy as np

from rmwbench.campaign.trial.window import _longest_latency_ns
from rmwbench.lab.process import records
from rmwbench.lab.process.records import RECEIVED, RecordSection
from tests.campaign.cells import outcome

MS, UPTIME = 1_000_000, 10**15


def longest(monkeypatch, *rows, events=()):
    """Of messages of endpoint 2 with (ns from the start of the machine when they were intended,
    ns that they took, flags)."""
    messages = np.zeros(len(rows), [(n, "<i8") for n in ("intended_ns", "taken_ns", "flags")])
    for place, (intended_ns, took_ns, flags) in enumerate(rows):
        messages[place] = (intended_ns, intended_ns + took_ns, flags)
    section = RecordSection(RECEIVED, 2, 99, len(rows), 0, messages)
    monkeypatch.setattr(records, "read", lambda *_: [section])
    made = outcome()
    made.events = [{"event": e, "endpoint": 2, "time_ns": t, "process": "p"} for e, t in events]
    return _longest_latency_ns(made, {"p": 3})


def test_how_old_the_history_of_a_late_reader_was_is_no_latency(monkeypatch):
    joined = [("created", UPTIME + 4_000 * MS), ("matched", UPTIME + 4_001 * MS)]
    history, own = (UPTIME, 4_002 * MS, 0), (UPTIME + 4_005 * MS, 3 * MS, 0)
    assert longest(monkeypatch, history, own, events=joined) == 3 * MS
