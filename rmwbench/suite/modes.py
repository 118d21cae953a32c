"""Modes: how a middleware does its work, in one vocabulary for all of them.

A mode given replaces what the profile says. Each worker owns the mapping to its own configuration
and answers `unsupported` to a level that its middleware cannot do; the cell is then `not
supported`, with that reason. Whatever has no name here is an option of one middleware (`options`),
not a mode.
"""

from typing import Annotated, Any

from pydantic import AfterValidator

from rmwbench.suite.fault import Fault, unknown
from rmwbench.suite.scalar import Scalar

MODE_PREFIX = "modes."

WORDS: dict[str, tuple[str, ...]] = {
    "transport": ("udp", "tcp", "unix", "shm", "intra_process"),
    "congestion": ("drop", "block"),
    "discovery": ("multicast", "spdp", "peers", "server", "routers", "client"),
    "executor": ("single_threaded", "multi_threaded", "events", "events_cbg", "static"),
}
SWITCHES = ("batching", "security", "compression")
NUMBERS = ("shm_pool_bytes", "threads")
NAMES = (*WORDS, *SWITCHES, *NUMBERS)
MAX_NUMBER = 1 << 40


def check_mode(name: str, level: Any) -> Any:
    """Returns the level. Raises Fault for an unknown mode, or for a level that it does not have."""
    if name not in NAMES:
        raise unknown("mode", name, list(NAMES), at=(name,))
    if name in WORDS:
        if level not in WORDS[name]:
            raise unknown(f"level of mode `{name}`", level, list(WORDS[name]), at=(name,))
    elif name in SWITCHES:
        if not isinstance(level, bool):
            raise Fault(
                f"mode `{name}` is on or off", expected="true or false", actual=level, at=(name,)
            )
    elif isinstance(level, bool) or not isinstance(level, int) or not 1 <= level <= MAX_NUMBER:
        raise Fault(
            f"mode `{name}` is a whole number",
            expected=f"1 to {MAX_NUMBER}",
            actual=level,
            at=(name,),
        )
    return level


def _check(modes: dict[str, Any]) -> dict[str, Any]:
    for name, level in modes.items():
        check_mode(name, level)
    return modes


Modes = Annotated[dict[str, Scalar], AfterValidator(_check)]
