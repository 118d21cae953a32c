"""The report on an arm of a campaign, and beside it the truth, from sources that share no code.

The show document is the report. The records are read here once more, by separate code. The truth
comes from the worker's `--truth` for the settings of the grid, and from the worker's own counters
while it ran (`own.…`).

The values that the synthetic worker's settings promise are computed here a second time, from the
formulas of its documentation: the worker draws, and this module has the limits of such draws, so
that a mistake in either shows.
"""

import json
import math
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from rmwbench.bundle import Bundle
from rmwbench.codes import CORRUPT, FOREIGN, LATE, WARMUP


def setting_value(value: Any) -> Any:
    """Return the object for `--truth` of a suite's `KIND key=number …`, or the value itself."""
    if not isinstance(value, str) or "=" not in value:
        return value
    words = [word.partition("=") for word in value.split()]
    return {name if eq else "kind": _number(text) if eq else name for name, eq, text in words}


def _number(text: str) -> float:
    return float(text) if "." in text or "e" in text else int(text)


def quantile_ns(law: Mapping[str, Any], q: float) -> float:
    """Return quantile q of a latency law in ns. Raises ValueError for an unknown law."""
    match law["kind"]:
        case "constant":
            return float(law["ns"])
        case "uniform":
            return float(law["min_ns"] + q * (law["max_ns"] - law["min_ns"]))
        case "normal":
            return float(law["mean_ns"] + law["sd_ns"] * float(special.ndtri(q)))
        case "lognormal":
            return float(law["median_ns"] * math.exp(law["sigma"] * float(special.ndtri(q))))
        case "exponential":
            offset_ns = law.get("offset_ns", 0)
            return float(offset_ns - (law["mean_ns"] - offset_ns) * math.log1p(-q))
        case "pareto":
            return float(law["min_ns"] * (1 - q) ** (-1 / law["alpha"]))
        case "bimodal":
            return float(law["fast_ns"] if q <= 1 - law["slow_p"] else law["slow_ns"])
    raise ValueError(f"no formula for the law {law['kind']}")


def loss_rate(loss: Mapping[str, Any]) -> float:
    """Return the fraction of messages that a loss model loses in the long run. Raises ValueError
    for an unknown model."""
    match loss["kind"]:
        case "bernoulli":
            return float(loss["p"])
        case "burst":
            return float(loss["p"] / (loss["p"] + loss["r"]))
    raise ValueError(f"no formula for the loss {loss['kind']}")


NOT_FOR_THE_WORKER = ("path",)
TRUTH_TIMEOUT_S = 30
FEWEST_TRIALS = 2


class Untestable(Exception):
    """The machine spoilt too many trials for a check."""


class TrialLost(Exception):
    """A trial was lost, and not because of the machine: the check has failed."""


@dataclass(frozen=True)
class WriterFates:
    """The fates of a writer's messages, by sequence number from the first steady one: arrays of
    shape (n,)."""

    lost: np.ndarray
    duplicated: np.ndarray
    reordered: np.ndarray
    corrupt: np.ndarray
    latency_ns: np.ndarray

    @property
    def sound(self) -> np.ndarray:
        """Whether a whole copy arrives."""
        return np.asarray(~self.lost & ~self.corrupt)


@dataclass(frozen=True)
class SyntheticTrial:
    """A done trial of an arm with one writer and one reader. Arrays of shape (n,) by steady
    sequence number; times in ns, NaN if absent. `first_sound_ns` is the time of the first whole
    copy, `first_any_ns` of the first copy; `own` has the worker's counters of the reader."""

    trial: int
    block: int
    intended_ns: np.ndarray
    call_ns: np.ndarray
    return_ns: np.ndarray
    first_sound_ns: np.ndarray
    first_any_ns: np.ndarray
    sent_rows: int
    arrivals: Sequence[tuple[int, float]]
    """(sequence number from the first steady one, taken_ns) of all sound arrivals, in their
    order."""
    own: Mapping[str, float]
    probes_ns: float
    fates: WriterFates


class SyntheticCampaign:
    """A finished campaign of the synthetic worker with its show document."""

    def __init__(self, bundle: Bundle, document: Mapping[str, Any], worker: Path):
        self.bundle, self.document, self._worker = bundle, document, worker

    def arm(self, workload: str, name: str) -> dict[str, Any]:
        """Return the arm's entry in the show document. Raises KeyError if there is none."""
        for shown_workload in self.document["workloads"]:
            arms: list[dict[str, Any]] = shown_workload["arms"]
            for arm in arms:
                if (shown_workload["workload"], arm["arm"]) == (workload, name):
                    return arm
        raise KeyError(f"{workload}: {name}")

    def metric(self, workload: str, name: str, metric: str) -> dict[str, Any]:
        return self.arm(workload, name)["metrics"].get(metric) or {
            "no_data": "the report has no such metric"
        }

    def per_trial(self, workload: str, name: str, metric: str) -> dict[int, float]:
        """Return trial → value, with the document's word for infinity as a number."""
        values = self.arm(workload, name)["per_trial"].get(metric, [])
        return {item["trial"]: float(item["value"]) for item in values}

    def per_block(self, workload: str, name: str, metric: str) -> dict[int, float]:
        values = self.arm(workload, name)["per_trial"].get(metric, [])
        return {item["block"]: float(item["value"]) for item in values}

    def trial_lines(self, workload: str, name: str) -> list[Any]:
        cell = self.arm(workload, name)["cell"]
        return [line for line in self.bundle.trials() if line.cell == cell]

    def done_lines(self, workload: str, name: str) -> list[Any]:
        """Return the journal's lines of the arm's done trials. Raises Untestable if the machine
        left fewer than FEWEST_TRIALS, TrialLost if a trial was lost for another reason."""
        lines = self.trial_lines(workload, name)
        for line in lines:
            if line.status in ("failed", "void") and line.cause != "machine":
                raise TrialLost(
                    f"trial {line.trial} {line.status}: {(line.reason or '').splitlines()[0]}"
                )
        done = [line for line in lines if line.status == "done"]
        if len(done) < FEWEST_TRIALS:
            void = len(lines) - len(done)
            raise Untestable(
                f"the machine spoilt {void} of {len(lines)} trials; {FEWEST_TRIALS} good ones are "
                "needed"
            )
        return done

    def trials(self, workload: str, name: str, options: Mapping[str, Any]) -> list[SyntheticTrial]:
        """Return the arm's done trials with their truth for the settings `options`."""
        settings = {
            key: setting_value(value)
            for key, value in options.items()
            if key not in NOT_FOR_THE_WORKER
        }
        return [
            self._trial(line.trial, line.block, settings)
            for line in self.done_lines(workload, name)
        ]

    @cached_property
    def _nonces(self) -> dict[int, str]:
        return {row["trial"]: row["nonce"] for row in self.bundle.rows("trials")}

    def _trial(self, trial: int, block: int, settings: Mapping[str, Any]) -> SyntheticTrial:
        sent = sorted(self.bundle.rows("sent", trial), key=lambda row: row["seq"])
        steady = [row for row in sent if not row["flags"] & WARMUP]
        first, writer = steady[0]["seq"], steady[0]["endpoint"]
        n = len(steady)
        # Counted from the trial's own start, times in double precision are exact.
        base = steady[0]["intended_ns"]

        def column(name: str) -> np.ndarray:
            return np.array([np.nan if row[name] is None else row[name] - base for row in steady])

        sound, first_any = np.full(n, np.nan), np.full(n, np.nan)
        arrivals = []
        for row in sorted(self.bundle.rows("received", trial), key=lambda row: row["taken_ns"]):
            index, taken_ns = row["seq"] - first, row["taken_ns"] - base
            if row["flags"] & FOREIGN or row["writer"] != writer or index >= n:
                continue
            if not row["flags"] & (CORRUPT | LATE):
                arrivals.append((index, taken_ns))
            if index >= 0:
                if np.isnan(first_any[index]):
                    first_any[index] = taken_ns
                if not row["flags"] & (CORRUPT | LATE) and np.isnan(sound[index]):
                    sound[index] = taken_ns
        own_counters: dict[str, float] = defaultdict(float)
        probing_ns = 0.0
        for row in self.bundle.rows("counters", trial):
            if row["counter"].startswith("own."):
                own_counters[row["counter"].removeprefix("own.")] += row["value"]
            elif row["counter"] == "step.first_message":
                probing_ns = row["value"]
        return SyntheticTrial(
            trial, block, column("intended_ns"), column("call_ns"), column("return_ns"), sound, first_any, len(sent),
            arrivals, own_counters, probing_ns, self._fates(settings, writer, first, n, self._nonces[trial]),
        )  # fmt: skip

    def _fates(
        self, settings: Mapping[str, Any], writer: int, first: int, n: int, nonce: str
    ) -> WriterFates:
        lines = _truth(self._worker, json.dumps(settings), writer, first + n, nonce)[first:]
        lost, duplicated, reordered = (
            np.array([line[name] for line in lines]) for name in ("lost", "duplicated", "reordered")
        )
        return WriterFates(
            lost=lost,
            duplicated=duplicated,
            reordered=reordered,
            corrupt=np.array([line["corrupt"] is not None for line in lines]),
            latency_ns=np.array([line["latency_ns"] or 0 for line in lines], float),
        )


@cache
def _truth(
    worker: Path, settings: str, writer: int, count: int, nonce: str
) -> list[dict[str, Any]]:
    """Return the worker's `--truth` lines for the first `count` messages. They are cached for the
    several truths of an arm."""
    command: list[str | Path] = [worker, "--truth", settings, str(writer), str(count), nonce]
    completed = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=TRUTH_TIMEOUT_S
    )
    return [json.loads(line) for line in completed.stdout.splitlines()]
