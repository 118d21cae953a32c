"""Explanations for a person at a terminal: a line where there is little to say, a list where there
is more."""

from typing import Any

from rich.console import Console
from rich.markup import escape

from rmwbench.report.chain_chart import words
from rmwbench.results.losses import slow
from rmwbench.words.numbers import metric, quantity

INDENT = " " * 11


def print_explanations(found: list[dict[str, Any]], console: Console) -> None:
    """`found`: as `rmwbench.results.explain.explanations` gives it."""
    for one in found:
        console.print(f"[bold]{escape(one['workload'])}[/bold]  {escape(one['arm'])}")
        if not one["trials"]["done"]:  # then nothing was lost, and nothing arrived either
            failures = one["trials"]["failures"]
            why = f": {failures[-1]['status']}, {failures[-1]['reason']}" if failures else ""
            _item(console, "no data", f"no trial was done{why}")
            console.print()
            continue
        _item(console, "path", one["path"] or "no data: nothing was delivered, or nobody counted")
        for note in one["notes"]:
            if note.startswith("path:"):
                _item(console, "", note.removeprefix("path:").strip())
        for place, topic in enumerate(one["topics"]):
            _item(console, "" if place else "topics", _topic(topic))
        for place, text in enumerate(words(one)):
            _item(console, "" if place else "way", text)
        _losses(console, one["losses"])
        for tail in one["tails"][:3]:
            _tail(console, tail)
        if not one["tails"]:
            _item(console, "slowest", "no message took twice the median, or too few arrived to say")
        console.print()


_LATENCIES = {
    "response": "response_latency_p50",
    "service": "service_latency_p50",
    "consumed": "consumed_latency_p50",
}


def _topic(topic: dict[str, Any]) -> str:
    """`front: worse (loss): response 175 ms, service …, consumed …, lost 12 %`."""
    shown = {name: metric(topic["metrics"].get(key)).text for name, key in _LATENCIES.items()}
    verdict = topic["verdict"]["verdict"]
    by = f" by {topic['verdict']['by']}" if topic["verdict"].get("by") else ""
    latencies = ", ".join(f"{name} {text}" for name, text in shown.items())
    return (
        f"{topic['topic']}: {verdict}{by}; {latencies}, lost "
        f"{metric(topic['metrics'].get('undelivered')).text}"
    )


def _losses(console: Console, losses: dict[str, Any] | None) -> None:
    if losses is None:
        _item(console, "lost", "nothing")
        return
    missing = losses["missing"]
    _item(
        console,
        "lost",
        f"{missing} messages did not arrive sound and in time" if missing else "nothing",
    )
    if text := slow(losses):
        _item(console, "slow", text)
    if not missing:
        return
    for place in losses["places"]:
        count = (
            ""
            if place["unit"] == "messages"
            else f", {place['count']} {place['unit']} counted there"
        )
        most = "up to " if place["label"] == "at most" else ""
        inferred = ", inferred" if place["label"] == "inferred" else ""
        _item(
            console,
            "",
            f"{most}{place['messages']}  {place['place']}{count}{inferred}: {place['text']}",
        )
    if losses["not_located"]:
        _item(console, "", f"{losses['not_located']}  not located")
    if losses["uncounted"]:
        _item(console, "", f"nobody counts: {', '.join(losses['uncounted'])}")


def _tail(console: Console, tail: dict[str, Any]) -> None:
    worst, median = tail["worst"][0], quantity(tail["median_ns"], "ns")
    _item(
        console,
        "slowest",
        f"{tail['messages']} of {tail['of']} messages in trial {tail['trial']}, from endpoint "
        f"{tail['writer']} to {tail['reader']}: up to {quantity(worst['latency_ns'], 'ns')}, "
        f"median {median}",
    )
    for cause in tail["causes"]:
        _item(console, "", f"{cause['share']:4.0%}  {cause['cause']}: {cause['text']}")
    for message in tail["worst"][:3]:
        phases = ", ".join(
            f"{name} {quantity(ns, 'ns')}" for name, ns in message["phases_ns"].items() if ns > 0
        )
        _item(
            console,
            "",
            f"seq {message['seq']}: {quantity(message['latency_ns'], 'ns')} = {phases} "
            f"({message['cause']})",
        )
    if tail["unwatched"]:
        _item(
            console,
            "",
            f"not watched: {', '.join(tail['unwatched'])} (rmwbench run --schedule, --series)",
        )


def _item(console: Console, name: str, text: str) -> None:
    console.print(
        f"  [dim]{name:<9}[/dim]{escape(text)}" if name else f"{INDENT}{escape(text)}",
        soft_wrap=True,
    )
