"""Gives advice for every symptom in a campaign: the known remedy of suites/remedies.yaml, the
command that tries it, and its gain if its arm ran beside the arm with the symptom.

The facts about an arm that decide its symptoms are what was granted, configured, counted and
measured. Gains are statements of the one engine, delivery first; all of a report share one
probability of error."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import PurePath
from typing import Annotated, Any

import yaml
from pydantic import Field

from rmwbench.analysis.causes.loss_places import drops
from rmwbench.analysis.causes.symptoms import Conduct, SeenSymptom, Symptom, symptoms
from rmwbench.analysis.metrics.aggregate import aggregate, judged_loss
from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import POOLED
from rmwbench.analysis.verdicts import statements
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.bundle import Bundle
from rmwbench.bundle.evidence import SmallTables
from rmwbench.codes import SENDERS
from rmwbench.results.explain.explain_model import Advice, SymptomOfArm, TriedRemedy
from rmwbench.results.judged_campaign import JudgedCampaign
from rmwbench.results.show_model import Levels
from rmwbench.results.workload.workload_arm import ArmReport, described_of, statement
from rmwbench.suite.fault import Strict
from rmwbench.suite.file.suite_files import REMEDIES_FILE, read, suite_files, suites_directory

RATE = "rate_hz"
"""The factor whose lower levels show a processor that sleeps between two messages."""

STALLS = ("stall_outside_outages", "longest_stall")
"""Metrics of the longest silence; the first leaves out times at which a link or a node was away."""
_SEEN_IN = {Symptom.LATE_REPAIR: STALLS, Symptom.QUEUE_HOLDS_PUBLISHER: ("publish_call_p50",)}
NO_SEGMENT = ("udp", "tcp", "unix", "intra_process")
"""Modes of transport, and paths, that use no shared memory."""
_SEGMENT = re.compile(r"<segment_size>\s*(\d+)")
_HEARTBEAT = re.compile(
    r"<heartbeat_?period>\s*(?:<sec>\s*(\d+)\s*</sec>)?\s*(?:<nanosec>\s*(\d+))?", re.IGNORECASE
)
_SHARES_DATA = re.compile(r"<data_sharing>\s*<kind>\s*(?:ON|AUTO)")


class Worth(Strict):
    """A figure that we measured, and the document that has it."""

    figure: str
    where: str


class Remedy(Strict):
    """A known remedy. `middlewares`: those that it is for, any if empty. `arm`: the candidate that
    has it; `setting`: in words; both None if none is known. `source`: the manual of a version,
    quoted. `one_host`: it is of no use between hosts."""

    symptom: Annotated[Symptom, Field(strict=False)]
    middlewares: Annotated[tuple[str, ...], Field(strict=False)] = ()
    arm: str | None = None
    setting: str | None = None
    source: str
    worth: Worth | None = None
    one_host: bool = False


class AsInstalled(Strict):
    """The defaults of a middleware, which hold if its configuration does not set them."""

    segment_bytes: int
    heartbeat_ms: int


class RemediesFile(Strict):
    """The whole file. `as_installed`: middleware -> its defaults."""

    as_installed: dict[str, AsInstalled] = Field(default_factory=dict)
    remedies: Annotated[tuple[Remedy, ...], Field(strict=False)]

    def remedy(self, symptom: Symptom, middleware: str, *, one_host: bool) -> Remedy | None:
        """Return the first remedy that suits; None if none is known."""
        return next(
            (
                r
                for r in self.remedies
                if r.symptom is symptom
                and (not r.middlewares or middleware in r.middlewares)
                and (one_host or not r.one_host)
            ),
            None,
        )


@cache
def known_remedies() -> RemediesFile:
    """Return the shipped remedies, read without the checks that a user's file needs, since every
    `show` waits for them."""
    written = yaml.load(read(suites_directory() / REMEDIES_FILE), Loader=yaml.CSafeLoader)
    return RemediesFile.model_validate(written)


_Group = tuple[Symptom, str, Remedy | None]
"""A symptom of a middleware, and its remedy: None if none is known, as for some symptoms between
hosts."""


@dataclass(frozen=True)
class _Case:
    """A symptom of an arm, and the remedy that is known for it."""

    workload: str
    arm: ArmReport
    symptom: SeenSymptom
    remedy: Remedy | None

    @property
    def group(self) -> _Group:
        return self.symptom.symptom, self.arm.cell["middleware"], self.remedy


@dataclass(frozen=True)
class _Gain:
    """A question: how much did `arm` gain, which has the remedy of the case?"""

    case: _Case
    arm: ArmReport
    statement: Statement


def advice(
    bundle: Bundle, campaign: JudgedCampaign, rules: Rules, levels: Sequence[Levels]
) -> tuple[Advice, ...]:
    """Return the advice in the order of `Symptom`. `rules.alpha` is that of the report, or of its
    last look; `levels`: the effects of factors."""
    cases = [*_cases(bundle, campaign, levels)]
    gains = [gain for case in cases for gain in _gains(case, campaign.arms[case.workload])]
    answers = statements.judge([gain.statement for gain in gains], rules)
    tried: dict[_Group, list[TriedRemedy]] = {}
    for gain, answer in zip(gains, answers, strict=True):
        tried.setdefault(gain.case.group, []).append(
            TriedRemedy(
                workload=gain.case.workload,
                topic=gain.statement.topic,
                arm=gain.arm.name,
                against=gain.case.arm.name,
                metric=gain.statement.metric.name,
                answer=answer,
            )
        )
    groups: dict[_Group, list[_Case]] = {}
    for case in cases:
        groups.setdefault(case.group, []).append(case)
    places = [*Symptom]
    return tuple(
        _advice(members, bundle, campaign, tuple(tried.get(group, ())))
        for group, members in sorted(groups.items(), key=lambda item: places.index(item[0][0]))
    )


def _cases(bundle: Bundle, campaign: JudgedCampaign, levels: Sequence[Levels]) -> Iterator[_Case]:
    """Yield the symptoms of all arms, without those of an arm that is their remedy itself."""
    rare = {*_slower_when_rare(levels)}
    for workload, arms in campaign.arms.items():
        for arm in arms:
            if arm.floor or not arm.trials:
                continue
            slower = (workload, arm.name) in rare
            facts = conduct(arm, bundle, campaign.small, slower_when_rare=slower)
            for symptom in symptoms(facts):
                remedy = known_remedies().remedy(
                    symptom.symptom, arm.cell["middleware"], one_host=facts.one_host
                )
                if remedy is None or remedy.arm != arm.name:
                    yield _Case(workload, arm, symptom, remedy)


def _slower_when_rare(levels: Sequence[Levels]) -> Iterator[tuple[str, str]]:
    """Yield (comparison, arm) of each arm that is decided to be slower at a rate than at a higher
    one."""
    for ladder in (ladder for ladder in levels if ladder.factor == RATE):
        for step in ladder.steps:
            if step.metric != ladder.primary_metric:
                continue
            slow, quick = sorted((step.level, step.against))
            answer = "worse" if step.level == slow else "better"
            if step.answer.verdict == answer and slow != quick:
                yield ladder.comparisons[ladder.levels.index(slow)], ladder.arm


def _gains(case: _Case, arms: Sequence[ArmReport]) -> Iterator[_Gain]:
    """Yield the gains of the arm that has the remedy, if it ran: in delivery, in the primary
    metric, and in the metric that shows the symptom."""
    arm, symptom, remedy = case.arm, case.symptom.symptom, case.remedy
    remedy_arm = next((a for a in arms if remedy is not None and a.name == remedy.arm), None)
    if remedy_arm is None or not remedy_arm.trials:
        return
    symptom_metric = metric_of(symptom, arm)
    metrics = judged_loss(arm.primary), arm.primary, *([symptom_metric] if symptom_metric else [])
    group = (case.workload, arm.name, symptom.value)
    for metric in dict.fromkeys(metrics):
        topic = largest_topic(arm) if metric in POOLED else None
        yield _Gain(case, remedy_arm, statement(remedy_arm, arm, metric, topic, group))


def _advice(
    group: Sequence[_Case], bundle: Bundle, campaign: JudgedCampaign, tried: tuple[TriedRemedy, ...]
) -> Advice:
    symptom, middleware, remedy = group[0].group
    worth = remedy.worth if remedy else None
    return Advice(
        symptom=symptom,
        is_harm=symptom.is_harm,
        middleware=middleware,
        seen=tuple(
            SymptomOfArm(
                workload=case.workload,
                topic=largest_topic(case.arm),
                arm=case.arm.name,
                amounts=case.symptom.amounts,
            )
            for case in group
        ),
        arm=remedy.arm if remedy else None,
        setting=remedy.setting if remedy else None,
        source=remedy.source if remedy else None,
        worth=worth.figure if worth else None,
        worth_where=worth.where if worth else None,
        command=None if tried else _command(group, bundle, campaign),
        tried=tried,
    )


def _command(group: Sequence[_Case], bundle: Bundle, campaign: JudgedCampaign) -> str | None:
    """Return the command that runs the suite again with the remedy's arm, or only its workloads
    with the symptom."""
    remedy = group[0].remedy
    request = bundle.campaign.request or {}
    if remedy is None or remedy.arm is None or not request.get("suite_file"):
        return None
    words = ["rmwbench run", _suite(str(request["suite_file"]))]
    words += ["--short"] * bool(request.get("shortened"))
    if network := request.get("network"):
        words.append(f"--network {shlex.quote(str(network))}")
    workloads = {w.name: w.workload for w in campaign.workloads}
    workloads_of_group = dict.fromkeys(workloads[case.workload] for case in group)
    if len(workloads_of_group) < len({*workloads.values()}):
        words += [f"--workload {name}" for name in workloads_of_group]
    return " ".join([*words, f'--with "{remedy.arm}"'])


def _suite(file: str) -> str:
    """Return the suite as a user types it: a shipped suite by its name, else its file, wherever it
    was."""
    below = PurePath(file).as_posix().rpartition("/suites/")[2]
    for name, path in suite_files().items():
        if path.relative_to(suites_directory()).as_posix() == below:
            return name
    return shlex.quote(f"./{PurePath(file).name}")


def of_arm(of_campaign: Sequence[Advice], workload: str, arm: str) -> tuple[Advice, ...]:
    return tuple(
        advice
        for advice in of_campaign
        if any((s.workload, s.arm) == (workload, arm) for s in advice.seen)
    )


def largest_topic(arm: ArmReport) -> str | None:
    """Return the topic with the largest message; None if topics are not judged by themselves."""
    if not arm.topics:
        return None
    return max(arm.topics, key=lambda topic: topic.payload_bytes or 0).name


def conduct(
    arm: ArmReport, bundle: Bundle, small: SmallTables, *, slower_when_rare: bool
) -> Conduct:
    topic = largest_topic(arm)
    trials = arm.trials_in(topic)
    writer = _writer(arm)
    granted, asked_settings = json_column(writer.get("granted")), json_column(writer.get("asked"))
    qos, arrival = granted.get("qos") or {}, asked_settings.get("arrival") or {}
    described = described_of(arm.cell, bundle)
    capabilities = described.capabilities if described else {}

    def median(metric: str) -> float | None:
        value = aggregate(GLOSSARY[metric], trials).value
        return value if value is not None and isfinite(value) else None

    service, call = median("service_latency_p50"), median("publish_call_p50")
    segment_bytes, heartbeat_ns = _configured(arm, bundle)
    stall = _first_measured(STALLS, arm)
    dropped = [drops(small.counters[t.trial]).sockets or {} for t in arm.trials]
    return Conduct(
        one_host=len({e["host"] for e in arm.endpoints}) == 1,
        payload_bytes=writer.get("payload_bytes"),
        segment_bytes=segment_bytes,
        heartbeat_ns=heartbeat_ns,
        missing=sum(t.messages.ledger.undelivered for t in arm.trials),
        wanted=sum(t.messages.ledger.wanted for t in arm.trials),
        dropped=sum(sum(by_socket.values()) for by_socket in dropped),
        response_ns=median("response_latency_p50"),
        way_ns=None if service is None or call is None else service - call,
        frames_lost=aggregate(GLOSSARY["frames_lost"], arm.trials).value,
        stall_ns=stall[1] if stall else None,
        period_ns=arrival.get("period_ns"),
        burst=arrival.get("count") or 1,
        depth=qos.get("depth") if qos.get("history") == "keep_last" else None,
        reliable=arm.is_reliable_in(topic),
        held_ns=call if granted.get("when_full") == "blocks" else None,
        lends=str(capabilities.get("loan", "no")).split(":")[0] in ("yes", "partly"),
        lent=bool(arm.arm.get("loan")) or arm.take == "lent",
        calls_back=capabilities.get("callback") == "yes",
        waits_in_a_set=arm.arm.get("wait", "block") == "block",
        slower_when_rare=slower_when_rare,
    )


def _first_measured(metrics: Sequence[str], arm: ArmReport) -> tuple[str, float] | None:
    """Return the first of these metrics that was measured, with its value over all trials."""
    values = ((name, aggregate(GLOSSARY[name], arm.trials).value) for name in metrics)
    return next(((name, value) for name, value in values if value is not None), None)


def metric_of(symptom: Symptom, arm: ArmReport) -> str | None:
    """Return the metric that shows whether the symptom is gone; None if delivery and the primary
    metric show it. A silence of seconds may change neither the median nor delivery."""
    measured = _first_measured(_SEEN_IN.get(symptom, ()), arm)
    return measured[0] if measured else None


def _writer(arm: ArmReport) -> dict[str, Any]:
    writers = [e for e in arm.endpoints if e["kind"] in SENDERS]
    return max(writers, key=lambda e: e["payload_bytes"] or 0, default={})


def _configured(arm: ArmReport, bundle: Bundle) -> tuple[float | None, float | None]:
    """Return the size of the segment through which the arm sends, in bytes, and the heartbeat of
    its writers, in ns: as configured, else as installed; None if the middleware has none."""
    installed = known_remedies().as_installed.get(arm.cell["middleware"])
    if installed is None:
        return None, None
    text = _in_force(arm, bundle)
    modes = arm.arm.get("modes") or {}
    segment: float | None = modes.get("shm_pool_bytes") or installed.segment_bytes
    if (size := _SEGMENT.search(text)) and float(size[1]):  # 0: the library's own size
        segment = float(size[1])
    if {modes.get("transport"), arm.main_path} & {*NO_SEGMENT} or _SHARES_DATA.search(text):
        segment = None
    heartbeat_ns = installed.heartbeat_ms * 1e6
    if period := _HEARTBEAT.search(text):
        heartbeat_ns = int(period[1] or 0) * 1e9 + int(period[2] or 0)
    return segment, heartbeat_ns


def _in_force(arm: ArmReport, bundle: Bundle) -> str:
    """Return the configuration that a publisher's process used, else the profile's own text."""
    process = _writer(arm).get("process")
    for trial in arm.trials[:1]:
        for row in bundle.rows("files", trial.trial):
            if row["name"].startswith(f"{process}.configuration."):
                return bundle.file(row["sha256"]).decode(errors="replace")
    return (arm.configuration.text if arm.configuration else None) or ""
