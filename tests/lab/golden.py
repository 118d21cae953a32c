"""The golden corpora of the two formats between Python and Rust: what both sides must agree on,
byte for byte.

`python tests/lab/golden.py` writes them anew into docs/formats/golden; the test compares. The bytes
are packed here by hand from docs/formats, not by the code under test.
"""

import json
import struct
from pathlib import Path

DIRECTORY = Path(__file__).parents[2] / "docs" / "formats" / "golden"
NONCE = 0xFEDCBA9876543210
PAGE = 4096

SENT_FIELDS = (
    "seq",
    "intended_ns",
    "begun_ns",
    "call_ns",
    "return_ns",
    "cause_seq",
    "cause_endpoint",
)
RECEIVED_FIELDS = (
    "seq",
    "notified_ns",
    "taken_ns",
    "callback_ns",
    "consumed_ns",
    "intended_ns",
    "writer",
)
SPAN_FIELDS = ("seq", "time_ns", "layer", "writer")
FIELDS = {"SENT": SENT_FIELDS, "RECEIVED": RECEIVED_FIELDS, "SPAN": SPAN_FIELDS}
PACK = {"SENT": "<Qqqqq Q I I I I", "RECEIVED": "<Qqqqqq I I I I", "SPAN": "<Qq I 28x I I I I"}
KINDS = {"SENT": 1, "RECEIVED": 2, "SPAN": 3}

# One section each: (kind, endpoint, capacity, claimed, slots); a slot is (fields, bytes, flags), or
# None for one that the worker was filling when it died: its fields are there, its last word is not.
SECTIONS = [
    ("SENT", 1, 4, 3, [
        ((0, 1_000_000_000, 1_000_000_150, 1_000_000_400, 1_000_002_000, 0, 0), 320, 0b100),
        ((1, 1_001_000_000, 1_001_000_090, 1_001_000_300, 1_001_900_000, 0, 0), 320, 0b010),
        ((2**64 - 1, -5, 0, 1_002_000_301, 1_002_000_302, 2**63 + 7, 2), 2**32 - 1, 0b001),
    ]),
    ("RECEIVED", 2, 2, 5, [  # overflow: five were received, two were recorded
        ((0, 1_000_010_000, 1_000_010_500, 1_000_010_600, 1_000_011_000, 1_000_000_000, 1), 320, 0b00110),
        ((1, 1_001_950_000, 1_001_950_500, 1_001_950_600, 1_001_951_000, 1_001_000_000, 1), 320, 0b11001),
    ]),
    ("RECEIVED", 4_294_967_295, 3, 3, [  # the middle one is unfinished
        ((0, 1_000_010_001, 1_000_010_501, 1_000_010_601, 1_000_011_001, 1_000_000_000, 1), 0, 0),
        None,
        ((1, 1_001_950_001, 1_001_950_501, 1_001_950_601, 1_001_951_001, 1_001_000_000, 1), 64, 0),
    ]),
    ("SPAN", 2, 2, 1, [((1, 1_001_500_000, 3, 1), 0, 0)]),
    ("SENT", 3, 0, 0, []),  # room for nothing is legal
]  # fmt: skip


def records_bin() -> bytes:
    """The content of records.bin."""
    entries, slots, end = b"", {}, 64 + 64 * len(SECTIONS)
    for kind, endpoint, capacity, claimed, content in SECTIONS:
        begin = -(-end // PAGE) * PAGE
        end = begin + 64 * capacity
        entries += struct.pack("<IIQQQ32x", KINDS[kind], endpoint, begin, capacity, claimed)
        for index, slot in enumerate(content):
            slots[begin + 64 * index] = _slot(kind, endpoint, slot)
    file = bytearray(struct.pack("<8sIIQQ32x", b"RMWBREC1", 1, len(SECTIONS), NONCE, end) + entries)
    file.extend(bytes(end - len(file)))
    for offset, data in slots.items():
        file[offset : offset + 64] = data
    return bytes(file)


def _slot(kind: str, endpoint: int, slot: tuple | None) -> bytes:
    if slot is None:
        return struct.pack("<Qqqqqq I I I I", 77, 1, 2, 0, 0, 0, 1, endpoint, 320, 0)
    fields, size, flags = slot
    return struct.pack(PACK[kind], *fields, endpoint, size, KINDS[kind] | flags << 8)


def records_json() -> dict:
    """What a reader of records.bin must find."""
    sections = []
    for kind, endpoint, capacity, claimed, content in SECTIONS:
        finished = [slot for slot in content if slot is not None]
        rows = [
            dict(zip(FIELDS[kind], f, strict=True)) | {"bytes": size, "flags": flags}
            for f, size, flags in finished
        ]
        sections.append(
            {"kind": kind, "endpoint": endpoint, "capacity": capacity, "claimed": claimed}
            | {
                "overflow": max(0, claimed - capacity),
                "unfinished": content.count(None),
                "slots": rows,
            }
        )
    return {
        "version": 1,
        "trial_nonce": f"{NONCE:016x}",
        "bytes": len(records_bin()),
        "sections": sections,
    }


_TYPE = {
    "name": "Array1k", "payload_bytes": 1024, "ros_type": "rmwbench_msgs/msg/Array1k",
    "cdr_prefix_hex": "00010000", "cdr_suffix_hex": "",
}  # fmt: skip
_QOS = {"reliability": "reliable", "durability": "volatile", "history": "keep_last", "depth": 10}
_PUBLISHER = {
    "endpoint": 1, "kind": "publisher", "topic": "camera", "type": _TYPE, "qos": _QOS,
    "arrival": {"kind": "periodic", "period_ns": 33333333, "phase_ns": 0},
    "touch": "all", "loan": False, "publish_mode": "default", "matches": 1,
}  # fmt: skip
_SUBSCRIPTION = {
    "endpoint": 2, "kind": "subscription", "topic": "camera", "type": _TYPE,
    "qos": {**_QOS, "reliability": "best_effort", "history": "keep_all"},
    "touch": "header", "wait": "callback", "take": "raw", "matches": 1,
}  # fmt: skip
_SERVICE = {
    "endpoint": 4, "kind": "service", "topic": "add",
    "type": {
        "name": "Bytes_Request", "payload_bytes": 1024, "ros_type": "rmwbench_msgs/srv/Bytes_Request",
        "cdr_prefix_hex": "0001000000040000", "cdr_suffix_hex": "",
    },
    "reply_type": {
        "name": "Bytes_Response", "payload_bytes": 256, "ros_type": "rmwbench_msgs/srv/Bytes_Response",
        "cdr_prefix_hex": "0001000000010000", "cdr_suffix_hex": "",
    },
    "qos": _QOS, "touch": "all", "wait": "callback", "matches": 1,
}  # fmt: skip
_CLIENT = {
    **_SERVICE, "endpoint": 3, "kind": "client", "wait": "block",
    "arrival": {"kind": "periodic", "period_ns": 10000000, "phase_ns": 0}, "loan": False, "publish_mode": "default",
}  # fmt: skip
_READERS = [
    ("typed", "drops_at_reader"), ("raw", "overwrites_at_writer"), ("lent", "blocks"), ("typed", "drops_at_writer"),
    ("typed", "never_full"),
]  # fmt: skip
_ARRIVALS = [
    {"kind": "poisson", "rate_hz": 100.5, "seed": 7},
    {"kind": "burst", "period_ns": 1000000, "count": 10, "phase_ns": 5},
    {"kind": "trace", "offsets_ns": [0, 10, 35]},
    {"kind": "relay", "from": 2},
    {"kind": "saturation", "limit": 100000},
]
_USAGE = {
    "at": "steady_begin", "time_ns": 2000, "cpu_ns": 1, "voluntary_switches": 0, "involuntary_switches": 0,
    "minor_faults": 0, "major_faults": 0,
    "interfaces": {"lo": {"rx_bytes": 0, "tx_bytes": 0, "rx_packets": 0, "tx_packets": 0}},
    "udp": {"in_datagrams": 0, "in_errors": 0, "rcvbuf_errors": 0},
}  # fmt: skip
_MEMORY = {
    "rss_bytes": 1, "pss_bytes": 1, "peak_rss_bytes": 1, "records_rss_bytes": 1, "threads": 2,
    "shared_segments": [{"name": "/dev/shm/segment", "rss_bytes": 1, "pss_bytes": 1}],
}  # fmt: skip
_ACCOUNT = {
    "matched": 1, "publish_failures": 0, "reader_drops": 0, "counters": {"own_name": 1},
    "evidence": [{"path": "shm", "messages": 3, "note": "as_shm"}],
}  # fmt: skip

TO_WORKER = [
    {"id": 1, "cmd": "open", "trial_nonce": f"{NONCE:016x}", "domain_id": 0,
     "profile": {"name": "tuned", "format": "json5", "text": "{mode: 'peer'}"},
     "options": {"transport": "tcp", "slots": 2, "rate": 0.5, "shm": True}},
    {"id": 1, "cmd": "open", "trial_nonce": f"{NONCE:016x}", "domain_id": 0,
     "profile": {"name": "untouched", "format": "xml", "text": ""},
     "options": {}, "modes": {"transport": "shm", "batching": False, "shm_pool_bytes": 8192}},
    {"id": 2, "cmd": "create", "nodes": [{"name": "talker", "endpoints": [_PUBLISHER, _SUBSCRIPTION]}]},
    *({"id": 2, "cmd": "create", "nodes": [{"name": "talker", "endpoints": [{**_PUBLISHER, "arrival": arrival}]}]}
      for arrival in _ARRIVALS),
    {"id": 2, "cmd": "create", "nodes": [{"name": "asker", "endpoints": [_CLIENT]},
                                         {"name": "adder", "endpoints": [_SERVICE]}]},
    {"id": 2, "cmd": "create", "at_ns": 1500, "nodes": [{"name": "late", "endpoints": []}], "a_later_field": [1]},
    {"id": 3, "cmd": "match", "timeout_ns": 5000000000},
    {"id": 3, "cmd": "match", "timeout_ns": 5000000000, "endpoints": [2]},
    {"id": 4, "cmd": "probe"},
    {"id": 4, "cmd": "probe", "endpoints": [1]},
    {"id": 4, "cmd": "settle", "expect": {"2": {"1": 3}}, "timeout_ns": 5000000000, "quiet_ns": 250000000},
    {"id": 5, "cmd": "start", "at_ns": 1000, "steady_ns": 2000, "end_ns": 3000, "grace_ns": 500},
    {"id": 5, "cmd": "start", "at_ns": 1000, "steady_ns": 2000, "end_ns": 3000, "grace_ns": 500, "endpoints": [1]},
    {"id": 5, "cmd": "start", "at_ns": 1000, "steady_ns": 2000, "end_ns": 3000, "grace_ns": 500, "schedule": "shared"},
    {"id": 6, "cmd": "stop", "endpoints": [1], "at_ns": 2500},
    {"id": 7, "cmd": "drain", "expect": {"2": {"1": 42}}, "timeout_ns": 150000000},
    {"id": 7, "cmd": "drain", "expect": {"3": {"3": 99}, "4": {"3": 99}}, "timeout_ns": 150000000},
    {"id": 8, "cmd": "destroy", "nodes": ["talker"], "endpoints": [2], "at_ns": 2500},
    {"id": 9, "cmd": "collect"},
    {"id": 9, "cmd": "clock"},
    {"id": 9007199254740991, "cmd": "exit"},
]  # fmt: skip

FROM_WORKER = [
    {"hello": {"protocol": 1, "worker": "rmwbench-zenoh", "middleware": "zenoh", "version": "1.10.2",
               "build": "crate zenoh 1.10.2", "pid": 7, "clock": "CLOCK_MONOTONIC"}},
    {"hello": {"protocol": 1, "worker": "rmwbench-cyclonedds", "middleware": "cyclonedds", "version": "11.0.1",
               "build": "crate cyclors "
                        "0.4.0", "pid": 6, "clock": "CLOCK_MONOTONIC", "daemon": "roudi"}},
    {"id": 1, "ok": {"time_ns": 99}},
    {"id": 1, "ok": {"time_ns": 99, "configuration": {"format": "xml", "text": "<General/>"}}},
    {"id": 2, "ok": {"endpoints": {"1": {"qos": _QOS, "publish_mode": "sync", "wait": "block", "notes": ["as"]}},
                     "time_ns": 99}},
    *({"id": 2, "ok": {"endpoints": {"2": {"qos": _QOS, "publish_mode": "default", "wait": "poll", "take": take,
                                           "when_full": when_full, "notes": []}}, "time_ns": 99}}
      for take, when_full in _READERS),
    {"id": 3, "ok": {"endpoints": {"1": {"matched": 1, "time_ns": 123}}}},
    {"id": 4, "ok": {"sent": {"1": 3}}},
    {"id": 4, "ok": {"complete": False, "quiet": True, "time_ns": 9, "heard": {"2": {"1": {"count": 2, "seen": 3}}}}},
    {"id": 5, "ok": {"schedule": "shared"}},
    {"id": 7, "ok": {"complete": True, "time_ns": 9}},
    {"id": 7, "ok": {"complete": False, "time_ns": 9}},
    {"id": 9, "ok": {"usage": [_USAGE, {**_USAGE, "at": "steady_end"}, {**_USAGE, "at": "now"}], "memory": _MEMORY,
                     "endpoints": {"1": _ACCOUNT, "2": {"matched": 1, "reader_drops": 4}}}},
    {"id": 9, "ok": {"received_ns": 1500, "sent_ns": 1501}},
    {"id": 9, "error": {"kind": "unsupported", "object": "cmd frobnicate", "message": "this worker "
        "speaks protocol 1"}},
    {"id": 1, "error": {"kind": "unsupported", "object": "mode transport",
                        "message": "tcp: the profile names shared memory, and a domain has one "
                                   "transport"}},
    {"id": 2, "error": {"kind": "invalid", "object": "endpoint 1", "message": "two endpoints with "
        "this number"}},
    {"id": 3, "error": {"kind": "failed", "object": "endpoint 1", "message": "expected 1 match, "
        "found 0"}},
    {"event": "first_message", "endpoint": 2, "writer": 1, "time_ns": 1500},
    {"event": "finished", "endpoint": 1, "scheduled": 43, "sent": 42, "failed": 1, "never_sent": 0, "last_seq": 42,
     "time_ns": 3001},
    {"event": "finished", "endpoint": 1, "scheduled": 3, "sent": 0, "failed": 0, "never_sent": 3, "time_ns": 3001},
    {"event": "step", "node": "amcl", "step": "configure", "outcome": "timed_out", "asked_ns": 1500, "time_ns": 3001},
    {"event": "log", "level": "warn", "message": "größer als erwartet"},
]  # fmt: skip


def protocol_jsonl() -> str:
    """The content of protocol.jsonl: every kind of line, in both directions."""
    lines = [{"direction": "to_worker", "line": line} for line in TO_WORKER]
    lines += [{"direction": "from_worker", "line": line} for line in FROM_WORKER]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def files() -> dict[str, bytes]:
    """File name → content."""
    return {
        "records.bin": records_bin(),
        "records.json": (json.dumps(records_json(), indent=1) + "\n").encode(),
        "protocol.jsonl": protocol_jsonl().encode(),
    }


if __name__ == "__main__":
    for name, content in files().items():
        (DIRECTORY / name).write_bytes(content)
