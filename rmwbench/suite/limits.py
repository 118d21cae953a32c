"""What a user accepts: the limits of a suite's `outcomes:`, `capacity`, `show` and `decide`.

One vocabulary and one file for all of them (docs/limits.md):

    limits: four-cameras
    title: a robot with four cameras on one board
    acceptable: {undelivered: 0.001, cpu_cores: 1.5, pss_mib: 400}   # at most, each of them
    topics:
      front: {response_latency_p99_ms: 50}                           # of a topic's own
    of: {workload: cameras, levels: {subscribers: 4}}                # which cells are this robot

Every limit is an upper one, and its unit stands in its name: fractions are bare, times end in
`_ms`, memory in `_mib`, `cpu_cores` says it itself.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from rmwbench.analysis.metrics.glossary import GLOSSARY, TopicScope, Use, names_for
from rmwbench.suite.fault import Fault, Scalar, Strict, unknown
from rmwbench.words.numbers import scaled

METRICS = names_for(Use.LIMIT)
OF_TOPICS = tuple(name for name in METRICS if GLOSSARY[name].topics is not TopicScope.WHOLE)
"""The metrics that a single topic can have; the others (end to end, recovery, cost) need several
topics."""

_SUFFIX = {"fraction": "", "ns": "_ms", "cores": "", "bytes": "_mib"}
_FACTOR = {"fraction": 1.0, "ns": 1e6, "cores": 1.0, "bytes": float(1 << 20)}
_UNIT_IN_WORDS = {"ns": "in milliseconds", "bytes": "in MiB"}


def key_of(metric: str) -> str:
    """How a file says it: `response_latency_p99_ms`, `pss_mib`, `undelivered`."""
    return metric + _SUFFIX[GLOSSARY[metric].unit]


_METRIC_OF = {key_of(metric): metric for metric in METRICS}
KEYS = tuple(_METRIC_OF)
TOPIC_KEYS = tuple(key_of(metric) for metric in OF_TOPICS)


def metric_of(key: str) -> str:
    """The metric of a key of `KEYS`. KeyError for any other."""
    return _METRIC_OF[key]


class Nothing(Strict):
    """The lower bound of what is undelivered, from which "nothing arrived" is believed: a few
    messages that did not arrive do not show that none ever does."""

    undelivered: Annotated[float, Field(ge=0.5, lt=1.0)] = 0.95


class Limits(Strict):
    """`topics`: limits for one topic, or for a reader by its node's name; each replaces the limit
    in `acceptable` for the same metric. A pattern such as `scan_*` names several."""

    acceptable: dict[str, Annotated[float, Field(gt=0.0)]] = Field(default_factory=dict)
    topics: dict[str, dict[str, Annotated[float, Field(gt=0.0)]]] = Field(default_factory=dict)
    nothing: Annotated[Nothing, Field(alias="none")] = Nothing()

    @field_validator("acceptable")
    @classmethod
    def _known_metrics(cls, limits: dict[str, float]) -> dict[str, float]:
        _check(limits, KEYS)
        return limits

    @field_validator("topics")
    @classmethod
    def _known_of_topics(cls, topics: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        for topic, limits in topics.items():
            if not limits:
                raise Fault(
                    f"topic `{topic}` has no limit",
                    expected="at least one limit",
                    actual="nothing",
                    at=(topic,),
                )
            _check(limits, TOPIC_KEYS, (topic,))
        return topics

    @model_validator(mode="after")
    def _says_something(self) -> "Limits":
        if not self.acceptable and not self.topics:
            raise Fault(
                "nothing says what is acceptable",
                expected="at least one limit",
                actual="an empty mapping",
                at=("acceptable",),
            )
        return self

    def document(self) -> dict[str, Any]:
        """The limits as the plan document has them: every limit in its metric's own unit, times in
        ns."""
        topic_limits = {topic: _document(limits) for topic, limits in self.topics.items()}
        return {
            "acceptable": _document(self.acceptable),
            **({"topics": topic_limits} if topic_limits else {}),
            "none": {"metric": "undelivered", "at_least": self.nothing.undelivered},
        }


class LimitsCase(Strict):
    """Which cells of a campaign are the user's case: a workload by its name, and levels of factors;
    what is not named may be any."""

    workload: str | None = None
    levels: dict[str, Scalar] = Field(default_factory=dict)

    def has(self, workload: str, levels: Mapping[str, Any]) -> bool:
        """Whether a cell of this workload (without its levels) at these levels is one of them."""
        if self.workload not in (None, workload):
            return False
        return all(name in levels and levels[name] == level for name, level in self.levels.items())


class LimitsFile(Limits):
    """A user's limits as a file of their own. `limits` is their name."""

    limits: str
    title: str = ""
    of: LimitsCase = LimitsCase()


def _document(limits: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"metric": metric, "at_most": scaled(limit, _FACTOR[GLOSSARY[metric].unit])}
        for metric, limit in ((metric_of(key), limit) for key, limit in limits.items())
    ]


def _check(limits: dict[str, float], keys: tuple[str, ...], at: tuple[str, ...] = ()) -> None:
    for name, limit in limits.items():
        if name not in keys and name in METRICS and key_of(name) in keys:
            raise Fault(
                f"the limit of `{name}` has no unit",
                expected=f"`{key_of(name)}`, {_UNIT_IN_WORDS[GLOSSARY[name].unit]}",
                at=(*at, name),
            )
        if name not in keys:
            raise unknown("limit", name, list(keys), at=(*at, name))
        if name in METRICS and GLOSSARY[name].kind == "fraction" and limit >= 1:
            raise Fault(
                f"`{name}` is a fraction",
                expected="less than 1, as 0.01 for 1 %",
                actual=limit,
                at=(*at, name),
            )
