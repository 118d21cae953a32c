"""A committee's evaluation as sections, and how a budget of time is dealt out over them, before anything runs.

A section is a suite's short version (docs/evaluations.md). Dealing out is pure: each section first gets the blocks
without which it decides nothing, the most important sections first; what time is left goes block by block to the
section that could tell apart the least, so that no section ends finer than another has a right to. What does not fit
is named with what it would take: a section that was not measured is a row of the report, not a gap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rmwbench.analysis.stats.resolution import comparisons as tests_at_once
from rmwbench.analysis.stats.resolution import resolvable_ratio
from rmwbench.campaign.plan.machine_limits import Machine
from rmwbench.campaign.plan.request import Planner, Request
from rmwbench.errors import UserError
from rmwbench.lab.host.kind import NAMESPACES
from rmwbench.suite.file.candidates import NO_CHOICE, Choice
from rmwbench.suite.file.load import find, plain, read

SCATTER = 0.1
"""The standard deviation of a block log-ratio on a calm machine: what the resolution is quoted for."""
MOST_BLOCKS = 40
"""Of a section: beyond it nobody's report is worth the time."""


@dataclass(frozen=True)
class Section:
    """`name` in files and directories, `title` in the document, `suite` whose short version it runs."""

    name: str
    title: str
    suite: str


TSC = (
    Section("pubsub", "Single machine, by message type", "galactic-2020/pubsub"),
    Section("mininet", "Adverse networks", "galactic-2020/mininet"),
    Section("robot", "A whole robot on one board", "robot"),
    Section("services", "Services", "services"),
    Section("cameras", "Cameras and shared memory", "gscam-2025"),
    Section("wifi", "WiFi", "galactic-2020/wifi"),
    Section("discovery", "Discovery", "fastdds-2021/discovery"),
    Section("scaling", "Scaling", "fastdds-2021/scaling"),
    Section("pipelines", "Pipelines", "pipeline-2021"),
    Section("spin", "An empty node", "galactic-2020/spin"),
    Section("interop", "Interoperability", "galactic-2020/interop"),
    Section("layers", "Layers of ROS 2", "pipeline-2021/layers"),
    Section("containers", "Containers on one robot", "features/containers"),
    Section("priority", "Control beside bulk on a thin link", "degraded/priority"),
    Section("security", "Security", "features/security"),
    Section("bring-up", "Bringing up lifecycle nodes", "features/bring-up"),
    Section("recorder", "A recorder beside five cameras", "features/recorder"),
    Section("ros-variables", "ROS variables, obeyed or not", "features/ros-variables"),
    Section("one-way", "Adverse networks, loss as labelled", "galactic-2020/mininet-one-way"),
)
"""In the order of importance: the first are the last to be left out."""
WITHOUT_RUNS = {
    "admission": "rmwbench community admission",
    "GitHub": "rmwbench community github OWNER/NAME…",
    "REP-2004": "rmwbench community rep2004 FILE…",
    "survey": "rmwbench community survey FILE.csv",
    "questionnaire": "rmwbench questionnaire --campaign DIR",
}
"""What a report has besides, in which nothing runs, and the verb that makes it."""
EVALUATIONS = {"tsc": TSC}


@dataclass(frozen=True)
class Need:
    """A robot whose limits are shipped (limits/NAME.yaml), and the section whose campaign answers for it."""

    limits: str
    section: str


NEEDS = (Need("small-board", "robot"), Need("four-cameras", "cameras"), Need("over-wifi", "wifi"))


@dataclass(frozen=True)
class Cost:
    """What a section takes. `least`: blocks without which it decides nothing; `tests`: at once, of one arm.
    `short`: the suite has a short version, and that is meant."""

    section: Section
    block_s: float
    least: int
    trials: int
    arms: tuple[str, ...]
    tests: int
    short: bool = True

    def resolves(self, blocks: int) -> float:
        """The smallest true ratio that so many blocks find in 95 of 100 campaigns, at SCATTER."""
        return _resolves(blocks, self.tests)


@cache
def _resolves(blocks: int, tests: int) -> float:
    return resolvable_ratio(blocks, tests, SCATTER)


@dataclass(frozen=True)
class Share:
    """`blocks` of a section; 0: it does not fit."""

    cost: Cost
    blocks: int

    @property
    def seconds(self) -> float:
        return self.blocks * self.cost.block_s

    @property
    def resolves(self) -> float | None:
        return self.cost.resolves(self.blocks) if self.blocks else None


def share(costs: Sequence[Cost], budget_s: float) -> list[Share]:
    """The budget dealt out, in the order of `costs`, which is that of importance. Never more than `budget_s`."""
    blocks: dict[str, int] = {}
    left = budget_s
    for cost in costs:
        needed = cost.least * cost.block_s
        fits = needed <= left
        blocks[cost.section.name] = cost.least if fits else 0
        left -= needed if fits else 0.0
    while True:
        able = [cost for cost in costs if 0 < blocks[cost.section.name] < MOST_BLOCKS and cost.block_s <= left]
        if not able:
            return [Share(cost, blocks[cost.section.name]) for cost in costs]
        coarsest = max(able, key=lambda cost: cost.resolves(blocks[cost.section.name]))
        blocks[coarsest.section.name] += 1
        left -= coarsest.block_s


def costs(
    sections: Sequence[Section], seed: int = 0, choice: Choice = NO_CHOICE
) -> tuple[list[Cost], Mapping[str, str]]:
    """What each section takes with what is ready here, and section -> why it cannot run at all. `choice`: what the
    command line says of the suites' arms."""
    found: list[Cost] = []
    absent: dict[str, str] = {}
    machine = Machine.here()
    for section in sections:
        try:
            found.append(_cost(section, machine, seed, choice))
        except UserError as error:
            absent[section.name] = error.what
    return found, absent


def _cost(section: Section, machine: Machine, seed: int, choice: Choice) -> Cost:
    path = find(section.suite)
    text = read(path)
    short = "short" in plain(text, where=section.suite)
    request = Request(str(path.absolute()), seed, None, (), (), {}, short, None)
    planner = Planner(text, request.suite_file, choice)
    request, _ = planner.without_absent(request)
    _, cells = planner.chosen(request)
    lacking = planner.described(request, NAMESPACES)
    made = planner.plan(request, lacking, machine)
    contenders = [
        sum(not cell.arm.is_floor and cell.number not in lacking for cell in comparison.cells)
        for comparison in made.comparisons
    ]
    return Cost(
        section,
        made.block_s,
        max(made.suite.blocks.minimum, 5),
        sum(trial.block == 0 for trial in made.trials),
        tuple(dict.fromkeys(cell.arm.name for cell in cells if not cell.arm.is_floor)),
        tests_at_once(max(contenders, default=1), sum(contenders)),
        short,
    )
