"""An arm: a middleware and how it is configured. Arms are what a suite compares.

The suite knows the middlewares that ship with rmwbench by name only, so that a misspelt one is caught before anything
runs; others are announced to `load` by whoever found their workers. A user's profile file is read here, at load, so
that a cell carries the text it ran with.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.machine_condition import Background, HostIdle
from rmwbench.suite.names import ArmName
from rmwbench.suite.scalar import Scalar

SHIPPED_MIDDLEWARES = ("floor", "synthetic", "null", "iceoryx2", "zenoh", "cyclonedds", "fastdds")

Wait = Literal["block", "poll", "callback"]
PublishMode = Literal["default", "sync", "async"]
Role = Literal["contender", "floor"]

FORMAT_OF_SUFFIX = {
    ".json5": "json5",
    ".json": "json5",
    ".xml": "xml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
}
MAX_PROFILE_BYTES = 256 * 1024
"""A profile travels in one protocol line of at most 1 MiB."""


class Profile(Strict):
    """`text` is None for a profile embedded in the worker, which `WORKER --describe` prints; for a user's own it is
    the content."""

    name: str
    format: str | None = None
    text: str | None = None

    def definition(self) -> dict[str, str]:
        return {name: value for name, value in self.model_dump().items() if value is not None}


def _profile(value: Any, info: ValidationInfo) -> Any:
    """An embedded name or a path, as people write it; a mapping or a Profile passes."""
    if not isinstance(value, str):
        return value
    path = Path(value)
    if "/" not in value and path.suffix not in FORMAT_OF_SUFFIX:
        return Profile(name=value)
    file = Path((info.context or {}).get("directory", ".")) / path
    if path.suffix not in FORMAT_OF_SUFFIX:
        raise Fault(
            f"the format of profile `{value}` is not known",
            expected="a file ending in " + ", ".join(FORMAT_OF_SUFFIX),
            actual=value,
        )
    try:
        if file.stat().st_size > MAX_PROFILE_BYTES:
            raise Fault(
                f"profile `{value}` is too large",
                expected=f"at most {MAX_PROFILE_BYTES} bytes",
                actual=file.stat().st_size,
            )
        return Profile(name=path.stem, format=FORMAT_OF_SUFFIX[path.suffix], text=file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(
            f"profile `{value}` cannot be read",
            expected=f"a file at {file}",
            actual=getattr(error, "strerror", None) or str(error),
            fix="paths are relative to the suite's file; an embedded profile is named without directory or suffix",
        ) from error


def _known_middleware(name: str, info: ValidationInfo) -> str:
    known = (info.context or {}).get("middlewares")
    if known is not None and name not in known:
        raise unknown("middleware", name, list(known))
    return name


class Arm(Strict):
    """`profile` is the name of an embedded profile, or the path of the user's own file (relative to the suite's).

    `background` and `host_idle` replace the workload's for this arm: how else could the same middleware be compared on
    an idle and on a busy machine?
    """

    name: ArmName
    middleware: Annotated[str, AfterValidator(_known_middleware)]
    profile: Annotated[Profile, BeforeValidator(_profile)] = Profile(name="untouched")
    options: dict[str, Scalar] = Field(default_factory=dict)
    wait: Wait = "block"
    loan: bool = False
    publish_mode: PublishMode = "default"
    role: Role | None = None
    background: Background | None = None
    host_idle: HostIdle | None = None

    @property
    def is_floor(self) -> bool:
        """The floor is what the others are measured against, not a contender."""
        return (self.role or ("floor" if self.middleware == "floor" else "contender")) == "floor"

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "middleware": self.middleware,
            "role": "floor" if self.is_floor else "contender",
            "profile": self.profile.definition(),
            "options": dict(self.options),
            "wait": self.wait,
            "loan": self.loan,
            "publish_mode": self.publish_mode,
        }
