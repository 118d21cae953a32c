"""Some cells of a campaign, judged as if it had no others; and which cells of two selections are
compared: those of which each side has one."""

import json
from types import SimpleNamespace

import pytest

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.journal import TrialEnded
from rmwbench.bundle.schema import table_from_rows
from rmwbench.errors import UserError
from rmwbench.results.answer import progress
from rmwbench.results.judged_campaign import judge_campaign
from rmwbench.results.selection import Selection, cell_name, match, select, value_of
from rmwbench.results.show_document import _is_on_one_host, summarise
from tests.support import synthetic_bundle
from tests.support.command import exit_code


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    place = tmp_path_factory.mktemp("selection") / "campaign"
    return synthetic_bundle.write(place, workloads=("imu", "camera"), blocks=6)


def shown(directory, words):
    selection = select(f"{directory}:{words}")
    return summarise(selection.bundle, selection=selection)


def verdicts(answer, workload="imu"):
    (one,) = (w for w in answer.workloads if w.workload == workload)
    return {arm.arm: arm.verdict.verdict for arm in one.arms}


def test_what_is_selected_is_judged_among_itself_and_the_floor_stays(directory):
    """Among all arms both are worse than iceoryx2; between the two the tuned one is the best."""
    whole = verdicts(summarise(Bundle(directory)))
    assert whole["iceoryx2 event"] == "best" and whole["zenoh tuned"] == "worse"
    answer = shown(directory, "middleware=zenoh")
    assert verdicts(answer) == {
        "floor futex": "reference",
        "zenoh untouched": "worse",
        "zenoh tuned": "best",
    }
    assert answer.campaign.trials.done == answer.campaign.trials.planned == 2 * 3 * 6
    assert [w.workload for w in answer.workloads] == ["imu", "camera"]
    assert progress.selection(answer.campaign) == (
        "Only middleware zenoh: judged as if nothing else had been run."
    )


def test_one_workload_is_selected_with_all_its_arms(directory):
    answer = shown(directory, "workload=camera")
    assert [w.workload for w in answer.workloads] == ["camera"]
    assert verdicts(answer, "camera").keys() == {arm.arm for arm in synthetic_bundle.ARMS}


def test_a_block_of_what_is_selected_takes_what_its_own_trials_took(directory):
    """1.7 s each; it took those of all arms and workloads."""
    selection = select(f"{directory}:workload=imu")
    answer = judge_campaign(selection.bundle, selection)
    arms = len(synthetic_bundle.ARMS)
    assert answer.campaign.wall_s == pytest.approx(6 * arms * 1.7)
    assert answer.rules.minutes_per_block == pytest.approx(arms * 1.7 / 60)


def test_a_longer_window_is_in_no_block(tmp_path):
    """Such a trial of the only arm was the seventh of six blocks, and a block took less time."""
    path = tmp_path / "c"
    synthetic_bundle.write(path, workloads=("imu",), blocks=6, arms=synthetic_bundle.ARMS[1:2])
    before = judge_campaign(Bundle(path))
    row = {"trial": 6, "cell": 0, "block": 6, "status": "settling", "duration_ns": 5 * 10**9}
    journal = TrialEnded(**{k: row[k] for k in ("trial", "cell", "block", "status")}, reason="long")
    with BundleWriter.reopen(path) as writer:
        tables = {name: table_from_rows(name, []) for name in ("endpoints", "sent", "received")}
        writer.finish_trial(journal, tables | {"trials": table_from_rows("trials", [row])})
    after = judge_campaign(Bundle(path))
    assert after.campaign.blocks_complete == after.campaign.blocks_planned == 6
    assert after.rules == before.rules
    assert after.campaign.wall_s == pytest.approx(before.campaign.wall_s + 5)


def test_an_unknown_selection_names_what_there_is(directory):
    with pytest.raises(UserError) as caught:
        select(f"{directory}:middleware=zenho")
    assert "zenoh" in caught.value.render()


def test_the_verbs_take_a_selection_and_leave_the_whole_report_alone(directory, capsys):
    assert exit_code("show", f"{directory}:middleware=zenoh", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["campaign"]["selected"] == "middleware zenoh"
    assert exit_code("report", f"{directory}:middleware=zenoh") == 0
    page = directory / "report-middleware-zenoh.html"
    assert page.is_file() and not (directory / "report.html").exists()
    assert "judged as if nothing else had been run" in page.read_text()


def cell(number, workload="camera", arm="zenoh", **factors):
    return {"cell": number, "workload": workload, "arm": arm, "factors": json.dumps(factors)}


def matched(a, b):
    matches, alone = match(*(Selection("", None, side) for side in (a, b)))
    pairs = [(one.a["cell"], one.b["cell"]) for one in matches]
    return pairs, [(one.cell, one.reason, one.counts) for one in alone]


def test_cells_of_equal_workload_levels_and_arm_are_compared():
    sizes = [cell(0, size=1), cell(1, size=2)]
    assert matched(sizes, sizes[::-1]) == ([(0, 0), (1, 1)], [])
    pairs, alone = matched(sizes, sizes[1:])
    assert (pairs, alone) == ([(1, 1)], [("camera [size=1], zenoh (A)", "B has no size 1", True)])
    assert matched(sizes[1:], sizes)[1] == [
        ("camera [size=1], zenoh (B)", "A has no size 1", False)
    ]


def test_a_switch_is_selected_as_its_comparison_is_named():
    """`camera [batching=true]` could be selected by `batching=True` only."""
    both = [cell(0, batching=False), cell(1, batching=True)]
    assert [value_of(one, "batching") for one in both] == ["false", "true"]
    assert [cell_name(one) for one in both] == [
        "camera [batching=false], zenoh",
        "camera [batching=true], zenoh",
    ]


@pytest.mark.parametrize(("in_a", "in_b"), [(2, 1), (1, 2), (2, 2)])
def test_of_several_cells_that_are_the_same_none_is_compared_and_none_is_said_to_be_absent(
    in_a, in_b
):
    pairs, alone = matched([cell(n) for n in range(in_a)], [cell(n) for n in range(in_b)])
    reason = f"{in_a} cells of A and {in_b} of B are alike: select one of each"
    of_a, of_b = ("camera, zenoh (A)", reason, True), ("camera, zenoh (B)", reason, False)
    assert (pairs, alone) == ([], [of_a] * in_a + [of_b] * in_b)


@pytest.mark.parametrize(
    ("hosts", "one"),
    [
        ([["robot"]], True),
        ([["robot"], ["robot", "base"]], False),
        ([["a"], ["b"]], True),
        ([], False),
    ],
)
def test_selected_arms_on_one_host_are_not_about_a_network(hosts, one):
    """The hosts of the whole campaign counted, also those of arms that were not selected."""
    arms = [
        SimpleNamespace(trials=[1], endpoints=[{"host": host} for host in of_arm])
        for of_arm in hosts
    ]
    assert _is_on_one_host({"w": arms}) is one
