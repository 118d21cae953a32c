"""A show document made by hand: every kind of value and verdict, texts that try to break out of the
page. No measurement.

It is deterministic to the last digit, because the snapshots compare the renderings of it.
"""

# ruff: noqa: E501  (rows of a table, read as a table)

from math import exp, log
from random import Random
from statistics import NormalDist
from typing import Any

from rmwbench.results.show_model import SuiteAnswer
from tests.support.typed import typed

HOSTILE = (
    "terminate called\n</script><script>document.title='owned'</script><img "
    "src=http://example.invalid/x.png onerror=alert(1)>\nsignal 6 (SIGABRT)"
)

# arm, middleware, profile, version, release date, role, options
ARMS = [
    ("floor futex", "floor", "futex", "0.1.0", None, "floor", {"wait": "futex"}),
    ("iceoryx2 event", "iceoryx2", "event", "0.10.0", "2026-06-20", "contender", {}),
    ("zenoh tuned", "zenoh", "tuned", "1.10.2", "2026-08-03", "contender", {"transport": "tcp"}),
    ("zenoh untouched", "zenoh", "untouched", "1.10.2", "2026-08-03", "contender", {}),
    ("cyclonedds tuned", "cyclonedds", "tuned", "11.0.1", "2026-05-12", "contender", {}),
    ("cyclonedds untouched", "cyclonedds", "untouched", "11.0.1", "2026-05-12", "contender", {}),
    ("fastdds tuned", "fastdds", "tuned", "2.9.1", "2023-02-15", "contender", {}),
    ("fastdds untouched", "fastdds", "untouched", "2.9.1", "2023-02-15", "contender", {}),
]

# workload, title, messages per trial, rate, median in ns and spread per arm, verdict per arm
WORKLOADS = [
    ("imu", "IMU, 320 B at 1 kHz", "One sensor, one reader, in two processes.", 1100, 1000.0,
     [9.1e3, 12.3e3, 88e3, 101e3, 61e3, 64e3, 93e3, 97e3], [0.12, 0.15, 0.3, 0.35, 0.25, 0.3, 0.4, 0.45],
     ["reference", "best", "worse", "worse", "worse", "worse", "worse", "worse"]),
    ("camera", "1080p camera, 6.2 MB at 30 Hz",
     "An uncompressed camera image, written by the source and read by the consumer.", 30, 30.0,
     [2.31e6, 2.62e6, 2.55e6, 9.8e6, 14.1e6, 18.8e6, 5.1e6, 7.7e6], [0.08, 0.1, 0.15, 0.3, 0.4, 0.7, 0.3, 0.35],
     ["reference", "equivalent", "equivalent", "worse", "worse", "no data", "worse", "worse"]),
    ("pointcloud", "Point cloud, 512 kB at 10 Hz", "A lidar sweep.", 21, 10.0,
     [0.21e6, 0.33e6, 0.36e6, 1.1e6, 0.98e6, 1.3e6, 0.71e6, 0.9e6], [0.1, 0.2, 0.25, 0.3, 0.3, 0.5, 0.2, 0.3],
     ["reference", "equivalent", "undecided", "worse", "worse", "worse", "worse", "worse"]),
]  # fmt: skip

# name, value, note
MACHINE_FACTS = [
    ("cores", "2", None),
    ("governor", "not exposed", "a virtual machine hides it; the frequency may change during a trial"),
    ("kernel", "6.18.44", None),
    ("net.core.rmem_max", "212992", "smaller than one camera image: UDP middlewares will drop"),
    ("steal", "0.4 %", None),
]  # fmt: skip
CALIBRATION = (
    "Calibrated 3 hours before, kernel 6.18.44: 24 of 24 injected truths recovered, A/A declared "
    "different in 0 of 10, A/A noise 12.3 %. Of each latency 118 ns is ours, of each message 19.4 "
    "µs of processor time; nothing is subtracted."
)
# kind, workload, text
CONCLUSIONS = [
    ("conclude", "imu",
     "For small messages at 1 kHz, iceoryx2 event answers about 5 times faster than the next "
     "contender on this machine."),
    ("conclude", "camera",
     "Copying costs more than the middleware: arms that share memory stay within 15 % of the "
     "floor."),
    ("caution", "pointcloud",
     "zenoh tuned is not decided against iceoryx2 event; about 40 min more would decide it."),
    ("caution", None, "Two cores only: nothing here says how the middlewares scale."),
    ("caution", None,
     "fastdds 2.9.1 is from 2023-02-15, more than 18 months older than zenoh 1.10.2: a newer "
     "release may differ."),
]  # fmt: skip
# name, title, unit, text
GLOSSARY = [
    ("response_latency_p50", "response latency, median", "ns",
     "From the intended send time until the message is in the reader's hands; half of the messages"
     " were faster."),
    ("response_latency_p90", "response latency, 90th percentile", "ns",
     "Nine of ten messages were faster. Pooled over trials, interval clustered by trial."),
    ("response_latency_p99", "response latency, 99th percentile", "ns", "99 of 100 messages were faster."),
    ("service_latency_p50", "service latency, median", "ns",
     "From the publish call until the message is in the reader's hands."),
    ("loss", "loss", "fraction",
     "Messages that were sent and of which nothing sound arrived, of all that were sent."),
    ("never_sent_share", "never sent", "fraction",
     "Messages that were due and not sent, of all that were due."),
    ("publish_call_p50", "publish call, median", "ns", "How long the publish call held the calling thread."),
    ("cpu_per_message", "CPU per message", "ns",
     "Processor time of publisher and subscription together, per message."),
    ("cpu_per_message_publisher", "CPU per message, publisher", "ns",
     "Processor time of the publishing process per message."),
    ("cpu_per_message_subscription", "CPU per message, subscription", "ns",
     "Processor time of the receiving process per message."),
    ("pss", "memory (PSS)", "bytes",
     "Proportional set size of both processes, without shared segments and records."),
    ("block", "block", "", "Every arm once, in random order, back to back."),
]  # fmt: skip

XML = """<CycloneDDS>
  <Domain>
    <!-- </script> must stay text -->
  </Domain>
</CycloneDDS>"""
REASONS = {
    "best": "every other contender is decided to be slower",
    "worse": "the interval of the ratio lies above 1",
    "equivalent": "within 10 % of the fastest",
    "undecided": "the interval of the ratio contains 1 and is wider than the margin",
    "no data": "everything was lost",
    "reference": "a bound, not a contender",
}
TRIALS = 6


def example_document() -> dict[str, Any]:
    workloads = [_workload(index, *row) for index, row in enumerate(WORKLOADS)]
    return {
        "schema": "rmwbench/show",
        "version": 2,
        "campaign": {
            "name": "quick-20261121-101500", "directory": "campaigns/quick-20261121-101500",
            "suite": "quick", "title": "Three robot workloads, eight arms",
            "created_utc": "2026-11-21T10:15:00Z", "finished": True, "seed": 7, "blocks_planned": 6, "blocks_complete": 5,
            "trials": {"planned": 144, "done": 142, "failed": 1, "void": 1}, "tool_version": "0.1.0", "wall_s": 301.2,
        },
        "machine": {
            "summary": "2 × AMD EPYC 7R13, Linux 6.18, 24 GB",
            "facts": [{"name": name, "value": value, "note": note} for name, value, note in MACHINE_FACTS],
            "warnings": ["net.core.rmem_max is 212 992 bytes; one 6.2 MB image does not fit "
                         "(sysctl -w net.core.rmem_max=33554432)"],
            "calibration": {"known": True, "text": CALIBRATION},
        },
        "workloads": workloads,
        "conclusions": [
            {"kind": kind, "workload": workload, "text": text} for kind, workload, text in CONCLUSIONS
        ],
        "glossary": {
            name: {"title": title, "unit": unit, "text": text} for name, title, unit, text in GLOSSARY
        },
    }  # fmt: skip


def example() -> SuiteAnswer:
    return typed(SuiteAnswer, example_document())


def quantile(median: float, sigma: float, fraction: float) -> float:
    return (
        median
        * exp(sigma * NormalDist().inv_cdf(fraction))
        * (1 + 0.2 * sigma * max(0.0, log(1 / (1 - fraction)) - 3))
    )


def _workload(
    index, name, title, description, messages, rate, medians, sigmas, verdicts
) -> dict[str, Any]:
    rows = zip(ARMS, medians, sigmas, verdicts, strict=True)
    arms = [
        _arm(index, place, name, messages, row, median, sigma, medians, verdict)
        for place, (row, median, sigma, verdict) in enumerate(rows)
    ]
    return {
        "workload": name, "name": name, "levels": {}, "title": title, "description": description, "primary_metric": "response_latency_p50", "arms": arms,
        "resolution": {
            "blocks": 6, "comparisons": 6, "log_ratio_sd": 0.12, "resolvable_ratio": 1.24,
            "text": "6 blocks, 6 comparisons, log-ratio sd 0.12: differences above about 1.24× "
                    "could be seen, smaller ones not.",
        },
        "charts": _charts(name, messages, rate, medians, sigmas),
    }  # fmt: skip


def _arm(index, place, workload, messages, row, median, sigma, medians, verdict) -> dict[str, Any]:
    arm, middleware, profile, version, released, role, options = row
    numbers = [block * 24 + index * 8 + (place * 3 + block) % 8 for block in range(TRIALS)]
    dead = verdict == "no data"
    failed, void = [], []
    if (workload, arm) == ("camera", "fastdds untouched"):
        failed = [{"trial": numbers[4], "status": "failed", "reason": HOSTILE}]
    if (workload, arm) == ("pointcloud", "zenoh untouched"):
        stolen = "steal 7.1 % during the window, at most 2 % allowed"
        void = [{"trial": numbers[5], "status": "void", "reason": stolen}]
    undone = {item["trial"] for item in failed + void}
    done = [number for number in numbers if number not in undone]
    spread = 1.06 if index == 0 else 1.1
    per_trial = [
        {"trial": number, "block": block, "value": round(median * (1 + 0.05 * ((block * 7 + place) % 5 - 2)))}
        for block, number in enumerate(numbers) if number in done
    ]  # fmt: skip

    def estimate(value: float, unit: str, count: int | None = None) -> dict[str, Any]:
        return {"unit": unit, "value": value, "low": value / spread, "high": value * spread, "count": count or messages * len(done),
                "trials": len(done), "interval": f"95 % t interval on the log of {len(done)} trial values"}  # fmt: skip

    metrics: dict[str, Any] = {
        "response_latency_p50": estimate(median, "ns"),
        "service_latency_p50": estimate(median * 0.93, "ns"),
        "publish_call_p50": estimate(median * 0.3, "ns"),
        "loss": {"unit": "fraction", "value": 0.0, "low": 0.0, "high": 0.0006, "count": messages * len(done), "trials": len(done),
                 "interval": "95 % Wilson interval"},
        "cpu_per_message_publisher": estimate(median * 0.4 + 2000, "ns"),
        "cpu_per_message_subscription": estimate(median * 0.45 + 1500, "ns"),
        "cpu_per_message": estimate(median * 0.85 + 3500, "ns"),
        "pss": estimate(4.2e6 + 2.7e6 * place, "bytes", len(done)),
        "pss_publisher": estimate(2.2e6 + 1.3e6 * place, "bytes", len(done)),
        "pss_subscription": estimate(2.0e6 + 1.4e6 * place, "bytes", len(done)),
    }  # fmt: skip
    if messages > 1000:
        metrics["response_latency_p99"] = estimate(quantile(median, sigma, 0.99), "ns")
    else:
        metrics["response_latency_p90"] = estimate(quantile(median, sigma, 0.9), "ns")
        few = f"the percentile needs n·(1−q) ≥ 10, n is {messages}"
        metrics["response_latency_p99"] = {"unit": "ns", "no_data": few}
    if workload == "pointcloud":
        metrics["never_sent_share"] = dict(metrics["loss"])
    if workload == "camera" and arm == "cyclonedds tuned":
        infinite = {"value": "inf", "low": 4.1e7, "high": "inf", "count": 180, "trials": 6}
        infinite |= {"unit": "ns", "interval": "trial-clustered interval"}
        metrics["response_latency_p90"] = infinite
        metrics["loss"] |= {"value": 0.122, "low": 0.061, "high": 0.214}
    if workload == "pointcloud" and arm == "fastdds untouched":
        bound = {"unit": "ns", "at_least": 1.31e6, "count": 126, "trials": 6}
        metrics["response_latency_p90"] = bound | {"interval": "one-sided bound"}
        metrics["loss"] |= {"value": 0.0079, "low": 0.002, "high": 0.021}
        metrics["never_sent_share"] |= {"value": 0.28, "low": 0.24, "high": 0.32}
    if dead:
        reason = "no trial delivered a message: 6 of 6 lost everything"
        metrics = {
            key: {"unit": value.get("unit"), "no_data": reason} for key, value in metrics.items()
        }
        whole = {"value": 1.0, "low": 0.98, "high": 1.0, "count": 180, "trials": 6}
        whole |= {"unit": "fraction", "interval": "95 % Wilson interval"}
        metrics["loss"] = whole
        per_trial = []

    against = "iceoryx2 event" if verdict in ("worse", "undecided") else None
    compared = _ratio(median / min(medians[1:]), 1.08)
    if role == "floor":
        times_floor = {"no_data": "the floor is the reference"}
    else:
        times_floor = (
            {"no_data": "no message arrived"} if dead else _ratio(median / medians[0], 1.07)
        )
    is_dds = "dds" in middleware
    isolated = middleware == "cyclonedds" and profile == "untouched"
    paths = {"zenoh": "lo 100 %", "iceoryx2": "shm 100 %", "floor": "shm 100 %"}
    return {
        "arm": arm, "middleware": middleware, "layer": "floor" if role == "floor" else "native",
        "version": version, "profile": profile, "release_date": released, "role": role,
        "cell": index * 8 + place,
        "flags": ["untouched*: isolation forces loopback multicast"] if isolated else [],
        "path": paths.get(middleware, "lo 97 %, other 3 %"), "publish_mode": "sync",
        "qos": "reliable, keep_last 10, volatile", "touch": "all", "unlike": [], "notes": [],
        "configuration": {"format": "xml" if is_dds else "json5", "text": XML if is_dds else '{ mode: "peer" }'},
        "options": options,
        "as_installed": profile == "untouched",
        "trials": {"done": len(done), "failed": len(failed), "void": len(void), "numbers": numbers, "failures": failed + void},
        "metrics": metrics,
        "per_trial": {"response_latency_p50": per_trial},
        "times_floor": times_floor,
        "verdict": {"verdict": verdict, "against": against, "ratio": compared if against else None,
                    "reason": REASONS[verdict],
                    "minutes_to_decide": 40.0 if verdict == "undecided" else None},
    }  # fmt: skip


def _ratio(value: float, spread: float) -> dict[str, Any]:
    return {"value": value, "low": value / spread, "high": value * spread, "blocks": 6}


def _charts(workload, messages, rate, medians, sigmas) -> dict[str, Any]:
    ecdf, spectrum, series = [], [], []
    top = 0.999 if messages > 1000 else 0.93
    for place, (row, median, sigma) in enumerate(zip(ARMS, medians, sigmas, strict=True)):
        if workload == "camera" and row[0] == "cyclonedds untouched":
            continue
        lost = 0.122 if workload == "camera" and row[0] == "cyclonedds tuned" else 0.0
        fractions = [(step + 0.5) / 120 for step in range(120)]
        ecdf.append(
            {
                "arm": row[0],
                "latency_ns": [round(quantile(median, sigma, f)) for f in fractions],
                "fraction": [round(f * (1 - lost), 5) for f in fractions],
            }
        )
        grid = [
            q
            for q in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.93, 0.95, 0.99, 0.995, 0.999)
            if q <= top and q < 1 - lost
        ]
        spectrum.append(
            {
                "arm": row[0],
                "quantile": grid,
                "latency_ns": [round(quantile(median, sigma, q)) for q in grid],
            }
        )
        random = Random(f"{workload} {place}")
        values = [
            None
            if random.random() < lost
            else round(quantile(median, sigma, random.uniform(0.001, 0.999)))
            for _ in range(messages)
        ]
        series.append(
            {
                "arm": row[0],
                "trial": place,
                "time_s": [round(k / rate, 4) for k in range(messages)],
                "latency_ns": values,
            }
        )
    return {"ecdf": ecdf, "spectrum": spectrum, "series": series}
