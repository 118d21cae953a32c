"""An evaluation's directory whose campaigns are fixtures: invented numbers, for tests of the
documents made from them."""

import dataclasses
import shutil
from pathlib import Path

from rmwbench.published.committee.evaluation_session import CommitteeSession, PlannedSection, begin
from rmwbench.published.committee.needs import NeedCase, RobotNeed
from rmwbench.suite.file.candidate_list import NO_CHOICE
from tests.support import synthetic_bundle

TOO_LONG = PlannedSection("scaling", "Scaling", "fastdds-2021/scaling", True, 0, 0.0, 900.0)
NEEDS = (
    RobotNeed(
        need="board",
        title="A small robot",
        cases=[
            NeedCase(section="robot", workload="camera", title="a camera", limits="small-board")
        ],
    ),
    RobotNeed(
        need="wifi",
        title="A robot over WiFi",
        cases=[
            NeedCase(section="scaling", workload="over_wifi", title="steered", limits="over-wifi")
        ],
    ),
)
UNABLE = PlannedSection(
    "layers", "Layers of ROS 2", "pipeline-2021/layers", False, 0, 0.0, 0.0, "no ROS 2 is sourced"
)


def planned_section(name: str, title: str, suite: str = "quick") -> PlannedSection:
    return PlannedSection(name, title, suite, True, 6, 60.0, 50.0)


def make_evaluation(
    directory: Path, arms: tuple[synthetic_bundle.Arm, ...] = synthetic_bundle.ARMS
) -> CommitteeSession:
    """Make two sections that were measured (one of many conditions), one that did not fit, and one
    that cannot run."""
    session = begin(directory, "tsc", [], {}, seed=7, budget_s=600.0, choice=NO_CHOICE)
    session.sections = [
        planned_section("pubsub", "Single machine, by message type"),
        planned_section("robot", "A whole robot on one board"),
        dataclasses.replace(TOO_LONG),
        dataclasses.replace(UNABLE),
    ]
    session.save()
    as_finished = {"blocks": 6, "arms": arms, "merged": True}
    synthetic_bundle.write(
        session.place(session.sections[0]), levels=2, workloads=("imu", "camera"), **as_finished
    )
    synthetic_bundle.write(session.place(session.sections[1]), workloads=("camera",), **as_finished)
    return session


def copy(session: CommitteeSession, directory: Path) -> CommitteeSession:
    shutil.copytree(session.directory, directory)
    return dataclasses.replace(session, directory=directory, sections=list(session.sections))
