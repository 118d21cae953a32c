"""The limits that a user accepts, of a suite's `outcomes:`, `capacity`, `show` and `decide`.

All of them share these keys and one kind of file (docs/limits.md):

    limits: four-cameras
    title: a robot with four cameras on one board
    acceptable: {undelivered: 0.001, cpu_cores: 1.5, pss_mib: 400}   # at most, each of them
    topics:
      front: {response_latency_p99_ms: 50}                           # of a topic's own
    of: {workload: cameras, levels: {subscribers: 4}}                # which cells are this robot

Every limit is an upper one, and its key has the unit: times end in `_ms`, memory in `_mib`;
fractions and `cpu_cores` have no suffix.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from rmwbench.analysis.metrics.glossary import GLOSSARY, TopicScope, Use, names_for
from rmwbench.suite.fault import Fault, Scalar, Strict, check_known
from rmwbench.words.numbers import scaled

METRICS = names_for(Use.LIMIT)

_SUFFIX = {"fraction": "", "ns": "_ms", "cores": "", "bytes": "_mib"}
_FACTOR = {"fraction": 1.0, "ns": 1e6, "cores": 1.0, "bytes": float(1 << 20)}
_UNIT_IN_WORDS = {"ns": "in milliseconds", "bytes": "in MiB"}


def key_of(metric: str) -> str:
    """The key of a metric in a file: `response_latency_p99_ms`, `pss_mib`, `undelivered`."""
    return metric + _SUFFIX[GLOSSARY[metric].unit]


_METRIC_OF = {key_of(metric): metric for metric in METRICS}
KEYS = tuple(_METRIC_OF)
TOPIC_KEYS = tuple(key_of(m) for m in METRICS if GLOSSARY[m].topics is not TopicScope.WHOLE)
"""The keys for a single topic; other metrics (end to end, recovery, cost) are of several topics."""


def metric_of(key: str) -> str:
    """The metric of a key of `KEYS`. Raises KeyError for any other."""
    return _METRIC_OF[key]


class Nothing(Strict):
    """The outcome *none*: at least this share of the messages is undelivered. A few messages that
    did not arrive do not show that none ever does."""

    undelivered: Annotated[float, Field(ge=0.5, lt=1.0)] = 0.95


class Limits(Strict):
    """Limits of all topics (`acceptable`) and of single ones (`topics`, by the name of the topic,
    of a reader's node, or `scan_*` for several that differ by a number), which replace those of the
    same metric."""

    acceptable: dict[str, Annotated[float, Field(gt=0.0)]] = Field(default_factory=dict)
    topics: dict[str, dict[str, Annotated[float, Field(gt=0.0)]]] = Field(default_factory=dict)
    nothing: Annotated[Nothing, Field(alias="none")] = Nothing()

    @model_validator(mode="after")
    def _known_metrics(self) -> Self:
        if not self.acceptable and not self.topics:
            raise Fault(
                "there is no limit",
                expected="at least one under `acceptable` or `topics`",
                at=("acceptable",),
            )
        _check(self.acceptable, KEYS, ("acceptable",))
        for topic, limits in self.topics.items():
            at = ("topics", topic)
            if not limits:
                raise Fault(f"topic `{topic}` has no limit", expected="at least one limit", at=at)
            _check(limits, TOPIC_KEYS, at)
        return self

    def document(self) -> dict[str, Any]:
        """The limits as the plan document has them, in the units of the metrics: times in ns."""
        topic_limits = {topic: _document(limits) for topic, limits in self.topics.items()}
        return {
            "acceptable": _document(self.acceptable),
            **({"topics": topic_limits} if topic_limits else {}),
            "none": {"metric": "undelivered", "at_least": self.nothing.undelivered},
        }


class LimitsCase(Strict):
    """The cells of a campaign that are the user's case: those of a workload, by default of any, at
    these levels."""

    workload: str | None = None
    levels: dict[str, Scalar] = Field(default_factory=dict)

    def has(self, workload: str, levels: Mapping[str, Any]) -> bool:
        """Whether a cell of this workload (a name without levels) at these levels is in the
        case."""
        if self.workload not in (None, workload):
            return False
        return all(name in levels and levels[name] == level for name, level in self.levels.items())


class LimitsFile(Limits):
    """A limits file. `limits` is its name."""

    limits: str
    title: str = ""
    of: LimitsCase = LimitsCase()


def _document(limits: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"metric": metric, "at_most": scaled(limit, _FACTOR[GLOSSARY[metric].unit])}
        for metric, limit in zip(map(metric_of, limits), limits.values(), strict=True)
    ]


def _check(limits: dict[str, float], keys: tuple[str, ...], at: tuple[str, ...]) -> None:
    for name, limit in limits.items():
        if name not in keys and name in METRICS and key_of(name) in keys:
            raise Fault(
                f"the limit of `{name}` has no unit",
                expected=f"`{key_of(name)}`, {_UNIT_IN_WORDS[GLOSSARY[name].unit]}",
                at=(*at, name),
            )
        check_known("limit", name, keys, at=(*at, name))
        if name in METRICS and GLOSSARY[name].kind == "fraction" and limit >= 1:
            raise Fault(
                f"`{name}` is a fraction",
                expected="less than 1, as 0.01 for 1 %",
                actual=limit,
                at=(*at, name),
            )
