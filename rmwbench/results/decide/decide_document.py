"""Computes the answer of `rmwbench decide` from the data of candidates (docs/formats/decide.md);
the terminal and the page are rendered from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rmwbench.analysis.decide.decisions import (
    CaseOutcomes,
    DecisionAnswer,
    UserLimit,
    decide,
    factor_outcomes,
    overall_rules,
)
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.limit_outcomes import NothingArrives, Outcome
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.bundle import Bundle
from rmwbench.results.decide import decide_model as model
from rmwbench.results.decide import decide_words
from rmwbench.results.decide.candidate_campaigns import (
    CandidateCase,
    Identity,
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
class _DecidedMachine:
    """The answer of one machine, its limits, and the outcome of each candidate by an identity that
    is the same on any machine."""

    answer: model.MachineDecision
    limits: Sequence[UserLimit]
    outcomes: Mapping[str, Outcome]


def summarise(bundles: Sequence[Bundle], limits: LimitsFile) -> model.Decided:
    """Return the decision between candidates by a user's limits. Raises UserError for a bundle that
    is not a campaign of a suite, and if the limits are for none of its cells."""
    machines = gather(bundles, limits)
    if not any(machine.selected for machine in machines):
        raise no_such_case(limits, [case.name for machine in machines for case in machine.cases])
    check_topics(limits, frozenset().union(*(machine.topics for machine in machines)))
    rules = Rules()
    decided = [_decided(machine, limits, rules) for machine in machines if machine.selected]
    user_limits = _limits(limits)
    answers = tuple(machine.answer for machine in decided)
    outcome = overall_outcome([machine.outcomes for machine in decided])
    metrics = dict.fromkeys(limit.metric for machine in decided for limit in machine.limits)
    return model.Decided(
        limits=user_limits,
        rules=model.DecidedBy(alpha=rules.alpha, min_blocks=rules.min_blocks),
        outcome=outcome,
        text=decide_words.answer(user_limits, answers, outcome),
        machines=answers,
        left_out=tuple(machine.summary for machine in machines if not machine.selected),
        glossary={name: GlossaryEntry(**GLOSSARY[name].document()) for name in metrics},
    )


def overall_outcome(machines: Sequence[Mapping[str, Outcome]]) -> Outcome:
    """Return the outcome over machines, each with the identities of its candidates: `meets` if one
    candidate is decided to meet all limits on each machine, `misses` if every candidate of some
    machine misses them, else `open`."""
    meets = [{name for name, o in outcomes.items() if o is Outcome.MEETS} for outcomes in machines]
    if meets and set.intersection(*meets):
        return Outcome.MEETS
    if any(set(outcomes.values()) == {Outcome.MISSES} for outcomes in machines):
        return Outcome.MISSES
    return Outcome.OPEN


def _decided(machine: MachineData, limits: LimitsFile, rules: Rules) -> _DecidedMachine:
    selected = machine.selected
    names = [
        name
        for name in machine.arms
        if any(name in machine.candidates[case.name] for case in selected)
    ]
    machine_rules = overall_rules(rules, len(machine.cases))
    case_rules = replace(machine_rules, alpha=machine_rules.alpha / len(machine.cases))
    user_limits = limits_in(selected, machine)
    candidates = [candidate(name, selected, machine, user_limits) for name in names]
    answers = decide(candidates, user_limits, machine_rules)
    by_case = {case.name: _of_case(case, machine, case_rules) for case in machine.cases}
    case_outcomes = [
        CaseOutcomes(
            f"{case.workload}{case.defined}",
            case.levels,
            {answer.arm: answer.outcome for answer in by_case[case.name]},
        )
        for case in machine.cases
        if limits.of.workload in (None, case.workload)
    ]
    decision = model.MachineDecision(
        summary=machine.summary,
        campaigns=machine.campaigns,
        candidates=tuple(_contender(answer, machine.arms[answer.arm]) for answer in answers),
        cases=tuple(
            model.WorkloadCase(
                case=case.name,
                workload=case.workload,
                levels=case.levels,
                candidates=by_case[case.name],
            )
            for case in selected
        ),
        along=tuple(factor_outcomes(case_outcomes)),
    )
    outcomes = {machine.arms[answer.arm].identity: answer.outcome for answer in answers}
    return _DecidedMachine(decision, user_limits, outcomes)


def _of_case(case: CandidateCase, machine: MachineData, rules: Rules) -> tuple[DecisionAnswer, ...]:
    limits = limits_in([case], machine)
    candidates = [
        candidate(name, [case], machine, limits) for name in machine.candidates[case.name]
    ]
    return tuple(decide(candidates, limits, rules))


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


def _contender(answer: DecisionAnswer, arm: Identity) -> model.Contender:
    return model.Contender(
        **vars(answer),
        middleware=arm.middleware,
        layer=arm.layer,
        version=arm.version,
        profile=arm.profile,
        role="contender",
    )
