"""A mistake in a model, with the key at which it was made.

A model knows what is wrong, but not its place in the file; only `file/tree.py` knows lines and
makes a UserError of it. Pydantic keeps a ValueError that a validator raises, so the parts of the
later message (expected, actual, fix) travel in one.
"""

import errno
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from rmwbench.errors import UserError, did_you_mean
from rmwbench.input_file import read_text
from rmwbench.words.level_names import level_text

At = tuple[str | int, ...]
"""The keys and list indices from a model down to a part of it."""


class Fault(ValueError):
    """A mistake. `at` leads from the model that raised it to the value that is wrong."""

    def __init__(
        self,
        what: str,
        *,
        expected: str | None = None,
        actual: object = None,
        fix: str | None = None,
        at: At = (),
    ):
        super().__init__(what)
        self.what, self.expected, self.fix, self.at = what, expected, fix, at
        self.actual = None if actual is None else str(actual)

    def user_error(self, where: str) -> UserError:
        """The error that a user sees; `where` names the file and the line."""
        return UserError(
            self.what, where=where, expected=self.expected, actual=self.actual, fix=self.fix
        )


def fault_of(details: Any, key: str, value: Any) -> Fault:
    """The mistake that one of pydantic's errors reports about the value of a key."""
    context = details.get("ctx") or {}
    if isinstance(context.get("error"), Fault):
        return cast(Fault, context["error"])
    fault = Fault(f"`{key}`: {details['msg']}", actual=shape(value))
    match details["type"]:
        case "missing":
            missing = details["loc"][-1]
            return Fault(f"missing key `{missing}`", expected=f"`{missing}:` in this entry")
        case "literal_error":
            choices = _choices(context["expected"].replace(" or ", ", "))
            fault.what, fault.expected = (
                f"`{key}` cannot be {fault.actual}",
                "one of " + ", ".join(choices),
            )
            fault.fix = did_you_mean(str(value), choices)
        case "union_tag_invalid":
            choices, tag = _choices(context["expected_tags"]), str(context["tag"])
            fault.what, fault.actual, fault.at = f"unknown {key} `{tag}`", tag, ("kind",)
            fault.expected = "`kind` as one of " + ", ".join(choices)
            fault.fix = did_you_mean(tag, choices)
        case "union_tag_not_found":
            fault.what = f"`{key}` has no `kind`"
            fault.expected = "for example `{kind: periodic, rate_hz: 30}`"
        case kind if kind in _EXPECTED_TYPES:
            fault.what, fault.expected = (
                f"`{key}` is not {_EXPECTED_TYPES[kind]}",
                _EXPECTED_TYPES[kind],
            )
        case kind if kind in _LIMITS:
            fault.what = f"`{key}` is out of range"
            fault.expected = " ".join([_LIMITS[kind], *map(str, context.values())])
    return fault


def _choices(listed: str) -> list[str]:
    return [choice.strip("'") for choice in listed.split(", ")]


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


def shape(value: Any) -> str:
    """The value as in the file, or a description of a mapping or a list."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping with " + ", ".join(map(str, value)) if value else "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = repr(str(value)) if isinstance(value, str) else level_text(value)
    return text if len(text) <= 80 else text[:77] + "…"


def unknown(kind: str, name: object, known: Collection[str], *, at: At = ()) -> Fault:
    """A Fault for a name that is not in `known`; it suggests the nearest one."""
    fault = not_one_of(f"unknown {kind} `{name}`", str(name), known, at=at)
    if not known:
        fault.expected = f"none: the file defines no {kind}"
    return fault


def check_known(kind: str, name: object, known: Collection[str], *, at: At = ()) -> None:
    """Raises Fault for a name that is not in `known`."""
    if name not in known:
        raise unknown(kind, name, known, at=at)


def first_repeated(entries: Iterable[tuple[int, str]]) -> tuple[int, str] | None:
    """The first (place, name) whose name an earlier entry has; None where all are distinct."""
    earlier_names: set[str] = set()
    for place, name in entries:
        if name in earlier_names:
            return place, name
        earlier_names.add(name)
    return None


def check_distinct(kind: str, names: Iterable[str], *, at: At = ()) -> None:
    """Raises Fault for the second entry with the same `name`; `at` leads to the list of entries,
    `kind` is what they are, in the plural."""
    if (repeated := first_repeated(enumerate(names))) is not None:
        index, name = repeated
        raise Fault(
            f"two {kind} are called `{name}`",
            expected="a name of its own for each",
            at=(*at, index, "name"),
        )


def not_one_of(what: str, name: str, known: Collection[str], *, at: At = ()) -> Fault:
    """A Fault for a name that is not in `known`, with a message of the caller's own."""
    expected, fix = "one of " + ", ".join(known), did_you_mean(name, known)
    return Fault(what, expected=expected, actual=name, fix=fix, at=at)


@contextmanager
def at_key(*at: str | int) -> Iterator[None]:
    """Prefixes `at` to the path of a Fault raised in the block."""
    try:
        yield
    except Fault as fault:
        fault.at = (*at, *fault.at)
        raise


def one_of(kind: str, known: Collection[str]) -> AfterValidator:
    """A validator that refuses a name that is not in `known`."""

    def check(name: str) -> str:
        check_known(kind, name, known)
        return name

    return AfterValidator(check)


def in_range(what: str, low: float, high: float, unit: str = "") -> AfterValidator:
    """A validator that refuses a number outside of [low, high] with the message `what`."""

    def check(value: float) -> float:
        if not low <= value <= high:
            expected = f"{low:.12g} … {high:.12g} {unit}".rstrip()
            raise Fault(what, expected=expected, actual=f"{value:.12g}")
        return value

    return AfterValidator(check)


def text_beside(
    kind: str, path: str, info: ValidationInfo, most_bytes: int, *, fix: str = ""
) -> str:
    """The text of a file that the suite's file names, with a path relative to its own directory.
    Raises Fault where it cannot be read; `kind` is what the file is, `fix` further advice."""
    file = Path((info.context or {}).get("directory", ".")) / path
    try:
        return read_text(file, most_bytes)
    except (OSError, ValueError) as error:
        expected = f"a file at {file}"
        if isinstance(error, UnicodeDecodeError):
            expected = "a text in UTF-8"
        elif getattr(error, "errno", None) == errno.EFBIG:
            expected = f"at most {most_bytes} bytes"
        raise Fault(
            f"{kind} `{path}` cannot be read",
            expected=expected,
            actual=getattr(error, "strerror", None) or str(error),
            fix=None if os.path.exists(file) else f"paths are relative to the suite's file{fix}",
        ) from error


def elsewhere(pattern: str, keys: Iterable[str]) -> dict[str, str]:
    """Entries of `ELSEWHERE`: each key -> `pattern`, with the key in place of its `KEY`."""
    return {key: pattern.replace("KEY", key) for key in keys}


class Strict(BaseModel):
    """The base of all models of a suite file: no unknown keys, no silent conversions (`"30"` is not
    a number), no number that is not finite, and no changes after loading."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {}
    """Key that belongs to another part of the file -> that part, as a file has it."""
    UNWRITTEN: ClassVar[frozenset[str]] = frozenset()
    """Fields that are not keys of a file."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=False,
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, data: Any) -> Any:
        """Refuses an unknown key and suggests the nearest one, which pydantic's own
        `extra="forbid"` cannot."""
        if isinstance(data, dict):
            check_keys(cls, data)
        return data

    def non_defaults(self, *, without: Collection[str]) -> dict[str, Any]:
        """The values that differ from their defaults, as JSON, without these keys."""
        return self.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude=set(without)
        )

    def set_values(self) -> dict[str, Any]:
        """The values that were given, as the model takes them."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """A copy with other values of some keys, validated again."""
        return self.model_validate({**self.set_values(), **changes})


def check_keys(model: type[Strict], data: Mapping[Any, Any], more: Sequence[str] = ()) -> None:
    """Raises Fault for a key that neither the model nor `more` has."""
    keys = ((field.alias or name) for name, field in model.model_fields.items())
    known = [*(key for key in keys if key not in model.UNWRITTEN), *more]
    for key in data:
        if key not in known:
            fault = unknown("key", key, known, at=(key,))
            if right_place := model.ELSEWHERE.get(key):
                fault.fix = f"it belongs elsewhere: {right_place}"
            raise fault


_Item = TypeVar("_Item")
ListOf = Annotated[tuple[_Item, ...], Field(strict=False)]
"""A list in a file; a tuple in the model."""


def _check_scalar(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        shape = value if isinstance(value, float) else f"a {type(value).__name__}"
        raise Fault(
            "this is not a single value",
            expected="a text, a number, true or false",
            actual="nothing" if value is None else shape,
        )
    return value


Scalar = Annotated[Any, AfterValidator(_check_scalar)]
"""The value of a level or an option: one text, number or truth value. It is not a pydantic union,
whose errors name each member in turn instead of saying what was expected."""
