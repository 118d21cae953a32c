"""A campaign as claims, figures and a questionnaire take it: a shown one, one under way, or what a
shipped file kept of one (summaries.py, questionnaire/questions_file.py)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, pvariance
from typing import TYPE_CHECKING, Any

from rmwbench import codes
from rmwbench.analysis.metrics.latency import SERIES_POINTS
from rmwbench.analysis.verdicts.verdict import lost_by_its_arm
from rmwbench.published.sources import is_suite
from rmwbench.results.model import Estimate, Fact
from rmwbench.words.level_names import named_level

if TYPE_CHECKING:  # what was shipped is judged without all that it was shown by
    from pathlib import Path

    from rmwbench.analysis.metrics.aggregate import MeasuredTrial
    from rmwbench.results import show_model


@dataclass(frozen=True, kw_only=True)
class Values:
    """The values of a metric. `per_trial` maps each block to its value, in the metric's unit."""

    metrics: Mapping[str, Estimate]
    per_trial: Mapping[str, Mapping[int, float]]


NO_VALUES = Values(metrics={}, per_trial={})
Seconds = tuple[tuple[int, float], ...]
"""(second from 1, value); a second without messages has no value."""
OVER_TIME = ("sent", "delivered", "latency_by_second", "latency_variance_by_second")
"""What an arm has second by second in place of a metric: messages per second (the mean over its
trials), and for the trial that its report draws message by message the mean latency in ns and its
variance in ns²."""


@dataclass(frozen=True, kw_only=True)
class CampaignArm(Values):
    """An arm in a workload. `topics`: its values in each topic that is measured by itself; `topic`:
    the topic of its own values, if they do not cover the whole workload. `by_second`: what there is
    of OVER_TIME; None if too many messages leave no mean. `machine_bound`: in how many trials less
    than a tenth of the processors' time was idle, if those are enough to be told. `spoilt_blocks`:
    the blocks that a busy machine spoilt, which no verdict of its workload uses. `lost_blocks`:
    those whose trial failed by the arm's own fault. `silent_blocks`: those whose trial was done but
    left no value that was kept. `touch`: `all` if a file does not say it, because it is older than
    the choice; None if nothing is sent. `done`: the number of its done trials."""

    arm: str
    middleware: str
    layer: str
    version: str | None
    profile: str | None = None
    as_installed: bool = False
    release_date: str | None = None
    is_floor: bool = False
    factors: Mapping[str, Any]
    pair: tuple[str, str] | None = None
    touch: str | None = "all"
    not_supported: str | None = None
    machine_bound: int = 0
    spoilt_blocks: frozenset[int] = frozenset()
    lost_blocks: tuple[int, ...] = ()
    silent_blocks: tuple[int, ...] = ()
    done: int | None = None
    topic: str | None = None
    topics: Mapping[str, Values] = field(default_factory=dict)
    by_second: Mapping[str, Seconds | None] = field(default_factory=dict)

    @cached_property
    def blocks(self) -> frozenset[int]:
        """The blocks of its done trials."""
        return self._blocks_with_value.union(self.silent_blocks)

    @property
    def lost_all(self) -> bool:
        """Whether its own fault ended every trial: there are lost blocks, and no block has a
        value."""
        has_metrics = any(metric.no_data is None for metric in self.metrics.values())
        has_values = bool(self._blocks_with_value) or has_metrics
        return bool(self.lost_blocks) and not (self.done or self.silent_blocks or has_values)

    @property
    def _blocks_with_value(self) -> frozenset[int]:
        parts = [self, *self.topics.values()]
        return frozenset(x for part in parts for values in part.per_trial.values() for x in values)


@dataclass(frozen=True, kw_only=True)
class CampaignWorkload:
    """`name` is contained in `workload`, which also has the levels in brackets if the suite has
    factors. `steady_s`: the length of a trial's steady window; `primary_metric`: the metric that it
    is judged by; None if that is not known."""

    workload: str
    name: str
    arms: tuple[CampaignArm, ...]
    steady_s: float | None = None
    primary_metric: str | None = None


@dataclass(frozen=True, kw_only=True)
class MeasuredCampaign:
    """`machine` describes the machine in one line; `facts` is what is known of it. `wall_s`: the
    time that all of its trials took; None if that is not known. `claim_ids`: the claims that it ran
    for; None if it ran for none. `shipped`: whether it was kept in a file. `titles`: the titles of
    metrics."""

    name: str
    suite: str | None
    title: str | None = None
    directory: str | None = None
    created_utc: str | None = None
    seed: int | None = None
    tool_version: str | None = None
    blocks_complete: int | None = None
    wall_s: float | None = None
    machine: str | None = None
    facts: tuple[Fact, ...] = ()
    workloads: tuple[CampaignWorkload, ...]
    claim_ids: tuple[str, ...] | None = None
    shipped: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def date(self) -> str | None:
        """The day on which it began."""
        return self.created_utc[:10] if self.created_utc else None

    @property
    def host(self) -> str | None:
        """What tells the machine apart from others."""
        return host_name(self.machine, self.fact("kernel"))

    def ran(self, suite: str) -> bool:
        """Whether it is a campaign of the suite that a file of claims or figures names `suite`."""
        return is_suite(suite, str(self.suite))

    def fact(self, name: str) -> str | None:
        """Return what is known of its machine by this name; None if nothing is."""
        return next((fact.value for fact in self.facts if fact.name == name), None)


def host_name(machine: str | None, kernel: str | None) -> str | None:
    """Return what tells a machine apart from others. A description in one line fits many guests of
    one hypervisor, so the whole release of its kernel is part of it."""
    return f"{machine} (kernel {kernel})" if machine and kernel else machine


def of_shown(
    answer: "show_model.SuiteAnswer", claim_ids: Sequence[str] | None = None
) -> MeasuredCampaign:
    """Return all that is taken of a shown campaign. `claim_ids`: as in `MeasuredCampaign`."""
    campaign = answer.campaign
    return MeasuredCampaign(
        name=campaign.name or campaign.directory,
        suite=campaign.suite,
        title=campaign.title,
        directory=campaign.directory,
        created_utc=campaign.created_utc,
        seed=campaign.seed,
        tool_version=campaign.tool_version,
        blocks_complete=campaign.blocks_complete,
        wall_s=campaign.wall_s or None,  # 0: imported trials do not say it
        machine=answer.machine.summary,
        facts=answer.machine.facts,
        workloads=tuple(map(_workload, answer.workloads)),
        claim_ids=None if claim_ids is None else tuple(claim_ids),
        titles={name: entry.title for name, entry in answer.glossary.items()},
    )


class RunningCampaign:
    """A campaign that still runs. Each trial is read once, however often the campaign is asked
    for."""

    def __init__(self, directory: "Path"):
        self._directory = directory
        self._known: dict[int, MeasuredTrial] = {}

    def campaign(self) -> MeasuredCampaign:
        """Read all trials that its journal has by now. Raise UserError if something cannot be
        measured."""
        from rmwbench.bundle import Bundle
        from rmwbench.results.show_document import summarise

        return of_shown(summarise(Bundle(self._directory), measured_trials=self._known))


def name_of(workload: str, arms: Sequence[CampaignArm]) -> str:
    """Return the name of a workload that a summary keeps with its levels in brackets; the levels
    are factors of its arms."""
    factors = arms[0].factors if arms else {}
    levels = ", ".join(named_level(name, level) for name, level in factors.items())
    return workload.removesuffix(f" [{levels}]")


def _workload(workload: "show_model.WorkloadAnswer") -> CampaignWorkload:
    arms = tuple(_arm(workload, arm) for arm in workload.arms)
    return CampaignWorkload(
        workload=workload.workload,
        name=workload.name,
        arms=arms,
        steady_s=workload.steady_s,
        primary_metric=workload.primary_metric,
    )


def _arm(workload: "show_model.WorkloadAnswer", arm: "show_model.WorkloadArm") -> CampaignArm:
    charts = workload.charts
    return CampaignArm(
        arm=arm.arm,
        middleware=arm.middleware,
        layer=arm.layer,
        version=arm.version,
        profile=arm.profile,
        as_installed=arm.as_installed,
        release_date=arm.release_date,
        is_floor=arm.role == "floor",
        factors=arm.factors,
        pair=arm.pair,
        touch=arm.touch,
        not_supported=arm.not_supported,
        machine_bound=arm.disturbed_by.get(codes.Code.MACHINE_BOUND, 0),
        spoilt_blocks=frozenset(workload.machine_bound_blocks),
        lost_blocks=_lost_blocks(arm),
        done=arm.trials.done,
        metrics=arm.metrics,
        per_trial=_values_by_block(arm),
        topics={
            topic.topic: Values(metrics=topic_arm.metrics, per_trial=_values_by_block(topic_arm))
            for topic in workload.topics
            for topic_arm in topic.arms
            if topic_arm.arm == arm.arm
        },
        by_second=seconds_of(
            next((chart for chart in charts.delivered if chart.arm == arm.arm), None),
            next((chart for chart in charts.series if chart.arm == arm.arm), None),
        ),
    )


def seconds_of(
    delivered: "show_model.Delivered | None", series: "show_model.Series | None"
) -> dict[str, Seconds | None]:
    """Return what an arm's charts say second by second."""
    by_metric: dict[str, Seconds | None] = {}
    if delivered is not None:
        by_metric["sent"] = _by_second(delivered.time_s, delivered.sent_hz, fmean)
        by_metric["delivered"] = _by_second(delivered.time_s, delivered.rate_hz, fmean)
    if series is not None:
        # A longer series keeps some messages, and the slowest besides, so it has no mean.
        is_whole = len(series.time_s) < SERIES_POINTS
        for name, reduce in (
            ("latency_by_second", fmean),
            ("latency_variance_by_second", pvariance),
        ):
            seconds = _by_second(series.time_s, series.latency_ns, reduce)
            by_metric[name] = seconds if is_whole else None
    return by_metric


def _by_second(
    times_s: Sequence[float | None],
    values: Sequence[float | None],
    reduce: Callable[[Sequence[float]], float],
) -> Seconds:
    by_second: dict[int, list[float]] = {}
    for time, value in zip(times_s, values, strict=True):
        if time is not None and value is not None:
            by_second.setdefault(int(time) + 1, []).append(value)
    return tuple((second, float(reduce(within))) for second, within in sorted(by_second.items()))


def _values_by_block(arm: "show_model.CommonArm") -> dict[str, dict[int, float]]:
    return {name: {x.block: x.value for x in values} for name, values in arm.per_trial.items()}


def _lost_blocks(arm: "show_model.WorkloadArm") -> tuple[int, ...]:
    """Return the lost blocks, without those that were done when they were tried again."""
    done = {x.block for values in arm.per_trial.values() for x in values}
    lost = {failure.block for failure in arm.trials.failures if lost_by_its_arm(failure)}
    return tuple(sorted(lost - done))
