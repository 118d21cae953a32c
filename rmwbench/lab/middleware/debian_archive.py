"""Source packages of Debian's newest release, through apt with a configuration of ours; and the plan
which of them must be built here for a newer version.

The machine's own apt tells where Debian's archive is. Its configuration is only read: ours lies in
the cache and replaces the lists of sources, the state and the caches; other settings, such as a
proxy, hold. A source package is used only if it is signed with a key of Debian's keyring.

A source package names the packages that it is compiled with. If it needs a version that the system
does not have, that package is built too, from the same release; otherwise the system's is used.
Packages that only make, document or test Debian's own packages are not needed here.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.lab.middleware.catalogue import Newest, apt_command, sudo

RELEASE = "unstable"
"""Debian's name of the release that a new version of a package reaches first."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TIMEOUT_S = 600
WITHOUT = "leave out --newest, which builds with what the system has"
_TARGET = "$(REPO_URI)|$(COMPONENT)|$(CREATED_BY)|$(ORIGIN)|$(LABEL)"
_COMPLAINT = re.compile(r"^[EW]: (.*)", re.MULTILINE)


@dataclass(frozen=True)
class SourcePackage:
    """A source package; `needs` is its field Build-Depends."""

    name: str
    version: str
    needs: str


def archives() -> list[str]:
    """The URIs of this machine's Debian archives. Raises UserError without any."""
    completed = _run(["apt-get", "indextargets", "--format", _TARGET])
    rows = [line.split("|") for line in completed.stdout.splitlines()]
    uris = [
        uri
        for uri, component, created_by, origin, label in (row for row in rows if len(row) == 5)
        if (component, created_by, origin, label) == ("main", "Packages", "Debian", "Debian")
    ]
    if uris:
        return list(dict.fromkeys(uris))
    raise UserError(
        "apt knows no archive of Debian's here that could have a source package",
        expected="an entry with the component main in /etc/apt/sources.list or "
        "/etc/apt/sources.list.d, and its list",
        actual=_complaints(completed) or "no list of packages has the origin Debian",
        fix=f"{sudo()}apt-get update",
    )


def files(home: Path, uris: Sequence[str]) -> dict[Path, str]:
    """The files of the configuration: path → text. The list of sources has an entry for each
    archive, with the name of the newest release."""
    sources = home / "sources.list"
    options = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": home / "no.d",
        "Dir::Etc::preferences": home / "no.preferences",
        "Dir::Etc::preferencesparts": home / "no.d",
        "Dir::State": home / "state",
        "Dir::State::status": home / "status",
        "Dir::Cache": home / "cache",
        "APT::Get::AllowUnauthenticated": "false",
        "Acquire::AllowInsecureRepositories": "false",
        "Acquire::Languages": "none",
    }
    return {
        home / "apt.conf": "".join(f'{key} "{value}";\n' for key, value in options.items()),
        sources: "".join(f"deb-src [signed-by={KEYRING}] {uri} {RELEASE} main\n" for uri in uris),
        home / "status": "",  # no installed packages for this configuration
    }


class AptArchive:
    """The packages of Debian's newest release, with its lists below `home`."""

    def __init__(self, home: Path):
        self._home = home

    def update(self) -> None:
        """Downloads the lists. Raises UserError where that fails or they are not signed."""
        if not KEYRING.is_file():
            raise UserError(
                "the keyring that Debian's source packages are checked with is not here",
                where=str(KEYRING),
                fix=apt_command(["debian-archive-keyring"]),
            )
        uris = archives()
        for directory in ("no.d", "state/lists/partial", "cache/archives/partial"):
            (self._home / directory).mkdir(parents=True, exist_ok=True)
        for path, text in files(self._home, uris).items():
            path.write_text(text)
        completed = self._ask("apt-get", "update", "--error-on=any", "-qq")
        if completed.returncode:
            raise UserError(
                f"apt cannot get the list of Debian's source packages ({RELEASE})",
                where=", ".join(uris),
                actual=_complaints(completed),
                fix=f"make sure that this archive can be reached, then try again; {WITHOUT}",
            )

    def source(self, package: str) -> SourcePackage:
        """The newest source package of that name, or of the one that makes the package of that
        name. Raises UserError where there is none."""
        completed = self._ask("apt-cache", "showsrc", package)
        packages = [
            SourcePackage(
                paragraph["Package"], paragraph["Version"], paragraph.get("Build-Depends", "")
            )
            for paragraph in paragraphs(completed.stdout)
            if "Package" in paragraph and "Version" in paragraph
        ]
        if not packages:
            raise UserError(
                f"Debian's release {RELEASE} has no source package {package}",
                actual=_complaints(completed) or None,
                fix=WITHOUT,
            )
        return max(packages, key=cmp_to_key(_by_version))

    def get(self, source: SourcePackage, into: Path) -> Path:
        """Downloads and unpacks a source package. Returns its tree. Raises UserError."""
        into.mkdir(parents=True, exist_ok=True)
        tree = into / f"{source.name}-tree"
        get = ["apt-get", "source", "--only-source", "--download-only", "-qq"]
        completed = self._ask(*get, f"{source.name}={source.version}", directory=into)
        if completed.returncode == 0:
            version = source.version.partition(":")[2] or source.version
            # apt has checked it by the hash in its list
            unpack = ["dpkg-source", "--extract", "--no-check", f"{source.name}_{version}.dsc"]
            completed = _run([*unpack, tree.name], directory=into)
        if completed.returncode:
            raise UserError(
                f"cannot get Debian's source package {source.name} {source.version}",
                where=str(into),
                actual=_complaints(completed) or completed.stderr.strip(),
                fix=f"try again when the archive has all of it; {WITHOUT}",
            )
        return tree

    def _ask(
        self, *command: str, directory: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        program, *arguments = command
        return _run([program, "-c", str(self._home / "apt.conf"), *arguments], directory)


def system_versions(package: str) -> tuple[str | None, str | None]:
    """The version of a package that is installed, and the version that apt would install."""
    completed = _run(["apt-cache", "policy", package])
    versions = dict(re.findall(r"^  (Installed|Candidate): (\S+)", completed.stdout, re.MULTILINE))
    version_texts = [versions.get(name) for name in ("Installed", "Candidate")]
    installed, candidate = (None if text == "(none)" else text for text in version_texts)
    return installed, candidate


def satisfies(version: str, relation: str, other_version: str) -> bool:
    """Whether a version has that relation to another one, by dpkg."""
    command = ["dpkg", "--compare-versions", version, relation, other_version]
    return subprocess.run(command, capture_output=True).returncode == 0


def _by_version(first: SourcePackage, second: SourcePackage) -> int:
    """Compares two versions, as a sort function does."""
    is_newer = satisfies(first.version, "gt", second.version)
    return is_newer - satisfies(first.version, "lt", second.version)


def paragraphs(text: str) -> Iterator[Mapping[str, str]]:
    """Yields the paragraphs of a Debian control file: field → value, with its lines joined."""
    for block in re.split(r"\n\s*\n", text):
        fields = re.findall(r"^(\S+?):[ \t]*(.*(?:\n[ \t].*)*)", block, re.MULTILINE)
        if fields:
            yield {name: " ".join(value.split()) for name, value in fields}


def _run(command: Sequence[str], directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        complaint = f"E: {command[0]} did not end within {TIMEOUT_S} s"
        return subprocess.CompletedProcess(command, 1, "", complaint)
    except FileNotFoundError:
        raise UserError(
            "a newer version comes from Debian's source packages, and this system lacks the tools",
            expected=f"{command[0]} on PATH",
            fix=WITHOUT,
        ) from None


def _complaints(completed: subprocess.CompletedProcess[str]) -> str:
    """The first errors and warnings of apt, each once, errors first."""
    lines = sorted(completed.stderr.splitlines(), key=lambda line: not line.startswith("E:"))
    complaints = _COMPLAINT.findall("\n".join(lines))
    return "; ".join(dict.fromkeys(complaints[:3]))


_NEED = re.compile(r"^([a-z0-9][a-z0-9+.-]*)(?::\w+)?\s*(?:\(\s*([<>=]+)\s*([^)\s]+)\s*\))?")
_RELATIONS = {"<<": "lt", "<=": "le", "=": "eq", ">=": "ge", ">>": "gt"}
_PACKAGING = {"dpkg-dev"}


@dataclass(frozen=True)
class PackageNeed:
    """A package that is needed for compiling, with its version where one is demanded."""

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
    """The plan of a build. `build`: source packages in the order in which they are built, each with
    the reason; the last is the middleware's own. `system`: package → the version of the system that
    is used. `missing`: packages that apt can install and that are not installed."""

    build: list[tuple[SourcePackage, str]] = field(default_factory=list)
    system: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def source(self) -> SourcePackage:
        return self.build[-1][0]


def plan_build(
    newest: Newest,
    archive: AptArchive,
    versions_of: Callable[[str], tuple[str | None, str | None]] = system_versions,
) -> BuildPlan:
    """The plan for building a source package. Raises UserError where one is missing."""
    plan = BuildPlan()
    _add(plan, archive.source(newest.source), "", archive, versions_of)
    plan.missing = list(dict.fromkeys(plan.missing))
    return plan


def _add(
    plan: BuildPlan,
    source: SourcePackage,
    reason: str,
    archive: AptArchive,
    versions_of: Callable[[str], tuple[str | None, str | None]],
) -> None:
    """Adds a source package to the plan, after the packages that it needs built."""
    for need in package_needs(source.needs):
        installed, candidate = versions_of(need.package)
        if need.met_by(installed):
            plan.system[need.package] = str(installed)
        elif need.version is None or need.met_by(candidate):
            plan.missing.append(need.package)
        else:
            needed_source = archive.source(need.package)
            if needed_source.name not in {planned.name for planned, _ in plan.build}:
                version = installed or candidate or "none"
                why = f"{source.name} needs {need}; the system has {version}"
                _add(plan, needed_source, why, archive, versions_of)
    plan.build.append((source, reason))


def package_needs(text: str) -> Iterator[PackageNeed]:
    """Yields the packages of a field Build-Depends that are needed for compiling: those called
    `…-dev`, and the first of alternatives, without the entries that are marked as for tests or
    documents."""
    for entry in text.split(","):
        first = entry.partition("|")[0].strip()
        if "<!nocheck>" in first or "<!nodoc>" in first:
            continue
        match = _NEED.match(first)
        if match and match[1].endswith("-dev") and match[1] not in _PACKAGING:
            yield PackageNeed(match[1], match[2], match[3])
