"""The statements that an arm's report must satisfy, from the arm's settings. The amount that the
machine adds is measured in the arm's own trials.

There are three kinds. Exact statements: counts, and percentiles that are computed here once more
from the records. Spans: a trial's value lies between the drawn value and the drawn value plus the
lateness that the worker counted and the publisher's records show. And the law itself: the interval
over trials holds the law's value, because each trial draws anew. The second and third kind allow
for the machine; the first does not, so that no kind can excuse the others.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from rmwbench.analysis.verdicts.ratio import have_both
from rmwbench.campaign.calibrate import recovery, synthetic_campaign
from rmwbench.campaign.calibrate.grid import BLOCK_NS, PLAIN, RATIO, GridArm
from rmwbench.campaign.calibrate.synthetic_campaign import SyntheticCampaign, SyntheticTrial
from rmwbench.codes import Code
from rmwbench.results.machine.machine_model import TruthCheck

LOST = ("lost_start", "lost_middle", "lost_end")
PROBE_INTERVAL_NS = 50e6
"""The shortest time between two probes of the barrier (rmwbench/campaign/trial/timeouts.py)."""

Checks = Iterator[TruthCheck]


class Subject:
    """One arm of one workload under judgement."""

    def __init__(self, evidence: SyntheticCampaign, workload: str, arm: GridArm):
        self.evidence, self.workload, self.arm = evidence, workload, arm
        self.options = {
            key: synthetic_campaign.setting_value(value) for key, value in arm.options.items()
        }
        self.trials: list[SyntheticTrial] = evidence.trials(workload, arm.name, arm.options)

    def metric(self, name: str) -> dict[str, Any]:
        return self.evidence.metric(self.workload, self.arm.name, name)

    def each_trial(
        self, metric: str, check: Callable[[SyntheticTrial, float], TruthCheck]
    ) -> TruthCheck:
        """Check the value of every trial; return the first check that failed, else the last one."""
        values = self.evidence.per_trial(self.workload, self.arm.name, metric)
        checks = [
            check(trial, values[trial.trial])
            if trial.trial in values
            else recovery.check(
                metric, False, "a value in each trial", f"none in trial {trial.trial}"
            )
            for trial in self.trials
        ]
        return _worst(checks)

    def counted(
        self,
        metric: str,
        truth: Callable[[SyntheticTrial], float],
        slack: Callable[[SyntheticTrial], float] = lambda t: 0.0,
    ) -> TruthCheck:
        """Check that the reported count of each trial is the truth, less at most `slack`."""
        label = f"{metric} in each trial"
        return self.each_trial(
            metric,
            lambda t, reported: recovery.between(label, reported, truth(t) - slack(t), truth(t)),
        )

    def worker_counted(self, counter: str, truth: Callable[[SyntheticTrial], float]) -> TruthCheck:
        """Check that the worker's own count of its injections is the truth."""
        label = f"the worker's own count, {counter}"
        return _worst(
            [
                recovery.equal(label, t.own.get(f"steady_{counter}", 0.0), truth(t))
                for t in self.trials
            ]
        )


def latency(s: Subject) -> Checks:
    """Check a law of latency, or messages that `reorder` held back."""
    yield from _accounted(s)
    for metric, q in (
        ("response_latency_p50", 0.5),
        ("response_latency_p90", 0.9),
        ("service_latency_p50", 0.5),
    ):
        since = attrgetter("call_ns" if metric.startswith("service") else "intended_ns")
        recorded = {t.trial: _absent_is_never(t.first_sound_ns - since(t)) for t in s.trials}
        quantiles = {
            number: recovery.order_statistic(values, q) for number, values in recorded.items()
        }
        yield s.each_trial(metric, _equal_to(f"{metric}, computed again", quantiles))
        spans = {t.trial: _span(t, since(t), q) for t in s.trials}
        yield s.each_trial(metric, _in_span(f"{metric}, drawn to latest", spans))
        if s.options.keys() & {"loss", "corrupt"}:
            continue  # messages that never arrive move the quantile to another one of the law
        # The draws are known, so the machine's share of each trial's percentile is exact.
        drawn = [recovery.order_statistic(_drawn(t), q) for t in s.trials]
        reported = [quantiles[t.trial] for t in s.trials]
        machine_ns = float(np.exp(np.log(reported).mean()) - np.exp(np.log(drawn).mean()))
        truth = synthetic_campaign.quantile_ns(s.options["latency"], q)
        yield recovery.holds_law(
            f"{metric}, the law's own", s.metric(metric), truth, below=machine_ns
        )


def _equal_to(
    label: str, truths: Mapping[int, float]
) -> Callable[[SyntheticTrial, float], TruthCheck]:
    return lambda t, reported: recovery.equal(label, reported, truths[t.trial])


def _in_span(
    label: str, spans: Mapping[int, tuple[float, float]]
) -> Callable[[SyntheticTrial, float], TruthCheck]:
    return lambda t, reported: recovery.between(label, reported, *spans[t.trial])


def loss(s: Subject) -> Checks:
    yield _recorded(s)
    yield s.each_trial(
        "lost_middle",
        lambda t, _: recovery.equal("lost in each trial", _lost(s, t), float(t.fates.lost.sum())),
    )
    yield s.worker_counted("injected_lost", lambda t: t.fates.lost.sum())
    unsound = {t.trial: float((~t.fates.sound).mean()) for t in s.trials}
    yield s.each_trial("loss", _equal_to("loss in each trial", unsound))
    sent = sum(len(t.fates.lost) for t in s.trials)
    lost = sum(int((~t.fates.sound).sum()) for t in s.trials)
    yield recovery.holds("loss, as injected", s.metric("loss"), lost / sent)
    yield recovery.holds_law("loss, the law's own", s.metric("loss"), _taken_away(s))


def duplicates(s: Subject) -> Checks:
    yield _recorded(s)
    doubled = lambda t: float((t.fates.duplicated & ~t.fates.corrupt).sum())  # noqa: E731
    # The drain ends with the last message's first copy; its second one may just miss it.
    yield s.counted("duplicates", doubled, lambda t: float(t.fates.duplicated[-1]))
    yield s.worker_counted("injected_duplicated", lambda t: t.fates.duplicated.sum())
    rate = float(s.options["duplicate"]) * (1 - _taken_away(s))
    yield recovery.holds_law(
        "duplicates, the law's own", s.metric("duplicates"), rate * len(s.trials[0].fates.lost)
    )


def corruption(s: Subject) -> Checks:
    yield _recorded(s)
    copies = lambda t: float((t.fates.corrupt * (1 + t.fates.duplicated)).sum())  # noqa: E731
    yield s.counted(
        "corrupt", copies, lambda t: float(t.fates.duplicated[-1] & t.fates.corrupt[-1])
    )
    yield s.worker_counted("injected_corrupted", lambda t: t.fates.corrupt.sum())
    rate = synthetic_campaign.loss_rate(s.options["loss"]) if "loss" in s.options else 0.0
    rate = float(s.options["corrupt"]) * (1 - rate) * (1 + float(s.options.get("duplicate", 0)))
    yield recovery.holds_law(
        "corrupt, the law's own", s.metric("corrupt"), rate * len(s.trials[0].fates.lost)
    )


def reordering(s: Subject) -> Checks:
    yield from _accounted(s)
    by_ns = s.options["reorder"]["by_ns"]
    yield s.each_trial(
        "reordered",
        lambda t, reported: recovery.equal("reordered, counted again", reported, _overtaken(t)),
    )
    yield s.each_trial(
        "reordered",
        lambda t, reported: recovery.between(
            "reordered in each trial", reported, *_expected_overtaken(t, by_ns)
        ),
    )
    yield s.worker_counted("injected_reordered", lambda t: t.fates.reordered.sum())


def nothing_injected(s: Subject) -> Checks:
    """Check an arm without any injection: every count would be the instrument's own."""
    yield _recorded(s)
    for metric in (
        *LOST,
        "late",
        "corrupt",
        "duplicates",
        "reordered",
        "foreign",
        "never_sent",
        "publish_failures",
    ):
        yield s.counted(metric, lambda t: 0.0)
    for metric in ("loss", "undelivered"):
        yield recovery.holds(f"{metric} of nothing", s.metric(metric), 0.0)


def blocking(s: Subject) -> Checks:
    """Check that a publish call takes as long as it blocks, plus the time of an uninjected call."""
    plain = s.evidence.metric(s.workload, PLAIN.name, "publish_call_p50")
    yield s.each_trial(
        "publish_call_p50",
        lambda t, reported: recovery.between(
            "publish call, at least as long as it blocks", reported, BLOCK_NS, np.inf
        ),
    )
    yield s.each_trial(
        "publish_call_p50",
        lambda t, reported: recovery.equal(
            "publish call, computed again",
            reported,
            recovery.order_statistic(t.return_ns - t.call_ns, 0.5),
        ),
    )
    yield _beside("publish call, the block", s.metric("publish_call_p50"), BLOCK_NS, plain)


def burning(s: Subject) -> Checks:
    """Check the processor time beside the uninjected arm's, which bounds all other costs."""
    for side, truth in _amount_by_side(s.options["cpu_burn_ns"]).items():
        metric = f"cpu_per_message_{side}"
        plain = s.evidence.metric(s.workload, PLAIN.name, metric)
        yield _beside(f"{metric}, what was burnt", s.metric(metric), truth, plain)
        yield _paired(s, metric, truth)


def growing(s: Subject) -> Checks:
    """Check the memory per message of the whole trial, with warm-up and probes. The number of
    probes follows from the time that the barrier probed."""
    for side, bytes_per_message in _amount_by_side(s.options["memory_growth_bytes"]).items():
        metric = f"pss_{side}"
        plain = s.evidence.metric(s.workload, PLAIN.name, metric)
        truth = bytes_per_message * float(np.mean([t.sent_rows for t in s.trials]))
        probes = bytes_per_message * max(2 + t.probes_ns / PROBE_INTERVAL_NS for t in s.trials)
        yield _beside(f"{metric}, what was taken", s.metric(metric), truth, plain, more=probes)


def _amount_by_side(setting: Mapping[str, float]) -> dict[str, float]:
    """Return role in a metric's name → the injected amount per message, if there is one."""
    amounts = {"publisher": setting.get("publisher"), "subscription": setting.get("reader")}
    return {side: amount for side, amount in amounts.items() if amount}


def path(evidence: SyntheticCampaign, workload: str, arm: GridArm) -> Checks:
    """Check that the path of an honest arm is attested, and that an arm that asked for a path and
    took another one is void in every trial, whatever the middleware says."""
    shown_arm = evidence.arm(workload, arm.name)
    if "lying_path" not in arm.options:
        evidence.done_lines(workload, arm.name)
        asked_path, attested = str(arm.options["path"]), str(shown_arm.get("path") or "")
        is_attested = attested.startswith(f"{asked_path} ")
        yield recovery.check("the path is attested", is_attested, asked_path, attested or "nothing")
        return
    lines = evidence.trial_lines(workload, arm.name)
    void = sum(Code.PATH in line.codes for line in lines)
    missed = [line for line in lines if Code.PATH not in line.codes and line.cause != "machine"]
    outcome = recovery.FAILED if missed else recovery.RECOVERED if void else recovery.UNKNOWN
    yield TruthCheck(
        "every trial is void for its path", outcome, f"{len(lines)} void", f"{void} void"
    )
    has_number = "no_data" not in shown_arm["metrics"].get("response_latency_p50", {})
    yield recovery.check(
        "no number is printed for it",
        not has_number,
        "no data",
        "a number" if has_number else "no data",
    )


def equal_arms(evidence: SyntheticCampaign, workload: str, arms: Sequence[GridArm]) -> Checks:
    """Check two arms of one law: neither may be called worse, so neither best."""
    outcomes = {
        "equivalent": recovery.RECOVERED,
        "undecided": recovery.RECOVERED,
        "no data": recovery.UNKNOWN,
    }
    for arm in arms:
        evidence.done_lines(workload, arm.name)
        verdict = evidence.arm(workload, arm.name)["verdict"]["verdict"]
        outcome = outcomes.get(verdict, recovery.FAILED)
        yield TruthCheck(f"verdict of `{arm.name}`", outcome, "equivalent or undecided", verdict)


def unequal_arms(evidence: SyntheticCampaign, workload: str, arms: Sequence[GridArm]) -> Checks:
    """Check an arm that is 1.5 times as slow as another: it must be worse, and the ratio's interval
    must hold 1.5. The machine adds to both medians, hence the allowances. If the interval also
    holds 1, because the machine made the ratios scatter, the check could not tell; `undecided` with
    an interval clear of 1 is a failure."""
    quick, slow = (Subject(evidence, workload, arm) for arm in arms)
    common = {t.block for t in quick.trials} & {t.block for t in slow.trials}
    verdict = evidence.arm(workload, slow.arm.name)["verdict"]
    if len(common) < 5:
        yield TruthCheck(
            "verdict", recovery.UNKNOWN, "worse", f"{have_both(len(common))}, 5 are needed"
        )
        return
    label, expected = f"verdict of `{slow.arm.name}`", f"worse than {quick.arm.name}"
    verdict_word, ratio = verdict["verdict"], verdict["ratio"] or {}
    has_ratio = "value" in ratio
    if (
        verdict_word == "undecided"
        and has_ratio
        and float(ratio["low"]) <= 1 <= float(ratio["high"])
    ):
        text = f"undecided, ratio {ratio['value']} [{ratio['low']}, {ratio['high']}]"
        yield TruthCheck(label, recovery.UNKNOWN, expected, text)
    else:
        is_worse = (verdict_word, verdict["against"]) == ("worse", quick.arm.name)
        yield recovery.check(label, is_worse, expected, verdict_word)
    if not has_ratio:
        yield recovery.check("the ratio", False, f"{RATIO}", "no ratio")
        return
    machine = [_machine_factor(s) for s in (quick, slow)]
    yield recovery.holds(
        "the ratio",
        ratio,
        RATIO,
        below=float(ratio["low"]) * (1 - 1 / machine[1]),
        above=float(ratio["high"]) * (machine[0] - 1),
    )


def truths_of(arm: GridArm) -> list[tuple[str, Callable[[Subject], Checks]]]:
    """Return a truth, with its checks, for each setting that is injected into an arm."""
    check_of_option: dict[str, Callable[[Subject], Checks]] = {
        "latency": latency,
        "loss": loss,
        "duplicate": duplicates,
        "corrupt": corruption,
        "reorder": reordering,
        "publish_block_ns": blocking,
        "cpu_burn_ns": burning,
        "memory_growth_bytes": growing,
    }
    truths = [(name, check) for name, check in check_of_option.items() if name in arm.options]
    return truths or [("nothing", nothing_injected)]


def _accounted(s: Subject) -> Checks:
    """Check that no message is earlier than its own draw, and that it is later only by the lateness
    that the worker counted and by the time between the recorder's stamp of the call and the
    worker's, which lies within the publish call."""
    hold_ns = (s.options.get("reorder") or {}).get("by_ns", 0)
    early, uncounted = [], []
    for t in s.trials:
        beyond_ns = t.first_any_ns - t.call_ns - t.fates.latency_ns - hold_ns * t.fates.reordered
        arrived = ~np.isnan(beyond_ns)
        n = max(int(arrived.sum()), 1)
        early.append(
            recovery.equal(
                "messages that arrive", float(arrived.sum()), float((~t.fates.lost).sum())
            )
        )
        first_ns = float(beyond_ns[arrived].min())
        early.append(recovery.between("the earliest against its own draw, ns", first_ns, 0, np.inf))
        mean_ns = (float(beyond_ns[arrived].sum()) - t.own["lateness_sum_ns"]) / n
        calls_ns = float((t.return_ns - t.call_ns)[~t.fates.lost].sum()) / n
        uncounted.append(
            recovery.between("lateness that nobody counted, ns per message", mean_ns, 0, calls_ns)
        )
    yield _worst(early)
    yield _worst(uncounted)


def _recorded(s: Subject) -> TruthCheck:
    """Check that the records hold each message as often as a whole copy was to arrive, and no
    other."""
    label, checks = "messages that differ from their fate in the records", []
    for t in s.trials:
        copies = np.zeros(len(t.fates.lost), int)
        np.add.at(copies, [index for index, _ in t.arrivals if index >= 0], 1)
        fate = t.fates.sound * (1 + t.fates.duplicated)
        # the drain ends with the last message's first copy
        copies[-1] += fate[-1] == 2 and copies[-1] == 1
        checks.append(recovery.equal(label, float(np.count_nonzero(copies != fate)), 0.0))
    return _worst(checks)


def _absent_is_never(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), np.inf, values)


def _drawn(t: SyntheticTrial) -> np.ndarray:
    return np.where(t.fates.sound, t.fates.latency_ns, np.inf)


def _span(t: SyntheticTrial, since_ns: np.ndarray, q: float) -> tuple[float, float]:
    """Return the span of a quantile in ns: from the quantile of the draws to the latest that is
    possible with the lateness that the worker counted at the delivery and the publisher's records
    show up to the end of the call."""
    sound = t.fates.sound
    late_ns = t.own["lateness_sum_ns"] + float((t.return_ns - since_ns)[sound].sum())
    drawn = _drawn(t)
    return recovery.order_statistic(drawn, q), recovery.latest(
        drawn, late_ns / max(int(sound.sum()), 1), q
    )


def _machine_factor(s: Subject) -> float:
    """Return the largest factor by which the machine can have increased the arm's median."""
    logs = []
    for t in s.trials:
        low, high = _span(t, t.intended_ns, 0.5)
        logs.append(np.log(high / low))
    return float(np.exp(np.mean(logs)))


def _lost(s: Subject, t: SyntheticTrial) -> float:
    return sum(s.evidence.per_trial(s.workload, s.arm.name, name)[t.trial] for name in LOST)


def _taken_away(s: Subject) -> float:
    """Return the fraction of messages that are lost or corrupt."""
    rate = synthetic_campaign.loss_rate(s.options["loss"]) if "loss" in s.options else 0.0
    return 1 - (1 - rate) * (1 - float(s.options.get("corrupt", 0)))


def _overtaken(t: SyntheticTrial) -> float:
    """Return the number of steady messages whose first sound arrival came behind a higher sequence
    number."""
    arrived_indices: set[int] = set()
    highest, count = -(10**9), 0
    for index, _ in t.arrivals:
        if index not in arrived_indices:
            arrived_indices.add(index)
            count += index >= 0 and index < highest
            highest = max(highest, index)
    return float(count)


def _expected_overtaken(t: SyntheticTrial, by_ns: float) -> tuple[float, float]:
    """Return the least and the most held messages that can be overtaken: those that a message
    followed in time, without those whose followers were all late."""
    reordered_indices = np.flatnonzero(t.fates.reordered)
    sure = possible = 0
    for index in reordered_indices:
        due_ns = t.call_ns[index] + by_ns
        followers = [
            k
            for k in range(index + 1, len(t.call_ns))
            if t.call_ns[k] < due_ns and not t.fates.reordered[k]
        ]
        possible += bool(followers)
        sure += any(t.first_any_ns[k] < due_ns for k in followers)
    return float(sure), float(possible)


def _beside(
    label: str, metric: Mapping[str, Any], truth: float, plain: Mapping[str, Any], more: float = 0.0
) -> TruthCheck:
    """Check that the interval of an injected arm, at 99.9 % as for a law, holds the truth,
    less at most the cost of the uninjected arm."""
    if "high" not in plain:
        return TruthCheck(
            label,
            recovery.UNKNOWN,
            f"{truth:.6g}",
            f"the uninjected arm has no value: {plain.get('no_data')}",
        )
    return recovery.holds_law(label, metric, truth, below=float(plain["high"]) + more)


def _paired(s: Subject, metric: str, truth: float) -> TruthCheck:
    """Check the cost of this arm beyond the uninjected one, block by block, at 99.9 %. Burning
    warms caches and wakes processors, so the truth may be missed by the uninjected cost itself."""
    from rmwbench.analysis.stats.intervals import plain_t

    injected, plain = (
        s.evidence.per_block(s.workload, name, metric) for name in (s.arm.name, PLAIN.name)
    )
    common = sorted(injected.keys() & plain.keys())
    label = f"{metric}, more than the uninjected arm"
    if len(common) < 3:
        return TruthCheck(label, recovery.UNKNOWN, f"{truth:.6g}", have_both(len(common)))
    _, low, high = plain_t(
        np.array([injected[b] - plain[b] for b in common]), recovery.LAW_CONFIDENCE
    )
    width = float(np.mean([plain[b] for b in common]))
    return recovery.between(label, truth, low - width, high + width)


def _worst(checks: Sequence[TruthCheck]) -> TruthCheck:
    failed = itertools.chain((c for c in checks if c.outcome == recovery.FAILED), checks[-1:])
    return next(failed)
