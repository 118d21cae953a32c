"""Factors × workloads × arms → cells. A cell has all data to run and to store one combination."""

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import ValidationError

from rmwbench import beside
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.suite.arm import Arm, Side
from rmwbench.suite.factors import (
    NETWORK_FACTORS,
    Level,
    Levels,
    combinations,
    with_arm_level,
    with_network_level,
    with_workload_level,
)
from rmwbench.suite.fault import At, Fault, at_key, fault_of, not_one_of
from rmwbench.suite.network.backend import check_one_backend
from rmwbench.suite.network.interfaces import RealNetwork
from rmwbench.suite.network.network import Links, Network, links_between
from rmwbench.suite.sample_sizes import messages_needed
from rmwbench.suite.suite import Suite
from rmwbench.suite.timeline import NOTHING_MORE, Sampling, Timeline
from rmwbench.suite.workload.arrival import Periodic
from rmwbench.suite.workload.endpoints import Endpoint, endpoints
from rmwbench.suite.workload.schedule import Schedule, Sender, check_threads, sharing
from rmwbench.suite.workload.topology import SUCCESSOR, Node
from rmwbench.suite.workload.workload import Workload
from rmwbench.words.level_names import level_text, named_level

SLOT_BYTES = 64

SPAN = 3
SPANS_OF_A_MESSAGE = 6
"""The most, on either side (docs/formats/records.md, layers)."""
LAYERS_OPTION = "layers"
"""The arm's option that traces the layers of a message's path; workers without a trace refuse
it."""

T = TypeVar("T", Workload, Arm, Network)


@dataclass(frozen=True)
class Process:
    """One worker: its name, its host and its nodes. `opens_s`: the time at which its session opens,
    in seconds from the start of the steady state, if all of its nodes join late; None: the start of
    the trial. `follows` is the killed process that it replaces; it then starts at `opens_s`."""

    name: str
    host: str
    nodes: tuple[str, ...]
    opens_s: float | None = None
    follows: str | None = None


@dataclass(frozen=True)
class Change:
    """A node that joins or leaves with its endpoints, `at_s` seconds after the start of the steady
    state; a `killed` one leaves with its whole process."""

    at_s: float
    joins: bool
    process: str
    node: str
    endpoints: tuple[int, ...]
    killed: bool = False


@dataclass(frozen=True)
class Cell:
    """One combination of levels for one arm. `number` counts from 1 in the order of the file.
    Several hosts have the network `links`, or, if they are machines, the `real` network
    (rmwbench/suite/placement.py)."""

    number: int
    suite: str
    workload: Workload
    arm: Arm
    factors: Levels
    timeline: Timeline
    endpoints: tuple[Endpoint, ...]
    sampling: Sampling = NOTHING_MORE
    links: Links | None = None
    real: RealNetwork | None = None

    @cached_property
    def comparison(self) -> str:
        """The workload with its levels, whatever the arm: cells with the same one are compared."""
        levels = ", ".join(named_level(name, level) for name, level in self.factors.items())
        return f"{self.workload.name} [{levels}]" if levels else self.workload.name

    @cached_property
    def processes(self) -> tuple[Process, ...]:
        """The workers of a trial, in the order of the nodes, then those that follow killed ones."""
        nodes_by_process: dict[str, list[Node]] = {}
        for node in self.workload.all_nodes:
            nodes_by_process.setdefault(node.process_name, []).append(node)
        processes = []
        for name, nodes in nodes_by_process.items():
            joins = [node.joins_s for node in nodes if node.joins_s is not None]
            opens_s = min(joins) if len(joins) == len(nodes) else None
            processes.append(
                Process(name, nodes[0].host, tuple(node.name for node in nodes), opens_s)
            )
        for name, nodes in nodes_by_process.items():
            restarts = {
                node.name: node.restarts_s
                for node in nodes
                if node.killed_s is not None and node.restarts_s
            }
            if restarts:
                opens_s, members = min(restarts.values()), tuple(restarts)
                processes.append(Process(name + SUCCESSOR, nodes[0].host, members, opens_s, name))
        return tuple(processes)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts in the order of their addresses."""
        return self.workload.host_names

    @property
    def all_hosts(self) -> tuple[str, ...]:
        """The hosts, then those that only cross traffic uses."""
        return self.hosts if self.links is None else self.links.hosts

    @property
    def port_hosts(self) -> tuple[str, ...]:
        """The host of each port of the network, in the order of the ports' numbers."""
        return self.hosts if self.links is None else tuple(port.host for port in self.links.ports)

    @property
    def port_interfaces(self) -> tuple[str, ...]:
        """The interface of its host at each port of the network."""
        return () if self.links is None else tuple(port.device for port in self.links.ports)

    @property
    def devices_beside(self) -> dict[str, tuple[str, ...]]:
        """Host -> its devices in the networks beside."""
        if self.links is None:
            return {}
        return {host: self.links.devices_beside(host) for host in self.links.hosts}

    @property
    def daemons_host(self) -> str:
        return self.workload.daemons_host or self.hosts[0]

    @cached_property
    def sides(self) -> dict[str, Side]:
        """Process -> its middleware and configuration."""
        return {
            process.name: self.arm.side(process.follows or process.name)
            for process in self.processes
        }

    @property
    def middlewares(self) -> tuple[str, ...]:
        """The middlewares, each once, in the order of the processes."""
        return tuple(dict.fromkeys(side.middleware for side in self.sides.values()))

    @cached_property
    def pairs(self) -> dict[int, tuple[int, ...]]:
        """Reader that exists from the start -> its writers: the second half of the barrier waits
        for the first message of each pair."""
        return {e.endpoint: e.present for e in self.endpoints if e.reads and e.life.begin_s is None}

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The nodes that join and leave within the steady state, in the order of time; at one
        instant those that leave come first."""
        lives = [(e.life, e.process, e.node, [e.endpoint]) for e in self.endpoints]
        lives += [
            (life, node.process_of(life), node.name, [])
            for node in self.workload.all_nodes
            if node.is_empty
            for life in node.lives
        ]
        endpoints_by_change: dict[tuple[float, int, str, str, bool], list[int]] = {}
        for life, process, name, numbers in lives:
            for at_s, joins in ((life.begin_s, 1), (life.end_s, 0)):
                if at_s is not None:
                    key = at_s, joins, process, name, life.killed and not joins
                    endpoints_by_change.setdefault(key, []).extend(numbers)
        return tuple(
            Change(at_s, bool(joins), process, node, tuple(numbers), killed)
            for (at_s, joins, process, node, killed), numbers in sorted(
                endpoints_by_change.items(), key=lambda item: item[0][:2]
            )
        )

    @property
    def conditions(self) -> dict[str, str]:
        """The background load and the idle states (the arm's, else the workload's), and unusual
        containers and scheduling of processes."""
        conditions = {
            "background": self.arm.background or self.workload.background,
            "host_idle": self.arm.host_idle or self.workload.host_idle,
        }
        unusual = {"containers": self.workload.containers, "real_time": self.workload.real_time}
        return conditions | {name: level for name, level in unusual.items() if level != "none"}

    @cached_property
    def sharing(self) -> frozenset[int]:
        """The endpoints that share a thread with others under the schedule `shared`."""
        return sharing(self.senders)

    @property
    def senders(self) -> tuple[Sender, ...]:
        return tuple(s for e in self.endpoints if (s := e.sender) is not None)

    @property
    def schedule(self) -> Schedule | None:
        """The schedule, or None where no thread could be shared."""
        return self.workload.schedule if self.sharing else None

    @property
    def background_hosts(self) -> tuple[str, ...]:
        """The hosts with the background load, by default all."""
        return self.workload.background_hosts or self.hosts

    @cached_property
    def _judged_readers(self) -> list[Endpoint]:
        """The readers in focus. Those that join late or leave are among them only where there are no
        others: they are measured apart, and with fewer messages."""
        focus = self.workload.focus
        readers = [
            e
            for e in self.endpoints
            if e.reads
            and (not focus or e.topic in focus or (e.kind == "subscription" and e.node in focus))
        ]
        return [e for e in readers if e.life.whole] or readers

    @property
    def steady_messages(self) -> int:
        """The fewest messages that a reader should see in the steady state of one trial, on which
        its percentiles rest. Readers of a saturation count only where there are no others."""
        readers = [e for e in self._judged_readers if not e.saturating] or self._judged_readers
        return min((e.steady_messages for e in readers), default=0)

    @property
    def saturating(self) -> bool:
        """Whether the middleware determines the count of messages of every reader, so that
        `steady_messages` is an upper bound."""
        readers = self._judged_readers
        return bool(readers) and all(e.saturating for e in readers)

    @property
    def may_be_silent(self) -> bool:
        """Whether readers may rightly receive nothing."""
        return any(beside.from_features("cell", "may_silence", self))

    def sections(self, process: str) -> list[tuple[int, int, int]]:
        """The sections of the process's record file as (kind, endpoint, capacity in slots): kind 1
        SENT for writers, 2 RECEIVED for readers, both for clients and services, and 3 SPAN where
        the layers are traced. Raises KeyError for an unknown process."""
        self._check_process(process)
        return [
            (kind, endpoint.endpoint, slots)
            for endpoint in self.endpoints
            if endpoint.process == process
            for kind, slots in self._sections_of(endpoint)
        ]

    def _sections_of(self, endpoint: Endpoint) -> tuple[tuple[int, int], ...]:
        traced = self.sides[endpoint.process].options.get(LAYERS_OPTION) is True
        spans = ((SPAN, SPANS_OF_A_MESSAGE * endpoint.capacity),) if traced else ()
        return endpoint.sections + spans

    @property
    def record_bytes(self) -> int:
        """The size of all record files of a trial."""
        sections = (
            section for endpoint in self.endpoints for section in self._sections_of(endpoint)
        )
        return SLOT_BYTES * sum(slots for _, slots in sections)

    def create_command(
        self,
        process: str,
        schedule_seed: int = 0,
        only: Collection[int] | None = None,
        joining: str | None = None,
    ) -> list[dict[str, Any]]:
        """The `nodes` of the protocol's `create` for one process: those that exist from the start,
        or those with the endpoints in `only` and the node that is `joining`, which may have none.
        `schedule_seed` is the trial's, shared by the arms of a block."""
        self._check_process(process)
        nodes = next(p.nodes for p in self.processes if p.name == process)
        wires: dict[str, list[dict[str, Any]]] = {node: [] for node in nodes}
        for e in self.endpoints:
            is_created = e.life.begin_s is None if only is None else e.endpoint in only
            if is_created and e.node in wires:
                wires[e.node].append(e.wire(self.arm, schedule_seed))
        # A node whose endpoints all come later is created with them; an empty one at the start of
        # the trial, or when it joins.
        empty_nodes = {
            node.name for node in self.workload.all_nodes if node.is_empty and node.joins_s is None
        }
        created_empty = empty_nodes if only is None else {joining}
        return [
            {"name": node, "endpoints": node_wires}
            for node, node_wires in wires.items()
            if node_wires or node in created_empty
        ]

    def definition(self) -> dict[str, Any]:
        """The cell as the bundle stores it, in JSON."""
        return {
            "cell": self.number,
            "suite": self.suite,
            "comparison": self.comparison,
            "workload": self.workload.definition(),
            "factors": dict(self.factors),
            "arm": self.arm.definition(),
            "timeline": self.timeline.model_dump(),
            "conditions": self.conditions,
            "processes": [
                {"name": p.name, "host": p.host, "nodes": list(p.nodes)}
                | ({"follows": p.follows} if p.follows else {})
                for p in self.processes
            ],
            "endpoints": [
                {
                    "node": e.node,
                    "process": e.process,
                    "host": e.host,
                    "peers": list(e.peers),
                    "capacity": e.capacity,
                }
                | ({} if e.life.whole else {"joins_s": e.life.begin_s, "leaves_s": e.life.end_s})
                | ({"killed": True} if e.life.killed else {})
                | e.wire(self.arm, 0)
                for e in self.endpoints
            ],
            "steady_messages": self.steady_messages,
            "saturating": self.saturating,
        } | self._more()

    def _more(self) -> dict[str, Any]:
        """Keys that most cells do not have: definitions of older campaigns stay the same."""
        definition: dict[str, Any] = {}
        if self.schedule == "own":  # in older campaigns all were shared
            definition["schedule"] = self.schedule
        if sampling := self.sampling.definition():
            definition["sampling"] = sampling
        for stored in beside.from_features("cell", "definition", self):
            definition |= stored
        if self.workload.background_hosts:
            definition["background_hosts"] = list(self.workload.background_hosts)
        network = self.links or self.real
        if network is not None:
            definition |= {"network": network.definition(), "daemons_host": self.daemons_host}
        return definition

    def _check_process(self, process: str) -> None:
        if process not in {p.name for p in self.processes}:
            raise KeyError(f"cell {self.number} has no process {process!r}")


MOST_CELLS = 40_000
"""Two hundred times as many as a campaign of a day has; the plan of more takes minutes."""


_last: tuple[Suite, tuple[Cell, ...]] | None = None
"""The last suite and its cells: reading a suite makes its cells to find contradictions, and the
reader then asks for the same cells."""


def cells(suite: Suite) -> tuple[Cell, ...]:
    """Every cell of the suite: workloads, then combinations of levels, then arms, without the
    excluded ones.

    Raises Fault, counted from the suite, where a level contradicts a workload or an arm, where a
    factor changes nothing, or where a trial has too few messages for its workload's primary metric.
    """
    global _last
    last = _last
    if last is None or last[0] is not suite:
        _last = last = suite, _all_cells(suite)
    return last[1]


def _all_cells(suite: Suite) -> tuple[Cell, ...]:
    crossed = math.prod([len(suite.workloads), len(suite.arms), *map(len, suite.factors.values())])
    if crossed > MOST_CELLS:
        raise Fault(
            "too many cells",
            expected=f"at most {MOST_CELLS} of workloads × arms × levels, exclusions included",
            actual=crossed,
            fix="split the suite, or cross fewer factors",
            at=("factors",) if suite.factors else ("arms",),
        )
    applied = _AppliedLevels(suite)
    cells = [
        cell
        for index, workload in enumerate(suite.workloads)
        for levels in combinations(suite.factors)
        for cell in applied.cells(index, workload, levels)
    ]
    if not cells:
        raise Fault(
            "the exclusions leave nothing to run",
            expected="at least one cell",
            actual="none",
            at=("exclude",),
        )
    networked = [(cell.workload, cell.links.network.backend) for cell in cells if cell.links]
    check_one_backend([(w.name, w.against, backend) for w, backend in networked])
    _check_networks_vary(suite, cells)
    _check_factors_matter(suite, cells)
    _check_overrides_matter(suite, cells)
    return tuple(cells)


def renumber(selection: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells with numbers from 1: a plan finds a cell by its number."""
    return tuple(replace(cell, number=number) for number, cell in enumerate(selection, start=1))


def comparisons(all_cells: Sequence[Cell]) -> dict[str, tuple[Cell, ...]]:
    """Comparison -> its cells, in order."""
    cells_of_key: dict[str, list[Cell]] = {}
    for cell in all_cells:
        cells_of_key.setdefault(cell.comparison, []).append(cell)
    return {key: tuple(cells) for key, cells in cells_of_key.items()}


def _exclusions(suite: Suite, workload: Workload, levels: Levels) -> set[Level | None]:
    """The names of the arms that the suite excludes at these levels; None in it stands for all."""
    axes = {"workload": workload.name, **levels}
    return {
        rule.get("arm")
        for rule in suite.exclude
        if all(axes[axis] == level for axis, level in rule.items() if axis != "arm")
    }


class _AppliedLevels:
    """Workloads, arms and networks with levels applied. Each level is applied and validated once:
    in a suite with several factors most combinations differ in one."""

    def __init__(self, suite: Suite):
        self.suite = suite
        self._results: dict[tuple[int, str, type, Level], tuple[Any, Any]] = {}
        """(id of an item, factor, type of the level, level) -> the item, which keeps its id in use,
        and the item with the level applied."""
        self._graphs: dict[int, tuple[Endpoint, ...]] = {}
        self._numbers = itertools.count(1)

    def cells(self, index: int, workload: Workload, levels: Levels) -> list[Cell]:
        """The cells of the arms that are not excluded; `index` is the workload's place in the
        file."""
        suite, timeline = self.suite, workload.timeline.over(self.suite.timeline)
        excluded = _exclusions(suite, workload, levels)
        arms = [arm for arm in suite.arms if None not in excluded and arm.name not in excluded]
        if not arms:
            return []  # before levels are applied: an excluded combination may be a contradiction
        cell_workload = self.at(
            workload, levels, f"workload `{workload.name}`", with_workload_level
        )
        if (graph := self._graphs.get(id(cell_workload))) is None:
            with at_key("workloads", index):
                graph = self._graphs[id(cell_workload)] = endpoints(cell_workload, timeline)
        links = self._links(index, cell_workload, levels, timeline)
        cells = [
            Cell(
                next(self._numbers),
                suite.suite,
                cell_workload,
                self.at(arm, levels, f"arm `{arm.name}`", with_arm_level),
                levels,
                timeline,
                graph,
                suite.sampling,
                links,
            )
            for arm in arms
        ]
        with at_key("workloads", index):
            _check_primary_metric(cells[-1])
            _check_drain(cells[-1])
            if cell_workload.schedule != "shared":
                check_threads(cells[-1].senders)
        return cells

    def at(self, item: T, levels: Levels, owner: str, apply: Callable[[T, str, Level], T]) -> T:
        """The workload, arm or network with the levels applied. A Fault in the result is reported
        at the line of the level. The history is applied first, since a depth depends on it."""
        for name in sorted(levels, key=lambda name: name != "history"):
            level = levels[name]
            key = id(item), name, type(level), level
            if key not in self._results:
                self._results[key] = item, self._apply(item, name, level, owner, apply)
            item = self._results[key][1]
        return item

    def _apply(
        self, item: T, name: str, level: Level, owner: str, apply: Callable[[T, str, Level], T]
    ) -> T:
        try:
            return apply(item, name, level)
        except ValidationError as error:
            fault = fault_of(error.errors()[0], name, level)
            raise Fault(
                f"level `{level_text(level)}` of factor `{name}` does not fit {owner}: {fault.what}",
                expected=fault.expected,
                actual=fault.actual,
                fix=fault.fix or "remove the level, or exclude the combination under `exclude`",
                at=("factors", name, self.suite.factors[name].index(level)),
            ) from error

    def _links(
        self, index: int, workload: Workload, levels: Levels, timeline: Timeline
    ) -> Links | None:
        """The network of a workload at these levels. A Fault of a named network is reported at the
        network's own line."""
        try:
            links = links_between(
                self.suite.networks, workload.network, workload.host_names, timeline
            )
        except Fault as fault:
            at: At = ("workloads", index)
            if isinstance(workload.network, str) and fault.at[:1] == ("network",):
                at, fault.at = ("networks", workload.network), fault.at[1:]
                fault.what += f" (workload `{workload.name}`)"
            fault.at = (*at, *fault.at)
            raise
        if links is None:
            return None
        owner = f"the network of workload `{workload.name}`"
        return replace(links, network=self.at(links.network, levels, owner, with_network_level))


def _check_primary_metric(cell: Cell) -> None:
    primary = GLOSSARY[cell.workload.primary_metric]
    if cell.saturating or not primary.is_percentile_of_messages:
        return
    needed = messages_needed(primary.q)
    if cell.steady_messages >= needed:
        return
    longer = ""
    if cell.steady_messages:
        needed_s = cell.timeline.steady_s * needed / cell.steady_messages
        longer = f"lengthen the steady state to about {_rounded_up(needed_s)} s, or "
    raise Fault(
        f"a trial of workload `{cell.workload.name}` has too few messages for "
        f"{cell.workload.primary_metric}",
        expected=f"at least {needed} messages in the steady state (rule: n·(1−q) ≥ 10)",
        actual=f"{cell.steady_messages} in {cell.timeline.steady_s:g} s",
        fix=longer + "choose a lower percentile",
        at=("primary_metric",),
    )


def _rounded_up(seconds: float) -> str:
    """Seconds as a file has them, with three digits, or more for a whole number. They are rounded
    up, since the advice must be enough."""
    scale = 10 ** max(0, 2 - math.floor(math.log10(seconds)))
    return f"{math.ceil(seconds * scale - 1e-9) / scale:.12g}"


def _check_drain(cell: Cell) -> None:
    """Refuses a drain that is shorter than the time for a full history of a reliable writer: it
    would cut off messages that are only slow."""
    window_ns = cell.timeline.end_ns
    for endpoint in cell.endpoints:
        arrival, qos = endpoint.arrival, endpoint.qos.wire()
        reliable = qos["reliability"] == "reliable" and qos["history"] == "keep_last"
        if endpoint.kind != "publisher" or not isinstance(arrival, Periodic) or not reliable:
            continue
        held_messages = min(qos["depth"], arrival.count(0, window_ns))
        # the age of the oldest message when the newest is sent
        needed_s = (held_messages - 1) * arrival.period_ns / 1e9
        if needed_s > cell.timeline.drain_most_s:
            raise Fault(
                f"the drain of workload `{cell.workload.name}` is shorter than a reliable history "
                f"of topic `{endpoint.topic}` may take",
                expected=f"at least {_rounded_up(needed_s)} s, for {held_messages} messages at "
                f"{arrival.rate_hz:.12g} Hz",
                actual=f"{cell.timeline.drain_most_s:g} s",
                fix=f"set `drain_s: {_rounded_up(needed_s)}` in its timeline, or a smaller depth",
            )


def _check_networks_vary(suite: Suite, cells: Sequence[Cell]) -> None:
    name = next((name for name in suite.factors if name in NETWORK_FACTORS), None)
    bare = next((cell for cell in cells if cell.links is None), None)
    if name is not None and bare is not None:
        raise Fault(
            f"factor `{name}` changes nothing in workload `{bare.workload.name}`, which has no "
            "network",
            expected="a workload whose nodes are on several hosts, with `network:` between them",
            actual=f"hosts {', '.join(bare.hosts)}",
            fix="add hosts and a network, or exclude this workload under `exclude`",
            at=("factors", name),
        )


def _check_factors_matter(suite: Suite, cells: Sequence[Cell]) -> None:
    """Refuses a factor that does not change a cell: the report would wrongly say that it makes no
    difference."""
    cell_of_content: dict[tuple[str, ...], Cell] = {}
    graphs: dict[int, str] = {}
    """id of a workload -> a hash of the content that does not depend on the arm."""
    texts: dict[int, str] = {}

    def text_of(part: object) -> str:
        """The text of an arm, a timeline or a network, which many cells share; made once."""
        if (text := texts.get(id(part))) is None:
            text = texts[id(part)] = repr(part)
        return text

    for cell in cells:
        graph = graphs.get(id(cell.workload))
        if graph is None:
            wires = [endpoint.wire(suite.arms[0], 0) for endpoint in cell.endpoints]
            places = [(process.name, process.host, process.nodes) for process in cell.processes]
            nodes = [(node.lifecycle, node.manages) for node in cell.workload.all_nodes]
            lives = [endpoint.life for endpoint in cell.endpoints]
            itself = cell.workload.definition(), cell.workload.beside
            text = repr((wires, places, nodes, lives, itself))
            graphs[id(cell.workload)] = graph = sha256(text.encode()).hexdigest()
        content = (
            cell.workload.name,
            text_of(cell.arm),
            text_of(cell.timeline),
            repr((cell.conditions, cell.schedule)),
            text_of(cell.links and cell.links.network),
            graph,
        )
        twin = cell_of_content.setdefault(content, cell)
        if twin is cell:
            continue
        name = next(name for name in cell.factors if cell.factors[name] != twin.factors[name])
        raise Fault(
            f"factor `{name}` changes nothing in workload `{cell.workload.name}`",
            expected="a level that overrides a setting of the workload or of its arms",
            actual=f"`{level_text(twin.factors[name])}` and `{level_text(cell.factors[name])}` give the same "
            "cell",
            fix="its nodes or an arm set it themselves: remove it there, or exclude the "
            "combination under `exclude`",
            at=("factors", name),
        )


def _check_overrides_matter(suite: Suite, cells: Sequence[Cell]) -> None:
    """Refuses an override of no process: both sides of a pair would run the same middleware."""
    for index, arm in enumerate(suite.arms):
        arm_cells = [cell for cell in cells if cell.arm.name == arm.name]
        for key in arm.processes:
            processes = dict.fromkeys(
                p.name for cell in arm_cells for p in cell.processes if p.follows is None
            )
            if arm_cells and not any(arm.key_of(process) == key for process in processes):
                raise not_one_of(
                    f"arm `{arm.name}` overrides process `{key}`, which no workload has",
                    key,
                    processes,
                    at=("arms", index, "processes", key),
                )
        for cell in arm_cells:
            if arm.processes and all(
                arm.key_of(process.name) is None for process in cell.processes
            ):
                raise Fault(
                    f"arm `{arm.name}` overrides no process of workload `{cell.workload.name}`",
                    expected="one of " + ", ".join(process.name for process in cell.processes),
                    actual=", ".join(arm.processes),
                    fix="exclude the combination under `exclude`, or name its processes",
                    at=("arms", index, "processes"),
                )
