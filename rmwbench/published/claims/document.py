"""The ledger of claims as one document, for `--json`, the terminal and the Markdown page. Pure."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from rmwbench.published.campaign import Campaign
from rmwbench.published.claims.judge import Today, answers
from rmwbench.published.claims.model import Claim, Claims
from rmwbench.published.claims.state import counted, is_one_of, state_of, to_do

SCHEMA, VERSION = "rmwbench/claims", 4


def ledger(
    sources: Sequence[Claims],
    campaigns: Sequence[Campaign] = (),
    *,
    heading: str | None = None,
    shipped: Mapping[str, Sequence[Campaign]] | None = None,
    ids: Mapping[str, Collection[str]] | None = None,
    verdicts: Collection[str] = (),
    given: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """All claims of these sources, with what each campaign says of them.

    `shipped`: source -> what was measured elsewhere (`measured.expanded`), which comes behind the
    campaigns. Only those are kept whose heading contains `heading`, whatever the case; whose id is
    among `ids` of its source, where the source has any; and which are in one of the states or have
    one of the `verdicts` (`state.named`). `given`: source -> how the user named it, where that is
    the path of a file.
    """
    there, names = shipped or {}, given or {}
    parts = [
        _source(source, campaigns, there.get(source.claims, ()), heading) for source in sources
    ]
    for part in parts:
        part["run"] = to_do(names.get(part["source"], part["source"]))
        wanted = (ids or {}).get(part["source"])
        if wanted or verdicts:
            part["headings"] = []
            part["claims"] = [
                claim
                for claim in part["claims"]
                if (not wanted or claim["id"] in wanted)
                and (not verdicts or is_one_of(claim, verdicts))
            ]
    if verdicts:
        parts = [part for part in parts if part["claims"]]
    claims = [claim for part in parts for claim in part["claims"]]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "campaigns": [campaign.name for campaign in campaigns],
        "summary": {
            "claims": len(claims),
            "inferred": sum(claim["inferred"] is not None for claim in claims),
            "opinions": sum(claim["kind"] == "opinion" for claim in claims),
            "testable": sum(claim["test"] is not None for claim in claims),
            "published": _counts(claims, "published"),
            "corrected": _counts(claims, "corrected"),
            "today": dict(
                Counter(claim["today"][0]["verdict"] for claim in claims if claim["today"])
            ),
            "answers": dict(
                Counter(claim["today"][0]["answer"] for claim in claims if claim["today"])
            ),
            **counted(claims),
        },
        "sources": parts,
    }


def _counts(claims: Sequence[Mapping[str, Any]], key: str) -> dict[str, int]:
    return dict(Counter(claim[key]["verdict"] for claim in claims if claim[key]).most_common())


def _source(
    source: Claims,
    campaigns: Sequence[Campaign],
    shipped: Sequence[Campaign],
    heading: str | None,
) -> dict[str, Any]:
    def wanted(name: str) -> bool:
        return heading is None or heading.casefold() in name.casefold()

    return {
        "source": source.claims,
        "title": source.title,
        "published": source.published,
        "layer": source.layer,
        "versions": list(source.versions),
        "claims": [
            _claim(source, claim, campaigns, shipped)
            for claim in source.items
            if wanted(claim.heading)
        ],
        "headings": [
            entry.model_dump(mode="json") for entry in source.headings if wanted(entry.heading)
        ],
    }


def _claim(
    source: Claims,
    claim: Claim,
    campaigns: Sequence[Campaign],
    shipped: Sequence[Campaign],
) -> dict[str, Any]:
    out = claim.model_dump(mode="json")
    out["layer"] = source.layer_of(claim)
    # One's own campaigns first. No answer is chosen for what it says: of each, the order of
    # `answers`.
    found = [*answers(source, claim, campaigns), *answers(source, claim, shipped)]
    in_order = sorted(found, key=lambda one: one.answer == "no data")
    out["today"] = [_today(one) for one in in_order]
    out["state"] = state_of(out)
    return out


def _today(found: Today) -> dict[str, Any]:
    more = {
        "campaign": found.campaign,
        "leans": found.leans,
        "takes": None
        if found.takes is None
        else {**_plain(found.takes), "text": found.takes.text()},
        "text": found.text(),
        "seen": found.seen(),
    }
    return _plain(found) | more


def _plain(value: Any) -> Any:
    """As JSON has it, of dataclasses too. It has no infinity: as in the show document it is the
    text `inf`."""
    if isinstance(value, float):
        return "inf" if math.isinf(value) else value
    if value is None or isinstance(value, str | int):
        return value
    if is_dataclass(value):
        return {field: _plain(getattr(value, field)) for field in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
