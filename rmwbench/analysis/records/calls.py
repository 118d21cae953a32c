"""Requests and their replies: a reply counts as the arrival of the request that it answers.

A client's replies are recorded under the service's sequence numbers, and the service's records name
the request that caused each reply. `match_replies` records each reply as an arrival, at the client,
of the request that it answers: a lost message is a request that was never answered, a duplicate is
a request that was answered twice, and the latency is from the intended time of the request until
the client has taken the reply. So the analysis of topics serves services too. The two legs have
metrics of their own."""

from collections.abc import Iterator, Sequence

import numpy as np

from rmwbench.analysis.records.columns import Columns, EndpointRow
from rmwbench.analysis.records.ledger import ABSENT, is_sound, since_call_ns
from rmwbench.codes import FOREIGN

LEGS = ("request_leg", "reply_leg")


def writers_with_readers(
    endpoints: Sequence[EndpointRow],
) -> Iterator[tuple[EndpointRow, tuple[EndpointRow, ...]]]:
    """Each publisher with the subscriptions of its topic, and each client with itself as the
    reader. Services are left out: their replies count as arrivals of the clients' requests."""
    for writer in endpoints:
        if writer.kind == "client":
            yield writer, (writer,)
        elif writer.kind == "publisher":
            yield (
                writer,
                tuple(e for e in endpoints if e.topic == writer.topic and e.kind == "subscription"),
            )


def match_replies(columns: Columns, endpoints: Sequence[EndpointRow]) -> Columns:
    """The records, with each reply as the arrival of the request that it answers; unchanged without
    clients."""
    clients = [e.endpoint for e in endpoints if e.kind == "client"]
    services = [e.endpoint for e in endpoints if e.kind == "service"]
    return _Answered(columns, clients, services) if clients else columns


class _Answered:
    """Replies have the `writer` and `seq` of their request; a reply to another client's request, or
    to an unknown one, has the flag FOREIGN."""

    def __init__(self, columns: Columns, clients: Sequence[int], services: Sequence[int]):
        self._columns = columns
        self._replaced = self._place(clients, services)

    def sent(self, column: str) -> np.ndarray:
        return self._columns.sent(column)

    def received(self, column: str) -> np.ndarray:
        replaced = self._replaced.get(column)
        return self._columns.received(column) if replaced is None else replaced

    def _place(self, clients: Sequence[int], services: Sequence[int]) -> dict[str, np.ndarray]:
        reader, writer, seq, flags = (
            self._columns.received(column).copy()
            for column in ("endpoint", "writer", "seq", "flags")
        )
        replies = np.isin(reader, clients)
        cause_endpoint = np.zeros(len(reader), np.int64)
        cause_seq = np.zeros(len(reader), seq.dtype)
        for service in services:
            sent = ServiceReplies(self._columns, service)
            rows = np.flatnonzero(replies & (writer == service))
            place = np.searchsorted(sent.seq, seq[rows])
            recorded = place < len(sent.seq)
            recorded[recorded] = sent.seq[place[recorded]] == seq[rows][recorded]
            cause_endpoint[rows[recorded]] = sent.cause_endpoint[place[recorded]]
            cause_seq[rows[recorded]] = sent.cause_seq[place[recorded]]
        own = replies & (cause_endpoint == reader)
        writer[own], seq[own] = reader[own], cause_seq[own]
        foreign = replies & ~own
        writer[foreign] = 0
        flags[foreign] |= FOREIGN
        return {"writer": writer, "seq": seq, "flags": flags}


class ServiceReplies:
    """A service's replies in the order of their sequence numbers, each with the request that caused
    it: arrays of shape (n,). `call_ns`: the service's call that sends the reply."""

    def __init__(self, columns: Columns, service: int):
        rows = np.flatnonzero(columns.sent("endpoint") == service)
        rows = rows[np.argsort(columns.sent("seq")[rows], kind="stable")]
        self.seq, self.cause_endpoint, self.cause_seq, self.call_ns = (
            columns.sent(column)[rows]
            for column in ("seq", "cause_endpoint", "cause_seq", "call_ns")
        )


def legs(
    columns: Columns, endpoints: Sequence[EndpointRow], steady: dict[int, np.ndarray]
) -> dict[str, np.ndarray]:
    """The latencies of the two legs in ns, float64 of shape (m,): `request_leg` from the request's
    publish call until the service has taken it, `reply_leg` from the reply's publish call until the
    client has taken it; +inf where that message did not arrive sound and in time.

    `columns` are the records as they are; `steady` maps each client to the sequence numbers of its
    requests in the steady window that the call accepted.
    """
    requests, replies = [], []
    sent_by, seq, call, sent_flags = (
        columns.sent(column) for column in ("endpoint", "seq", "call_ns", "flags")
    )
    call = since_call_ns(call, sent_flags, lambda: columns.sent("fill_ns"))
    # Read once for all clients: a column comes from a file.
    sound = is_sound(columns.received("flags"))
    received = tuple(
        columns.received(column)[sound] for column in ("endpoint", "writer", "seq", "taken_ns")
    )
    for service in (e for e in endpoints if e.kind == "service"):
        sent, server = ServiceReplies(columns, service.endpoint), service.endpoint
        for client in endpoints:
            if client.kind != "client" or client.topic != service.topic:
                continue
            number, wanted = client.endpoint, steady[client.endpoint]
            own = (sent_by == number) & np.isin(seq, wanted)
            requests.append(_leg(received, server, number, seq[own], call[own]))
            own = (sent.cause_endpoint == number) & np.isin(sent.cause_seq, wanted)
            replies.append(_leg(received, number, server, sent.seq[own], sent.call_ns[own]))
    return {
        name: np.concatenate(leg or [np.empty(0)])
        for name, leg in zip(LEGS, (requests, replies), strict=True)
    }


def _leg(
    received: tuple[np.ndarray, ...], reader: int, writer: int, seq: np.ndarray, call_ns: np.ndarray
) -> np.ndarray:
    """The time from call to first arrival for each message of `seq`. `received`: endpoint, writer,
    seq and taken_ns of the sound arrivals."""
    readers, writers, arrived_seq, taken = received
    of_pair = (readers == reader) & (writers == writer)
    arrived_seq, taken = arrived_seq[of_pair], taken[of_pair]
    order = np.lexsort((taken, arrived_seq))
    arrived_seq, taken = arrived_seq[order], taken[order]
    place = np.searchsorted(arrived_seq, seq)
    came = place < len(arrived_seq)
    came[came] = (arrived_seq[place[came]] == seq[came]) & (taken[place[came]] != ABSENT)
    elapsed = np.full(len(seq), np.inf)
    elapsed[came] = taken[place[came]] - call_ns[came]
    return elapsed
