"""Where an arm's messages were lost, over its done trials."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from rmwbench.analysis.aggregate import Trial
from rmwbench.analysis.loss import drops, locate
from rmwbench.report.measure import Small


def losses(trials: Sequence[Trial], small: Small, *, reliable: bool, keep_last: bool) -> dict[str, Any] | None:
    """The show document's `losses`; None where nothing is missing or no trial is done."""
    if not trials:
        return None
    ledger = reduce(add, (t.messages.ledger for t in trials))
    if not ledger.undelivered:
        return None
    counted = reduce(add, (drops(small.counters[t.trial]) for t in trials))
    return locate(ledger, counted, reliable=reliable, keep_last=keep_last).document()


def line(losses: dict[str, Any]) -> str:
    """One sentence for the terminal and Markdown."""
    parts = [
        f"{place['place']} {'up to ' if place['label'] == 'at most' else ''}{place['messages']}"
        + (f" ({place['count']} {place['unit']})" if place["unit"] != "messages" else "")
        + (" (inferred)" if place["label"] == "inferred" else "")
        for place in losses["places"]
        if place["messages"]
    ]
    parts += [f"not located {losses['not_located']}"] if losses["not_located"] else []
    text = f"{losses['missing']} messages missing: " + ", ".join(parts or ["no place counted them"])
    return text + (f"; nobody counts {', '.join(losses['uncounted'])}" if losses["uncounted"] else "")
