"""Late joiners and leavers: what they missed before is not lost, and what history they were given
is counted apart."""

import json

import numpy as np

from rmwbench.analysis.metrics.latency import measure
from rmwbench.analysis.records.columns import EndpointRow, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife, history, lives, passes
from tests.support.columns import PAIR, Records, message

WINDOW = SteadyWindow(1000, 2000)
ENDPOINTS = [*PAIR, EndpointRow(3, "subscription", "t")]
SENT = [message(i, 1000 + i * 100) for i in range(10)]


def rows(durability="volatile", depth=3, **life):
    asked = json.dumps({"qos": {"durability": durability, "history": "keep_last", "depth": depth}})
    return [
        {"endpoint": 2, "asked": asked, "joins_ns": None, "leaves_ns": None},
        {"endpoint": 3, "asked": asked, "joins_ns": None, "leaves_ns": None} | life,
    ]


def event(name, endpoint, time_ns):
    return {"event": name, "endpoint": endpoint, "time_ns": time_ns}


JOINED = [event("created", 3, 1420), event("matched", 3, 1460)]


def got(reader, seqs, delay=50):
    return [{"endpoint": reader, "seq": s, "taken_ns": 1000 + s * 100 + delay} for s in seqs]


def test_what_a_late_joiner_missed_is_not_lost_and_what_it_lost_is():
    received = got(2, range(10)) + got(3, [5, 6, 8, 9])
    known = lives(rows(joins_ns=400), JOINED, WINDOW)
    m = measure(Records(SENT, received), ENDPOINTS, WINDOW, known)
    # 5 … 9 are its own, 7 never came
    assert (m.ledger.wanted, m.ledger.delivered, m.ledger.vanished) == (15, 14, 1)
    assert measure(Records(SENT, received), ENDPOINTS, WINDOW).ledger.vanished == 6


def test_a_reader_that_never_matched_lost_everything_since_it_was_there():
    known = lives(rows(joins_ns=400), JOINED[:1], WINDOW)
    m = measure(Records(SENT, got(2, range(10))), ENDPOINTS, WINDOW, known)
    assert m.ledger.vanished == 5


def test_a_leaver_expects_nothing_after_it_left():
    known = lives(rows(leaves_ns=300), [], WINDOW)
    m = measure(Records(SENT, got(2, range(10)) + got(3, [0, 1, 2])), ENDPOINTS, WINDOW, known)
    assert (m.ledger.wanted, m.ledger.vanished) == (13, 0)
    assert m.longest_stall_ns == 100  # and not the 700 ns in which one is gone


def test_nobody_waits_for_a_writer_that_left_or_has_not_come_yet():
    """As a service that restarts: 2.1 s of its readers' window were told as a stall of 7.1 s."""
    whole = {"endpoint": 1, "asked": "{}", "joins_ns": None, "leaves_ns": None}
    left = lives([whole | {"leaves_ns": 300}], [], WINDOW)
    received = got(2, range(3)) + got(3, range(3))
    assert measure(Records(SENT[:3], received), ENDPOINTS, WINDOW, left).longest_stall_ns == 100
    came = lives([whole | {"joins_ns": 700}], [event("matched", 1, 1680)], WINDOW)
    received = got(2, range(7, 10)) + got(3, range(7, 10))
    records = Records([message(i, 1000 + i * 100) for i in range(7, 10)], received)
    assert measure(records, ENDPOINTS, WINDOW, came).longest_stall_ns == 100
    assert measure(records, ENDPOINTS, WINDOW).longest_stall_ns == 750


def test_the_history_is_counted_apart_and_is_not_a_latency():
    known = lives(rows("transient_local", depth=3, joins_ns=400), JOINED, WINDOW)
    past = [{"endpoint": 3, "seq": s, "taken_ns": 1500 + s} for s in (2, 3, 4)]
    records = Records(SENT, got(2, range(10)) + past + got(3, range(5, 10)))
    given = history(records, ENDPOINTS, known)
    assert given == {"history_wanted": 3, "history_delivered": 3, "history_time": 84}
    assert measure(records, ENDPOINTS, WINDOW, known).samples["response_latency"].values.max() == 50
    missing = history(Records(SENT, past[1:]), ENDPOINTS, known)
    assert (missing["history_delivered"], missing["history_time"]) == (2, np.inf)


def test_a_history_is_no_longer_than_its_writer_keeps_and_goes_with_it():
    known = lives(rows("transient_local", depth=10, joins_ns=400), JOINED, WINDOW)
    newest = [{"endpoint": 3, "seq": 4, "taken_ns": 1500}]
    keeps_one = [EndpointRow(1, "publisher", "t", depth=1), *ENDPOINTS[1:]]
    given = history(Records(SENT, newest), keeps_one, known)
    assert given == {"history_wanted": 1, "history_delivered": 1, "history_time": 80}
    gone = known | {1: ReaderLife(end_ns=1300)}
    assert history(Records(SENT[:3], []), ENDPOINTS, gone)["history_wanted"] == 0


def test_what_is_sent_until_a_late_reader_is_matched_pushes_the_oldest_out_of_its_history():
    """Messages 1 to 5 when it was created, 6 and 7 before it was matched: it is given 3 to 7."""
    slow = [event("created", 3, 1550), event("matched", 3, 1760)]
    known = lives(rows("transient_local", depth=5, joins_ns=500), slow, WINDOW)
    past = [{"endpoint": 3, "seq": s, "taken_ns": 1762 + s} for s in range(3, 8)]
    given = history(Records(SENT, past + got(3, (8, 9))), ENDPOINTS, known)
    assert given == {"history_wanted": 5, "history_delivered": 5, "history_time": 219}


def test_of_a_history_that_came_twice_the_first_copy_counts_and_what_was_refused_is_none():
    """A repeated map made 0.4 s of 3.4 s, and one refused publish made it infinite."""
    slow = [event("created", 3, 1550), event("matched", 3, 1760)]
    known = lives(rows("transient_local", depth=5, joins_ns=500), slow, WINDOW)
    past = [{"endpoint": 3, "seq": s, "taken_ns": 1762 + s} for s in range(3, 8)]
    again = [{"endpoint": 3, "seq": 5, "taken_ns": 1990}]
    given = history(Records(SENT, past + again), ENDPOINTS, known)
    assert (given["history_time"], given["history_delivered"]) == (219, 5)
    refused = [one | ({"flags": 1} if one["seq"] == 7 else {}) for one in SENT]
    kept = [one for one in past if one["seq"] != 7] + [{"endpoint": 3, "seq": 2, "taken_ns": 1764}]
    given = history(Records(refused, kept), ENDPOINTS, known)
    assert (given["history_wanted"], given["history_delivered"]) == (5, 5)


def test_of_its_history_a_filtering_reader_expects_what_passes():
    filtered = rows("transient_local", depth=5, joins_ns=500)
    asked = json.loads(filtered[1]["asked"])
    asked["qos"]["content_filter"] = "percent < 50"
    filtered[1]["asked"] = json.dumps(asked)
    joined = [event("created", 3, 1900), event("matched", 3, 1950)]
    known = lives(filtered, joined, WINDOW)
    passed = np.flatnonzero(passes(np.arange(10), 50)[5:]) + 5
    assert 0 < len(passed) < 5
    past = [{"endpoint": 3, "seq": int(s), "taken_ns": 1960} for s in passed]
    given = history(Records(SENT, past), ENDPOINTS, known)
    assert given["history_wanted"] == given["history_delivered"] == len(passed)


def test_keep_all_may_expect_everything_and_volatile_nothing():
    known = lives(rows("transient_local", joins_ns=400), JOINED, WINDOW)
    known[3] = type(known[3])(known[3].begin_ns, known[3].end_ns, 1420, np.inf)
    assert history(Records(SENT, []), ENDPOINTS, known)["history_wanted"] == 5
    assert history(Records(SENT, []), ENDPOINTS, lives(rows(joins_ns=400), JOINED, WINDOW)) == {}


def test_what_a_filter_holds_back_is_not_lost():
    asked = json.dumps({"qos": {"content_filter": "percent < 30"}})
    filtered = [rows()[0], {"endpoint": 3, "asked": asked, "joins_ns": None, "leaves_ns": None}]
    known = lives(filtered, [], WINDOW)
    passed = [s for s in range(10) if ((s * 2654435761) % 2**32) * 100 // 2**32 < 30]
    assert 0 < len(passed) < 10
    m = measure(Records(SENT, got(2, range(10)) + got(3, passed[1:])), ENDPOINTS, WINDOW, known)
    assert (m.ledger.wanted, m.ledger.vanished) == (10 + len(passed), 1)


def test_the_filter_passes_its_share_of_any_run_of_numbers():
    for percent in (0, 1, 50, 99, 100):
        share = passes(np.arange(5000, 15_000), percent).mean() * 100
        assert abs(share - percent) < 1
