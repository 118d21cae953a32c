"""The versions of the middlewares that an answer is about. Pure.

A reader chooses a version, so versions whose answers differ have an answer each. If a statement
compares two middlewares, its version is the pair.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from rmwbench.published.campaign import CampaignArm
from rmwbench.published.claims.judging.campaign_answers import MeasuredAnswer
from rmwbench.suite.side import bare

Versions = Mapping[str, tuple[str, ...]]
"""Middleware, without the series of its version -> its versions, which are two in a cell that
compares them."""
CellKey = tuple[int, Any]
"""The place of the test among the claim's tests, and the arms and levels of its sides."""


def versions_of(arms: Iterable[CampaignArm]) -> Versions:
    versions: dict[str, set[str]] = {}
    for arm in arms:
        middleware = " + ".join(map(bare, arm.middleware.split(" + ")))
        if arm.version is not None:
            versions.setdefault(middleware, set()).add(arm.version)
    return {middleware: tuple(sorted(texts)) for middleware, texts in versions.items()}


def by_version(
    cells: Mapping[CellKey, Versions], cells_by_campaign: Collection[Collection[CellKey]]
) -> list[list[CellKey]]:
    """Return the cells that were measured with each version, or with each pair of versions that a
    campaign measured together. A cell without the middlewares whose versions differ is in all
    groups. `cells_by_campaign`: the cells of each campaign."""
    levels: dict[str, set[tuple[str, ...]]] = {}
    for versions in cells.values():
        for middleware, texts in versions.items():
            levels.setdefault(middleware, set()).add(texts)
    with_several = {middleware for middleware, texts in levels.items() if len(texts) > 1}
    varied = {
        key: {(name, texts) for name, texts in versions.items() if name in with_several}
        for key, versions in cells.items()
    }
    choices: list[set[tuple[str, tuple[str, ...]]]] = []
    for keys in cells_by_campaign:
        pairs = set().union(*(varied[key] for key in keys))
        names = sorted({name for name, _ in pairs})
        choices += map(set, product(*([x for x in pairs if x[0] == name] for name in names)))
    largest = [choice for choice in choices if not any(choice < other for other in choices)]
    unique = {frozenset(choice): choice for choice in largest}.values()
    return [[key for key in cells if varied[key] <= choice] for choice in unique]


def with_differing_versions(todays: Sequence[MeasuredAnswer]) -> list[MeasuredAnswer]:
    """Return the answers of a claim. If another version of its layer has another answer, an answer
    has the versions of all middlewares that distinguish such answers, and whether another version
    stands for the claim."""
    return [
        _with_differing_versions(today, [x for x in todays if x.layer == today.layer])
        for today in todays
    ]


def _with_differing_versions(
    today: MeasuredAnswer, todays: Sequence[MeasuredAnswer]
) -> MeasuredAnswer:
    speaking = [other for other in todays if other.speaks]
    if not any(_contradicting(today, other) for other in speaking):
        return today
    names = {name for x in todays for other in speaking for name in _contradicting(x, other)}
    return replace(
        today,
        differing_versions=tuple(
            f"{middleware.partition('/')[0]} {' and '.join(texts)}"
            for middleware, texts in today.versions.items()
            if middleware in names
        ),
        superseded=any(
            _contradicting(today, other)
            and (other.shipped, other.touched) == (today.shipped, today.touched)
            and (not today.speaks or _is_newer(other.versions, today.versions))
            for other in speaking
        ),
    )


def other_answers(todays: Sequence[MeasuredAnswer]) -> list[MeasuredAnswer]:
    """Return the other versions' answers that differ from the first answer of a claim."""
    first, *others = todays
    return [
        x
        for x in others
        if x.layer == first.layer and x.answer != first.answer and x.differing_versions
    ]


def other_versions(a: Versions, b: Versions) -> set[str]:
    """Return the middlewares of which neither has a version of the other."""
    return {name for name in a.keys() & b.keys() if not _share_version(a[name], b[name])}


def _contradicting(today: MeasuredAnswer, other: MeasuredAnswer) -> set[str]:
    """Return the middlewares whose versions distinguish two different answers."""
    if today.answer in (other.answer, "no data"):
        return set()
    return other_versions(today.versions, other.versions)


def _share_version(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether the two have a version in common. A shorter text, without the library below an RMW,
    is the same version."""
    return any(f"{x} ".startswith(f"{y} ") or f"{y} ".startswith(f"{x} ") for x in a for y in b)


def _is_newer(a: Versions, b: Versions) -> bool:
    """Whether `a` has the newer version; of pairs, more of the newer versions."""
    names = other_versions(a, b)
    return 2 * sum(_numbers(a[name]) > _numbers(b[name]) for name in names) > len(names)


def _numbers(texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the versions, the newest first."""
    numbers = (tuple(map(int, re.findall(r"\d+", text))) for text in texts)
    return tuple(sorted(numbers, reverse=True))
