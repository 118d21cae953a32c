"""Reads a YAML text from libyaml's events (PyYAML) into ruamel.yaml's tree, with the line of every
key and item: the same tree as ruamel.yaml reads, many times as fast.

Unusual texts (tags, several documents, an alias within its own anchor, numbers in other bases, keys
that are not single values) and wrong ones (a repeated key, invalid YAML) are not supported:
ruamel.yaml reads those, and explains mistakes.
"""

import re
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import yaml
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.mergevalue import MergeValue
from ruamel.yaml.resolver import implicit_resolvers

MOST_DEPTH = 100
MERGE = "<<"

_BREAKS = re.compile("[\x85\u2028\u2029]|^\ufeff")
"""Line breaks of YAML 1.1 only, and the byte order mark, which libyaml skips."""

_PLAIN_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")

_PLAIN_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")

_PREFIX = "tag:yaml.org,2002:"

_NO_KEY, _MERGE_KEY = object(), object()


class Unsupported(Exception):
    """The text must be read by ruamel.yaml."""


def _resolvers() -> dict[str, list[tuple[str, Any]]]:
    """First character of a scalar -> (tag, pattern) of its possible types, in ruamel.yaml's order
    for YAML 1.2."""
    resolvers: dict[str, list[tuple[str, Any]]] = {}
    for versions, tag, pattern, firsts in implicit_resolvers:
        if (1, 2) in versions:
            for first in firsts:
                resolvers.setdefault(first, []).append((tag.removeprefix(_PREFIX), pattern))
    return resolvers


_RESOLVERS = _resolvers()


@dataclass
class _Open:
    """A collection before its end. `at`: line and column of the key whose value is next."""

    tree: Any
    line: int
    column: int
    anchor: str | None
    items: list[Any] = field(default_factory=list)
    key: Any = _NO_KEY
    at: tuple[int, int] = (0, 0)
    merged: Any = None


def read_yaml(text: str) -> CommentedMap | CommentedSeq:
    """The tree of a text. Raises Unsupported for a text that ruamel.yaml must read."""
    if not yaml.__with_libyaml__ or _BREAKS.search(text):
        raise Unsupported
    try:
        return _Builder(yaml.cyaml.CParser(text)).root()
    except (yaml.YAMLError, ValueError):
        raise Unsupported from None


class _Builder:
    def __init__(self, parser: Any):
        self._parser = parser
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._root: Any = None
        self._documents = 0

    def root(self) -> CommentedMap | CommentedSeq:
        """The tree of the only document."""
        while True:
            event = self._parser.get_event()
            match event:
                case yaml.ScalarEvent():
                    self._scalar(event)
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    self._begin(event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._end()
                case yaml.AliasEvent():
                    self._alias(event)
                case yaml.DocumentStartEvent():
                    self._documents += 1
                    if self._documents > 1 or event.version or event.tags:
                        raise Unsupported
                case yaml.StreamEndEvent():
                    break
        if not isinstance(self._root, CommentedMap | CommentedSeq):
            raise Unsupported
        return self._root

    def _scalar(self, event: Any) -> None:
        if event.tag is not None:
            raise Unsupported
        plain, mark = event.implicit[0], event.start_mark
        if plain and event.value == MERGE and self._wants_key():
            self._open[-1].key = _MERGE_KEY
            return
        value = _plain_value(event.value) if plain else event.value
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, mark.line, mark.column)
        self._put_value(value, mark.line, mark.column)

    def _begin(self, event: Any) -> None:
        if event.tag is not None or self._wants_key() or len(self._open) >= MOST_DEPTH:
            raise Unsupported
        tree = CommentedMap() if isinstance(event, yaml.MappingStartEvent) else CommentedSeq()
        mark = event.start_mark
        tree.lc.line, tree.lc.col = mark.line, mark.column
        self._open.append(_Open(tree, mark.line, mark.column, event.anchor))
        if event.anchor is not None:
            # an alias to it within itself is not supported
            self._anchors.pop(event.anchor, None)

    def _end(self) -> None:
        ended = self._open.pop()
        if isinstance(ended.tree, CommentedSeq):
            ended.tree.extend(ended.items)
        elif ended.merged is not None:
            ended.tree.add_yaml_merge(_merge_value(ended.merged))
        if ended.anchor is not None:
            self._anchors[ended.anchor] = (ended.tree, ended.line, ended.column)
        self._put_value(ended.tree, ended.line, ended.column)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors or self._wants_key():
            raise Unsupported
        self._put_value(*self._anchors[event.anchor])

    def _wants_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].tree, CommentedMap)
            and self._open[-1].key is _NO_KEY
        )

    def _put_value(self, value: Any, line: int, column: int) -> None:
        """Adds a value to the tree: as the root, an item, a key, or the value of the last key."""
        if not self._open:
            self._root = value
            return
        parent = self._open[-1]
        if isinstance(parent.tree, CommentedSeq):
            parent.tree.lc.add_idx_line_col(len(parent.items), [line, column])
            parent.items.append(value)
        elif parent.key is _NO_KEY:
            if value in parent.tree:
                raise Unsupported
            parent.key, parent.at = value, (line, column)
        elif parent.key is _MERGE_KEY:
            maps = value if isinstance(value, CommentedSeq) else [value]
            if parent.merged is not None or not all(
                isinstance(item, CommentedMap) for item in maps
            ):
                raise Unsupported
            parent.merged, parent.key = value, _NO_KEY
        else:
            parent.tree.lc.add_kv_line_col(parent.key, [*parent.at, line, column])
            parent.tree[parent.key] = value
            parent.key = _NO_KEY


def _merge_value(merged: Any) -> MergeValue:
    """The merge of one mapping, or of a sequence of mappings."""
    value = MergeValue()
    if isinstance(merged, CommentedSeq):
        value.set_sequence(merged)
        value.extend(merged)
    else:
        value.append(merged)
    return value


def _plain_value(text: str) -> Any:
    """The value of a plain scalar. Raises Unsupported for an unusual form of a number."""
    for kind, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return _value(kind, text)
    return text


def _value(kind: str, text: str) -> Any:
    match kind:
        case "bool":
            return text.lower() == "true"
        case "null":
            return None
        case "int" if _PLAIN_INT.fullmatch(text):
            return int(text)
        case "float" if _PLAIN_FLOAT.fullmatch(text):
            return float(text)
        case "timestamp" if len(text) == len("2026-11-23"):
            return date.fromisoformat(text)
    raise Unsupported
