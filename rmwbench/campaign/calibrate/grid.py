"""The grid of truths: the injected settings, as arms of an ordinary suite.

The settings stand here and nowhere else. The suite is written from them, and the content of the
report is predicted from them, so a campaign that ran anything else contradicts its truth.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Options = Mapping[str, str | int | float | bool]


@dataclass(frozen=True)
class GridArm:
    """An arm of one workload; `more` are further keys of the suite's arm."""

    name: str
    options: Options = field(default_factory=dict)
    middleware: str = "synthetic"
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GridWorkload:
    """A workload with its own arms, which are compared."""

    name: str
    title: str
    arms: tuple[GridArm, ...]
    settings: Mapping[str, Any]


PLAIN = GridArm("plain")
BLOCK_NS = 500_000

# Variable latencies need `fifo: false`: then a slow message does not delay the next one, and the
# law holds at any rate.
_QUICK = (
    PLAIN,
    GridArm("constant", {"latency": "constant ns=2000000"}),
    GridArm("lognormal", {"latency": "lognormal median_ns=2000000 sigma=0.5", "fifo": False}),
    GridArm(
        "bimodal", {"latency": "bimodal fast_ns=1000000 slow_ns=6000000 slow_p=0.25", "fifo": False}
    ),
    GridArm("bernoulli", {"loss": "bernoulli p=0.1"}),
    GridArm("burst", {"loss": "burst p=0.05 r=0.3"}),
    GridArm("duplicate", {"duplicate": 0.1}),
    GridArm("reorder", {"reorder": "p=0.05 by_ns=21000000"}),
    GridArm("corrupt", {"corrupt": 0.1}),
    GridArm("blocking", {"publish_block_ns": BLOCK_NS, "spin_ns": BLOCK_NS}),
    GridArm("burning", {"cpu_burn_ns": "publisher=300000 reader=200000"}),
    GridArm("growing", {"memory_growth_bytes": "publisher=65536 reader=32768"}),
    GridArm(
        "everything",
        {
            "latency": "uniform min_ns=500000 max_ns=3000000",
            "loss": "burst p=0.02 r=0.25",
            "duplicate": 0.1,
            "corrupt": 0.1,
            "fifo": False,
            "seed": 4,
        },
    ),
)
_FULL = (
    *_QUICK,
    GridArm("uniform", {"latency": "uniform min_ns=1000000 max_ns=3000000", "fifo": False}),
    GridArm("normal", {"latency": "normal mean_ns=4000000 sd_ns=1000000", "fifo": False}),
    GridArm(
        "exponential", {"latency": "exponential offset_ns=500000 mean_ns=2000000", "fifo": False}
    ),
    GridArm("short", {"latency": "lognormal median_ns=300000 sigma=0.3", "fifo": False}),
    GridArm("rare loss", {"loss": "bernoulli p=0.01"}),
    GridArm("long bursts", {"loss": "burst p=0.01 r=0.1"}),
    GridArm(
        "over tcp",
        {"transport": "tcp", "latency": "constant ns=2000000", "loss": "bernoulli p=0.05"},
    ),
    GridArm("over unix", {"transport": "unix", "duplicate": 0.05, "corrupt": 0.05}),
    GridArm("burning publisher", {"cpu_burn_ns": "publisher=500000"}),
)

# A heavy tail needs a longer drain than a quarter of a second: with this one, one message in some
# hundred campaigns is late.
_TAIL = (GridArm("pareto", {"latency": "pareto min_ns=1000000 alpha=1.5", "fifo": False}),)
_TAILS = (
    *_TAIL,
    GridArm("heavier tail", {"latency": "pareto min_ns=200000 alpha=1.2", "fifo": False}),
)
TAIL_DRAIN_S = 10.0

# These latencies are long against the lateness of a busy machine, so that a verdict is about the
# arms.
_TWENTY_MS: dict[str, str | int | float | bool] = {
    "latency": "lognormal median_ns=20000000 sigma=0.3",
    "fifo": False,
}
_THIRTY_MS: dict[str, str | int | float | bool] = {
    "latency": "lognormal median_ns=30000000 sigma=0.3",
    "fifo": False,
}
RATIO = 1.5
"""The ratio of the medians of the two laws above."""

_PATHS = (
    GridArm("honest memory", {"transport": "shm_ring", "path": "shm"}),
    GridArm("memory called udp", {"transport": "shm_ring", "lying_path": "udp", "path": "udp"}),
    GridArm("tcp called memory", {"transport": "tcp", "lying_path": "shm", "path": "shm"}),
)


def truths(*, quick: bool) -> tuple[GridWorkload, ...]:
    """Return the workloads whose truth is known, in the order of their judgement."""
    stream = {"message": "Bytes(256)", "rate_hz": 500}
    spans = {"steady_s": 0.4} if quick else {"steady_s": 1.2}
    return (
        GridWorkload(
            "stream",
            "injections into messages",
            _QUICK if quick else _FULL,
            stream | {"timeline": spans},
        ),
        GridWorkload(
            "tail",
            "a heavy tail, and the time to wait for it",
            _TAIL if quick else _TAILS,
            stream | {"timeline": spans | {"drain_s": TAIL_DRAIN_S}},
        ),
        GridWorkload(
            "twins",
            "two arms that are alike",
            (GridArm("20 ms", _TWENTY_MS), GridArm("20 ms again", _TWENTY_MS | {"seed": 2})),
            stream | {"timeline": spans},
        ),
        GridWorkload(
            "apart",
            "two arms, one 1.5 times as slow",
            (
                GridArm("20 ms of two", _TWENTY_MS),
                GridArm("30 ms of two", _THIRTY_MS | {"seed": 2}),
            ),
            stream | {"timeline": spans},
        ),
        GridWorkload(
            "path",
            "honest and lying about the path",
            _PATHS,
            {"message": "Bytes(20000)", "rate_hz": 200, "timeline": {"steady_s": 0.2}},
        ),
        *(_nothing(size, rate_hz) for size, rate_hz in NOTHING.items()),
    )


NOTHING = {64: 1000, 1_000_000: 100, 6_220_800: 60}
"""Bytes of a message → rate in Hz. Writing and reading cost the same for every byte of a payload,
so the costs of other sizes follow from these three."""


def of_nothing(size: int) -> tuple[str, str]:
    """Return the names of the workload and the arm without a middleware for messages of `size`
    bytes."""
    return ("nothing", "null") if size == min(NOTHING) else (f"nothing_{size}", f"null {size}")


def _nothing(size: int, rate_hz: int) -> GridWorkload:
    name, arm = of_nothing(size)
    return GridWorkload(
        name,
        "no middleware: the cost of the instrument",
        (GridArm(arm, middleware="null", more={"wait": "callback", "role": "contender"}),),
        {
            "message": f"Bytes({size})",
            "rate_hz": rate_hz,
            "processes": "one",
            "timeline": {"steady_s": 0.4},
        },
    )


SMALL, LARGE = "small", "large"


def aa_pairs(middlewares: Sequence[str], *, quick: bool) -> tuple[GridWorkload, ...]:
    """Return workloads that compare each middleware with itself under two names, one workload with
    a small and one with a large message.

    The floor competes with itself here, so it is not a reference. Fast DDS is asked for the publish
    mode that it has.
    """
    options = {"floor": {"transport": "shm_ring"}}
    more = {"floor": {"role": "contender"}, "fastdds": {"publish_mode": "sync"}}
    classes = {
        SMALL: {
            "message": "Bytes(320)",
            "rate_hz": 1000,
            "timeline": {"steady_s": 0.25 if quick else 1.1},
        },
        LARGE: {
            "message": "Array1m",
            "rate_hz": 60,
            "timeline": {"steady_s": 0.4 if quick else 1.1},
        },
    }
    return tuple(
        GridWorkload(
            f"{size}_{name}",
            f"{name} against itself, {settings['message']} at {settings['rate_hz']} Hz",
            tuple(
                GridArm(f"{name} {size} {side}", options.get(name, {}), name, more.get(name, {}))
                for side in "AB"
            ),
            settings,
        )
        for name in middlewares
        for size, settings in classes.items()
    )


def blocks(*, quick: bool) -> int:
    """Return the fewest blocks that give verdicts, or twice as many."""
    return 5 if quick else 10


def skewed_workloads() -> tuple[GridWorkload, ...]:
    """Return a workload with one plain arm, whose reader is then started with another clock."""
    settings = {"message": "Bytes(256)", "rate_hz": 500, "timeline": {"steady_s": 0.2}}
    return (GridWorkload("skewed", "a reader whose clock is wrong", (PLAIN,), settings),)


def suite_text(name: str, title: str, workloads: Iterable[GridWorkload], count: int) -> str:
    """Return a suite file of `count` blocks in JSON, which is YAML. Each arm is excluded from the
    workloads of other arms."""
    workloads = list(workloads)
    arms = [(workload.name, arm) for workload in workloads for arm in workload.arms]
    document = {
        "suite": name,
        "title": title,
        "blocks": {"planned": count, "minimum": count},
        "timeline": {"warmup_s": 0.05, "steady_s": 1.0, "drain_s": 0.25, "grace_s": 1.0},
        "arms": [
            {
                "name": arm.name,
                "middleware": arm.middleware,
                "options": dict(arm.options),
                **arm.more,
            }
            for _, arm in arms
        ],
        "workloads": [
            {"name": workload.name, "title": workload.title, **workload.settings}
            for workload in workloads
        ],
        "exclude": [
            {"workload": workload.name, "arm": arm.name}
            for workload in workloads
            for workload_of_arm, arm in arms
            if workload_of_arm != workload.name
        ],
    }
    lines = [f"  {json.dumps(key)}: {_list(value)}" for key, value in document.items()]
    return "# Written by `rmwbench calibrate`.\n{\n" + ",\n".join(lines) + "\n}\n"


def _list(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    return (
        "[\n    " + ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n  ]"
    )
