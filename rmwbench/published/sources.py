"""The files of published sources: which of them say something about a suite, and that their entries
have ids of their own. Only their texts are searched for a suite: most campaigns are about nothing
that was published, and reading a file of claims takes a quarter of a second."""

import re
from collections.abc import Iterable
from functools import cache

from rmwbench.suite.fault import Fault, first_repeated
from rmwbench.suite.file.suite_files import shipped_suites, source_directory, sources_with

OVER_RMWS = {
    f"rclcpp/{rmw}": rmw for rmw in ("rmw_cyclonedds_cpp", "rmw_fastrtps_cpp", "rmw_zenoh_cpp")
}
"""Maps each middleware to its RMW, for those that every ROS 2 distribution releases."""
_SUITE = re.compile(r"\bsuite: *([^\s,}]+)")


def sources_about(suite: str, file: str) -> list[str]:
    """Return the sources whose `file` (of claims or of figures) names a suite that calls itself
    `suite`."""
    sources = []
    for source in sources_with(file):
        text = (source_directory(source) / file).read_text(encoding="utf-8")
        if any(is_suite(name, suite) for name in set(_SUITE.findall(text))):
            sources.append(source)
    return sources


@cache
def is_suite(name: str, suite: str) -> bool:
    """Whether `suite: NAME` in such a file means the suite that calls itself `suite`. The file
    `folder/name` may call itself `folder-name` or, if no shipped suite beside it has that name,
    `name`. A user's own file is known by its name without suffix."""
    name = name.strip("\"'").removesuffix(".yaml").removesuffix(".yml")
    if suite in (name, name.replace("/", "-")):
        return True
    return suite == name.rpartition("/")[2] and _shipped_as(suite) <= {name}


@cache
def _shipped_as(last: str) -> set[str]:
    """Return the shipped suites whose last part is this."""
    return {name for name in shipped_suites() if name.rpartition("/")[2] == last}


def require_distinct_ids(noun: str, ids: Iterable[tuple[int, str]], key: str = "items") -> None:
    """Raise Fault if two entries have the same id. `ids`: (place in the list `key`, id) of each
    entry; `noun`: what the entries are, in the plural."""
    if (repeated := first_repeated(ids)) is not None:
        place, id_ = repeated
        what = f"two {noun} have the id `{id_}`"
        raise Fault(what, expected="an id each", at=(key, place, "id"))
