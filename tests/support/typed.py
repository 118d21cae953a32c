"""Typed answers from as much of their documents as a test needs to say."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

T = TypeVar("T")
_EMPTY = {str: "", int: 0, float: 0.0, bool: False}
# Made once: a property of Hypothesis asks for hundreds of documents.
_adapter, _hints = cache(TypeAdapter), cache(get_type_hints)


def exact(value: object, unit: str = "fraction", **more: object) -> dict[str, Any]:
    """The document of a value whose interval is the value itself."""
    return {"unit": unit, "value": value, "low": value, "high": value, **more}


def typed(kind: type[T], given: Mapping[str, Any] | None = None) -> T:
    """`kind` from its document (docs/formats); what that leaves out is empty: None, no members,
    zero, of several words `no data` or the
    first."""
    return _adapter(kind).validate_python(_whole(kind, given or {}))


def _whole(kind: Any, given: Any) -> Any:
    if get_origin(kind) is Annotated:
        return _whole(get_args(kind)[0], given)
    if is_dataclass(kind):
        hints = _hints(kind)
        keys = {one.name: one.name.removesuffix("_") for one in fields(kind)}
        unknown = given.keys() - keys.values()
        assert not unknown, f"{kind.__name__} has no {', '.join(sorted(unknown))}"
        return {
            key: _whole(hints[name], given[key]) if key in given else _empty(hints[name])
            for name, key in keys.items()
        }
    if get_origin(kind) is UnionType:
        if given is None:
            return None
        known = [one for one in get_args(kind) if one is not NoneType]
        return _whole(known[0], given) if len(known) == 1 else given
    if get_origin(kind) is tuple:
        of = get_args(kind)
        return [_whole(of[0], one) for one in given] if of[-1] is Ellipsis else given
    if get_origin(kind) is Mapping:
        return {key: _whole(get_args(kind)[1], one) for key, one in given.items()}
    return given


def _empty(kind: Any) -> Any:
    if get_origin(kind) is UnionType and NoneType in get_args(kind):
        return None
    if get_origin(kind) is Literal:
        return "no data" if "no data" in get_args(kind) else get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if get_origin(kind) in (UnionType, Union):  # words of several kinds
        return _empty(get_args(kind)[0])
    if get_origin(kind) is tuple:
        return ()
    if get_origin(kind) is Mapping:
        return {}
    return _whole(kind, {}) if is_dataclass(kind) else _EMPTY.get(kind)
