"""Where an arm's messages were lost, over its done trials."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from rmwbench.analysis.aggregate import Trial
from rmwbench.analysis.loss import drops, locate
from rmwbench.report import format as fmt
from rmwbench.report.measure import Small
from rmwbench.report.wire import VERDICTS


def losses(trials: Sequence[Trial], small: Small, *, reliable: bool, keep_last: bool) -> dict[str, Any] | None:
    """The show document's `losses`; None where nothing is missing or no trial is done."""
    if not trials:
        return None
    ledger = reduce(add, (t.messages.ledger for t in trials))
    if not ledger.undelivered:
        return None
    counted = reduce(add, (replace(drops(small.counters[t.trial]), links=_links(t)) for t in trials))
    found = locate(ledger, counted, reliable=reliable, keep_last=keep_last)
    return {"wanted": ledger.wanted} | found.document()


def _links(trial: Trial) -> dict[str, int]:
    """Link and what befell it → frames with data that it lost, in words."""
    found = trial.network.wire.lost_data if trial.network.wire else {}
    return {f"{host} {way}: {VERDICTS.get(verdict, verdict)}": n for (host, way, verdict), n in found.items()}


def measure(place: dict[str, Any]) -> str:
    """`at most 32 messages (40 datagrams counted there)`, `32 messages, inferred`."""
    text = ("at most " if place["label"] == "at most" else "") + fmt.counted(place["messages"], "message")
    if place["unit"] != "messages":
        text += f" ({fmt.significant_count(place['count'])} {place['unit']} counted there)"
    return text + (", inferred" if place["label"] == "inferred" else "")


def largest(losses: dict[str, Any]) -> dict[str, Any] | None:
    """The place that explains most of the missing messages; None where none does, or more of them are not located."""
    found = max(losses["places"], key=lambda place: place["messages"], default=None)
    return found if found is not None and found["messages"] > losses["not_located"] else None


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
