"""Quality of service in ROS 2's terms. A contradiction is refused here; a middleware might ignore
it silently."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rmwbench.suite.fault import Fault, Strict

DEFAULT_DEPTH, MOST_DEPTH = 10, 1_000_000

Depth = Annotated[int, Field(le=MOST_DEPTH)]


class Qos(Strict):
    """The defaults are ROS 2's: reliable, volatile, the last 10. `depth` is absent with
    `keep_all`."""

    reliability: Literal["reliable", "best_effort"] = "reliable"
    durability: Literal["volatile", "transient_local"] = "volatile"
    history: Literal["keep_last", "keep_all"] = "keep_last"
    depth: Depth | None = None
    content_filter: str | None = None
    instance_key: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Qos":
        if self.history == "keep_all" and self.depth is not None:
            raise Fault(
                "`depth` contradicts `history: keep_all`, which keeps every message",
                expected="`depth` with `keep_last` only",
                actual=f"history: keep_all, depth: {self.depth}",
                fix="remove `depth`, or write `history: keep_last`",
                at=("depth",),
            )
        if self.depth is not None and self.depth < 1:
            raise Fault(
                f"`depth: {self.depth}` keeps nothing",
                expected="at least 1",
                actual=self.depth,
                fix="ROS 2's default is 10",
                at=("depth",),
            )
        return self

    def wire(self) -> dict[str, Any]:
        """The `qos` object of the worker protocol; its depth is 0 with `keep_all`."""
        depth = 0 if self.history == "keep_all" else self.depth or DEFAULT_DEPTH
        settings = self.model_dump() | {"depth": depth}
        return {key: value for key, value in settings.items() if value is not None}


def incompatibility(writer: Qos, reader: Qos) -> str | None:
    """The reason why DDS would never match the two (a reader may not request more than its writer
    offers), or None where they match."""
    if writer.reliability == "best_effort" and reader.reliability == "reliable":
        return "a reliable subscription never matches a best-effort publisher"
    if writer.durability == "volatile" and reader.durability == "transient_local":
        return "a transient-local subscription never matches a volatile publisher"
    return None
