"""A mistake in a model, carried to `file/tree.py` together with the key at which it was made.

The models know what is wrong but not where in the file they stand; only `file/tree.py` knows lines.
Pydantic keeps a ValueError raised in a validator, so the parts of the later message (expected,
actual, fix) travel in one.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from rmwbench.errors import UserError, did_you_mean


class Fault(ValueError):
    """What is wrong, and `at`: the keys and list indices from the model that raised it down to the
    culprit."""

    def __init__(
        self,
        what: str,
        *,
        expected: str | None = None,
        actual: object = None,
        fix: str | None = None,
        at: tuple[str | int, ...] = (),
    ):
        super().__init__(what)
        self.what, self.expected, self.fix, self.at = what, expected, fix, at
        self.actual = None if actual is None else str(actual)

    def user_error(self, where: str) -> UserError:
        """What a user is told of it, once it is known `where` it is."""
        return UserError(
            self.what, where=where, expected=self.expected, actual=self.actual, fix=self.fix
        )


def unknown(kind: str, name: object, known: list[str], *, at: tuple[str | int, ...] = ()) -> Fault:
    """A Fault for a name that is not among `known`, with the nearest one suggested."""
    fault = not_one_of(f"unknown {kind} `{name}`", str(name), known, at=at)
    if not known:
        fault.expected = f"none: the file defines no {kind}"
    return fault


def not_one_of(
    what: str, name: str, known: Collection[str], *, at: tuple[str | int, ...] = ()
) -> Fault:
    """A Fault for a name that is none of `known`, with a message of the caller's own."""
    expected, fix = "one of " + ", ".join(known), did_you_mean(name, known)
    return Fault(what, expected=expected, actual=name, fix=fix, at=at)


@contextmanager
def inside(*at: str | int) -> Iterator[None]:
    """A Fault that is raised within is counted from further up: `at` leads to what was checked."""
    try:
        yield
    except Fault as fault:
        fault.at = (*at, *fault.at)
        raise


def one_of(kind: str, known: Collection[str]) -> AfterValidator:
    """A validator that refuses a name that is not among `known`."""

    def check(name: str) -> str:
        if name not in known:
            raise unknown(kind, name, list(known))
        return name

    return AfterValidator(check)


def within(what: str, low: float, high: float, unit: str = "") -> AfterValidator:
    """A validator that refuses a number outside of `low` to `high` with the message `what`."""

    def check(value: float) -> float:
        if not low <= value <= high:
            expected = f"{low:.12g} … {high:.12g} {unit}".rstrip()
            raise Fault(what, expected=expected, actual=f"{value:.12g}")
        return value

    return AfterValidator(check)


def places(pattern: str, keys: Iterable[str]) -> dict[str, str]:
    """Entries of `ELSEWHERE`: each key -> `pattern`, in which `KEY` stands for it."""
    return {key: pattern.replace("KEY", key) for key in keys}


class Strict(BaseModel):
    """Base of everything in a suite file: no unknown keys, no silent conversions (`"30"` is not a
    number), and no changes after loading."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {}
    """Keys that people look for here -> where they belong, as a file has it."""
    UNWRITTEN: ClassVar[frozenset[str]] = frozenset()
    """Fields that no file has under their name."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, validate_by_alias=True, validate_by_name=False
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, data: Any) -> Any:
        """Pydantic's own `extra="forbid"` cannot name the nearest key; this check comes first and
        can."""
        if isinstance(data, dict):
            check_keys(cls, data)
        return data

    def unusual(self, *besides: str) -> dict[str, Any]:
        """What is not at its default, as JSON, but for the keys `besides`."""
        return self.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude=set(besides)
        )

    def set_values(self) -> dict[str, Any]:
        """What was given, as the model takes it."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Another one that differs in some keys, validated again."""
        return self.model_validate({**self.set_values(), **changes})


def check_keys(model: type[Strict], data: Mapping[Any, Any], more: Sequence[str] = ()) -> None:
    """Raises Fault for a key that neither the model nor `more` has."""
    fields = ((field.alias or name) for name, field in model.model_fields.items())
    known = [*(name for name in fields if name not in model.UNWRITTEN), *more]
    for key in data:
        if key not in known:
            fault = unknown("key", key, known, at=(key,))
            if right_place := model.ELSEWHERE.get(key):
                fault.fix = f"it belongs elsewhere: {right_place}"
            raise fault


_Item = TypeVar("_Item")
ListOf = Annotated[tuple[_Item, ...], Field(strict=False)]
"""A list in a file, which is a tuple once it is read."""


def _check_scalar(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        shape = (
            "nothing"
            if value is None
            else value
            if isinstance(value, float)
            else f"a {type(value).__name__}"
        )
        raise Fault(
            "this is not a single value", expected="a text, a number, true or false", actual=shape
        )
    return value


Scalar = Annotated[Any, AfterValidator(_check_scalar)]
"""A level or an option's value: one text, number or truth value. Not a pydantic union, whose errors
name each of its members in turn instead of saying what was expected."""
