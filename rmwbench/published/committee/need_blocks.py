"""How many blocks the needs ask of a section: of what may be missing few messages say little, so
that with too few blocks whoever loses nothing would be *open* in every need (docs/limits.md)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod

from rmwbench.analysis.decide.posterior import LEAST_BLOCKS, BlockValues, Posterior, posterior
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.published.committee.needs import NeedCase, RobotNeed
from rmwbench.suite.cells import Cell
from rmwbench.suite.workload.topology import NodeLife

Shares = Sequence[tuple[int, float]]
"""How many messages of a topic a trial has, and which share of them may be missing at most."""
OF_SHARES = 0.5
"""The part of a case's error that its limits of shares have; limits of times and costs have the
rest."""


def blocks_asked(needs: Sequence[RobotNeed], section: str, cells: Sequence[Cell], most: int) -> int:
    """The fewest blocks, at most `most`, in which a candidate that loses nothing is shown to meet
    all limits of shares that the needs' cases have in `cells`, which are those of contenders; 0
    where they have none."""
    blocks = [
        _fewest(shares, able, most)
        for need in needs
        for case in need.cases
        if case.section == section
        for shares, able in _asked(case, cells)
    ]
    return max(blocks, default=0)


def _fewest(shares: Shares, able: int, most: int) -> int:
    """`able`: so many candidates share the error."""
    if not shares:
        return 0
    enough = 1 - Rules().alpha * OF_SHARES / able

    def is_shown(blocks: int) -> bool:
        believed = (_belief(messages, blocks).within(share) for messages, share in shares)
        return prod(believed) >= enough

    return next(filter(is_shown, range(LEAST_BLOCKS, most)), most)


def _belief(messages: int, blocks: int) -> Posterior:
    """What blocks say in which nothing was missing."""
    lost, campaigns, wanted = (0.0,) * blocks, (0,) * blocks, (float(messages),) * blocks
    return posterior(BlockValues("fraction", lost, campaigns, of=wanted))


def _asked(case: NeedCase, cells: Sequence[Cell]) -> Iterator[tuple[Shares, int]]:
    """What may be missing of each comparison of the case, and how many candidates it has."""
    limits = case.read()
    of_case = [cell for cell in cells if limits.of.has(cell.workload.name, cell.factors)]
    able = Counter(cell.comparison for cell in of_case)
    own = {cell.comparison: cell for cell in of_case if case.asks_for(cell.arm.modes)}
    for comparison, cell in own.items():
        shares = [
            (messages, share)
            for (topic, *_), messages in _messages(cell).items()
            for metric, share in {**limits.acceptable, **limits.topics.get(topic, {})}.items()
            if metric in GLOSSARY and GLOSSARY[metric].kind == "fraction"
        ]
        yield shares, able[comparison]


def _messages(cell: Cell) -> Counter[tuple[str, str, NodeLife]]:
    """How many a trial has of each topic that is looked at, for those of its readers together that
    are on one host and there at the same time: the others are judged one by one."""
    focus = cell.workload.focus
    messages: Counter[tuple[str, str, NodeLife]] = Counter()
    for endpoint in cell.endpoints:
        if endpoint.kind in ("subscription", "client") and (not focus or endpoint.topic in focus):
            messages[endpoint.topic, endpoint.host, endpoint.life] += endpoint.steady_messages
    return messages
