"""`pairs` under `arms`: every ordered pair of a list of middlewares, each an arm of its own.

    - pairs: [cyclonedds, fastdds, {middleware: rclcpp/rmw_fastrtps_cpp, profile: tuned}]
      wait: block

The first middleware of a pair runs the talker or client and all processes without an override, the
second runs the listeners or the service. Pairs are replaced in the tree of the file before it is
validated, so that all other modules know only arms; errors name the line of the entry.
"""

from collections.abc import Mapping
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.suite.arm import EITHER
from rmwbench.suite.fault import At, Fault, check_known, shape
from rmwbench.suite.file.tree import Place, key_place, mapping_at, replace_items

KEY, ARROW = "pairs", " → "
SECOND = EITHER.join(("listener", "service"))
SIDE_KEYS = ("name", "middleware", "profile", "options", "modes", "optional")
PAIR_KEYS = ("name", "optional")
"""Keys of a side that belong to its pairs, and not to the side's settings."""
FEWEST = 2


def expand_pairs(arms: Any) -> Any:
    """The list of arms with each `pairs` entry replaced by its arms; any other value is returned
    unchanged. Raises Fault, counted from the list."""
    if not isinstance(arms, CommentedSeq):
        return arms
    return replace_items(arms, lambda index, entry, place: _arms(entry, index))


def _arms(entry: Any, index: int) -> list[Any]:
    if not isinstance(entry, CommentedMap) or KEY not in entry:
        return [entry]
    sides = entry[KEY]
    if not isinstance(sides, CommentedSeq) or len(sides) < FEWEST:
        raise Fault(
            "`pairs` is not a list of several middlewares",
            expected=f"at least {FEWEST}, such as [cyclonedds, fastdds]",
            actual=shape(sides),
            at=(index, KEY),
        )
    for key in ("name", "processes", "middleware", "profile", "options"):
        if key in entry:
            raise Fault(
                f"`{key}` and `pairs` contradict each other",
                expected="settings of one middleware within the list, for example "
                "{middleware: zenoh, profile: tuned}",
                actual=f"both `{key}` and `pairs`",
                at=(index, key),
            )
    pair_sides = [_side(side, (index, KEY, position)) for position, side in enumerate(sides)]
    names = [side["name"] for side in pair_sides]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise Fault(
                f"`{name}` is in the list twice",
                expected="each once; `name` tells two profiles of a middleware apart",
                at=(index, KEY, position),
            )
    place = key_place(entry, KEY)
    shared = {key: value for key, value in entry.items() if key != KEY}
    return [_arm(first, second, shared, place) for first in pair_sides for second in pair_sides]


def _side(side: Any, at: At) -> dict[str, Any]:
    """The settings of a side, which a file gives as a middleware's name or as a mapping, with a
    `name`."""
    if isinstance(side, str):
        return {"name": side, "middleware": side}
    if not isinstance(side, CommentedMap) or not isinstance(side.get("middleware"), str):
        raise Fault(
            "an entry of `pairs` is no middleware",
            expected="its name, or a mapping such as {middleware: zenoh, profile: tuned}",
            actual=shape(side),
            at=at,
        )
    for key in side:
        check_known("key", key, SIDE_KEYS, at=(*at, key))
    words = [side["middleware"], *([str(side["profile"])] if "profile" in side else [])]
    return {"name": " ".join(words), **side}


def _arm(
    first: dict[str, Any], second: dict[str, Any], shared: dict[str, Any], place: Place
) -> CommentedMap:
    """The arm of a pair. Its override has all settings, so that the second side has none of the
    first, except modes for both."""
    override = {
        "profile": "untouched",
        "options": {},
        **{key: value for key, value in second.items() if key not in PAIR_KEYS},
    }
    arm = {
        **shared,
        **first,
        "name": f"{first['name']}{ARROW}{second['name']}",
        "processes": {SECOND: override},
    }
    optional = [side["optional"] for side in (shared, first, second) if "optional" in side]
    if optional:
        # the model of an arm refuses a value that is not a boolean
        not_boolean = [value for value in optional if not isinstance(value, bool)]
        arm["optional"] = not_boolean[0] if not_boolean else any(optional)
    if "modes" in shared:  # for both sides; a side's own modes have priority
        arm["modes"] = _merged(shared["modes"], first.get("modes", {}))
        override["modes"] = _merged(shared["modes"], second.get("modes", {}))
    elif "modes" in first:
        override.setdefault("modes", {})
    return mapping_at(arm, place)


def _merged(shared: Any, own: Any) -> Any:
    """The modes of a side; a value that is not a mapping is left to the model, which refuses it."""
    if isinstance(shared, Mapping) and isinstance(own, Mapping):
        return {**shared, **own}
    return own if isinstance(shared, Mapping) else shared
