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

A suite and its short version are in one file, so that they stay consistent. The tree of the file is
changed before it is validated, and all parts keep their lines.
"""

from collections.abc import Collection, Mapping
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.suite.fault import Fault, not_one_of, shape
from rmwbench.suite.file.tree import filter_items, key_place, mappings_of, name_of, put

KEY = "short"
LISTS = ("arms", "workloads")
"""Lists of the file, of which a short version names some items."""
WHOLE_PARTS = ("blocks", "exclude", "sampling", "outcomes")
"""Parts that a short version replaces as a whole."""
MAPPINGS = ("factors", "timeline")
"""Mappings of which a short version replaces some keys."""
METRIC = "primary_metric"
"""The metric in place of that of every workload."""
KEYS = (*LISTS, *MAPPINGS, *WHOLE_PARTS, METRIC)


def resolve_short(
    tree: CommentedMap, *, apply_short: bool, whole_factors: Collection[str] = ()
) -> CommentedMap:
    """The tree without its `short`; with `apply_short` it is applied, except that `whole_factors`
    keep all their levels. Raises Fault for a wrong `short`, applied or not, and with `apply_short`
    for a missing one."""
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
            "`short` is not a mapping",
            expected="some of " + ", ".join(KEYS),
            actual=shape(short),
            at=(KEY,),
        )
    for key in short:
        if key not in KEYS:
            raise not_one_of(f"`{key}` cannot be shortened", str(key), KEYS, at=(KEY, key))
    changes = {key: _selection(tree, short, key) for key in LISTS if key in short}
    changes |= {key: _merge(tree, short, key, whole_factors) for key in MAPPINGS if key in short}
    changes |= {key: short[key] for key in WHOLE_PARTS if key in short}
    if apply_short:
        whole_axes = _axes(tree)
        for key, value in changes.items():
            put(tree, key, value, key_place(short, key))
        for _, workload in mappings_of(tree, "workloads"):
            _shorten_workload(workload, short)
        _remove_references(tree, short, whole_axes)
    del tree[KEY]
    return tree


def _shorten_workload(workload: CommentedMap, short: CommentedMap) -> None:
    """Replaces the workload's primary metric, and removes the spans of its own timeline that the
    short version has."""
    if METRIC in short:
        put(workload, METRIC, short[METRIC], key_place(short, METRIC))
    timeline = workload.get("timeline")
    if isinstance(timeline, CommentedMap):
        for key in [key for key in timeline if key in short.get("timeline", ())]:
            del timeline[key]


def _axes(tree: CommentedMap) -> dict[str, list[Any]]:
    """Axis of an exclusion -> its levels: the names of arms and workloads, the levels of factors."""
    axes: dict[str, list[Any]] = {
        key.removesuffix("s"): [name_of(item) for _, item in mappings_of(tree, key)]
        for key in LISTS
    }
    factors = tree.get("factors")
    for name, levels in factors.items() if isinstance(factors, CommentedMap) else ():
        axes[str(name)] = list(levels) if isinstance(levels, CommentedSeq) else []
    return axes


def _remove_references(
    tree: CommentedMap, short: CommentedMap, whole_axes: Mapping[str, list[Any]]
) -> None:
    """Removes exclusions, comparisons and workloads to decide that name an arm, a workload or a level
    which the short version leaves out. `whole_axes` are those of the whole suite."""
    axes = _axes(tree)

    def is_left_out(axis: str, level: Any) -> bool:
        return level in whole_axes.get(axis, ()) and level not in axes.get(axis, ())

    rules = tree.get("exclude")
    if isinstance(rules, CommentedSeq) and "exclude" not in short:
        tree["exclude"] = filter_items(
            rules,
            lambda rule: (
                not isinstance(rule, CommentedMap)
                or not any(is_left_out(str(axis), level) for axis, level in rule.items())
            ),
        )
    for key in LISTS:
        for _, item in mappings_of(tree, key):
            if is_left_out(key.removesuffix("s"), item.get("against")):
                del item["against"]
    blocks = tree.get("blocks")
    if isinstance(blocks, CommentedMap) and isinstance(blocks.get("decide"), CommentedSeq):
        blocks["decide"] = filter_items(
            blocks["decide"], lambda name: not is_left_out("workload", name)
        )


def _selection(tree: CommentedMap, short: CommentedMap, key: str) -> CommentedSeq:
    """The items with the names of the short version, in the file's order."""
    names, items = short[key], tree.get(key)
    if not isinstance(names, CommentedSeq) or not names or not isinstance(items, CommentedSeq):
        raise Fault(
            f"`{key}` of a short version is not a list of names",
            expected="at least one name",
            actual=shape(names),
            at=(KEY, key),
        )
    item_names = [name_of(item) for item in items]
    for index, name in enumerate(names):
        if str(name) not in item_names:
            raise not_one_of(
                f"no {key.removesuffix('s')} is called `{name}`",
                str(name),
                item_names,
                at=(KEY, key, index),
            )
    return filter_items(items, lambda item: name_of(item) in map(str, names))


def _merge(
    tree: CommentedMap, short: CommentedMap, key: str, whole_factors: Collection[str]
) -> Any:
    """The mapping of the file with the keys that the short version changes."""
    changes = short[key]
    if not isinstance(changes, CommentedMap):
        raise Fault(
            f"`{key}` is not a mapping",
            expected="some of its keys",
            actual=shape(changes),
            at=(KEY, key),
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
    mapping = CommentedMap()
    for name in [*original, *(name for name in changes if name not in original)]:
        keeps_all = key == "factors" and name in whole_factors
        source = changes if name in changes and not keeps_all else original
        put(mapping, name, source[name], key_place(source, name))
    mapping.lc.line, mapping.lc.col = original.lc.line, original.lc.col
    return mapping
