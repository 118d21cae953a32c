"""Which published evaluations claim something of a suite. Only their texts are searched: most
campaigns are about no claim, and reading claims files takes long."""

import re
from functools import cache

from rmwbench.suite.file.places import CLAIMS_FILE, source_directory, sources_with


def sources() -> list[str]:
    """The sources that have claims, by the name of their folder."""
    return sources_with(CLAIMS_FILE)


def sources_about(suite: str) -> list[str]:
    """The sources with a claim whose test runs a suite that calls itself so. Only their texts are
    searched: reading a claims file takes a quarter of a second, and most campaigns are about no
    claim."""
    found = []
    for source in sources():
        text = (source_directory(source) / CLAIMS_FILE).read_text(encoding="utf-8")
        if any(is_suite(name, suite) for name in set(re.findall(r"\bsuite: *([^\s,}]+)", text))):
            found.append(source)
    return found


@cache
def is_suite(name: str, suite: str) -> bool:
    """Whether a test's `suite: NAME` means the suite that calls itself `suite`: a file
    `folder/name` may call itself `folder-name` or `name`, and a file of one's own is known by its
    name without suffix."""
    name = name.strip("\"'").removesuffix(".yaml").removesuffix(".yml")
    return suite in (name, name.replace("/", "-"), name.rpartition("/")[2])
