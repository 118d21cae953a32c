"""What the answers say of symptoms and remedies."""

from collections.abc import Mapping
from dataclasses import dataclass

from rmwbench.analysis.causes.symptoms import Symptom
from rmwbench.analysis.verdicts.statements import StatementAnswer


@dataclass(frozen=True, kw_only=True)
class SymptomOfArm:
    """In a workload, or in that topic of it, with what was measured."""

    workload: str
    topic: str | None
    arm: str
    amounts: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class TriedRemedy:
    """The arm that has the remedy, against the one with the symptom, in one metric."""

    workload: str
    topic: str | None
    arm: str
    against: str
    metric: str
    answer: StatementAnswer


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What helps against a symptom of one middleware. `arm`, `setting`: the remedy, both None where
    none is known; `source` is the manual, `worth` what it was measured to be worth, `worth_where`
    the document. `command` tries it, where its arm is not in the campaign; `tried`: what it gained
    where it is."""

    symptom: Symptom
    is_harm: bool
    middleware: str
    seen: tuple[SymptomOfArm, ...]
    arm: str | None
    setting: str | None
    source: str | None
    worth: str | None
    worth_where: str | None
    command: str | None
    tried: tuple[TriedRemedy, ...]
