"""Gives advice for every symptom in a campaign: the known remedy, the command that tries it, and
its gain if its arm ran beside the arm with the symptom.

Gains are statements of the one engine, delivery first; all of a report share one probability of
error."""

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
from rmwbench.results.judged_campaign import JudgedCampaign
from rmwbench.results.remedies.arm_conduct import conduct, largest_topic, metric_of
from rmwbench.results.remedies.remedies_file import Remedy, known_remedies
from rmwbench.results.remedies.remedy_model import Advice, SymptomOfArm, TriedRemedy
from rmwbench.results.show_model import Levels
from rmwbench.results.workload.workload_arm import ArmReport, statement

RATE = "rate_hz"
"""The factor whose lower levels show a processor that sleeps between two messages."""

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
    workloads = {w.name: w.workload for w in campaign.workloads}
    workloads_of_group = dict.fromkeys(workloads[case.workload] for case in group)
    if len(workloads_of_group) < len({*workloads.values()}):
        words += [f"--workload {name}" for name in workloads_of_group]
    return " ".join([*words, f'--with "{remedy.arm}"'])


def _suite(file: str) -> str:
    """Return the suite as a user types it: a shipped suite by its name, else its file, wherever it
    was."""
    from rmwbench.suite.file.suite_files import suite_files, suites_directory

    below = PurePath(file).as_posix().rpartition("/suites/")[2]
    for name, path in suite_files().items():
        if path.relative_to(suites_directory()).as_posix() == below:
            return name
    return f"./{PurePath(file).name}"


def of_arm(of_campaign: Sequence[Advice], workload: str, arm: str) -> tuple[Advice, ...]:
    return tuple(
        advice
        for advice in of_campaign
        if any((s.workload, s.arm) == (workload, arm) for s in advice.seen)
    )
