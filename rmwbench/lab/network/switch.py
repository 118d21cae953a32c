"""The process of `rmwbench-link` (docs/formats/link.md) and what it writes: the network between the
hosts of a trial.

It runs in a host of its own with the descriptors of the others' devices, so it needs no privilege
that they do not have, and dies with the trial.
"""

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.lab.host import Hosts
from rmwbench.lab.middleware import tool
from rmwbench.lab.network import addresses
from rmwbench.lab.network.host_network import NetworkBroken
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.worker import CONTROL_FD, RECORDS_FD, WorkerFailed, WorkerProcess
from rmwbench.suite.network.cross_traffic import CrossTraffic
from rmwbench.suite.network.network import Links, Port
from rmwbench.suite.network.spec import Spec

NAME = "link"
LOG_FD, FIRST_PORT_FD = 5, 6
NOWHERE = 65535
TIMEOUT_S = 10.0

RECORD = np.dtype(
    [
        ("index", "<u8"),
        ("in_ns", "<i8"),
        ("due_ns", "<i8"),
        ("out_ns", "<i8"),
        ("frame_bytes", "<u4"),
        ("payload_bytes", "<u4"),
        ("from_port", "<u2"),
        ("to_port", "<u2"),
        ("verdict", "u1"),
        ("class", "u1"),
        ("flags", "u1"),
        ("attempts", "u1"),
    ]
)
assert RECORD.itemsize == 48

DELIVERED, LOST_UP = 0, 1
VERDICTS = (
    "delivered",
    "lost_up",
    "lost_down",
    "queue_full_up",
    "queue_full_down",
    "blackhole",
    "no_carrier",
    "too_large",
    "multicast_unwanted",
    "given_up",
    "no_destination",
    "refused",
    "under_way",
    "policed_up",
    "policed_down",
)
CLASSES = ("other", "data", "acknowledgement", "discovery", "resolution")
FLAGS = {"retransmission": 1, "multicast": 2, "duplicate": 4, "corrupted": 8, "fragment": 16}
ENDED = {"up": 32, "down": 64}
"""Flags of the direction that a frame ended in; logs from before they were there have neither."""


@dataclass(frozen=True)
class Mark:
    """The counters of each link's direction up to a moment, and the number of the next frame."""

    index: int
    links: Mapping[str, Mapping[str, Mapping[str, int]]]

    def grown(self, since: "Mark", host: str, direction: str, counter: str) -> int:
        now, before = (mark.links[host][direction].get(counter, 0) for mark in (self, since))
        return now - before


class Switch:
    """The process, from `start` to `collect`. Every method raises WorkerFailed (role `network`)
    where it is gone, or NetworkBroken where it refuses."""

    def __init__(self, crew: Crew, hosts: Hosts, links: Links, log_records: int):
        self._crew, self._links = crew, links
        self._document = os.memfd_create("rmwbench-link", os.MFD_CLOEXEC)
        self._log = os.memfd_create("rmwbench-frames", os.MFD_CLOEXEC)
        os.ftruncate(self._log, log_records * RECORD.itemsize)
        self._ports = {port.name: FIRST_PORT_FD + place for place, port in enumerate(links.ports)}
        self._traces: dict[str, tuple[int, int]] = {}  # sha256 → (descriptor here, number there)
        for sha256, trace in links.traces.items():
            file = os.memfd_create("rmwbench-trace", os.MFD_CLOEXEC)
            os.write(file, json.dumps(trace.wire()).encode())
            self._traces[sha256] = (file, FIRST_PORT_FD + len(self._ports) + len(self._traces))
        self._process: WorkerProcess | None = None
        self._hosts = hosts

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def close(self) -> None:
        for fd in (self._document, self._log, *(file for file, _ in self._traces.values())):
            os.close(fd)

    def spawn(self) -> None:
        """Starts it with the devices of all hosts, which are ready by now. Raises UserError where
        it is not built."""
        files = {LOG_FD: self._log} | {
            self._ports[port.name]: self._tap(port) for port in self._links.ports
        }
        files |= {number: file for file, number in self._traces.values()}
        self._process = self._crew.spawn_network(
            NAME, tool.find(NAME).executable, self._document, files
        )
        assert self._process is not None and RECORDS_FD < LOG_FD > CONTROL_FD

    def _tap(self, port: Port) -> int:
        host = self._hosts[port.host]
        fd = host.beside_fds[port.device] if port.network else host.tap_fd
        assert fd is not None, "hosts between which a network lies have devices"
        return fd

    def open(self, seed: int) -> dict[str, Any]:
        """Frames flow from here on. What is in force, as it says; raises NetworkBroken where that
        is not what was asked for."""
        network, links = self._links.network, self._links
        ports = [
            {
                "name": port.name,
                "fd": self._ports[port.name],
                "mac": addresses.mac_text(port.number, port.network),
            }
            | ({"network": port.device} if port.network else {})
            for port in links.ports
        ]
        specs = {
            port.name: {way: links.port_spec(port, way) for way in ("up", "down")}
            for port in links.ports
        }
        request = {
            "seed": seed,
            "ports": ports,
            "links": {
                name: {way: spec.wire() for way, spec in of.items()} for name, of in specs.items()
            },
            "media": {name: medium.wire() for name, medium in network.media.items()},
            "multicast": network.multicast,
            "priority": [rule.wire() for rule in network.priority],
            "quantum_ns": links.quantum_ns,
            "spin_ns": 0,
        }
        # with the descriptors of traces in their places
        sent = {
            name: {way: self._wire(spec) for way, spec in of.items()} for name, of in specs.items()
        }
        opened = self._ask("open", request | {"links": sent})
        # it has its own copies: ours would keep a device alive that it gave up
        for host in links.hosts:
            self._hosts[host].close_tap()
        if opened.get("ports") != len(ports):
            raise NetworkBroken(
                f"link: {opened.get('ports')} ports are open, expected {len(ports)}"
            )
        if (mismatch := difference(request, opened)) is not None:
            raise NetworkBroken(f"link: {mismatch}")
        return opened

    def mark(self) -> Mark:
        answer = self._ask("mark", {})
        return Mark(answer["index"], answer["links"])

    def schedule(self, changes: list[dict[str, Any]], edges_ns: Sequence[int]) -> None:
        """Changes of the link protocol, in the order of time; each alone, since a trace may fill a
        line. `edges_ns`: when the steady state begins and ends, by which frames are counted."""
        self._ask("schedule", {"changes": [], "edges_ns": list(edges_ns)})
        for change in changes:
            self._ask("schedule", {"changes": [change]})

    def collect(self) -> tuple[dict[str, Any], bytes, np.ndarray, int]:
        """The document, parsed and as it was written; the frame log, shape (frames,) of RECORD; and
        how many frames found no room in it."""
        answer = self._ask("collect", {})
        raw = os.pread(self._document, answer["bytes"], 0)
        frames = np.frombuffer(_read(self._log, answer["frames"] * RECORD.itemsize), RECORD)
        try:
            return json.loads(raw), raw, frames, answer["unlogged"]
        except ValueError as error:
            raise NetworkBroken(f"link: its document is not JSON: {error}") from None

    def _wire(self, spec: Spec) -> dict[str, Any]:
        wire = spec.wire()
        if spec.trace is not None:
            wire["trace"] = {"fd": self._traces[spec.trace.sha256][1]}
        return wire

    def _ask(self, cmd: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._crew.ask_network(cmd, fields, TIMEOUT_S)
        except WorkerFailed as failed:
            if failed.error is not None:
                raise NetworkBroken(
                    f"link: {failed.error.get('object')}: {failed.error.get('message')}"
                ) from None
            raise


def log_records(links: Links, messages: list[tuple[int, int, int]], duration_s: float) -> int:
    """Room for the frame log, from (messages, bytes of one, readers): three times what the data
    alone would be, and a second per host of everything else; where the rate of the links allows no
    more, that. It costs memory only where frames come."""
    mtu_bytes = min(links.port_mtu_bytes(port) for port in links.ports)
    piece_bytes = min(USUAL_PIECE_BYTES, mtu_bytes - HEADERS_BYTES)
    records = sum(
        3 * count * (1 + size // piece_bytes) * max(1, readers) for count, size, readers in messages
    )
    records += 100_000 * len(links.ports) + sum(
        _crossing(links, traffic, duration_s) for traffic in links.network.cross_traffic
    )
    rates = [links.port_spec(port, "up").rate_bps for port in links.ports]
    if all(rates):
        smallest_bits = 8 * 60
        possible = sum(rate * (duration_s + 30) / smallest_bits for rate in rates if rate) * (
            len(links.hosts) - 1
        )
        records = min(records, round(possible) + 10_000)
    return max(10_000, min(records, MOST_RECORDS))


def _crossing(links: Links, traffic: CrossTraffic, duration_s: float) -> int:
    """Frames of cross traffic, acknowledgements included, where it gets all that its way has."""
    media = links.network.media
    specs = (links.spec(traffic.from_, "up"), links.spec(traffic.to, "down"))
    rates = [media[spec.medium].rate_mbps * 1e6 if spec.medium else spec.rate_bps for spec in specs]
    known = [rate for rate in rates if rate]
    return round(2 * min(known) * (duration_s + 30) / (8 * 1514)) if known else CROSSING_OF_TRACE


USUAL_PIECE_BYTES, HEADERS_BYTES = 1300, 60
"""The part of a message in a frame: what a middleware fills of the usual MTU, and what IP and TCP take."""

CROSSING_OF_TRACE = 1_000_000
"""Where a trace alone limits it."""

MOST_RECORDS = 8_000_000
"""384 MB, and a second of three full gigabits."""


def _read(fd: int, size: int) -> bytes:
    parts, offset = [], 0
    while offset < size:
        part = os.pread(fd, size - offset, offset)
        if not part:
            raise NetworkBroken(f"link: its log ends after {offset} bytes, expected {size}")
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


_NAMES = {"links": "specs"}
"""A field of `open` → its name in the answer, where that is another one."""
_COMPARED = ("links", "media", "multicast", "priority", "quantum_ns", "spin_ns")
_FILLED_IN = {"exempt_arp": True, "bytes": 1504}
"""What the link fills in where it was not asked for anything; else that is nothing at all."""


def difference(asked: Mapping[str, Any], answered: Mapping[str, Any]) -> str | None:
    """The first place at which the link's answer to `open` is not what was asked for, or None: a
    spec that went to another link, or a field that it passed over, would be a network that silently
    is not there. Traces in `asked` are written out."""
    names = {name: _NAMES.get(name, name) for name in _COMPARED}
    mismatches = (_mismatches(own, asked[name], answered.get(own)) for name, own in names.items())
    return next(itertools.chain.from_iterable(mismatches), None)


def _mismatches(place: str, expected: Any, actual: Any) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key, value in expected.items():
            yield from _mismatches(f"{place}.{key}", value, actual.get(key))
        for key in actual.keys() - expected.keys():
            if actual[key] != _FILLED_IN.get(key) and actual[key] not in (None, 0):
                yield _mismatch(f"{place}.{key}", None, actual[key])
    elif _is_list(expected) and _is_list(actual):
        if len(expected) != len(actual):
            yield _mismatch(f"{place}, its length,", len(expected), len(actual))
            return
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from _mismatches(f"{place}.{index}", *pair)
    elif isinstance(expected, float) and isinstance(actual, (int, float)):
        if not math.isclose(expected, actual, rel_tol=1e-12):
            yield _mismatch(place, expected, actual)
    elif expected != actual:
        yield _mismatch(place, expected, actual)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _mismatch(place: str, expected: Any, actual: Any) -> str:
    return f"{place} is {actual}, expected {expected}"
