"""Where campaigns go when no place is named, and which one is meant when none is named: the newest
there."""

from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input

CAMPAIGNS = Path("campaigns")
"""Below the working directory."""


def newest_campaign(under: Path = CAMPAIGNS) -> Path:
    """The campaign below `under` that was created last. Raises UserError where there is none."""
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
