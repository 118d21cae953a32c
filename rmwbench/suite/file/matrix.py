"""The JSON configuration of eProsima's performance-test matrix, as a suite: `rmwbench plan
FILE.json`.

Their runner took the product of the file's lists; here the lists are the levels of factors. Arms,
blocks, warm-up and drain are those of the shipped suite of that matrix (`fastdds-2021/interprocess`
or `intraprocess`), whatever the file lists. A request of the file that no arm fulfils is an error.

The tree of the file is converted before it is validated, so that errors name the line of the file's
own key.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.suite.fault import At, Fault, Scalar, at_key, check_known
from rmwbench.suite.file.tree import mapping_at, place_of
from rmwbench.suite.workload.message_type import message_type

MARKS = ("rmw_implementations", "num_subs", "perf_test")
"""Keys that all files of this kind have, and no suite."""
KIND = "the configuration of eProsima's performance-test matrix (" + ", ".join(MARKS) + " …)"
SHIPPED = {
    "inter-process": "fastdds-2021/interprocess",
    "intra-process": "fastdds-2021/intraprocess",
}
PROCESSES = {"inter-process": "per_node", "intra-process": "one"}

QOS = ("durability", "history", "depth")

PERF_TEST_KEYS = (
    *("reliability", "durability", "history_kind", "history_depth"),
    *("max_runtime", "zero_copy", "dds_domain"),
)
KEYS = (
    *("log_directory", "process_mode", "rates", "num_subs", "topics", "communication"),
    *("rmw_implementations", "roundtrip_mode", "perf_test", "fastdds_xml_files"),
)
"""`log_directory` and `dds_domain` have no effect: a campaign has a directory and a domain of its
own."""
ONE_WAY: dict[tuple[str, ...], tuple[str, ...]] = {
    ("communication",): ("rclcpp-single-threaded-executor",),
    ("roundtrip_mode",): ("none",),
    ("perf_test", "zero_copy"): ("OFF",),
}
"""Path of a key -> the only values that the arms support."""
_XML = re.compile(r"fastdds_(?P<off>no_)?datasharing_(?P<mode>sync|async)\.xml")


def is_matrix(tree: object) -> bool:
    """Whether a file's tree is such a configuration."""
    return isinstance(tree, CommentedMap) and all(key in tree for key in MARKS)


def as_suite(
    tree: CommentedMap, shipped: Callable[[str], dict[str, Any]], name: str
) -> CommentedMap:
    """The tree of the suite, all at the place where the file begins. `shipped` returns the values
    of a shipped suite by its name; `name` is the file's, for the title.

    Raises Fault at a key that is wrong or that no arm supports.
    """
    _check_form(tree)
    levels = {key: _levels(tree, *row) for key, row in LISTS.items()}
    modes = levels["processes"]
    shipped_suite = shipped(SHIPPED[modes[0] if len(modes) == 1 else "inter-process"])
    _check_arms(tree, shipped_suite["arms"])
    keeps_last = "keep_last" in levels["history"]
    qos = {"durability": levels["durability"][0]}
    qos["history"] = "keep_last" if keeps_last else "keep_all"
    if keeps_last:
        qos["depth"] = levels["depth"][0]
    else:
        levels["depth"] = []  # of keep_all, which has none
    workload = {
        **shipped_suite["workloads"][0],
        "message": levels["message"][0],
        "rate_hz": levels["rate_hz"][0],
        "qos": qos,
    }
    short = shipped_suite["short"]
    fewer = {key: sorted(levels[key])[:2] for key in ("rate_hz", "subscribers")}
    return mapping_at(
        {
            "suite": "fastdds-2021-matrix",
            "title": f"the matrix of {name}",
            "description": shipped_suite["description"],
            "blocks": shipped_suite["blocks"],
            "timeline": {**shipped_suite["timeline"], "steady_s": levels["steady_s"][0]},
            "arms": shipped_suite["arms"],
            "workloads": [workload],
            "factors": _factors(levels),
            "short": {"factors": fewer, "timeline": short["timeline"], "blocks": short["blocks"]},
        },
        place_of(tree),
    )


def _check_form(tree: CommentedMap) -> None:
    """Raises Fault for unknown keys, and for values that no arm supports."""
    _check_keys(tree, KEYS)
    perf_test = tree["perf_test"]
    if not isinstance(perf_test, CommentedMap):
        raise Fault(
            "`perf_test` is not a mapping",
            expected="some of " + ", ".join(PERF_TEST_KEYS),
            at=("perf_test",),
        )
    with at_key("perf_test"):
        _check_keys(perf_test, PERF_TEST_KEYS)
    for path, values in ONE_WAY.items():
        _levels(tree, path, values.__contains__, "only " + ", ".join(values))


def _check_keys(tree: CommentedMap, known: Sequence[str]) -> None:
    for key in tree:
        check_known("key", key, known, at=(str(key),))


def _factors(levels: Mapping[str, list[Scalar]]) -> dict[str, list[Scalar]]:
    """The factors of the suite: QoS and processes are factors only with several levels."""
    factors = {key: levels[key] for key in ("message", "rate_hz", "subscribers", "reliability")}
    factors |= {key: levels[key] for key in QOS if len(levels[key]) > 1}
    if len(levels["processes"]) > 1:
        factors["processes"] = [PROCESSES[mode] for mode in levels["processes"]]
    return factors


def _levels(
    tree: CommentedMap,
    path: tuple[str, ...],
    is_valid: Callable[[Any], bool],
    expected: str,
    most: int | None = None,
) -> list[Scalar]:
    """The list at a path, or a single value as a list of one. Raises Fault for a missing key, an
    invalid or repeated value, and more than `most` values."""
    node: Any = tree
    for key in path:
        if key not in node:
            raise Fault(f"missing key `{'.'.join(path)}`", expected=expected, at=path[:-1])
        node = node[key]
    is_list = isinstance(node, CommentedSeq)
    levels = list(node) if is_list else [node]
    if not levels or (most is not None and len(levels) > most):
        count = f"at most {most}: one campaign has one length" if most else "at least one"
        raise Fault(
            f"`{path[-1]}` has {len(levels)} levels", expected=f"{expected}; {count}", at=path
        )
    for index, level in enumerate(levels):
        at: At = (*path, index) if is_list else path
        if not is_valid(level):
            raise Fault(
                f"`{path[-1]}` has the level `{level}`", expected=expected, actual=level, at=at
            )
        if level in levels[:index]:
            raise Fault(
                f"`{path[-1]}` has the level `{level}` twice", expected="each level once", at=at
            )
    return levels


def _check_arms(tree: CommentedMap, arms: list[dict[str, Any]]) -> None:
    """Raises Fault for an implementation, or a profile file of Fast DDS, without an arm."""
    implementations = sorted(
        {
            name.removeprefix("rclcpp/")
            for arm in arms
            if (name := arm["middleware"]).startswith("rclcpp/")
        }
    )
    _levels(
        tree,
        ("rmw_implementations",),
        lambda rmw: rmw in implementations,
        "those with an arm: " + ", ".join(implementations),
    )
    if "fastdds_xml_files" not in tree:
        return
    settings = {
        (arm.get("publish_mode"), arm.get("profile") == "data_sharing")
        for arm in arms
        if arm["middleware"] == "fastdds"
    }

    def has_arm(file: Any) -> bool:
        match = _XML.fullmatch(str(file))
        return match is not None and (match["mode"], match["off"] is None) in settings

    files = (
        f"fastdds_{'' if shared else 'no_'}datasharing_{mode}.xml"
        for mode, shared in sorted(settings, key=str)
    )
    _levels(tree, ("fastdds_xml_files",), has_arm, "those with an arm: " + ", ".join(files))


def _words(*known: str) -> tuple[Callable[[Any], bool], str]:
    return lambda level: level in known, "some of " + ", ".join(known)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_message(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(message_type(value))
    except Fault:
        return False


COUNTS = (_is_count, "whole numbers from 1 on")
LISTS: dict[str, tuple[Any, ...]] = {
    "processes": (("process_mode",), *_words(*SHIPPED)),
    "message": (("topics",), _is_message, "types such as Array4k (docs/suites.md)"),
    "rate_hz": (("rates",), _is_positive, "rates in Hz, more than 0"),
    "subscribers": (("num_subs",), *COUNTS),
    "reliability": (("perf_test", "reliability"), *_words("best_effort", "reliable")),
    "durability": (("perf_test", "durability"), *_words("volatile", "transient_local")),
    "history": (("perf_test", "history_kind"), *_words("keep_last", "keep_all")),
    "depth": (("perf_test", "history_depth"), *COUNTS),
    "steady_s": (("perf_test", "max_runtime"), _is_positive, "seconds, more than 0", 1),
}
"""Our key → the other arguments of `_levels`, first the path of the file's key."""
