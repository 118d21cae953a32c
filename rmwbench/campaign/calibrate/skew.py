"""A reader whose clock is wrong, as on a badly synchronised host: its worker is started in a time
namespace of its own.

Stamps of two clocks cannot be subtracted, so the pipeline must refuse such a trial. Where the
machine cannot make a time namespace, or its worker cannot be reached from inside a trial, the truth
is not tested and not counted.
"""

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
from rmwbench.lab import visible
from rmwbench.lab.middleware import Worker
from rmwbench.results.machine.machine_model import Truth, TruthCheck

AHEAD_S = 3
"""unshare(1) takes whole seconds."""
NAME = "skewed clock"

# The first process of a trial (the talker) runs as it is, the second one in its own time. /tmp is
# the trial's own.
SCRIPT = """#!/bin/sh
mkdir /tmp/rmwbench-first 2>/dev/null && exec {worker} "$@"
exec {unshare} --time --monotonic {ahead_s} --fork --kill-child {worker} "$@"
"""


def why_not(worker: Worker) -> str | None:
    """Why this machine cannot give a process another clock; None where it can."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return "unshare(1) is not installed"
    if not visible.is_seen(worker.executable):
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


def skewed(campaign: Runner[BlockSource], worker: Worker, script: Path) -> Runner[BlockSource]:
    """The campaign with a worker that starts each trial's second process `AHEAD_S` ahead."""
    text = SCRIPT.format(worker=worker.executable, unshare=shutil.which("unshare"), ahead_s=AHEAD_S)
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    campaign.workers = dict(campaign.workers) | {
        worker.middleware: replace(worker, executable=script.resolve())
    }
    return campaign


def judge(lines: Sequence[TrialLine], shown_document: Callable[[], dict[str, Any]]) -> Truth | str:
    """The verdict on trials that ran skewed, or why nothing was tested. One that is void for the
    machine's sake alone, also because the machine's own clock was slewed, says nothing."""
    if broken := next((line.reason for line in lines if "unshare:" in (line.reason or "")), None):
        return broken.splitlines()[0]
    judged = [line for line in lines if line.cause != "machine"]
    caught = [line for line in judged if line.status == "void" and Code.WORKER_CLOCK in line.codes]
    not_caught = [line for line in judged if line not in caught]
    examples = not_caught or caught or lines
    outcome = recovery.RECOVERED if judged and not not_caught else recovery.FAILED
    if lines and not judged:
        outcome = recovery.UNKNOWN
    reason = (examples[0].reason or examples[0].status).splitlines()[0] if examples else "no trial"
    check = TruthCheck(
        "every trial is void for its clock",
        outcome,
        "all void",
        f"{len(caught)} of {len(judged)} void: {reason}",
    )
    metrics = [
        m
        for w in shown_document()["workloads"]
        for arm in w["arms"]
        for m in arm["metrics"].values()
    ]
    printed = sum("value" in metric for metric in metrics)
    outcome = recovery.FAILED if printed else recovery.RECOVERED
    checks = (
        check,
        TruthCheck("no number is printed for it", outcome, "0 numbers", f"{printed} numbers"),
    )
    return Truth(NAME, "skewed", f"{AHEAD_S} s ahead", recovery.overall(checks), checks, None)
