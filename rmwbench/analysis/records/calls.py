"""Request and response as one: a reply counts as the arrival of the request that it answers.

A client's replies are recorded under the service's sequence numbers, and the service's records name
the request that caused each. Seen through here, a client hears its own requests: a lost message is
a request that was never answered, a duplicate one that was answered twice, and the latency is from
the time the schedule wanted the request sent until the reply is in the client's hands. So
everything that holds for topics holds for services. The two legs are measured apart.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from rmwbench.analysis.records.columns import Columns, EndpointRow
from rmwbench.analysis.records.ledger import ABSENT, is_sound, since_call_ns
from rmwbench.codes import FOREIGN

LEGS = ("request_leg", "reply_leg")


def heard_by(
    endpoints: Sequence[EndpointRow],
) -> Iterator[tuple[EndpointRow, tuple[EndpointRow, ...]]]:
    """Every writer whose messages somebody waits for, with its readers: a publisher with the
    subscriptions of its topic, a client with itself. A service writes too, but its replies are the
    clients' arrivals."""
    for writer in endpoints:
        if writer.kind == "client":
            yield writer, (writer,)
        elif writer.kind == "publisher":
            yield (
                writer,
                tuple(e for e in endpoints if e.topic == writer.topic and e.kind == "subscription"),
            )


def answered(columns: Columns, endpoints: Sequence[EndpointRow]) -> Columns:
    """The records with each reply in the place of its request; as they are where there is no
    client."""
    clients = [e.endpoint for e in endpoints if e.kind == "client"]
    services = [e.endpoint for e in endpoints if e.kind == "service"]
    return _Answered(columns, clients, services) if clients else columns


class _Answered:
    """`writer`, `seq` and `flags` of replies are replaced; a reply whose cause is another client's,
    or unknown, is foreign."""

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
            sent, mine = (
                causes(self._columns, service),
                np.flatnonzero(replies & (writer == service)),
            )
            place = np.searchsorted(sent.seq, seq[mine])
            known = place < len(sent.seq)
            known[known] = sent.seq[place[known]] == seq[mine][known]
            cause_endpoint[mine[known]] = sent.cause_endpoint[place[known]]
            cause_seq[mine[known]] = sent.cause_seq[place[known]]
        own = replies & (cause_endpoint == reader)
        writer[own], seq[own] = reader[own], cause_seq[own]
        strange = replies & ~own
        writer[strange] = 0
        flags[strange] |= FOREIGN
        return {"writer": writer, "seq": seq, "flags": flags}


class causes:
    """A service's replies in the order of their sequence numbers, each with the request that caused
    it: arrays of shape (n,). `call_ns` is of the reply."""

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
    """The two legs and what lies between, of the requests that came through, in ns: `request_leg`
    from the request's call until the service has it, `reply_leg` from the reply's call until the
    client has it. float64 of shape (m,), and +inf where a message of that leg did not come sound
    and in time.

    `columns` are the records as they are; `steady` maps each client to the sequence numbers of its
    requests in the steady window whose call was made.
    """
    request, reply = [], []
    sent_by, seq, call, sent_flags = (
        columns.sent(column) for column in ("endpoint", "seq", "call_ns", "flags")
    )
    call = since_call_ns(call, sent_flags, lambda: columns.sent("fill_ns"))
    # Read once: a column comes from a file, and there may be many clients.
    sound = is_sound(columns.received("flags"))
    received = tuple(
        columns.received(column)[sound] for column in ("endpoint", "writer", "seq", "taken_ns")
    )
    for service in (e for e in endpoints if e.kind == "service"):
        replies = causes(columns, service.endpoint)
        for client in (e for e in endpoints if e.kind == "client" and e.topic == service.topic):
            rows = np.flatnonzero(
                (sent_by == client.endpoint) & np.isin(seq, steady[client.endpoint])
            )
            request.append(_leg(received, service.endpoint, client.endpoint, seq[rows], call[rows]))
            own = (replies.cause_endpoint == client.endpoint) & np.isin(
                replies.cause_seq, steady[client.endpoint]
            )
            reply.append(
                _leg(
                    received,
                    client.endpoint,
                    service.endpoint,
                    replies.seq[own],
                    replies.call_ns[own],
                )
            )
    return {
        name: np.concatenate(leg or [np.empty(0)])
        for name, leg in zip(LEGS, (request, reply), strict=True)
    }


def _leg(
    received: tuple[np.ndarray, ...], reader: int, writer: int, seq: np.ndarray, call_ns: np.ndarray
) -> np.ndarray:
    """From call to first arrival, per message. `received`: endpoint, writer, seq and taken_ns of
    the sound arrivals."""
    readers, writers, seqs, takens = received
    here = (readers == reader) & (writers == writer)
    arrived_seq, taken = seqs[here], takens[here]
    order = np.lexsort((taken, arrived_seq))
    arrived_seq, taken = arrived_seq[order], taken[order]
    place = np.searchsorted(arrived_seq, seq)
    came = place < len(arrived_seq)
    came[came] = (arrived_seq[place[came]] == seq[came]) & (taken[place[came]] != ABSENT)
    elapsed = np.full(len(seq), np.inf)
    elapsed[came] = taken[place[came]] - call_ns[came]
    return elapsed
