"""Collects from campaigns the values of every candidate in every case, block by block, machine by
machine.

Campaigns of one machine are pooled if they ran the same case (equal workload, levels, network,
processes, endpoints) with the same candidate (equal arm, version and profile); machines stand side
by side. Nothing is selected by its result: every finished block of every campaign is used."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, NamedTuple

from rmwbench.analysis.decide.decisions import DecideCandidate, FailureCount, UserLimit
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
from rmwbench.analysis.stats.estimate import needed
from rmwbench.analysis.verdicts import disturbances, interim
from rmwbench.bundle import Bundle
from rmwbench.bundle.evidence import SmallTables
from rmwbench.codes import Code
from rmwbench.errors import UserError
from rmwbench.results.compare.environment import AROUND, ENDPOINT_OF_ARM, WORDS
from rmwbench.results.selection import is_capacity, refuse_imported
from rmwbench.suite.limits import LimitsFile
from rmwbench.suite.workload.schedule import schedule_of

LimitKey = tuple[str | None, str]
"""The (topic, metric) of a limit."""
Place = tuple[int, int]
"""The (campaign, block) of a value."""
OF_ARM = {*ENDPOINT_OF_ARM, "process", "node"}


@dataclass(frozen=True)
class CandidateCase:
    """A workload at the levels of its factors. `selected`: whether the limits are for it.
    `defined`: ` (as in CAMPAIGN)`, which is also in its name, if an earlier campaign defines the
    workload in another way."""

    name: str
    workload: str
    levels: Mapping[str, Any]
    selected: bool
    defined: str = ""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A candidate, by the name that it has over all campaigns of its machine. `identity`: its
    definition, which is the same on any machine."""

    arm: str
    identity: str
    middleware: str
    layer: str
    version: str
    profile: str


@dataclass
class CandidateData:
    """One candidate in one case. `values`: limit -> place -> value, or (events, of) for a fraction;
    `reasons`: why a limit has no value; `bounds`: how far clocks may shift its values; `under_way`:
    limit -> place -> messages under way, and all. `ran`, `failed`: the places at which it ran, and
    those that it lost by its own fault."""

    limits: dict[LimitKey, float] = field(default_factory=dict)
    values: dict[LimitKey, dict[Place, Any]] = field(default_factory=dict)
    reasons: dict[LimitKey, str] = field(default_factory=dict)
    bounds: dict[LimitKey, float] = field(default_factory=dict)
    under_way: dict[LimitKey, dict[Place, tuple[int, int]]] = field(default_factory=dict)
    ran: set[Place] = field(default_factory=set)
    failed: set[Place] = field(default_factory=set)
    bound_trials: int = 0
    unsupported: str | None = None
    """The reason why some campaign could not run the candidate."""

    @property
    def not_supported(self) -> str | None:
        """The reason why the candidate cannot run at all; None if any campaign ran it."""
        return None if self.ran or self.failed else self.unsupported


@dataclass(frozen=True)
class MachineData:
    """The data of one machine's campaigns. `candidates`: name of a case -> candidate -> its data;
    `topics`: every name of a topic in them; `limits_without_topics`: the limits of a case in which
    no trial ended, so that its topics are not known."""

    summary: str
    campaigns: tuple[str, ...]
    cases: tuple[CandidateCase, ...]
    arms: Mapping[str, Identity]
    candidates: Mapping[str, Mapping[str, CandidateData]]
    topics: frozenset[str]
    limits_without_topics: Mapping[LimitKey, float]

    @property
    def selected(self) -> tuple[CandidateCase, ...]:
        return tuple(case for case in self.cases if case.selected)


def gather(bundles: Sequence[Bundle], limits: LimitsFile) -> list[MachineData]:
    """Return the data of each machine, in the order of the bundles. Raises UserError for a bundle
    that is not a campaign of a suite, and for one that is given twice."""
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
    directories = [bundle.directory.resolve() for bundle in bundles]
    for n, bundle in enumerate(bundles):
        if directories[n] in directories[:n]:
            raise UserError(
                "a campaign is given twice", where=str(bundle.directory), fix="name it once"
            )
    return [
        _MachineCampaigns(limits).data(summary, [(n, bundles[n]) for n in numbers])
        for summary, numbers in by_machine.items()
    ]


def machine_of(bundle: Bundle) -> str:
    summary = bundle.campaign.machine.summary or "machine not described"
    return f"{summary}, on the shared host" if bundle.host == "the shared host" else str(summary)


class _CaseKey(NamedTuple):
    """The key by which cases of several campaigns are the same: the workload, the workload at its
    levels (`comparison`), and its whole definition."""

    workload: str
    comparison: str
    definition: str


class _MachineCampaigns:
    def __init__(self, limits: LimitsFile):
        self.limits = limits
        self.document = limits.document()
        self.cases: dict[_CaseKey, CandidateCase] = {}
        self.arms: dict[str, Identity] = {}
        self.names: dict[str, str] = {}
        self.candidates: dict[str, dict[str, CandidateData]] = {}
        self.topics: set[str] = set()

    def data(self, summary: str, bundles: Sequence[tuple[int, Bundle]]) -> MachineData:
        for number, bundle in bundles:
            self._add_campaign(number, bundle)
        return MachineData(
            summary=summary,
            campaigns=tuple(str(b.campaign.campaign or b.directory) for _, b in bundles),
            cases=tuple(self.cases.values()),
            arms=self.arms,
            candidates=self.candidates,
            topics=frozenset(self.topics),
            limits_without_topics=limits_of(self.document, (), ()),
        )

    def _add_campaign(self, number: int, bundle: Bundle) -> None:
        small = SmallTables(bundle)
        by_cell: dict[int, CandidateData] = {}
        timed = [
            (_CaseKey(w.workload, w.name, definition_of(cells[0])), w, cells)
            for w in comparisons(bundle.planned_comparisons, bundle.rows("cells"))
            if (cells := [c for c in w.cells if not is_floor(c) and not interim.is_untimed(c)])
        ]
        suffixes = self._suffixes([key for key, _, _ in timed], bundle.campaign.campaign)
        for key, w, cells in timed:
            case = self._case(key, w.levels, suffixes)
            for cell in cells:
                name = self._candidate(w.labels[cell["cell"]], cell)
                data = self.candidates.setdefault(case.name, {}).setdefault(name, CandidateData())
                data.unsupported = data.unsupported or bundle.unsupported.get(cell["cell"])
                by_cell[cell["cell"]] = data
        lines = [line for line in bundle.trials() if line.cell in by_cell]
        for evidence in bundle.evidence((x for x in lines if x.status == "done"), small):
            data = by_cell[evidence.cell]
            trial = measure_trial(evidence)
            topics = judged_topics(evidence.endpoints, json_column(evidence.definition))
            names = workload_limit_names(evidence.endpoints, json_column(evidence.definition))
            self._add_trial(data, trial, (number, trial.block), topics, names)
            flags = disturbances.disturbances([trial.trial], small.events)
            data.bound_trials += any(d.code == Code.MACHINE_BOUND for d in flags)
        for cell_number, data in by_cell.items():
            of_cell = [line for line in lines if line.cell == cell_number]
            failed = {(number, block) for block in interim.failed_blocks(of_cell)}
            data.failed |= failed - data.ran

    def _suffixes(self, keys: Iterable[_CaseKey], campaign: str | None) -> dict[str, str]:
        """Return workload -> ` (as in CAMPAIGN)` if this campaign defines any case of it in another
        way than an earlier campaign: levels of two definitions are no axis."""
        suffixes: dict[str, str] = {}
        comparisons_before = {key.comparison for key in self.cases}
        for key in keys:
            if key in self.cases:
                suffixes.setdefault(key.workload, self.cases[key].defined)
            elif key.comparison in comparisons_before:
                suffixes[key.workload] = f" (as in {campaign})"
        return suffixes

    def _case(
        self, key: _CaseKey, levels: Mapping[str, Any], suffixes: Mapping[str, str]
    ) -> CandidateCase:
        if key not in self.cases:
            suffix = suffixes.get(key.workload, "")
            self.cases[key] = CandidateCase(
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
            versioned = f"{label} {cell['version']}"
            names = chain((label, versioned), (f"{versioned} ({n})" for n in count(2)))
            name = next(name for name in names if name not in self.arms)
            self.names[identity] = name
            self.arms[name] = Identity(arm=name, identity=identity, **about)
        return self.names[identity]

    def _add_trial(
        self,
        data: CandidateData,
        trial: MeasuredTrial,
        place: Place,
        topics: Sequence[Topic],
        names: Sequence[str],
    ) -> None:
        data.ran.add(place)
        self.topics.update(names, *(topic.limit_names for topic in topics))
        data.limits |= limits_of(self.document, topics, names)
        for topic, metric in data.limits:
            part = trial if topic is None else trial.topics.get(topic)
            if part is None:
                continue
            key, entry = (topic, metric), GLOSSARY[metric]
            value: Any = (
                fraction_of(metric, part) if entry.kind == "fraction" else trial_value(entry, part)
            )
            if value is None or (entry.kind == "fraction" and not value[1]):
                data.reasons[key] = part.reasons.get(metric) or _why_none(metric, part)
                continue
            data.values.setdefault(key, {})[place] = value
            data.bounds[key] = max(data.bounds.get(key, 0.0), clock_bound(entry, part))
            data.under_way.setdefault(key, {})[place] = under_way_of(metric, part)


def definition_of(cell: Mapping[str, Any]) -> str:
    """Return the definition of a case: everything but the arm, the length of a trial, texts, and
    seeds."""
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
) -> dict[LimitKey, float]:
    """Return the limits of a case: (topic, metric) -> at most. If the topics and readers are alike,
    all limits are for the whole workload, which may have its own by any of these `names`; else the
    general limits of messages hold for each topic that has none of its own."""
    general = {limit["metric"]: limit["at_most"] for limit in document["acceptable"]}
    by_topic = {
        topic: {limit["metric"]: limit["at_most"] for limit in limits}
        for topic, limits in (document.get("topics") or {}).items()
    }
    if not topics:
        own = {k: v for name in names for k, v in by_topic.get(name, {}).items()}
        return {(None, metric): most for metric, most in {**general, **own}.items()}
    limits: dict[LimitKey, float] = {}
    for topic in topics:
        own = {k: v for name in topic.limit_names for k, v in by_topic.get(name, {}).items()}
        of_topic = {k: v for k, v in general.items() if k in OF_TOPICS} | own
        limits |= {(topic.name, metric): most for metric, most in of_topic.items()}
    return limits | {
        (None, metric): most for metric, most in general.items() if metric not in OF_TOPICS
    }


def blocks_of(data: CandidateData, limit: LimitKey) -> BlockValues | None:
    """Return the values of blocks; None if no block has any. A failed block has the value of its
    metric for a failed trial. Its costs, and its late or never sent messages, are not known, so
    these metrics have no value for it."""
    values_at, entry = data.values.get(limit, {}), GLOSSARY[limit[1]]
    kind = "positive" if entry.kind == "quantile" else entry.kind
    failed = [] if entry.failed_value is None else sorted(data.failed)
    if not values_at and not failed:
        return None
    places = sorted({*values_at, *failed})
    totals: tuple[float, ...] = ()
    if kind == "fraction":
        usual_totals = sorted(total for _, total in values_at.values())
        usual = usual_totals[len(usual_totals) // 2] if usual_totals else 1
        pairs = [values_at.get(place, (usual, usual)) for place in places]
        values, totals = tuple(float(k) for k, _ in pairs), tuple(float(n) for _, n in pairs)
    else:
        value_at: dict[Place, Any] = dict.fromkeys(failed, entry.failed_value) | values_at
        values = tuple(float(value_at[place]) for place in places)
    counts = data.under_way.get(limit, {}).values()
    messages = sum(total for _, total in counts)
    return BlockValues(
        kind=kind,
        values=values,
        campaigns=tuple(campaign for campaign, _ in places),
        places=tuple(places),
        of=totals,
        bound=data.bounds.get(limit, 0.0),
        under_way=sum(count for count, _ in counts) / messages if messages else 0.0,
    )


def candidate(
    name: str, cases: Sequence[CandidateCase], machine: MachineData, limits: Sequence[UserLimit]
) -> DecideCandidate:
    """Return the candidate over these cases. `limits`: those of all candidates."""
    blocks: dict[UserLimit, BlockValues] = {}
    absent: dict[UserLimit, str] = {}
    bound: set[str] = set()
    failed = ran = 0
    refused = None
    for case in cases:
        data = machine.candidates[case.name].get(name)
        own = [limit for limit in limits if limit.case == case.name]
        if data is None:
            absent |= dict.fromkeys(own, "not measured in this case")
            continue
        refused = refused or data.not_supported
        failed, ran = failed + len(data.failed), ran + len(data.ran | data.failed)
        if data.ran and data.bound_trials >= disturbances.SHARE * len(data.ran):
            bound.add(case.name)
        for limit in own:
            values = blocks_of(data, (limit.topic, limit.metric))
            if values is not None:
                blocks[limit] = values
            else:
                absent[limit] = data.reasons.get((limit.topic, limit.metric), "not measured")
    return DecideCandidate(
        name=name,
        blocks=blocks,
        absent=absent,
        failed=FailureCount(trials=failed, of=ran),
        machine_bound=frozenset(bound),
        not_supported=refused,
    )


def limits_in(cases: Sequence[CandidateCase], machine: MachineData) -> list[UserLimit]:
    """Return the limits of all candidates together: they also hold for a candidate that never
    ran."""
    out = []
    for case in cases:
        limits: dict[LimitKey, float] = {}
        for data in machine.candidates[case.name].values():
            limits |= data.limits
        out += [
            UserLimit(case.name, topic, metric, most)
            for (topic, metric), most in (limits or machine.limits_without_topics).items()
        ]
    return out


def _why_none(metric: str, trial: MeasuredTrial) -> str:
    entry = GLOSSARY[metric]
    if entry.kind == "quantile":
        sample = trial.messages.samples.get(entry.source)
        messages = sample.count if sample is not None else 0
        return f"needs {needed(entry.q)} messages in a trial, there are {messages}"
    return "not recorded"
