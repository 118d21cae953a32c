"""Collects the facts about an arm that decide its symptoms: what was granted, configured, counted
and measured."""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

from rmwbench.analysis.causes.loss_places import drops
from rmwbench.analysis.causes.symptoms import Conduct, Symptom
from rmwbench.analysis.metrics.aggregate import aggregate
from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.bundle import Bundle
from rmwbench.bundle.evidence import SmallTables
from rmwbench.codes import SENDERS
from rmwbench.results.remedies.remedies_file import known_remedies
from rmwbench.results.workload.workload_arm import ArmReport, described_of

STALLS = ("stall_outside_outages", "longest_stall")
"""Metrics of the longest silence; the first leaves out times at which a link or a node was away."""
_SEEN_IN = {Symptom.LATE_REPAIR: STALLS, Symptom.QUEUE_HOLDS_PUBLISHER: ("publish_call_p50",)}
NO_SEGMENT = ("udp", "tcp", "unix", "intra_process")
"""Modes of transport, and paths, that use no shared memory."""
_SEGMENT = re.compile(r"<segment_size>\s*(\d+)")
_HEARTBEAT = re.compile(
    r"<heartbeat_?period>\s*(?:<sec>\s*(\d+)\s*</sec>)?\s*(?:<nanosec>\s*(\d+))?", re.IGNORECASE
)
_SHARES_DATA = re.compile(r"<data_sharing>\s*<kind>\s*(?:ON|AUTO)")


def largest_topic(arm: ArmReport) -> str | None:
    """Return the topic with the largest message; None if topics are not judged by themselves."""
    if not arm.topics:
        return None
    return max(arm.topics, key=lambda topic: topic.payload_bytes or 0).name


def conduct(
    arm: ArmReport, bundle: Bundle, small: SmallTables, *, slower_when_rare: bool
) -> Conduct:
    topic = largest_topic(arm)
    trials = arm.trials_in(topic)
    writer = _writer(arm)
    granted, asked_settings = json_column(writer.get("granted")), json_column(writer.get("asked"))
    qos, arrival = granted.get("qos") or {}, asked_settings.get("arrival") or {}
    described = described_of(arm.cell, bundle)
    capabilities = described.capabilities if described else {}

    def median(metric: str) -> float | None:
        value = aggregate(GLOSSARY[metric], trials).value
        return value if value is not None and isfinite(value) else None

    service, call = median("service_latency_p50"), median("publish_call_p50")
    segment_bytes, heartbeat_ns = _configured(arm, bundle)
    stall = _first_measured(STALLS, arm)
    dropped = [drops(small.counters[t.trial]).sockets or {} for t in arm.trials]
    return Conduct(
        one_host=len({e["host"] for e in arm.endpoints}) == 1,
        payload_bytes=writer.get("payload_bytes"),
        segment_bytes=segment_bytes,
        heartbeat_ns=heartbeat_ns,
        missing=sum(t.messages.ledger.undelivered for t in arm.trials),
        wanted=sum(t.messages.ledger.wanted for t in arm.trials),
        dropped=sum(sum(by_socket.values()) for by_socket in dropped),
        response_ns=median("response_latency_p50"),
        way_ns=None if service is None or call is None else service - call,
        frames_lost=aggregate(GLOSSARY["frames_lost"], arm.trials).value,
        stall_ns=stall[1] if stall else None,
        period_ns=arrival.get("period_ns"),
        burst=arrival.get("count") or 1,
        depth=qos.get("depth") if qos.get("history") == "keep_last" else None,
        reliable=arm.is_reliable_in(topic),
        held_ns=call if granted.get("when_full") == "blocks" else None,
        lends=str(capabilities.get("loan", "no")).split(":")[0] in ("yes", "partly"),
        lent=bool(arm.arm.get("loan")) or arm.take == "lent",
        calls_back=capabilities.get("callback") == "yes",
        waits_in_a_set=arm.arm.get("wait", "block") == "block",
        slower_when_rare=slower_when_rare,
    )


def _first_measured(metrics: Sequence[str], arm: ArmReport) -> tuple[str, float] | None:
    """Return the first of these metrics that was measured, with its value over all trials."""
    values = ((name, aggregate(GLOSSARY[name], arm.trials).value) for name in metrics)
    return next(((name, value) for name, value in values if value is not None), None)


def metric_of(symptom: Symptom, arm: ArmReport) -> str | None:
    """Return the metric that shows whether the symptom is gone; None if delivery and the primary
    metric show it. A silence of seconds may change neither the median nor delivery."""
    measured = _first_measured(_SEEN_IN.get(symptom, ()), arm)
    return measured[0] if measured else None


def _writer(arm: ArmReport) -> dict[str, Any]:
    writers = [e for e in arm.endpoints if e["kind"] in SENDERS]
    return max(writers, key=lambda e: e["payload_bytes"] or 0, default={})


def _configured(arm: ArmReport, bundle: Bundle) -> tuple[float | None, float | None]:
    """Return the size of the segment through which the arm sends, in bytes, and the heartbeat of
    its writers, in ns: as configured, else as installed; None if the middleware has none."""
    installed = known_remedies().as_installed.get(arm.cell["middleware"])
    if installed is None:
        return None, None
    text = _in_force(arm, bundle)
    modes = arm.arm.get("modes") or {}
    segment: float | None = modes.get("shm_pool_bytes") or installed.segment_bytes
    if (size := _SEGMENT.search(text)) and float(size[1]):  # 0: the library's own size
        segment = float(size[1])
    if {modes.get("transport"), arm.main_path} & {*NO_SEGMENT} or _SHARES_DATA.search(text):
        segment = None
    heartbeat_ns = installed.heartbeat_ms * 1e6
    if period := _HEARTBEAT.search(text):
        heartbeat_ns = int(period[1] or 0) * 1e9 + int(period[2] or 0)
    return segment, heartbeat_ns


def _in_force(arm: ArmReport, bundle: Bundle) -> str:
    """Return the configuration that a publisher's process used, else the profile's own text."""
    process = _writer(arm).get("process")
    for trial in arm.trials[:1]:
        for row in bundle.rows("files", trial.trial):
            if row["name"].startswith(f"{process}.configuration."):
                return bundle.file(row["sha256"]).decode(errors="replace")
    return (arm.configuration.text if arm.configuration else None) or ""
