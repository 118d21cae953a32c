"""An arm: a middleware with its configuration. A suite compares arms.

The names of the shipped middlewares are known, so that a misspelt one is refused before a trial
runs; callers of `parse` add the names of other workers. A user's profile file is read with the
suite, so that a cell has the text that it ran with.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from rmwbench.command_name import as_typed
from rmwbench.suite.fault import Fault, elsewhere
from rmwbench.suite.name_rules import ArmName
from rmwbench.suite.process_conditions import Background, HostIdle
from rmwbench.suite.side import MODES, Override, Side

Wait = Literal["block", "poll", "callback"]
PublishMode = Literal["default", "sync", "async"]
Take = Literal["typed", "raw"]
Role = Literal["contender", "floor"]

EITHER = "|"
"""The separator between the names of processes with the same override."""

WORKLOAD_KEYS = ("message", "rate_hz", "qos", "touch", "network", "timeline", "primary_metric")
LINK_KEYS = ("loss", "rate_mbps", "delay_ms", "jitter_ms")
QOS_KEYS = ("reliability", "durability", "history", "depth")
"""Keys of other parts that users may look for in an arm; they are the same for all arms."""

RESOLVED = frozenset({*Side.model_fields, "processes", "optional", "background", "host_idle"})
"""The keys of an arm whose effect is in another part of a cell's definition: its sides, its
conditions."""


class Arm(Side):
    """`processes` overrides the side of some processes: the key `listener` stands for `listener`,
    `listener_1`, `listener_2`…, and `listener|service` for both.

    An `optional` arm is left out, with the reason, where one of its middlewares is not ready: a ROS
    2 that is not sourced is not a mistake.

    `against` names the arm that this one differs from in one thing, such as a feature on and off.
    The report gives the ratio of the two, metric by metric, with an interval of its own.

    `take` is how subscriptions take messages: `typed`, as any user of the API gets a message (in
    the reader's own memory, or lent where the API lends), or `raw`, serialised in the middleware's
    receive buffer.

    `background` and `host_idle` replace the workload's for this arm, so that a suite can compare a
    middleware on an idle and on a busy machine.
    """

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        **elsewhere(
            "`networks: {thin: {links: {all: {both: {KEY: …}}}}}` of the suite, for all arms",
            LINK_KEYS,
        ),
        **elsewhere("`modes: {KEY: …}`", MODES),
        **elsewhere("`qos: {KEY: …}` of a workload, for all arms", QOS_KEYS),
        **elsewhere("`KEY` of a workload, for all arms", WORKLOAD_KEYS),
    }

    name: ArmName
    optional: bool = False
    processes: dict[str, Override] = Field(default_factory=dict)
    wait: Wait = "block"
    loan: bool = False
    publish_mode: PublishMode = "default"
    take: Take = "typed"
    against: ArmName | None = None
    role: Role | None = None
    background: Background | None = None
    host_idle: HostIdle | None = None

    @model_validator(mode="after")
    def _each_process_once(self) -> "Arm":
        key_of: dict[str, str] = {}
        for key in self.processes:
            for name in key.split(EITHER):
                if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                    raise Fault(
                        f"`{key}` names no process",
                        expected="a process, or several joined by `|`, such as listener|service",
                        actual=key,
                        at=("processes", key),
                    )
                if name in key_of:
                    raise Fault(
                        f"process `{name}` is overridden twice",
                        expected="each process once",
                        actual=f"`{key_of[name]}` and `{key}`",
                        at=("processes", key),
                    )
                key_of[name] = key
        return self

    @property
    def middlewares(self) -> tuple[str, ...]:
        """The middlewares that any of its processes may run."""
        overrides = (override.middleware for override in self.processes.values())
        return tuple(dict.fromkeys([self.middleware, *filter(None, overrides)]))

    @property
    def is_floor(self) -> bool:
        """Whether it is the floor, with which the contenders are compared."""
        return (self.role or ("floor" if self.middleware == "floor" else "contender")) == "floor"

    def key_of(self, process: str) -> str | None:
        """The key of `processes` for a process, or None: that of its exact name before that of its
        name without a number."""
        for name in (process, re.sub(r"_\d+$", "", process)):
            for key in self.processes:
                if name in key.split(EITHER):
                    return key
        return None

    def side(self, process: str) -> Side:
        key = self.key_of(process)
        return self if key is None else self.processes[key].over(self)

    def definition(self) -> dict[str, Any]:
        """The arm as a cell stores it, without keys at their defaults: a new key does not change
        the definitions of older campaigns."""
        always_stored = {
            "name": self.name,
            **self.side_definition(),
            "role": "floor" if self.is_floor else "contender",
            "wait": self.wait,
            "loan": self.loan,
            "publish_mode": self.publish_mode,
        }
        definition = always_stored | self.non_defaults(without={*RESOLVED, *always_stored})
        if self.processes:
            definition["processes"] = {
                key: override.over(self).side_definition()
                for key, override in self.processes.items()
            }
        return definition


def left_out_lines(absent: Mapping[str, str]) -> list[str]:
    """Lines of `ARMS: REASON`, one for each reason. `absent`: arm -> the reason why it cannot run
    on this machine, with the command that changes it."""
    arms: dict[str, list[str]] = {}
    for arm, reason in absent.items():
        arms.setdefault(reason, []).append(arm)
    return [as_typed(f"{', '.join(names)}: {reason}") for reason, names in arms.items()]
