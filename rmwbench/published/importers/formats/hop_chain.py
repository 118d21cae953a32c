"""The comparison of four RMWs over a chain of six hops on ROS 2 Lyrical, 2026
(github.com/ivoheck/rmw_benchmarking): one file per run with the latency of each message in
nanoseconds, one per line, and one `metadata.yaml` per session that says what was run.

A file's name says its sensor, RMW and run; the metadata of its session must say the same.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.published import (
    Published,
    PublishedCell,
    SeriesPoints,
    both_ends,
)
from rmwbench.published.importers.sheet import Once, Range, whole
from rmwbench.words import numbers as fmt

NAME = re.compile(
    r"(?P<sensor>[a-z]+)_cpp_results_(?P<rmw>rmw_[a-z0-9_]+?)_nr_(?P<run>[1-9][0-9]{0,4})\.txt"
)
METADATA = "metadata.yaml"
ROOT = "benchmark_metadata"
WARM_UP = 50
"""The number of messages at the start of each run that the original leaves out."""
EDGE = 50
"""The number of messages at the beginning and at the end of a run that tell whether it had
settled."""
HOPS = 6
LATENCY_NS = Range(1, 600e9)


@dataclass(frozen=True)
class Sensor:
    """What one of the three chains carries; every hop has this QoS."""

    type: str
    payload_bytes: int
    rate_hz: float
    qos: str


_SENSOR_DATA = "best effort, keep_last 5 (sensor data)"
SENSORS = {
    "imu": Sensor("sensor_msgs/Imu", 320, 500.0, _SENSOR_DATA),
    "lidar": Sensor("sensor_msgs/LaserScan", 8648, 30.0, _SENSOR_DATA),
    "camera": Sensor("sensor_msgs/Image", 1920 * 1080 * 3, 1.0, "reliable, keep_last 1"),
}


@dataclass(frozen=True)
class HopChainRun:
    """One file: the latencies of the messages in order of arrival, ns, shape (messages,)."""

    session: str
    sensor: str
    rmw: str
    number: int
    where: str
    latency_ns: np.ndarray


class HopChainSession(BaseModel):
    """What a `metadata.yaml` says was to run."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    num_runs: int = Field(ge=0)
    measurement_count: int = Field(ge=0)
    node_count: int = Field(ge=0)
    sensors: tuple[str, ...]
    middlewares: tuple[str, ...]
    software_versions: dict[str, str]


def recognises(item: SourceFile) -> bool:
    if item.file_name == METADATA:
        return item.data.lstrip().startswith(f"{ROOT}:".encode())
    first = item.data[:64].partition(b"\n")[0].strip()
    return NAME.fullmatch(item.file_name) is not None and first.isdigit()


def read(source: Source, out: Published) -> None:
    """Read one cell for each sensor, RMW and version, and one trial for each run."""
    runs: list[HopChainRun] = []
    sessions: dict[str, HopChainSession] = {}
    once, described_once = Once("the same run"), Once("the metadata of a session")
    for item in source:
        name = item.file_name
        folder = item.folders[-1] if item.folders else ""
        if name == METADATA:
            described_once(folder, item.where)
            sessions[folder] = _session(item)
        elif NAME.fullmatch(name):
            run = _run(item, folder)
            once.content(item)
            once((run.session, run.sensor, run.rmw, run.number), item.where)
            runs.append(run)
        else:
            raise item.wrong(
                "neither a run nor its metadata",
                f"SENSOR_cpp_results_RMW_nr_N.txt or {METADATA}",
                name,
            )
    if not runs:
        raise malformed(
            str(source.path), "sessions without a run", "files of latencies", "metadata alone"
        )
    _check(runs, sessions)
    _trials(runs, sessions, out)
    _figures(runs, out)
    out.add_known("hop-chain-2026")
    if missing := _missing_runs(runs, sessions):
        out.error("combinations without runs", f"planned and not in the data: {missing}")
    if mixed := _mixed_versions(runs, sessions):
        out.error("sessions of several versions", f"taken together: {mixed}", "hop_chain")


def _run(item: SourceFile, folder: str) -> HopChainRun:
    name = NAME.fullmatch(item.file_name)
    assert name is not None
    if name["sensor"] not in SENSORS:
        raise item.wrong(
            "a sensor that the original does not have", ", ".join(SENSORS), name["sensor"]
        )
    values = []
    for number, line in enumerate(item.text().splitlines(), start=1):
        where = f"{item.where}:{number}"
        if not line.strip():
            raise malformed(where, "an empty line", "a latency in nanoseconds", line)
        values.append(whole(line.strip(), where, "the latency"))
        if not LATENCY_NS.holds(np.array([values[-1]])).all():
            raise malformed(where, "the latency is impossible", "1 ns to 10 minutes", values[-1])
    if len(values) <= WARM_UP:
        raise item.wrong("too few messages", f"more than the {WARM_UP} of the warm-up", len(values))
    return HopChainRun(
        folder,
        name["sensor"],
        name["rmw"],
        int(name["run"]),
        item.where,
        np.array(values, float),
    )


def _session(item: SourceFile) -> HopChainSession:
    # here, since every import of any source looks at this module first
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        about: dict[str, Any] = YAML(typ="safe").load(item.text())[ROOT]
        versions = about.get("software_versions") or {}
        session = HopChainSession(**{**about["parameters"], "software_versions": versions})
    except ValidationError as error:
        raise item.unlike_its_type(error, "the session") from None
    except (YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        expected = "num_runs, measurement_count, …"
        raise item.wrong("metadata without its parameters", expected, str(error)) from None
    if session.node_count + 1 != HOPS:
        expected = f"node_count {HOPS - 1}: {HOPS} hops"
        raise item.wrong("another chain", expected, session.node_count)
    return session


def _check(runs: Sequence[HopChainRun], sessions: dict[str, HopChainSession]) -> None:
    """Raise UserError if a run is not what its session's metadata says."""
    for run in runs:
        session = sessions.get(run.session)
        if session is None:
            continue
        if (
            run.sensor not in session.sensors
            or run.rmw not in session.middlewares
            or run.number > session.num_runs
        ):
            raise malformed(
                run.where,
                "a run that the session's metadata does not have",
                f"{', '.join(session.sensors)} with {', '.join(session.middlewares)}, runs 1 to "
                f"{session.num_runs}",
                f"{run.sensor}, {run.rmw}, {run.number}",
            )
        if len(run.latency_ns) > session.measurement_count:
            raise malformed(
                run.where,
                "more messages than were asked for",
                f"at most {session.measurement_count}",
                len(run.latency_ns),
            )


def _trials(
    runs: Sequence[HopChainRun], sessions: dict[str, HopChainSession], out: Published
) -> None:
    for run in runs:
        sensor = SENSORS[run.sensor]
        cell = PublishedCell(
            workload=f"{run.sensor}, {HOPS} hops",
            arm=run.rmw,
            middleware=run.rmw,
            version=_version(run, sessions),
            factors={
                "payload_bytes": sensor.payload_bytes,
                "rate_hz": sensor.rate_hz,
                "hops": HOPS,
            },
            definition={"qos": sensor.qos, "transport": "UDP; shared memory is switched off"},
        )
        ends = both_ends(run.sensor, sensor.type, sensor.payload_bytes, run.rmw)
        # Messages that were lost are not in the file, so nobody knows how long a run was.
        out.trial(out.cell(cell), ends)
        latency_ns = run.latency_ns[WARM_UP:]
        for name, value in (
            ("mean", latency_ns.mean()),
            ("min", latency_ns.min()),
            ("max", latency_ns.max()),
        ):
            out.window(1, None, None, f"end_to_end_latency_{name}", "ns", float(value))


def _version(run: HopChainRun, sessions: dict[str, HopChainSession]) -> str | None:
    session = sessions.get(run.session)
    return None if session is None else session.software_versions.get(run.rmw)


def _figures(runs: Sequence[HopChainRun], out: Published) -> None:
    by_cell: dict[tuple[str, str], list[HopChainRun]] = defaultdict(list)
    for run in runs:
        by_cell[run.sensor, run.rmw].append(run)
    for (sensor, rmw), of_cell in by_cell.items():
        _cell_figures(sensor, rmw, of_cell, out)


def _cell_figures(sensor: str, rmw: str, runs: Sequence[HopChainRun], out: Published) -> None:
    latency_ms = [run.latency_ns[WARM_UP:] / 1e6 for run in runs]
    every = np.concatenate(latency_ms)
    # The original's mean over sessions of all latencies summed ÷ the mean number of them.
    chain = float(every.mean())
    count = len(every)

    point = SeriesPoints(out, "hop_chain", sensor, rmw, count)
    point(
        "hop_mean",
        "ms",
        chain / HOPS,
        None,
        "no data: a sixth of a chain's mean is not the latency of a hop; what relays do between "
        "two hops is in it",
    )
    point(
        "mean",
        "ms",
        chain,
        float(np.mean([run.mean() for run in latency_ms])),
        f"of {fmt.counted(len(runs), 'run')}, each counted once; of the messages that reached the end, others are "
        "in no file",
    )
    inside = every[every <= _cutoff(every)]
    point(
        "median",
        "ms",
        float(np.median(inside)),
        float(np.median(every)),
        f"published: without the {(1 - len(inside) / count) * 100:.2g} % above the third quartile "
        "+ 1.5 IQR",
    )
    note = "the original has no percentile beyond the quartiles"
    point("p90", "ms", None, float(np.quantile(every, 0.9)), note)
    _steadiness_figures(point, runs, latency_ms)


def _steadiness_figures(
    point: SeriesPoints, runs: Sequence[HopChainRun], latency_ms: Sequence[np.ndarray]
) -> None:
    """Add how far the sessions differ, and how far a run changes. `latency_ms`: those of each run
    after the warm-up."""
    spread, half = _spread(runs)
    point(
        "spread",
        "%",
        spread,
        half,
        "no data: one session has no spread"
        if half is None
        else "published: coefficient of variation over sessions; corrected: half of the 95 % "
        "interval of their mean",
    )
    settled = [run[-EDGE:].mean() / run[:EDGE].mean() for run in latency_ms if len(run) >= 2 * EDGE]
    point(
        "settling",
        "ratio",
        None,
        float(np.mean(settled)) if settled else None,
        f"of {fmt.counted(len(settled), 'run')}: the last {EDGE} messages ÷ the first {EDGE} after the warm-up, 1 "
        "where they had settled"
        if settled
        else f"no data: no run has {2 * EDGE} messages after the warm-up",
    )


def _spread(runs: Sequence[HopChainRun]) -> tuple[float | None, float | None]:
    """Return (coefficient of variation of the sessions' sums, half of the interval of the sessions'
    means), %; None for what too few sessions cannot say."""
    from scipy import special

    totals: dict[str, float] = defaultdict(float)
    means: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        totals[run.session] += float(run.latency_ns[WARM_UP:].sum())
        means[run.session].append(float(run.latency_ns[WARM_UP:].mean()))
    sums = np.array(list(totals.values()))
    means_ns = np.array([np.mean(of_session) for of_session in means.values()])
    if len(sums) < 2:
        return None, None
    half = (
        special.stdtrit(len(means_ns) - 1, 0.975)
        * means_ns.std(ddof=1)
        / math.sqrt(len(means_ns))
        / means_ns.mean()
    )
    return float(sums.std(ddof=1) / sums.mean() * 100), float(half * 100)


def _cutoff(values: np.ndarray) -> float:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high + 1.5 * (high - low))


def _mixed_versions(runs: Sequence[HopChainRun], sessions: dict[str, HopChainSession]) -> str:
    """Return the RMWs with several versions: `rmw_zenoh_cpp (0.10.6, unknown)`, …"""
    by_rmw: dict[str, dict[str | None, None]] = defaultdict(dict)
    for run in runs:
        by_rmw[run.rmw][_version(run, sessions)] = None
    return ", ".join(
        f"{rmw} ({', '.join(version or 'unknown' for version in versions)})"
        for rmw, versions in by_rmw.items()
        if len(versions) > 1
    )


def _missing_runs(runs: Sequence[HopChainRun], sessions: dict[str, HopChainSession]) -> str:
    """Return the missing runs: `camera with rmw_connextdds (90 of 90 runs)`, …"""
    planned: dict[tuple[str, str], int] = defaultdict(int)
    done: dict[tuple[str, str], int] = defaultdict(int)
    for session in sessions.values():
        for sensor in session.sensors:
            for rmw in session.middlewares:
                planned[sensor, rmw] += session.num_runs
    for run in runs:
        if run.session in sessions:
            done[run.sensor, run.rmw] += 1
    return ", ".join(
        f"{sensor} with {rmw} ({wanted - done[sensor, rmw]} of {wanted} runs)"
        for (sensor, rmw), wanted in planned.items()
        if done[sensor, rmw] < wanted
    )
