"""Of every symptom in a campaign: what is known to help, the command that tries it, and what it
gained where its arm was run beside the one with the symptom.

Gains are statements of the one engine, delivery first; all of a report share one probability of
error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rmwbench.analysis.causes.symptoms import SeenSymptom, Symptom, symptoms
from rmwbench.analysis.metrics.aggregate import judged_loss
from rmwbench.analysis.metrics.judged_topics import POOLED
from rmwbench.analysis.verdicts import statements
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.bundle import Bundle
from rmwbench.results.judged import JudgedCampaign
from rmwbench.results.remedies.arm_conduct import conduct, largest_topic, metric_of
from rmwbench.results.remedies.remedies_file import Remedy, known_remedies
from rmwbench.results.remedies.remedy_model import Advice, SymptomOfArm, TriedRemedy
from rmwbench.results.shown import Levels
from rmwbench.results.workload.workload_arm import ArmReport, statement

RATE = "rate_hz"
"""The factor whose lower levels show a processor that sleeps between two messages."""

_Group = tuple[Symptom, str, Remedy | None]
"""A symptom of a middleware, and its remedy: another one, or none, between hosts."""


@dataclass(frozen=True)
class _Seen:
    workload: str
    arm: ArmReport
    symptom: SeenSymptom
    remedy: Remedy | None

    @property
    def topic(self) -> str | None:
        return largest_topic(self.arm)

    @property
    def of(self) -> _Group:
        return self.symptom.symptom, self.arm.cell["middleware"], self.remedy


@dataclass(frozen=True)
class _AskedGain:
    seen: _Seen
    arm: ArmReport
    statement: Statement


def advice(
    bundle: Bundle, campaign: JudgedCampaign, rules: Rules, levels: Sequence[Levels] = ()
) -> tuple[Advice, ...]:
    """In the order of `Symptom`. `rules.alpha` is that of the report, or of its last look;
    `levels`: what factors do."""
    seen = [*_seen(bundle, campaign, levels)]
    asked = [one for each in seen for one in _asked(each, campaign.arms[each.workload])]
    answers = statements.judge([one.statement for one in asked], rules)
    tried: dict[_Group, list[TriedRemedy]] = {}
    for one, answer in zip(asked, answers, strict=True):
        tried.setdefault(one.seen.of, []).append(
            TriedRemedy(
                workload=one.seen.workload,
                topic=one.statement.topic,
                arm=one.arm.name,
                against=one.seen.arm.name,
                metric=one.statement.metric.name,
                answer=answer,
            )
        )
    groups: dict[_Group, list[_Seen]] = {}
    for each in seen:
        groups.setdefault(each.of, []).append(each)
    places = [*Symptom]
    return tuple(
        _advice(group, bundle, campaign, tuple(tried.get(of, ())))
        for of, group in sorted(groups.items(), key=lambda item: places.index(item[0][0]))
    )


def _seen(bundle: Bundle, campaign: JudgedCampaign, levels: Sequence[Levels]) -> Iterator[_Seen]:
    """Without the symptoms of an arm that is their remedy itself."""
    rare = {*_slower_when_rare(levels)}
    for workload, arms in campaign.arms.items():
        for arm in arms:
            if arm.floor or not arm.trials:
                continue
            slower = (workload, arm.name) in rare
            it = conduct(arm, bundle, campaign.small, slower_when_rare=slower)
            for symptom in symptoms(it):
                remedy = known_remedies().remedy(
                    symptom.symptom, arm.cell["middleware"], one_host=it.one_host
                )
                if remedy is None or remedy.arm != arm.name:
                    yield _Seen(workload, arm, symptom, remedy)


def _slower_when_rare(levels: Sequence[Levels]) -> Iterator[tuple[str, str]]:
    """Comparison and arm: decided to take longer at a rate than at a higher one, and no loss."""
    for one in levels:
        if one.factor != RATE:
            continue
        for step in one.steps:
            if step.metric != one.primary_metric:
                continue
            slow, quick = sorted((step.level, step.against))
            answer = "worse" if step.level == slow else "better"
            if step.answer.verdict == answer and slow != quick:
                yield one.comparisons[one.levels.index(slow)], one.arm


def _asked(seen: _Seen, arms: Sequence[ArmReport]) -> Iterator[_AskedGain]:
    """What the arm that has the remedy gained: in delivery, in the primary metric, and in the one
    that the symptom is seen in."""
    remedy, topic = seen.remedy, seen.topic
    other = next((arm for arm in arms if remedy is not None and arm.name == remedy.arm), None)
    if other is None or not other.trials:
        return
    own = metric_of(seen.symptom.symptom, seen.arm)
    metrics = judged_loss(seen.arm.primary), seen.arm.primary, *([own] if own else [])
    group = (seen.workload, seen.arm.name, seen.symptom.symptom.value)
    for metric in dict.fromkeys(metrics):
        of = topic if metric in POOLED else None
        yield _AskedGain(seen, other, statement(other, seen.arm, metric, of, group))


def _advice(
    group: Sequence[_Seen], bundle: Bundle, campaign: JudgedCampaign, tried: tuple[TriedRemedy, ...]
) -> Advice:
    symptom, middleware, remedy = group[0].of
    worth = remedy.worth if remedy else None
    return Advice(
        symptom=symptom,
        is_harm=symptom.is_harm,
        middleware=middleware,
        seen=tuple(
            SymptomOfArm(
                workload=one.workload,
                topic=one.topic,
                arm=one.arm.name,
                amounts=one.symptom.amounts,
            )
            for one in group
        ),
        arm=remedy.arm if remedy else None,
        setting=remedy.setting if remedy else None,
        source=remedy.source if remedy else None,
        worth=worth.figure if worth else None,
        worth_where=worth.where if worth else None,
        command=None if tried else _command(group, bundle, campaign),
        tried=tried,
    )


def _command(group: Sequence[_Seen], bundle: Bundle, campaign: JudgedCampaign) -> str | None:
    """What tries it: the suite again, or the workload of it with the symptom, with one arm more."""
    remedy = group[0].remedy
    request = bundle.campaign.request or {}
    if remedy is None or remedy.arm is None or not request.get("suite_file"):
        return None
    words = ["rmwbench run", _suite(str(request["suite_file"]))]
    words += ["--short"] * bool(request.get("shortened"))
    workloads = {w.name: w.workload for w in campaign.workloads}
    wanted = dict.fromkeys(workloads[one.workload] for one in group)
    if len(wanted) < len({*workloads.values()}):
        words += [f"--workload {name}" for name in wanted]
    return " ".join([*words, f'--with "{remedy.arm}"'])


def _suite(file: str) -> str:
    """As one types it: a shipped suite by its name, else its file, wherever that was."""
    from rmwbench.suite.file.places import suite_files, suites_directory

    below = PurePath(file).as_posix().rpartition("/suites/")[2]
    for name, path in suite_files().items():
        if path.relative_to(suites_directory()).as_posix() == below:
            return name
    return f"./{PurePath(file).name}"


def of_arm(of_campaign: Sequence[Advice], workload: str, arm: str) -> tuple[Advice, ...]:
    """The advice that is about this arm there."""
    return tuple(
        one for one in of_campaign if any((s.workload, s.arm) == (workload, arm) for s in one.seen)
    )
