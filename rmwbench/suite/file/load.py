"""Reads a suite file: its tree, with names of candidates and pairs of middlewares replaced by arms,
its short version, and the suite of these. A mistake is one UserError with file and line.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.fault import Fault, at_key, shape
from rmwbench.suite.file import (
    candidate_list,
    interop_pairs,
    matrix,
    networks_file,
    short_version,
)
from rmwbench.suite.file.candidate_list import NO_CHOICE, Candidate, Choice
from rmwbench.suite.file.candidates_file import candidates_of, known_candidates, own_profile
from rmwbench.suite.file.limits_file import read_limits
from rmwbench.suite.file.suite_files import (
    JSON,
    find,
    path_text,
    read,
    shipped_middlewares,
    suite_file,
)
from rmwbench.suite.file.tree import (
    Place,
    error_lines,
    key_place,
    locate,
    mapping_of,
    put,
    tree_of,
    values_of,
)
from rmwbench.suite.limits import LimitsCase
from rmwbench.suite.suite import Suite


def load(suite: str | Path, *, shortened: bool = False) -> Suite:
    """The suite of a shipped name or a path, or with `shortened` its short version. Raises one
    UserError for any mistake in the file."""
    path = suite if isinstance(suite, Path) else find(suite)
    return parse(read(path), where=path_text(path), directory=path.parent, shortened=shortened)


def parse(
    text: str,
    *,
    where: str,
    directory: Path = Path(),
    middlewares: Iterable[str] = (),
    shortened: bool = False,
    whole_factors: Collection[str] = (),
    choice: Choice = NO_CHOICE,
) -> Suite:
    """The suite of a text. `where` names the file in errors; paths of profiles are relative to
    `directory`. `middlewares` are names of other workers than the shipped ones. The short version
    has all levels of the `whole_factors`. `choice`: the options of the command line about arms and
    network."""
    tree = _tree(text, where, choice)
    with error_lines(tree, where):
        tree = short_version.resolve_short(tree, apply_short=shortened, whole_factors=whole_factors)
    context = {
        "directory": directory,
        "middlewares": [*dict.fromkeys((*shipped_middlewares(), *middlewares))],
        "shortened": shortened,
    }
    content = values_of(tree, where)
    case = LimitsCase()
    if isinstance(content.get("outcomes"), str):
        limits = read_limits(directory / content["outcomes"])
        keys = {"acceptable", "topics", "nothing"}
        content["outcomes"] = limits.model_dump(by_alias=True, include=keys)
        case = limits.of
    with error_lines(tree, where):
        suite = Suite.model_validate(content, context=context)
        # raises Fault for a contradiction between a level and a workload
        _check_case(case, cells(suite))
    return suite


def _check_case(case: LimitsCase, suite_cells: Iterable[Cell]) -> None:
    """Raises Fault if a limits file is for a case that is not all of the suite: its outcomes are of
    every cell."""
    for cell in suite_cells:
        if not case.has(cell.workload.name, cell.factors):
            raise Fault(
                f"these limits are for one case, and `{cell.comparison}` of the suite is another",
                expected="a limits file whose `of:` has all workloads and levels of the suite",
                fix="leave `of:` out of the file, or judge its case afterwards: `rmwbench show "
                "DIR --limits FILE`",
                at=("outcomes",),
            )


def plain(text: str, *, where: str, choice: Choice = NO_CHOICE) -> dict[str, Any]:
    """The values of a suite's text in Python's own types, with names of candidates and pairs of
    middlewares replaced by arms; they are not validated."""
    values: dict[str, Any] = values_of(_tree(text, where, choice), where)
    return values


def written_arms(
    text: str, *, where: str, choice: Choice = NO_CHOICE
) -> tuple[dict[str, Any], ...] | None:
    """The arms as `plain` has them, which a campaign keeps in case candidates change; None where
    the text has them itself."""
    tree = _suite_tree(text, where)
    has_references = candidate_list.has_references(tree.get("arms"))
    if choice.changes or has_references or matrix.is_matrix(tree):
        return tuple(plain(text, where=where, choice=choice)["arms"])
    return None


def added_arms(text: str, *, where: str, choice: Choice = NO_CHOICE) -> tuple[str, ...]:
    """The names of the arms that the command line adds to those of a suite's text."""
    if not choice.added and not choice.profiles:
        return ()
    without = replace(choice, added=(), profiles=())
    own_names = {arm["name"] for arm in plain(text, where=where, choice=without).get("arms", ())}
    arms = plain(text, where=where, choice=choice)["arms"]
    return tuple(arm["name"] for arm in arms if arm["name"] not in own_names)


def names_arms(text: str, *, where: str) -> bool:
    """Whether a suite's text has arms."""
    tree = _suite_tree(text, where)
    return "arms" in tree or matrix.is_matrix(tree)


def line_of(
    text: str, path: tuple[str | int, ...], *, shortened: bool = False, choice: Choice = NO_CHOICE
) -> int:
    """The line, from 1, of the deepest part of `path` (such as `("arms", 2, "options")`) in a
    suite's text, or in its short version."""
    tree = short_version.resolve_short(_tree(text, "suite", choice), apply_short=shortened)
    return locate(tree, path)[0]


def _suite_tree(text: str, where: str) -> CommentedMap:
    """The tree of a suite's file without changes."""
    tree = tree_of(text, where)
    if where.endswith(JSON) and not matrix.is_matrix(tree):
        raise UserError(
            "this JSON is not a suite", where=where, expected=matrix.KIND, actual=shape(tree)
        )
    return mapping_of(tree, where, "a suite file", "suite, arms, workloads")


def _tree(text: str, where: str, choice: Choice = NO_CHOICE) -> CommentedMap:
    """The tree of a suite's file with all of its arms and networks."""
    tree = _suite_tree(text, where)
    if matrix.is_matrix(tree):
        with error_lines(tree, where):
            tree = matrix.as_suite(
                tree, lambda name: plain(read(suite_file(name)), where=name), Path(where).name
            )
    if "arms" not in tree and choice.changes:  # the command line has the arms
        put(tree, "arms", CommentedSeq(), (0, 0))
    with error_lines(tree, where):
        if "arms" in tree:
            _write_out_arms(tree, choice)
        networks_file.complete(tree, choice.network)
    return tree


def _write_out_arms(tree: CommentedMap, choice: Choice) -> None:
    """Replaces names and pairs in the arms of a suite's tree, and all references to changed
    arms."""
    candidates = known_candidates()
    has_references = candidate_list.has_references(tree["arms"])
    with at_key("arms"):
        arms = interop_pairs.expand_pairs(candidate_list.expand_names(tree["arms"], candidates))
    tree["arms"] = arms
    if has_references:
        candidate_list.expand_short(tree, candidates)
    if choice.changes and isinstance(arms, CommentedSeq):
        own_names = [str(arm.get("name")) for arm in arms if isinstance(arm, CommentedMap)]
        tree["arms"] = _apply_choice(arms, choice, key_place(tree, "arms"))
        candidate_list.remove_references(tree, own_names)
    with at_key("arms"):
        candidate_list.remove_sets(tree, candidates)


def _apply_choice(arms: CommentedSeq, choice: Choice, place: Place) -> CommentedSeq:
    """The arms with the choice of the command line applied, whose arms are at `place`. Raises
    UserError at the option with an unknown name."""
    candidates = known_candidates()
    files = {file: candidates_of(Path(file)) for file in choice.files}
    for file_candidates in files.values():
        candidates = candidates.and_those(file_candidates)

    def candidates_of_word(word: str, option: str) -> Iterable[Candidate]:
        if option == candidate_list.PROFILE:
            return [own_profile(word)]
        if word in files:
            return files[word].by_name.values()
        return candidates.members_of(word, (option,))

    try:
        return candidate_list.apply_choice(arms, choice, candidates_of_word, candidates, place)
    except Fault as fault:
        raise fault.user_error(str(fault.at[0])) from fault
