"""What a campaign shows, for those who set it beside what others published: claims, figures, a
questionnaire."""

from pathlib import Path

from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.results.capacity.kind import is_capacity
from rmwbench.results.selection import is_imported
from rmwbench.results.show import summarise
from rmwbench.results.shown import SuiteAnswer


def measured(directory: Path, who: str, *, imported: str | None = None) -> SuiteAnswer:
    """Raises UserError where the bundle is not a campaign of a suite: imported, or a search for a
    capacity. `who` wants it, in the plural; `imported`: what to do with an imported one."""
    bundle = Bundle(directory)
    if is_imported(bundle) or is_capacity(bundle):
        raise UserError(
            f"{who} need a campaign of a suite",
            where=str(directory),
            fix="give what `rmwbench run` made"
            + (f"; {imported}" if imported and is_imported(bundle) else ""),
        )
    return summarise(bundle)
