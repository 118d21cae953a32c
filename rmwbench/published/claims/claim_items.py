"""What a page shows of claims: the ledger's entries with a picture and the way to the evidence."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from rmwbench.published.about import sources_about
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.amounts import title_of, unit_of
from rmwbench.published.claims.claims_file import Claims, ClaimTest, load
from rmwbench.published.claims.claims_ledger import JudgedClaim, SourceLedger, ledger
from rmwbench.published.claims.judging.today import CellAnswer, Today
from rmwbench.published.claims.picture import picture
from rmwbench.published.claims.sentences import experiment
from rmwbench.published.claims.state import OF_THE_DATA, STATES
from rmwbench.suite.file.places import CLAIMS_FILE
from rmwbench.words import numbers as fmt

Link = Callable[[str, str, str, str], str | None]
"""(campaign, workload, arm, metric) -> where its evidence is."""


def of_campaign(campaign: MeasuredCampaign) -> list[dict[str, Any]]:
    """What the shipped claims say of a campaign's suite. Only claims files are read here."""
    made = ledger(_about(str(campaign.suite)), [campaign])
    link = inside(campaign)
    return [item(source, x, link) for source in made.sources for x in source.claims if x.today]


@lru_cache(maxsize=8)
def _about(suite: str) -> list[Claims]:
    return [load(name) for name in sources_about(suite, CLAIMS_FILE)]


def inside(campaign: MeasuredCampaign) -> Link:
    """Links within the report of this campaign (rmwbench/report/show numbers workloads and
    arms)."""
    places = {
        (workload.workload, arm.arm): (f"{number}-{place}", arm.metrics)
        for number, workload in enumerate(campaign.workloads)
        for place, arm in enumerate(workload.arms)
    }

    def link(campaign: str, workload: str, arm: str, metric: str) -> str | None:
        key, metrics = places.get((workload, arm), (None, {}))
        return f"#m-{key}-{metric}" if metric in metrics else None

    return link


def counts(states: Iterable[str]) -> dict[str, int]:
    """State -> claims that are in it; those without any are left out."""
    found = list(states)
    return {name: n for name in STATES if (n := found.count(name))}


def choices(items: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What a page's filter offers: the states, verdicts and sources that some of its claims
    have."""
    data = {name for item in items for name in item["data"]}
    return {
        "state": [
            *counts(one["state"] for one in items),
            *(["proxy"] if any(item["proxy"] for item in items) else []),
        ],
        "data": [name for name in OF_THE_DATA if name in data],
        "source": list(dict.fromkeys(item["source"] for item in items)),
    }


def item(source: SourceLedger, judged: JudgedClaim, link: Link) -> dict[str, Any]:
    """A claim as the templates show it."""
    claim = judged.claim
    return {
        "of": claim,
        "source": source.title,
        "state": judged.state,
        "proxy": judged.is_proxy,
        "data": [one.verdict for one in (claim.published, claim.corrected) if one],
        "run": source.run,
        "experiment": None if claim.kind == "opinion" else experiment(claim),
        "today": [_today(claim.tests, found, link) for found in judged.today],
    }


def _today(tests: Sequence[ClaimTest], found: Today, link: Link) -> dict[str, Any]:
    evidence = []
    for cell in found.cells:
        for side in cell.sides:
            # A report has the trials of whole workloads; a topic's stand here.
            href = (
                None if side.topic else link(found.campaign, side.workload, side.arm, cell.metric)
            )
            evidence.append({"arm": side.arm, "workload": side.place, "href": href})
    unique = {(one["workload"], one["arm"]): one for one in evidence}
    linked = any(one["href"] for one in evidence)
    return {
        "of": found,
        "seen": found.seen(),
        "text": found.text(),
        "pictures": [
            drawn
            for part, test in enumerate(tests)
            if (drawn := picture(test, [cell for cell in found.cells if cell.part == part]))
        ],
        "evidence": list(unique.values()),
        # Where a report has the trials, one click leads there.
        "trials": [] if linked else [made for cell in found.cells if (made := _trials(cell))],
    }


def _trials(cell: CellAnswer) -> dict[str, Any] | None:
    """The values of a cell's trials: a row per block, a column per side. None where it has none."""
    unit = unit_of(cell.metric)
    values = [
        {
            block: "never arrived" if math.isinf(value) else fmt.quantity(value, unit)
            for block, value in side.trials
        }
        for side in cell.sides
    ]
    blocks = sorted(set().union(*values))
    if not blocks:
        return None
    two = len({side.place for side in cell.sides}) > 1
    return {
        "title": cell.workload,
        "metric": title_of(cell.metric),
        "heads": [f"{side.arm}, {side.place}" if two else side.arm for side in cell.sides],
        "rows": [(block + 1, [of.get(block, "–") for of in values]) for block in blocks],
    }
