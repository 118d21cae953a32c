"""The two sides of every cell that a test compares in a campaign. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rmwbench.published.campaign import NOTHING, CampaignArm, CampaignWorkload, MeasuredCampaign
from rmwbench.published.claims.claims_file import ClaimTest

Side = tuple[str, CampaignArm]
"""The workload that an arm stands in, and the arm."""


def sides_of(
    test: ClaimTest, sides: Mapping[str, Sequence[str]], campaign: MeasuredCampaign, layer: str
) -> Iterator[tuple[Side, Side | None, Side | None, Side | None]]:
    """Left and right of every cell that the test speaks of, and the cells that either is divided
    by."""
    of_left, of_right = test.topics
    lefts = list(
        _arms(
            campaign, layer, sides[test.left], test.workload, {**test.at, **test.left_at}, of_left
        )
    )
    if test.right is None:
        yield from ((left, None, None, None) for left in lefts)
        return
    name = test.right_workload or test.workload
    other_layer = None if test.across_layers else layer
    rights = list(
        _arms(
            campaign, other_layer, sides[test.right], name, {**test.at, **test.right_at}, of_right
        )
    )
    free = {*test.left_at, *test.right_at}
    for label, left in lefts:
        for other, right in rights:
            same = _rest(left, free) == _rest(right, free)
            # Without factors that differ, left and right stand in the same cell; otherwise in two.
            if not (same and (free or test.right_workload or label == other)):
                continue
            bases = [
                _base(test, campaign, (label, left), of_left),
                _base(test, campaign, (other, right), of_right),
            ]
            if not test.base_at or all(bases):
                yield (label, left), (other, right), bases[0], bases[1]


def arms_of(workload: CampaignWorkload, topic: str | None) -> list[CampaignArm]:
    """A workload's arms; with `topic` their metrics are those of that topic, and none where it does
    not have it."""
    if topic is None:
        return list(workload.arms)
    return [in_topic(arm, topic) for arm in workload.arms]


def in_topic(arm: CampaignArm, topic: str) -> CampaignArm:
    found = arm.topics.get(topic, NOTHING)
    return replace(arm, topic=topic, metrics=found.metrics, per_trial=found.per_trial)


def _base(
    test: ClaimTest, campaign: MeasuredCampaign, side: Side, topic: str | None
) -> Side | None:
    """The same arm at the levels that it is divided by."""
    if not test.base_at:
        return None
    label, arm = side
    at = {**arm.factors, **test.base_at}
    name = next(one.name for one in campaign.workloads if one.workload == label)
    return next(iter(_arms(campaign, arm.layer, [arm.arm], name, at, topic)), None)


def _arms(
    campaign: MeasuredCampaign,
    layer: str | None,
    names: Sequence[str],
    workload: str | None,
    at: Mapping[str, Any],
    topic: str | None,
) -> Iterator[Side]:
    for item in campaign.workloads:
        if workload is not None and item.name != workload:
            continue
        here = [
            arm
            for arm in item.arms
            if arm.arm in names and layer in (None, arm.layer) and _stands(arm.factors, at)
        ]
        if here:
            first = min(here, key=lambda arm: list(names).index(arm.arm))
            yield item.workload, first if topic is None else in_topic(first, topic)


def _stands(factors: Mapping[str, Any], at: Mapping[str, Any]) -> bool:
    return all(name in factors and _is_meant(factors[name], level) for name, level in at.items())


def _is_meant(level: Any, asked: Any) -> bool:
    """`asked` is a level, or several of which any is meant."""
    if isinstance(asked, list):
        return any(_same(level, one) for one in asked)
    return _same(level, asked)


def _same(a: Any, b: Any) -> bool:
    if a == b:
        return True
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (a, b))
    return numbers and math.isclose(a, b)


def _rest(arm: CampaignArm, free: set[str]) -> dict[str, Any]:
    return {name: level for name, level in arm.factors.items() if name not in free}


def layers_of(campaigns: Sequence[MeasuredCampaign]) -> set[str]:
    return {arm.layer for one in campaigns for w in one.workloads for arm in w.arms}
