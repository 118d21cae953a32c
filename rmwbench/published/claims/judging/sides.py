"""The two sides of every cell that a test compares in a campaign. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rmwbench.published.campaign import NO_VALUES, CampaignArm, CampaignWorkload, MeasuredCampaign
from rmwbench.published.claims.claims_file import ClaimTest, levels_of


class ArmOfWorkload(NamedTuple):
    """An arm in a workload; `name` is the workload's name without levels."""

    workload: str
    name: str
    arm: CampaignArm


def sides_of(
    test: ClaimTest, sides: Mapping[str, Sequence[str]], campaign: MeasuredCampaign, layer: str
) -> Iterator[
    tuple[ArmOfWorkload, ArmOfWorkload | None, ArmOfWorkload | None, ArmOfWorkload | None]
]:
    """Yield left and right of every cell that the test speaks of, and the cells by which each is
    divided."""
    left_topic, right_topic = test.topics
    left_at, right_at = {**test.at, **test.left_at}, {**test.at, **test.right_at}
    lefts = _sides(campaign, layer, sides[test.left], test.workload, left_at, left_topic)
    if test.right is None:
        yield from ((left, None, None, None) for left in lefts)
        return
    name = test.right_workload or test.workload
    other_layer = None if test.across_layers else layer
    rights = list(_sides(campaign, other_layer, sides[test.right], name, right_at, right_topic))
    free = {*test.left_at, *test.right_at}
    for left in lefts:
        for right in rights:
            # The sides have the same workload and levels, except where the test names others.
            if not (test.right_workload or left.name == right.name):
                continue
            if _other_levels(left.arm, free) != _other_levels(right.arm, free):
                continue
            left_base = _base(test, campaign, left, left_topic)
            right_base = _base(test, campaign, right, right_topic)
            if not test.base_at or (left_base and right_base):
                yield left, right, left_base, right_base


def arms_of(workload: CampaignWorkload, topic: str | None) -> list[CampaignArm]:
    """Return a workload's arms. With `topic`, their metrics are those of that topic, and they have
    none if they do not have the topic."""
    if topic is None:
        return list(workload.arms)
    pairs = ((arm, arm.topics.get(topic, NO_VALUES)) for arm in workload.arms)
    return [
        replace(arm, topic=topic, metrics=values.metrics, per_trial=values.per_trial)
        for arm, values in pairs
    ]


def _base(
    test: ClaimTest, campaign: MeasuredCampaign, side: ArmOfWorkload, topic: str | None
) -> ArmOfWorkload | None:
    """Return the same arm at the levels by which it is divided."""
    if not test.base_at:
        return None
    at = {**side.arm.factors, **test.base_at}
    return next(_sides(campaign, side.arm.layer, [side.arm.arm], side.name, at, topic), None)


def _sides(
    campaign: MeasuredCampaign,
    layer: str | None,
    names: Sequence[str],
    workload: str | None,
    at: Mapping[str, Any],
    topic: str | None,
) -> Iterator[ArmOfWorkload]:
    for item in campaign.workloads:
        if workload is not None and item.name != workload:
            continue
        arms = [
            arm
            for arm in arms_of(item, topic)
            if arm.arm in names and layer in (None, arm.layer) and _has_levels(arm.factors, at)
        ]
        if arms:
            first = min(arms, key=lambda arm: list(names).index(arm.arm))
            yield ArmOfWorkload(item.workload, item.name, first)


def _has_levels(factors: Mapping[str, Any], at: Mapping[str, Any]) -> bool:
    return all(
        name in factors and any(_is_same(factors[name], level) for level in levels_of(at[name]))
        for name in at
    )


def _is_same(a: Any, b: Any) -> bool:
    if a == b:
        return True
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (a, b))
    return numbers and math.isclose(a, b)


def _other_levels(arm: CampaignArm, free: set[str]) -> dict[str, Any]:
    return {name: level for name, level in arm.factors.items() if name not in free}


def layers_of(campaigns: Sequence[MeasuredCampaign]) -> set[str]:
    return {arm.layer for campaign in campaigns for x in campaign.workloads for arm in x.arms}
