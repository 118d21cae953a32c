"""An arm: a middleware with its configuration. A suite compares arms.

Most arms have one side. An arm with several middlewares (interoperability) has one for all its
processes and others for those that it names. A side is configured by a profile, by options of its
middleware, and by modes, which are common to all middlewares. A mode replaces the setting of the
profile. Each worker maps modes to its own configuration, and answers `unsupported` to a level that
its middleware does not have; the cell is then `not supported`, with that reason.

The names of the shipped middlewares are known, so that a misspelt one is refused before a trial
runs; callers of `parse` add the names of other workers. A user's profile file is read with the
suite, so that a cell has the text that it ran with.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from rmwbench.command_name import as_typed
from rmwbench.suite.fault import (
    Fault,
    Scalar,
    Strict,
    check_known,
    elsewhere,
    text_beside,
    unknown,
)
from rmwbench.suite.name_rules import ArmName
from rmwbench.suite.process_conditions import Background, HostIdle

MODE_PREFIX = "modes."

WORDS: dict[str, tuple[str, ...]] = {
    "transport": ("udp", "tcp", "unix", "shm", "intra_process"),
    "congestion": ("drop", "block"),
    "discovery": ("multicast", "spdp", "peers", "server", "routers", "client"),
    "executor": ("single_threaded", "multi_threaded", "events", "events_cbg", "static"),
}
SWITCHES = ("batching", "security", "compression")
NUMBERS = ("shm_pool_bytes", "threads")
MODES = (*WORDS, *SWITCHES, *NUMBERS)
MAX_NUMBER = 1 << 40


def _check_modes(modes: dict[str, Any]) -> dict[str, Any]:
    """Raises Fault for an unknown mode, or for a level that a mode does not have."""
    for name, level in modes.items():
        at = (name,)
        check_known("mode", name, MODES, at=at)
        if name in WORDS:
            check_known(f"level of mode `{name}`", level, WORDS[name], at=at)
        elif name in SWITCHES:
            if not isinstance(level, bool):
                what = f"mode `{name}` is on or off"
                raise Fault(what, expected="true or false", actual=level, at=at)
        elif isinstance(level, bool) or not isinstance(level, int) or not 1 <= level <= MAX_NUMBER:
            what = f"mode `{name}` is a whole number"
            raise Fault(what, expected=f"1 to {MAX_NUMBER}", actual=level, at=at)
    return modes


Modes = Annotated[dict[str, Scalar], AfterValidator(_check_modes)]


FORMAT_OF_SUFFIX = {
    ".json5": "json5",
    ".json": "json5",
    ".xml": "xml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
}
MAX_PROFILE_BYTES = 256 * 1024
"""Each cell of a campaign stores the text of its profile."""

INSTALLED = ("rclcpp/", "rclpy/")
"""Prefixes of middlewares that a ROS 2 brings along. They depend on the machine, so any name with
such a prefix is known."""

SERIES = re.compile(r"(.+)-\d+\.\d+")
"""A middleware's name with the series of its version, `fastdds-2.9`. The series depend on the
machine too, so the name is known if the one without a series is."""


def bare(middleware: str) -> str:
    """A middleware's name without its series: `fastdds` for `fastdds-2.9`."""
    match = SERIES.fullmatch(middleware)
    return match[1] if match else middleware


class Profile(Strict):
    """`text` is the content of a user's own file; None for a profile embedded in the worker, which
    `WORKER --describe` prints."""

    name: str
    format: str | None = None
    text: str | None = None

    def definition(self) -> dict[str, str]:
        return self.model_dump(exclude_none=True)


UNTOUCHED = Profile(name="untouched")


def _profile(value: Any, info: ValidationInfo) -> Any:
    """Reads the name of an embedded profile or the path of a file; returns a mapping or a Profile
    as it is."""
    if not isinstance(value, str):
        return value
    path = Path(value)
    if "/" not in value and path.suffix not in FORMAT_OF_SUFFIX:
        return Profile(name=value)
    if path.suffix not in FORMAT_OF_SUFFIX:
        raise Fault(
            f"the format of profile `{value}` is not known",
            expected="a file ending in " + ", ".join(FORMAT_OF_SUFFIX),
            actual=value,
        )
    fix = "; an embedded profile is named without directory or suffix"
    text = text_beside("profile", value, info, MAX_PROFILE_BYTES, fix=fix)
    return Profile(name=path.stem, format=FORMAT_OF_SUFFIX[path.suffix], text=text)


def _known_middleware(name: str, info: ValidationInfo) -> str:
    known = (info.context or {}).get("middlewares")
    names = {name, bare(name)}
    if known is not None and names.isdisjoint(known) and not name.startswith(INSTALLED):
        raise unknown("middleware", name, list(known))
    return name


class DaemonFile(Strict):
    """The configuration file of the middleware's own daemon, a router."""

    profile: Annotated[Profile, BeforeValidator(_profile)]


MiddlewareName = Annotated[str, AfterValidator(_known_middleware)]
ProfileName = Annotated[Profile, BeforeValidator(_profile)]
Options = dict[str, Scalar]


class Side(Strict):
    """`profile` is the name of an embedded profile, or the path of the user's own file (relative to
    the suite's). `daemon` is the file of the daemon that it connects to; None for the worker's
    own."""

    middleware: MiddlewareName
    profile: ProfileName = UNTOUCHED
    options: Options = Field(default_factory=dict)
    modes: Modes = Field(default_factory=dict)
    daemon: DaemonFile | None = None

    def side_definition(self) -> dict[str, Any]:
        """The side as a cell stores it. Empty `modes` and an absent `daemon` are left out: the
        definition is compared with those of older campaigns."""
        definition: dict[str, Any] = {
            "middleware": self.middleware,
            "profile": self.profile.definition(),
            "options": dict(self.options),
        }
        if self.modes:
            definition["modes"] = dict(self.modes)
        if self.daemon is not None:
            definition["daemon"] = self.daemon.profile.definition()
        return definition


class Override(Strict):
    """The side of some processes in place of the arm's. An absent value is the arm's, but another
    middleware has its profile `untouched` and no options, since both belong to one middleware."""

    middleware: MiddlewareName | None = None
    profile: ProfileName | None = None
    options: Options | None = None
    modes: Modes | None = None
    daemon: DaemonFile | None = None

    def over(self, base: Side) -> Side:
        same = self.middleware in (None, base.middleware)
        return Side.model_construct(
            middleware=self.middleware or base.middleware,
            profile=self.profile or (base.profile if same else UNTOUCHED),
            options=dict(base.options if same else {}) if self.options is None else self.options,
            modes=base.modes if self.modes is None else self.modes,
            daemon=self.daemon or (base.daemon if same else None),
        )


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
