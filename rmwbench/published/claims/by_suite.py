"""Counts for each suite: how many conditions it has, how many of them the original has, how many
were measured here in enough blocks to decide something, what became of the statements that it
tests, and how long its trials took."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rmwbench.errors import UserError
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.claims_file import Claims, levels_of
from rmwbench.published.claims.claims_ledger import ClaimsLedger, SourceLedger
from rmwbench.published.claims.judging.campaign_answers import LEAST_LENGTH_RATIO
from rmwbench.published.sources import OVER_RMWS
from rmwbench.suite.cells import Cell, cells, comparisons
from rmwbench.suite.factors import Levels
from rmwbench.suite.file.load import load
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """A suite of a source. `conditions`: the comparisons of the whole suite, each with all arms;
    `original`: those that the source's original has; `measured`: those in which some arm has enough
    blocks on one machine; `measured_original`: those that are both; `as_long`: those of these whose
    trials are as long as the original's runs, None if that length is not known; `by_rmw`: RMW ->
    comparisons in which an arm over it has enough blocks; `states`: state -> how many statements
    are in it, without zeros.

    `campaigns`: how many campaigns of the suite were measured; `took_s`: the time of their trials,
    None if no campaign says it; `untimed`: how many campaigns do not say it.
    """

    source: str
    suite: str
    conditions: int
    original: int
    measured: int
    measured_original: int
    as_long: int | None
    by_rmw: Mapping[str, int]
    states: Mapping[str, int]
    campaigns: int
    took_s: float | None
    untimed: int

    @property
    def statements(self) -> int:
        return sum(self.states.values())


def by_suite(
    files: Sequence[Claims],
    ledger: ClaimsLedger,
    measured: Mapping[str, Sequence[MeasuredCampaign]],
) -> list[SuiteRow]:
    """Return the suites in the order of the ledger of these files, whose statements test one suite
    each; the suites of a source that none of its statements tests come after them. `measured`:
    source -> its campaigns."""
    by_name = {file.claims: file for file in files}
    return [
        row
        for source in ledger.sources
        for row in _of_source(by_name[source.source], source, measured.get(source.source, ()))
    ]


def _of_source(
    file: Claims, source: SourceLedger, measured: Sequence[MeasuredCampaign]
) -> Iterator[SuiteRow]:
    states: dict[str, Counter[str]] = {}
    for judged in source.claims:
        for suite in dict.fromkeys(test.suite for test in judged.claim.tests):
            states.setdefault(suite, Counter())[judged.state] += 1
    for name in (*states, *file.untested()):
        cells_of = comparisons(cells(load(name)))
        original = _original_comparisons(file, name, cells_of)
        campaigns = [
            campaign
            for campaign in measured
            if campaign.ran(name) and any(x.workload in cells_of for x in campaign.workloads)
        ]
        times_s = [campaign.wall_s for campaign in campaigns if campaign.wall_s is not None]
        decidable = {place for place in _with_enough_blocks(campaigns) if place[0] in cells_of}
        measured_here = {workload for workload, _ in decidable}
        yield SuiteRow(
            source=file.claims,
            suite=name,
            conditions=len(cells_of),
            original=len(original),
            measured=len(measured_here),
            measured_original=len(measured_here & original),
            as_long=_count_long_enough(file.lasts_s.get(name), measured_here & original, campaigns),
            by_rmw={
                rmw: len({workload for workload, middleware in decidable if middleware == over})
                for over, rmw in OVER_RMWS.items()
            },
            states=dict(states.get(name, Counter())),
            campaigns=len(campaigns),
            took_s=sum(times_s) if times_s else None,
            untimed=len(campaigns) - len(times_s),
        )


def _original_comparisons(
    file: Claims, name: str, cells_of: Mapping[str, Sequence[Cell]]
) -> set[str]:
    """Return the comparisons of a suite that the original has, as its file of claims says; empty
    for a suite that the file does not name. Raise UserError for a workload or a level that the
    suite does not have."""
    if name not in file.original:
        return set()
    levels_of_axis = {axis: levels_of(level) for axis, level in file.original[name].items()}
    places: dict[str, Levels] = {
        key: {"workload": cell.workload.name, **cell.factors}
        for key, (cell, *_) in cells_of.items()
    }
    for axis, levels in levels_of_axis.items():
        known_levels = list(
            dict.fromkeys(place[axis] for place in places.values() if axis in place)
        )
        for level in levels:
            if level not in known_levels:
                raise UserError(
                    f"the suite `{name}` has no {axis} `{level}`",
                    where=f"`original` of the claims `{file.claims}`",
                    expected=", ".join(map(str, known_levels))
                    or "workload, or a factor of the suite",
                    actual=f"{axis}: {level}",
                )
    return {
        key
        for key, place in places.items()
        if all(place[axis] in levels for axis, levels in levels_of_axis.items())
    }


def _count_long_enough(
    lasts_s: float | None, places: set[str], campaigns: Sequence[MeasuredCampaign]
) -> int | None:
    if lasts_s is None:
        return None
    long_enough = {
        item.workload
        for campaign in campaigns
        for item in campaign.workloads
        if item.steady_s is not None and item.steady_s >= LEAST_LENGTH_RATIO * lasts_s
    }
    return len(places & long_enough)


def _with_enough_blocks(campaigns: Sequence[MeasuredCampaign]) -> set[tuple[str, str]]:
    """Return (workload, middleware) of every arm that has enough blocks to decide something, over
    the campaigns of one machine."""
    blocks: Counter[tuple[str | None, str, str, str]] = Counter()
    for campaign in campaigns:
        for workload in campaign.workloads:
            for arm in workload.arms:
                place = (campaign.host, workload.workload, arm.arm, arm.middleware)
                by_metric = (values.keys() - arm.spoilt_blocks for values in arm.per_trial.values())
                blocks[place] += max(map(len, by_metric), default=0)
    return {(place[1], place[3]) for place, count in blocks.items() if count >= DECIDABLE_BLOCKS}
