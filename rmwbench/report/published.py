"""A campaign's show document, set beside the published evaluations: what its report shows of them."""

from functools import partial
from typing import Any

from rmwbench.report.claims.rows import ANSWERS, of_campaign
from rmwbench.report.claims.short import lines, table
from rmwbench.report.evaluated import Evaluated
from rmwbench.report.redrawn_beside import write_beside


def evaluated(document: dict[str, Any]) -> Evaluated:
    """What the shipped claims and figures say of the campaign; `document` is as `summarise` made it."""
    section = of_campaign(document)
    return Evaluated(
        section=section,
        answers=ANSWERS,
        lines=lines(section),
        table=table(section),
        write_figures=partial(write_beside, document),
    )
