"""What published evaluations say of a campaign, as its report shows it beside the answer.

The report shows these sections and knows nothing of evaluations; who does makes them (beside.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """Of one campaign. `section`: the claims of the HTML page, None where no claim is about the
    suite. `answers`: the page's words for each answer. `lines`: (answer, text) per claim, for the
    terminal. `table`: (claim, as published, as corrected, here) per claim, for Markdown.
    `write_figures`: writes the page of redrawn figures beside a report and returns its name, or
    None where there is none."""

    section: Mapping[str, Any] | None
    answers: Mapping[str, str]
    lines: Sequence[tuple[str, str]]
    table: Sequence[tuple[str, str, str, str]]
    write_figures: Callable[[Path], str | None]


NOT_EVALUATED = Evaluated(
    section=None, answers={}, lines=(), table=(), write_figures=lambda report: None
)
"""Of a report that nobody set beside the published evaluations."""
