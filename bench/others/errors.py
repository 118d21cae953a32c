"""The error of a tool: what it says less what our ledger says, over repetitions, with a
distribution-free interval."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.ratio import lowest_rank


@dataclass(frozen=True)
class Reading:
    """One quantity of one trial. None: no data on that side."""

    quantity: str
    unit: str
    says: float | None
    ledger: float | None


def line(
    tool: str, scenario: str, readings: Sequence[Reading], note: str | None = None
) -> dict[str, Any]:
    """Readings of one quantity over repetitions, as one line of `--json` (docs/other-tools.md).

    `error` is the median of the differences in `unit`; `low` and `high` bound it with at least 95 %
    (order statistics, from 6 repetitions on; None below). `relative`: the same three of says /
    ledger − 1; None where the ledger has a 0.
    """
    known = [r for r in readings if _finite(r.says) and _finite(r.ledger)]
    first = readings[0]
    out: dict[str, Any] = {
        "tool": tool,
        "scenario": scenario,
        "quantity": first.quantity,
        "unit": first.unit,
        "says": None,
        "ledger": None,
        "error": None,
        "low": None,
        "high": None,
        "relative": None,
        "repetitions": len(known),
        "readings": [[_finite_or_none(r.says), _finite_or_none(r.ledger)] for r in readings],
        "note": note,
    }
    for side in ("says", "ledger"):
        values = [value for r in readings if (value := getattr(r, side)) is not None]
        out[side] = _finite_or_none(statistics.median(values)) if values else None
    if len(known) < len(readings):
        out["note"] = "; ".join([*([note] if note else []), _why(readings)])
    if not known:
        return out
    out["error"], out["low"], out["high"] = _bounded([r.says - r.ledger for r in known])
    if all(r.ledger for r in known):
        out["relative"] = _bounded([r.says / r.ledger - 1 for r in known])
    return out


def _bounded(values: Sequence[float]) -> list[float | None]:
    """Median, low, high."""
    ordered = sorted(values)
    rank = lowest_rank(len(ordered), looks=1)
    bounds = [None, None] if rank is None else [ordered[rank], ordered[-1 - rank]]
    return [statistics.median(ordered), *bounds]


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _finite_or_none(value: float | None) -> float | None:
    """JSON has no infinity: null, and a note."""
    return value if _finite(value) else None


def _why(readings: Sequence[Reading]) -> str:
    """Of the repetitions without an error."""
    reasons = {
        "the tool says nothing": sum(r.says is None for r in readings),
        "the ledger gives no number of so few messages": sum(r.ledger is None for r in readings),
        "the ledger says never: lost messages are later than all": sum(
            r.ledger == math.inf for r in readings
        ),
    }
    return "; ".join(
        f"{what} ({count} of {len(readings)})" for what, count in reasons.items() if count
    )
