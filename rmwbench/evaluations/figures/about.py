"""Which published evaluations draw something that a suite measures. Only their texts are searched:
most campaigns are about no figure, and reading figures files takes long."""

import re

from rmwbench.evaluations.claims.about import is_suite
from rmwbench.suite.file.places import FIGURES_FILE, source_directory, sources_with


def sources_about(suite: str) -> list[str]:
    """The sources whose figures file names a suite that calls itself so."""
    found = []
    for source in sources_with(FIGURES_FILE):
        text = (source_directory(source) / FIGURES_FILE).read_text(encoding="utf-8")
        if any(is_suite(name, suite) for name in set(re.findall(r"suite: ([\w./-]+)", text))):
            found.append(source)
    return found
