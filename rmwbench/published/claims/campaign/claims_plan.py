"""What `rmwbench published claims run` would run within a budget, and what it could not decide."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.campaign.plan.plan import duration_text
from rmwbench.published.claims.campaign.choose import OVERHEAD_S, chosen, shares_s
from rmwbench.published.claims.campaign.offers import Gathered, Offer
from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS
from rmwbench.published.claims.summary import shipped_of

SCHEMA, VERSION = "rmwbench/claims-plan", 1


@dataclass(frozen=True)
class ClaimsPlan:
    """`picked`: suite -> ids of the claims that fit, in the order in which the suites run, the
    cheapest first."""

    gathered: Gathered
    settled: Mapping[str, str]
    budget_s: float
    picked: Mapping[str, Sequence[str]]

    @property
    def left_out(self) -> dict[str, str]:
        """Claim's id -> suite."""
        taken = {name for names in self.picked.values() for name in names}
        return {
            name: offer.suite
            for offer in self.gathered.offers
            for name in offer.needs
            if name not in taken
        }

    def offer(self, suite: str) -> Offer:
        return next(offer for offer in self.gathered.offers if offer.suite == suite)

    def blocks_s(self) -> dict[str, float]:
        """Suite -> seconds of a block of what it is reduced to."""
        return {suite: self.offer(suite).block_s(names) for suite, names in self.picked.items()}

    def document(self) -> dict[str, Any]:
        """For `rmwbench published claims plan --json` (docs/formats/claims.md)."""
        shares = shares_s(self.blocks_s(), self.budget_s) if self.picked else {}
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "budget_s": self.budget_s,
            "suites": [
                {
                    "suite": suite,
                    "claims": list(names),
                    "layers": dict(Counter(self.offer(suite).needs[name].layer for name in names)),
                    "cells": len(self.offer(suite).places(names)),
                    "block_s": round(self.offer(suite).block_s(names), 1),
                    "least_s": round(
                        OVERHEAD_S + LEAST_BLOCKS * self.offer(suite).block_s(names), 1
                    ),
                    "share_s": round(shares[suite], 1),
                }
                for suite, names in self.picked.items()
            ],
            "left_out": [
                {"claim": name, "suite": suite, "needs_s": round(self._alone_s(suite, name), 1)}
                for name, suite in self.left_out.items()
            ],
            "refused": [
                {"claim": name, "reason": reason} for name, reason in self.gathered.refused.items()
            ],
            "settled": [{"claim": name, "by": by} for name, by in self.settled.items()],
        }

    def _alone_s(self, suite: str, name: str) -> float:
        return OVERHEAD_S + LEAST_BLOCKS * self.offer(suite).block_s([name])


def make_claims_plan(gathered: Gathered, settled: Mapping[str, str], budget_s: float) -> ClaimsPlan:
    picked = chosen(gathered.offers, budget_s)
    cost = {
        offer.suite: offer.block_s(picked[offer.suite])
        for offer in gathered.offers
        if offer.suite in picked
    }
    ordered = {
        suite: picked[suite] for suite in sorted(picked, key=lambda suite: (cost[suite], suite))
    }
    return ClaimsPlan(gathered, settled, budget_s, ordered)


def undecidable(files: Sequence[Claims]) -> dict[str, str]:
    """Claims of which the shipped ledger says that no run decides them -> why."""
    found = ledger(files, shipped=shipped_of(files)).claims
    return {
        one.claim.id: f"undecidable: it takes {one.today[0].takes.text()}, if nothing is lost"
        for one in found
        if one.state == "undecidable" and one.today[0].takes is not None
    }


def lines(document: Mapping[str, Any]) -> list[str]:
    """The plan's document for a terminal."""
    suites = document["suites"]
    claims = sum(len(one["claims"]) for one in suites)
    least_s = sum(one["least_s"] for one in suites)
    found = [
        f"{claims} claims in {len(suites)} suites, {sum(one['cells'] for one in suites)} cells; at "
        f"least {LEAST_BLOCKS} blocks of each, about {duration_text(least_s)} of "
        f"{duration_text(document['budget_s'])}; what is over goes to those that stay open.",
        "",
    ]
    width = max((len(one["suite"]) for one in suites), default=0)
    for one in suites:
        layers = ", ".join(f"{count} {layer}" for layer, count in one["layers"].items())
        found.append(
            f"  {one['suite']:<{width}}  {len(one['claims']):>3} claims ({layers}), "
            f"{one['cells']:>3} cells, a block {duration_text(one['block_s'])}, up to "
            f"{duration_text(one['share_s'])}"
        )
    if document["left_out"]:
        by_suite = Counter(one["suite"] for one in document["left_out"])
        found += [
            "",
            "Not in this time: "
            + ", ".join(f"{n} of {suite}" for suite, n in by_suite.items())
            + ".",
        ]
    reasons: dict[str, list[str]] = {}
    for one in document["refused"]:
        reasons.setdefault(one["reason"], []).append(one["claim"])
    if reasons:
        found += ["", "Not decided here:"]
        found += [f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    if document["settled"]:
        found += ["", f"Settled on this machine before: {len(document['settled'])} claims."]
    return found
