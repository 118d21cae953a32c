"""Claims in the short forms of a report: lines for the terminal, a table for Markdown."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmwbench.published.claims.claims_file import Judged


def lines(section: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """(answer, text) of each claim in a campaign's section (rows.py); empty where there is no
    section."""
    return (
        []
        if section is None
        else [(item["today"][0]["of"].answer, _line(item)) for item in section["items"]]
    )


def table(section: Mapping[str, Any] | None) -> list[tuple[str, str, str, str]]:
    """(claim, as published, as corrected, here) of each claim in a campaign's section; empty where
    there is none."""
    return [
        (
            f"{item['of'].id}: {item['of'].says}",
            _of_the_data(item["of"].published),
            _of_the_data(item["of"].corrected),
            _here(item),
        )
        for item in (section or {"items": ()})["items"]
    ]


def _line(item: Mapping[str, Any]) -> str:
    of = item["of"]
    told = "ours" if of.inferred else f"as published: {_of_the_data(of.published)}"
    return f"{of.id}: {of.says} ({told}) {_here(item)}"


def _here(item: Mapping[str, Any]) -> str:
    today = item["today"][0]["of"]
    name = today.verdict if today.verdict in ("supported", "refuted") else today.answer
    seen = f" {found}" if (found := today.seen()) else ""
    return f"{name}{' (proxy)' if item['proxy'] else ''}, {today.layer}{seen}"


def _of_the_data(judged: "Judged | None") -> str:
    return "" if judged is None else judged.verdict
