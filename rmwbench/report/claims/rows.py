"""What a report shows of claims: the ledger's entries with a picture and the way to the evidence."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from rmwbench.analysis.claims_document import ledger
from rmwbench.analysis.claims_markdown import here
from rmwbench.report.claims.picture import picture
from rmwbench.suite.claims import Claims, load, sources_about

ANSWERS = {
    "holds": "the whole interval lies on the claimed side, in every cell",
    "does not hold": "in at least one cell the whole interval lies on the other side",
    "undecided": "an interval contains the bar: these trials do not tell",
    "no data": "the metric has no value here, for the reason given",
}

Link = Callable[[str, str, str, str], str | None]
"""(campaign, workload, arm, metric) -> where its evidence is."""


def of_campaign(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The section of a campaign's report: what the shipped claims say of its suite. None where none does.

    `document` is its show document; a report is made of a document, so only claims files are read here.
    """
    made = ledger(_about(str(document["campaign"].get("suite"))), [document])
    items = [item for source in made["sources"] for item in _items(source, inside(document))]
    return {"items": items, "counts": counts(items)} if items else None


@lru_cache(maxsize=8)
def _about(suite: str) -> list[Claims]:
    return [load(name) for name in sources_about(suite)]


def inside(document: Mapping[str, Any]) -> Link:
    """Links within the report of this show document (rmwbench/report/html.py numbers workloads and arms)."""
    places = {
        (workload["workload"], arm["arm"]): (f"{number}-{place}", arm["metrics"])
        for number, workload in enumerate(document["workloads"])
        for place, arm in enumerate(workload["arms"])
    }

    def link(campaign: str, workload: str, arm: str, metric: str) -> str | None:
        key, metrics = places.get((workload, arm), (None, ()))
        return f"#m-{key}-{metric}" if metric in metrics else None

    return link


def counts(items: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Answer -> claims, of the first answer of each."""
    found = Counter(item["today"][0]["answer"] for item in items if item["today"])
    return {answer: found[answer] for answer in ANSWERS if found[answer]}


def _items(source: Mapping[str, Any], link: Link) -> Iterator[dict[str, Any]]:
    for claim in source["claims"]:
        if claim["today"]:
            yield item(source, claim, link)


def item(source: Mapping[str, Any], claim: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """A claim as the templates show it."""
    return {
        "of": claim,
        "source": source["title"],
        "experiment": None if claim["kind"] == "opinion" else here(claim, verdict=False),
        "today": [_today(claim["test"], found, link) for found in claim["today"]],
    }


def _today(test: Mapping[str, Any], found: Mapping[str, Any], link: Link) -> dict[str, Any]:
    evidence = []
    for cell in found["cells"]:
        for workload, arm in ((cell["left_in"], cell["left"]), (cell["right_in"], cell["right"])):
            href = arm and link(found["campaign"], workload, arm, test["metric"])
            if arm:
                evidence.append({"arm": arm, "workload": workload, "href": href})
    unique = {(one["workload"], one["arm"]): one for one in evidence}
    return {**found, "picture": picture(test, found["cells"]), "evidence": list(unique.values())}
