"""One calibration from beginning to end: two ordinary campaigns, a third to exclude chance if it is
needed, and the judgement.

The campaigns are like those of `rmwbench run`, from a suite file to a bundle to the show document.
The caller hands in the function that makes the show document, because a campaign knows nothing of
reports.

A calibration has the own costs of the instrument, too: the metrics of trials of the null middleware,
and the cost of a stamp and of a record. They are shown beside the measured numbers and subtracted
from none.
"""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from rmwbench.analysis.metrics.glossary import METRICS, Use
from rmwbench.bundle import Bundle
from rmwbench.bundle.newest import CAMPAIGNS
from rmwbench.campaign import calibrations
from rmwbench.campaign.blocks import BlockSource
from rmwbench.campaign.calibrate import aa, grid, skew
from rmwbench.campaign.calibrate.synthetic_campaign import SyntheticCampaign
from rmwbench.campaign.calibrate.truth_verdicts import judge_truths, shown_truths
from rmwbench.campaign.plan.plan import duration_text
from rmwbench.campaign.plan.request import Request
from rmwbench.campaign.run import Runner
from rmwbench.campaign.start import new_campaign
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.middleware import Worker, find_workers, require_workers
from rmwbench.results.machine.machine_model import (
    CalibrationDocument,
    CallCost,
    CostsAtSize,
    NotTested,
    OwnCosts,
    Truth,
)
from rmwbench.results.model import Estimate, document
from rmwbench.words.numbers import counted

INSTRUMENT = ("synthetic", "null")
AGAINST_THEMSELVES = ("floor", "iceoryx2", "zenoh", "cyclonedds", "fastdds")
"""Workers of the first set that carry messages between processes. The equal arms of the synthetic
worker are in the grid."""
FIXED_S = 0.32
"""The time of a trial besides its steady state, on two idle cores; a drain ends early. It is used
for the first estimate only: later estimates follow from the campaign before."""

Blocks = Runner[BlockSource]
Show = Callable[[Bundle], dict[str, Any]]


class Interrupted(Exception):
    """A signal ended the calibration; nothing is stored."""


@dataclass(frozen=True)
class CalibrationStep:
    """A campaign of a calibration. `lies` is the number of its trials that lie about their path and
    must be void."""

    name: str
    title: str
    suite: Path
    seed: int
    trials: int
    lies: int
    estimated_s: float


@dataclass
class CalibrationSession:
    """A calibration under way in `directory`. `seed` draws every order, schedule and injection, so
    that the same seed injects the same truth."""

    directory: Path
    show: Show
    console: Console
    quick: bool = True
    seed: int = 1
    _began_s: float = field(default_factory=time.monotonic)
    _slowdown: float = 1.0

    def run(self) -> CalibrationDocument:
        """Run the calibration and store it. Raises UserError if a worker of the instrument is
        missing or nothing can be stored, Interrupted on a signal."""
        calibrations.check_store()
        workers = require_workers(list(INSTRUMENT))
        available = find_workers()
        against = [
            name for name in AGAINST_THEMSELVES if name in available and not available[name].problem
        ]
        truth_workloads = grid.truths(quick=self.quick)
        pairs = grid.aa_pairs(against, quick=self.quick)
        self.directory.mkdir(parents=True, exist_ok=True)
        steps = [self._prepare_step("truths", "Truths that are known", truth_workloads)]
        if pairs:
            steps.append(self._prepare_step("aa", "Every middleware against itself", pairs))
        self.console.print(
            f"{counted(len(steps), 'campaign')}, about "
            f"{duration_text(sum(step.estimated_s for step in steps))} together"
        )
        bundles = {}
        for steps_done, step in enumerate(steps):
            rest_s = self._slowdown * sum(later.estimated_s for later in steps[steps_done:])
            lies = f", of which {step.lies} lie and must be void" if step.lies else ""
            self.console.print(
                f"{step.title}: {step.trials} trials{lies}; about {duration_text(round(rest_s))} "
                "left"
            )
            bundles[step.name] = self._run(step)
        evidence = SyntheticCampaign(
            bundles["truths"], self.show(bundles["truths"]), workers["synthetic"].executable
        )
        truths = judge_truths(evidence, truth_workloads)
        clock = self._skewed_truth(workers["synthetic"])
        not_tested = [] if isinstance(clock, Truth) else [NotTested(what=skew.NAME, why=clock)]
        truths += [clock] if isinstance(clock, Truth) else []
        equal_arms = self._judge_pairs(bundles.get("aa"), pairs)
        answer = self._answer(truths, equal_arms, evidence, workers, against, not_tested)
        answer = replace(answer, stored=str(calibrations.save(document(answer))))
        calibrations.write(document(answer), self.directory / "calibration.json")
        return answer

    def _prepare_step(
        self,
        name: str,
        title: str,
        workloads: Sequence[grid.GridWorkload],
        *,
        blocks: int | None = None,
        seed: int | None = None,
    ) -> CalibrationStep:
        path, blocks = self.directory / f"{name}.yaml", blocks or grid.blocks(quick=self.quick)
        path.write_text(
            grid.suite_text(f"calibrate-{name}", title, workloads, blocks), encoding="utf-8"
        )
        arms = [
            workload.settings["timeline"]["steady_s"]
            for workload in workloads
            for _ in workload.arms
        ]
        each_s = sum(arms) + len(arms) * FIXED_S
        lies = blocks * sum(
            "lying_path" in arm.options for workload in workloads for arm in workload.arms
        )
        seed = self.seed if seed is None else seed
        return CalibrationStep(name, title, path, seed, len(arms) * blocks, lies, blocks * each_s)

    def _skewed_truth(self, worker: Worker) -> Truth | str:
        """Return the truth about a reader with another clock, or why it is not tested."""
        if reason := skew.why_not(worker):
            return reason
        step = self._prepare_step(
            "skewed", "A reader whose clock is wrong", grid.skewed_workloads(), blocks=2
        )
        self.console.print(f"{step.title}: {step.trials} trials")
        bundle = self._run(
            step,
            lambda campaign: skew.skew_clock(campaign, worker, self.directory / "skewed-worker"),
        )
        return skew.judge(bundle.trials(), lambda: self.show(bundle))

    def _run(
        self, step: CalibrationStep, changed: Callable[[Blocks], Blocks] = lambda campaign: campaign
    ) -> Bundle:
        directory = self.directory / step.name
        request = Request(str(step.suite), seed=step.seed)
        campaign = changed(new_campaign(request, directory, calibrated=False))
        began_s = time.monotonic()
        with campaign.writer, campaign.lab:
            ending = campaign.run(self.console)
        if ending.stopped_by:
            raise Interrupted(ending.stopped_by)
        self._slowdown = (time.monotonic() - began_s) / step.estimated_s
        return Bundle(directory)

    def _judge_pairs(
        self, bundle: Bundle | None, pairs: Sequence[grid.GridWorkload]
    ) -> list[aa.EqualArms]:
        if bundle is None:
            return []
        judged_pairs = aa.judge(self.show(bundle), pairs)
        different = {
            (pair.middleware, pair.size) for pair in judged_pairs if pair.outcome == aa.DIFFERENT
        }
        if not different:
            return judged_pairs
        second_run = [
            pair for pair in pairs if tuple(reversed(pair.name.split("_", 1))) in different
        ]
        names = ", ".join(pair.name for pair in second_run)
        self.console.print(f"a second run, to tell a difference from chance: {names}")
        step = self._prepare_step(
            "aa-again", "Second run of pairs that differ", second_run, seed=self.seed + 1
        )
        return aa.confirm(judged_pairs, aa.judge(self.show(self._run(step)), second_run))

    def _answer(
        self,
        truths: Sequence[Truth],
        pairs: Sequence[aa.EqualArms],
        evidence: SyntheticCampaign,
        workers: Mapping[str, Worker],
        against: Sequence[str],
        not_tested: Sequence[NotTested],
    ) -> CalibrationDocument:
        described = machine.describe()
        created_utc = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        hardware = calibrations.hardware(described)
        return CalibrationDocument(
            calibration=f"{hardware.fingerprint}-{created_utc}",
            created_utc=created_utc,
            tool_version=version("rmwbench"),
            quick=self.quick,
            seed=self.seed,
            blocks=grid.blocks(quick=self.quick),
            wall_s=round(time.monotonic() - self._began_s, 1),
            directory=str(self.directory),
            kernel=described["kernel"]["release"],
            machine=hardware,
            workers={
                name: (worker.description or {}).get("version")
                for name, worker in find_workers().items()
                if name in (*workers, *against)
            },
            truths=shown_truths(
                truths,
                void_trials=sum(line.cause == "machine" for line in evidence.bundle.trials("void")),
            ),
            not_tested=tuple(not_tested),
            aa=aa.aa_answer(pairs),
            own_cost=_own_cost(evidence, workers["null"].executable),
        )


def fresh_directory(out: Path | None) -> Path:
    """Return the directory of the campaigns. Raises UserError if it is not empty."""
    directory = out or CAMPAIGNS / f"calibrate-{time.strftime('%Y%m%d-%H%M%S')}"
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError(
            "a calibration starts in a directory of its own",
            where=f"--out {directory}",
            expected="an empty or a new directory",
            actual="it is not empty" if directory.is_dir() else "it is a file",
            fix="choose another one",
        )
    return directory


CLOCK_COST_TIMEOUT_S = 30

AT_SIZES = {m.source or m.name: m.name for m in METRICS if Use.OWN_COST in m.use}
"""Name in a calibration's `sizes` → the metric of messages of each size."""


def _own_cost(evidence: SyntheticCampaign, null: Path) -> OwnCosts:
    """Return the costs. `latency` is the time from the publish call until the message is taken,
    without a middleware, and `cpu_per_message` the CPU time of both ends, both for messages of 64
    bytes; `sizes` has these and more for each size of the grid; `clock_read` and `record` are in ns
    and measured by the worker itself."""
    names = {"latency": AT_SIZES["service_latency"], "cpu_per_message": AT_SIZES["cpu_per_message"]}
    smallest = _metrics(evidence, min(grid.NOTHING), names)
    calls = _clock_cost(null)
    return OwnCosts(
        latency=smallest["latency"],
        cpu_per_message=smallest["cpu_per_message"],
        sizes=tuple(
            CostsAtSize(payload_bytes=size, **_metrics(evidence, size, AT_SIZES))
            for size in grid.NOTHING
        ),
        clock_read=calls["clock_read"],
        record=calls["record"],
    )


def _metrics(
    evidence: SyntheticCampaign, size: int, names: Mapping[str, str]
) -> dict[str, Estimate]:
    """Return the metrics of messages of this size in bytes without a middleware."""
    try:
        return {
            name: Estimate.of({"unit": "ns", **evidence.metric(*grid.of_nothing(size), metric)})
            for name, metric in names.items()
        }
    except KeyError:
        none = Estimate(unit="ns", no_data="the null middleware was not measured")
        return dict.fromkeys(names, none)


def _clock_cost(null: Path) -> dict[str, CallCost]:
    """Return the output of `WORKER --clock-cost`: median and interval over batches, in ns."""
    try:
        completed = subprocess.run(
            [null, "--clock-cost"],
            capture_output=True,
            text=True,
            check=True,
            timeout=CLOCK_COST_TIMEOUT_S,
        )
        costs = json.loads(completed.stdout)
        return {name: CallCost(unit="ns", **costs[name]) for name in ("clock_read", "record")}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return dict.fromkeys(("clock_read", "record"), CallCost(unit="ns", no_data=str(error)))
