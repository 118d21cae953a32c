"""The suites of degraded networks: each plans, is short when asked to be, and has the hosts that it
talks about.
"""

from pathlib import Path

import pytest

from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import load
from rmwbench.suite.file.suite_files import shipped_suites

ROOT = Path(__file__).parents[2]
NAMES = [path.stem for path in sorted((ROOT / "suites/degraded").glob("*.yaml"))]


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_has_a_network_between_hosts(name):
    suite_cells = cells(load(f"degraded/{name}"))
    # a process dies on a robot by itself, too: shared memory is half of the question
    if name == "kill":
        suite_cells = [cell for cell in suite_cells if len(cell.hosts) > 1]
    assert suite_cells
    for cell in suite_cells:
        assert len(cell.hosts) > 1
        assert cell.definition()["network"]["hosts"] == list(cell.hosts)
        crossing = {
            e.topic for e in cell.endpoints if e.writes for p in e.peers if _host(cell, p) != e.host
        }
        assert crossing, "nothing crosses the network"


def _host(cell, endpoint):
    return next(e.host for e in cell.endpoints if e.endpoint == endpoint)


def test_every_suite_is_shipped():
    assert {f"degraded/{name}" for name in NAMES} <= set(shipped_suites())


def test_outages_lie_within_the_window_and_end_in_it():
    for name in ("range", "boot-order"):
        for short in (False, True):
            for cell in cells(load(f"degraded/{name}", shortened=short)):
                changes = [
                    c
                    for c in cell.definition()["network"]["changes"]
                    if c["change"] != "new_address"
                ]
                assert changes[-1]["change"] == "up"
                # A lease of ten seconds must have had the time to run out, or the absence to be
                # shorter than it.
                assert cell.timeline.steady_s - changes[-1]["at_s"] >= 8
