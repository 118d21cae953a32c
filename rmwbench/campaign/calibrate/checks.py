"""From an arm's settings to statements that its report must satisfy; what the machine adds is
measured in its own trials.

Three kinds. Exact ones: counts, and percentiles that are computed here once more from the records.
Spans: a trial's value lies between what was drawn and what was drawn plus the lateness that the
worker counted and the publisher's records show. And the law itself: the interval over trials holds
what the law promises, because each trial draws anew. The second and third allow for the machine;
the first does not, so that none can excuse the others.
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
            key: synthetic_campaign.structured(value) for key, value in arm.options.items()
        }
        self.trials: list[SyntheticTrial] = evidence.trials(workload, arm.name, arm.options)

    def metric(self, name: str) -> dict[str, Any]:
        return self.evidence.metric(self.workload, self.arm.name, name)

    def each_trial(
        self, metric: str, check: Callable[[SyntheticTrial, float], TruthCheck]
    ) -> TruthCheck:
        """The check of every trial's value as one: the first that failed, else the last."""
        values = self.evidence.per_trial(self.workload, self.arm.name, metric)
        checks = [
            check(trial, values[trial.trial])
            if trial.trial in values
            else TruthCheck(
                metric, recovery.FAILED, "a value in each trial", f"none in trial {trial.trial}"
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
        """The reported count of each trial is the truth, less at most `slack`."""
        label = f"{metric} in each trial"
        return self.each_trial(
            metric,
            lambda t, reported: recovery.between(label, reported, truth(t) - slack(t), truth(t)),
        )

    def worker_counted(self, counter: str, truth: Callable[[SyntheticTrial], float]) -> TruthCheck:
        """The worker's own count of what it injected is the truth."""
        label = f"the worker's own count, {counter}"
        return _worst(
            [
                recovery.equal(label, t.own.get(f"steady_{counter}", 0.0), truth(t))
                for t in self.trials
            ]
        )


def latency(s: Subject) -> Checks:
    """A law of latency, or a message held back by `reorder`."""
    yield from _accounted(s)
    for metric, q in (
        ("response_latency_p50", 0.5),
        ("response_latency_p90", 0.9),
        ("service_latency_p50", 0.5),
    ):
        since = attrgetter("call_ns" if metric.startswith("service") else "intended_ns")
        recorded = {t.trial: _absent_is_never(t.first_sound_ns - since(t)) for t in s.trials}
        again = {number: recovery.order_statistic(values, q) for number, values in recorded.items()}
        yield s.each_trial(metric, _equal_to(f"{metric}, computed again", again))
        spans = {t.trial: _span(t, since(t), q) for t in s.trials}
        yield s.each_trial(metric, _in_span(f"{metric}, drawn to latest", spans))
        if s.options.keys() & {"loss", "corrupt"}:
            continue  # what never arrives moves the quantile to another one of the law
        # What the machine did to each trial's percentile: here it is known exactly, by what was
        # drawn.
        drawn = [recovery.order_statistic(_drawn(t), q) for t in s.trials]
        reported = [again[t.trial] for t in s.trials]
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
    of, hit = (
        sum(len(t.fates.lost) for t in s.trials),
        sum(int((~t.fates.sound).sum()) for t in s.trials),
    )
    yield recovery.holds("loss, as injected", s.metric("loss"), hit / of)
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
    """An arm without any injection: whatever is counted would be the instrument's own."""
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
    """A publish call takes at least as long as it blocks, and beyond that what it takes anyway."""
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
    """Processor time beside what the uninjected arm costs, which bounds what else can be in it."""
    burnt = s.options["cpu_burn_ns"]
    sides = {"publisher": burnt.get("publisher", 0), "subscription": burnt.get("reader", 0)}
    for side, truth in sides.items():
        if truth:
            metric = f"cpu_per_message_{side}"
            plain = s.evidence.metric(s.workload, PLAIN.name, metric)
            yield _beside(f"{metric}, what was burnt", s.metric(metric), truth, plain)
            yield _paired(s, metric, truth)


def growing(s: Subject) -> Checks:
    """Memory per message of the whole trial, warm-up and probes included; how many probes there
    were follows from how long the barrier probed."""
    grown = s.options["memory_growth_bytes"]
    sides = {"publisher": grown.get("publisher", 0), "subscription": grown.get("reader", 0)}
    for side, bytes_per_message in sides.items():
        if bytes_per_message:
            metric = f"pss_{side}"
            plain = s.evidence.metric(s.workload, PLAIN.name, metric)
            truth = bytes_per_message * float(np.mean([t.sent_rows for t in s.trials]))
            probes = bytes_per_message * max(2 + t.probes_ns / PROBE_INTERVAL_NS for t in s.trials)
            yield _beside(f"{metric}, what was taken", s.metric(metric), truth, plain, more=probes)


def path(evidence: SyntheticCampaign, workload: str, arm: GridArm) -> Checks:
    """An honest arm is attested; one that asked for a path and took another is void in every trial,
    whatever the middleware says."""
    shown_arm = evidence.arm(workload, arm.name)
    if "lying_path" not in arm.options:
        evidence.done(workload, arm.name)
        attested = str(shown_arm.get("path") or "")
        outcome = (
            recovery.RECOVERED
            if attested.startswith(f"{arm.options['path']} ")
            else recovery.FAILED
        )
        yield TruthCheck(
            "the path is attested", outcome, str(arm.options["path"]), attested or "nothing"
        )
        return
    lines = evidence.trial_lines(workload, arm.name)
    caught = [line for line in lines if Code.PATH in line.codes]
    excused = [line for line in lines if line.cause == "machine"]
    missed = len(lines) - len(set(map(id, caught)) | set(map(id, excused)))
    outcome = recovery.FAILED if missed else recovery.RECOVERED if caught else recovery.UNKNOWN
    yield TruthCheck(
        "every trial is void for its path", outcome, f"{len(lines)} void", f"{len(caught)} void"
    )
    printed = shown_arm["metrics"].get("response_latency_p50", {})
    outcome = recovery.RECOVERED if "no_data" in printed else recovery.FAILED
    yield TruthCheck(
        "no number is printed for it",
        outcome,
        "no data",
        "no data" if "no_data" in printed else "a number",
    )


def twins(evidence: SyntheticCampaign, workload: str, arms: Sequence[GridArm]) -> Checks:
    """Checks two arms of one law: neither may be called worse, so neither best."""
    for arm in arms:
        evidence.done(workload, arm.name)
        verdict = evidence.arm(workload, arm.name)["verdict"]["verdict"]
        fine = verdict in ("equivalent", "undecided")
        outcome = (
            recovery.RECOVERED
            if fine
            else recovery.UNKNOWN
            if verdict == "no data"
            else recovery.FAILED
        )
        yield TruthCheck(f"verdict of `{arm.name}`", outcome, "equivalent or undecided", verdict)


def apart(evidence: SyntheticCampaign, workload: str, arms: Sequence[GridArm]) -> Checks:
    """Checks two arms of which one is 1.5 times as slow: it must be worse, and the ratio's interval
    must hold 1.5; the machine adds to both medians, hence the allowances. Where it makes the ratios
    scatter so much that their interval holds 1 too, nothing can be told; an `undecided` beside an
    interval clear of 1 is a failure."""
    quick, slow = (Subject(evidence, workload, arm) for arm in arms)
    common = {t.block for t in quick.trials} & {t.block for t in slow.trials}
    verdict = evidence.arm(workload, slow.arm.name)["verdict"]
    if len(common) < 5:
        yield TruthCheck(
            "verdict", recovery.UNKNOWN, "worse", f"{have_both(len(common))}, 5 are needed"
        )
        return
    verdict_word, ratio = verdict["verdict"], verdict["ratio"] or {}
    outcome = (
        recovery.RECOVERED
        if (verdict_word, verdict["against"]) == ("worse", quick.arm.name)
        else recovery.FAILED
    )
    if (
        verdict_word == "undecided"
        and "value" in ratio
        and float(ratio["low"]) <= 1 <= float(ratio["high"])
    ):
        outcome, verdict_word = (
            recovery.UNKNOWN,
            f"undecided, ratio {ratio['value']} [{ratio['low']}, {ratio['high']}]",
        )
    yield TruthCheck(
        f"verdict of `{slow.arm.name}`", outcome, f"worse than {quick.arm.name}", verdict_word
    )
    if "value" not in ratio:
        yield TruthCheck("the ratio", recovery.FAILED, f"{RATIO}", "no ratio")
        return
    machine = [_machine_factor(s) for s in (quick, slow)]
    yield recovery.holds(
        "the ratio",
        ratio,
        RATIO,
        below=ratio["low"] * (1 - 1 / machine[1]),
        above=ratio["high"] * (machine[0] - 1),
    )


def truths_of(arm: GridArm) -> list[tuple[str, Callable[[Subject], Checks]]]:
    """What is injected into an arm of the stream: a truth for each setting."""
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
    """Checks that no message is earlier than its own draw, and later only by what the worker
    counted and what passed between the recorder's stamp of the call and the worker's, which lies
    within the publish call."""
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
    """The records themselves hold each message as often as it was to arrive whole, and no other."""
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
    """The span of a quantile in ns: from the draws' own to the latest that it can be with the
    lateness that was counted elsewhere: by the worker at the delivery, and by the publisher's
    records up to the end of the call."""
    sound = t.fates.sound
    late_ns = t.own["lateness_sum_ns"] + float((t.return_ns - since_ns)[sound].sum())
    drawn = _drawn(t)
    return recovery.order_statistic(drawn, q), recovery.latest(
        drawn, late_ns / max(int(sound.sum()), 1), q
    )


def _machine_factor(s: Subject) -> float:
    """The largest factor by which the machine can have stretched the arm's median."""
    logs = []
    for t in s.trials:
        low, high = _span(t, t.intended_ns, 0.5)
        logs.append(np.log(high / low))
    return float(np.exp(np.mean(logs)))


def _lost(s: Subject, t: SyntheticTrial) -> float:
    return sum(s.evidence.per_trial(s.workload, s.arm.name, name)[t.trial] for name in LOST)


def _taken_away(s: Subject) -> float:
    """The fraction of messages of which no sound copy can be doubled."""
    rate = synthetic_campaign.loss_rate(s.options["loss"]) if "loss" in s.options else 0.0
    return 1 - (1 - rate) * (1 - float(s.options.get("corrupt", 0)))


def _overtaken(t: SyntheticTrial) -> float:
    """First sound arrivals behind a higher sequence number, steady ones: the definition, in plain
    Python."""
    arrived_indices: set[int] = set()
    highest, count = -(10**9), 0
    for index, _ in t.arrivals:
        if index not in arrived_indices:
            arrived_indices.add(index)
            count += index >= 0 and index < highest
            highest = max(highest, index)
    return float(count)


def _expected_overtaken(t: SyntheticTrial, by_ns: float) -> tuple[float, float]:
    """How many of the held messages are overtaken: all that are followed in time; fewer only where
    each follower was itself late by what was left of the holding time."""
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
    """The interval of an injected arm, at 99.9 % as those of a law, holds the truth, less at most what
    the uninjected arm costs."""
    if "high" not in plain:
        return TruthCheck(
            label,
            recovery.UNKNOWN,
            f"{truth:.6g}",
            f"the uninjected arm has no value: {plain.get('no_data')}",
        )
    return recovery.holds_law(label, metric, truth, below=float(plain["high"]) + more)


def _paired(s: Subject, metric: str, truth: float) -> TruthCheck:
    """What this arm costs more than the uninjected one, block by block, at 99.9 %. Burning warms
    caches and wakes processors, so the uninjected cost itself is the width by which the truth may
    be missed."""
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
