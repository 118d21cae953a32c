"""Finds the published evaluations that say something about a suite. Only their texts are searched:
most campaigns are about nothing that was published, and reading a file of claims takes a quarter of
a second."""

import re
from functools import cache

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
    """Return the shipped suites whose names end with `suite`."""
    return {name for name in shipped_suites() if name.rpartition("/")[2] == last}
