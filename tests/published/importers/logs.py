"""Logs of `perf_test` as its versions write them, made from known messages, so that the read values
can be compared with the truth."""

import json
from dataclasses import dataclass

SIZE = 1040
NAMES = (
    "T_experiment T_loop received sent lost relative_loss data_received latency_min_(ms) "
    "latency_max_(ms) latency_mean_(ms) latency_variance_(ms) pub_loop_res_min_(ms) "
    "pub_loop_res_max_(ms) pub_loop_res_mean_(ms) pub_loop_res_variance_(ms) sub_loop_res_min_(ms) "
    "sub_loop_res_max_(ms) sub_loop_res_mean_(ms) sub_loop_res_variance_(ms) ru_utime ru_stime "
    "ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock "
    "ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw cpu_usage_(%)"
)
COLUMNS_2020 = NAMES.split()
RESOURCES = "0.1 0.1 19408 0 0 0 2855 0 0 0 8 0 0 0 191 4 0.1655"
LOOPS = "inf -inf 0 0 0 0 0 0"
COLUMNS_NEW = [c for c in COLUMNS_2020 if "loop_res" not in c]


@dataclass(frozen=True)
class Second:
    """What really happened in a second: messages received, latency in ms, and the length of the
    interval in s."""

    received: int
    latency_ms: float | None = 0.5
    length_s: float = 1.0


def header(
    version: str = "4807992", publishers: int = 0, subscribers: int = 1, rate: int = 30
) -> list[str]:
    return [
        "Experiment id: 0",
        f"Performance Test Version: {version}",
        "Communication mean: ROS2",
        "RMW Implementation: rmw_cyclonedds_cpp",
        "QOS: Reliability: RELIABLE Durability: VOLATILE History kind: KEEP_LAST History depth: 10 "
        "Sync. pub/sub: 0",
        f"Publishing rate: {rate}",
        "Topic name: Array1k",
        f"Number of publishers: {publishers}",
        f"Number of subscribers:{subscribers}",
        "Roundtrip Mode: NONE",
        "",
        "---EXPERIMENT-START---",
    ]


def text_2020(seconds: list[Second], **of: int) -> str:
    """Return the tab-separated text: rates cut to whole numbers, and as interval the T_loop of the
    row before."""
    lines = [*header(**of), ",\t".join(c.replace("_(", " (") for c in COLUMNS_2020) + ",\t"]
    time = 0.0
    for i, s in enumerate(seconds):
        time += s.length_s
        interval = seconds[max(0, i - 1)].length_s
        cells = _cells(time, s, int(s.received / interval), int(s.received * SIZE / interval))
        lines.append(",\t\t".join([*cells, *LOOPS.split(), *RESOURCES.split()]) + ",\t\t")
    return "\n".join(lines) + "\n"


def _cells(time: float, s: Second, received: int, data: int) -> list[str]:
    latency = ["inf", "-inf", "0", "-nan"]
    if s.latency_ms is not None:
        latency = [f"{s.latency_ms:.4g}"] * 3 + ["1e-06"]
    return [
        *(f"{time:.6f}", f"{s.length_s:.6f}", str(received), "0", "0", "-nan", str(data)),
        *latency,
    ]


def csv_new(seconds: list[Second]) -> str:
    """Return the CSV of later versions: counts, no trailing separator, no loop reserve."""
    lines = [*header(version="2.3.0"), ",\t".join(c.replace("_(", " (") for c in COLUMNS_NEW)]
    time = 0.0
    for s in seconds:
        time += s.length_s
        cells = _cells(time, s, s.received, s.received * SIZE)
        lines.append(",\t\t".join([*cells, *RESOURCES.split()]))
    return "\n".join(lines) + "\n"


def as_json(seconds: list[Second]) -> str:
    """Return the JSON: nanoseconds, latencies in seconds, 0 for what is not finite."""
    rows, time = [], 0.0
    for s in seconds:
        time += s.length_s
        latency = (s.latency_ms or 0.0) / 1e3
        rows.append(
            {
                "experiment_start": round(time * 1e9),
                "loop_start": round(s.length_s * 1e9),
                "num_samples_received": s.received,
                "num_samples_sent": 0,
                "num_samples_lost": 0,
                "total_data_received": s.received * SIZE,
                "latency_min": latency,
                "latency_max": latency,
                "latency_n": s.received,
                "latency_mean": latency,
                "latency_M2": 0.0,
                "latency_variance": 1e-9,
                "sys_tracker_ru_maxrss": 19408,
                "cpu_info_cpu_cores": 4,
                "cpu_info_cpu_usage": 0.1655,
            }
        )
    return json.dumps(json.loads(HEADER_JSON) | {"analysis_results": rows})


HEADER_JSON = (
    '{"id": "0", "perf_test_version": "2.3.0", "com_mean_str": "ROS2", "rmw_implementation": '
    '"rmw_cyclonedds_cpp", "qos_reliability": "RELIABLE", "qos_history_depth": 10, "rate": 30, '
    '"topic_name": "/t", "msg_name": "Array1k", "number_of_publishers": 0, '
    '"number_of_subscribers": 1, "roundtrip_mode": "NONE"}'
)
