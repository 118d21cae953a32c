"""An evaluation carried out over synthetic arms: section after section, stopped, resumed, and with
a section that cannot run."""

from dataclasses import replace

import pytest
from rich.console import Console

from rmwbench.bundle import Bundle
from rmwbench.campaign import course, trial_lab
from rmwbench.campaign.trial_lab import StopSignal
from rmwbench.lab import machine
from rmwbench.published.committee.evaluation_session import PlannedSection, begin, load
from rmwbench.published.committee.report_parts import gather
from rmwbench.published.committee.section_runs import SectionRuns
from rmwbench.suite.file.candidate_list import NO_CHOICE
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS
from tests.lab import tools

pytestmark = pytest.mark.traffic

SUITE = """
suite: NAME
title: a difference of known size
blocks: {planned: 5, minimum: 5}
timeline: {warmup_s: 0.05, drain_s: 0.05, steady_s: 0.15}
arms:
  - {name: here, middleware: synthetic, options: {latency: constant ns=2000000}}
  - {name: there, middleware: synthetic, options: {latency: constant ns=20000000}}
workloads:
  - {name: w, message: Bytes(100), rate_hz: 200}
  - {name: larger, message: Bytes(1000), rate_hz: 200}
"""


@pytest.fixture
def session(tmp_path, monkeypatch):
    """Programs beside a test now and then delay a start, and a void trial invalidates its block:
    these tests count trials, so only the trials that they name are void."""
    tools.worker("synthetic")
    monkeypatch.setattr(machine, "voids", lambda probes: [])
    made = begin(tmp_path / "tsc", "tsc", [], {}, seed=3, budget_s=600.0, choice=NO_CHOICE)
    for name, budget_s in (("second", 8.0), ("first", 6.0)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(SUITE.replace("NAME", name))
        made.sections.append(
            PlannedSection(
                name, f"The {name}", str(path), False, 5, budget_s, 4.0, comparisons=["w"]
            )
        )
    made.sections.insert(
        1, PlannedSection("gone", "Gone", str(tmp_path / "gone.yaml"), False, 5, 7.0, 4.0)
    )
    made.save()
    return made


def run(session):
    return SectionRuns(session).run(Console(quiet=True))


def test_one_section_that_cannot_run_costs_only_itself(session):
    ending = run(session)
    assert ending is not None and ending.stopped_by is None
    report = gather(session, "A report", [])
    assert [part.section.name for part in report.measured] == ["second", "first"]
    (gone,) = [part for part in load(session.directory).sections if part.name == "gone"]
    assert "no such file" in gone.problem
    for part in report.measured:
        (workload,) = part.shown.workloads
        assert workload.workload == "w"
        assert "1 of 2 comparisons; the whole suite takes at least" in part.shown.campaign.not_run
        verdicts = {arm.arm: arm.verdict.verdict for arm in workload.arms}
        assert verdicts == {"here": "best", "there": "worse"}
    assert run(session) is None  # nothing is left that can run
    (session.directory.parent / "gone.yaml").write_text(SUITE.replace("NAME", "gone"))
    again = load(session.directory)
    assert [one.name for one in again.waiting()] == ["gone"]  # it is there now
    run(again)
    assert not load(session.directory).waiting()
    assert gather(load(session.directory), "A report", []).parts[1].shown


@pytest.mark.parametrize(("asked", "left"), [(0, DECIDABLE_BLOCKS), (7, 7)])
def test_a_slow_machine_leaves_a_section_the_blocks_that_it_or_a_need_decides_by(
    session, monkeypatch, asked, left
):
    session.sections = [replace(session.sections[2], asked=asked, budget_s=9.0)]
    suite = session.directory.parent / "first.yaml"
    suite.write_text(suite.read_text().replace("planned: 5, minimum: 5", "planned: 1, minimum: 1"))
    monkeypatch.setattr(course, "limit_s", lambda plan: 0.0)
    run(session)
    assert session.sections[0].problem is None
    bundle = Bundle(session.place(session.sections[0]))
    assert {trial.block for trial in bundle.trials("done")} == set(range(left))
    assert bundle.campaign.request["least_blocks"] == left
    assert bundle.campaign.plan.blocks.minimum == left


def test_a_section_that_lost_a_block_to_the_machine_runs_it_once_the_others_are_done(
    session, monkeypatch
):
    """There is no time to repeat it while its section runs."""
    session.sections = [session.sections[0], session.sections[2]]
    whole, ran = trial_lab.run_trial, []

    def steals(order, *arguments, **options):
        result = whole(order, *arguments, **options)
        ran.append((order.directory.name, order.block))
        stolen = len(ran) == 3
        return (
            replace(result, status="void", cause="machine", reason="machine: steal")
            if stolen
            else result
        )

    monkeypatch.setattr(trial_lab, "run_trial", steals)
    monkeypatch.setattr(course, "limit_s", lambda plan: 0.0)
    run(session)
    assert ran[2] == ran[-1] == ("first", 1) and ran[-3][0] == "second" and len(ran) == 21
    for one in session.sections:
        places = [(trial.cell, trial.block) for trial in Bundle(session.place(one)).trials("done")]
        assert len(places) == len(set(places)) == 10


def test_a_stopped_evaluation_goes_on_where_it_was(session, monkeypatch):
    whole, ran = trial_lab.run_trial, []

    def stops(order, *arguments, **options):
        if len(ran) == 3:
            raise StopSignal("SIGINT")
        ran.append(order.trial)
        return whole(order, *arguments, **options)

    monkeypatch.setattr(trial_lab, "run_trial", stops)
    ending = run(session)
    assert ending is not None and ending.stopped_by == "SIGINT"
    shortest = session.sections[2]
    assert shortest.name == "first" and len(Bundle(session.place(shortest)).trials("done")) == 3
    monkeypatch.setattr(trial_lab, "run_trial", whole)
    again = load(session.directory)
    assert [one.name for one in again.waiting()] == ["first", "gone", "second"]
    run(again)
    for one in (again.sections[0], again.sections[2]):
        bundle = Bundle(again.place(one))
        places = [(trial.cell, trial.block) for trial in bundle.trials("done")]
        assert bundle.journal.finished and len(places) == len(set(places)) >= 10
