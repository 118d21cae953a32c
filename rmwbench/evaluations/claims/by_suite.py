"""Suite by suite: how many conditions it has, those that were added to its original's included, how
many of them were measured here in the blocks without which nothing is decided, and what became of
the statements that it tests."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.evaluations.about import OVER_RMWS, is_suite
from rmwbench.evaluations.campaign import Campaign
from rmwbench.suite.cells import cells, comparisons
from rmwbench.suite.decidable import DECIDABLE_BLOCKS
from rmwbench.suite.file.load import load


@dataclass(frozen=True, kw_only=True)
class Row:
    """A suite of a source. `conditions`: the comparisons of the whole suite, each with all arms;
    `measured`: those of which some arm has enough blocks on one machine; `by_rmw`: RMW -> those of
    which an arm over it has; `states`: statement -> how many, without zeros."""

    source: str
    suite: str
    conditions: int
    measured: int
    by_rmw: Mapping[str, int]
    states: Mapping[str, int]

    @property
    def statements(self) -> int:
        return sum(self.states.values())


def by_suite(ledger: Mapping[str, Any], measured: Mapping[str, Sequence[Campaign]]) -> list[Row]:
    """In the order of the ledger document, whose statements test one suite each. `measured`:
    source -> its campaigns."""
    return [
        row
        for source in ledger["sources"]
        for row in _of_source(source, measured.get(source["source"], ()))
    ]


def _of_source(source: Mapping[str, Any], measured: Sequence[Campaign]) -> Iterator[Row]:
    states: dict[str, Counter[str]] = {}
    for claim in source["claims"]:
        tests = [test for test in (claim["test"], *claim["also"]) if test is not None]
        for suite in dict.fromkeys(test["suite"] for test in tests):
            states.setdefault(suite, Counter())[claim["state"]] += 1
    for name, counts in states.items():
        suite = load(name)
        whole = comparisons(cells(suite))
        enough = _with_enough_blocks(one for one in measured if is_suite(name, str(one.suite)))
        yield Row(
            source=source["source"],
            suite=name,
            conditions=len(whole),
            measured=len({workload for workload, _ in enough} & whole.keys()),
            by_rmw={
                rmw: len(
                    {workload for workload, middleware in enough if middleware == over}
                    & whole.keys()
                )
                for over, rmw in OVER_RMWS.items()
            },
            states=dict(counts),
        )


def _with_enough_blocks(campaigns: Iterator[Campaign]) -> set[tuple[str, str]]:
    """The workloads of which an arm has as many blocks as decide something, over the campaigns of
    one machine, with the middleware of that arm."""
    blocks: Counter[tuple[str | None, str, str, str]] = Counter()
    for campaign in campaigns:
        for workload in campaign.workloads:
            for arm in workload.arms:
                place = (campaign.host, workload.workload, arm.arm, arm.middleware)
                blocks[place] += max(map(len, arm.per_trial.values()), default=0)
    return {(place[1], place[3]) for place, count in blocks.items() if count >= DECIDABLE_BLOCKS}
