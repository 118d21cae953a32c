"""What was measured for the shipped ledger, as campaigns that figures can be drawn from: all of
`suites/published/*/measured/*.json`, since one source's cells may have been measured for another's
claims."""

from pathlib import Path

from rmwbench.evaluations.campaign import Campaign
from rmwbench.evaluations.claims.measured import expanded
from rmwbench.evaluations.claims.measured_files import FOLDER, shipped
from rmwbench.suite.file.load import sources_with


def summaries(directory: Path | None = None) -> list[Campaign]:
    """The newest first. Raises UserError for a file that is not a summary."""
    if directory is None:
        sources = sources_with(FOLDER)
    else:
        sources = sorted(path.parent.name for path in directory.glob(f"*/{FOLDER}"))
    found = [
        one for source in sources for file in shipped(source, directory) for one in expanded(file)
    ]
    return sorted(found, key=lambda one: one.created_utc or "", reverse=True)
