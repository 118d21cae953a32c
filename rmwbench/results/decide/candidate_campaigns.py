"""Campaigns -> what every candidate did in every case, block by block, machine by machine.

Campaigns of one machine are pooled where they ran the same case (equal workload, levels, network,
processes, endpoints) with the same candidate (equal arm, version and profile); machines stand side
by side. Nothing is selected by what came out: every finished block of every campaign is gathered.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rmwbench.analysis.decide.chances import DecideCandidate, Failed, UserLimit
from rmwbench.analysis.decide.posterior import BlockValues
from rmwbench.analysis.metrics.aggregate import (
    MeasuredTrial,
    clock_bound,
    fraction_of,
    trial_value,
    under_way_of,
)
from rmwbench.analysis.metrics.comparisons import comparisons, is_floor, json_column
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import (
    OF_TOPICS,
    Topic,
    judged_topics,
    workload_limit_names,
)
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.stats.quantile import needed
from rmwbench.analysis.verdicts import disturbed, interim
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.evidence import SmallTables
from rmwbench.codes import Code
from rmwbench.errors import UserError
from rmwbench.results.compare.environment import AROUND, ENDPOINT_OF_ARM, WORDS
from rmwbench.results.selection import is_capacity, refuse_imported
from rmwbench.suite.limits import LimitsFile
from rmwbench.suite.workload.schedule import schedule_of

Asked = tuple[str | None, str]
"""(topic, metric)."""
Place = tuple[int, int]
"""(campaign, block)."""
OF_ARM = {*ENDPOINT_OF_ARM, "process", "node"}


@dataclass(frozen=True)
class GatheredCase:
    """A workload at the levels of its factors. `selected`: the limits are of it. `defined`:
    ` (as in CAMPAIGN)`, which is also in its name, where an earlier campaign defines the workload
    otherwise."""

    name: str
    workload: str
    levels: Mapping[str, Any]
    selected: bool
    defined: str = ""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A candidate, by the name that it has over all campaigns of its machine. `identity`: what it
    is, on whatever machine."""

    arm: str
    identity: str
    middleware: str
    layer: str
    version: str
    profile: str


@dataclass
class CandidateData:
    """One candidate in one case so far. `values`: what was asked -> place -> value, of a fraction
    (events, of). `failed`: the places that its own fault cost it."""

    arm: Identity
    limits: dict[Asked, float] = field(default_factory=dict)
    values: dict[Asked, dict[Place, Any]] = field(default_factory=dict)
    reasons: dict[Asked, str] = field(default_factory=dict)
    bounds: dict[Asked, float] = field(default_factory=dict)
    under_way: dict[Asked, dict[Place, tuple[int, int]]] = field(default_factory=dict)
    ran: set[Place] = field(default_factory=set)
    failed: set[Place] = field(default_factory=set)
    bound_trials: int = 0
    unsupported: str | None = None
    """Why some campaign could not run it."""

    @property
    def not_supported(self) -> str | None:
        """Why it cannot run at all; None where any campaign ran it."""
        return None if self.ran or self.failed else self.unsupported


@dataclass(frozen=True)
class MachineData:
    """What one machine's campaigns say. `seen`: case name -> candidate -> what it did; `topics`:
    every name of a topic in them; `otherwise`: what is asked of a case in which no trial ended,
    whose topics nobody knows."""

    summary: str
    campaigns: tuple[str, ...]
    cases: tuple[GatheredCase, ...]
    arms: Mapping[str, Identity]
    seen: Mapping[str, Mapping[str, CandidateData]]
    topics: frozenset[str]
    otherwise: Mapping[Asked, float]

    @property
    def selected(self) -> tuple[GatheredCase, ...]:
        return tuple(case for case in self.cases if case.selected)


def gather(bundles: Sequence[Bundle], limits: LimitsFile) -> list[MachineData]:
    """In the order of the bundles. Raises UserError for a bundle that is not a campaign of a
    suite."""
    by_machine: dict[str, list[int]] = {}
    for number, bundle in enumerate(bundles):
        refuse_imported(bundle)
        if is_capacity(bundle):
            raise UserError(
                "a search for a capacity has no blocks to decide by",
                where=str(bundle.directory),
                fix="give campaigns that `rmwbench run` made; `rmwbench show` has this one's "
                "answer",
            )
        by_machine.setdefault(machine_of(bundle), []).append(number)
    for a, one in enumerate(bundles):
        if any(one.directory.resolve() == other.directory.resolve() for other in bundles[:a]):
            raise UserError(
                "a campaign is given twice", where=str(one.directory), fix="name it once"
            )
    return [
        _Gathering(summary, limits).of([(n, bundles[n]) for n in numbers])
        for summary, numbers in by_machine.items()
    ]


def machine_of(bundle: Bundle) -> str:
    summary = bundle.campaign.machine.summary or "machine not described"
    return f"{summary}, on the shared host" if bundle.host == "the shared host" else str(summary)


class _CaseKey(NamedTuple):
    """What makes two cases of several campaigns the same: the workload at its levels, `comparison`,
    and all that defines it."""

    workload: str
    comparison: str
    definition: str


class _Gathering:
    def __init__(self, summary: str, limits: LimitsFile):
        self.summary, self.limits = summary, limits
        self.document = limits.document()
        self.cases: dict[_CaseKey, GatheredCase] = {}
        self.arms: dict[str, Identity] = {}
        self.names: dict[str, str] = {}
        self.seen: dict[str, dict[str, CandidateData]] = {}
        self.topics: set[str] = set()

    def of(self, bundles: Sequence[tuple[int, Bundle]]) -> MachineData:
        for number, bundle in bundles:
            self._take(number, bundle)
        return MachineData(
            self.summary,
            tuple(str(bundle.campaign.campaign or bundle.directory) for _, bundle in bundles),
            tuple(self.cases.values()),
            self.arms,
            self.seen,
            frozenset(self.topics),
            limits_of(self.document, (), ()),
        )

    def _take(self, number: int, bundle: Bundle) -> None:
        small = SmallTables(bundle)
        wanted: dict[int, tuple[GatheredCase, CandidateData]] = {}
        timed = [
            (_CaseKey(w.workload, w.name, definition_of(cells[0])), w, cells)
            for w in comparisons(bundle.planned_comparisons, bundle.rows("cells"))
            if (cells := [c for c in w.cells if not is_floor(c) and not interim.is_untimed(c)])
        ]
        defined = self._defined([key for key, _, _ in timed], bundle.campaign.campaign)
        for key, w, cells in timed:
            case = self._case(key, w.levels, defined)
            for cell in cells:
                name = self._candidate(w.labels[cell["cell"]], cell)
                seen = self.seen.setdefault(case.name, {}).setdefault(
                    name, CandidateData(self.arms[name])
                )
                seen.unsupported = seen.unsupported or bundle.unsupported.get(cell["cell"])
                wanted[cell["cell"]] = (case, seen)
        lines = [line for line in bundle.trials() if line.cell in wanted]
        for evidence in bundle.evidence((x for x in lines if x.status == "done"), small):
            case, seen = wanted[evidence.cell]
            trial = measure_trial(evidence)
            topics = judged_topics(evidence.endpoints, json_column(evidence.definition))
            names = workload_limit_names(evidence.endpoints, json_column(evidence.definition))
            self._add(seen, trial, (number, trial.block), topics, names)
            flags = disturbed.disturbances([trial.trial], small.events)
            seen.bound_trials += any(one.code == Code.MACHINE_BOUND for one in flags)
        self._failed(number, lines, wanted)

    def _failed(
        self,
        number: int,
        lines: Iterable[TrialLine],
        wanted: Mapping[int, tuple[GatheredCase, CandidateData]],
    ) -> None:
        by_cell: dict[int, list[TrialLine]] = {}
        for line in lines:
            by_cell.setdefault(line.cell, []).append(line)
        for cell, of_cell in by_cell.items():
            seen = wanted[cell][1]
            failed = {(number, block) for block in interim.failed_blocks(of_cell)}
            seen.failed |= failed - seen.ran

    def _defined(self, keys: Iterable[_CaseKey], campaign: str | None) -> dict[str, str]:
        """Workload -> ` (as in CAMPAIGN)` where this campaign defines any case of it otherwise than
        one before, or as such a one does: levels of two definitions are no axis."""
        defined: dict[str, str] = {}
        comparisons_before = {key.comparison for key in self.cases}
        for key in keys:
            if key in self.cases:
                defined.setdefault(key.workload, self.cases[key].defined)
            elif key.comparison in comparisons_before:
                defined[key.workload] = f" (as in {campaign})"
        return defined

    def _case(
        self, key: _CaseKey, levels: Mapping[str, Any], defined: Mapping[str, str]
    ) -> GatheredCase:
        if key not in self.cases:
            suffix = defined.get(key.workload, "")
            self.cases[key] = GatheredCase(
                f"{key.comparison}{suffix}",
                key.workload,
                levels,
                self.limits.of.has(key.workload, levels),
                suffix,
            )
        return self.cases[key]

    def _candidate(self, label: str, cell: Mapping[str, Any]) -> str:
        arm = json_column(cell["definition"]).get("arm") or {}
        about = {key: cell[key] for key in ("middleware", "layer", "version", "profile")}
        options = {k: v for k, v in arm.items() if k not in ("name", "role", "profile")}
        profile = (arm.get("profile") or {}).get("text")
        identity = json.dumps([label, about, options, profile], sort_keys=True, default=str)
        if identity not in self.names:
            name = label
            if name in self.arms:
                name = f"{label} {cell['version']}"
            count = 2
            while name in self.arms:
                name, count = f"{label} {cell['version']} ({count})", count + 1
            self.names[identity] = name
            self.arms[name] = Identity(arm=name, identity=identity, **about)
        return self.names[identity]

    def _add(
        self,
        seen: CandidateData,
        trial: MeasuredTrial,
        place: Place,
        topics: Sequence[Topic],
        names: Sequence[str],
    ) -> None:
        seen.ran.add(place)
        self.topics.update(names, *(topic.limit_names for topic in topics))
        seen.limits |= limits_of(self.document, topics, names)
        for topic, metric in seen.limits:
            part = trial if topic is None else trial.topics.get(topic)
            if part is None:
                continue
            key, entry = (topic, metric), GLOSSARY[metric]
            value: Any = (
                fraction_of(metric, part) if entry.kind == "fraction" else trial_value(entry, part)
            )
            if value is None or (entry.kind == "fraction" and not value[1]):
                seen.reasons[key] = part.reasons.get(metric) or _why_none(metric, part)
                continue
            seen.values.setdefault(key, {})[place] = value
            seen.bounds[key] = max(seen.bounds.get(key, 0.0), clock_bound(entry, part))
            seen.under_way.setdefault(key, {})[place] = under_way_of(metric, part)


def definition_of(cell: Mapping[str, Any]) -> str:
    """What makes two cases the same besides their name: everything but the arm, the length of a
    trial, words, and seeds."""
    definition = json_column(cell["definition"])
    workload, endpoints = definition.get("workload") or {}, definition.get("endpoints") or ()
    parts = {
        "workload": {k: v for k, v in workload.items() if k not in WORDS},
        "endpoints": [{k: v for k, v in e.items() if k not in OF_ARM} for e in endpoints],
        "hosts": sorted({str(e.get("host")) for e in endpoints}),
        "conditions": definition.get("conditions"),
        "schedule": schedule_of(definition),
        **{name: definition.get(name) for name in AROUND},
    }
    return json.dumps(_without_seeds(parts), sort_keys=True, default=str)


def _without_seeds(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_seeds(v) for k, v in value.items() if "seed" not in str(k)}
    if isinstance(value, list | tuple):
        return [_without_seeds(item) for item in value]
    return value


def limits_of(
    document: Mapping[str, Any], topics: Sequence[Topic], names: Sequence[str]
) -> dict[Asked, float]:
    """What is asked of a case: (topic, metric) -> at most. Where the topics and readers are alike,
    all of the whole, which may have its own by any of these `names`; else general limits of messages
    hold for each topic unless it has its own."""
    general = {limit["metric"]: limit["at_most"] for limit in document["acceptable"]}
    own = {
        topic: {limit["metric"]: limit["at_most"] for limit in limits}
        for topic, limits in (document.get("topics") or {}).items()
    }
    if not topics:
        mine = {k: v for name in names for k, v in own.get(name, {}).items()}
        return {(None, metric): most for metric, most in {**general, **mine}.items()}
    out: dict[Asked, float] = {}
    for topic in topics:
        mine = {k: v for name in topic.limit_names for k, v in own.get(name, {}).items()}
        of_topic = {k: v for k, v in general.items() if k in OF_TOPICS} | mine
        out |= {(topic.name, metric): most for metric, most in of_topic.items()}
    return out | {
        (None, metric): most for metric, most in general.items() if metric not in OF_TOPICS
    }


def blocks_of(seen: CandidateData, asked: Asked) -> BlockValues | None:
    """What blocks say of it; None where none has it. A failed one counts as its metric says:
    nothing of it arrived. What it cost, and what was late in it or never sent, is not known, and it
    is left out of these."""
    values_at, entry = seen.values.get(asked, {}), GLOSSARY[asked[1]]
    kind = "positive" if entry.kind == "quantile" else entry.kind
    lost = [] if entry.failed is None else sorted(seen.failed)
    if not values_at and not lost:
        return None
    places = sorted({*values_at, *lost})
    if kind == "fraction":
        usual = sorted(of for _, of in values_at.values())
        wanted = usual[len(usual) // 2] if usual else 1
        pairs = [values_at.get(place, (wanted, wanted)) for place in places]
        values, of = tuple(float(k) for k, _ in pairs), tuple(float(n) for _, n in pairs)
    else:
        each: dict[Place, Any] = dict.fromkeys(lost, entry.failed) | values_at
        values, of = tuple(float(each[place]) for place in places), ()
    return BlockValues(
        kind,
        values,
        tuple(campaign for campaign, _ in places),
        tuple(places),
        of,
        seen.bounds.get(asked, 0.0),
        _share(seen.under_way.get(asked, {}).values()),
    )


def _share(counts: Iterable[tuple[int, int]]) -> float:
    pairs = list(counts)
    of = sum(total for _, total in pairs)
    return sum(count for count, _ in pairs) / of if of else 0.0


def candidate(
    name: str, cases: Sequence[GatheredCase], machine: MachineData, limits: Sequence[UserLimit]
) -> DecideCandidate:
    """The candidate over these cases. `limits`: all that hold there for anybody."""
    blocks: dict[UserLimit, BlockValues] = {}
    absent: dict[UserLimit, str] = {}
    bound: set[str] = set()
    failed = ran = 0
    refused = None
    for case in cases:
        seen = machine.seen[case.name].get(name)
        own = [limit for limit in limits if limit.case == case.name]
        if seen is None:
            absent |= dict.fromkeys(own, "not measured in this case")
            continue
        refused = refused or seen.not_supported
        failed, ran = failed + len(seen.failed), ran + len(seen.ran | seen.failed)
        if seen.ran and seen.bound_trials >= disturbed.SHARE * len(seen.ran):
            bound.add(case.name)
        for limit in own:
            values = blocks_of(seen, (limit.topic, limit.metric))
            if values is not None:
                blocks[limit] = values
            else:
                absent[limit] = seen.reasons.get((limit.topic, limit.metric), "not measured")
    done = Failed(trials=failed, of=ran)
    return DecideCandidate(name, blocks, absent, done, frozenset(bound), refused)


def limits_in(cases: Sequence[GatheredCase], machine: MachineData) -> list[UserLimit]:
    """The limits of all candidates together: they hold for one that never ran, too."""
    out = []
    for case in cases:
        asked: dict[Asked, float] = {}
        for seen in machine.seen[case.name].values():
            asked |= seen.limits
        out += [
            UserLimit(case.name, topic, metric, most)
            for (topic, metric), most in (asked or machine.otherwise).items()
        ]
    return out


def _why_none(metric: str, trial: MeasuredTrial) -> str:
    entry = GLOSSARY[metric]
    if entry.kind == "quantile":
        sample = trial.messages.samples.get(entry.source)
        there = sample.count if sample is not None else 0
        return f"needs {needed(entry.q)} messages in a trial, there are {there}"
    return "not recorded"
