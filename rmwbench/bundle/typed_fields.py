"""What the models of campaign.json and of the journal's lines are made of.

Fields that a model does not name are passed on as they are, so that an older tool reads what a newer
one wrote. `null` counts as absent.
"""

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

T = TypeVar("T")
MOST = 2**32 - 1
"""The largest number of a trial, a cell or a block: they are u32 in the tables."""

Number = Annotated[int, Field(ge=0, le=MOST)]
Real = Annotated[float, Field(allow_inf_nan=False, ge=-1e18, le=1e18)]
Many = Annotated[tuple[T, ...], Field(strict=False)]
"""A JSON list."""


class Stored(BaseModel):
    """An object of one of these files. `ALWAYS` names the fields that are written with their
    default, too."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    ALWAYS: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None}

    def document(self) -> dict[str, Any]:
        """The object as it stands in the file."""
        named = {
            name: _plain(getattr(self, name))
            for name, field in type(self).model_fields.items()
            if name in self.ALWAYS
            or getattr(self, name) != field.get_default(call_default_factory=True)
        }
        return named | (self.model_extra or {})


def _plain(value: Any) -> Any:
    if isinstance(value, Stored):
        return value.document()
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def first_problem(error: ValidationError) -> ValueError:
    """Names the first field that is not of its type."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    return ValueError(f"{place}: {first['msg']}" if place else first["msg"])
