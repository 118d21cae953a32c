"""From what the user typed to a campaign that can run: a new one, or one that is resumed.

A resumed campaign must be the same campaign: same suite text, same cells, same versions and builds,
same machine. Whatever differs would be mixed into one comparison, so it is refused and not guessed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.campaign_json import DescribedMiddleware, MachineDocument
from rmwbench.bundle.journal import CampaignFinished, CampaignResumed, Line
from rmwbench.campaign.blocks import BlockSource
from rmwbench.campaign.course import Course
from rmwbench.campaign.here import Here, Lab
from rmwbench.campaign.looks import Judging
from rmwbench.campaign.plan import file_faults, plan_refusals, preflight, shared_host, unsupported
from rmwbench.campaign.plan.cut import Cut
from rmwbench.campaign.plan.machine_limits import MachineLimits
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.request import Planner, Request
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.record.campaign_document import campaign_document, cells_table, machine_table
from rmwbench.campaign.run import Runner
from rmwbench.campaign.trial.outcome import keeps_spoilt
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.host import HostKind, host_kind
from rmwbench.lab.host.hosts import OWN, VARIABLE
from rmwbench.lab.middleware import Worker
from rmwbench.lab.middleware.find import unlike
from rmwbench.suite.cells import Cell
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.places import find, read, shown
from rmwbench.words.shell import command_line

MEMORY_PARTS = 16
"""The memory of one machine differs by less than this part of it from boot to boot."""


def new_campaign(
    request: Request,
    directory: Path,
    *,
    choice: Choice = NO_CHOICE,
    lab: Lab | None = None,
    calibrated: bool = True,
    machine_s: float | None = None,
) -> Runner[BlockSource]:
    """Checks everything, then makes the directory. Raises UserError before anything is written.
    `choice`: what the command line says of the suite's arms. `lab`: where its trials run, here
    where None. `calibrated`: the campaign takes the newest calibration of its lab with it.
    `machine_s`: the time of one machine that the blocks take, where the request's budget is that of
    a lab with several and both are planned."""
    lab = lab or Here()
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
    has = lab.machine()
    request, cut = _within_budget(planner, request, lab, has, machine_s)
    workers, reasons = checked(planner, request, text, lab, directory)
    plan = planner.plan(request, reasons, has, left_out=absent, cut=cut, host=lab.host())
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
    planner: Planner, request: Request, lab: Lab, has: MachineLimits | None, machine_s: float | None
) -> tuple[Request, Cut | None]:
    """The request for what its budget holds, and what it does not. `has`: what the machine has."""
    if request.budget_s is None:
        return request, None
    if has is None:
        if machine_s is None:
            machine_s = lab.machine_time_s(
                lambda budget_s: planner.plan(replace(request, budget_s=budget_s)), request.budget_s
            )
        request = replace(request, budget_s=machine_s)
        if request.comparisons is None:
            return request, None
    return planner.within_budget(request, has or MachineLimits.here())


def checked(
    planner: Planner, request: Request, text: str, lab: Lab, directory: Path | None = None
) -> tuple[dict[str, Worker], dict[int, str]]:
    """The workers of a campaign, and the cells that they cannot do, with the reason. Raises
    UserError for all that would keep it from running, before anything is written: `rmwbench plan`
    and `rmwbench run` refuse the same. `directory`: where it will be written, and needs room; None
    where nobody knows yet."""
    keeps_spoilt()  # a word that it does not know is refused here, and not in the first trial
    host = lab.host()
    # a budget pays for what can run
    plan = planner.plan(request, planner.described(request, host), host=host)
    places = _places(request, text, plan, planner.choice)
    plan_refusals.check_enough(plan, places)
    plan_refusals.check_overload(plan.cells, places)
    return workers_of(plan, places, lab, directory)


def workers_of(
    plan: Plan, places: Places, lab: Lab, directory: Path | None
) -> tuple[dict[str, Worker], dict[int, str]]:
    """What `checked` gives, for a plan."""
    shared_host.check(plan.cells, plan.host, places.file)
    workers = preflight.find_and_check(plan, places)
    file_faults.check(plan.cells, workers, plan.host, places, lab.kernels())
    reasons = unsupported.stated(plan.cells, workers, plan.host)
    unsupported.check_some_left(plan, reasons, places)
    if directory is not None:
        preflight.check_disk(plan, directory)
    lab.check(plan, workers)
    reasons |= lab.lacking(_able(plan, reasons), workers, plan.host)
    unsupported.check_some_left(plan, reasons, places)
    reasons |= lab.rehearse(_able(plan, reasons), workers, places)
    unsupported.check_some_left(plan, reasons, places)
    return workers, reasons


def _able(plan: Plan, lacking: Mapping[int, str]) -> list[Cell]:
    return [cell for cell in plan.cells if cell.number not in lacking]


def resumed_campaign(directory: Path, lab: Lab | None = None) -> Runner[BlockSource]:
    """The campaign of a directory with the trials that it still lacks. Raises UserError where it
    cannot be the same campaign, or another process writes it."""
    writer = BundleWriter.locked(directory)  # first: the journal is then nobody else's
    try:
        return _continued(writer, lab or Here())
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
    elif (
        not bundle.journal.finished
    ):  # it was killed between its last trial and the line that says so
        writer.append(CampaignFinished())
    judge = _judge(request, plan, directory)
    source = BlockSource(stored.campaign or directory.name, plan, course, writer, judge=judge)
    return Runner(source, lab, workers, writer, stored.machine)


def _judge(request: Request, plan: Plan, directory: Path) -> Judging | None:
    """Who looks between blocks; None: at verdicts, as usual."""
    if not request.until_limits or plan.suite.outcomes is None:
        return None
    from rmwbench.campaign.limits_look import LimitsJudge  # what makes answers takes long to import

    return LimitsJudge(plan, directory)


def resumed_course(
    writer: BundleWriter, plan: Plan, course: Course, lines: Sequence[Line]
) -> Course:
    """What is left of a course that was stopped, and the journal's line about that. A block that it
    was stopped in runs again as a whole."""
    resumed = CampaignResumed(voids=course.cut)
    course = Course(plan, [*lines, resumed])
    remaining = {
        "trials_left": len(course.rest) + len(course.later),
        "kernel": machine.describe()["kernel"]["release"],
    }
    writer.append(resumed.model_copy(update=remaining))
    return course


def course_of(directory: Path) -> Course:
    """What a campaign still lacks, whether or not it could be run here. Raises UserError where it
    cannot be resumed."""
    bundle = Bundle(directory)
    *_, plan = _planned(bundle, host_kind())
    return Course(plan, bundle.journal.lines)


def _planned(bundle: Bundle, host: HostKind) -> tuple[Request, str, Choice, Plan]:
    """The plan that a campaign began with: its looks, whatever this version of rmwbench would plan
    today, and what was found impossible then."""
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
    return Places(shown(Path(request.suite_file)), text, plan.suite, request.shortened, choice)


def _check_same(bundle: Bundle, plan: Plan, workers: Mapping[str, Worker], lab: Lab) -> None:
    host = bundle.campaign.plan.host.kind or OWN
    if host != plan.host.name:
        raise UserError(
            "trials would run on another kind of host than when this campaign began",
            where=str(bundle.directory),
            expected=host,
            actual=plan.host.name,
            fix=f"{VARIABLE}={host} {command_line('resume', bundle.directory)}, where that can be",
        )
    before = {row["cell"]: json.loads(row["definition"]) for row in bundle.rows("cells")}
    table = cells_table(plan, workers, lab.kernels())
    now = {row["cell"]: json.loads(row["definition"]) for row in table.to_pylist()}
    for number in sorted(before.keys() | now.keys()):
        if before.get(number) != now.get(number):
            raise UserError(
                "the campaign's cells are not what they were",
                where=f"{bundle.directory}, cell {number}",
                actual=_difference(before.get(number), now.get(number)),
                fix="restore the profile files and workers it was started with, or start a new "
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
    """Version and build: whatever a worker says of itself now, it must have said when the campaign
    began."""
    before = {described.middleware: described for described in bundle.campaign.middlewares}
    for name, worker in workers.items():
        now = DescribedMiddleware.model_validate({"middleware": name, **(worker.description or {})})
        then = before.get(name) or DescribedMiddleware(middleware=name)
        if then.version != now.version:
            raise UserError(
                f"{name} is another version than when this campaign began",
                where=str(bundle.directory),
                expected=str(then.version),
                actual=str(now.version),
                fix="build the old version again, or start a new campaign",
            )
        if difference := unlike(then.document(), now.document()):
            raise UserError(
                f"{name} is another build than when this campaign began",
                where=str(bundle.directory),
                actual=difference,
                fix="build it as it was, or start a new campaign",
            )


def _alike(key: str, before: Any, now: Any) -> bool:
    """Memory need not be equal: firmware and kernel keep a little more or less of it for themselves
    from boot to boot, and from twin to twin."""
    if key == "memory_bytes" and before and now:
        return bool(abs(before - now) * MEMORY_PARTS <= max(before, now))
    return bool(before == now)


def _difference(before: Any, now: Any) -> str:
    if before is None or now is None:
        return "the cell is new" if before is None else "the cell is gone"
    keys = [key for key in before.keys() | now.keys() if before.get(key) != now.get(key)]
    return "different: " + ", ".join(sorted(keys))
