"""Reads a suite file, and turns whatever is wrong with it into one UserError with file and line.

ruamel.yaml keeps the line of every key and item; pydantic says which key is wrong. The two meet
here and nowhere else.
"""

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from rmwbench.errors import UserError, did_you_mean
from rmwbench.input_file import read_text
from rmwbench.suite.cells import cells
from rmwbench.suite.fault import Fault
from rmwbench.suite.file import candidates, matrix, pairs, short, yaml_tree
from rmwbench.suite.file.candidates import NO_CHOICE, Candidate, Candidates, CandidatesFile, Choice
from rmwbench.suite.file.places import (
    CANDIDATES_FILE,
    NO_SUITES,
    shipped_suites,
    source_directory,
    sources_with,
    suite_file,
    suite_files,
    suites_directory,
)
from rmwbench.suite.file.shipped import shipped_middlewares
from rmwbench.suite.side import FORMAT_OF_SUFFIX
from rmwbench.suite.suite import Suite

_Model = TypeVar("_Model", bound=BaseModel)

SUFFIXES = (".yaml", ".yml")
JSON = ".json"
"""Of a test matrix that is read as a suite (matrix.py)."""
MAX_FILE_BYTES = 256 * 1024
"""Reading YAML with its lines takes some seconds at that size; the largest file that is shipped has
a third of it."""
MOST_VALUES = 200_000
"""Of a file with its aliases written out; a bomb of a few lines has billions."""
CANDIDATES_VARIABLE = "RMWBENCH_CANDIDATES"
"""A file of the user's whose candidates and sets are known besides the shipped ones, wherever those
are named."""
NOTHING_RUNS = {
    "galactic-2020/community": "rmwbench published community github | rep2004 | survey | admission "
    "(docs/community.md)",
    "fastdds-2021/questionnaire": "rmwbench published questionnaire",
}
"""Parts of published evaluations in which no middleware runs, and the verbs that are these
parts."""


def source_file(source: str | Path, file: str, what: str) -> Path:
    """Where a source's `file` lies, or the path as given where it is one of a YAML file. Raises
    UserError for an unknown name; `what` the file has, in the plural."""
    path = Path(source)
    if path.suffix in SUFFIXES:
        return path
    known = sources_with(file)
    if str(source) not in known:
        there = source_directory(source).is_dir()
        raise UserError(
            f"`{source}` has no {what}" if there else f"no source is called `{source}`",
            expected=f"one of those with {what}, {', '.join(known)}, or the path of a file",
            actual=str(source),
            fix=did_you_mean(str(source), known),
        )
    return source_directory(source) / file


@dataclass(frozen=True)
class Listed:
    """`name` is what `rmwbench run` takes; `folder` of `suites/`, empty for none."""

    name: str
    title: str
    folder: str


def listed() -> list[Listed]:
    """The shipped suites with their titles. Only the title of each file is read: all of every suite
    takes seconds."""
    top = suites_directory()
    return [
        Listed(name, _title(name), "".join(path.relative_to(top).parts[:-1][:1]))
        for name, path in sorted(suite_files().items())
    ]


def _title(name: str) -> str:
    """The entry `title` of the file, from its key to the next one of the same level."""
    lines = read(suite_file(name)).split("\n")
    begin = next(n for n, line in enumerate(lines) if line.startswith("title:"))
    rest = lines[begin + 1 :]
    end = next((n for n, line in enumerate(rest) if line and not line[0].isspace()), len(rest))
    return str(YAML(typ="safe").load("\n".join([lines[begin], *rest[:end]]))["title"])


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
    """What to say of a word that is not a suite's name: it may be a folder of some, or what another
    verb does."""
    word = suite.rstrip("/")
    if word in NOTHING_RUNS:
        return UserError(
            f"`{word}` is not a suite: no middleware runs in it", fix=NOTHING_RUNS[word]
        )
    path = Path(suite)
    inside = [name for name in names if name.startswith(f"{word}/")]
    if not inside and path.is_dir():
        found = sorted(
            file for end in SUFFIXES for file in path.glob(f"*{end}") if file.name not in NO_SUITES
        )
        inside = [str(file) for file in found]
    if inside or path.is_dir():
        return UserError(
            f"`{suite}` is a folder, not a suite",
            expected="one of " + ", ".join(inside)
            if inside
            else "the path of a file ending in .yaml",
            actual=suite,
            fix=f"rmwbench plan {inside[0]}" if inside else None,
        )
    return UserError(
        f"no suite is called `{suite}`",
        expected="one of " + ", ".join(names) + ", or the path of a file ending in .yaml",
        actual=suite,
        fix=f"suite files end in .yaml: rename {suite}"
        if path.exists()
        else did_you_mean(suite, names),
    )


def known_candidates() -> Candidates:
    """The shipped candidates, and those of the user's file that CANDIDATES_VARIABLE names."""
    own = os.environ.get(CANDIDATES_VARIABLE)
    shipped = shipped_candidates()
    return shipped.and_those(candidates_of(Path(own))) if own else shipped


@cache
def shipped_candidates() -> Candidates:
    """Those of `suites/candidates.yaml`."""
    return candidates_of(suites_directory() / CANDIDATES_FILE, Candidates())


def candidates_of(path: Path, besides: Candidates | None = None) -> Candidates:
    """The candidates and sets of one file, which may name those `besides`, the shipped ones where
    None. Raises UserError for anything wrong with it. Whether there is such a middleware is asked
    where a suite names one."""
    besides = shipped_candidates() if besides is None else besides
    where = shown(path)
    tree = _yaml(read(path), where, "a file of candidates", "sets and candidates")
    try:
        if "candidates" in tree:
            tree["candidates"] = candidates.expanded(tree["candidates"], besides)
        file = CandidatesFile.model_validate(
            _plain(tree, where), context={"directory": path.parent}
        )
        _check_names(file, besides)
    except ValidationError as error:
        raise _user_error(tree, where, error) from error
    except Fault as fault:
        at = fault.at if fault.at[:1] == ("candidates",) else ("candidates", *fault.at)
        raise _fault_error(tree, where, at, fault) from fault
    found = {}
    for index, one in enumerate(file.candidates):
        said = _plain(tree["candidates"][index], where)
        arm = {key: value for key, value in said.items() if key not in candidates.OF_THE_FILE}
        place = f"{where}:{_find(tree, ('candidates', index))[0]}"
        found[one.name] = Candidate(
            one.name, _absolute(arm, path.parent), one.in_, one.needs, place
        )
    return Candidates(found, file.what, file.no_loan)


def _check_names(file: CandidatesFile, besides: Candidates) -> None:
    sets, seen = [*besides.sets, *file.sets], dict.fromkeys(file.sets, "a set")
    for index, one in enumerate(file.candidates):
        if one.name in seen:
            raise Fault(
                f"`{one.name}` is the name of {seen[one.name]} already",
                expected="a name of its own for each candidate and set",
                at=("candidates", index, "name"),
            )
        seen[one.name] = "a candidate"
        for place, name in enumerate(one.in_):
            if name not in sets:
                raise candidates.unknown_name(
                    "set", name, sets, at=("candidates", index, "in", place)
                )


def _absolute(arm: Any, directory: Path) -> Any:
    """Profiles that are files by their whole path: a suite elsewhere may name the candidate."""
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


def load(suite: str | Path, *, middlewares: Iterable[str] = (), shortened: bool = False) -> Suite:
    """The suite of that shipped name or path; `shortened` as its `short` says.

    `middlewares` are names known besides the shipped ones (workers that were found). Raises one
    UserError for anything wrong with the file.
    """
    path = suite if isinstance(suite, Path) else find(suite)
    text = read(path)
    return parse(
        text, where=shown(path), directory=path.parent, middlewares=middlewares, shortened=shortened
    )


def read(path: Path) -> str:
    """The text of a suite file. Raises UserError where it cannot be read or is not text."""
    try:
        return read_text(path, MAX_FILE_BYTES)
    except UnicodeDecodeError as error:
        raise UserError(
            "the file is not text", where=str(path), expected="YAML in UTF-8", actual=str(error)
        ) from error
    except OSError as error:
        raise UserError("cannot read the file", where=str(path), actual=error.strerror) from error


def parse(
    text: str,
    *,
    where: str,
    directory: Path | None = None,
    middlewares: Iterable[str] = (),
    shortened: bool = False,
    whole_factors: Collection[str] = (),
    choice: Choice = NO_CHOICE,
) -> Suite:
    """A suite from its text. `where` names the file in errors; profile paths are relative to
    `directory`. `whole_factors`: those of which the short version has all levels, too. `choice`:
    what the command line says of its arms."""
    tree = _tree(text, where, choice)
    try:
        tree = short.shortened(tree, wanted=shortened, whole_factors=whole_factors)
    except Fault as fault:
        raise _fault_error(tree, where, fault.at, fault) from fault
    context = {
        "directory": directory or Path(),
        "middlewares": [*dict.fromkeys((*shipped_middlewares(), *middlewares))],
    }
    content = _plain(tree, where)
    if isinstance(content.get("outcomes"), str):
        content["outcomes"] = _limits_of_file(directory or Path(), content["outcomes"])
    try:
        suite = Suite.model_validate(content, context=context)
        # contradictions between a level and a workload have a line too, so they are found at load
        cells(suite)
    except ValidationError as error:
        raise _user_error(tree, where, error) from error
    except Fault as fault:
        raise _fault_error(tree, where, fault.at, fault) from fault
    return suite


def _limits_of_file(directory: Path, name: str) -> dict[str, Any]:
    """`outcomes: FILE`: the limits of that file, without its name and cells."""
    from rmwbench.suite.file.limits_file import read_limits  # which reads by this module

    found = read_limits(directory / name)
    return found.model_dump(by_alias=True, include={"acceptable", "topics", "nothing"})


def plain(text: str, *, where: str, choice: Choice = NO_CHOICE) -> dict[str, Any]:
    """What a suite's text says, in Python's own types and with its candidates and pairs of
    middlewares written out; nothing is validated."""
    return _plain(_tree(text, where, choice), where)


def written(
    text: str, *, where: str, choice: Choice = NO_CHOICE
) -> tuple[dict[str, Any], ...] | None:
    """The arms as `plain` has them, where the text alone does not say them: a campaign keeps these,
    whatever the candidates become. None where it does."""
    tree = _yaml(text, where)
    if (
        not choice.changes
        and not candidates.refers(tree.get("arms"))
        and not matrix.is_matrix(tree)
    ):
        return None
    return tuple(plain(text, where=where, choice=choice)["arms"])


def validated(text: str, *, where: str, model: type[_Model]) -> _Model:
    """Another kind of YAML file than a suite, as `model`: mistakes get file and line in the same
    way."""
    return cast(_Model, _validated(text, where, model))


@lru_cache(maxsize=64)
def _validated(text: str, where: str, model: type[BaseModel]) -> BaseModel:
    """As `validated`. What was read once is not read again: YAML takes long, and a model is never
    changed."""
    tree = _yaml(text, where, "this file", "those of the other files of its name")
    try:
        return model.model_validate(_plain(tree, where))
    except ValidationError as error:
        raise _user_error(tree, where, error) from error


def line_of(
    text: str, path: tuple[str | int, ...], *, shortened: bool = False, choice: Choice = NO_CHOICE
) -> int:
    """The line, from 1, of the deepest part of `path` (such as `("arms", 2, "options")`) that a
    suite's text has, or its short version."""
    return _find(short.shortened(_tree(text, "suite", choice), wanted=shortened), path)[0]


def shown(path: Path) -> str:
    """The path as the user would type it: relative where the file is below the current
    directory."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _yaml(
    text: str, where: str, what: str = "a suite file", keys: str = "suite, arms, workloads"
) -> CommentedMap:
    """The tree of a file that is a mapping; of `what` kind and with which `keys`, an error says."""
    json = text.lstrip().startswith("{")
    try:
        # JSON is YAML but for tabs, which it has between its words only.
        tree = _parsed(text.replace("\t", " ") if json else text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"{where}:{mark.line + 1}" if mark else where
        problem = " ".join((error.problem or error.context or "this is not YAML").split())
        raise UserError(
            f"not YAML: {problem}",
            where=line,
            fix="check indentation, quotes and colons on this line and the one before",
        ) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise UserError(
            "not YAML", where=where, actual=" ".join(str(error).split()) or type(error).__name__
        ) from error
    if (values := _values(tree, {})) > MOST_VALUES:
        raise UserError(
            "this file is too large with its aliases written out",
            where=where,
            expected=f"at most {MOST_VALUES} values",
            actual=str(values) if values < 10**9 else "more than a billion",
            fix="split it into several suites",
        )
    if where.endswith(JSON) and not matrix.is_matrix(tree):
        raise UserError(
            "this JSON is not a suite", where=where, expected=matrix.KIND, actual=_shape(tree)
        )
    if not isinstance(tree, CommentedMap):
        raise UserError(
            f"{what} is a mapping",
            where=where,
            expected=f"keys such as {keys}",
            actual=_shape(tree),
        )
    return tree


def _parsed(text: str) -> Any:
    try:
        return yaml_tree.read(text)
    except yaml_tree.NotTaken:
        yaml = YAML(typ="rt")
        yaml.allow_duplicate_keys = False
        return yaml.load(text)


def _tree(text: str, where: str, choice: Choice = NO_CHOICE) -> CommentedMap:
    """The tree of a suite's file with all of its arms written out."""
    tree = _yaml(text, where)
    if matrix.is_matrix(tree):
        tree = _of_matrix(tree, where)
    if "arms" in tree:
        try:
            arms = tree["arms"]
            if candidates.refers(arms):
                arms = candidates.expanded(arms, known_candidates())
            arms = pairs.expanded(arms)
        except Fault as fault:
            raise _fault_error(tree, where, ("arms", *fault.at), fault) from fault
        # keeps its line, since the key was there
        refers, tree["arms"] = candidates.refers(tree["arms"]), arms
        if refers:
            candidates.expand_short(tree, known_candidates())
        if choice.changes and isinstance(arms, CommentedSeq):
            before = [str(arm.get("name")) for arm in arms if isinstance(arm, CommentedMap)]
            tree["arms"] = _chosen(arms, choice, tree.lc.key("arms"))
            candidates.tidied(tree, before)
        try:
            candidates.without_sets(tree["arms"], known_candidates())
        except Fault as fault:
            raise _fault_error(tree, where, ("arms", *fault.at), fault) from fault
    return tree


def _chosen(arms: CommentedSeq, choice: Choice, line: tuple[int, int]) -> CommentedSeq:
    """What comes by the command line stands at `line`. Raises UserError at the option that names
    what there is not."""
    known = known_candidates()
    files = {file: candidates_of(Path(file)) for file in choice.files}
    for own in files.values():
        known = known.and_those(own)

    def named(word: str, option: str) -> Iterable[Candidate]:
        return files[word].known.values() if word in files else known.named(word, (option,))

    try:
        sets = {name: [one.name for one in known.of_set(name)] for name in known.sets}
        return candidates.chosen(arms, choice, named, sets, line)
    except Fault as fault:
        where = str(fault.at[0])
        raise UserError(
            fault.what, where=where, expected=fault.expected, actual=fault.actual, fix=fault.fix
        ) from fault


def _values(node: Any, known: dict[int, int]) -> int:
    """How many values a tree has with its aliases written out, each visited once. An alias that
    contains itself counts once: `_plain` refuses it."""
    if not isinstance(node, CommentedMap | CommentedSeq):
        return 1
    if id(node) not in known:
        known[id(node)] = 1
        inside = node.values() if isinstance(node, CommentedMap) else node
        known[id(node)] = 1 + sum(_values(item, known) for item in inside)
    return known[id(node)]


def _of_matrix(tree: CommentedMap, where: str) -> CommentedMap:
    def shipped(name: str) -> CommentedMap:
        return _tree(read(suite_file(name)), name)

    try:
        return matrix.as_suite(tree, shipped, Path(where).name)
    except Fault as fault:
        raise _fault_error(tree, where, fault.at, fault) from fault


def _plain(node: Any, where: str, above: tuple[int, ...] = ()) -> Any:
    """The tree in Python's own types, so that strict validation sees no subclasses; a YAML alias
    may not contain itself."""
    if isinstance(node, CommentedMap | CommentedSeq):
        if id(node) in above:
            raise UserError("an alias contains itself", where=f"{where}:{node.lc.line + 1}")
        inside = (*above, id(node))
        if isinstance(node, CommentedSeq):
            return [_plain(item, where, inside) for item in node]
        return {str(key): _plain(value, where, inside) for key, value in node.items()}
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            plain = kind(node)
            if isinstance(plain, str) and not plain.isascii() and _HALF.search(plain):
                raise UserError(
                    "a text has half a character, which no file can hold",
                    where=where,
                    actual=ascii(plain)[:80],
                )
            return plain
    return node


_HALF = re.compile("[\ud800-\udfff]")


def _find(tree: Any, path: tuple[Any, ...]) -> tuple[int, str, Any]:
    """Line (from 1), key and value of the deepest part of `path` that the file has; pydantic's tags
    of unions are not part of the file and are skipped.
    """
    line, name, node = tree.lc.line, "suite", tree
    for key in path:
        if isinstance(node, CommentedMap) and key in node:
            # A key that came by a merge (`<<: *other`) has no line here: the entry that merges it
            # has.
            line, name = node.lc.key(key)[0] if key in (node.lc.data or ()) else line, str(key)
        elif isinstance(node, CommentedSeq) and isinstance(key, int) and key < len(node):
            line = node.lc.item(key)[0]
        else:
            continue
        node = node[key]
    return line + 1, name, node


def _user_error(tree: Any, where: str, error: ValidationError) -> UserError:
    """The first mistake in the order of the file, and in its `do` line where the others are."""
    details = [one for one in error.errors() if not _is_echo(one)]
    found = sorted((_explained(tree, where, one) for one in details), key=lambda pair: pair[0])
    lines = [line for line, _ in found]
    first = found[0][1]
    others = [line for line in dict.fromkeys(lines) if line != lines[0]]
    if others:
        also = f"then look at line{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}"
        first = UserError(
            first.what,
            where=first.where,
            expected=first.expected,
            actual=first.actual,
            fix=f"{first.fix}; {also}" if first.fix else also,
        )
    return first


def _is_echo(details: Any) -> bool:
    """A list that is long enough but has bad items is reported as too short besides, since none of
    those count."""
    return details["type"] == "too_short" and len(details["input"]) >= details["ctx"]["min_length"]


def _fault_error(tree: Any, where: str, path: tuple[Any, ...], fault: Fault) -> UserError:
    line = _find(tree, path)[0]
    return UserError(
        fault.what,
        where=f"{where}:{line}",
        expected=fault.expected,
        actual=fault.actual,
        fix=fault.fix,
    )


def _explained(tree: Any, where: str, details: Any) -> tuple[int, UserError]:
    context = details.get("ctx") or {}
    path = tuple(details["loc"])
    cause = context.get("error")
    if isinstance(cause, Fault):
        path += cause.at
        return _find(tree, path)[0], _fault_error(tree, where, path, cause)
    line, key, value = _find(tree, path)
    kind = details["type"]
    what, expected, fix = f"`{key}`: {details['msg']}", None, None
    actual: str | None = _shape(value)
    if kind == "missing":
        what, expected, actual = f"missing key `{path[-1]}`", f"`{path[-1]}:` in this entry", None
    elif kind == "literal_error":
        choices = [
            choice.strip("'") for choice in context["expected"].replace(" or ", ", ").split(", ")
        ]
        what, expected, fix = (
            f"`{key}` cannot be {_shape(value)}",
            "one of " + ", ".join(choices),
            did_you_mean(str(value), choices),
        )
    elif kind == "union_tag_invalid":
        choices = [choice.strip("'") for choice in context["expected_tags"].split(", ")]
        what, expected = (
            f"unknown {key} `{context['tag']}`",
            "`kind` as one of " + ", ".join(choices),
        )
        line, actual, fix = (
            _find(tree, (*path, "kind"))[0],
            str(context["tag"]),
            did_you_mean(str(context["tag"]), choices),
        )
    elif kind == "union_tag_not_found":
        what, expected = (
            f"`{key}` does not say which kind",
            "for example `{kind: periodic, rate_hz: 30}`",
        )
    elif kind in _EXPECTED_TYPES:
        what, expected = f"`{key}` is not {_EXPECTED_TYPES[kind]}", _EXPECTED_TYPES[kind]
    elif kind in _LIMITS:
        limit = next(iter(context.values()))
        what, expected = f"`{key}` is out of range", f"{_LIMITS[kind]} {limit}"
    return line, UserError(what, where=f"{where}:{line}", expected=expected, actual=actual, fix=fix)


_EXPECTED_TYPES = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "a text",
    "tuple_type": "a list",
    "dict_type": "a mapping (`key: value`)",
    "model_type": "a mapping (`key: value`)",
    "model_attributes_type": "a mapping (`key: value`)",
}
_LIMITS = {
    "greater_than": "more than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
    "finite_number": "a finite number",
}


def _shape(value: Any) -> str:
    """The value as it stands in the file, or its kind where it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, CommentedMap | dict):
        return "a mapping with " + ", ".join(map(str, value)) if value else "an empty mapping"
    if isinstance(value, CommentedSeq | list):
        return f"a list of {len(value)}"
    text = (
        str(value).lower()
        if isinstance(value, bool)
        else repr(str(value))
        if isinstance(value, str)
        else str(value)
    )
    return text if len(text) <= 80 else text[:77] + "…"
