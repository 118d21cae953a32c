"""`short:` of a suite file: the same factors with fewer levels and shorter trials, for `--short`.

    short:
      factors: {rate_hz: [80, 120]}      # replaces the levels of these factors
      arms: [cyclonedds, zenoh]          # of the file's arms, those with these names
      workloads: [Array1k]               # of the file's workloads, those with these names
      # replaces these keys of the suite's timeline and of every workload's own
      timeline: {steady_s: 2}
      blocks: {minimum: 5, maximum: 8}
      exclude: []
      outcomes: {acceptable: {undelivered: 0.05}}
      # of every workload: a shorter trial may be too short for a high percentile
      primary_metric: response_latency_p50

One file for both, so that the two cannot drift apart. Done in the tree of the file, before anything
is validated: every line that an error can name stays.
"""

from collections.abc import Collection
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.suite.fault import Fault, not_one_of
from rmwbench.suite.file.lines import filtered, put

KEY = "short"
NAMED = ("arms", "workloads")
"""Lists of the file that a short version takes from, by name."""
REPLACED = ("blocks", "exclude", "sampling", "outcomes")
MERGED = ("factors", "timeline")
METRIC = "primary_metric"
"""Replaces that of every workload."""
KEYS = (*NAMED, *MERGED, *REPLACED, METRIC)


def shortened(
    tree: CommentedMap, *, apply_short: bool, whole_factors: Collection[str] = ()
) -> CommentedMap:
    """The tree without its `short`; with `apply_short` changed as that says, except that
    `whole_factors` keep all their levels. Raises Fault for a `short` that is wrong, applied or not,
    and where none is there to be applied."""
    if KEY not in tree:
        if apply_short:
            raise Fault(
                "this suite has no short version",
                expected=f"`{KEY}:` in the suite file",
                actual="none",
                fix="leave `--short` out; `--budget 5m` runs as much as fits",
            )
        return tree
    short = tree[KEY]
    if not isinstance(short, CommentedMap) or not short:
        raise Fault(
            "`short` is a mapping",
            expected="some of " + ", ".join(KEYS),
            actual=str(short),
            at=(KEY,),
        )
    for key in short:
        if key not in KEYS:
            raise not_one_of(f"`{key}` cannot be shortened", str(key), KEYS, at=(KEY, key))
    selected = {key: _selected(tree, short, key) for key in NAMED if key in short}
    merged = {key: _merged(tree, short, key, whole_factors) for key in MERGED if key in short}
    if apply_short:
        replaced = {key: short[key] for key in REPLACED if key in short}
        for key, value in (selected | merged | replaced).items():
            put(tree, key, value, short.lc.key(key))
        workloads = tree.get("workloads")
        for workload in workloads if isinstance(workloads, CommentedSeq) else ():
            if isinstance(workload, CommentedMap):
                _shorten_workload(workload, short)
    del tree[KEY]
    return tree


def _shorten_workload(workload: CommentedMap, short: CommentedMap) -> None:
    """Replaces its primary metric, and takes away what its own timeline has that is replaced."""
    if METRIC in short:
        put(workload, METRIC, short[METRIC], short.lc.key(METRIC))
    timeline = workload.get("timeline")
    if isinstance(timeline, CommentedMap):
        for key in [key for key in timeline if key in short.get("timeline", ())]:
            del timeline[key]


def _selected(tree: CommentedMap, short: CommentedMap, key: str) -> CommentedSeq:
    """The items with the names given, in the file's order."""
    names, items = short[key], tree.get(key)
    if not isinstance(names, CommentedSeq) or not names or not isinstance(items, CommentedSeq):
        raise Fault(
            f"`{key}` of a short version is a list of names",
            expected="at least one",
            actual=str(names),
            at=(KEY, key),
        )
    item_names = [_name(item) for item in items]
    for index, name in enumerate(names):
        if str(name) not in item_names:
            raise not_one_of(
                f"no {key.removesuffix('s')} is called `{name}`",
                str(name),
                item_names,
                at=(KEY, key, index),
            )
    return filtered(items, lambda item: _name(item) in map(str, names))


def _name(item: Any) -> str:
    return str(item.get("name") if isinstance(item, CommentedMap) else item)


def _merged(
    tree: CommentedMap, short: CommentedMap, key: str, whole_factors: Collection[str]
) -> Any:
    changes = short[key]
    if not isinstance(changes, CommentedMap):
        raise Fault(
            f"`{key}` is a mapping", expected="some of its keys", actual=str(changes), at=(KEY, key)
        )
    original = tree.get(key)
    if not isinstance(original, CommentedMap):
        if key == "factors":
            raise Fault(
                "there are no factors to shorten",
                expected="`factors:` in the file",
                actual="none",
                at=(KEY, key),
            )
        return changes
    if key == "factors":
        for name in changes:
            if name not in original:
                raise not_one_of(
                    f"no factor is called `{name}`",
                    str(name),
                    list(map(str, original)),
                    at=(KEY, key, name),
                )
    merged = CommentedMap()
    for name in [*original, *(name for name in changes if name not in original)]:
        keeps_all = key == "factors" and name in whole_factors
        source = changes if name in changes and not keeps_all else original
        put(merged, name, source[name], source.lc.key(name))
    merged.lc.line, merged.lc.col = original.lc.line, original.lc.col
    return merged
