"""The whole suites of docs/suites.md are suites as they stand."""

import re
from pathlib import Path

import pytest

from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse

PAGE = (Path(__file__).parents[2] / "docs" / "suites.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(suite: .*?)```", PAGE, re.DOTALL)
"""Others are a part of a suite."""


@pytest.mark.parametrize(
    "text", EXAMPLES, ids=[re.search(r"suite: (\w+)", text)[1] for text in EXAMPLES]
)
def test_an_example_loads(text):
    assert cells(parse(text, where="docs/suites.md"))
