"""Where the shipped suites and the published evaluations are. Reads none of them: whoever only asks
whether there is one need not wait for what reads YAML."""

from pathlib import Path

CLAIMS_FILE = "claims.yaml"
"""Beside the suites of a published evaluation: what it claims (model.py). No suite."""
FIGURES_FILE = "figures.yaml"
"""Likewise: what it draws (model.py)."""
QUESTIONNAIRE_FILE, EVIDENCE_FILE = "questionnaire.yaml", "evidence.yaml"
"""Likewise: what it asks, and answers that were not measured (model.py)."""
PUBLISHED = "published"
"""The folder of the published evaluations, one folder each; it is not part of a suite's name."""


def suites_directory() -> Path:
    """Where the shipped suites are: inside the package when installed from a wheel, beside it in a
    checkout."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "suites"
    return inside if inside.is_dir() else package.parent / "suites"


def limits_directory() -> Path:
    """Where the shipped limits files are: as with the suites."""
    return suites_directory().parent / "limits"


def sources_with(file: str) -> list[str]:
    """The published evaluations that have such a file or folder, by the name of their own
    folder."""
    directory = suites_directory()
    found = (*directory.glob(f"*/{file}"), *directory.glob(f"{PUBLISHED}/*/{file}"))
    return sorted(path.parent.name for path in found)


def source_directory(source: str | Path) -> Path:
    """The folder of a published evaluation, whether it is there or not."""
    directory = suites_directory()
    published = directory / PUBLISHED / source
    return published if published.is_dir() else directory / source
