"""What a plan takes on so many machines, before any of them is asked: time, and the machine-hours
that it costs.

Machines cost as long as they are held, so the cost counts them all until the last one is done.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rmwbench.campaign.plan.plan import Plan, budget_text, duration_text
from rmwbench.cluster.batch_schedule import duration_s
from rmwbench.errors import UserError


def document(plan: Plan, machines: int, per_trial: int = 1) -> dict[str, Any]:
    """`cluster` of docs/formats/plan.md. `useful_machines`: those beyond have nothing to do, since
    a block of a comparison is one machine's (or gang's, of `per_trial` machines) and a look waits
    for all. Raises UserError where one trial takes more machines than there are."""
    gangs = machines // per_trial
    if not gangs:
        raise UserError(
            f"one trial takes {per_trial} machines",
            where="--cluster",
            expected=f"{per_trial} or more",
            actual=str(machines),
        )
    estimated_s = duration_s(_first_blocks(plan, _that_fit(plan)), gangs)
    ends = plan.looks or (plan.blocks,)
    parts = {(trial.block, plan.cell(trial.cell).comparison) for trial in plan.trials}
    stretches = [
        sum(first <= block < end for block, _ in parts)
        for first, end in zip((0, *ends), ends, strict=False)
    ]
    return {
        "machines": machines,
        **({"machines_per_trial": per_trial} if per_trial > 1 else {}),
        "estimated_s": round(estimated_s, 3),
        "machine_hours": round(machines * estimated_s / 3600, 4),
        "busy": round(plan.estimated_s / (gangs * estimated_s), 4) if estimated_s else None,
        "useful_machines": max(stretches) * per_trial,
    }


def text(found: dict[str, Any]) -> str:
    """`On 4 machines of a cluster: about 83.2 s, 0.092 machine-hours, 87 % of them trials`."""
    machines, useful = found["machines"], found["useful_machines"]
    what = f"On {machines} machine{'s' * (machines != 1)} of a cluster"
    what += (
        f", {found['machines_per_trial']} for each trial" if "machines_per_trial" in found else ""
    )
    what += ": at most about "
    what += f"{duration_text(found['estimated_s'])}, {found['machine_hours']:.2g} machine-hours"
    what += f", {100 * found['busy']:.0f} % of them trials" if found["busy"] else ""
    return (
        what + (f"; machines beyond {useful} have nothing to do" if machines > useful else "") + "."
    )


def machine_budget_s(make: Callable[[float | None], Plan], machines: int, budget_s: float) -> float:
    """The machine time of as many blocks as fit into `budget_s` of the cluster; `make` plans with a
    budget of machine time. Raises UserError where the suite's minimum of blocks does not fit."""
    plan = make(None)
    plan = make(max(budget_s * machines, plan.minimum_s))
    blocks = _that_fit(plan)
    while (
        duration_s(_first_blocks(plan, blocks), machines) > budget_s
        and blocks > plan.suite.blocks.minimum
    ):
        blocks -= 1
    needed_s = duration_s(_first_blocks(plan, blocks), machines)
    if needed_s > budget_s * (1 + 1e-9):
        raise UserError(
            f"the budget is too small for suite `{plan.suite.suite}`",
            expected=f"at least {duration_text(needed_s)} on {machines} machines: {blocks} blocks",
            actual=duration_text(budget_s),
            fix=f"give it --budget {budget_text(needed_s)} or more, or more machines",
        )
    return blocks * plan.block_s


def _that_fit(plan: Plan) -> int:
    """Its blocks; of a campaign by the clock those that its budget holds with all arms."""
    if plan.budget_s is None or plan.within_s is None:
        return plan.blocks
    return min(
        plan.blocks, max(math.floor(plan.budget_s / plan.block_s + 1e-9), plan.suite.blocks.minimum)
    )


def _first_blocks(plan: Plan, blocks: int) -> Plan:
    """The plan, were these all of its blocks."""
    if blocks == plan.blocks:
        return plan
    looks = (
        tuple(dict.fromkeys((*(look for look in plan.looks if look < blocks), blocks)))
        if plan.looks
        else ()
    )
    return replace(
        plan, blocks=blocks, looks=looks, trials=tuple(t for t in plan.trials if t.block < blocks)
    )
