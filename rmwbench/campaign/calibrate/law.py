"""What the synthetic worker's settings promise, from the formulas of its documentation, written a
second time.

The worker draws; this says what draws of that law tend to. The two share no code, so that a slip in
one shows.
"""

import math
from collections.abc import Mapping
from typing import Any

from scipy import special


def structured(value: Any) -> Any:
    """A suite's words for an object, `KIND key=number …`, as the object that the worker's `--truth`
    wants."""
    if not isinstance(value, str) or "=" not in value:
        return value
    words = [word.partition("=") for word in value.split()]
    number = lambda text: float(text) if "." in text or "e" in text else int(text)  # noqa: E731
    return {name if eq else "kind": number(text) if eq else name for name, eq, text in words}


def quantile_ns(law: Mapping[str, Any], q: float) -> float:
    """Quantile q of a latency law in ns. Raises ValueError for a law that this page does not
    know."""
    match law["kind"]:
        case "constant":
            return float(law["ns"])
        case "uniform":
            return float(law["min_ns"] + q * (law["max_ns"] - law["min_ns"]))
        case "normal":
            return float(law["mean_ns"] + law["sd_ns"] * float(special.ndtri(q)))
        case "lognormal":
            return float(law["median_ns"] * math.exp(law["sigma"] * float(special.ndtri(q))))
        case "exponential":
            offset_ns = law.get("offset_ns", 0)
            return float(offset_ns - (law["mean_ns"] - offset_ns) * math.log1p(-q))
        case "pareto":
            return float(law["min_ns"] * (1 - q) ** (-1 / law["alpha"]))
        case "bimodal":
            return float(law["fast_ns"] if q <= 1 - law["slow_p"] else law["slow_ns"])
    raise ValueError(f"no formula for the law {law['kind']}")


def loss_rate(loss: Mapping[str, Any]) -> float:
    """The fraction of messages that a loss model takes in the long run."""
    match loss["kind"]:
        case "bernoulli":
            return float(loss["p"])
        case "burst":
            return float(loss["p"] / (loss["p"] + loss["r"]))
    raise ValueError(f"no formula for the loss {loss['kind']}")
