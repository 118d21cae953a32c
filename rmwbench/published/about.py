"""Which published evaluations say something of a suite. Only their texts are searched: most campaigns
are about nothing that was published, and reading a file of claims takes a quarter of a second."""

import re
from functools import cache

from rmwbench.suite.file.places import shipped_suites, source_directory, sources_with

OVER_RMWS = {
    f"rclcpp/{rmw}": rmw for rmw in ("rmw_cyclonedds_cpp", "rmw_fastrtps_cpp", "rmw_zenoh_cpp")
}
"""Middleware -> RMW, of those that ROS 2 releases with every distribution."""
_SUITE = re.compile(r"\bsuite: *([^\s,}]+)")


def sources_about(suite: str, file: str) -> list[str]:
    """The sources whose `file` (of claims or of figures) names a suite that calls itself so."""
    sources = []
    for source in sources_with(file):
        text = (source_directory(source) / file).read_text(encoding="utf-8")
        if any(is_suite(name, suite) for name in set(_SUITE.findall(text))):
            sources.append(source)
    return sources


@cache
def is_suite(name: str, suite: str) -> bool:
    """Whether `suite: NAME` of such a file means the suite that calls itself `suite`: a file
    `folder/name` may call itself `folder-name` or, where no shipped suite beside it has that name,
    `name`; a file of one's own is known by its name without suffix."""
    name = name.strip("\"'").removesuffix(".yaml").removesuffix(".yml")
    if suite in (name, name.replace("/", "-")):
        return True
    return suite == name.rpartition("/")[2] and _shipped_as(suite) <= {name}


@cache
def _shipped_as(last: str) -> set[str]:
    """The shipped suites whose names end with it."""
    return {name for name in shipped_suites() if name.rpartition("/")[2] == last}
