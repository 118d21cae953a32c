"""The campaigns that a verb is given with `--campaign DIR`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmwbench.published.campaign import MeasuredCampaign


def campaigns_in(
    directories: Iterable[Path], who: str, *, imported: str | None = None
) -> "list[MeasuredCampaign]":
    """The campaign of each directory; of one that `rmwbench published claims run` made all of them,
    with the ids that each was `asked` for. Raises UserError for anything else.

    `who` wants them, in the plural; `imported` says what to do with what `rmwbench published
    import` made."""
    directories = list(directories)
    if not directories:
        return []  # and nothing is imported that reads a campaign
    from rmwbench.published.campaign import of_shown
    from rmwbench.published.claims.campaign.claims_session import campaigns, is_session
    from rmwbench.results.measured_campaign import measured

    found = []
    for directory in directories:
        if is_session(directory):
            for path, asked in campaigns(directory).items():
                found.append(of_shown(measured(path, who, imported=imported), asked))
        else:
            found.append(of_shown(measured(directory, who, imported=imported)))
    return found
