"""Whether a repository has a quality declaration at all, on any of its branches and tags.

Only names of files are looked at, so a declaration under another name is not found: that none was
found is said with the day and the place, and is not a "no".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.published.community.repository import GitFailed, Repository, opened

DECLARATION = re.compile(
    r"(?:.*/)?(?:[^/]*quality[-_ ]?declaration[^/]*|quality)(?:\.(?:md|rst|txt))?", re.IGNORECASE
)
"""QUALITY_DECLARATION.md, CYCLONEDDS_QUALITY_DECLARATION.md, Quality_Declaration_x.md, QUALITY.md,
in any directory."""


@dataclass(frozen=True)
class _Ref:
    """A branch or tag with the commit where it is, and that commit's date."""

    name: str
    commit: str
    date: str

    @property
    def tag(self) -> bool:
        return self.name.startswith("refs/tags/")

    @property
    def short(self) -> str:
        return re.sub(r"^refs/(?:heads|remotes|tags)/", "", self.name)


def searched(name: str, path: Path) -> dict[str, Any]:
    """Files of the default branch that are named as declarations are, and those that only other
    branches and tags have, each with the newest of these. Raises UserError where the repository
    cannot be read."""
    repository = opened(path)
    try:
        refs = list(_refs(repository))
        here = _declarations(repository, repository.head)
        newest = repository.git(
            "log", "-1", "--no-show-signature", "--format=%cs", repository.head, "--"
        ).strip()
        elsewhere: dict[str, _Ref] = {}
        known: dict[str, list[str]] = {}
        for ref in sorted(refs, key=lambda ref: ref.date, reverse=True):
            if ref.commit not in known:
                known[ref.commit] = _declarations(repository, ref.commit)
            for file in known[ref.commit]:
                if file not in here:
                    elsewhere.setdefault(file, ref)
    except GitFailed as error:
        raise UserError(
            "its branches and tags cannot be read", where=str(path), actual=str(error)
        ) from None
    return {
        "repository": name,
        "branch": repository.branch,
        "commit": repository.head,
        "as_of": newest,
        "branches": sum(not ref.tag for ref in refs),
        "tags": sum(ref.tag for ref in refs),
        "found": here,
        "elsewhere": [
            {"path": file, "ref": ref.short, "date": ref.date}
            for file, ref in sorted(elsewhere.items())
        ],
    }


def sentence(found: dict[str, Any]) -> str:
    """What was found, as a cell of a table."""
    if found["found"]:
        return f"{', '.join(found['found'])} in {found['repository']} as of {found['as_of']}"
    return f"no declaration found in {found['repository']} as of {found['as_of']}"


def _refs(repository: Repository) -> Iterator[_Ref]:
    """Branches and tags of commits; a tag of anything else has no files to look at."""
    shown = "%(refname)%00%(objecttype)%00%(objectname)%00%(committerdate:short)"
    peeled = "%00%(*objecttype)%00%(*objectname)%00%(*committerdate:short)"
    text = repository.git(
        "for-each-ref", f"--format={shown}{peeled}", "refs/heads", "refs/remotes", "refs/tags"
    )
    for line in text.splitlines():
        name, *own = line.split("\0")
        for kind, commit, date in (own[:3], own[3:]):
            # a clone's other name for its default branch
            if kind == "commit" and not name.endswith("/HEAD"):
                yield _Ref(name, commit, date)


def _declarations(repository: Repository, commit: str) -> list[str]:
    files = repository.git("ls-tree", "-r", "-z", "--name-only", commit).split("\0")
    return sorted(file for file in files if DECLARATION.fullmatch(file))
