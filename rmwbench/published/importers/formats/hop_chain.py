"""The comparison of four RMWs over a chain of six hops on ROS 2 Lyrical, 2026
(github.com/ivoheck/rmw_benchmarking): a file per run with the latency of each message in
nanoseconds, a line each, and what was run in a `metadata.yaml` per session.

Which sensor, which RMW and which run a file is of is its name; what a session ran stands in its
metadata, which must say the same.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.published.importers.published import Published, PublishedEndpoint, SeriesPoints
from rmwbench.published.importers.source.data_source import Source, SourceFile
from rmwbench.published.importers.source.plausible import Range
from rmwbench.published.importers.source.sheet import malformed, whole

NAME = re.compile(
    r"(?P<sensor>[a-z]+)_cpp_results_(?P<rmw>rmw_[a-z0-9_]+?)_nr_(?P<run>[1-9][0-9]{0,4})\.txt"
)
METADATA = "metadata.yaml"
ROOT = "benchmark_metadata"
WARM_UP = 50
"""Messages at the start of each run that the original leaves out."""
HOPS = 6
LATENCY_NS = Range(1, 600e9)


@dataclass(frozen=True)
class Sensor:
    """What one of the three chains carries. `reliable`: the QoS of every hop."""

    type: str
    payload_bytes: int
    rate_hz: float
    reliable: bool


SENSORS = {
    "imu": Sensor("sensor_msgs/Imu", 320, 500.0, False),
    "lidar": Sensor("sensor_msgs/LaserScan", 8648, 30.0, False),
    "camera": Sensor("sensor_msgs/Image", 1920 * 1080 * 3, 1.0, True),
}


@dataclass(frozen=True)
class HopChainRun:
    """One file: the latencies of the messages in the order in which they came, ns, shape
    (messages,)."""

    session: str
    sensor: str
    rmw: str
    number: int
    where: str
    latency_ns: np.ndarray


@dataclass(frozen=True)
class HopChainSession:
    """What a `metadata.yaml` says was to run."""

    name: str
    where: str
    runs: int
    messages: int
    relays: int
    sensors: tuple[str, ...]
    rmws: tuple[str, ...]
    versions: dict[str, str]


def recognises(item: SourceFile) -> bool:
    if item.name.rpartition("/")[2] == METADATA:
        return item.data.lstrip().startswith(f"{ROOT}:".encode())
    first = item.data[:64].partition(b"\n")[0].strip()
    return NAME.fullmatch(item.name.rpartition("/")[2]) is not None and first.isdigit()


def read(source: Source, out: Published) -> None:
    """A cell per sensor and RMW, a trial per run."""
    runs: dict[tuple[str, str, str, int], HopChainRun] = {}
    sessions: dict[str, HopChainSession] = {}
    contents: dict[bytes, str] = {}
    for item in source:
        name = item.name.rpartition("/")[2]
        folder = item.folders[-1] if item.folders else ""
        if name == METADATA:
            sessions[folder] = _session(item, folder)
        elif NAME.fullmatch(name):
            run = _run(item, folder)
            if item.data in contents:
                raise malformed(
                    item.where, "the same run twice", "once", f"also in {contents[item.data]}"
                )
            contents[item.data] = item.where
            runs[run.session, run.sensor, run.rmw, run.number] = run
        else:
            raise malformed(
                item.where,
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
    _figures(list(runs.values()), out)
    _known_errors(runs, sessions, out)


def _run(item: SourceFile, folder: str) -> HopChainRun:
    found = NAME.fullmatch(item.name.rpartition("/")[2])
    assert found is not None
    if found["sensor"] not in SENSORS:
        raise malformed(
            item.where,
            "a sensor that the original does not have",
            ", ".join(SENSORS),
            found["sensor"],
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
        raise malformed(
            item.where, "too few messages", f"more than the {WARM_UP} of the warm-up", len(values)
        )
    return HopChainRun(
        folder,
        found["sensor"],
        found["rmw"],
        int(found["run"]),
        item.where,
        np.array(values, float),
    )


def _session(item: SourceFile, folder: str) -> HopChainSession:
    # here, since every import of any source looks at this module first
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        tree = YAML(typ="safe").load(item.text())
        about: dict[str, Any] = tree[ROOT]
        parameters, versions = about["parameters"], about.get("software_versions") or {}
        runs, messages, relays = (
            whole(str(parameters[name]), item.where, name, least=0)
            for name in ("num_runs", "measurement_count", "node_count")
        )
        session = HopChainSession(
            folder,
            item.where,
            runs,
            messages,
            relays,
            tuple(map(str, parameters["sensors"])),
            tuple(map(str, parameters["middlewares"])),
            {str(name): str(version) for name, version in versions.items()},
        )
    except (YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise malformed(
            item.where,
            "metadata without its parameters",
            "num_runs, measurement_count, …",
            str(error),
        ) from None
    if session.relays + 1 != HOPS:
        raise malformed(
            item.where, "another chain", f"node_count {HOPS - 1}: {HOPS} hops", session.relays
        )
    return session


def _check(
    runs: dict[tuple[str, str, str, int], HopChainRun], sessions: dict[str, HopChainSession]
) -> None:
    """Raises UserError where a run is not what its session's metadata says was run."""
    for run in runs.values():
        session = sessions.get(run.session)
        if session is None:
            continue
        if (
            run.sensor not in session.sensors
            or run.rmw not in session.rmws
            or run.number > session.runs
        ):
            raise malformed(
                run.where,
                "a run that the session's metadata does not have",
                f"{', '.join(session.sensors)} with {', '.join(session.rmws)}, runs 1 to "
                f"{session.runs}",
                f"{run.sensor}, {run.rmw}, {run.number}",
            )
        if len(run.latency_ns) > session.messages:
            raise malformed(
                run.where,
                "more messages than were asked for",
                f"at most {session.messages}",
                len(run.latency_ns),
            )


def _trials(
    runs: dict[tuple[str, str, str, int], HopChainRun],
    sessions: dict[str, HopChainSession],
    out: Published,
) -> None:
    cells: dict[tuple[str, str], int] = {}
    for run in runs.values():
        sensor = SENSORS[run.sensor]
        session = sessions.get(run.session)
        if (run.sensor, run.rmw) not in cells:
            cells[run.sensor, run.rmw] = out.cell(
                workload=f"{run.sensor}, {HOPS} hops",
                arm=run.rmw,
                middleware=run.rmw,
                version=None if session is None else session.versions.get(run.rmw),
                factors={
                    "payload_bytes": sensor.payload_bytes,
                    "rate_hz": sensor.rate_hz,
                    "hops": HOPS,
                },
                definition={
                    "qos": "reliable, keep_last 1"
                    if sensor.reliable
                    else "best effort, keep_last 5 (sensor data)",
                    "transport": "UDP; shared memory is switched off",
                },
            )
        ends = [
            PublishedEndpoint(
                kind,
                kind,
                "host",
                run.sensor,
                sensor.type,
                sensor.payload_bytes,
                middleware=run.rmw,
            )
            for kind in ("publisher", "subscription")
        ]
        # Messages that were lost are not in the file, so nobody knows how long a run was.
        out.trial(cells[run.sensor, run.rmw], ends)
        kept = run.latency_ns[WARM_UP:]
        for name, value in (("mean", kept.mean()), ("min", kept.min()), ("max", kept.max())):
            out.window(1, None, None, f"end_to_end_latency_{name}", "ns", float(value))


def _figures(runs: Sequence[HopChainRun], out: Published) -> None:
    by_cell: dict[tuple[str, str], list[HopChainRun]] = defaultdict(list)
    for run in runs:
        by_cell[run.sensor, run.rmw].append(run)
    for (sensor, rmw), found in by_cell.items():
        _cell_figures(sensor, rmw, found, out)


def _cell_figures(sensor: str, rmw: str, runs: Sequence[HopChainRun], out: Published) -> None:
    kept = [run.latency_ns[WARM_UP:] / 1e6 for run in runs]
    every = np.concatenate(kept)
    chain = published_chain_ms(runs)
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
        float(np.mean([run.mean() for run in kept])),
        f"of {len(runs)} runs, each counted once; of the messages that reached the end, others are "
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
    spread, half = _spread(runs)
    point(
        "spread",
        "%",
        spread,
        half,
        "published: coefficient of variation over sessions; corrected: half of the 95 % interval "
        "of their mean",
    )
    point(
        "settling",
        "ratio",
        None,
        float(np.mean([run[-50:].mean() / run[:50].mean() for run in kept])),
        "the last 50 messages ÷ the first 50 after the warm-up: 1 where the runs had settled",
    )


def published_chain_ms(runs: Sequence[HopChainRun]) -> float:
    """The original's mean over the chain: the mean over sessions of all latencies summed ÷ the mean
    number of them."""
    totals: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    for run in runs:
        totals[run.session] += float(run.latency_ns[WARM_UP:].sum()) / 1e6
        counts[run.session] += len(run.latency_ns) - WARM_UP
    return float(np.mean(list(totals.values())) / np.mean(list(counts.values())))


def _spread(runs: Sequence[HopChainRun]) -> tuple[float | None, float | None]:
    """(coefficient of variation of the sessions' sums, half of the interval of the sessions'
    means), %; None for what too few sessions cannot say."""
    from scipy import special

    totals: dict[str, float] = defaultdict(float)
    means: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        totals[run.session] += float(run.latency_ns[WARM_UP:].sum())
        means[run.session].append(float(run.latency_ns[WARM_UP:].mean()))
    found, each = (
        np.array(list(totals.values())),
        np.array([np.mean(one) for one in means.values()]),
    )
    if len(found) < 2:
        return None, None
    half = (
        special.stdtrit(len(each) - 1, 0.975)
        * each.std(ddof=1)
        / math.sqrt(len(each))
        / each.mean()
    )
    return float(found.std(ddof=1) / found.mean() * 100), float(half * 100)


def _cutoff(values: np.ndarray) -> float:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high + 1.5 * (high - low))


def _known_errors(
    runs: dict[tuple[str, str, str, int], HopChainRun],
    sessions: dict[str, HopChainSession],
    out: Published,
) -> None:
    out.known("hop-chain-2026")
    if missing := _missing(runs, sessions):
        out.error("combinations without runs", f"planned and not in the data: {missing}")


def _missing(
    runs: dict[tuple[str, str, str, int], HopChainRun], sessions: dict[str, HopChainSession]
) -> str:
    """`camera with rmw_connextdds (90 of 90 runs)`, …"""
    asked: dict[tuple[str, str], int] = defaultdict(int)
    there: dict[tuple[str, str], int] = defaultdict(int)
    for session in sessions.values():
        for sensor in session.sensors:
            for rmw in session.rmws:
                asked[sensor, rmw] += session.runs
    for run in runs.values():
        if run.session in sessions:
            there[run.sensor, run.rmw] += 1
    return ", ".join(
        f"{sensor} with {rmw} ({wanted - there[sensor, rmw]} of {wanted} runs)"
        for (sensor, rmw), wanted in asked.items()
        if there[sensor, rmw] < wanted
    )
