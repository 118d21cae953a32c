"""A suite of this directory, run by the command line like any other, next to what its arms really
did.

The truth comes from two sources that know nothing of the pipeline: `rmwbench-synthetic --truth`
says beforehand what happens to each message (a pure function of seed, trial, writer and sequence
number), and the worker counts what it did (`own.…`). Here the truth is what was drawn, so what is
proved is the pipeline; that intervals over trials hold the law itself is for `rmwbench calibrate`.
"""

import json
import math
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmwbench.bundle import Bundle
from tests.lab import tools
from tests.support.command import COMMAND
from tests.support.shown import arm_of, show_document

WARMUP = 4
DIGITS = 1e-5
"""Relative: the show document keeps six digits."""


def run(name: str, directory: Path) -> "Proof":
    """Runs the suite of that name into `directory`/NAME; that name and the seed fix every draw of
    the campaign."""
    worker = tools.worker("synthetic")
    suite, out = Path(__file__).with_name(f"{name}.yaml"), directory / name
    command = [*COMMAND, "run", str(suite), "--out", str(out), "--seed", "1", "--no-report"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, env=os.environ)
    assert done.returncode == 0, done.stderr
    return Proof(Bundle(out), worker.executable)


@dataclass(frozen=True)
class Sent:
    """One writer's steady messages in one trial: arrays of shape (n,), by sequence number; times in
    ns, −1 where absent."""

    writer: int
    nonce: str
    seq: np.ndarray
    intended_ns: np.ndarray
    call_ns: np.ndarray


@dataclass(frozen=True)
class Trial:
    """A done trial of an arm. `own` adds the worker's counters over its readers."""

    trial: int
    block: int
    sent: Sent
    first_taken_ns: dict[tuple[int, int], int]
    """(reader, seq) → when the first copy was taken, steady or not."""
    readers: tuple[int, ...]
    own: dict[str, float]


class Proof:
    """A campaign: what it reports, and what was true."""

    def __init__(self, bundle: Bundle, worker: Path):
        self.bundle, self._worker = bundle, worker

    @cached_property
    def document(self) -> dict[str, Any]:
        return show_document(self.bundle)

    def arm(self, name: str, workload: str = "stream") -> dict[str, Any]:
        """The show document's entry."""
        return arm_of(self.document, workload, name)

    def metric(self, metric: str, arm: str, workload: str = "stream") -> dict[str, Any]:
        return self.arm(arm, workload)["metrics"][metric]

    def per_trial(self, metric: str, arm: str, workload: str = "stream") -> dict[int, float]:
        """Trial → value; the document's word for infinity becomes one."""
        return self._values(metric, arm, workload, "trial")

    def per_block(self, metric: str, arm: str, workload: str = "stream") -> dict[int, float]:
        return self._values(metric, arm, workload, "block")

    def _values(self, metric: str, arm: str, workload: str, by: str) -> dict[int, float]:
        values = self.arm(arm, workload)["per_trial"].get(metric, [])
        return {one[by]: float(one["value"]) for one in values}

    def trials(self, arm: str, workload: str = "stream", at_least: int = 1) -> list[Trial]:
        """The arm's done trials. Where the machine alone took so many that fewer are left, the test
        is skipped: then nothing can be said. Any other loss of a trial is a failure."""
        cell = self.arm(arm, workload)["cell"]
        lines = [line for line in self.bundle.trials() if line.cell == cell]
        for line in lines:
            assert line.status in ("done", "settling") or line.cause == "machine", line
        done = [self._trial(line.trial, line.block) for line in lines if line.status == "done"]
        if len(done) < at_least:
            pytest.skip(
                f"{arm}: {len(lines) - len(done)} of {len(lines)} trials are void, "
                f"{lines[0].reason}"
            )
        return done

    def _trial(self, trial: int, block: int) -> Trial:
        rows = self.bundle.rows("sent", trial)
        writer = rows[0]["endpoint"]
        assert all(row["endpoint"] == writer for row in rows), (
            "suites of this directory have one writer"
        )
        steady = sorted(
            (row for row in rows if not row["flags"] & WARMUP), key=lambda row: row["seq"]
        )
        column = lambda name: np.array(  # noqa: E731
            [-1 if row[name] is None else row[name] for row in steady], np.int64
        )
        taken: dict[tuple[int, int], int] = {}
        for row in self.bundle.rows("received", trial):
            if row["taken_ns"] is not None:
                key = row["endpoint"], row["seq"]
                taken[key] = min(row["taken_ns"], taken.get(key, row["taken_ns"]))
        own: dict[str, float] = defaultdict(float)
        for row in self.bundle.rows("counters", trial):
            if row["counter"].startswith("own."):
                own[row["counter"].removeprefix("own.")] += row["value"]
        endpoints = self.bundle.rows("endpoints", trial)
        readers = tuple(row["endpoint"] for row in endpoints if row["kind"] == "subscription")
        (nonce,) = (row["nonce"] for row in self.bundle.rows("trials", trial))
        return Trial(
            trial,
            block,
            Sent(writer, nonce, column("seq"), column("intended_ns"), column("call_ns")),
            taken,
            readers,
            own,
        )

    def truth(self, arm: str, sent: Sent, workload: str = "stream") -> list[dict[str, Any]]:
        """What happens to each message of `sent`: the lines of `--truth`, in the same order."""
        cell = self.arm(arm, workload)["cell"]
        definition = next(
            json.loads(row["definition"])
            for row in self.bundle.rows("cells")
            if row["cell"] == cell
        )
        settings = {
            name: _structured(value) for name, value in definition["arm"]["options"].items()
        }
        fates = _truth(
            self._worker, json.dumps(settings), sent.writer, int(sent.seq.max()) + 1, sent.nonce
        )
        return [fates[seq] for seq in sent.seq]

    def query(self, sql: str, trial: int) -> list[tuple]:
        """The same bundle asked by SQL: another reader of the records than the analysis."""
        from rmwbench.bundle.sql import ask

        return ask(self.bundle, sql.format(trial=trial)).rows


@cache
def _truth(
    worker: Path, settings: str, writer: int, count: int, nonce: str
) -> list[dict[str, Any]]:
    command = [worker, "--truth", settings, str(writer), str(count), nonce]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _structured(value: Any) -> Any:
    """The worker's words for an object, `KIND key=number …`, as the object that `--truth` wants."""
    if not isinstance(value, str) or "=" not in value:
        return value
    words = [word.partition("=") for word in value.split()]
    number = lambda text: float(text) if "." in text else int(text)  # noqa: E731
    return {name if eq else "kind": number(text) if eq else name for name, eq, text in words}


def quantile(values: np.ndarray, q: float) -> float:
    """x(⌈n·q⌉), the tool's definition in docs, written again."""
    return float(np.sort(values)[math.ceil(len(values) * q - 1e-9) - 1])


def latest(draws: np.ndarray, mean_lateness_ns: float, q: float) -> float:
    """The highest that quantile q of draw + lateness can be, for any lateness ≥ 0 of that mean.

    At most a fraction δ of the messages is later than mean/δ (Markov), and 1 − q − δ of the draws
    lie above their own quantile q + δ, so at most 1 − q of the sums lie above the sum of the two;
    the best δ counts. No assumption about the machine, hence no false alarm, however loaded it is.
    """
    deltas = (1 - q) * np.linspace(0.02, 1, 50)
    return min(quantile(draws, min(q + delta, 1.0)) + mean_lateness_ns / delta for delta in deltas)


def inside(metric: dict[str, Any], truth: float, *, below: float = 0.0, above: float = 0.0) -> bool:
    """Whether the truth lies in the reported interval, of which `below` and `above` may be the
    machine's."""
    assert "value" in metric, metric
    low, high = (float(metric[end]) for end in ("low", "high"))
    return low - below - DIGITS * abs(low) <= truth <= high + above + DIGITS * abs(high)
