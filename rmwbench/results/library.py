"""The answer of a campaign for Python programs, which `rmwbench.open` returns (docs/library.md).

It has the same numbers as `rmwbench show --json`, with all their digits, as frozen objects. Names
may be added and are never changed. Times are in ns, memory in bytes, shares between 0 and 1; each
metric has its unit with it. A metric that was not measured has no value and a reason; a quantile
that lost messages reach is infinite."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rmwbench.analysis.metrics.fates import Fates
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.bundle import Bundle
from rmwbench.bundle.newest import newest_campaign
from rmwbench.results import model, show_model
from rmwbench.results.show_document import suite_answer
from rmwbench.words.numbers import counted

if TYPE_CHECKING:
    import pyarrow as pa


ABOUT = ("workload", "topic", "arm", "middleware", "version", "profile")
"""The first columns of every table."""


@dataclass(frozen=True)
class MetricResult(model.Estimate):
    """An estimate with its metric's name."""

    name: str = field(kw_only=True)

    @property
    def title(self) -> str:
        return GLOSSARY[self.name].title

    def __float__(self) -> float:
        """Return the value. Raises ValueError with the reason if there is none."""
        if self.value is None:
            raise ValueError(f"{self.name} has no value: {self.no_data or 'only a bound is known'}")
        return float(self.value)


def metric_of(name: str, estimate: model.Estimate | None) -> MetricResult:
    """Return the estimate as a campaign shows it; without data if there is none."""
    if estimate is None:
        estimate = model.NoData(GLOSSARY[name].unit, no_data="not measured for this arm")
    return MetricResult(name=name, **vars(estimate))


@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """The percentiles of one latency. A percentile that a workload does not have says so in its
    `no_data`."""

    p50: MetricResult
    p90: MetricResult
    p99: MetricResult
    p999: MetricResult


@dataclass(frozen=True, kw_only=True)
class VerdictResult:
    """The verdict of an arm. `verdict`: best, equivalent, worse, undecided, alone, reference or `no
    data`; `by`: the reason why an arm is worse (delivery, primary, failure); `fates`: if that is
    delivery, the fates of the messages that it did not deliver."""

    verdict: str
    against: str | None
    ratio: model.Ratio
    by: str | None
    fates: Fates | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class ArmResult:
    """An arm in one workload or in one of its topics. `path` is the one that most bytes took; None
    in a topic."""

    name: str
    middleware: str
    layer: str
    version: str | None
    profile: str | None
    release_date: str | None
    is_floor: bool
    factors: Mapping[str, Any]
    path: str | None
    flags: tuple[str, ...]
    not_supported: str | None
    verdict: VerdictResult
    times_floor: model.Ratio
    metrics: Mapping[str, MetricResult]
    per_trial: Mapping[str, tuple[show_model.TrialValue, ...]]

    @property
    def response_latency(self) -> Quantiles:
        """The time from the intended send time until the message is taken."""
        return self._quantiles("response_latency")

    @property
    def consumed_latency(self) -> Quantiles:
        """The time from the intended send time until the payload was read."""
        return self._quantiles("consumed_latency")

    @property
    def service_latency(self) -> Quantiles:
        """The time from the publish call until the message is taken."""
        return self._quantiles("service_latency")

    @property
    def publish_call(self) -> Quantiles:
        """The time for which the publish call keeps its caller."""
        return self._quantiles("publish_call")

    def _quantiles(self, stem: str) -> Quantiles:
        def percentile(label: str) -> MetricResult:
            name = f"{stem}_{label}"
            if name not in GLOSSARY:
                return MetricResult(name=name, unit="ns", no_data="no such percentile is computed")
            return self.metrics.get(name) or metric_of(name, None)

        return Quantiles(**{label.name: percentile(label.name) for label in fields(Quantiles)})


@dataclass(frozen=True, kw_only=True)
class TopicResult:
    """A topic of a workload whose topics are unlike."""

    name: str
    arms: Mapping[str, ArmResult]


@dataclass(frozen=True, kw_only=True)
class WorkloadResult:
    """A workload. `topics` is empty if it has one topic, or only topics that are alike."""

    name: str
    title: str
    primary_metric: str
    arms: Mapping[str, ArmResult]
    topics: Mapping[str, TopicResult]


class Campaign:
    """A campaign of a suite, read when it was opened."""

    def __init__(self, directory: Path | str):
        """Read the campaign. Raises UserError if the directory is not a campaign of a suite, or
        cannot be read."""
        self.directory = Path(directory)
        self._shown = suite_answer(self.directory, "programs")

    def __repr__(self) -> str:
        workloads = counted(len(self.workloads), "workload")
        return f"<Campaign {self.name}: suite {self.suite}, {workloads}>"

    @property
    def name(self) -> str:
        return str(self._shown.campaign.name)

    @property
    def suite(self) -> str:
        return str(self._shown.campaign.suite)

    @property
    def created_utc(self) -> str:
        return str(self._shown.campaign.created_utc)

    @property
    def finished(self) -> bool:
        return self._shown.campaign.finished

    @property
    def machine(self) -> str:
        """The machine in one line; `document["machine"]` has all facts."""
        return self._shown.machine.summary

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The whole answer, as `rmwbench show --json` prints it (docs/formats/show.md)."""
        return MappingProxyType(model.document(self._shown))

    @cached_property
    def workloads(self) -> Mapping[str, WorkloadResult]:
        return MappingProxyType({w.workload: _workload(w) for w in self._shown.workloads})

    @property
    def arms(self) -> Mapping[str, Mapping[str, ArmResult]]:
        return MappingProxyType({name: workload.arms for name, workload in self.workloads.items()})

    def metrics_table(self) -> "pa.Table":
        """Return a row per workload, topic (null: the whole), arm and metric, as pyarrow:
        `.to_pandas()` and `polars.from_arrow` make frames of it. A metric without a value is null,
        with its reason in `no_data`."""
        numbers = dict.fromkeys(("value", "low", "high", "at_least"), "float64")
        of_metric = {**numbers, "count": "int64", "trials": "int64", "no_data": "string"}
        rows = [
            {
                **_about(workload, topic, arm),
                "verdict": arm.verdict.verdict,
                "metric": name,
                "unit": metric.unit,
                **{column: getattr(metric, column) for column in of_metric},
            }
            for workload, topic, arm in self._places()
            for name, metric in arm.metrics.items()
        ]
        return _table(rows, (*ABOUT, "verdict", "metric", "unit"), of_metric)

    def trials_table(self) -> "pa.Table":
        """Return a row per workload, topic, arm, metric and trial: blocks and intervals are made of
        these values."""
        of_trial = {"trial": "int64", "block": "int64", "value": "float64"}
        rows = [
            {
                **_about(workload, topic, arm),
                "metric": name,
                "unit": GLOSSARY[name].unit,
                **vars(trial_value),
            }
            for workload, topic, arm in self._places()
            for name, values in arm.per_trial.items()
            for trial_value in values
        ]
        return _table(rows, (*ABOUT, "metric", "unit"), of_trial)

    def table(self, name: str, trial: int | None = None) -> "pa.Table":
        """Return a table of the bundle (docs/formats/bundle.md), such as `sent` or `received`, of
        one trial or of all."""
        return Bundle(self.directory).table(name, trial)

    def _places(self) -> Iterator[tuple[WorkloadResult, str | None, ArmResult]]:
        for workload in self.workloads.values():
            yield from ((workload, None, arm) for arm in workload.arms.values())
            for topic in workload.topics.values():
                yield from ((workload, topic.name, arm) for arm in topic.arms.values())


def open_campaign(directory: Path | str | None = None) -> Campaign:
    """Return the campaign in that directory; the newest below ./campaigns if it is None. Raises
    UserError if there is none."""
    return Campaign(newest_campaign() if directory is None else directory)


def _table(
    rows: list[dict[str, Any]], strings: Iterable[str], others: Mapping[str, str]
) -> "pa.Table":
    """Return the rows with their columns of `strings` first. `others`: column -> its type."""
    import pyarrow as pa

    types = {**dict.fromkeys(strings, "string"), **others}
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in types.items()])
    return pa.Table.from_pylist(rows, schema=schema)


def _workload(workload: show_model.WorkloadAnswer) -> WorkloadResult:
    return WorkloadResult(
        name=workload.workload,
        title=workload.title,
        primary_metric=workload.primary_metric,
        arms=_arms(workload.arms),
        topics=MappingProxyType(
            {
                topic.topic: TopicResult(name=topic.topic, arms=_arms(topic.arms))
                for topic in workload.topics
            }
        ),
    )


def _arms(arms: Sequence[show_model.AnyArm]) -> Mapping[str, ArmResult]:
    return MappingProxyType({arm.arm: _arm(arm) for arm in arms})


def _arm(arm: show_model.AnyArm) -> ArmResult:
    whole = arm if isinstance(arm, show_model.WorkloadArm) else None
    return ArmResult(
        name=arm.arm,
        middleware=arm.middleware,
        layer=arm.layer,
        version=arm.version,
        profile=arm.profile,
        release_date=arm.release_date,
        is_floor=arm.role == "floor",
        factors=MappingProxyType(dict(whole.factors if whole else {})),
        path=whole.path if whole else None,
        flags=whole.flags if whole else (),
        not_supported=whole.not_supported if whole else None,
        verdict=replace(
            model.with_fields_of(VerdictResult, arm.verdict),
            ratio=arm.verdict.ratio or model.Ratio(),
        ),
        times_floor=arm.times_floor,
        metrics=MappingProxyType(
            {name: metric_of(name, estimate) for name, estimate in arm.metrics.items()}
        ),
        per_trial=MappingProxyType(dict(arm.per_trial)),
    )


def _about(workload: WorkloadResult, topic: str | None, arm: ArmResult) -> dict[str, str | None]:
    values = (workload.name, topic, arm.name, arm.middleware, arm.version, arm.profile)
    return dict(zip(ABOUT, values, strict=True))
