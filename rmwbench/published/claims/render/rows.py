"""What a report shows of claims: the ledger's entries with a picture and the way to the
evidence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from rmwbench.analysis.metrics.topics import unit
from rmwbench.published.about import sources_about
from rmwbench.published.campaign import Campaign
from rmwbench.published.claims.document import ledger
from rmwbench.published.claims.markdown import here
from rmwbench.published.claims.model import Claims, load
from rmwbench.published.claims.render.picture import picture
from rmwbench.published.claims.state import OF_THE_DATA, STATES, state_of
from rmwbench.published.claims.words import title_of, unit_of
from rmwbench.suite.file.places import CLAIMS_FILE
from rmwbench.words import numbers as fmt

Link = Callable[[str, str, str, str], str | None]
"""(campaign, workload, arm, metric) -> where its evidence is."""


def of_campaign(campaign: Campaign) -> dict[str, Any] | None:
    """The section of a campaign's report: what the shipped claims say of its suite. None where none
    does. Only claims files are read here."""
    made = ledger(_about(str(campaign.suite)), [campaign])
    items = [item for source in made["sources"] for item in _items(source, inside(campaign))]
    return {"items": items, "counts": counts(items), "filter": choices(items)} if items else None


@lru_cache(maxsize=8)
def _about(suite: str) -> list[Claims]:
    return [load(name) for name in sources_about(suite, CLAIMS_FILE)]


def inside(campaign: Campaign) -> Link:
    """Links within the report of this campaign (rmwbench/report/html.py numbers workloads and
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


def counts(items: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """State -> claims that are in it; those without any are left out."""
    return {name: n for name in STATES if (n := sum(item["state"] == name for item in items))}


def choices(items: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What a page's filter offers: the states, verdicts and sources that some of its claims
    have."""
    data = {name for item in items for name in item["data"]}
    return {
        "state": [*counts(items), *(["proxy"] if any(item["proxy"] for item in items) else [])],
        "data": [name for name in OF_THE_DATA if name in data],
        "source": list(dict.fromkeys(item["source"] for item in items)),
    }


def _items(source: Mapping[str, Any], link: Link) -> Iterator[dict[str, Any]]:
    for claim in source["claims"]:
        if claim["today"]:
            yield item(source, claim, link)


def item(source: Mapping[str, Any], claim: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """A claim as the templates show it."""
    return {
        "of": claim,
        "source": source["title"],
        "state": state_of(claim),
        "proxy": bool(claim["today"]) and claim["today"][0]["verdict"] == "proxy",
        "data": [found["verdict"] for key in ("published", "corrected") if (found := claim[key])],
        "run": source["run"],
        "experiment": None if claim["kind"] == "opinion" else here(claim, verdict=False),
        "today": [_today((claim["test"], *claim["also"]), found, link) for found in claim["today"]],
    }


def _today(
    tests: Sequence[Mapping[str, Any]], found: Mapping[str, Any], link: Link
) -> dict[str, Any]:
    evidence = []
    for cell in found["cells"]:
        for side in _compared(cell):
            workload, topic, arm = cell[f"{side}_in"], cell[f"{side}_topic"], cell[side]
            # A report has the trials of whole workloads; a topic's stand here.
            href = None if topic else link(found["campaign"], workload, arm, cell["metric"])
            evidence.append({"arm": arm, "workload": unit(workload, topic), "href": href})
    unique = {(one["workload"], one["arm"]): one for one in evidence}
    linked = any(one["href"] for one in evidence)
    return {
        **found,
        "pictures": [
            drawn
            for part, test in enumerate(tests)
            if (drawn := picture(test, [cell for cell in found["cells"] if cell["part"] == part]))
        ],
        "evidence": list(unique.values()),
        # Where a report has the trials, one click leads there.
        "trials": [] if linked else [made for cell in found["cells"] if (made := _trials(cell))],
    }


def _compared(cell: Mapping[str, Any]) -> list[str]:
    """The sides that a cell has."""
    return [side for side in ("left", "right") if cell[side]]


def _trials(cell: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values of a cell's trials: a row per block, a column per side. None where it has none."""
    sides = _compared(cell)
    values = {side: _by_block(cell[f"{side}_trials"], unit_of(cell["metric"])) for side in sides}
    blocks = sorted(set().union(*values.values()))
    if not blocks:
        return None
    places = {side: unit(cell[f"{side}_in"], cell[f"{side}_topic"]) for side in sides}
    two = len(set(places.values())) > 1
    return {
        "title": cell["workload"],
        "metric": title_of(cell["metric"]),
        "heads": [f"{cell[side]}, {places[side]}" if two else cell[side] for side in sides],
        "rows": [(block + 1, [values[side].get(block, "–") for side in sides]) for block in blocks],
    }


def _by_block(trials: Sequence[tuple[int, float | str]], unit: str) -> dict[int, str]:
    found: dict[int, list[str]] = {}
    for block, value in trials:
        found.setdefault(block, []).append(
            "never arrived" if value == "inf" else fmt.quantity(float(value), unit)
        )
    return {block: ", ".join(texts) for block, texts in found.items()}
