"""A committee's evaluation as sections, and how a budget of time is divided among them before
anything runs.

A section runs a suite's short version (docs/evaluations.md). Breadth comes first: each section gets
one condition in the blocks without which it decides nothing, the most important sections first;
then each gets a few conditions, then blocks until it resolves a useful ratio and its needs can be
met (needs.py), and only then the rest. A budget keeps the conditions that span the range
(campaign/plan/budget_cut.py). A section that does not fit is a row of the report with the time that it
would take.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from rmwbench.analysis.stats.resolution import comparisons as tests_at_once
from rmwbench.analysis.stats.resolution import resolvable_ratio
from rmwbench.campaign.course import spread_s
from rmwbench.campaign.plan.machine_limits import MachineLimits
from rmwbench.campaign.plan.request import Planner, Request
from rmwbench.errors import UserError
from rmwbench.lab.host.hosts import NAMESPACES
from rmwbench.lab.middleware import names_here
from rmwbench.published.committee.needs import blocks_needed, shipped_needs
from rmwbench.suite.cells import Cell
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice, layer_of
from rmwbench.suite.file.load import plain
from rmwbench.suite.file.short_version import KEY
from rmwbench.suite.file.suite_files import find, read
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS

SCATTER = 0.1
"""The standard deviation of a block log-ratio on a calm machine, for which resolutions are
given."""
MOST_BLOCKS = 40
"""The most blocks of a section: more are not worth their time in any report."""
FEW_CONDITIONS = 3
"""The ends of a range and its middle: each section has these before any gets more."""
WORTHWHILE_RATIO = 1.5
"""The ratio that a section should resolve, at SCATTER, before its time goes to more conditions."""


@dataclass(frozen=True)
class ReportSection:
    """`name` is for files and directories, `title` for the document; `question`: what the section
    answers; `suite`: the suite whose short version it runs. `whole`: each of its conditions answers
    a question of its own, so none is left out. `workloads` and `at` (`FACTOR=LEVEL`): the part of
    the suite that it runs, empty for the short version's. `added`: candidates beside the suite's
    own. `libraries`: the RMWs' own libraries stand beside them, although no node can take them, to
    show what an RMW adds."""

    name: str
    title: str
    question: str
    suite: str
    whole: bool = False
    workloads: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    libraries: bool = False


TUNED = ("ros2_tuned",)
"""Candidates beside those as installed, for suites whose traffic stays on one machine."""


def _levels(factor: str, *levels: str | float) -> tuple[str, ...]:
    return tuple(f"{factor}={level}" for level in levels)


TSC = (
    ReportSection(
        "pubsub",
        "Message sizes on one machine",
        "How long does a message of 1 KB to 8 MB take within one process and between two?",
        "galactic-2020/pubsub",
        workloads=("robot",),
        at=_levels("message", "Array1k", "PointCloud512k", "Array2m", "Array8m"),
        added=TUNED,
        libraries=True,
    ),
    ReportSection(
        "mininet",
        "Thin and lossy links",
        "What arrives, and when, over 54 and 300 Mbit/s without loss and with 10 and 20 %?",
        "galactic-2020/mininet",
        at=(
            *_levels("message", "Array1k"),
            *_levels("network.rate_mbps", 54, 300),
            *_levels("network.loss", 0.0, 0.1, 0.2),
        ),
    ),
    ReportSection(
        "robots",
        "Three robots",
        "Which carries all the traffic of a small board, of four cameras, of a robot over WiFi?",
        "three-robots",
        whole=True,
        added=TUNED,
    ),
    ReportSection(
        "robot",
        "A whole robot on one board",
        "What becomes of seven streams at their usual rates, all at once?",
        "robot",
        added=TUNED,
    ),
    ReportSection(
        "services",
        "Services",
        "How long does a call take, of one client, of ten, and with a large reply?",
        "services",
        added=TUNED,
        libraries=True,
    ),
    ReportSection(
        "cameras",
        "Cameras",
        "Up to which picture and rate does a camera's every frame arrive, up to 4K?",
        "gscam-2025",
        added=TUNED,
    ),
    ReportSection(
        "wifi",
        "WiFi below, at and above its limit",
        "What arrives of 80, 100 and 120 images a second over good and poorer air?",
        "galactic-2020/wifi",
        at=(*_levels("network", "home", "home_poorer"), *_levels("rate_hz", 80, 100, 120)),
    ),
    ReportSection(
        "discovery",
        "Discovery",
        "How long until 2, 8 and 16 hosts know each other, and 4 over a lossy air?",
        "fastdds-2021/discovery",
        workloads=("nodes_2", "nodes_8", "nodes_16", "air"),
    ),
    ReportSection(
        "fleet",
        "Robots that share the air",
        "What is left for data where two and four robots share one medium?",
        "degraded/fleet",
    ),
    ReportSection(
        "scaling",
        "Many topics",
        "What do 1 and 10 topics between two processes cost, small and large?",
        "fastdds-2021/scaling",
    ),
    ReportSection(
        "pipelines",
        "Chains of nodes",
        "How long does a message take through chains of 3 and of 15 nodes?",
        "pipeline-2021",
        at=(*_levels("relays", 1, 13), *_levels("reliability", "reliable")),
    ),
    ReportSection(
        "spin", "An empty node", "What does a node cost that does nothing?", "galactic-2020/spin"
    ),
    ReportSection(
        "interop",
        "Interoperability",
        "Which pairs of two middlewares understand each other?",
        "galactic-2020/interop",
        libraries=True,
    ),
    ReportSection(
        "layers",
        "Layers of ROS 2",
        "Where in rclcpp, rcl, rmw and the library does a message's time go?",
        "pipeline-2021/layers",
        libraries=True,
    ),
    ReportSection(
        "maps",
        "Who comes late",
        "How soon does a late reader have what was latched?",
        "late-joiner",
    ),
    ReportSection(
        "containers",
        "Containers on one robot",
        "Does a camera still arrive where driver and reader share no memory?",
        "features/containers",
    ),
    ReportSection(
        "priority",
        "Control beside bulk on a thin link",
        "What becomes of commands beside a camera that does not fit?",
        "degraded/priority",
    ),
    ReportSection(
        "security",
        "Security",
        "What do encryption and the handshake cost, and does every RMW offer them?",
        "features/security",
    ),
    ReportSection(
        "bring-up",
        "Bringing up lifecycle nodes",
        "How long until 5 and 20 lifecycle nodes are active, and which never are?",
        "features/bring-up",
    ),
    ReportSection(
        "recorder",
        "A recorder beside five cameras",
        "What does a recorder take from who drives, and does it record every frame?",
        "features/recorder",
    ),
    ReportSection(
        "ros-variables",
        "ROS variables, obeyed or not",
        "Which of the variables that ROS documents does each RMW obey?",
        "features/ros-variables",
        whole=True,
    ),
    ReportSection(
        "one-way",
        "Lossy links, loss as labelled",
        "The same as thin and lossy links, where a label of 10 % is 10 % one way?",
        "galactic-2020/mininet-one-way",
    ),
)
"""In the order of importance: the first are the last to be left out."""
WITHOUT_RUNS = {
    "admission": "rmwbench published community admission",
    "GitHub": "rmwbench published community github OWNER/NAME…",
    "REP-2004": "rmwbench published community rep2004 FILE…",
    "survey": "rmwbench published community survey FILE.csv",
    "questionnaire": "rmwbench published questionnaire --campaign DIR",
}
"""The parts of a report for which nothing runs, with the verb that makes each."""
EVALUATIONS = {"tsc": TSC}


@dataclass(frozen=True)
class SectionCondition:
    """A comparison of a section's suite. `block_s`: the time of a block; `contenders`: how many
    arms it has."""

    comparison: str
    block_s: float
    contenders: int


@dataclass(frozen=True)
class SectionCost:
    """The time that a section takes. `conditions` are in the order in which a budget keeps them;
    `least`: the blocks without which it decides nothing; `short`: it runs the suite's short
    version; `machines`: how many run it at a time, each whole blocks of a condition; `added`:
    candidates beside the suite's own; `without`: arms of the suite that it leaves out;
    `needed_blocks`: the blocks without which a candidate that loses nothing is not shown to meet a
    need."""

    section: ReportSection
    conditions: tuple[SectionCondition, ...]
    least: int
    arms: tuple[str, ...]
    short: bool = True
    machines: int = 1
    added: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    needed_blocks: int = 0

    @property
    def least_share(self) -> "BudgetShare":
        """The smallest part of the section that decides something."""
        return BudgetShare(self, len(self.conditions) if self.section.whole else 1, self.least)

    @property
    def least_s(self) -> float:
        return self.least_share.seconds


@dataclass(frozen=True)
class BudgetShare:
    """The first `conditions` of a section in `blocks` blocks; both are 0 if the section does not
    fit."""

    cost: SectionCost
    conditions: int
    blocks: int

    @property
    def chosen(self) -> tuple[SectionCondition, ...]:
        return self.cost.conditions[: self.conditions]

    @property
    def is_whole(self) -> bool:
        return self.conditions == len(self.cost.conditions)

    @property
    def machine_s(self) -> float:
        """The time of one machine that does all of it."""
        return self.blocks * math.fsum(condition.block_s for condition in self.chosen)

    @property
    def seconds(self) -> float:
        """The time from beginning to end. All machines wait for the look after the blocks without
        which the section decides nothing."""
        if self.cost.machines == 1:
            return self.machine_s
        parts_s = [condition.block_s for condition in self.chosen]
        least = min(self.blocks, self.cost.least)
        return sum(
            spread_s(parts_s * blocks, self.cost.machines)
            for blocks in (least, self.blocks - least)
        )

    @property
    def trials(self) -> int:
        """The trials of the contenders."""
        return self.blocks * sum(condition.contenders for condition in self.chosen)

    @property
    def resolvable_ratio(self) -> float | None:
        """The smallest true ratio that is found in 95 of 100 campaigns, at SCATTER."""
        if not self.blocks:
            return None
        contenders = [condition.contenders for condition in self.chosen]
        return _ratio_at_scatter(self.blocks, tests_at_once(max(contenders), sum(contenders)))

    def next_step(self) -> tuple["Urgency", "BudgetShare"] | None:
        """Return the next larger share of the section, and its urgency; None if the section has
        all, or did not fit."""
        if not self.blocks:
            return None
        wider = replace(self, conditions=self.conditions + 1)
        deeper = replace(self, blocks=self.blocks + 1)
        ratio = self.resolvable_ratio or math.inf
        if not self.is_whole and self.conditions < FEW_CONDITIONS:
            return (0, self.conditions), wider
        if ratio > WORTHWHILE_RATIO and self.blocks < MOST_BLOCKS:
            return (1, -ratio), deeper
        if self.blocks < self.cost.needed_blocks:
            return (2, self.blocks / self.cost.needed_blocks), deeper
        if not self.is_whole:
            return (3, self.conditions / len(self.cost.conditions)), wider
        return ((4, -ratio), deeper) if self.blocks < MOST_BLOCKS else None


Urgency = tuple[int, float]
"""The smallest is served first."""


@cache
def _ratio_at_scatter(blocks: int, tests: int) -> float:
    return resolvable_ratio(blocks, tests, SCATTER)


def budget_shares(costs: Sequence[SectionCost], budget_s: float) -> list[BudgetShare]:
    """Divide the budget among `costs`, which are in the order of importance. The shares never take
    more than `budget_s`."""
    shares: list[BudgetShare] = []
    left_s = budget_s
    for cost in costs:
        shares.append(cost.least_share if cost.least_s <= left_s else BudgetShare(cost, 0, 0))
        left_s -= shares[-1].seconds
    while True:
        steps = [
            (step[0], step[1].seconds - share.seconds, place, step[1])
            for place, share in enumerate(shares)
            if (step := share.next_step()) and step[1].seconds - share.seconds <= left_s
        ]
        if not steps:
            return shares
        # Of steps that are equally urgent, the cheapest is taken.
        _, cost_s, place, larger = min(steps, key=lambda step: step[:3])
        left_s -= cost_s
        shares[place] = larger


def costs(
    sections: Sequence[ReportSection], seed: int = 0, choice: Choice = NO_CHOICE, machines: int = 1
) -> tuple[list[SectionCost], Mapping[str, str]]:
    """Return what each section takes with the middlewares that are ready here, and section -> why
    it cannot run at all. `choice`: the command line's choice of arms; `machines`: how many the
    cluster has, all like this machine."""
    section_costs: list[SectionCost] = []
    absent: dict[str, str] = {}
    machine = MachineLimits.here()
    for section in sections:
        try:
            section_costs.append(_cost(section, machine, seed, choice, machines))
        except UserError as error:
            absent[section.name] = error.what
    return section_costs, absent


def _request(section: ReportSection, seed: int, choice: Choice) -> tuple[Planner, Request]:
    """Return the planner and the request of a section."""
    path = find(section.suite)
    text = read(path)
    request = Request(
        str(path.absolute()),
        seed,
        workloads=section.workloads,
        shortened=KEY in plain(text, where=section.suite),
        at=section.at,
    )
    if "rclcpp" not in names_here():  # no ROS 2 is sourced, so the libraries are all there is
        return Planner(text, request.suite_file, choice), request
    planner = Planner(text, request.suite_file, choice.adding(section.added))
    if section.libraries:
        return planner, request
    _, cells = planner.select(request)
    layers = {cell.arm.name: layer_of(cell.arm.middleware) for cell in cells}
    libraries = [arm for arm, layer in layers.items() if layer == "native"]
    if not any(layer.startswith("rcl") for layer in layers.values()):
        return planner, request
    return Planner(text, request.suite_file, planner.choice.leaving(libraries)), request


def cells_of(section: ReportSection) -> tuple[Cell, ...]:
    planner, request = _request(section, 0, NO_CHOICE)
    return planner.select(request)[1]


def _cost(
    section: ReportSection, machine: MachineLimits, seed: int, choice: Choice, machines: int
) -> SectionCost:
    planner, request = _request(section, seed, choice)
    short = request.shortened
    request, _ = planner.without_absent(request)
    suite, cells = planner.select(request)
    unsupported = planner.unsupported_reasons(request, NAMESPACES)
    runnable = [cell for cell in cells if not cell.arm.is_floor and cell.number not in unsupported]
    contenders = Counter(cell.comparison for cell in runnable)
    conditions = tuple(
        SectionCondition(name, block_s, contenders[name])
        for name, block_s in planner.by_importance(request, machine).items()
        if contenders[name]
    )
    if not conditions:
        raise UserError("none of its arms can do what it asks for")
    arms = tuple(dict.fromkeys(cell.arm.name for cell in cells if not cell.arm.is_floor))
    return SectionCost(
        section=section,
        conditions=conditions,
        least=max(suite.blocks.minimum, DECIDABLE_BLOCKS),
        arms=arms,
        short=short,
        machines=machines,
        added=tuple(name for name in planner.choice.added if name not in choice.added),
        without=tuple(name for name in planner.choice.without if name not in choice.without),
        needed_blocks=blocks_needed(shipped_needs(), section.name, runnable, MOST_BLOCKS),
    )
