"""Which claims fit into a budget: those first that cost least per claim, counting a cell once
however many claims it serves. Pure."""

from collections.abc import Mapping, Sequence

from rmwbench.published.claims.campaign.offers import Offer
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS
from rmwbench.published.claims.needed_cells import CellPlace

OVERHEAD_S = 5.0
"""What a campaign costs besides its trials: the machine's card, asking each arm's worker, the last
look."""


def chosen(offers: Sequence[Offer], budget_s: float, slower: float = 1.0) -> dict[str, list[str]]:
    """Suite -> ids of its claims, such that LEAST_BLOCKS blocks of all fit. `slower`: trials take
    so many times the plan's estimate."""
    left_s = budget_s
    taken: dict[str, list[str]] = {}
    have: dict[str, set[CellPlace]] = {offer.suite: set() for offer in offers}
    open_ = {(offer.suite, name): offer for offer in offers for name in offer.needs}
    while open_:
        prices = {
            key: _price_s(offer, key[1], have[key[0]], taken, slower)
            for key, offer in open_.items()
        }
        fitting = [key for key in open_ if prices[key] <= left_s]
        if not fitting:
            break
        key = min(
            fitting,
            key=lambda key: prices[key] / len(_covered(open_[key], key[1], have[key[0]], open_)),
        )
        left_s -= prices[key]
        served = _covered(open_[key], key[1], have[key[0]], open_)
        have[key[0]] |= open_[key].needs[key[1]].places
        taken.setdefault(key[0], []).extend(served)
        for name in served:
            del open_[key[0], name]
    return taken


def _covered(
    offer: Offer, name: str, have: set[CellPlace], open_: Mapping[tuple[str, str], Offer]
) -> list[str]:
    """The open claims of the suite that the cells of this one serve, with those that there are:
    itself first."""
    places = have | offer.needs[name].places
    others = [
        x
        for x, need in offer.needs.items()
        if x != name and (offer.suite, x) in open_ and need.places <= places
    ]
    return [name, *others]


def _price_s(
    offer: Offer, name: str, have: set[CellPlace], taken: Mapping[str, list[str]], slower: float
) -> float:
    trials_s = (
        LEAST_BLOCKS
        * slower
        * sum(offer.cost_s[place] for place in offer.needs[name].places - have)
    )
    return trials_s + (0.0 if offer.suite in taken else OVERHEAD_S)


def shares_s(blocks_s: Mapping[str, float], left_s: float, slower: float = 1.0) -> dict[str, float]:
    """Suite -> the time that it may take: its least, and what is over in proportion."""
    least = {
        suite: OVERHEAD_S + LEAST_BLOCKS * slower * block_s for suite, block_s in blocks_s.items()
    }
    over = max(0.0, left_s - sum(least.values())) / sum(least.values())
    return {suite: seconds * (1 + over) for suite, seconds in least.items()}
