"""What was gathered -> the answer of `rmwbench decide`, from which terminal and page are rendered
and whose document is docs/formats/decide.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.decide.chances import DecisionAnswer, UserLimit, decide
from rmwbench.analysis.decide.flips import Along, At, along
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.limit_outcomes import NothingArrives, Outcome
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.bundle import Bundle
from rmwbench.results.decide import decide_model as model
from rmwbench.results.decide import decide_words
from rmwbench.results.decide.candidate_campaigns import (
    GatheredCase,
    MachineData,
    candidate,
    gather,
    limits_in,
)
from rmwbench.results.model import GlossaryEntry
from rmwbench.results.workload.outcomes import at_most
from rmwbench.suite.file.limits_file import check_topics, no_such_case
from rmwbench.suite.limits import LimitsFile


@dataclass(frozen=True)
class _MachineAnswers:
    """One machine's answer. `cases`: an answer per case that the limits are of."""

    machine: MachineData
    answers: tuple[DecisionAnswer, ...]
    limits: tuple[UserLimit, ...]
    cases: tuple[tuple[GatheredCase, tuple[DecisionAnswer, ...]], ...]
    along: tuple[Along, ...]


def summarise(bundles: Sequence[Bundle], limits: LimitsFile) -> model.Decided:
    """What campaigns say by a user's limits. Raises UserError for a bundle that is not a campaign
    of a suite, and where the limits concern none of its cells."""
    machines = gather(bundles, limits)
    if not any(machine.selected for machine in machines):
        raise no_such_case(limits, [case.name for machine in machines for case in machine.cases])
    check_topics(limits, frozenset().union(*(machine.topics for machine in machines)))
    rules = Rules()
    decided = [_decided(machine, limits, rules) for machine in machines if machine.selected]
    asked = _limits(limits)
    answers = tuple(map(_machine, decided))
    outcome = overall([_by_identity(one) for one in decided])
    metrics = dict.fromkeys(limit.metric for one in decided for limit in one.limits)
    return model.Decided(
        limits=asked,
        rules=model.DecidedBy(alpha=rules.alpha, min_blocks=rules.min_blocks),
        outcome=outcome,
        text=decide_words.answer(asked, answers, outcome),
        machines=answers,
        left_out=tuple(machine.summary for machine in machines if not machine.selected),
        glossary={name: GlossaryEntry(**GLOSSARY[name].document()) for name in metrics},
    )


def _by_identity(one: _MachineAnswers) -> dict[str, Outcome]:
    """What each candidate is, whatever it is called there -> its outcome."""
    return {one.machine.arms[a.arm].identity: a.outcome for a in one.answers}


def overall(machines: Sequence[Mapping[str, Outcome]]) -> Outcome:
    """Over machines that stand side by side, each with its candidates' identities: `meets` where
    one candidate is decided to meet all limits on each of them, `misses` where on some machine
    every candidate misses, else `open`."""
    meets = [{name for name, one in of.items() if one is Outcome.MEETS} for of in machines]
    if meets and set.intersection(*meets):
        return Outcome.MEETS
    if any(set(of.values()) == {Outcome.MISSES} for of in machines):
        return Outcome.MISSES
    return Outcome.OPEN


def _decided(machine: MachineData, limits: LimitsFile, rules: Rules) -> _MachineAnswers:
    selected = machine.selected
    names = [
        name for name in machine.arms if any(name in machine.seen[case.name] for case in selected)
    ]
    # With several cases half of the error is for all of them together, half for one by one.
    half = replace(rules, alpha=rules.alpha / 2) if len(machine.cases) > 1 else rules
    each = replace(half, alpha=half.alpha / len(machine.cases))
    asked = limits_in(selected, machine)
    answers = decide([candidate(name, selected, machine, asked) for name in names], asked, half)
    by_case = {case.name: _of_case(case, machine, each) for case in machine.cases}
    at = [
        At(
            f"{case.workload}{case.defined}",
            case.levels,
            {one.arm: one.outcome for one in by_case[case.name]},
        )
        for case in machine.cases
        if limits.of.workload in (None, case.workload)
    ]
    return _MachineAnswers(
        machine,
        tuple(answers),
        tuple(asked),
        tuple((case, by_case[case.name]) for case in selected),
        tuple(along(at)),
    )


def _of_case(case: GatheredCase, machine: MachineData, rules: Rules) -> tuple[DecisionAnswer, ...]:
    asked = limits_in([case], machine)
    candidates = [candidate(name, [case], machine, asked) for name in machine.seen[case.name]]
    return tuple(decide(candidates, asked, rules))


def _limits(limits: LimitsFile) -> model.DecideLimits:
    document = limits.document()
    topics = {name: at_most(own) for name, own in document.get("topics", {}).items()}
    return model.DecideLimits(
        name=limits.limits,
        title=limits.title,
        acceptable=at_most(document["acceptable"]),
        topics=topics or None,
        none=NothingArrives(**document["none"]),
        of=model.Selected(workload=limits.of.workload, levels=limits.of.levels),
    )


def _machine(one: _MachineAnswers) -> model.MachineDecision:
    machine = one.machine
    return model.MachineDecision(
        summary=machine.summary,
        campaigns=machine.campaigns,
        candidates=tuple(_contender(answer, machine) for answer in one.answers),
        cases=tuple(
            model.WorkloadCase(
                case=case.name,
                workload=case.workload,
                levels=case.levels,
                candidates=answers,
            )
            for case, answers in one.cases
        ),
        along=one.along,
    )


def _contender(answer: DecisionAnswer, machine: MachineData) -> model.Contender:
    arm = machine.arms[answer.arm]
    return model.Contender(
        **vars(answer),
        middleware=arm.middleware,
        layer=arm.layer,
        version=arm.version,
        profile=arm.profile,
        role="contender",
    )
