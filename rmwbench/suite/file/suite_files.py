"""The places of suites and published evaluations, the text of a suite, and the names of the shipped
middlewares. This module does not load the models of suites, so a check whether a suite exists is
fast.

A suite may name a shipped middleware that is not built yet; the error then says how to build it.
The name is in the Cargo.toml of a crate, or is that of a program of this package for a worker in
Python. An installed package has no crates beside it and knows those of the first set.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from rmwbench.command_name import command_line
from rmwbench.errors import UserError, did_you_mean
from rmwbench.input_file import read_text

CLAIMS_FILE = "claims.yaml"
"""The claims of a published evaluation, beside its suites (claims_file.py)."""
FIGURES_FILE = "figures.yaml"
"""Its figures (figures_file.py)."""
QUESTIONNAIRE_FILE, EVIDENCE_FILE = "questionnaire.yaml", "evidence.yaml"
"""Its questions, and answers that were not measured (questions_file.py)."""
CANDIDATES_FILE = "candidates.yaml"
"""The candidates of all suites, beside them (candidate_list.py)."""
NETWORKS_FILE = "networks.yaml"
"""Networks by name, beside it (networks_file.py)."""
REMEDIES_FILE = "remedies.yaml"
"""Remedies by symptom, beside it (rmwbench/results/advice.py)."""
PUBLISHED = "published"
"""The folder with a folder for each published evaluation; it is not part of a suite's name."""
NO_SUITES = (
    CLAIMS_FILE,
    FIGURES_FILE,
    QUESTIONNAIRE_FILE,
    EVIDENCE_FILE,
    CANDIDATES_FILE,
    NETWORKS_FILE,
    REMEDIES_FILE,
)

SUFFIXES = (".yaml", ".yml")
JSON = ".json"
"""The suffix of a test matrix that is read as a suite (matrix.py)."""
MAX_FILE_BYTES = 256 * 1024
"""Reading YAML with its lines takes some seconds at that size; the largest shipped file has a third
of it."""
NOTHING_RUNS = {
    "galactic-2020/community": "rmwbench published community github | rep2004 | survey | admission "
    "(docs/community.md)",
    "fastdds-2021/questionnaire": "rmwbench published questionnaire",
}
"""Part of a published evaluation in which no middleware runs → the verb for it."""


def suites_directory() -> Path:
    """The directory of the shipped suites: inside the package if it was installed from a wheel,
    beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "suites"
    return inside if inside.is_dir() else package.parent / "suites"


def limits_directory() -> Path:
    """The directory of the shipped limits files, beside that of the suites."""
    return suites_directory().parent / "limits"


def sources_with(file: str) -> list[str]:
    """The names of the published evaluations that have this file or folder."""
    directory = suites_directory()
    paths = (*directory.glob(f"*/{file}"), *directory.glob(f"{PUBLISHED}/*/{file}"))
    return sorted(path.parent.name for path in paths)


def source_directory(source: str | Path) -> Path:
    """The folder of a published evaluation, which may be missing."""
    directory = suites_directory()
    published = directory / PUBLISHED / source
    return published if published.is_dir() else directory / source


def shipped_suites() -> list[str]:
    """Names that `load` accepts besides paths: `quick`, or `folder/name`."""
    return sorted(suite_files())


def suite_file(name: str) -> Path:
    """The file of a shipped suite. Raises KeyError for a name that `shipped_suites` does not
    have."""
    return suite_files()[name]


def name_in_bundles(suite: str) -> str:
    """Return the name that campaigns of a shipped suite have for it: the one inside its file."""
    return _name_inside(suite_file(suite)) or suite


def _name_inside(file: Path) -> str | None:
    match = re.search(r"^suite:\s*(\S+)\s*$", read(file), re.MULTILINE)
    return match[1] if match else None


def argument_of(name: str) -> str:
    """Return the argument by which a user runs the suite that campaigns call so: the name of a
    shipped one, else its file."""
    names = (shipped for shipped in shipped_suites() if name_in_bundles(shipped) == name)
    return next(names, f"./{name}.yaml")


def suite_files() -> Mapping[str, Path]:
    return _suite_files(suites_directory())


@cache
def _suite_files(directory: Path) -> Mapping[str, Path]:
    """Name -> file. `published/SOURCE/NAME.yaml` has the name `SOURCE/NAME`, or `SOURCE` if NAME is
    that of its folder, so that a name does not depend on the place of its file. Cached, since a
    questionnaire needs a thousand names."""
    file_of_name: dict[str, Path] = {}
    for path in directory.rglob("*.yaml"):
        if path.name not in NO_SUITES:
            folders = path.relative_to(directory).parts[:-1]
            folders = folders[1:] if folders[:1] == (PUBLISHED,) else folders
            file_of_name[
                "/".join(folders if folders[-1:] == (path.stem,) else (*folders, path.stem))
            ] = path
    return file_of_name


def source_file(source: str | Path, file: str, what: str) -> Path:
    """The path of a source's `file`, or the source itself if it is the path of a YAML file. Raises
    UserError for an unknown name; `what` is the content of the file, in the plural."""
    path = Path(source)
    if path.suffix in SUFFIXES:
        return path
    known = sources_with(file)
    if str(source) not in known:
        exists = source_directory(source).is_dir()
        raise UserError(
            f"`{source}` has no {what}" if exists else f"no source is called `{source}`",
            expected=f"one of those with {what}, {', '.join(known)}, or the path of a file",
            actual=str(source),
            fix=did_you_mean(str(source), known),
        )
    return source_directory(source) / file


@dataclass(frozen=True)
class ListedSuite:
    """`name` is the argument of `rmwbench run`; `folder` is that in `suites/`, empty for none."""

    name: str
    title: str
    folder: str


def suite_list() -> list[ListedSuite]:
    """The shipped suites with their titles. Only the titles are parsed, since parsing all of every
    suite takes seconds."""
    top = suites_directory()
    return [
        ListedSuite(name, _title(name), "".join(path.relative_to(top).parts[:-1][:1]))
        for name, path in sorted(suite_files().items())
    ]


def _title(name: str) -> str:
    """The `title` of a suite, parsed from the lines between its key and the next key."""
    lines = read(suite_file(name)).split("\n")
    begin = next(n for n, line in enumerate(lines) if line.startswith("title:"))
    end = next(
        (n for n in range(begin + 1, len(lines)) if lines[n] and not lines[n][0].isspace()), None
    )
    import yaml  # only needed for a list of suites

    title = yaml.load("\n".join(lines[begin:end]), yaml.CSafeLoader)
    return str(title["title"])


def has_text(name: str, text: str) -> bool:
    """Whether a shipped suite's name, or a sentence of its file, has this text; `late joiner` also
    matches `late-joiner`."""
    import yaml  # only needed for a search

    texts = [name, *_sentences(yaml.load(read(suite_file(name)), yaml.CSafeLoader))]
    return any(_plain(text) in _plain(sentence) for sentence in texts)


TEXTS = ("title", "description", "effect", "source", "figures", "versions", "helps", "unseen")
"""Keys of a suite's file whose values are sentences."""


def _sentences(tree: Any) -> Iterator[str]:
    if isinstance(tree, list):
        for item in tree:
            yield from _sentences(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in TEXTS and isinstance(value, str):
                yield value
            else:
                yield from _sentences(value)


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("-", " ").replace("_", " ").split())


def find(suite: str) -> Path:
    """The file of a suite: a path where it ends in .yaml or .json, otherwise a shipped name. Raises
    UserError where there is none."""
    path = Path(suite)
    if path.suffix in (*SUFFIXES, JSON):
        if path.is_file():
            return path
        reason = "it is a directory" if path.is_dir() else "no such file"
        raise UserError(
            f"cannot read suite file {suite}",
            expected="a suite file in YAML",
            actual=reason,
            fix=did_you_mean(path.stem, shipped_suites()),
        )
    files = suite_files()
    if suite in files:
        return files[suite]
    raise _no_suite(suite, sorted(files))


def _no_suite(suite: str, names: list[str]) -> UserError:
    """The error for a word that is not a suite's name; it may be a folder of suites, or a part of a
    published evaluation for another verb."""
    word = suite.rstrip("/")
    if word in NOTHING_RUNS:
        return UserError(
            f"`{word}` is not a suite: no middleware runs in it", fix=NOTHING_RUNS[word]
        )
    path = Path(suite)
    inside = [name for name in names if name.startswith(f"{word}/")]
    if not inside and path.is_dir():
        files_inside = sorted(
            file for end in SUFFIXES for file in path.glob(f"*{end}") if file.name not in NO_SUITES
        )
        inside = [str(file) for file in files_inside]
    if inside or path.is_dir():
        return UserError(
            f"`{suite}` is a folder, not a suite",
            expected="one of " + ", ".join(inside)
            if inside
            else "the path of a file ending in .yaml",
            actual=suite,
            fix=command_line("plan", inside[0]) if inside else None,
        )
    return UserError(
        f"no suite is called `{suite}`",
        expected="one of " + ", ".join(names) + ", or the path of a file ending in .yaml",
        actual=suite,
        fix=f"suite files end in .yaml: rename {suite}"
        if path.exists()
        else did_you_mean(suite, names),
    )


def read(
    path: Path, *, kind: str = "file", most_bytes: int = MAX_FILE_BYTES, fix: str | None = None
) -> str:
    """The text of a suite file, or of another `kind`. Raises UserError where it cannot be read,
    with the advice `fix`, or is not text."""
    where = str(path)
    try:
        return read_text(path, most_bytes)
    except UnicodeDecodeError as error:
        raise UserError(
            f"the {kind} is not text", where=where, expected="YAML in UTF-8", actual=str(error)
        ) from error
    except (OSError, ValueError) as error:
        actual = getattr(error, "strerror", None) or str(error)
        raise UserError(f"cannot read the {kind}", where=where, actual=actual, fix=fix) from error


def path_text(path: Path) -> str:
    """The path for messages: relative if the file is below the current directory."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


FIRST_SET = ("floor", "synthetic", "null", "iceoryx2", "zenoh", "cyclonedds", "fastdds")
PREFIX = "rmwbench-"
"""The begin of the name of every worker's program."""


@cache
def shipped_middlewares() -> tuple[str, ...]:
    """The names of the shipped middlewares: those of the first set first, the others sorted."""
    native = Path(__file__).resolve().parents[3] / "native"
    manifests = [*native.glob("middlewares/*/Cargo.toml"), *native.glob("rare/*/Cargo.toml")]
    crates = filter(None, map(_name, sorted(manifests, key=lambda path: path.parent.name)))
    return tuple(
        dict.fromkeys(
            [*FIRST_SET, *crates, *(name.removeprefix(PREFIX) for name in python_programs())]
        )
    )


@cache
def python_programs() -> tuple[str, ...]:
    """The names of this package's programs that are workers."""
    try:
        scripts = distribution("rmwbench").entry_points
    except PackageNotFoundError:
        return ()
    return tuple(sorted(script.name for script in scripts if script.name.startswith(PREFIX)))


def _name(cargo: Path) -> str | None:
    """The middleware of a crate; None where it cannot be read, which the build reports."""
    try:
        package = tomllib.loads(cargo.read_text(encoding="utf-8"))["package"]
        table = package.get("metadata", {}).get("rmwbench", {})
        return str(table.get("middleware", package["name"].removeprefix(PREFIX)))
    except (OSError, ValueError, KeyError):
        return None
