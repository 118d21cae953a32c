"""A whole search from rounds to report, with arms whose capacity is a formula."""

import io
import json
from collections import defaultdict

import pytest
from pydantic import TypeAdapter
from rich.console import Console

from rmwbench.bundle import Bundle
from rmwbench.bundle.journal import SearchEnded
from rmwbench.errors import UserError
from rmwbench.report.capacity.capacity_view import view
from rmwbench.report.render.terminal import print_view
from rmwbench.results.capacity.capacity_document import summarise
from rmwbench.results.capacity.capacity_model import Searched
from rmwbench.results.model import document as as_document
from tests.capacity.simulated import QUIET, Law, campaign
from tests.support.views import cells, of_view, pictures, section, tables

pytestmark = pytest.mark.long

LAWS = {
    "serves 1 kHz": Law(service_s=0.001, noise=0.02),
    "calls 400 Hz": Law(call_s=0.0025, noise=0.02),
    "loses": Law(loss=0.05),
    "slow": Law(latency_s=0.02),
    "fast": Law(),
}


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    made, lab = campaign(tmp_path_factory.mktemp("capacity") / "one", LAWS, most=20_000.0)
    with made.writer:
        assert made.run(QUIET).stopped_by is None
    bundle = Bundle(made.writer.directory)
    return made, lab, bundle, summarise(bundle)


def run(made):
    """The search carried out, and what it found."""
    with made.writer:
        made.run(QUIET)
    return summarise(Bundle(made.writer.directory))


def arm(document, name):
    return next(one for one in document.arms if one.arm == name)


@pytest.mark.parametrize("name, truth", [("serves 1 kHz", 1000), ("calls 400 Hz", 400)])
def test_the_interval_holds_the_capacity_that_the_formula_has(searched, name, truth):
    """Up to 1 % above the truth a queue grows too slowly to be one, and the latency limit allows a
    few messages."""
    capacity = arm(searched[3], name).capacity
    assert capacity.state == "bracketed"
    assert capacity.low <= truth * 1.02 and truth <= capacity.high
    assert capacity.high / capacity.low < 1.25
    assert capacity.low <= capacity.value <= capacity.high


def test_each_way_to_fail_is_called_by_its_name(searched):
    document = searched[3]
    assert arm(document, "serves 1 kHz").breaks.kind in ("unstable", "slow")
    assert any(
        "the queue grew" in cause
        for one in arm(document, "serves 1 kHz").levels
        for cause in one.causes
    )
    assert "the publisher could not keep the schedule" in arm(document, "calls 400 Hz").breaks.cause
    lossy = arm(document, "loses")
    assert lossy.capacity.state == "below" and lossy.breaks.kind == "lossy"
    assert "does not hold" in lossy.answer
    slow = arm(document, "slow")
    assert slow.capacity.state == "below" and slow.breaks.cause == "p99 response 20 ms"
    fast = arm(document, "fast")
    assert (fast.capacity.state, fast.capacity.low) == ("at least", 20_000)
    assert fast.breaks is None and "at least up to 20" in fast.answer


def test_no_latency_of_a_growing_queue_is_quoted(searched):
    document = searched[3]
    unstable = [level for a in document.arms for level in a.levels if level.unstable]
    assert unstable
    for level in unstable:
        for name in document.search.curve:
            assert level.metrics[name].value is None
            assert "queue grows" in level.metrics[name].no_data
        assert level.queue_growth_hz > 0


def test_arms_take_turns_and_get_the_same_schedule(searched):
    _, lab, _, _ = searched
    rounds = defaultdict(list)
    for order in lab.orders:
        rounds[order.block].append(order)
    assert all(len({o.cell.arm.name for o in orders}) == len(orders) for orders in rounds.values())
    assert all(len({o.seed for o in orders}) == 1 for orders in rounds.values())
    assert len({o.nonce for o in lab.orders}) == len(lab.orders)
    assert len(rounds[0]) == len(LAWS)
    orders = {
        tuple(o.cell.arm.name for o in sorted(orders_of_round, key=lambda o: o.position))
        for orders_of_round in rounds.values()
    }
    assert len({order[0] for order in orders}) > 1  # not always the same arm first


def test_the_bundle_is_whole_and_the_report_finds_what_the_search_found(searched):
    made, lab, bundle, document = searched
    bundle.check()
    assert bundle.journal.finished and not bundle.journal.left_behind()
    cells = bundle.rows("cells")
    assert len({(c["arm"], c["factors"]) for c in cells}) == len(cells)
    assert {line.cell for line in bundle.trials()} == {c["cell"] for c in cells}
    for rounds_of_arm in made.source.arms:
        here, there = rounds_of_arm.search.capacity(), arm(document, rounds_of_arm.name).capacity
        for part in ("state", "value", "low", "high", "trials"):
            assert getattr(here, part) == getattr(there, part)
        assert arm(document, rounds_of_arm.name).ended == rounds_of_arm.ended
    assert len(bundle.trials()) == len(lab.orders)


def test_the_curve_below_the_capacity_has_three_trials_a_level(searched):
    levels = arm(searched[3], "serves 1 kHz").levels
    capacity = arm(searched[3], "serves 1 kHz").capacity.low
    for share in (1.0, 0.5, 0.25):
        near = [level for level in levels if 0.8 <= level.level / (capacity * share) <= 1.25]
        assert max(level.held + level.failed for level in near) >= 3


def test_its_view_has_an_answer_and_a_curve_of_each_arm(searched):
    document = searched[3]
    shown = view(document, draw=True)
    answers, *curves = tables([*shown.answer, section(shown, "Level by level")])
    assert [row[0] for row in cells(answers)] == [one.arm for one in document.arms]
    assert "≥ 20.0 kHz" in [row[1] for row in cells(answers)]
    assert any("unstable" in row for table in curves for row in cells(table))
    assert {one.key for one in pictures(of_view(shown))} == {"capacities", "curve", "loss"}
    narrow = Console(width=80, record=True, file=io.StringIO())
    print_view(shown, narrow)
    assert max(len(line) for line in narrow.export_text().splitlines()) <= 80


def test_the_document_is_the_whole_answer(searched):
    """What JSON says, read back by its schema's classes, is the same answer."""
    written = json.loads(json.dumps(as_document(searched[3]), allow_nan=False))
    assert (written["schema"], written["version"]) == ("rmwbench/capacity", 1)
    assert as_document(TypeAdapter(Searched).validate_python(written)) == written
    assert {one["capacity"]["state"] for one in written["arms"]} == {
        "bracketed",
        "at least",
        "below",
    }


def test_a_budget_ends_the_search_and_is_named(tmp_path):
    made, lab = campaign(
        tmp_path / "short", {"serves 1 kHz": Law(service_s=0.001)}, budget_s=0.0001
    )
    document = run(made)
    assert not lab.orders and document.arms[0].ended == "budget"
    assert document.arms[0].capacity.state == "no data"


def test_what_the_kernel_does_not_grant_is_said_before_the_first_probe(tmp_path):
    made, _ = campaign(tmp_path / "ungranted", {"fast": Law()})
    console = Console(file=io.StringIO(), width=200)
    with made.writer:
        made.source.begin(console, ["fast: asks for a receive buffer"])
    assert "not granted: fast: asks for a receive buffer" in console.file.getvalue()


def test_void_trials_say_nothing_and_failed_ones_say_no(tmp_path):
    laws = {
        "moody": Law(service_s=0.001, void=range(2, 5)),
        "broken": Law(fails="worker talker: it crashed\nand more"),
    }
    made, lab = campaign(tmp_path / "moody", laws)
    document = run(made)
    moody = arm(document, "moody")
    assert moody.trials.void == 3 and moody.capacity.state == "bracketed"
    asked = [o.cell.factors["rate_hz"] for o in lab.orders if o.cell.arm.name == "moody"]
    assert len(set(asked[1:5])) == 1  # asked again at the same level until it answered
    broken = arm(document, "broken")
    assert broken.capacity.state == "no data" and "it crashed" in broken.answer
    assert broken.trials.failed <= 6


def test_what_the_host_broke_is_no_level_that_failed(tmp_path):
    """Three trials below the capacity were counted as failures of the arm."""
    made, lab = campaign(
        tmp_path / "host", {"serves 1 kHz": Law(service_s=0.001, broken=range(2, 5))}
    )
    searched_arm = arm(run(made), "serves 1 kHz")
    assert searched_arm.trials.failed == 3
    assert [p.kind for p in searched_arm.probes].count("failed") == 0
    asked = [o.cell.factors["rate_hz"] for o in lab.orders]
    assert len(set(asked[1:5])) == 1, "asked again at the same level until it answered"
    assert searched_arm.capacity.low <= 1000 <= searched_arm.capacity.high


def test_trials_that_the_machine_spoilt_do_not_count_as_said_nothing_otherwise(tmp_path):
    """Three of twelve that are allowed, and one that the host broke, ended the search."""
    laws = {
        "spoilt": Law(service_s=0.001, void=range(2, 5), broken=range(5, 6)),
        "broken": Law(service_s=0.001, broken=range(2, 6)),
    }
    made, _ = campaign(tmp_path / "vain", laws)
    document = run(made)
    assert arm(document, "spoilt").ended == "resolved"
    assert arm(document, "broken").ended.startswith("4 trials in a row said nothing: ")


def test_a_machine_without_idle_time_is_said(tmp_path):
    laws = {"busy": Law(service_s=0.001, idle=0.03), "idle": Law(service_s=0.001, idle=0.5)}
    made, _ = campaign(tmp_path / "busy", laws)
    document = run(made)
    assert arm(document, "busy").machine_bound.idle == 0.03
    assert arm(document, "idle").machine_bound is None
    assert "machine-bound" in arm(document, "busy").answer
    assert any("machine-bound" in c.text for c in document.conclusions)


def test_an_arm_with_long_probes_does_not_spend_the_time_of_the_others(tmp_path):
    """A capacity at 12 Hz needs a window of 80 s, one at 1 kHz a second: rounds with both would be
    nearly all its."""
    laws = {"crawls": Law(service_s=1 / 13), "serves 1 kHz": Law(service_s=0.001, noise=0.05)}
    made, lab = campaign(tmp_path / "two", laws, limit="p99 response < 500 ms")
    document = run(made)
    probe_s = made.source.space.cells.probe_s
    used_s = {name: 0.0 for name in laws}
    places = [
        place for place, order in enumerate(lab.orders) if order.cell.arm.name == "serves 1 kHz"
    ]
    for order in lab.orders[: places[14]]:  # both are still searching
        used_s[order.cell.arm.name] += probe_s(order.cell.factors["rate_hz"])
    assert used_s["crawls"] <= 1.5 * used_s["serves 1 kHz"] + 3 * probe_s(200.0) + 110
    capacity = arm(document, "crawls").capacity
    assert capacity.low <= 13 * 1.02 and capacity.high >= 13


def test_a_search_that_an_error_ends_has_not_come_to_the_end_of_its_budget(tmp_path, monkeypatch):
    made, lab = campaign(tmp_path / "broken", {"fast": Law()})

    def breaks(signals):
        raise UserError("no space left on the device")

    monkeypatch.setattr(lab, "wait", breaks)
    with made.writer, pytest.raises(UserError):
        made.run(QUIET)
    lines = Bundle(made.writer.directory).journal.lines
    assert [line.ended for line in lines if isinstance(line, SearchEnded)] == ["stopped"]
