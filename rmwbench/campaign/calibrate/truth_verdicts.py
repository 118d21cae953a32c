"""The verdict on each injected truth of a finished campaign of the grid."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from rmwbench.campaign.calibrate import checks, recovery
from rmwbench.campaign.calibrate.grid import GridArm, GridWorkload
from rmwbench.campaign.calibrate.synthetic_campaign import SyntheticCampaign, TrialLost, Untestable
from rmwbench.results.machine import machine_model as model
from rmwbench.results.machine.machine_model import Truth, TruthCheck


def judge_truths(evidence: SyntheticCampaign, workloads: Iterable[GridWorkload]) -> list[Truth]:
    """Return every truth of the grid in its order, and at the end the truth about the 95 %
    intervals that hold their law."""
    truths = [truth for workload in workloads for truth in _truths(evidence, workload)]
    coverage = recovery.coverage_is_plausible([check for truth in truths for check in truth.checks])
    if coverage is not None:
        truths.append(
            Truth("95 % of intervals", "all", "all laws", coverage.outcome, (coverage,), None)
        )
    return truths


def _truths(evidence: SyntheticCampaign, workload: GridWorkload) -> Iterator[Truth]:
    name, arms = workload.name, workload.arms
    match name:
        case "stream" | "tail":
            for arm in arms:
                for truth, check in checks.truths_of(arm):
                    run = partial(_checks_of_arm, check, evidence, name, arm)
                    yield _truth(truth, name, arm.name, run)
        case "twins":
            yield _truth(
                "equal arms", name, _both(arms), lambda: checks.equal_arms(evidence, name, arms)
            )
        case "apart":
            yield _truth(
                "1.5 times as slow",
                name,
                _both(arms),
                lambda: checks.unequal_arms(evidence, name, arms),
            )
        case "path":
            for arm in arms:
                truth = "path, a lie" if "lying_path" in arm.options else "path"
                yield _truth(truth, name, arm.name, partial(checks.path, evidence, name, arm))


def _checks_of_arm(
    check: Callable[[checks.Subject], Iterable[TruthCheck]],
    evidence: SyntheticCampaign,
    workload: str,
    arm: GridArm,
) -> Iterable[TruthCheck]:
    return check(checks.Subject(evidence, workload, arm))


def _truth(truth: str, workload: str, arm: str, run: Callable[[], Iterable[TruthCheck]]) -> Truth:
    try:
        truth_checks = tuple(run())
    except Untestable as why:
        return Truth(truth, workload, arm, recovery.UNKNOWN, (), str(why))
    except (TrialLost, LookupError, ValueError) as why:
        # A report that lacks an arm of the grid, or records that contradict each other, are a
        # failure.
        text = f"the report lacks {why}" if isinstance(why, KeyError) else str(why)
        return Truth(truth, workload, arm, recovery.FAILED, (), text)
    return Truth(truth, workload, arm, recovery.overall(truth_checks), truth_checks, None)


def _both(arms: Sequence[Any]) -> str:
    return " and ".join(arm.name for arm in arms)


def shown_truths(truths: Sequence[Truth], *, void_trials: int) -> model.Truths:
    """Return the truths for the document, counted by their outcome."""
    ends = Counter(truth.outcome for truth in truths)
    return model.Truths(
        total=len(truths),
        recovered=ends[recovery.RECOVERED],
        failed=ends[recovery.FAILED],
        unknown=ends[recovery.UNKNOWN],
        checks=sum(len(truth.checks) for truth in truths),
        void_trials=void_trials,
        list_=tuple(truths),
    )
