"""From what workers recorded to the tables of the bundle."""

import numpy as np

from rmwbench.campaign.record.tables import trial_tables
from rmwbench.lab.process.records import SENT, Section
from tests.campaign.cells import outcome

FAILED, LOANED = 1, 2
CALL, RETURN, FILL = 5_000_000, 8_000_000, 2_000_000
NAMES = (
    "seq",
    "intended_ns",
    "begun_ns",
    "call_ns",
    "return_ns",
    "cause_seq",
    "cause_endpoint",
    "bytes",
    "flags",
)


def section(endpoint, *rows, capacity=99):
    """Slots as a worker fills them; what a row does not name is 0."""
    found = np.zeros(len(rows), [(name, "<i8") for name in NAMES])
    for number, row in enumerate(rows):
        for name, value in ({"seq": number} | row).items():
            found[name][number] = value
    return Section(SENT, endpoint, capacity, len(rows), 0, found)


def sent(*rows):
    found = outcome()
    found.sections = [section(1, *rows)]
    return trial_tables(found, "done", None, [])["sent"].to_pylist()


def test_how_long_a_loan_was_written_is_told_of_sources_and_relays_alike():
    same = {"call_ns": CALL, "return_ns": RETURN}
    loaned, cause = same | {"flags": LOANED}, {"cause_endpoint": 9, "cause_seq": 42}
    refused = {"flags": LOANED | FAILED}
    rows = sent(
        same | {"begun_ns": CALL - 100},
        loaned | {"begun_ns": CALL - 100, "cause_seq": FILL},
        loaned | cause | {"begun_ns": FILL},
        loaned | cause | {"begun_ns": 0} | refused,
        same | cause | {"begun_ns": CALL - 100},
        # of workers from before: when it was begun, and no call where a loan was refused
        loaned | cause | {"begun_ns": CALL - 100},
        loaned | cause | {"begun_ns": CALL - 100, "call_ns": 0} | refused,
    )
    assert [row["fill_ns"] for row in rows] == [None, FILL, FILL, None, None, None, None]
    begun = [CALL - 100, CALL - 100, CALL, CALL, *[CALL - 100] * 3]
    assert [row["begun_ns"] for row in rows] == begun
    assert [row["cause_seq"] for row in rows] == [None, None, *[42] * 5]
