"""A level or an option's value: one text, number or truth value.

Not a pydantic union, whose errors name each of its members in turn instead of saying what was
expected.
"""

import math
from typing import Annotated, Any

from pydantic import AfterValidator

from rmwbench.suite.fault import Fault


def _check(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        shown = (
            "nothing"
            if value is None
            else value
            if isinstance(value, float)
            else f"a {type(value).__name__}"
        )
        raise Fault(
            "this is not a single value", expected="a text, a number, true or false", actual=shown
        )
    return value


Scalar = Annotated[Any, AfterValidator(_check)]
