"""The types of symptoms and remedies in answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from rmwbench.analysis.causes.symptoms import Symptom
from rmwbench.analysis.verdicts.statements import StatementAnswer


@dataclass(frozen=True, kw_only=True)
class SymptomOfArm:
    """A symptom of an arm in a workload, or in a topic of it, with the measured amounts."""

    workload: str
    topic: str | None
    arm: str
    amounts: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class TriedRemedy:
    """The arm that has the remedy, compared with the arm that has the symptom, in one metric."""

    workload: str
    topic: str | None
    arm: str
    against: str
    metric: str
    answer: StatementAnswer


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The advice for a symptom of one middleware. `arm`, `setting`: the remedy, both None if none
    is known; `source` is the manual, `worth` the gain that was measured before, `worth_where` the
    document that has it. `command` tries the remedy, if its arm is not in the campaign; `tried`:
    its gains if it is."""

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
