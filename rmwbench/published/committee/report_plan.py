"""A committee's report before anything runs: each section's share of the budget, and which sections
do not fit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.command_name import command_line
from rmwbench.published.committee.sections import SCATTER, WITHOUT_RUNS, BudgetShare
from rmwbench.report.view import Block, Items, Table, Text, View
from rmwbench.words import numbers as fmt

TITLE = "Middlewares for ROS 2: a report for its technical steering committee"


@dataclass(frozen=True, kw_only=True)
class ReportPlan:
    """`absent`: section -> why it cannot run here; `machines`: how many the cluster has, None for
    this machine; `options`: those of the command line that chose the arms and the seed."""

    evaluation: str
    budget_s: float
    shares: Sequence[BudgetShare]
    absent: Mapping[str, str]
    machines: int | None
    options: Sequence[str] = ()

    @property
    def seconds(self) -> float:
        return sum(share.seconds for share in self.shares)

    @property
    def estimated_s(self) -> float:
        return round(self.seconds, 1)

    @property
    def machine_hours(self) -> float:
        return round(self.seconds * (self.machines or 1) / 3600, 2)

    @property
    def is_whole(self) -> bool:
        """Whether every section is planned."""
        return not self.absent and all(share.blocks for share in self.shares)

    def document(self) -> dict[str, Any]:
        return {
            "schema": "rmwbench/evaluate-plan",
            "version": 1,
            "evaluation": self.evaluation,
            "budget_s": self.budget_s,
            "estimated_s": self.estimated_s,
            "machines": self.machines,
            "machine_hours": self.machine_hours,
            "scatter": SCATTER,
            "sections": [
                {
                    "section": share.cost.section.name,
                    "title": share.cost.section.title,
                    "suite": share.cost.section.suite,
                    "short": share.cost.short,
                    "conditions": [condition.comparison for condition in share.chosen],
                    "of_conditions": len(share.cost.conditions),
                    "blocks": share.blocks,
                    "estimated_s": round(share.seconds, 1),
                    "least_s": round(share.cost.least_s, 1),
                    "trials": share.trials,
                    "arms": list(share.cost.arms),
                    "resolvable_ratio": share.resolvable_ratio,
                }
                for share in self.shares
            ],
            "cannot_run": dict(self.absent),
            "without_runs": dict(WITHOUT_RUNS),
        }


def view(plan: ReportPlan) -> View:
    rows = [(share.cost.section.title, *_cells(share)) for share in plan.shares]
    heads = ("conditions", "blocks", "time", "trials", "finds")
    table = Table(("section", *((head, True) for head in heads)), rows)
    estimated = (
        f"{fmt.duration(plan.estimated_s)} of {fmt.duration(plan.budget_s)}"
        f"{_on_machines(plan)}. A section finds ratios from the last column on, in 95 of 100 "
        f"campaigns, where block log-ratios scatter by {SCATTER:g}."
    )
    absent = [f"{name} cannot run here: {reason}" for name, reason in plan.absent.items()]
    budget = ("--budget", f"{math.ceil(plan.budget_s)}s")
    cluster = ("--cluster", "ADDRESS") if plan.machines else ()
    words = (plan.evaluation, *budget, *plan.options, *cluster, "-o", "DIR")
    command = command_line("published", "report", *words)
    not_run = ", ".join(f"{name} ({verb})" for name, verb in WITHOUT_RUNS.items())
    answer: list[Block] = [Items(absent, "warning", mark="!")] if absent else []
    answer += [Text(estimated), Text(f"Nothing runs in {not_run}.")]
    answer.append(Text(f"To run it and write the report: `{command}`", "strong"))
    return View(title=TITLE, about=[table], answer=answer)


def _cells(share: BudgetShare) -> tuple[str, ...]:
    ratio = share.resolvable_ratio
    if ratio is None:  # it does not fit
        least = fmt.duration(round(share.cost.least_s, 1))
        return ("–", "–", f"needs {least}", "–", "not measured")
    conditions = f"{len(share.chosen)} of {len(share.cost.conditions)}"
    time = fmt.duration(round(share.seconds, 1))
    return (conditions, str(share.blocks), time, str(share.trials), f"{fmt.significant(ratio)}×")


def _on_machines(plan: ReportPlan) -> str:
    if plan.machines is None:
        return ""
    machines = fmt.counted(plan.machines, "machine")
    return f" on {machines} of a cluster, {fmt.significant(plan.machine_hours)} machine-hours"
