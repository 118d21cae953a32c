"""Reads files of candidates, the shipped one and a user's own; errors have file and line."""

import os
from functools import cache
from pathlib import Path
from typing import Any

from rmwbench.suite.arm import FORMAT_OF_SUFFIX
from rmwbench.suite.fault import Fault, at_key
from rmwbench.suite.file import candidate_list
from rmwbench.suite.file.candidate_list import PROFILE, Candidate, Candidates, CandidatesFile
from rmwbench.suite.file.suite_files import CANDIDATES_FILE, path_text, read, suites_directory
from rmwbench.suite.file.tree import error_lines, locate, mapping_of, tree_of, values_of

CANDIDATES_VARIABLE = "RMWBENCH_CANDIDATES"
"""The environment variable with the path of a user's file; its candidates and sets are known
besides the shipped ones."""


def known_candidates() -> Candidates:
    """The shipped candidates, and those of the user's file that CANDIDATES_VARIABLE names."""
    own_file = os.environ.get(CANDIDATES_VARIABLE)
    shipped = shipped_candidates()
    return shipped.and_those(candidates_of(Path(own_file))) if own_file else shipped


@cache
def shipped_candidates() -> Candidates:
    """The candidates of `suites/candidates.yaml`."""
    return candidates_of(suites_directory() / CANDIDATES_FILE, Candidates())


def candidates_of(path: Path, known: Candidates | None = None) -> Candidates:
    """The candidates and sets of one file, which may name the `known` ones, by default the shipped
    ones. Raises UserError for any mistake but an unknown middleware, which is checked in a
    suite."""
    known = shipped_candidates() if known is None else known
    where = path_text(path)
    tree = mapping_of(
        tree_of(read(path), where), where, "a file of candidates", "sets and candidates"
    )
    with error_lines(tree, where):
        if "candidates" in tree:
            with at_key("candidates"):
                tree["candidates"] = candidate_list.expand_names(tree["candidates"], known)
        file = CandidatesFile.model_validate(
            values_of(tree, where), context={"directory": path.parent}
        )
        _check_names(file, known)
    candidates = {}
    for index, entry in enumerate(file.candidates):
        keys = values_of(tree["candidates"][index], where)
        arm = {key: keys[key] for key in keys if key not in candidate_list.CANDIDATE_KEYS}
        line = f"{where}:{locate(tree, ('candidates', index))[0]}"
        candidates[entry.name] = Candidate(
            entry.name, _absolute(arm, path.parent), entry.in_, entry.needs, line
        )
    return Candidates(
        candidates,
        {name: listed_set.what for name, listed_set in file.sets.items()},
        {name: listed_set.no_loan for name, listed_set in file.sets.items()},
    )


def own_profile(word: str) -> Candidate:
    """The arm of `MIDDLEWARE=FILE`: the middleware, or the candidate of that name, with the user's
    file, or with the file of a directory that `rmwbench middlewares profile -o` wrote. Raises
    Fault."""
    middleware, _, file_name = word.partition("=")
    path = Path(file_name)
    if not middleware or not file_name:
        raise Fault(
            f"`{word}` is not a middleware with a file",
            expected="MIDDLEWARE=FILE, such as cyclonedds=./mine.xml",
            actual=word,
            at=(PROFILE,),
        )
    if path.is_dir():
        profiles = sorted(file for file in path.iterdir() if file.suffix in FORMAT_OF_SUFFIX)
        path = profiles[0] if len(profiles) == 1 else path
    if not path.is_file() or path.suffix not in FORMAT_OF_SUFFIX:
        raise Fault(
            f"there is no profile file `{file_name}`",
            expected="a file ending in "
            + ", ".join(FORMAT_OF_SUFFIX)
            + ", or a directory with one such file",
            actual=file_name,
            fix=f"`rmwbench middlewares profile {middleware}` prints those that come with it",
            at=(PROFILE,),
        )
    name = f"{middleware} {path.name}"
    arm: dict[str, Any] = {"middleware": middleware}
    if middleware_of(middleware) != middleware:
        arm = dict(known_candidates().by_name[middleware].arm)
    arm |= {"name": name, "profile": str(path.resolve())}
    return Candidate(name, arm, where=PROFILE)


def middleware_of(name: str) -> str:
    """The middleware of the candidate of that name; else the name itself."""
    candidate = known_candidates().by_name.get(name)
    return name if candidate is None else str(candidate.arm["middleware"])


def _check_names(file: CandidatesFile, known: Candidates) -> None:
    sets, kind_of_name = [*known.sets, *file.sets], dict.fromkeys(file.sets, "a set")
    for index, candidate in enumerate(file.candidates):
        if candidate.name in kind_of_name:
            raise Fault(
                f"`{candidate.name}` is the name of {kind_of_name[candidate.name]} already",
                expected="a name of its own for each candidate and set",
                at=("candidates", index, "name"),
            )
        kind_of_name[candidate.name] = "a candidate"
        for position, name in enumerate(candidate.in_):
            if name not in sets:
                raise candidate_list.unknown_name(
                    "set", name, sets, at=("candidates", index, "in", position)
                )


def _absolute(arm: Any, directory: Path) -> Any:
    """The arm with absolute paths of profile files: a suite in another directory may name it."""
    if isinstance(arm, dict):
        return {
            key: str((directory / value).resolve())
            if key == "profile"
            and isinstance(value, str)
            and ("/" in value or Path(value).suffix in FORMAT_OF_SUFFIX)
            else _absolute(value, directory)
            for key, value in arm.items()
        }
    return arm
