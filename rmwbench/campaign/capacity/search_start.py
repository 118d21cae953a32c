"""From what is searched to a search that can run: everything is checked before anything is
written."""

from dataclasses import replace
from pathlib import Path

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.campaign.capacity.rounds import SearchSource
from rmwbench.campaign.capacity.search_request import SearchRequest, SearchSpace, search_space
from rmwbench.campaign.here import Here
from rmwbench.campaign.plan import unsupported
from rmwbench.campaign.plan.plan import Plan, make_plan
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.record.campaign_document import campaign_document, machine_table
from rmwbench.campaign.run import Runner
from rmwbench.campaign.start import workers_of
from rmwbench.lab.middleware import names_here
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.load import parse
from rmwbench.suite.file.places import find, read, shown


def new_search(
    request: SearchRequest, directory: Path, choice: Choice = NO_CHOICE
) -> Runner[SearchSource]:
    """Checks everything, then makes the directory. Raises UserError before anything is written.
    `choice`: what the command line says of the suite's arms."""
    path, lab = find(request.suite_file), Here()
    text = read(path)
    suite = parse(
        text, where=shown(path), directory=path.parent, middlewares=names_here(), choice=choice
    )
    space = search_space(request, suite, shown(path))
    plan = _first_round(space)
    places = Places(shown(path), text, suite, choice=choice)
    workers, lacking = workers_of(plan, places, lab, directory)
    space = _without(space, plan, lacking)
    document = campaign_document(directory, plan, text, workers, lab.describe())
    document["kind"] = "capacity"
    document["plan"] = {
        "suite": {"name": suite.suite, "title": suite.title, "description": suite.description}
    }
    document["machine"] |= lab.calibration()
    document["capacity"] = space.document()
    writer = BundleWriter.create(directory, document)
    card = MachineDocument.model_validate(document["machine"])
    writer.write_whole_campaign({"machine": machine_table(card, None)})
    source = SearchSource(document["campaign"], space, plan, writer, workers, card.sysctls)
    return Runner(source, lab, workers, writer, card)


def _first_round(space: SearchSpace) -> Plan:
    """A plan of the cells that the search starts with."""
    cells = [
        space.cells.cell(one.arm, one.nearest(space.start), number)
        for number, one in enumerate(space.able, start=1)
    ]
    plan = make_plan(space.cells.suite, cells, seed=space.request.seed)
    return replace(plan, host=Here().host())


def _without(space: SearchSpace, plan: Plan, lacking: dict[int, str]) -> SearchSpace:
    """The arms whose first cell is lacking cannot be tested at all."""
    why = {
        plan.cell(number).arm.name: f"{unsupported.NOT_SUPPORTED}: {reason}"
        for number, reason in lacking.items()
    }
    contestants = tuple(
        replace(one, levels=(), bound=why[one.arm.name]) if one.arm.name in why else one
        for one in space.contestants
    )
    warnings = tuple(f"{name}: {reason}" for name, reason in why.items())
    return replace(space, contestants=contestants, warnings=(*space.warnings, *warnings))
