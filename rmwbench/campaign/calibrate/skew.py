"""A reader whose clock is wrong, as on a badly synchronised host: its worker is started in a time
namespace of its own.

Stamps of two clocks cannot be subtracted, so the pipeline must refuse such a trial. If the machine
cannot make a time namespace, or a trial cannot reach the worker, the truth is not tested and not
counted.
"""

import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.campaign.blocks import BlockSource
from rmwbench.campaign.calibrate import recovery
from rmwbench.campaign.run import Runner
from rmwbench.codes import Code
from rmwbench.lab import trial_view
from rmwbench.lab.middleware import Worker
from rmwbench.results.machine.machine_model import Truth, TruthCheck

AHEAD_S = 3
"""unshare(1) takes whole seconds."""
NAME = "skewed clock"

# The first process of a trial (the talker) has the normal clock, the second one another. /tmp
# belongs to the trial.
SCRIPT = """#!/bin/sh
mkdir /tmp/rmwbench-first 2>/dev/null && exec {worker} "$@"
exec {unshare} --time --monotonic {ahead_s} --fork --kill-child {worker} "$@"
"""


def why_not(worker: Worker) -> str | None:
    """Return why this machine cannot give a process another clock; None if it can."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return "unshare(1) is not installed"
    if not trial_view.is_seen(worker.executable):
        return "a trial, which has a /tmp of its own, does not see the worker"
    completed = subprocess.run(
        [unshare, "--time", "--monotonic", str(AHEAD_S), "--fork", "true"],
        capture_output=True,
        text=True,
        timeout=10,
    )
    return (
        None
        if completed.returncode == 0
        else f"no time namespace: {completed.stderr.strip() or 'unshare failed'}"
    )


def skew_clock(campaign: Runner[BlockSource], worker: Worker, script: Path) -> Runner[BlockSource]:
    """Give the campaign a worker that starts each trial's second process `AHEAD_S` ahead."""
    programs = {"worker": worker.executable, "unshare": shutil.which("unshare")}
    words = {name: shlex.quote(str(path)) for name, path in programs.items()}
    text = SCRIPT.format(**words, ahead_s=AHEAD_S)
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    campaign.workers = dict(campaign.workers) | {
        worker.middleware: replace(worker, executable=script.resolve())
    }
    return campaign


def judge(lines: Sequence[TrialLine], shown_document: Callable[[], dict[str, Any]]) -> Truth | str:
    """Return the truth about trials that ran skewed, or why nothing was tested. A trial that the
    machine alone made void, perhaps because its own clock was slewed, does not count."""
    if broken := next((line.reason for line in lines if "unshare:" in (line.reason or "")), None):
        return broken.splitlines()[0]
    usable_lines = [line for line in lines if line.cause != "machine"]
    void = [
        line for line in usable_lines if line.status == "void" and Code.WORKER_CLOCK in line.codes
    ]
    missed = [line for line in usable_lines if line not in void]
    examples = missed or void or lines
    outcome = recovery.RECOVERED if usable_lines and not missed else recovery.FAILED
    if lines and not usable_lines:
        outcome = recovery.UNKNOWN
    reason = (examples[0].reason or examples[0].status).splitlines()[0] if examples else "no trial"
    numbers = sum(
        "value" in metric
        for workload in shown_document()["workloads"]
        for arm in workload["arms"]
        for metric in arm["metrics"].values()
    )
    checks = (
        TruthCheck(
            "every trial is void for its clock",
            outcome,
            "all void",
            f"{len(void)} of {len(usable_lines)} void: {reason}",
        ),
        recovery.check(
            "no number is printed for it", not numbers, "0 numbers", f"{numbers} numbers"
        ),
    )
    return Truth(NAME, "skewed", f"{AHEAD_S} s ahead", recovery.overall(checks), checks, None)
