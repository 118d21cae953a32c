"""The default directory of a new campaign, and the default campaign to read: the newest."""

import time
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input

CAMPAIGNS = Path("campaigns")
"""Below the working directory."""


def new_directory(name: str) -> Path:
    """Return the path campaigns/NAME-DATE-TIME."""
    return CAMPAIGNS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"


def newest_campaign(under: Path = CAMPAIGNS) -> Path:
    """Return the campaign below `under` that was created last. Raises UserError if there is
    none."""
    campaigns: list[tuple[str, str, Path]] = []
    for path in under.glob("*/campaign.json"):
        try:
            created = str(parse_json(read_input(path)).get("created_utc", ""))
        except (OSError, ValueError, AttributeError):
            continue
        campaigns.append((created, path.parent.name, path.parent))
    if not campaigns:
        raise UserError(
            "no campaign yet",
            where=str(under),
            fix="run one (`rmwbench run quick`), or name a campaign's directory",
        )
    return max(campaigns)[2]
