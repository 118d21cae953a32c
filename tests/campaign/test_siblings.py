"""A publisher that waits for the publish call of another one that shares its thread is flagged."""

from pathlib import Path

import numpy as np
import pytest

from rmwbench.campaign.trial import siblings
from rmwbench.codes import Code
from rmwbench.lab.process.records import SENT
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from tests.campaign.cells import outcome

MS = 1_000_000


class Section:
    kind = SENT

    def __init__(self, endpoint, due_ns, begun_ns, return_ns):
        self.endpoint = endpoint
        names = ("intended_ns", "begun_ns", "return_ns", "flags")
        self.rows = np.zeros(len(due_ns), [(name, np.int64) for name in names])
        for name, values in zip(names, (due_ns, begun_ns, return_ns), strict=False):
            self.rows[name] = values


SUITE = """
suite: mini
title: a test
arms: [{{name: a, middleware: fake}}]
timeline: {{steady_s: 1}}
workloads:
  - name: w
    message: Bytes(100)
    rate_hz: 100
    schedule: {schedule}
    nodes:
      - {{name: camera, process: {camera}, publishers: [{{topic: image}}]}}
      - {{name: control, process: {control}, publishers: [{{topic: command}}]}}
      - {{name: all, subscriptions: [{{topic: image}}, {{topic: command}}]}}
"""


@pytest.fixture
def camera_and_control():
    """Publish calls of an image of 30 Hz, and of a command of 1 kHz that is due in the middle of
    one of them."""

    def made(call_ns, processes=("robot", "robot"), schedule="shared"):
        due = np.arange(30) * 33 * MS
        image = Section(1, due, due, due + call_ns)
        command_due = np.arange(990) * MS + MS // 2
        begun = command_due.copy()
        for end_ns, begin_ns in zip(due + call_ns, due, strict=True):
            waits = (command_due > begin_ns) & (command_due < end_ns)
            begun[waits] = end_ns + np.arange(np.count_nonzero(waits)) * 1000
        command = Section(2, command_due, begun, begun + 500)
        text = SUITE.format(camera=processes[0], control=processes[1], schedule=schedule)
        suite = parse(text, where="mini.yaml", directory=Path(), middlewares=["fake"])
        found = outcome(cells(suite)[0])
        found.sections = [image, command]
        return found

    return made


def test_a_long_call_makes_its_sibling_late_and_is_flagged(camera_and_control):
    (flag,) = siblings.flags(camera_and_control(3 * MS))
    assert flag.code is Code.LATE_BY_SIBLING and "endpoint 2" in flag.text and "2.5 ms" in flag.text


def test_a_short_call_and_one_of_another_process_are_not(camera_and_control):
    assert list(siblings.flags(camera_and_control(MS // 2))) == []
    assert list(siblings.flags(camera_and_control(3 * MS, ("camera", "control")))) == []


def test_with_a_thread_each_nobody_waits_for_another(camera_and_control):
    """What looks so is the machine's, or a lock of the middleware's."""
    assert list(siblings.flags(camera_and_control(3 * MS, schedule="own"))) == []
