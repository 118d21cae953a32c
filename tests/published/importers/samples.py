"""A small valid source of every kind, invented: name of file → text. Nothing in them was ever
measured."""

import json
from collections.abc import Mapping
from pathlib import Path

from rmwbench.published.importers.formats import (
    build_farm,
    cyclonedds_2021,
    eprosima_2019,
    github_csv,
    gscam,
    irobot,
    mininet,
    survey,
)
from tests.published.importers.logs import Second, as_json, csv_new, text_2020

SECONDS = [Second(30), Second(29, 0.7, 1.05), Second(0, None), Second(31)]


def put(directory: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files below the directory, which is made."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return directory


def csv(columns, *rows) -> str:
    return "\n".join(",".join(map(str, row)) for row in (columns, *rows)) + "\n"


VALUES = [f"{0.5 + i}" for i in range(30)]


def _build_farm(rmw: str) -> dict[str, str]:
    node = ("", "vendor", "config", "file_name", *build_farm._NODE)
    pubsub = ("", "file_name", "data_type", "flavor", "vendor", *build_farm._PUBSUB)
    beside = ("", "file_name", "to_rmw_flavor", "to_rmw", "from_rmw_flavor", "from_rmw")
    interop = (*beside, *build_farm._INTEROP)
    one, two = "performance_test_results", "performance_test_two_process_results"
    return {
        "node_perf.csv": csv(
            node, [0, "ps", "cpp_syn", f"./overhead_node_test_results_{rmw}_sync.csv", *VALUES[:12]]
        ),
        "perf.csv": csv(
            pubsub,
            *(
                [0, f"./{p}_{rmw}_sync_Array1k.csv", "Array1k", "s", "v", *VALUES[:13]]
                for p in (one, two)
            ),
        ),
        "pub_perf.csv": csv(
            interop,
            [0, f"./overhead_test_results_{rmw}_sync_{rmw}_ROS2_pub.csv", *[""] * 4, *VALUES[:21]],
        ),
    }


def _raw_2021() -> dict[str, str]:
    rmw = "rmw_connextdds"
    return {
        f"raw/overhead_node_test_results_{rmw}_sync.csv": csv([rmw] * 12, VALUES[:12]),
        f"raw/performance_test_results_{rmw}_sync_Array1k.csv": csv(
            [f"{rmw}_Array1k"] * 13, VALUES[:13]
        ),
        f"raw/overhead_test_results_{rmw}_sync_{rmw}_ROS2_sub.csv": csv(
            [f"Publisher-{rmw}_Subscriber-{rmw}"] * 21, VALUES[:21]
        ),
    }


CONFIG = """{
    "rmw_implementation": "rmw_cyclonedds_cpp",
    "async_pub": "sync",
    "bandwidth": 54,
    "loss": 10,
    "delay": 0,
    "message_rate": 30,
    "message_type": "Array1k",
    "reliability": "reliable",
    "durability": "volatile",
    "history_kind": "keep_last",
    "history_depth": 10
}"""


def _mininet() -> dict[str, str]:
    sent = text_2020([Second(30)] * 4, publishers=1, subscribers=0).replace(
        ",\t\t30,\t\t0,\t\t0", ",\t\t0,\t\t29,\t\t0"
    )
    files = {}
    for run in ("run01", "run02"):
        files |= {f"x/cell/{run}/experiment_config.json": CONFIG, f"x/cell/{run}/pub_log": sent}
        files[f"x/cell/{run}/sub_log"] = text_2020(SECONDS)
    # Two runs never have the same log.
    for end in ("pub_log", "sub_log"):
        files[f"x/cell/run02/{end}"] = files[f"x/cell/run02/{end}"].replace(
            "Experiment id: 0", "Experiment id: 1"
        )
    return files


def _mininet_summary() -> dict[str, str]:
    values = dict.fromkeys(mininet.SUMMARY, "1.5") | json.loads(CONFIG)
    values |= {"rmw_implementation": "rmw_fastrtps_cpp", "async_pub": "async"}
    values |= {"run": "run01", "experiment": "x", "json_fname": "y"}
    rows = [values, values | {"run": "run02"}, values | {"async_pub": "sync"}]
    return {
        "MininetResults.csv": csv(
            ["", *mininet.SUMMARY],
            *([i, *(r[c] for c in mininet.SUMMARY)] for i, r in enumerate(rows)),
        )
    }


def _wifi() -> dict[str, str]:
    def log(**of: int) -> str:
        text = text_2020(SECONDS, rate=80, **of).replace("Array1k", "Array60k")
        return text.replace(
            "Roundtrip Mode: NONE", "Roundtrip Mode: NONE\nIgnore seconds from beginning: 1"
        )

    return {"c-p-80-1.txt": log(publishers=1, subscribers=0), "c-s-80-1.txt": log()}


def _github() -> dict[str, str]:
    api = "https://api.github.com/repos/a/b"
    first, closed = "2020-10-01 10:00:00", "2020-10-01 11:00:00"
    pull = f'0,closed,{first},,3600.0,2,7,"one, two",{api}/pulls/7,{closed}'
    opened = f"1,open,2020-10-02 10:00:00,,,2,8,three,{api}/pulls/8,"
    issue = f"0,,{first},[],1,7,closed,one,{api}/issues/7,,0,3600.0"
    true = f"1,,2020-10-03 10:00:00,[],2,9,open,four,{api}/issues/9,,0,"
    return {
        "b_pr.csv": csv(github_csv.PULLS, [pull], [opened]),
        "b_issue.csv": csv(github_csv.ISSUES, [issue], [true]),
        "b_commit.csv": csv(github_csv.COMMITS, [0, "2020-10-01 10:00:00", "x", "abc", 3, "y"]),
    }


def _survey() -> dict[str, str]:
    header = [
        "Timestamp",
        *(f'"… {words} …?"' for words in survey.PROFILE.values()),
        *(f"Please. [Question {n}.]" for n in range(6)),
    ]
    profile = "t,Foxy,one robot,research,7,2.5,4,5,Yes"
    fast = survey.GROUPS["Fast"]
    rows = [
        f"{profile},ADLink CycloneDDS,Agree,Strongly Agree,Neutral,Disagree,Strongly Disagree,",
        f"{profile},{fast},Strongly Agree,Agree,Agree,Neutral,{survey.NO_OPINION},Agree",
        f"{profile},{fast},Disagree,Agree,Agree,Neutral,Neutral,Agree",
    ]
    return {"survey.csv": csv(header, *([row] for row in rows))}


def _cyclonedds() -> dict[str, str]:
    def row(rmw, values, compared, rate=20):
        test = f"Ubuntu,MultiProcess,Array16k,{rate},1,False,True,False"
        return [rmw, test, *values, *compared]

    a, b = ([475, 0, 0, 8198958, 0.06, 0.4, x, 1e-7, x, 20 * x] for x in (0.1, 0.2))
    ratio = [0.2 / (0.1 + 1e-6), 4.0 / (2.0 + 1e-6)]
    compared = ["CYCLONE", ratio[0], "CYCLONE", ratio[1], "CYCLONE", ratio[0], "CYCLONE", 1.0]
    rows = [row(cyclonedds_2021.RMW[0], a, compared), row(cyclonedds_2021.RMW[1], b, [" "] * 8)]
    failed = [
        row(cyclonedds_2021.RMW[0], a, ["CYCLONE BYDEF", 0] * 4, 100),
        row(cyclonedds_2021.RMW[1], ["FAIL"] * 10, [" "] * 8, 100),
    ]
    return {
        "ubuntu-limited.csv": csv(cyclonedds_2021.COLUMNS, *rows, *failed, ["-"] * 27, [" "] * 27)
    }


def _gscam() -> dict[str, str]:
    def second(n, rate):
        shape = f"2025-10-22_14-01-{n:02d},640,480,15"
        return [shape, rate * 921600, rate, 100 * (15 - rate) / 15, 0.7, 0.5, 1.5]

    summary = ["zenoh,low,640x480,15,13.1,0.0,6.67,0.7,0.5,14.5,60,2025-10-22_14-01-17"]
    return {
        "run/summary.csv": csv(gscam.SUMMARY, summary),
        "run/zenoh/low_2025-10-22_14-01-17.csv": csv(gscam.SECOND, second(18, 14), second(19, 15)),
        "run/findings.txt": "free words\n",
    }


HOP_CHAIN = """benchmark_metadata:
  session_name: "invented"
  parameters:
    num_runs: 2
    node_count: 5
    measurement_count: 60
    sensors: ["imu", "camera"]
    middlewares: ["rmw_zenoh_cpp", "rmw_connextdds"]
  software_versions:
    ros_distro: "lyrical"
    rmw_zenoh_cpp: "0.10.6"
"""


def _hop_chain() -> dict[str, str]:
    """Return two sessions of two runs; the camera has no Connext."""
    files = {f"{session}/metadata.yaml": HOP_CHAIN for session in ("s1", "s2")}
    for n, session in enumerate(("s1", "s2")):
        for sensor, rmw, ns in (
            ("imu", "rmw_zenoh_cpp", 2_400_000),
            ("imu", "rmw_connextdds", 1_800_000),
            ("camera", "rmw_zenoh_cpp", 96_000_000),
        ):
            for run in (1, 2):
                values = [ns * 3] * 50 + [ns + 1000 * (2 * n + run)] * 9 + [ns * 4]
                name = f"{session}/{sensor}_cpp_results_{rmw}_nr_{run}.txt"
                files[name] = "".join(f"{value}\n" for value in values)
    return files


def _eprosima() -> dict[str, str]:
    grid = (*eprosima_2019.DEMAND, *eprosima_2019.RECEIVED)
    rows = [
        [16, 100, 0, 0, 218760.80, 28.00],
        [16, 200, 0, 0, 227900.20, 29.20],
        [32, 100, 0, 0, 1000, 0.3],
    ]
    place = "throughput/localhost/cyclonedds"
    full = (
        "Bytes,Samples,stdev,mean,min,50%,90%,99%,99,99%,max\n"
        "16,100000,1,7,7,7,04,7,37,7,59,13,82,27,49,105,69"
    )
    return {
        "latency/localhost/fastrtps/results.csv": full,
        "latency/localhost/opensplice/results.csv": "Bytes,Samples,mean,min\n16,100000,27,5,26,5\n"
        "32,100000,27,26,5\n",
        "latency/localhost/cyclonedds/results.csv": "Bytes,Samples,mean,min,99%,max\n"
        "16,100000,11,10,35,152\n",
        "latency/intraprocess/cyclonedds/summary.csv": csv(
            eprosima_2019.SUMMARY, [16, 10000, 9, 1, 3, 2, 0.5, 0.1, 4, 5, 6, 7]
        ),
        f"{place}/results_all_x": csv(grid, *rows),
        f"{place}/results_max_x": csv(grid, rows[1], rows[2]),
    }


def _irobot() -> dict[str, str]:
    def words(columns, *rows):
        return "\n".join("  ".join(map(str, row)) for row in (columns, *rows)) + "\n"

    subscription = ["lyon", "amazon", 36, 600, 1, 0, 0, 152, 43, 52, 2124, 10, 60]
    return {
        "fastrtps/mont/latency_all.txt": words(
            irobot.ALL, subscription, ["oslo", "po", 8, 300, 0, 0, 0, 99, 9, 5, 300, 5, 60]
        ),
        "fastrtps/mont/latency_total.txt": words(irobot.TOTAL, [900, 134, 1, 0.1111, 0, 0, 0, 0]),
        "fastrtps/mont/resources.txt": words(
            irobot.RESOURCES, [0] * 7, [500, 29, 8740, 8579, 148412, 19500, 697864]
        ),
        "fastrtps/mont/events.txt": words(
            irobot.EVENTS,
            [90, "SYSTEM", 0, "[discovery] EDP completed"],
            [93, "a->b", 1, "msg 0 late. 2216us > 2000us"],
        ),
    }


DDSPERF_SUB = """\
[32662] participant vm:32662: new (self)
[32662] participant vm:32667: new
[32662] 1.000  size 1024 total 998 lost 0 delta 998 lost 0 rate 1.00 kS/s 8.17 Mb/s (0.10 kS/s 0.82 Mb/s)
[32662] 1.000  rss:7.4MB vcsw:1007 ivcsw:96 recvUC:1%+1%
[32662] 2.000  size 1024 total 1999 lost 2 delta 1001 lost 2 rate 1.00 kS/s 8.20 Mb/s (0.20 kS/s 1.64 Mb/s)
[32662] 2.000  discarded 0 rexmit 0 Trexmit 0 Tthrottle 0 Nthrottle 0
[32662] 2.000  lo: xmit 8.20 Mb/s recv 8.20 Mb/s [2098765 2098765]
[32662] participant vm:32667: gone
"""
"""The output of ddsperf 0.10 on a loopback (discarded and lo from its other options), shortened."""
DDSPERF_PUB = """\
[32667] participant vm:32667: new (self)
[32667] participant vm:32662: new
[32667] 1.000 1.01k/s   0n |_=____-X@x-__________.._.._.._|   0%  57u
[32667] 1.000  vm:32662 size 1024 mean 59.157us min 34.366us 50% 57.195us 90% 87.169us 99% 87.169us max 87.169us cnt 9
[32667] 1.000  rss:7.8MB vcsw:1013 ivcsw:75 pub:1%+2%
[32667] 2.000    1k/s   0n |.=_.___=@@=-__. ...   _.__._. |   0%  95u
[32667] 2.000  vm:32662 size 1024 mean 72.348us min 35.978us 50% 40.190us 90% 99.049us 99% 99.049us max 99.049us cnt 110
[32667] 2.000  (stale) @vm:32662 rss:812kB vcsw:975 ivcsw:36
[32667] 3.000   999/s  12u |_=_.-==x@@=__... _ . _____..  |   0%   2m
"""

SAMPLES: dict[str, tuple[str, dict[str, str]]] = {
    "tsc-2020-build-farm": ("tsc-2020-build-farm", _build_farm("rmw_connext_cpp")),
    "tsc-2021-build-farm": ("tsc-2021-build-farm", _build_farm("rmw_connextdds")),
    "tsc-2021-build-farm raw": ("tsc-2021-build-farm", _raw_2021()),
    "tsc-2020-mininet": ("tsc-2020-mininet", _mininet()),
    "tsc-2020-mininet summary": ("tsc-2020-mininet", _mininet_summary()),
    "tsc-2020-wifi": ("tsc-2020-wifi", _wifi()),
    "github-csv": ("github-csv", _github()),
    "survey": ("survey", _survey()),
    "cyclonedds-2021": ("cyclonedds-2021", _cyclonedds()),
    "gscam": ("gscam", _gscam()),
    "hop-chain-2026": ("hop-chain-2026", _hop_chain()),
    "eprosima-2019": ("eprosima-2019", _eprosima()),
    "irobot": ("irobot", _irobot()),
    "ddsperf": ("ddsperf", {"sub.txt": DDSPERF_SUB, "pub.txt": DDSPERF_PUB}),
    "perf-test": (
        "perf-test",
        {"a.txt": text_2020(SECONDS), "b.csv": csv_new(SECONDS), "c.json": as_json(SECONDS)},
    ),
}
"""Name → (kind, its files)."""
