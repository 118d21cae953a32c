"""Reads a suite file: its tree, its candidates and pairs of middlewares written out, its short
version, and the suite of these. Whatever is wrong with it is one UserError with file and line.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.fault import Fault, inside
from rmwbench.suite.file import (
    candidate_list,
    interop_pairs,
    matrix,
    networks_file,
    short_version,
)
from rmwbench.suite.file.candidate_list import NO_CHOICE, Candidate, Choice
from rmwbench.suite.file.candidates_file import candidates_of, known_candidates, own_profile
from rmwbench.suite.file.lines import Place, put
from rmwbench.suite.file.places import JSON, find, read, shipped_middlewares, shown, suite_file
from rmwbench.suite.file.tree import (
    locate,
    located,
    mapping_of,
    shape,
    tree_of,
    values_of,
)
from rmwbench.suite.suite import Suite


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
    """A suite from its text. `where` names the file in errors; profile paths are relative to
    `directory`. `whole_factors`: those of which the short version has all levels, too. `choice`:
    what the command line says of its arms and network."""
    tree = _tree(text, where, choice)
    with located(tree, where):
        tree = short_version.shortened(tree, apply_short=shortened, whole_factors=whole_factors)
    context = {
        "directory": directory,
        "middlewares": [*dict.fromkeys((*shipped_middlewares(), *middlewares))],
    }
    content = values_of(tree, where)
    if isinstance(content.get("outcomes"), str):
        content["outcomes"] = _limits_of_file(directory, content["outcomes"])
    with located(tree, where):
        suite = Suite.model_validate(content, context=context)
        # contradictions between a level and a workload have a line too, so they are told at load
        cells(suite)
    return suite


def _limits_of_file(directory: Path, name: str) -> dict[str, Any]:
    """The limits of the file that `outcomes: FILE` names, without its name and cells."""
    from rmwbench.suite.file.limits_file import read_limits  # which reads by this module

    return read_limits(directory / name).model_dump(
        by_alias=True, include={"acceptable", "topics", "nothing"}
    )


def plain(text: str, *, where: str, choice: Choice = NO_CHOICE) -> dict[str, Any]:
    """What a suite's text says, in Python's own types and with its candidates and pairs of
    middlewares written out; nothing is validated."""
    values: dict[str, Any] = values_of(_tree(text, where, choice), where)
    return values


def written_arms(
    text: str, *, where: str, choice: Choice = NO_CHOICE
) -> tuple[dict[str, Any], ...] | None:
    """The arms as `plain` has them, where the text alone does not say them: a campaign keeps these,
    whatever the candidates become. None where it does."""
    tree = _suite_tree(text, where)
    if (
        not choice.changes
        and not candidate_list.refers(tree.get("arms"))
        and not matrix.is_matrix(tree)
    ):
        return None
    return tuple(plain(text, where=where, choice=choice)["arms"])


def added(text: str, *, where: str, choice: Choice = NO_CHOICE) -> tuple[str, ...]:
    """The names of the arms that the command line adds to those of a suite's text."""
    if not choice.added and not choice.profiles:
        return ()
    without = replace(choice, added=(), profiles=())
    own_names = {arm["name"] for arm in plain(text, where=where, choice=without).get("arms", ())}
    arms = plain(text, where=where, choice=choice)["arms"]
    return tuple(arm["name"] for arm in arms if arm["name"] not in own_names)


def names_arms(text: str, *, where: str) -> bool:
    """Whether a suite's text says what it compares."""
    tree = _suite_tree(text, where)
    return "arms" in tree or matrix.is_matrix(tree)


def line_of(
    text: str, path: tuple[str | int, ...], *, shortened: bool = False, choice: Choice = NO_CHOICE
) -> int:
    """The line, from 1, of the deepest part of `path` (such as `("arms", 2, "options")`) that a
    suite's text has, or its short version."""
    return locate(
        short_version.shortened(_tree(text, "suite", choice), apply_short=shortened), path
    )[0]


def _suite_tree(text: str, where: str) -> CommentedMap:
    """The tree of a suite's file as it is written."""
    tree = tree_of(text, where)
    if where.endswith(JSON) and not matrix.is_matrix(tree):
        raise UserError(
            "this JSON is not a suite", where=where, expected=matrix.KIND, actual=shape(tree)
        )
    return mapping_of(tree, where, "a suite file", "suite, arms, workloads")


def _tree(text: str, where: str, choice: Choice = NO_CHOICE) -> CommentedMap:
    """The tree of a suite's file with all of its arms and networks written out."""
    tree = _suite_tree(text, where)
    if matrix.is_matrix(tree):
        with located(tree, where):
            tree = matrix.as_suite(tree, _shipped, Path(where).name)
    if "arms" not in tree and choice.changes:  # the command line says them
        put(tree, "arms", CommentedSeq(), (0, 0))
    with located(tree, where):
        if "arms" in tree:
            _write_out_arms(tree, choice)
        networks_file.complete(tree, choice.network)
    return tree


def _shipped(name: str) -> dict[str, Any]:
    return plain(read(suite_file(name)), where=name)


def _write_out_arms(tree: CommentedMap, choice: Choice) -> None:
    """Replaces the arms of a suite's tree, which keep their line, and what else names them."""
    known = known_candidates()
    refers = candidate_list.refers(tree["arms"])
    with inside("arms"):
        arms = interop_pairs.expanded(candidate_list.expanded(tree["arms"], known))
    tree["arms"] = arms
    if refers:
        candidate_list.expand_short(tree, known)
    if choice.changes and isinstance(arms, CommentedSeq):
        own_names = [str(arm.get("name")) for arm in arms if isinstance(arm, CommentedMap)]
        tree["arms"] = _chosen(arms, choice, tree.lc.key("arms"))
        candidate_list.tidy(tree, own_names)
    with inside("arms"):
        candidate_list.without_sets(tree["arms"], known)


def _chosen(arms: CommentedSeq, choice: Choice, place: Place) -> CommentedSeq:
    """What comes by the command line stands at `place`. Raises UserError at the option that names
    what there is not."""
    candidates = known_candidates()
    files = {file: candidates_of(Path(file)) for file in choice.files}
    for file_candidates in files.values():
        candidates = candidates.and_those(file_candidates)

    def candidates_of_word(word: str, option: str) -> Iterable[Candidate]:
        if option == candidate_list.PROFILE:
            return [own_profile(word)]
        return (
            files[word].by_name.values()
            if word in files
            else candidates.members_of(word, (option,))
        )

    try:
        return candidate_list.chosen(arms, choice, candidates_of_word, candidates, place)
    except Fault as fault:
        raise fault.user_error(str(fault.at[0])) from fault
