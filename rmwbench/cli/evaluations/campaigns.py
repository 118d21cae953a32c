"""The campaigns that a verb is given with `--campaign DIR`, as show documents."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def documents(
    directories: Iterable[Path], who: str, *, imported: str | None = None
) -> list[dict[str, Any]]:
    """Of each directory the show document of its campaign; of one that `rmwbench claims run` made
    those of all its campaigns, with the ids that each was `asked` for. Raises UserError for
    anything else.

    `who` wants them, in the plural; `imported` says what to do with what `rmwbench import` made."""
    directories = list(directories)
    if not directories:
        return []  # and nothing is imported that reads a campaign
    from rmwbench.evaluations.claims.campaign.session import campaigns, is_session
    from rmwbench.results.measured import measured

    found = []
    for directory in directories:
        if is_session(directory):
            for path, asked in campaigns(directory).items():
                found.append(measured(path, who, imported=imported) | {"asked": asked})
        else:
            found.append(measured(directory, who, imported=imported))
    return found
