"""A capacity search whose arms are formulas: rounds, journal, bundle and report as in a real one,
without a process.

An arm is a server with a service time per message, in the middleware or in the publish call,
besides a constant latency and random loss; its capacity is then known.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console

from rmwbench.analysis.capacity.limit import parse_limit
from rmwbench.bundle import BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.schema import table_from_rows
from rmwbench.campaign import trial_lab
from rmwbench.campaign.capacity.axis import axis, levels
from rmwbench.campaign.capacity.rounds import SearchSource
from rmwbench.campaign.capacity.search_request import (
    SearchArm,
    SearchCells,
    SearchRequest,
    SearchSpace,
    nearest_level,
)
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.campaign.run import Runner
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import TrialEnd
from rmwbench.codes import FailedBy
from rmwbench.lab import machine
from rmwbench.suite.file.load import parse

SUITE = """\
suite: mini
title: a simulated test
timeline: {{warmup_s: 0.2, steady_s: 1.0, drain_s: 0.1}}
arms:
{arms}
workloads:
  - {{name: small, title: small and fast, message: Bytes(100), rate_hz: 200}}
"""
START_NS = 7_000_000_000


@dataclass
class Law:
    """`service_s` per message in the middleware, `call_s` in the publish call; `noise`: standard
    deviation of the logarithm of either from trial to trial; `fails`, `void` and `broken` (by the
    host): trial counts that end so."""

    latency_s: float = 0.0002
    service_s: float = 0.0
    call_s: float = 0.0
    loss: float = 0.0
    noise: float = 0.0
    idle: float = 0.6
    fails: str | None = None
    void: range = field(default_factory=lambda: range(0))
    broken: range = field(default_factory=lambda: range(0))


class Worker:
    middleware = "synthetic"

    @property
    def description(self):
        return {
            "middleware": "synthetic",
            "layer": "floor",
            "version": "0",
            "release_date": "2026-01-01",
        }

    def profile(self, name):
        return {"name": name, "format": "", "text": ""}


class Lab(trial_lab.Lab):
    """Runs trials by formula; `orders` are those that were asked for."""

    def __init__(self, laws: dict[str, Law], seed: int = 1):
        super().__init__()
        self.laws, self.orders = laws, []
        self._rng = np.random.default_rng(seed)
        self._count: dict[str, int] = {}

    def start(self, machine, name, order, workers):
        self._next = order, workers

    def wait(self, signals):
        order, _ = self._next
        self._next = None
        result = self._run(order)
        return [TrialEnd("", order, result.status, result.reason, result.cause, result)]

    def _run(self, order: Order) -> TrialResult:
        name = order.cell.arm.name
        law = self.laws[name]
        self.orders.append(order)
        number = self._count[name] = self._count.get(name, 0) + 1
        status, reason, cause, by = "done", None, None, None
        if law.fails:
            status, reason = "failed", law.fails
        elif number in law.void:
            status, reason, cause = "void", "machine: a simulated mood", "machine"
        elif number in law.broken:
            status, reason, by = "failed", "no room for a host", FailedBy.HOST
        tables = self._tables(order, law, status, reason)
        return TrialResult(order, status, reason, tables, {}, {}, cause, failed_by=by)

    def _tables(self, order, law, status, reason):
        cell, trial = order.cell, order.trial
        writer = next(e for e in cell.endpoints if e.kind == "publisher")
        reader = next(e for e in cell.endpoints if e.kind == "subscription")
        period_ns = writer.arrival.period_ns
        warmup_ns, end_ns = cell.timeline.warmup_ns, cell.timeline.end_ns
        row = {
            "trial": trial,
            "cell": cell.number,
            "block": order.block,
            "position": order.position,
            "status": status,
            "reason": reason,
            "seed": order.seed,
            "nonce": "00",
            "duration_ns": end_ns,
            "start_ns": START_NS,
            "steady_begin_ns": START_NS + warmup_ns,
            "steady_end_ns": START_NS + end_ns,
        }
        endpoints = [
            {
                "trial": trial,
                "endpoint": e.endpoint,
                "kind": e.kind,
                "node": e.node,
                "process": e.process,
                "topic": e.topic,
                "payload_bytes": e.type.payload_bytes,
                "asked": "{}",
                "granted": "{}",
            }
            for e in cell.endpoints
        ]
        probes = [
            {"trial": trial, "probe": "idle", "unit": "fraction", "at": "window", "value": law.idle}
        ]
        tables = {
            "trials": table_from_rows("trials", [row]),
            "endpoints": table_from_rows("endpoints", endpoints),
            "probes": table_from_rows("probes", probes),
        }
        if status == "failed":
            return tables
        due = np.arange(0, end_ns, period_ns, dtype=np.int64)
        factor = math.exp(self._rng.normal(0, law.noise)) if law.noise else 1.0
        call = _served(due, law.call_s * factor * 1e9)
        sent_by_ns = end_ns + round(cell.timeline.grace_s * 1e9)
        attempted = call <= sent_by_ns
        taken = _served(call, law.service_s * factor * 1e9) + law.latency_s * 1e9
        lost = self._rng.random(len(due)) < law.loss
        absolute = lambda ns: (START_NS + ns).astype(np.int64)  # noqa: E731
        n = len(due)
        flags = np.where(due < warmup_ns, 4, 0).astype(np.uint32)
        called_ns = np.ma.masked_array(absolute(call), mask=~attempted)
        sent = {
            "trial": np.full(n, trial, np.uint32),
            "endpoint": np.full(n, writer.endpoint, np.uint32),
            "seq": np.arange(n, dtype=np.uint64),
            "intended_ns": absolute(due),
            **dict.fromkeys(("begun_ns", "call_ns", "return_ns"), called_ns),
            "bytes": np.full(n, 100, np.uint32),
            "flags": flags,
        }
        came = attempted & ~lost
        m = int(came.sum())
        received = {
            "trial": np.full(m, trial, np.uint32),
            "endpoint": np.full(m, reader.endpoint, np.uint32),
            "writer": np.full(m, writer.endpoint, np.uint32),
            "seq": np.arange(n, dtype=np.uint64)[came],
            **dict.fromkeys(
                ("notified_ns", "taken_ns", "callback_ns", "consumed_ns"), absolute(taken)[came]
            ),
            "intended_ns": absolute(due)[came],
            "bytes": np.full(m, 100, np.uint32),
            "flags": flags[came],
        }
        return tables | {"sent": sent, "received": received}


def _served(begin_ns: np.ndarray, service_ns: float) -> np.ndarray:
    """When each leaves a server that takes `service_ns` for one: max-plus, without a loop."""
    if not service_ns:
        return begin_ns.astype(float)
    k = np.arange(len(begin_ns))
    return np.maximum.accumulate(begin_ns - k * service_ns) + (k + 1) * service_ns


def campaign(
    directory: Path,
    laws: dict[str, Law],
    *,
    limit: str = "p99 response < 5 ms, loss < 1 %",
    least: float = 10.0,
    most: float = 100_000.0,
    resolution: float = 0.05,
    budget_s: float | None = None,
) -> tuple[Runner[SearchSource], Lab]:
    """A search over these arms, ready to run."""
    arms = "\n".join(f"  - {{name: {name}, middleware: synthetic}}" for name in laws)
    text = SUITE.format(arms=arms)
    suite = parse(text, where="mini.yaml")
    workload, along, parsed = suite.workloads[0], axis("rate"), parse_limit(limit)
    all_levels = levels(along, 200.0, resolution, least, most)
    start = nearest_level(all_levels, 200.0)
    request = SearchRequest(
        "mini.yaml", "small", (), limit, "rate", None, None, budget_s, resolution, 1
    )
    cells = SearchCells(suite, workload, along, parsed.messages)
    arms = tuple(SearchArm(arm, all_levels, None) for arm in suite.arms)
    space = SearchSpace(request, parsed, along, cells, all_levels, start, arms)
    plan = make_plan(
        suite, [cells.cell(a, start, n) for n, a in enumerate(suite.arms, start=1)], seed=1
    )
    card = MachineDocument.model_validate(machine.describe())
    document = {
        "campaign": directory.name,
        "kind": "capacity",
        "capacity": space.document(),
        "machine": card.document(),
        "seed": 1,
        "created_utc": "2026-01-01T00:00:00Z",
        "suite": {"name": "mini"},
        "plan": {},
        "tool_version": "0",
    }
    writer = BundleWriter.create(directory, document)
    lab, workers = Lab(laws), {"synthetic": Worker()}
    source = SearchSource(directory.name, space, plan, writer, workers, lab.kernels())
    return Runner(source, lab, workers, writer, card), lab


QUIET = Console(quiet=True)
