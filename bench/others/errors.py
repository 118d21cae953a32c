"""The error of a tool: what it says less what our ledger says, over repetitions, with a distribution-free interval."""

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


def line(tool: str, scenario: str, readings: Sequence[Reading], note: str | None = None) -> dict[str, Any]:
    """Readings of one quantity over repetitions, as one line of `--json` (docs/other-tools.md).

    `error` is the median of the differences in `unit`; `low` and `high` bound it with at least 95 % (order statistics,
    from 6 repetitions on; None below). `relative`: the same three divided by the ledger's median where that is not 0.
    """
    known = [r for r in readings if r.says is not None and r.ledger is not None]
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
        "note": note,
    }
    for side in ("says", "ledger"):
        values = [value for r in readings if (value := getattr(r, side)) is not None]
        out[side] = statistics.median(values) if values else None
    if not known:
        out["note"] = note or "no data on one side"
        return out
    errors = sorted(r.says - r.ledger for r in known)
    out["error"] = statistics.median(errors)
    rank = lowest_rank(len(errors))
    if rank is not None:
        out["low"], out["high"] = errors[rank], errors[-1 - rank]
    if out["ledger"]:
        bounds = (out["error"], out["low"], out["high"])
        out["relative"] = [None if bound is None else bound / out["ledger"] for bound in bounds]
    return out
