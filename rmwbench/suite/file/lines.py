"""Makes parts of a YAML tree with their places in the file. Every mistake is told with its line, so
what is put into a tree has the line of what it comes from."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

Place = tuple[int, int]
"""Line and column, from 0."""


def place_of(tree: CommentedMap | CommentedSeq) -> Place:
    """Where a mapping or a list begins."""
    return tree.lc.line, tree.lc.col


def listed(items: Iterable[tuple[Any, Place]], place: Place) -> CommentedSeq:
    """A list at a place, of items with places of their own."""
    tree = CommentedSeq()
    for item, (line, column) in items:
        tree.lc.add_idx_line_col(len(tree), [line, column])
        tree.append(item)
    tree.lc.line, tree.lc.col = place
    return tree


def replaced(
    items: CommentedSeq, parts_of: Callable[[int, Any, Place], Iterable[Any]]
) -> CommentedSeq:
    """The list with the parts of each item, by its index and place, where it stands."""
    parts: list[tuple[Any, Place]] = []
    for index, item in enumerate(items):
        place = items.lc.item(index)
        parts += [(part, place) for part in parts_of(index, item, place)]
    return listed(parts, place_of(items))


def filtered(items: CommentedSeq, keep: Callable[[Any], bool]) -> CommentedSeq:
    """The items that `keep` accepts, each at its place."""
    return replaced(items, lambda index, item, place: [item] if keep(item) else [])


def put(tree: CommentedMap, key: str, value: Any, place: Place) -> None:
    """Sets a key. One that is there keeps its place."""
    if key not in tree:
        tree.lc.add_kv_line_col(key, [*place, *place])
    tree[key] = value


def placed(mapping: Mapping[str, Any], place: Place) -> CommentedMap:
    """The mapping as a tree, all of which stands at a place; a tree that is in it keeps its lines."""
    tree = CommentedMap()
    for key, value in mapping.items():
        put(tree, key, _placed(value, place), place)
    tree.lc.line, tree.lc.col = place
    return tree


def _placed(value: Any, place: Place) -> Any:
    if type(value) is dict:
        return placed(value, place)
    if type(value) in (list, tuple):
        return listed(((_placed(item, place), place) for item in value), place)
    return value
