"""NEWSLab's gscam stress test of 2025: 14 camera configurations × 2 middlewares per run, with a row
per second and the summary that the original made of the rows.

The name of a file's directory says which middleware it is about; the summary says the same and is
checked against it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rmwbench.published.importers.data_source import Source, SourceFile
from rmwbench.published.importers.published import (
    Published,
    PublishedCell,
    SeriesPoints,
    both_ends,
)
from rmwbench.published.importers.sheet import (
    BYTES_PER_SECOND,
    LATENCY_MS,
    Once,
    Plausible,
    Range,
    SheetRow,
    columns,
    rows,
    unlike,
)

SECOND = columns(
    "timestamp,width,height,fps,byte_rate,message_rate,frame_loss_pct,"
    "latency_avg_ms,latency_min_ms,latency_max_ms"
)
SUMMARY = columns(
    "rmw_type,config,resolution,fps,data_rate_mbps,avg_frame_loss_pct,max_frame_loss_pct,"
    "avg_latency_ms,max_latency_ms,avg_message_rate,test_duration_sec,timestamp"
)
RMW = {"cyclonedds": "rmw_cyclonedds_cpp", "zenoh": "rmw_zenoh_cpp"}
NAME = re.compile(r"(?P<config>.+)_(?P<stamp>\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)\.csv")
STAMP = re.compile(r"(\d{4}-\d\d-\d\d)_(\d\d)-(\d\d)-(\d\d)")
MIB = 1024 * 1024
BYTES_PER_PIXEL = 3
_SHORTFALL = Range(-1000, 100)
"""Percent of the nominal rate; negative if more frames came."""
PLAUSIBLE = Plausible(
    {
        "byte_rate": BYTES_PER_SECOND,
        "message_rate": Range(0, 1e6),
        "frame_loss_pct": _SHORTFALL,
        **{f"latency_{statistic}_ms": LATENCY_MS for statistic in ("avg", "min", "max")},
    },
    orders=[("latency_min_ms", "latency_avg_ms", "latency_max_ms")],
)
SUMMARY_PLAUSIBLE = Plausible(
    {
        "data_rate_mbps": Range(0, 1e6),
        "avg_frame_loss_pct": _SHORTFALL,
        "max_frame_loss_pct": _SHORTFALL,
        "avg_latency_ms": LATENCY_MS,
        "max_latency_ms": LATENCY_MS,
        "avg_message_rate": Range(0, 1e6),
        "test_duration_sec": Range(1, 1e6),
    },
    orders=[("avg_frame_loss_pct", "max_frame_loss_pct")],
)
START_UP_S = 2
"""How many seconds of start-up the corrected values leave out: the frames that the camera's first
second holds back arrive in the second one, so that one has more frames than the camera makes, as
late as those of the first."""
SOURCE = "no data: nominal minus received rate, not sequence numbers: a slow source counts as loss"


TestKey = tuple[str, str, str, str]
"""Run, middleware, configuration and time."""


@dataclass(frozen=True)
class GscamTest:
    """One configuration with one middleware in one run: its seconds, shape (rows,)."""

    run: str
    rmw: str
    config: str
    stamp: str
    where: str
    width: int
    height: int
    fps: int
    columns: dict[str, np.ndarray]

    @property
    def key(self) -> TestKey:
        return self.run, self.rmw, self.config, self.stamp


def _shape(row: SheetRow) -> tuple[int, int, int]:
    """Return width and height of the picture, and fps."""
    width, height, fps = (row.whole(name, 1, 100_000) for name in ("width", "height", "fps"))
    return width, height, fps


def recognises(item: SourceFile) -> bool:
    return tuple(item.header) in (SECOND, SUMMARY)


def read(source: Source, out: Published) -> None:
    """Read one cell for each configuration and middleware, and one trial for each run of it."""
    out.add_known("gscam")
    tests: dict[TestKey, GscamTest] = {}
    summaries: list[tuple[str, SheetRow]] = []
    once = Once("the same test")
    for item in source:
        header = tuple(item.header)
        if header == SUMMARY:
            run = item.folders[-1] if item.folders else ""
            summaries += [(run, row) for row in rows(item, SUMMARY, plausible=SUMMARY_PLAUSIBLE)]
        elif header == SECOND:
            test = _test(item)
            once(test.key, item.where)
            tests[test.key] = test
            _trial(test, out)
        elif not item.name.endswith("findings.txt"):
            raise unlike(item, "neither seconds nor a summary", ", ".join(SECOND))
    _figures(tests, summaries, out)


def _test(item: SourceFile) -> GscamTest:
    name = NAME.fullmatch(item.file_name)
    folders = item.folders
    rmw = folders[-1] if folders else ""
    if rmw not in RMW or name is None:
        raise item.wrong(
            "the path does not say what was run", "cyclonedds|zenoh/CONFIG_DATE_TIME.csv", item.name
        )
    seconds = list(rows(item, SECOND, plausible=PLAUSIBLE))
    shape = _shape(seconds[0])
    for row in seconds:
        if _shape(row) != shape:
            raise row.wrong("the camera's configuration changes", f"{shape}", row["width"])
        if STAMP.fullmatch(row["timestamp"]) is None:
            raise row.wrong(
                "column 'timestamp' is not a time", "YYYY-MM-DD_HH-MM-SS", row["timestamp"]
            )
    for before, row in pairwise(seconds):
        if row["timestamp"] <= before["timestamp"]:
            expected = f"a time after {before['timestamp']}"
            raise row.wrong("the time does not grow", expected, row["timestamp"])
    columns = {c: np.array([row.number(c) for row in seconds]) for c in SECOND[4:]}
    run = folders[-2] if len(folders) > 1 else ""
    return GscamTest(run, rmw, name["config"], name["stamp"], item.where, *shape, columns)


def _trial(test: GscamTest, out: Published) -> None:
    size = test.width * test.height * BYTES_PER_PIXEL
    cell = PublishedCell(
        workload=f"{test.width}×{test.height} at {test.fps} Hz ({test.config})",
        arm=RMW[test.rmw],
        middleware=RMW[test.rmw],
        version="ROS 2 Humble",
        profile="tuned",
        factors={
            "width": test.width,
            "height": test.height,
            "rate_hz": test.fps,
            "payload_bytes": size,
        },
        definition={
            "qos": "subscription: reliable, volatile, keep_last 10; publisher: gscam's own"
        },
    )
    processes = ("gscam", "container")
    ends = both_ends("image", "sensor_msgs/Image", size, RMW[test.rmw], processes=processes)
    count = len(test.columns["byte_rate"])
    out.trial(out.cell(cell), ends, duration_ns=count * 1_000_000_000)
    end = np.arange(1, count + 1) * 1_000_000_000
    begin = end - 1_000_000_000
    c = test.columns
    arrived = c["message_rate"] > 0
    for metric, unit, values in (
        ("data_received", "bytes/s", c["byte_rate"]),
        ("received_rate", "Hz", c["message_rate"]),
        ("shortfall_of_nominal_rate", "fraction", c["frame_loss_pct"] / 100),
        *(
            (f"latency_{name}", "ns", np.where(arrived, c[f"latency_{column}_ms"] * 1e6, np.nan))
            for name, column in (("mean", "avg"), ("min", "min"), ("max", "max"))
        ),
    ):
        out.window(1, begin, end, metric, unit, values)


_FORMULAS: tuple[tuple[str, Callable[[GscamTest], str]], ...] = (
    ("avg_frame_loss_pct", lambda t: f"{t.columns['frame_loss_pct'].mean():.2f}"),
    ("max_frame_loss_pct", lambda t: f"{t.columns['frame_loss_pct'].max():.2f}"),
    ("avg_latency_ms", lambda t: f"{t.columns['latency_avg_ms'].mean():.3f}"),
    ("max_latency_ms", lambda t: f"{t.columns['latency_min_ms'].max():.3f}"),
    ("avg_message_rate", lambda t: f"{t.columns['message_rate'].mean():.2f}"),
    ("data_rate_mbps", lambda t: f"{int(nominal_mib_s(t) * 10) / 10:.1f}"),
    ("test_duration_sec", lambda t: "60"),
)
"""How the original computed its summary: checked on every row of both published runs."""


def nominal_mib_s(test: GscamTest) -> float:
    """Return the MiB/s of frames of the configured size at the configured rate."""
    return test.width * test.height * BYTES_PER_PIXEL * test.fps / MIB


def _figures(
    tests: Mapping[TestKey, GscamTest],
    summaries: Iterable[tuple[str, SheetRow]],
    out: Published,
) -> None:
    row_of_test: dict[TestKey, SheetRow] = {}
    once = Once("the same test")
    for run, row in summaries:
        key = (run, row.one_of("rmw_type", tuple(RMW)), row["config"], row["timestamp"])
        if key not in tests:
            raise row.wrong(
                "no seconds for this row",
                "/".join((key[1], f"{key[2]}_{key[3]}.csv")),
                "no such file",
            )
        once(key, row.where)
        for column, _ in _FORMULAS:
            row.number(column)
        row_of_test[key] = row
    for key, test in tests.items():
        of_test = row_of_test.get(key)
        published = {
            c: of_test.number(c) if of_test is not None else float(formula(test))
            for c, formula in _FORMULAS
        }
        _test_figures(out, test, published)


def _test_figures(out: Published, test: GscamTest, published: dict[str, float]) -> None:
    c = test.columns
    series, count = " ".join(x for x in (RMW[test.rmw], test.run) if x), len(c["byte_rate"])
    steady = slice(START_UP_S, None) if count > START_UP_S else slice(None)
    rate, mean = c["message_rate"][steady], c["latency_avg_ms"][steady]
    weighted = float(np.average(mean, weights=rate)) if rate.sum() > 0 else None

    point = SeriesPoints(out, "gscam", series, test.config, count)
    point("loss", "%", published["avg_frame_loss_pct"], None, SOURCE)
    point("loss_max", "%", published["max_frame_loss_pct"], None, SOURCE)
    note = (
        "without the two seconds of start-up, weighted by messages"
        if weighted is not None
        else "no data: nothing was received"
    )
    point("latency_mean", "ms", published["avg_latency_ms"], weighted, note)
    point(
        "latency_max",
        "ms",
        published["max_latency_ms"],
        float(c["latency_max_ms"][steady].max()),
        "published: maximum of the per-second minimum; corrected: without the two seconds of "
        "start-up",
    )
    note = "without the two seconds of start-up"
    point("message_rate", "Hz", published["avg_message_rate"], float(rate.mean()), note)
    note = f"published: computed from the configuration; corrected: measured, {note}"
    data = float(c["byte_rate"][steady].mean()) / MIB
    point("data_rate", "MiB/s", published["data_rate_mbps"], data, note)
    note = "corrected: rows of a second each"
    point("duration", "s", published["test_duration_sec"], float(count), note)
