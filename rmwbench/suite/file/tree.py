"""The tree of a YAML file, and a UserError with file and line for every mistake in it.

ruamel.yaml keeps the line of every key and item, and pydantic reports the key that is wrong. Only
this module combines the two. Errors name lines, so every part that is added to a tree has the place
of the part that it is made of.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarbool import ScalarBoolean

from rmwbench.errors import UserError
from rmwbench.suite.fault import Fault, fault_of, shape
from rmwbench.suite.file.yaml_reader import Unsupported, read_yaml

_Model = TypeVar("_Model", bound=BaseModel)

MOST_VALUES = 200_000
"""The most values of a file with its aliases expanded; a few lines of nested aliases have
billions."""


def tree_of(text: str, where: str) -> Any:
    """The tree of a file. Raises UserError where it is not YAML, or too large with its aliases
    expanded."""
    is_json = text.lstrip().startswith("{")
    try:
        # JSON is YAML except for tabs, which are only between its tokens.
        tree = _parse(text.replace("\t", " ") if is_json else text)
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
    if (values := count_values(tree, {})) > MOST_VALUES:
        raise UserError(
            "this file is too large with its aliases expanded",
            where=where,
            expected=f"at most {MOST_VALUES} values",
            actual=str(values) if values < 10**9 else "more than a billion",
            fix="split it into several suites",
        )
    return tree


def mapping_of(tree: Any, where: str, what: str, keys: str) -> CommentedMap:
    """The tree, which must be a mapping. Raises UserError, with the kind of file (`what`) and the
    expected `keys`, for another one."""
    if not isinstance(tree, CommentedMap):
        raise UserError(
            f"{what} must be a mapping",
            where=where,
            expected=f"keys such as {keys}",
            actual=shape(tree),
        )
    return tree


def _parse(text: str) -> Any:
    try:
        return read_yaml(text)
    except Unsupported:
        yaml = YAML(typ="rt")
        yaml.allow_duplicate_keys = False
        return yaml.load(text)


def validated(text: str, *, where: str, model: type[_Model]) -> _Model:
    """The model of the text of another kind of YAML file than a suite. Raises UserError with file
    and line."""
    return cast(_Model, _cached_model(text, where, model))


@lru_cache(maxsize=64)
def _cached_model(text: str, where: str, model: type[BaseModel]) -> BaseModel:
    """The model as `validated` returns it; cached, since reading YAML is slow and models never
    change."""
    tree = mapping_of(
        tree_of(text, where), where, "this file", "those of the other files of its name"
    )
    with error_lines(tree, where):
        return model.model_validate(values_of(tree, where))


@contextmanager
def error_lines(tree: Any, where: str) -> Iterator[None]:
    """Converts an error in a tree that is raised within to a UserError with file and line."""
    try:
        yield
    except ValidationError as error:
        raise _model_error(tree, where, error) from error
    except Fault as fault:
        raise fault.user_error(f"{where}:{locate(tree, fault.at)[0]}") from fault


def count_values(node: Any, counts: dict[int, int]) -> int:
    """The number of values of a tree with its aliases expanded. An alias that contains itself
    counts once; `values_of` refuses it."""
    if not isinstance(node, CommentedMap | CommentedSeq):
        return 1
    if id(node) not in counts:
        counts[id(node)] = 1
        inside = node.values() if isinstance(node, CommentedMap) else node
        counts[id(node)] = 1 + sum(count_values(item, counts) for item in inside)
    return counts[id(node)]


def values_of(node: Any, where: str, above: tuple[int, ...] = ()) -> Any:
    """The tree in Python's own types, so that strict validation gets no subclasses. Raises
    UserError for an alias that contains itself and for half a surrogate pair."""
    if isinstance(node, CommentedMap | CommentedSeq):
        if id(node) in above:
            raise UserError("an alias contains itself", where=f"{where}:{node.lc.line + 1}")
        inside = (*above, id(node))
        if isinstance(node, CommentedSeq):
            return [values_of(item, where, inside) for item in node]
        return {str(key): values_of(value, where, inside) for key, value in node.items()}
    if isinstance(node, ScalarBoolean):
        return bool(node)  # with an anchor ruamel.yaml makes it an int
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


def locate(tree: Any, path: tuple[Any, ...]) -> tuple[int, str, Any]:
    """The line (from 1), key and value of the deepest part of `path` in the file. Pydantic's tags
    of unions, which are not part of the file, are skipped."""
    line, name, node = tree.lc.line, "suite", tree
    for key in path:
        if isinstance(node, CommentedMap) and key in node:
            # A key of a merged mapping (`<<: *other`) has no line; the entry with the merge has one.
            line, name = node.lc.key(key)[0] if key in (node.lc.data or ()) else line, str(key)
        elif isinstance(node, CommentedSeq) and isinstance(key, int) and key < len(node):
            line = node.lc.item(key)[0] if key in (node.lc.data or ()) else line
        else:
            continue
        node = node[key]
    return line + 1, name, node


def _model_error(tree: Any, where: str, error: ValidationError) -> UserError:
    """The first mistake in the order of the file, with the lines of the others in its advice."""
    details = [detail for detail in error.errors() if not _is_consequence(detail)]
    (line, first), *others = sorted(
        (_explanation(tree, where, detail) for detail in details), key=lambda pair: pair[0]
    )
    other_lines = list(dict.fromkeys(str(other) for other, _ in others if other != line))
    if not other_lines:
        return first
    also = f"then look at line{'s' if len(other_lines) > 1 else ''} {', '.join(other_lines)}"
    return UserError(
        first.what,
        where=first.where,
        expected=first.expected,
        actual=first.actual,
        fix=f"{first.fix}; {also}" if first.fix else also,
    )


def _is_consequence(details: Any) -> bool:
    """Whether a list is long enough and only reported as too short because of its wrong items."""
    if details["type"] != "too_short":
        return False
    return len(details["input"]) >= int(details["ctx"]["min_length"])


def _explanation(tree: Any, where: str, details: Any) -> tuple[int, UserError]:
    """The line of one of pydantic's errors, and the error for the user."""
    path = tuple(details["loc"])
    _, key, value = locate(tree, path)
    fault = fault_of(details, key, value)
    line = locate(tree, path + fault.at)[0]
    return line, fault.user_error(f"{where}:{line}")


Place = tuple[int, int]
"""Line and column, from 0."""


def place_of(tree: CommentedMap | CommentedSeq) -> Place:
    """The place where a mapping or a list begins."""
    return tree.lc.line, tree.lc.col


def key_place(tree: CommentedMap, key: Any) -> Place:
    """The place of a key; a key of a merged mapping (`<<: *other`) has that of the whole mapping."""
    return tree.lc.key(key) if key in (tree.lc.data or ()) else place_of(tree)


def name_of(item: Any) -> str:
    """The `name` of a mapping, or a single value as text."""
    return str(item.get("name") if isinstance(item, Mapping) else item)


def mappings_of(tree: CommentedMap, key: str) -> list[tuple[int, CommentedMap]]:
    """The mappings in the list at a key, with their indices; empty without a list."""
    items = tree.get(key)
    return [
        (index, item)
        for index, item in enumerate(items if isinstance(items, CommentedSeq) else ())
        if isinstance(item, CommentedMap)
    ]


def list_at(items: Iterable[tuple[Any, Place]], place: Place) -> CommentedSeq:
    """A list at a place, of items with places of their own."""
    tree = CommentedSeq()
    for item, (line, column) in items:
        tree.lc.add_idx_line_col(len(tree), [line, column])
        tree.append(item)
    tree.lc.line, tree.lc.col = place
    return tree


def replace_items(
    items: CommentedSeq, parts_of: Callable[[int, Any, Place], Iterable[Any]]
) -> CommentedSeq:
    """The list with each item replaced by its parts, which get its place. `parts_of` takes the
    index of an item, the item and its place."""
    parts: list[tuple[Any, Place]] = []
    for index, item in enumerate(items):
        place = items.lc.item(index)
        parts += [(part, place) for part in parts_of(index, item, place)]
    return list_at(parts, place_of(items))


def filter_items(items: CommentedSeq, keep: Callable[[Any], bool]) -> CommentedSeq:
    """The items that `keep` accepts, each at its place."""
    return replace_items(items, lambda index, item, place: [item] if keep(item) else [])


def put(tree: CommentedMap, key: str, value: Any, place: Place) -> None:
    """Sets a key. An existing key keeps its place."""
    if key not in tree:
        tree.lc.add_kv_line_col(key, [*place, *place])
    tree[key] = value


def mapping_at(mapping: Mapping[str, Any], place: Place) -> CommentedMap:
    """The mapping as a tree, all at a place; a tree in it keeps its own places."""
    tree = CommentedMap()
    for key, value in mapping.items():
        put(tree, key, _value_at(value, place), place)
    tree.lc.line, tree.lc.col = place
    return tree


def _value_at(value: Any, place: Place) -> Any:
    if type(value) is dict:
        return mapping_at(value, place)
    if type(value) in (list, tuple):
        return list_at(((_value_at(item, place), place) for item in value), place)
    return value
