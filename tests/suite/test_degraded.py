"""The suites of degraded networks: each plans, is short when asked to be, has the hosts it talks
about, and stands on the page that says what it can express.
"""

import re
from pathlib import Path

import pytest

from rmwbench.campaign.plan.plan import make_plan
from rmwbench.suite.cells import cells
from rmwbench.suite.file.candidate_list import Choice
from rmwbench.suite.file.load import load, parse
from rmwbench.suite.file.places import find, read, shipped_suites

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/degraded.md").read_text(encoding="utf-8")
NAMES = [path.stem for path in sorted((ROOT / "suites/degraded").glob("*.yaml"))]
SHORT_MINUTES = 12


def planned(name, *, short, **options):
    """Without ROS 2's RMWs, as on a machine where none is sourced."""
    path = find(f"degraded/{name}")
    suite = parse(
        read(path),
        where=name,
        directory=path.parent,
        shortened=short,
        choice=Choice(without=("ros2",)),
    )
    return make_plan(suite, cells(suite), seed=7, **options)


@pytest.mark.parametrize("name", NAMES)
def test_it_plans_and_its_short_version_is_short(name):
    whole, short = planned(name, short=False), planned(name, short=True)
    assert whole.blocks >= 5
    assert short.blocks >= 5  # with fewer nothing is decided
    assert short.estimated_s <= SHORT_MINUTES * 60
    assert short.estimated_s < whole.estimated_s


@pytest.mark.parametrize("name", NAMES)
def test_a_budget_gives_whole_blocks(name):
    short = planned(name, short=True)
    budget_s = 3.5 * short.estimated_s
    made = planned(name, short=True, budget_s=budget_s)
    assert short.blocks < made.blocks
    assert made.estimated_s <= budget_s * 1.001


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_has_a_network_between_hosts(name):
    found = cells(load(f"degraded/{name}"))
    # a process dies on a robot by itself, too: shared memory is half of the question
    if name == "kill":
        found = [cell for cell in found if len(cell.hosts) > 1]
    assert found
    for cell in found:
        assert len(cell.hosts) > 1
        assert cell.definition()["network"]["hosts"] == list(cell.hosts)
        crossing = {
            e.topic for e in cell.endpoints if e.writes for p in e.peers if _host(cell, p) != e.host
        }
        assert crossing, "nothing crosses the network"


def _host(cell, endpoint):
    return next(e.host for e in cell.endpoints if e.endpoint == endpoint)


@pytest.mark.parametrize("name", NAMES)
def test_its_head_says_how_long_it_takes(name):
    """Within a factor of two: a head that says five minutes for an hour keeps nobody from starting
    it."""
    text = (ROOT / f"suites/degraded/{name}.yaml").read_text(encoding="utf-8")
    found = dict(re.findall(rf"run degraded/{name}( --short)?\s+about (\d+) minutes", text))
    said = {flag == " --short": int(minutes) for flag, minutes in found.items()}
    assert True in said
    for short, minutes in said.items():
        assert minutes / 2 <= planned(name, short=short).estimated_s / 60 <= minutes * 2


def test_the_page_has_every_suite_and_what_none_can_express():
    assert {f"degraded/{name}" for name in NAMES} <= set(shipped_suites())
    missing = [name for name in NAMES if f"`{name}`" not in PAGE]
    assert missing == []


def test_whoever_is_killed_holding_a_message_certainly_holds_one():
    """By the schedule of any trial: the message of that moment is due before the kill, and is kept
    until after it."""
    seen = 0
    for short in (False, True):
        for cell in cells(load("degraded/kill", shortened=short)):
            for endpoint in (e for e in cell.endpoints if e.hold_ns and e.life.killed):
                writer = next(e for e in cell.endpoints if e.endpoint in endpoint.peers)
                period_ns = round(1e9 / writer.arrival.rate_hz)
                killed_ns = cell.timeline.warmup_ns + round(endpoint.life.end_s * 1e9)
                for seed in range(100):
                    phase_ns = writer.wire(cell.arm, seed)["arrival"]["phase_ns"]
                    since_due_ns = (killed_ns - phase_ns) % period_ns
                    assert period_ns // 4 < since_due_ns < endpoint.hold_ns < period_ns
                seen += 1
    assert seen


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
