"""The answer about one arm in one workload: how it was configured, the settings that it was
granted, the path that was attested, and its metrics."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.analysis.metrics.aggregate import (
    MeasuredTrial,
    aggregate,
    clock_bound,
    counts_of,
    fraction_of,
    trial_value,
)
from rmwbench.analysis.metrics.comparisons import in_focus, is_floor, is_reliable, json_column
from rmwbench.analysis.metrics.fates import FateCounts, Fates
from rmwbench.analysis.metrics.glossary import GLOSSARY, Metric
from rmwbench.analysis.metrics.judged_topics import (
    OF_TOPICS,
    POOLED,
    Topic,
    judged_topics,
    not_pooled,
    why_not_pooled,
    workload_limit_names,
)
from rmwbench.analysis.stats.estimate import finites, number
from rmwbench.analysis.stats.intervals import clopper_pearson
from rmwbench.analysis.verdicts import disturbances, interim, ratio, sequential
from rmwbench.analysis.verdicts.limit_outcomes import NO_MATCH
from rmwbench.analysis.verdicts.reader_spread import Spread, spread
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.unlike_arms import ArmFacts
from rmwbench.analysis.verdicts.verdict import Family, JudgedArm, Verdict, with_lost_blocks
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.campaign_json import DescribedMiddleware
from rmwbench.bundle.evidence import SmallTables
from rmwbench.results.explain.explain_model import ArmTrials, TailAnswer, UndoneTrial
from rmwbench.results.model import Estimate, Ratio, TrialCounts, with_fields_of
from rmwbench.results.show_model import (
    ArmVerdict,
    BufferShortfall,
    CommonArm,
    Configuration,
    PathShare,
    Settling,
    TrialValue,
    WorkloadArm,
)
from rmwbench.results.workload import chain_answer, groups
from rmwbench.results.workload.interop import pair_of
from rmwbench.results.workload.lost_messages import losses
from rmwbench.results.workload.spread_words import unlike as unlike_readers
from rmwbench.suite.arm import bare
from rmwbench.suite.workload.schedule import schedule_of
from rmwbench.words.numbers import counted, percent

UNTIMED = "allocations were counted, so nothing here was timed"
SHARED = (
    "schedule: shared, one thread sends for all publishers of a process: one's publish call makes "
    "the others late"
)
CELL_COLUMNS = ("middleware", "layer", "version", "profile", "release_date", "cell")
"""Columns of `cells` that an arm of the document has, too."""
SELDOM = 0.01
"""Up to this share of the messages, a kind of taking is not named."""
TIMES = ("ns", "cores", "s/GB")
"""Units whose values are no result of an untimed trial; nor are its losses."""


@dataclass(frozen=True, kw_only=True)
class CellEvidence:
    """The evidence of one cell: its done `trials` as measured, the journal's `lines` of all its
    trials, the `tails` of its worst trial, and the result of longer windows."""

    cell: dict[str, Any]
    trials: list[MeasuredTrial]
    lines: list[TrialLine]
    tails: tuple[TailAnswer, ...] = ()
    settling: Settling | None = None


Grants = Sequence[tuple[str, dict[str, Any], dict[str, Any]]]
"""The kind of each endpoint, the settings that it asked for, and those that it was granted."""


class ArmReport:
    """One cell's trials, with all facts about them that the document has."""

    def __init__(
        self, name: str, evidence: CellEvidence, small: SmallTables, bundle: Bundle, primary: str
    ):
        self.host = bundle.host
        self.cell, self.trials, self.lines = evidence.cell, evidence.trials, evidence.lines
        self.tails, self.settling = evidence.tails, evidence.settling
        self.name, self.primary = name, primary
        self.not_supported = bundle.unsupported.get(self.cell["cell"])
        self.definition = json_column(self.cell["definition"])
        self.arm: dict[str, Any] = self.definition.get("arm") or {}
        self.floor = is_floor(self.cell)
        self.family = interim.family_of(self.cell)
        self.schedule = schedule_of(self.definition)
        endpoints = [e for t in self.trials for e in small.endpoints[t.trial]]
        granted = [
            (e["kind"], json_column(e["asked"]), json_column(e["granted"])) for e in endpoints
        ]
        self.reliable = is_reliable(endpoints)
        self.payload_bytes = max(
            (e["payload_bytes"] or 0 for e in endpoints if e["kind"] == "publisher"), default=None
        )
        self._granted_qos = [
            (e["endpoint"], g.get("qos")) for e, (_, _, g) in zip(endpoints, granted, strict=True)
        ]
        self._take_topics(small)
        self._take_granted(granted)
        self._take_disturbances(small)
        self._take_paths(small)
        self.configuration = configuration_of(self.cell, bundle)
        self.support_ended = self._support_ended(bundle)
        keep_last = any((g.get("qos") or {}).get("history") == "keep_last" for _, _, g in granted)
        self.losses = losses(self.trials, small, reliable=self.reliable, keep_last=keep_last)

    def _take_topics(self, small: SmallTables) -> None:
        first = small.endpoints[self.trials[0].trial] if self.trials else []
        self.topics = judged_topics(first, self.definition)
        """The topics that are judged by themselves; empty if all are alike."""
        self.endpoints = first
        self.limit_names: dict[str | None, tuple[str, ...]] = {
            None: workload_limit_names(first, self.definition),
            **{topic.name: topic.limit_names for topic in self.topics},
        }
        """Topic, or None for the whole workload -> the names under which it may have limits."""
        self.topic_names = list(dict.fromkeys(e["topic"] for e in in_focus(first, self.definition)))
        self.judged: dict[str | None, JudgedArm] = {}
        """Topic, or None for the whole workload -> the values that comparisons use; `judge_by` sets
        them, since they depend on the other arms."""
        self.interim = interim.InterimCell()
        for trial in self.trials:
            bound = interim.is_bound(small.events[trial.trial])
            self.interim.add(
                trial, self.primary, small.endpoints[trial.trial], self.definition, bound
            )
        alone = not_pooled(self.topics)
        self.values = {
            name: [] if name in alone else _in_trials(entry, self.trials)
            for name, entry in GLOSSARY.items()
        }

    def _take_granted(self, granted: Grants) -> None:
        self.publish_mode = _joined(
            g.get("publish_mode") for kind, _, g in granted if kind == "publisher"
        )
        self.touch = _joined(a.get("touch") for _, a, _ in granted)
        self.qos = _joined(qos_words(g["qos"]) for _, _, g in granted if g.get("qos"))
        self.take = taken_as(
            _joined(g.get("take") for kind, _, g in granted if kind == "subscription"),
            sum(t.messages.lent for t in self.trials),
            sum(t.messages.taken for t in self.trials),
        )
        self.when_full = _when_full(granted)
        self.regrant = sorted(
            {t for _, a, g in granted for t in _regranted(a.get("qos") or {}, g.get("qos") or {})}
        )
        self.worker_notes = sorted({n for _, _, g in granted for n in g.get("notes") or []})

    def _take_disturbances(self, small: SmallTables) -> None:
        flags = disturbances.disturbances([t.trial for t in self.trials], small.events)
        self.misconduct = [d.text for d in flags if d.code in disturbances.OF_THE_MIDDLEWARE]
        """Faults of its middleware in at least half of its trials, which are in its numbers."""
        of_machine = [d for d in flags if d.code not in disturbances.OF_THE_MIDDLEWARE]
        self.disturbed = [d.text for d in of_machine]
        self.disturbed_by = {d.code: d.trials for d in of_machine}

    def _take_paths(self, small: SmallTables) -> None:
        attested = [r for t in self.trials for r in small.attestations[t.trial]]
        # reasons why the path of most bytes is not known
        unknown = {
            r["note"]
            for r in attested
            if r["path"] == "other" and (r["fraction"] or 0) >= 0.5 and r["note"]
        }
        self.notes = [*self.worker_notes, *(f"path: {note}" for note in sorted(unknown))]
        self.paths = _paths(attested, sum(1 for t in self.trials if small.attestations[t.trial]))
        self.path, self.main_path = _path(self.paths)

    @property
    def facts(self) -> ArmFacts:
        loan, network = self.arm.get("loan"), self.definition.get("network")
        return ArmFacts(
            arm=self.name,
            layer=self.cell["layer"],
            qos=self.qos,
            path=self.main_path,
            publish_mode=self.publish_mode,
            touch=self.touch,
            release_date=self.cell["release_date"],
            floor=self.floor,
            conditions=disturbances.conditions(self.definition),
            backend=network.get("backend", "switch") if network else None,
            host=self.host,
            take=self.take,
            when_full=self.when_full,
            library=" + ".join(map(bare, self.cell["middleware"].split(" + "))),
            version=self.cell["version"],
            written=None if loan is None else "loan" if loan else "copy",
            schedule=self.schedule,
            support_ended=self.support_ended,
        )

    def _unmatched(self) -> Iterator[str]:
        """Yield the share of trials in which not all endpoints matched. These are no losses of
        messages: the metrics are those of the other trials."""
        count = sum(line.status == "failed" and line.cause == NO_MATCH for line in self.lines)
        trials = count + sum(line.status == "done" for line in self.lines)
        if 0 < count < trials:
            low, high = clopper_pearson(count, trials)
            yield (
                f"no match in {count} of {counted(trials, 'trial')}: {percent(count / trials)} "
                f"[{percent(low)}–{percent(high)}]; its latencies are of the trials that matched"
            )

    @property
    def counts(self) -> ArmTrials:
        return ArmTrials(
            **vars(TrialCounts.of(line.status for line in self.lines)),
            voided_by=Counter(code for x in self.lines if x.status == "void" for code in x.codes),
            numbers=tuple(t.trial for t in self.trials),
            failures=tuple(
                with_fields_of(UndoneTrial, line)
                for line in self.lines
                if line.status in ("failed", "void")
            ),
        )

    def ran_in(self, topic: str | None) -> JudgedArm:
        return self.interim.arm(self.name, self.cell, topic, self.lines)

    def trials_in(self, topic: str | None) -> list[MeasuredTrial]:
        """Return the trials, with that topic or reader alone if one is named, even if its readers
        are alike. If an arm's topics are alike, its trials stand for each of them."""
        if topic is None:
            return self.trials
        parts = [t.topics.get(topic) or t.readers.get(topic) for t in self.trials]
        own = [part for part in parts if part is not None]
        return own or ([] if self.topics else self.trials)

    def fates_in(self, topic: str | None) -> Fates:
        """Return the fates of the messages of its done trials, and the trials that it lost."""
        trials = self.trials_in(topic)
        counted = sum((counts_of(self.primary, t) for t in trials), FateCounts())
        failed = len(self.judged[None].failed - {t.block for t in trials})
        return counted.fates(failed=failed, trials=len(trials) + failed)

    def is_reliable_in(self, topic: str | None) -> bool:
        return self.interim.reliable.get(topic if self.topics else None, False)

    def _has(self, topic: Topic) -> bool:
        """Whether the arm can be compared in that topic of another cell: it has a topic of this
        name, or the topic has some of its readers, which are alike here."""
        if self.topics:
            return any(own.name == topic.name for own in self.topics)
        return topic.readers is not None and {*topic.members, *topic.nodes} <= {
            *self.limit_names[None]
        }

    def shared(self, other: "ArmReport") -> list[str]:
        """Return the topics and readers that are judged by themselves in this arm or the other, and
        that both have."""
        topics = self.topics or other.topics
        return [topic.name for topic in topics if self._has(topic) and other._has(topic)]

    def spread(self, topic: str | None = None) -> Spread | None:
        """Return how far the readers of one sample are apart; None if the arm has several
        samples."""
        if topic is None and self.topics:
            return None
        return spread(self.trials_in(topic), self.endpoints)

    def refused(self, entry: Metric) -> str | None:
        """Return the reason why no comparison uses this metric of the arm; None if one may."""
        timed = entry.unit in TIMES or entry.kind == "fraction"
        if timed and interim.is_untimed(self.cell):
            return UNTIMED
        return None if entry.load_independent else self.judged[None].barred

    def in_blocks(self, metric: str, topic: str | None = None) -> dict[int, Any]:
        """Return block -> the metric's value, or (events, of) for a fraction, by the rules of a
        verdict: a block that the arm lost is counted by `with_lost_blocks`, a block on a machine
        that was too busy for a network is left out, and an untimed trial has no times. Memory does
        not depend on how busy a machine is; bytes of traffic do."""
        entry, judged = GLOSSARY[metric], self.judged[None]
        if self.refused(entry):
            return {}
        left_out = frozenset() if entry.load_independent else judged.excluded_blocks
        blocks = judged.busy.keys() - left_out
        values = {
            t.block: value
            for t in self.trials_in(topic)
            if t.block in blocks and (value := _in_trial(entry, t)) is not None
        }
        return with_lost_blocks(entry, values, judged.failed, primary=metric == self.primary)

    def clock_bounds(self, metric: str, topic: str | None = None) -> dict[int, float]:
        """Return block -> how far the clocks of two hosts may shift the metric's value."""
        return {t.block: clock_bound(GLOSSARY[metric], t) for t in self.trials_in(topic)}

    def clock_bound(self, metric: str, topic: str | None = None) -> float:
        """Return the largest of these bounds; 0 without a trial."""
        return max(self.clock_bounds(metric, topic).values(), default=0.0)

    def qos_of(self, topic: str) -> str | None:
        """Return the QoS that the topic's endpoints were granted, in words; several ones joined if
        they differ."""
        own = next((t.endpoints for t in self.topics if t.name == topic), frozenset())
        return _joined(
            qos_words(qos) for endpoint, qos in self._granted_qos if endpoint in own and qos
        )

    def _support_ended(self, bundle: Bundle) -> str | None:
        """Return the month in which the vendor's support of this version had ended when the
        campaign was made; None also if the end is not known."""
        described = described_of(self.cell, bundle)
        month = described and described.build.get("end_of_life")
        ended = month and month < (bundle.campaign.created_utc or "")[:7]
        return str(month) if ended else None

    def flags(self, unlike: Sequence[str]) -> tuple[str, ...]:
        """Return all facts that a reader of the arm must know; `unlike` says how it differs from
        the others."""
        return (
            *(str(f) for f in self.definition.get("flags") or []),
            *self.regrant,
            *unlike,
            *([SHARED] if self.schedule == "shared" else []),
            *self._unmatched(),
            *filter(None, [unlike_readers(self.spread())]),
            *self.misconduct,
            *self.disturbed,
        )

    def common(self, topic: str | None, floor: "ArmReport | None") -> CommonArm:
        trials, values = self.trials_in(topic), self.values
        if topic is not None:
            values = {name: _in_trials(GLOSSARY[name], trials) for name in OF_TOPICS}
        return CommonArm(
            arm=self.name,
            **{column: self.cell[column] for column in CELL_COLUMNS},
            role="floor" if self.floor else "contender",
            family=self.family,
            qos=self.qos if topic is None else self.qos_of(topic),
            metrics=self.metrics(topic),
            unsent_by=dict(sum((Counter(t.messages.ledger.unsent_by) for t in trials), Counter())),
            per_trial=per_trial(values),
            times_floor=self.times_floor(floor, topic),
            drift=self.interim.drift(topic),
            spread=self.spread(topic),
        )

    def answer(
        self,
        verdict: Verdict,
        topic: str | None,
        unlike: list[str],
        outdated: bool,
        floor: "ArmReport | None",
    ) -> WorkloadArm:
        """Return the arm as the document has it. `topic`: the one that the verdict rests on, if the
        workload is judged by several."""
        if interim.is_untimed(self.cell) and not self.floor:
            verdict, topic = Verdict("no data", None, None, UNTIMED), None
        return WorkloadArm(
            **vars(self.common(None, floor)),
            outdated=outdated,
            factors=json_column(self.cell["factors"]),
            flags=self.flags(unlike),
            unlike=(*unlike, *([SHARED] if self.schedule == "shared" else [])),
            disturbed=tuple(self.disturbed),
            disturbed_by=self.disturbed_by,
            conditions=disturbances.conditions(self.definition),
            notes=tuple(self.notes),
            path=self.path,
            paths=self.paths,
            publish_mode=self.publish_mode,
            take=self.take,
            when_full=self.when_full,
            schedule=self.schedule,
            touch=self.touch,
            configuration=self.configuration,
            options=self.arm.get("options") or {},
            as_installed=as_installed(self.arm, self.cell["profile"]),
            pair=pair_of(self.arm),
            not_supported=self.not_supported,
            ungranted=tuple(BufferShortfall(**u) for u in self.definition.get("ungranted") or ()),
            support_ended=self.support_ended,
            untimed=interim.is_untimed(self.cell),
            traced=interim.is_traced(self.cell),
            trials=self.counts,
            losses=self.losses,
            tails=tuple(self.tails),
            network=groups.network(self.trials),
            chain=chain_answer.chain(self.trials),
            layers=chain_answer.layers(self.trials),
            settling=self.settling,
            verdict=ArmVerdict(**vars(verdict), topic=topic),
        )

    def metrics(self, topic: str | None = None) -> dict[str, Estimate]:
        """Return the metrics of a topic alone, or those of the whole workload: a median over an IMU
        and a camera would describe neither."""
        if topic is not None:
            of_topic = self.trials_in(topic)
            return {name: aggregate(GLOSSARY[name], of_topic) for name in OF_TOPICS}
        metrics = {
            name: aggregate(entry, self.trials)
            for name, entry in GLOSSARY.items()
            if chain_answer.applies(name, self.trials, self.primary)
        }
        if self.topics:
            metrics |= {
                name: Estimate(unit=GLOSSARY[name].unit, no_data=why_not_pooled(self.topics))
                for name in sorted(not_pooled(self.topics))
            }
        return metrics

    def times_floor(self, floor: "ArmReport | None", topic: str | None = None) -> Ratio:
        """Return the ratio of the arm's primary metric to the floor's, block by block."""
        if floor is None:
            return Ratio(no_data=f"the workload has no floor arm by {self.family}")
        if floor is self:
            return Ratio(no_data="this is the floor")
        if topic is None and self.topics and self.primary in POOLED:
            return Ratio(no_data=why_not_pooled(self.topics))
        mine, its = self.judged[topic], floor.judged[topic]
        bounds = mine.bounds, its.bounds
        return ratio.ratio(mine.values(), its.values(), bounds=bounds, order=mine.order)


def described_of(cell: Mapping[str, Any], bundle: Bundle) -> DescribedMiddleware | None:
    """Return the description that the cell's worker gave of itself; None if it is not kept, or the
    arm is a pair of middlewares."""
    name = cell["middleware"], cell["layer"]
    return next((m for m in bundle.campaign.middlewares if (m.middleware, m.layer) == name), None)


def configuration_of(cell: Mapping[str, Any], bundle: Bundle) -> Configuration | None:
    """Return the text of the cell's profile: the text in the arm's definition, else that of the
    middleware."""
    profile_of_arm = (json_column(cell["definition"]).get("arm") or {}).get("profile") or {}
    if profile_of_arm.get("text") is not None:
        return Configuration(format=profile_of_arm.get("format"), text=profile_of_arm["text"])
    described = described_of(cell, bundle)
    for profile in described.profiles if described else ():
        if profile.name == cell["profile"]:
            return Configuration(format=profile.format, text=profile.text)
    return None


def statement(
    left: ArmReport, right: ArmReport, metric: str, topic: str | None, group: Hashable
) -> Statement:
    """Return the statement `left` against `right` within the blocks that both have, in that topic
    or in the whole workload."""
    return Statement(
        left=left.in_blocks(metric, topic),
        right=right.in_blocks(metric, topic),
        metric=GLOSSARY[metric],
        paired=True,
        group=group,
        reliable=left.is_reliable_in(topic) or right.is_reliable_in(topic),
        bounds=(left.clock_bounds(metric, topic), right.clock_bounds(metric, topic)),
        topic=topic,
        primary=right.primary,
    )


def floors(arms: Sequence[ArmReport]) -> dict[Family, ArmReport]:
    """Return the first floor of each family."""
    return {arm.family: arm for arm in reversed(arms) if arm.floor}


def _in_trials(entry: Metric, trials: Sequence[MeasuredTrial]) -> list[tuple[MeasuredTrial, float]]:
    return [(t, value) for t in trials if (value := trial_value(entry, t)) is not None]


def _in_trial(entry: Metric, trial: MeasuredTrial) -> float | tuple[int, int] | None:
    """Return the metric's value, or (events, of) for a fraction."""
    if entry.kind != "fraction":
        return trial_value(entry, trial)
    counts = fraction_of(entry.name, trial)
    return counts if counts[1] else None


def judge_by(arms: Sequence[ArmReport], blocks: int) -> None:
    """Set the values that comparisons use of the arms of one workload, after so many blocks."""
    for topic in {None, *(name for arm in arms for name in arm.interim.blocks)}:
        judged_arms = sequential.arms_after([a.ran_in(topic) for a in arms], blocks)
        for arm, judged in zip(arms, judged_arms, strict=True):
            arm.judged[topic] = judged


def per_trial(
    values: Mapping[str, Sequence[tuple[MeasuredTrial, float]]],
) -> dict[str, tuple[TrialValue, ...]]:
    """Return metric -> its value in each trial, without metrics that have none."""
    return {
        name: tuple(
            TrialValue(trial=t.trial, block=t.block, value=float(number(rounded)))
            for (t, _), rounded in zip(pairs, finites(v for _, v in pairs), strict=True)
        )
        for name, pairs in values.items()
        if pairs
    }


def _paths(rows: list[dict[str, Any]], trials: int) -> tuple[PathShare, ...]:
    """Return the paths of the payload, the largest first. Their fractions are means over trials; if
    a trial has none, they are those of all bytes."""
    use = "fraction" if all(r["fraction"] is not None for r in rows) else "bytes"
    weight: Counter[tuple[str, str, str]] = Counter()
    for r in rows:
        if r[use]:
            weight[r["path"], r.get("interface") or "", r["label"]] += r[use]
    total = trials if use == "fraction" else sum(weight.values())
    return tuple(
        PathShare(path=path, interface=interface or None, label=label, fraction=n / total)
        for (path, interface, label), n in sorted(weight.items(), key=lambda x: (-x[1], x[0]))
    )


def _path(paths: Sequence[PathShare]) -> tuple[str | None, str | None]:
    """Return ("shm 97 % (inferred), udp 3 %", "shm") for the result of `_paths`."""
    fractions: dict[str, float] = {}
    labels: dict[str, set[str]] = {}
    for share in paths:
        fractions[share.path] = fractions.get(share.path, 0.0) + share.fraction
        labels.setdefault(share.path, set()).add(share.label)
    if not fractions:
        return None, None
    ordered = sorted(fractions.items(), key=lambda x: (-x[1], x[0]))
    texts = [
        f"{p} {100 * n:.0f} %{' (inferred)' if labels[p] == {'inferred'} else ''}"
        for p, n in ordered
        if n >= 0.005
    ]
    return ", ".join(texts), ordered[0][0]


def qos_words(qos: dict[str, Any]) -> str:
    depth = f" {qos['depth']}" if qos.get("history") == "keep_last" and "depth" in qos else ""
    return f"{qos.get('reliability')}, {qos.get('history')}{depth}, {qos.get('durability')}"


def _regranted(asked: dict[str, Any], granted: dict[str, Any]) -> list[str]:
    """Return the settings that were granted otherwise than asked; a depth means nothing with
    keep_all."""
    compared = asked.keys() & granted.keys() - (
        {"depth"} if asked.get("history") == "keep_all" else set()
    )
    return [
        f"asked for {k} {asked[k]}, granted {granted[k]}"
        for k in asked
        if k in compared and granted[k] != asked[k]
    ]


def taken_as(granted: str | None, lent: int, taken: int) -> str | None:
    """Return how messages were taken, from the records, since an API may lend some messages and
    copy others: `lent`, the reader's own kind, or both if each is more than one message in a
    hundred. If no message was taken, return the granted kind; None if none was granted."""
    if granted is None or not taken:
        return granted
    own = " / ".join(k for k in granted.split(" / ") if k != "lent") or "typed"
    share = lent / taken
    if share <= SELDOM:
        return own
    return "lent" if share >= 1 - SELDOM else f"lent / {own}"


def _when_full(granted: Grants) -> str | None:
    """Return `publisher blocks, subscription drops at reader`; None if nothing was granted."""
    parts = []
    for kind in ("publisher", "subscription"):
        conduct = _joined(g.get("when_full") for k, _, g in granted if k == kind)
        if conduct is not None:
            parts.append(f"{kind} {conduct.replace('_', ' ')}")
    return ", ".join(parts) or None


def _joined(values: Iterable[str | None]) -> str | None:
    """Return the value, several ones joined if endpoints differ, and None if none is known."""
    return " / ".join(dict.fromkeys(v for v in values if v)) or None


def as_installed(arm: Mapping[str, Any], profile: str | None) -> bool:
    """Whether an arm of this definition sets nothing. Fast DDS publishes within the call by itself;
    the option `path` asks for a path and sets nothing."""
    return (
        (profile or "").rstrip("*") == "untouched"
        and not arm.get("modes")
        and set(arm.get("options") or {}) <= {"path"}
        and arm.get("publish_mode", "default") in ("default", "sync")
    )
