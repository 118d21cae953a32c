"""Whether the link has in force what it was asked for, by its own answer: a spec that went to
another link, or a field that it passed over, would be a network that silently is not there."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

_NAMES = {"links": "specs"}
"""A field of `open` → its name in the answer, where that is another one."""
_COMPARED = ("links", "media", "multicast", "priority", "quantum_ns", "spin_ns")
_FILLED_IN = {"exempt_arp": True, "bytes": 1504}
"""What the link fills in where it was not asked for anything; else that is nothing at all."""


def difference(asked: Mapping[str, Any], answered: Mapping[str, Any]) -> str | None:
    """The first place at which the answer to `open` is not what was asked for, or None. Traces in
    `asked` are written out."""
    for name in _COMPARED:
        told = _NAMES.get(name, name)
        if (found := _at(told, asked[name], answered.get(told))) is not None:
            return found
    return None


def _at(place: str, asked: Any, found: Any) -> str | None:
    if isinstance(asked, Mapping) and isinstance(found, Mapping):
        for key, value in asked.items():
            if (wrong := _at(f"{place}.{key}", value, found.get(key))) is not None:
                return wrong
        for key in found.keys() - asked.keys():
            if found[key] != _FILLED_IN.get(key) and found[key] not in (None, 0):
                return _wrong(f"{place}.{key}", None, found[key])
        return None
    if isinstance(asked, Sequence) and not isinstance(asked, str) and isinstance(found, Sequence):
        if len(asked) != len(found):
            return _wrong(f"{place}, its length,", len(asked), len(found))
        pairs = enumerate(zip(asked, found, strict=True))
        return next((w for k, (a, f) in pairs if (w := _at(f"{place}.{k}", a, f))), None)
    same = (
        math.isclose(asked, found, rel_tol=1e-12)
        if isinstance(asked, float) and isinstance(found, (int, float))
        else asked == found
    )
    return None if same else _wrong(place, asked, found)


def _wrong(place: str, asked: Any, found: Any) -> str:
    return f"{place} is {found}, expected {asked}"
