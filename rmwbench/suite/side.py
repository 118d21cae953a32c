"""A side of a trial: the middleware that processes run, and how it is configured.

Most arms have one side. An arm with several middlewares (interoperability) has one for all its
processes and others for those that it names.

A side is configured by a profile, by options of its middleware, and by modes, which are common to
all middlewares. A mode replaces the setting of the profile. Each worker maps modes to its own
configuration, and answers `unsupported` to a level that its middleware does not have; the cell is
then `not supported`, with that reason.
"""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from rmwbench.suite.fault import Fault, Scalar, Strict, check_known, text_beside, unknown

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
"""A profile is sent in one protocol line of at most 1 MiB."""

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
