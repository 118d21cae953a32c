"""Parts of a YAML tree with their places in the file. Errors name lines, so every part that is
added to a tree has the place of the part that it is made of."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

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
