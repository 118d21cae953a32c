"""What an imported bundle says: where it comes from, what its original could not tell, which
errors it has, and its figures as published beside as corrected.

An imported bundle has no records, so the metrics of a campaign would all be `no data`; they are
named with the reason instead.
"""

from collections import Counter
from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.errors import UserError


def is_imported(bundle: Bundle) -> bool:
    """Whether the bundle was imported and not measured by us."""
    return "imported" in bundle.campaign


def refuse_imported(bundle: Bundle) -> None:
    """Raises UserError where a verb that needs records was given an imported bundle."""
    if is_imported(bundle):
        raise UserError(
            "this bundle was imported: it has seconds or totals, and this needs messages",
            where=str(bundle.directory),
            fix="`rmwbench show` has its figures, `rmwbench query` its tables",
        )


def document(bundle: Bundle) -> dict[str, Any]:
    """The imported document (docs/importers.md)."""
    imported = bundle.campaign["imported"]
    rows = bundle.rows("figures")
    return {
        "schema": "rmwbench/imported",
        "version": 1,
        "campaign": {"name": bundle.campaign.get("campaign"), "directory": str(bundle.directory)},
        "imported": imported,
        "cells": len(bundle.rows("cells")),
        "trials": len(bundle.trials()),
        "windows": bundle.table("windows", columns=["trial"]).num_rows,
        "summary": _summary(rows),
        "figures": rows,
    }


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        found = counts.setdefault((row["figure"], row["unit"]), Counter())
        found["points"] += 1
        found["published"] += row["as_published"] is not None
        found["no_data"] += row["as_corrected"] is None
        both = row["as_published"] is not None and row["as_corrected"] is not None
        found["changed"] += both and not _same(row["as_published"], row["as_corrected"])
    names = ("points", "published", "changed", "no_data")
    return [
        {"figure": f, "unit": u, **{n: found[n] for n in names}} for (f, u), found in counts.items()
    ]


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
