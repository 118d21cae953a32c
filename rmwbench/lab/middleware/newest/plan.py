"""What of a newer version is built here, and what of it the system has.

A source package says what it is compiled with. Where a version is asked for that the system's
packages do not have, that package is built too, from the same release; all else is the system's.
What only makes, documents or tests Debian's own packages is left out, since none is made here.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rmwbench.lab.middleware.catalogue import Newest
from rmwbench.lab.middleware.newest.apt import AptArchive, SourcePackage, here, satisfies

_NEED = re.compile(r"^([a-z0-9][a-z0-9+.-]*)(?::\w+)?\s*(?:\(\s*([<>=]+)\s*([^)\s]+)\s*\))?")
_RELATIONS = {"<<": "lt", "<=": "le", "=": "eq", ">=": "ge", ">>": "gt"}
_PACKAGING = {"dpkg-dev"}


@dataclass(frozen=True)
class PackageNeed:
    """A package that something is compiled with, of a version where one is asked for."""

    package: str
    relation: str | None = None
    version: str | None = None

    def met_by(self, version: str | None) -> bool:
        if version is None or self.relation is None or self.version is None:
            return version is not None
        return satisfies(version, _RELATIONS.get(self.relation, self.relation), self.version)

    def __str__(self) -> str:
        return f"{self.package} {self.relation} {self.version}" if self.version else self.package


@dataclass
class BuildPlan:
    """`build`: source packages in the order in which they are built, each with the reason; the last
    is the middleware's own. `system`: package → the version that is used as it is. `missing`:
    packages that the system can install and has not."""

    build: list[tuple[SourcePackage, str]] = field(default_factory=list)
    system: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def source(self) -> SourcePackage:
        return self.build[-1][0]


def plan(
    newest: Newest,
    archive: AptArchive,
    of_system: Callable[[str], tuple[str | None, str | None]] = here,
) -> BuildPlan:
    """What is to be built for that middleware. Raises UserError where a source package is not to be had."""
    made = BuildPlan()
    _add(made, archive.source(newest.source), "", archive, of_system)
    made.missing = list(dict.fromkeys(made.missing))
    return made


def _add(
    made: BuildPlan,
    source: SourcePackage,
    reason: str,
    archive: AptArchive,
    of_system: Callable[[str], tuple[str | None, str | None]],
) -> None:
    for need in needs(source.needs):
        installed, candidate = of_system(need.package)
        if need.met_by(installed):
            made.system[need.package] = str(installed)
        elif need.version is None or need.met_by(candidate):
            made.missing.append(need.package)
        else:
            wanted = archive.source(need.package)
            if wanted.name not in {one.name for one, _ in made.build}:
                has = installed or candidate
                why = f"{source.name} needs {need}; the system has " + (has or "none")
                _add(made, wanted, why, archive, of_system)
    made.build.append((source, reason))


def needs(text: str) -> Iterator[PackageNeed]:
    """The packages of a field Build-Depends that are compiled with, which are packages called `…-dev`. Of
    alternatives the first; what is for tests and documents is marked so."""
    for entry in text.split(","):
        first = entry.partition("|")[0].strip()
        if "<!nocheck>" in first or "<!nodoc>" in first:
            continue
        found = _NEED.match(first)
        if found and found[1].endswith("-dev") and found[1] not in _PACKAGING:
            yield PackageNeed(found[1], found[2], found[3])
