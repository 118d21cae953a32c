"""Where the shipped suites and the published evaluations are. Reads none of them: whoever only asks
whether there is one need not wait for what reads YAML."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

CLAIMS_FILE = "claims.yaml"
"""Beside the suites of a published evaluation: what it claims (model.py). No suite."""
FIGURES_FILE = "figures.yaml"
"""Likewise: what it draws (model.py)."""
QUESTIONNAIRE_FILE, EVIDENCE_FILE = "questionnaire.yaml", "evidence.yaml"
"""Likewise: what it asks, and answers that were not measured (model.py)."""
CANDIDATES_FILE = "candidates.yaml"
"""Beside all suites: what they compare, by name (candidates.py)."""
PUBLISHED = "published"
"""The folder of the published evaluations, one folder each; it is not part of a suite's name."""
NO_SUITES = (CLAIMS_FILE, FIGURES_FILE, QUESTIONNAIRE_FILE, EVIDENCE_FILE, CANDIDATES_FILE)


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


def shipped_suites() -> list[str]:
    """Names that `load` accepts besides paths: `quick`, or `folder/name`."""
    return sorted(suite_files())


def suite_file(name: str) -> Path:
    """The file of a shipped suite. KeyError for a name that `shipped_suites` does not have."""
    return suite_files()[name]


def suite_files() -> Mapping[str, Path]:
    return _named(suites_directory())


@cache
def _named(directory: Path) -> Mapping[str, Path]:
    """Name -> file. `published/SOURCE/NAME.yaml` is called `SOURCE/NAME`, or `SOURCE` where it is
    called like its folder: names that people type stay what they are wherever a file lies. Kept,
    because a questionnaire asks for a thousand of them and what is shipped does not change."""
    found: dict[str, Path] = {}
    for path in directory.rglob("*.yaml"):
        if path.name not in NO_SUITES:
            folders = path.relative_to(directory).parts[:-1]
            folders = folders[1:] if folders[:1] == (PUBLISHED,) else folders
            found["/".join(folders if folders[-1:] == (path.stem,) else (*folders, path.stem))] = (
                path
            )
    return found
