"""Request and response: what a client is told of its requests, whatever numbers the service gave
its replies."""

import numpy as np

from rmwbench.analysis.metrics.latency import measure
from rmwbench.analysis.metrics.stability import stability
from rmwbench.analysis.records.columns import EndpointRow, SteadyWindow
from rmwbench.codes import CORRUPT, LATE
from tests.support.columns import Records, message

TWO_CLIENTS = [
    EndpointRow(1, "client", "add"),
    EndpointRow(3, "client", "add"),
    EndpointRow(2, "service", "add"),
]
WINDOW = SteadyWindow(0, 1000)


def request(client, seq, intended_ns):
    return message(seq, intended_ns, endpoint=client, cause_endpoint=0, cause_seq=0)


def reply(seq, to, answers, call_ns):
    return message(seq, call_ns - 5, call=call_ns, endpoint=2, cause_endpoint=to, cause_seq=answers)


def heard(client, seq, taken_ns):
    return {"endpoint": client, "writer": 2, "seq": seq, "taken_ns": taken_ns}


def at_service(client, seq, taken_ns):
    return {"endpoint": 2, "writer": client, "seq": seq, "taken_ns": taken_ns}


def test_a_reply_is_the_arrival_of_its_request_whatever_its_own_number():
    sent = [request(1, 0, 0), request(3, 0, 10), request(1, 1, 100)]
    sent += [reply(0, 3, 0, 60), reply(1, 1, 0, 70), reply(2, 1, 1, 160)]
    arrived = [at_service(3, 0, 50), at_service(1, 0, 40), at_service(1, 1, 150)]
    arrived += [heard(3, 0, 90), heard(1, 1, 100), heard(1, 2, 200)]
    m = measure(Records(sent, arrived), TWO_CLIENTS, WINDOW)
    assert m.samples["response_latency"].values.tolist() == [80, 100, 100]
    # from the call, 10 ns after the intended time
    assert m.samples["request_leg"].values.tolist() == [30, 30, 40]
    assert m.samples["reply_leg"].values.tolist() == [30, 30, 40]
    assert (m.ledger.wanted, m.ledger.delivered, m.ledger.foreign, m.pairs) == (3, 3, 0, 2)
    assert m.calls_in_window == 3  # the replies are not publishes of the workload's schedule
    assert (m.arrived_in_window, m.published_in_window, m.heard_in_window) == (3, 0, 0), (
        "requests and replies are no publisher's messages, and no subscription's"
    )


def test_answered_twice_never_and_by_anothers_reply():
    sent = [request(1, 0, 0), request(1, 1, 100), request(1, 2, 200), request(3, 0, 0)]
    sent += [reply(0, 1, 0, 50), reply(1, 1, 0, 55), reply(2, 1, 2, 250), reply(3, 3, 0, 300)]
    arrived = [at_service(1, 0, 40), at_service(1, 2, 240), at_service(3, 0, 290)]
    arrived += [heard(1, 0, 80), heard(1, 1, 85), heard(1, 3, 350)]  # the last is client 3's
    m = measure(Records(sent, arrived), TWO_CLIENTS, WINDOW)
    assert (m.ledger.wanted, m.ledger.delivered, m.ledger.vanished) == (4, 1, 3)
    assert m.ledger.duplicates == m.ledger.foreign == 1
    assert np.isinf(m.samples["response_latency"].values).sum() == 3
    # request 1 never came to the service
    assert m.samples["request_leg"].values.tolist() == [30, 30, 280, np.inf]
    # to 2 of client 1 and to client 3
    assert m.samples["reply_leg"].values.tolist() == [30, 30, np.inf, np.inf]


def test_what_came_corrupt_or_late_is_no_arrival_of_a_leg_either():
    sent = [request(1, 0, 0), request(1, 1, 100)]
    sent += [reply(0, 1, 0, 60), reply(1, 1, 1, 160)]
    arrived = [at_service(1, 0, 40), at_service(1, 1, 150) | {"flags": CORRUPT}]
    arrived += [heard(1, 0, 90) | {"flags": LATE}, heard(1, 1, 200)]
    m = measure(Records(sent, arrived), TWO_CLIENTS, WINDOW)
    assert m.samples["request_leg"].values.tolist() == [30, np.inf]
    assert m.samples["reply_leg"].values.tolist() == [40, np.inf]


def test_the_largest_message_of_a_service_is_a_reply():
    """Its throughput is that of replies, so the bound where none arrived is of their size."""
    sent = [request(1, 0, 0) | {"bytes": 64}, reply(0, 1, 0, 60) | {"bytes": 5000}]
    for some, longest in ((sent, 5000), (sent[:1], 0)):
        assert measure(Records(some, []), TWO_CLIENTS, WINDOW).longest_bytes == longest


def test_a_reply_without_record_of_its_service_is_foreign():
    m = measure(Records([request(1, 0, 0)], [heard(1, 7, 80)]), TWO_CLIENTS, WINDOW)
    assert (m.ledger.vanished, m.ledger.foreign) == (1, 1)


def test_requests_that_are_answered_later_and_later_are_a_queue_that_grows():
    for served_every_ns, is_unstable in ((20, True), (10, False)):
        at_ns = [i * served_every_ns for i in range(100)]
        sent = [request(1, i, i * 10) for i in range(100)]
        sent += [reply(i, 1, i, t + 5) for i, t in enumerate(at_ns)]
        arrived = [at_service(1, i, t + 4) for i, t in enumerate(at_ns)]
        arrived += [heard(1, i, t + 9) for i, t in enumerate(at_ns)]
        assert stability(Records(sent, arrived), TWO_CLIENTS, WINDOW).unstable is is_unstable
