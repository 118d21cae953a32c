"""`outcomes:` of a suite: from what on a condition counts as acceptable, and as one in which nothing arrives.

    outcomes:
      acceptable: {undelivered: 0.01, service_latency_p50_ms: 30}   # at most, each of them
      none: {undelivered: 0.95}                                     # nothing arrived, and so much at least does not

      topics:                                                       # of a topic's own, beside or instead of these
        front: {undelivered: 0.05, response_latency_p50_ms: 50}

What lies between is degraded. A fraction stands as it is, a time in milliseconds with `_ms` behind the metric's name.
How an arm is judged by them is in `analysis/outcomes.py`.
"""

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from rmwbench.suite.fault import Fault, Strict, unknown

FRACTIONS = ("undelivered", "loss", "lost_after_first", "end_to_end_undelivered", "end_to_end_loss")
TIMES = (
    *(f"{latency}_latency_p{q}" for latency in ("response", "service", "consumed") for q in (50, 90, 99)),
    *(f"end_to_end_latency_p{q}" for q in (50, 90, 95, 99)),
    "longest_stall",
    "recovery_time",
    "late_match_time",
)
NS_PER_MS = 1e6
_MS = "_ms"
KEYS = (*FRACTIONS, *(name + _MS for name in TIMES))


OF_TOPICS = (*FRACTIONS[:2], *TIMES[:9])
"""What a topic has by itself: end to end, and to recover, is of several."""
TOPIC_KEYS = tuple(name + _MS if name in TIMES else name for name in OF_TOPICS)


class Nothing(Strict):
    """The lower bound of what is undelivered, from which "nothing arrived" is believed: a few messages that did not
    arrive do not show that none ever does."""

    undelivered: Annotated[float, Field(ge=0.5, lt=1.0)] = 0.95


class Outcomes(Strict):
    """`topics`: limits of single topics, which take the place of those of `acceptable` for the same metric there; alike
    ones may be named together, as `scan_*`."""

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
                    f"topic `{topic}` has no limit", expected="at least one limit", actual="nothing", at=(topic,)
                )
            _check(limits, TOPIC_KEYS, (topic,))
        return topics

    @model_validator(mode="after")
    def _says_something(self) -> "Outcomes":
        if not self.acceptable and not self.topics:
            raise Fault(
                "nothing says what is acceptable",
                expected="at least one limit",
                actual="an empty mapping",
                at=("acceptable",),
            )
        return self

    def document(self) -> dict[str, Any]:
        """As the plan document has it: every limit in its metric's own unit, times in nanoseconds."""
        own = {topic: _document(limits) for topic, limits in self.topics.items()}
        return {
            "acceptable": _document(self.acceptable),
            **({"topics": own} if own else {}),
            "none": {"metric": "undelivered", "at_least": self.nothing.undelivered},
        }


def _document(limits: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {"metric": name.removesuffix(_MS), "at_most": limit * NS_PER_MS if name.endswith(_MS) else limit}
        for name, limit in limits.items()
    ]


def _check(limits: dict[str, float], keys: tuple[str, ...], at: tuple[str, ...] = ()) -> None:
    for name, limit in limits.items():
        if name in TIMES:
            raise Fault(
                f"the limit of `{name}` has no unit", expected=f"`{name}{_MS}`, in milliseconds", at=(*at, name)
            )
        if name not in keys:
            raise unknown("limit", name, list(keys), at=(*at, name))
        if name in FRACTIONS and limit >= 1:
            raise Fault(
                f"`{name}` is a fraction", expected="less than 1, as 0.01 for 1 %", actual=limit, at=(*at, name)
            )
