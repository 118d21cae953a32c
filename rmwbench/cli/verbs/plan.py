"""`rmwbench plan SUITE`: shows the trials of a campaign, its duration and its resolution, without
running anything."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import print_json, print_view
from rmwbench.cli.options import SuiteOptions, json_option, with_options
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmwbench.campaign.plan.plan import Plan
    from rmwbench.campaign.plan.request import Planner, Request


def register(app: typer.Typer) -> None:
    app.command(
        name="plan", help="Show cells, trials, time and resolution of a suite, without running it."
    )(with_options(plan))


@dataclass(frozen=True, kw_only=True)
class PlanOptions(SuiteOptions):
    order: Annotated[bool, typer.Option("--order", help="List every trial in its order.")] = False
    cluster: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=100_000,
            help="Also print the duration on N machines of a cluster (docs/cluster.md).",
        ),
    ] = None
    gang: Annotated[
        bool,
        typer.Option(
            "--gang", help="With --cluster: hosts are machines, with the real network between them."
        ),
    ] = False
    as_json: Annotated[bool, json_option("Print the plan document (docs/formats/plan.md).")] = False


def plan(options: PlanOptions) -> None:
    from rmwbench.cluster import batch_schedule

    suite_plan, ungranted, per_trial = _make_plan(options)
    on_cluster: dict[str, Any] = {}
    if options.cluster is not None:
        on_cluster = batch_schedule.time_document(suite_plan, options.cluster, per_trial)
    if options.as_json:
        print_json(suite_plan.document() | ({"cluster": on_cluster} if on_cluster else {}))
    else:
        from rmwbench.cli.verbs.plan_view import view

        print_view(view(suite_plan, ungranted, order=options.order))
        if on_cluster:
            typer.echo(f"\n{batch_schedule.time_text(on_cluster)}")


def _make_plan(options: PlanOptions) -> "tuple[Plan, list[str], int]":
    """Return the plan, a line per buffer that this machine's kernel does not grant, and how many
    machines a trial takes."""
    from rmwbench.campaign.plan import socket_buffers, unsupported_cells
    from rmwbench.campaign.plan.machine_limits import MachineLimits
    from rmwbench.campaign.plan.request import Planner
    from rmwbench.campaign.start import check_request
    from rmwbench.campaign.trial_lab import Lab
    from rmwbench.lab.host.hosts import NAMESPACES
    from rmwbench.lab.middleware import find_workers
    from rmwbench.suite.file.suite_files import find, read

    path = find(options.required_suite("plan"))
    gang, cluster = options.gang, options.cluster
    if gang and cluster is None:
        raise UserError(
            "--gang is about the machines of a cluster", expected="--gang together with --cluster N"
        )
    text = read(path)
    request = options.request(str(path.absolute()), placed="--gang" if gang else None)
    choice = options.choice_for(str(path)) if cluster is None else options.choice
    planner = Planner(text, request.suite_file, choice)
    request, absent = planner.without_absent(request)
    if cluster is None:
        machine = MachineLimits.here()
        request, cut = planner.within_budget(request, machine)
        _, cells = planner.select(request)
        host = Lab().host()
        workers, reasons = check_request(planner, request, text, Lab())
        suite_plan = planner.plan(request, reasons, machine, left_out=absent, cut=cut, host=host)
        ungranted = socket_buffers.ungranted_lines(cells, workers, Lab().kernels())
        return suite_plan, ungranted, 1
    # The machines of a cluster have other workers, and are not asked before the campaign.
    _, cells = planner.select(request)
    workers = find_workers({name for cell in cells for name in cell.middlewares})
    reasons = unsupported_cells.description_reasons(cells, workers, NAMESPACES)
    reasons = {} if len(reasons) == len(cells) else reasons
    per_trial = max(len(cell.hosts) for cell in cells) if gang else 1
    request = _for_each_machine(planner, request, reasons, cluster, per_trial)
    return planner.plan(request, reasons, left_out=absent, host=NAMESPACES), [], per_trial


def _for_each_machine(
    planner: "Planner",
    request: "Request",
    reasons: "Mapping[int, str]",
    machines: int,
    per_trial: int,
) -> "Request":
    """Return the request with the machine time of the blocks that the machines run within its
    budget."""
    from rmwbench.cluster import batch_schedule

    if request.budget_s is None:
        return request
    budget_s = batch_schedule.machine_budget_s(
        lambda machine_s: planner.plan(replace(request, budget_s=machine_s), reasons),
        machines,
        request.budget_s,
        per_trial,
    )
    return replace(request, budget_s=budget_s)
