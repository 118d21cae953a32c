"""The process `rmwbench-link` (docs/formats/link.md), which is the network between the hosts of a
trial, with its document and its log.

It runs in a host of its own with the descriptors of the others' devices, so it needs no privilege
that they do not have, and ends with the trial.
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
from rmwbench.lab.process.trial_processes import TrialProcesses
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
"""Flags of the direction in which a frame ended; older logs have neither."""


@dataclass(frozen=True)
class Mark:
    """The counters of each direction of each link at a moment, and the number of the next frame."""

    index: int
    links: Mapping[str, Mapping[str, Mapping[str, int]]]

    def growth(self, since: "Mark", host: str, direction: str, counter: str) -> int:
        now, before = (mark.links[host][direction].get(counter, 0) for mark in (self, since))
        return now - before


class Switch:
    """The process of the link, from its start to `collect`. Every method raises WorkerFailed (role
    `network`) where the process is gone, and NetworkBroken where it refuses."""

    def __init__(self, processes: TrialProcesses, hosts: Hosts, links: Links, log_records: int):
        self._processes, self._links = processes, links
        self._document = os.memfd_create("rmwbench-link", os.MFD_CLOEXEC)
        self._log = os.memfd_create("rmwbench-frames", os.MFD_CLOEXEC)
        os.ftruncate(self._log, log_records * RECORD.itemsize)
        self._ports = {port.name: FIRST_PORT_FD + index for index, port in enumerate(links.ports)}
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
        """Starts the process; all hosts must be ready. Raises UserError if it is not built."""
        files = {LOG_FD: self._log} | {
            self._ports[port.name]: self._tap(port) for port in self._links.ports
        }
        files |= {number: file for file, number in self._traces.values()}
        self._process = self._processes.spawn_network(NAME, tool.find(NAME), self._document, files)
        assert self._process is not None and RECORDS_FD < LOG_FD > CONTROL_FD

    def _tap(self, port: Port) -> int:
        host = self._hosts[port.host]
        fd = host.beside_fds[port.device] if port.network else host.tap_fd
        assert fd is not None, "hosts between which a network lies have devices"
        return fd

    def open(self, seed: int) -> dict[str, Any]:
        """Lets frames flow. Returns the settings in force. Raises NetworkBroken if they differ."""
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
                name: {way: spec.wire() for way, spec in directions.items()}
                for name, directions in specs.items()
            },
            "media": {name: medium.wire() for name, medium in network.media.items()},
            "multicast": network.multicast,
            "priority": [rule.wire() for rule in network.priority],
            "quantum_ns": links.quantum_ns,
            "spin_ns": 0,
        }
        # The process gets traces as descriptors.
        specs_with_fds = {
            name: {way: self._wire(spec) for way, spec in directions.items()}
            for name, directions in specs.items()
        }
        opened = self._ask("open", request | {"links": specs_with_fds})
        # The process has copies of its own: ours would keep a device alive that it gave up.
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
        """Sends changes of the link protocol, in the order of time, each in a line of its own,
        since a trace may fill a line. `edges_ns` are the begin and the end of the steady state, by
        which frames are counted."""
        self._ask("schedule", {"changes": [], "edges_ns": list(edges_ns)})
        for change in changes:
            self._ask("schedule", {"changes": [change]})

    def collect(self) -> tuple[dict[str, Any], bytes, np.ndarray, int]:
        """Returns the document, parsed and as it was written; the frame log, shape (frames,) of
        RECORD; and the number of frames for which the log had no room."""
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
            return self._processes.ask_network(cmd, fields, TIMEOUT_S)
        except WorkerFailed as failed:
            if failed.error is not None:
                raise NetworkBroken(
                    f"link: {failed.error.get('object')}: {failed.error.get('message')}"
                ) from None
            raise


def log_records(links: Links, messages: list[tuple[int, int, int]], duration_s: float) -> int:
    """The number of records in the frame log. `messages` are (messages, bytes of a message,
    readers): the log has room for three times the frames of the data, for 100 000 other frames per
    port, and for cross traffic, but for no more than the rates of the links allow. Unused room
    costs no memory."""
    mtu_bytes = min(links.port_mtu_bytes(port) for port in links.ports)
    piece_bytes = min(USUAL_PIECE_BYTES, mtu_bytes - HEADERS_BYTES)
    records = sum(
        3 * count * (1 + size // piece_bytes) * max(1, readers) for count, size, readers in messages
    )
    records += 100_000 * len(links.ports) + sum(
        _cross_traffic_frames(links, traffic, duration_s) for traffic in links.network.cross_traffic
    )
    rates = [links.port_spec(port, "up").rate_bps for port in links.ports]
    if all(rates):
        smallest_bits = 8 * 60
        possible = sum(rate * (duration_s + 30) / smallest_bits for rate in rates if rate) * (
            len(links.hosts) - 1
        )
        records = min(records, round(possible) + 10_000)
    return max(10_000, min(records, MOST_RECORDS))


def _cross_traffic_frames(links: Links, traffic: CrossTraffic, duration_s: float) -> int:
    """The frames of cross traffic, acknowledgements included, if it gets the whole rate."""
    media = links.network.media
    specs = (links.spec(traffic.from_, "up"), links.spec(traffic.to, "down"))
    rates = [media[spec.medium].rate_mbps * 1e6 if spec.medium else spec.rate_bps for spec in specs]
    known_rates = [rate for rate in rates if rate]
    if not known_rates:
        return FRAMES_WITH_TRACE
    return round(2 * min(known_rates) * (duration_s + 30) / (8 * 1514))


USUAL_PIECE_BYTES, HEADERS_BYTES = 1300, 60
"""The usual part of a message in a frame, and the headers of IP and TCP."""

FRAMES_WITH_TRACE = 1_000_000
"""The frames of cross traffic that a trace alone limits."""

MOST_RECORDS = 8_000_000
"""These records take 384 MB, and last for a second of three full gigabits."""


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
"""A field of `open` → its name in the answer, where the names differ."""
_COMPARED = ("links", "media", "multicast", "priority", "quantum_ns", "spin_ns")
_DEFAULTS = {"exempt_arp": True, "bytes": 1504}
"""The values that the link fills in for fields that were left out; for others it fills in none."""


def difference(request: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """The first difference between the request `open` and the link's answer, or None. Without this
    check, a spec for the wrong link or an ignored field would be a network that is not in force.
    Traces in `request` are written out."""
    answer_names = {name: _NAMES.get(name, name) for name in _COMPARED}
    mismatches = (
        _mismatches(answer_name, request[name], answer.get(answer_name))
        for name, answer_name in answer_names.items()
    )
    return next(itertools.chain.from_iterable(mismatches), None)


def _mismatches(path: str, expected: Any, actual: Any) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key, value in expected.items():
            yield from _mismatches(f"{path}.{key}", value, actual.get(key))
        for key in actual.keys() - expected.keys():
            if actual[key] != _DEFAULTS.get(key) and actual[key] not in (None, 0):
                yield _mismatch(f"{path}.{key}", None, actual[key])
    elif _is_list(expected) and _is_list(actual):
        if len(expected) != len(actual):
            yield _mismatch(f"the length of {path}", len(expected), len(actual))
            return
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from _mismatches(f"{path}.{index}", *pair)
    elif isinstance(expected, float) and isinstance(actual, (int, float)):
        if not math.isclose(expected, actual, rel_tol=1e-12):
            yield _mismatch(path, expected, actual)
    elif expected != actual:
        yield _mismatch(path, expected, actual)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _mismatch(path: str, expected: Any, actual: Any) -> str:
    return f"{path} is {actual}, expected {expected}"
