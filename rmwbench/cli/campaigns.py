"""The campaigns that a verb is given with `--campaign DIR`, as show documents."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def documents(directories: Iterable[Path], who: str) -> list[dict[str, Any]]:
    """Of each directory the show document of its campaign; of one that `rmwbench run --claims` made those of all its
    campaigns, with the ids that each was `asked` for. `who` wants them, in the plural. UserError for anything else."""
    from rmwbench.campaign.claims.session import campaigns, is_session
    from rmwbench.report.measured import measured

    found = []
    for directory in directories:
        if is_session(directory):
            found += [measured(path, who) | {"asked": asked} for path, asked in campaigns(directory).items()]
        else:
            found.append(measured(directory, who))
    return found
