"""How much of a campaign was done, in words: once for the terminal, the page and the Markdown."""

from typing import Any

from rmwbench.report import format as fmt


def failed(campaign: dict[str, Any]) -> str | None:
    """`2 failed`."""
    count = campaign["trials"].get("failed")
    return f"{count} failed" if count else None


def void(campaign: dict[str, Any]) -> str | None:
    """`3 void (steal 2, canary 1), 2 of them repeated`: by the names of the rules."""
    trials = campaign["trials"]
    count, repeated = trials.get("void"), trials.get("repeated")
    if not count:
        return None
    rules = ", ".join(f"{rule} {times}" for rule, times in (trials.get("voided_by") or {}).items())
    again = "" if not repeated else ", repeated" if repeated == count else f", {repeated} of them repeated"
    return f"{count} void{f' ({rules})' if rules else ''}{again}"


def blocks(campaign: dict[str, Any]) -> str:
    """`6 of 6 blocks`, or `5 of at most 20 blocks, 14 of 14 verdicts decided`."""
    complete, planned = campaign.get("blocks_complete", 0), int(campaign.get("blocks_planned", 0))
    look = campaign.get("looks")
    if not look:
        return f"{complete} of {fmt.counted(planned, 'block')}"
    if len(look["looks"]) == 1 and look["stop"] != "time":
        return f"{complete} of {fmt.counted(planned, 'block')}, {look['decided']} of {look['of']} verdicts decided"
    return f"{complete} of at most {planned} blocks, {look['decided']} of {look['of']} verdicts decided"
