"""A campaign that is ready to run, from the user's request: a new one, or a resumed one.

A resumed campaign must be the same campaign: same suite text, same cells, same versions and builds,
same machine. It is refused if anything differs, because one comparison would mix the two.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.campaign_json import DescribedMiddleware, MachineDocument
from rmwbench.bundle.journal import CampaignFinished, CampaignResumed, Line
from rmwbench.campaign import calibrations
from rmwbench.campaign.blocks import BlockSource
from rmwbench.campaign.course import Course
from rmwbench.campaign.looks import LimitsJudge, LookMaker
from rmwbench.campaign.plan import (
    file_faults,
    preflight,
    unsupported_cells,
)
from rmwbench.campaign.plan.budget_cut import Cut
from rmwbench.campaign.plan.machine_limits import MachineLimits
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.request import Planner, Request
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.record.campaign_document import campaign_document, cells_table, machine_table
from rmwbench.campaign.run import Runner
from rmwbench.campaign.trial_lab import Lab
from rmwbench.command_name import command_line
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.host import HostKind, host_kind
from rmwbench.lab.host.hosts import KIND_VARIABLE, OWN
from rmwbench.lab.middleware import Worker
from rmwbench.lab.middleware.find import differences
from rmwbench.suite.cells import Cell
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.suite_files import find, path_text, read


def new_campaign(
    request: Request,
    directory: Path,
    *,
    choice: Choice = NO_CHOICE,
    lab: Lab | None = None,
    calibrated: bool = True,
    machine_s: float | None = None,
) -> Runner[BlockSource]:
    """Check everything, then make the directory. Raises UserError before anything is written.

    `choice` has the command line's options on the suite's arms; `lab` is this machine by default.
    `calibrated`: the campaign keeps the newest calibration of its lab. `machine_s` is the machine
    time of the blocks, if the request's budget is the time of a lab with several machines and both
    are known."""
    lab = lab or Lab()
    path = find(request.suite_file)
    text = read(path)
    planner = Planner(text, str(path.absolute()), choice)
    request = replace(
        request,
        suite_file=str(path.absolute()),
        written=planner.arms_written(),
        added=planner.added(),
        network=choice.network,
    )
    request, absent = planner.without_absent(request)
    limits = lab.machine()
    request, cut = _within_budget(planner, request, lab, limits, machine_s)
    workers, reasons = check_request(planner, request, text, lab, directory)
    plan = planner.plan(request, reasons, limits, left_out=absent, cut=cut, host=lab.host())
    document = campaign_document(directory, plan, text, workers, lab.describe())
    document["request"] = asdict(request)
    document["machine"] |= lab.calibration() if calibrated else {}
    document |= lab.document()
    writer = BundleWriter.create(directory, document)
    card = MachineDocument.model_validate(document["machine"])
    cells = cells_table(plan, workers, lab.kernels())
    writer.write_whole_campaign({"cells": cells, "machine": machine_table(card, None)})
    judge = _judge(request, plan, directory)
    source = BlockSource(document["campaign"], plan, Course(plan), writer, judge=judge)
    return Runner(source, lab, workers, writer, card)


def _within_budget(
    planner: Planner,
    request: Request,
    lab: Lab,
    limits: MachineLimits | None,
    machine_s: float | None,
) -> tuple[Request, Cut | None]:
    """Return the request for the cells within its budget, and the cut. `limits` are the machine's
    resources."""
    if request.budget_s is None:
        return request, None
    if limits is None:
        if machine_s is None:
            machine_s = lab.machine_time_s(
                lambda budget_s: planner.plan(replace(request, budget_s=budget_s)), request.budget_s
            )
        request = replace(request, budget_s=machine_s)
        if request.comparisons is None:
            return request, None
    return planner.within_budget(request, limits or MachineLimits.here())


def check_request(
    planner: Planner, request: Request, text: str, lab: Lab, directory: Path | None = None
) -> tuple[dict[str, Worker], dict[int, str]]:
    """Return the workers of a campaign, and the cells that they do not support, with the reason.
    Raises UserError for everything that would keep the campaign from running, before anything is
    written: `rmwbench plan` and `rmwbench run` refuse the same. `directory`, if it is known, must
    have room."""
    host = lab.host()
    plan = planner.plan(request, planner.unsupported_reasons(request, host), host=host)
    places = _places(request, text, plan, planner.choice)
    preflight.check_enough(plan, places)
    preflight.check_overload(plan.cells, places)
    return check_plan(plan, places, lab, directory)


def check_plan(
    plan: Plan, places: Places, lab: Lab, directory: Path | None
) -> tuple[dict[str, Worker], dict[int, str]]:
    """Return the same as `check_request`, for a plan."""
    unsupported_cells.check_hosts(plan.cells, plan.host, places.file)
    workers = preflight.find_and_check(plan, places)
    file_faults.check(plan.cells, workers, plan.host, places, lab.kernels())
    reasons = unsupported_cells.description_reasons(plan.cells, workers, plan.host)
    unsupported_cells.check_some_left(plan, reasons, places)
    if directory is not None:
        preflight.check_disk(plan, directory)
    lab.check(replace(plan, unsupported=reasons), workers)
    reasons |= lab.lacking(_able(plan, reasons), workers, plan.host)
    unsupported_cells.check_some_left(plan, reasons, places)
    reasons |= lab.rehearse(_able(plan, reasons), workers, places)
    unsupported_cells.check_some_left(plan, reasons, places)
    return workers, reasons


def _able(plan: Plan, lacking: Mapping[int, str]) -> list[Cell]:
    return [cell for cell in plan.cells if cell.number not in lacking]


def resumed_campaign(directory: Path, lab: Lab | None = None) -> Runner[BlockSource]:
    """Return the campaign of a directory with its remaining trials. Raises UserError if it would be
    another campaign, or another process writes it."""
    writer = BundleWriter.locked(directory)  # before the journal is read
    try:
        return _continued(writer, lab or Lab())
    except BaseException:
        writer.close()
        raise


def _continued(writer: BundleWriter, lab: Lab) -> Runner[BlockSource]:
    directory = writer.directory
    bundle = Bundle(directory)
    stored = bundle.campaign
    on_cluster = stored.cluster is not None
    if on_cluster != ("cluster" in lab.document()):
        raise UserError(
            "this campaign began on the machines of a cluster"
            if on_cluster
            else "this campaign began here",
            where=str(directory),
            fix="resume it with --cluster ADDRESS" if on_cluster else "resume it without --cluster",
        )
    request, text, choice, plan = _planned(bundle, lab.host())
    course = Course(plan, bundle.journal.lines)
    workers = preflight.find_and_check(plan, _places(request, text, plan, choice))
    _check_same(bundle, plan, workers, lab)
    if course.next:
        preflight.check_disk(plan, directory, [*course.rest, *course.later])
        lab.check(plan, workers)
    writer.remove_leftovers()
    if not course.finished:
        course = resumed_course(writer, plan, course, bundle.journal.lines)
    elif not bundle.journal.finished:  # it was killed between its last trial and this line
        writer.append(CampaignFinished())
    judge = _judge(request, plan, directory)
    source = BlockSource(stored.campaign or directory.name, plan, course, writer, judge=judge)
    return Runner(source, lab, workers, writer, stored.machine)


def _judge(request: Request, plan: Plan, directory: Path) -> LookMaker | None:
    """Return the judge of the looks by limits; None for the usual one by verdicts."""
    if not request.until_limits or plan.suite.outcomes is None:
        return None
    return LimitsJudge(plan, directory)


def resumed_course(
    writer: BundleWriter, plan: Plan, course: Course, lines: Sequence[Line]
) -> Course:
    """Return the rest of a stopped course, and write the journal's line about it. The block in
    which the course was stopped runs again as a whole."""
    resumed = CampaignResumed(voids=course.cut)
    course = Course(plan, [*lines, resumed])
    remaining = {
        "trials_left": len(course.rest) + len(course.later),
        "kernel": machine.describe()["kernel"]["release"],
    }
    writer.append(resumed.model_copy(update=remaining))
    return course


def course_of(directory: Path) -> Course:
    """Return the course of a campaign, whether or not it could be run here. Raises UserError if it
    cannot be resumed."""
    bundle = Bundle(directory)
    *_, plan = _planned(bundle, host_kind())
    return Course(plan, bundle.journal.lines)


def _planned(bundle: Bundle, host: HostKind) -> tuple[Request, str, Choice, Plan]:
    """Return the plan that a campaign began with: its looks and unsupported cells are the stored
    ones, not those that this version would plan."""
    stored = bundle.campaign
    text = stored.suite.text
    try:
        request = Request.of_document(stored.request or {})
    except ValueError:
        text = None
    if text is None:
        raise UserError(
            "this campaign cannot be resumed: it was not made by `rmwbench run`",
            where=str(bundle.directory),
        )
    reasons = {cell.cell: cell.reason for cell in stored.plan.unsupported}
    choice = Choice(written=request.written, network=request.network)
    plan = Planner(text, request.suite_file, choice).plan(
        request, reasons, looks=stored.plan.blocks.looks, host=host
    )
    return request, text, choice, plan


def _places(request: Request, text: str, plan: Plan, choice: Choice) -> Places:
    return Places(path_text(Path(request.suite_file)), text, plan.suite, request.shortened, choice)


def _check_same(bundle: Bundle, plan: Plan, workers: Mapping[str, Worker], lab: Lab) -> None:
    host = bundle.campaign.plan.host.kind or OWN
    if host != plan.host.name:
        raise UserError(
            "trials would run on another kind of host than when this campaign began",
            where=str(bundle.directory),
            expected=host,
            actual=plan.host.name,
            fix=f"{KIND_VARIABLE}={host} {command_line('resume', bundle.directory)}, on a machine that "
            "allows it",
        )
    stored = {row["cell"]: json.loads(row["definition"]) for row in bundle.rows("cells")}
    table = cells_table(plan, workers, lab.kernels())
    current = {row["cell"]: json.loads(row["definition"]) for row in table.to_pylist()}
    for number in sorted(stored.keys() | current.keys()):
        if stored.get(number) != current.get(number):
            raise UserError(
                "the campaign's cells are not what they were",
                where=f"{bundle.directory}, cell {number}",
                actual=_difference(stored.get(number), current.get(number)),
                fix=f"restore {_cause(stored.get(number), current.get(number))}, or start a new "
                "campaign",
            )
    _check_same_workers(bundle, workers)
    hardware, present = bundle.campaign.machine.hardware, lab.describe()["hardware"]
    for key in ("cpu_model", "cores_usable", "memory_bytes"):
        if not _alike(key, hardware.get(key), present[key]):
            raise UserError(
                "this is another machine than the campaign began on",
                where=str(bundle.directory),
                expected=f"{key} {hardware.get(key)}",
                actual=f"{key} {present[key]}",
                fix="resume it where it began, or start a new campaign here",
            )


def _check_same_workers(bundle: Bundle, workers: Mapping[str, Worker]) -> None:
    """Raise UserError unless each worker describes the version and the build that it had when the
    campaign began."""
    stored_by_name = {described.middleware: described for described in bundle.campaign.middlewares}
    for name, worker in workers.items():
        current = DescribedMiddleware.model_validate(
            {"middleware": name, **(worker.description or {})}
        )
        stored = stored_by_name.get(name) or DescribedMiddleware(middleware=name)
        if stored.version != current.version:
            raise UserError(
                f"{name} is another version than when this campaign began",
                where=str(bundle.directory),
                expected=str(stored.version),
                actual=str(current.version),
                fix="build the old version again, or start a new campaign",
            )
        if difference := differences(stored.document(), current.document()):
            raise UserError(
                f"{name} is another build than when this campaign began",
                where=str(bundle.directory),
                actual=difference,
                fix="build it as it was, or start a new campaign",
            )


def _alike(key: str, stored: Any, current: Any) -> bool:
    """Whether two facts of a machine are equal; memory is almost equal."""
    if key == "memory_bytes" and stored and current:
        return bool(abs(stored - current) * calibrations.MEMORY_PARTS <= max(stored, current))
    return bool(stored == current)


def _difference(stored: Any, current: Any) -> str:
    if stored is None or current is None:
        return "the cell is new" if stored is None else "the cell is gone"
    return "different: " + ", ".join(_changed_keys(stored, current))


def _cause(stored: Any, current: Any) -> str:
    """Return the part of the machine whose change made the definition of a cell differ."""
    if stored and current and "ungranted" in _changed_keys(stored, current):
        return "the limits of socket buffers that the kernel had (sysctl)"
    return "the profile files and workers it was started with"


def _changed_keys(stored: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    keys = stored.keys() | current.keys()
    return sorted(key for key in keys if stored.get(key) != current.get(key))
