"""The differences between two texts or two documents, as settings: `transport.link.tx.queue: 4 →
16` says more than two lines out of three hundred. If a text cannot be read as settings, the changed
lines are returned."""

import difflib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rmwbench.results.compare.compare_model import Difference
from rmwbench.words.json5 import json5_value, yaml_value

MOST_LINES = 200


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """Return the leaves in which two nested documents differ, by their path; None if a side lacks
    one."""
    left, right = dict(_leaves(a)), dict(_leaves(b))
    return [
        _difference(name, left.get(name), right.get(name))
        for name in dict.fromkeys([*left, *right])
        if not _same(left.get(name), right.get(name)) and not _is_filled(name, left, right)
    ]


@dataclass(frozen=True, kw_only=True)
class TextDifference:
    """The differences in settings, or in lines if one text is not readable as settings; both are
    empty if the texts differ in comments or layout only."""

    settings: tuple[Difference, ...] = ()
    lines: tuple[str, ...] = ()


def of_texts(a: str, b: str, kind: str | None) -> TextDifference:
    """Return the differences of two configurations of one format (`json5`, `xml`, `yaml`,
    `toml`)."""
    left, right = _parsed(a, kind), _parsed(b, kind)
    if left is not None and right is not None:
        return TextDifference(settings=tuple(differences(left, right)))
    return TextDifference(lines=lines(a, b))


def lines(a: str, b: str) -> tuple[str, ...]:
    """Return the changed lines, `-` of A and `+` of B, with one line around them; at most
    MOST_LINES."""
    diff = difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=1)
    changed = list(islice(diff, 2, None))  # without the names of two files
    more = len(changed) - MOST_LINES
    return tuple(changed if more <= 0 else [*changed[:MOST_LINES], f"… {more} more lines"])


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and (value or not path):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(x, (dict, list)) for x in value):
        for n, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{n}]")
    else:
        yield path, value


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal: 1 and 1.0 are, true and 1 are not."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return _json(a) == _json(b) or (a == b and bool not in (type(a), type(b)))


def _is_filled(name: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether the setting is empty on one side and has settings below it on the other, which show
    the difference."""
    below = (f"{name}.", f"{name}[")
    return any(
        side.get(name) in ("", {}, []) and any(setting.startswith(below) for setting in other)
        for side, other in ((left, right), (right, left))
    )


def _difference(name: str, a: Any, b: Any) -> Difference:
    """Return the difference. Texts have no quotation marks, unless these alone are the difference:
    `"4" → 4`."""
    left, right = (x if x is None or isinstance(x, str) else _json(x) for x in (a, b))
    if left == right:
        left, right = _json(a), _json(b)
    return Difference(name=name, a=left, b=right)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)  # YAML and TOML have dates


def _parsed(text: str, kind: str | None) -> dict[str, Any] | None:
    readers: dict[str | None, Callable[[str], Any]] = {
        "xml": _xml,
        "toml": tomllib.loads,
        "yaml": yaml_value,
        "json": yaml_value,
        "json5": json5_value,
    }
    try:
        value = readers[kind](text) if kind in readers else None
    except Exception:  # each reader has its own errors; changed lines are an answer, too
        return None
    return value if isinstance(value, dict) else None


def _xml(text: str) -> dict[str, Any]:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(text)
    return {_tag(root): _element(root)}


def _element(element: Any) -> Any:
    leaves: dict[str, Any] = {f"@{k}": v for k, v in element.attrib.items()}
    for child in element:
        if not isinstance(child.tag, str):  # a comment
            continue
        name, n = _tag(child), 2
        while name in leaves:
            name, n = f"{_tag(child)}[{n}]", n + 1
        leaves[name] = _element(child)
    text = (element.text or "").strip()
    return text if not leaves else leaves | ({"": text} if text else {})


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
