"""Suite by suite: how many conditions it has, how many of them the original has, how many were
measured here in the blocks without which nothing is decided, what became of the statements that it
tests, and how long its trials took."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rmwbench.errors import UserError
from rmwbench.published.about import OVER_RMWS
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.claims_file import Claims, levels_of
from rmwbench.published.claims.claims_ledger import ClaimsLedger, SourceLedger
from rmwbench.published.claims.judging.proxies import AS_LONG
from rmwbench.suite.cells import Cell, cells, comparisons
from rmwbench.suite.factors import Levels
from rmwbench.suite.file.load import load
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """A suite of a source. `conditions`: the comparisons of the whole suite, each with all arms;
    `original`: those of them that the source's original has; `measured`: those of which some arm
    has enough blocks on one machine; `measured_original`: those that are both; `as_long`: those
    of these whose trials are as long as the original's runs, None where nobody says how long those
    were; `by_rmw`: RMW -> those of which an arm over it has; `states`: statement -> how many, without zeros.

    `campaigns` of the suite were measured; `took_s`: what all trials of those took that say it,
    None where none does; `untimed`: how many do not say it."""

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
    """In the order of the ledger of these files, whose statements test one suite each;
    behind them the suites of a source that none of its statements tests. `measured`: source -> its
    campaigns."""
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
        whole = comparisons(cells(load(name)))
        original = _of_the_original(file, name, whole)
        ran = [
            campaign
            for campaign in measured
            if campaign.ran(name) and any(x.workload in whole for x in campaign.workloads)
        ]
        times_s = [campaign.wall_s for campaign in ran if campaign.wall_s is not None]
        enough = _with_enough_blocks(ran)
        decidable = {workload for workload, _ in enough} & whole.keys()
        yield SuiteRow(
            source=file.claims,
            suite=name,
            conditions=len(whole),
            original=len(original),
            measured=len(decidable),
            measured_original=len(decidable & original),
            as_long=_as_long(file.lasts_s.get(name), decidable & original, ran),
            by_rmw={
                rmw: len(
                    {workload for workload, middleware in enough if middleware == over}
                    & whole.keys()
                )
                for over, rmw in OVER_RMWS.items()
            },
            states=dict(states.get(name, Counter())),
            campaigns=len(ran),
            took_s=sum(times_s) if times_s else None,
            untimed=len(ran) - len(times_s),
        )


def _of_the_original(file: Claims, name: str, whole: Mapping[str, Sequence[Cell]]) -> set[str]:
    """The comparisons of a suite that the original has, as its file of claims says; none of a suite
    that is not named there. Raises UserError for a workload or a level that the suite has not."""
    if name not in file.original:
        return set()
    wanted = {axis: levels_of(level) for axis, level in file.original[name].items()}
    places: dict[str, Levels] = {
        key: {"workload": cell.workload.name, **cell.factors} for key, (cell, *_) in whole.items()
    }
    for axis, levels in wanted.items():
        known = list(dict.fromkeys(place[axis] for place in places.values() if axis in place))
        for level in levels:
            if level not in known:
                raise UserError(
                    f"the suite `{name}` has no {axis} `{level}`",
                    where=f"`original` of the claims `{file.claims}`",
                    expected=", ".join(map(str, known)) or "workload, or a factor of the suite",
                    actual=f"{axis}: {level}",
                )
    return {
        key
        for key, place in places.items()
        if all(place[axis] in levels for axis, levels in wanted.items())
    }


def _as_long(
    lasts_s: float | None, places: set[str], campaigns: Sequence[MeasuredCampaign]
) -> int | None:
    if lasts_s is None:
        return None
    long = {
        item.workload
        for campaign in campaigns
        for item in campaign.workloads
        if item.steady_s is not None and item.steady_s >= AS_LONG * lasts_s
    }
    return len(places & long)


def _with_enough_blocks(campaigns: Sequence[MeasuredCampaign]) -> set[tuple[str, str]]:
    """The workloads of which an arm has as many blocks as decide something, over the campaigns of
    one machine, with the middleware of that arm."""
    blocks: Counter[tuple[str | None, str, str, str]] = Counter()
    for campaign in campaigns:
        for workload in campaign.workloads:
            for arm in workload.arms:
                place = (campaign.host, workload.workload, arm.arm, arm.middleware)
                by_metric = (values.keys() - arm.left_out for values in arm.per_trial.values())
                blocks[place] += max(map(len, by_metric), default=0)
    return {(place[1], place[3]) for place, count in blocks.items() if count >= DECIDABLE_BLOCKS}
