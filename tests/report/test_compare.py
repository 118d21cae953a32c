"""Two campaigns or two arms: what differs besides the results comes first, planted regressions are
found, and what is not comparable is said.
"""

import dataclasses
import json
import math
import re
import shutil

import pytest
from pydantic import TypeAdapter

from rmwbench.errors import UserError
from rmwbench.report.comparison_view import axis_of, mark, unchanged, view
from rmwbench.report.render.html import render_html
from rmwbench.results.compare.compare_document import compare
from rmwbench.results.compare.compare_model import Compared, Difference, NotComparable
from rmwbench.results.model import Ratio, document
from rmwbench.results.selection import select
from tests.support import kept, network_bundle, synthetic_bundle
from tests.support.command import captured
from tests.support.edited import campaign_json, journal
from tests.support.views import printed, texts

pytestmark = pytest.mark.long

WORKLOADS = ("camera", "pointcloud")
ARMS = tuple(a for a in synthetic_bundle.ARMS if a.middleware in ("zenoh", "cyclonedds"))


def slower(arm, factor):
    return dataclasses.replace(
        arm, base_ns=arm.base_ns * factor, bytes_per_ns=arm.bytes_per_ns / factor
    )


def newer(arm):
    return dataclasses.replace(arm, version=arm.version + ".1")


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory):
    """`old`; `new`, in which zenoh tuned is 1.3 times slower and everything is of another version;
    `same`, a second run of `old`.
    """
    place = tmp_path_factory.mktemp("compare")

    def write(name, arms, seed):
        synthetic_bundle.write(
            place / name, arms=arms, workloads=WORKLOADS, blocks=10, sd=0.01, seed=seed, merged=True
        )

    write("old", ARMS, 7)
    write("same", ARMS, 8)
    write("new", tuple(newer(slower(a, 1.3) if a.arm == "zenoh tuned" else a) for a in ARMS), 9)
    return place


def compared(campaigns, a, b, **options):
    return of(f"{campaigns}/{a}", f"{campaigns}/{b}", **options)


def of(a, b, **options):
    return compare(select(str(a)), select(str(b)), **options)


def verdicts(answer, metric="response_latency_p50"):
    return {r.cell: r.verdict for r in answer.rows if r.metric == metric}


def topic(answer, name):
    return next(t for t in answer.environment if t.topic == name)


def test_a_planted_regression_is_found_and_nothing_else(campaigns):
    answer = compared(campaigns, "old", "new")
    by_cell = verdicts(answer)
    assert {cell for cell, v in by_cell.items() if v == "worse"} == {
        "camera, zenoh tuned",
        "pointcloud, zenoh tuned",
    }
    assert (answer.verdict, answer.exit_code, answer.paired) == ("worse", 1, False)
    row = next(r for r in answer.rows if r.cell == "camera, zenoh tuned")
    assert row.ratio.low < 1.3 < row.ratio.high
    assert "not interleaved" in row.ratio.caution
    assert any("not interleaved" in text for text in answer.cautions)


def test_two_runs_of_the_same_are_not_called_different(campaigns):
    answer = compared(campaigns, "old", "same", margin=0.15)
    assert "worse" not in {r.verdict for r in answer.rows}
    assert set(verdicts(answer).values()) == {"equivalent"}
    assert [t.answer for t in answer.environment] == ["same"] * 5
    # the fixture's Cyclone loses 8 %: as much on both sides cannot be shown in ten trials of thirty
    # messages
    lossy = {r.cell: r.verdict for r in answer.rows if r.metric == "undelivered"}
    assert lossy.pop("camera, cyclonedds untouched") == "undecided"
    assert set(lossy.values()) == {"equivalent"}
    assert answer.exit_code == 2
    easy = compared(
        campaigns,
        "old:zenoh tuned",
        "same:zenoh tuned",
        metrics=["response_latency_p50", "pss"],
        margin=0.15,
    )
    assert (easy.verdict, easy.exit_code) == ("equivalent", 0)


def test_the_environment_comes_first_in_the_order_of_what_matters(campaigns, tmp_path):
    other = shutil.copytree(campaigns / "new", tmp_path / "changed")
    with campaign_json(other) as d:
        d["machine"]["facts"][0]["value"] = "64"
        d["tool_version"] = "0.2.0"
        d["suite"]["text"] = "# a test fixture, changed\n"
        d["machine"]["aa_floor"] = 0.02
        for m in d["middlewares"]:
            for p in m["profiles"]:
                p["text"] = p["text"].replace("'tuned'}", "'tuned', queue: {size: 16}}")
    answer = of(f"{campaigns}/old", other)
    assert [t.topic for t in answer.environment] == [
        "machine",
        "workload",
        "software",
        "instrument",
        "day",
    ]
    assert topic(answer, "machine").differences == (Difference(name="cores", a="2", b="64"),)
    software = {d.name: (d.a, d.b) for d in topic(answer, "software").differences}
    assert software["zenoh: version"] == ("1.10.2-fixture", "1.10.2-fixture.1")
    assert software["zenoh tuned: queue.size"] == (None, "16")
    assert "zenoh untouched: queue.size" not in software
    instrument = {d.name: d for d in topic(answer, "instrument").differences}
    assert instrument["tool version"].b == "0.2.0"
    assert "+# a test fixture, changed" in instrument["suite text"].lines
    assert instrument["A/A noise"] == Difference(name="A/A noise", a=None, b="2 %")
    assert answer.rules.aa_floor == 0.02
    assert any("machines differ" in text for text in answer.cautions)
    assert "The same machine? no" in texts(view(answer).sections)


def test_arms_of_one_campaign_are_compared_within_blocks_and_unlike_things_are_flagged(campaigns):
    answer = compared(campaigns, "old:zenoh untouched", "old:zenoh tuned")
    assert answer.paired and set(verdicts(answer).values()) == {"better"}
    assert answer.rules.aa_floor is None and "A/A noise" not in " ".join(answer.cautions)
    assert not any("interleaved" in text for text in answer.cautions)
    row = answer.rows[0]
    assert (row.arm_a, row.arm_b) == ("zenoh untouched", "zenoh tuned")
    assert row.flags == ("path: the loopback interface in A, shared memory in B",)
    assert row.ratio.caution is None


def test_campaigns_of_two_lengths_without_void_trials_had_the_same_conditions(campaigns, tmp_path):
    """`0 of 40` and `0 of 20` void trials were a difference of the day, with a caution."""
    synthetic_bundle.write(
        tmp_path / "short", arms=ARMS, workloads=WORKLOADS, blocks=5, sd=0.01, merged=True
    )
    answer = of(f"{campaigns}/old", tmp_path / "short", metrics=["pss"])
    assert topic(answer, "day").answer == "same"
    assert not any("conditions differed" in text for text in answer.cautions)


def test_a_workload_that_is_another_one_is_not_compared(campaigns, tmp_path, monkeypatch):
    faster = synthetic_bundle.WORKLOADS["pointcloud"] | {"rate_hz": 20.0}
    monkeypatch.setitem(synthetic_bundle.WORKLOADS, "pointcloud", faster)
    synthetic_bundle.write(
        tmp_path / "c", arms=ARMS, workloads=WORKLOADS, blocks=5, sd=0.01, seed=3
    )
    answer = of(f"{campaigns}/old", f"{tmp_path}/c", metrics=["pss"])
    assert {r.workload for r in answer.rows} == {"camera"}
    assert answer.not_comparable[0] == NotComparable(
        cell="pointcloud, zenoh untouched",
        reason="the workload is another one: workload.rate_hz: 10.0 → 20.0",
    )
    assert {r.verdict for r in answer.rows} == {"equivalent"}
    assert answer.exit_code == 2  # a regression could hide in what is not compared
    (different,) = topic(answer, "workload").differences
    assert (different.name, different.a, different.b) == ("workload.rate_hz", "10.0", "20.0")


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("network", {"name": "air", "links": {"robot": {"up": {"loss": 0.5}}}}, "network.links"),
        ("recorder", {"host": "robot"}, "recorder.host"),
        ("conditions", {"background": "cpu"}, "conditions.background"),
    ],
)
def test_another_network_of_one_name_is_another_workload(tmp_path, monkeypatch, key, value, name):
    monkeypatch.delenv(kept.VARIABLE)
    usual = synthetic_bundle._cell_row
    network = {"name": "air", "links": {"robot": {"up": {"loss": 0.3}}}}
    changed = {"network": network}

    def row(cell):
        usual_row = usual(cell)
        definition = json.loads(usual_row["definition"]) | changed
        return usual_row | {"definition": json.dumps(definition)}

    monkeypatch.setattr(synthetic_bundle, "_cell_row", row)
    synthetic_bundle.write(tmp_path / "a", arms=ARMS[:2], workloads=("camera",), blocks=5)
    changed[key] = value
    synthetic_bundle.write(tmp_path / "b", arms=ARMS[:2], workloads=("camera",), blocks=5)
    answer = of(f"{tmp_path}/a", f"{tmp_path}/b")
    assert not answer.rows and (answer.verdict, answer.exit_code) == ("undecided", 2)
    assert {one.reason.partition(name)[0] for one in answer.not_comparable} == {
        "the workload is another one: "
    }
    assert topic(answer, "workload").answer == "different"
    sides = (f"{tmp_path}/b:{arm.arm}" for arm in ARMS[:2])
    assert of(*sides).rows, "of one definition"


def test_what_b_lacks_is_said_and_counts_and_what_a_lacks_is_said(campaigns):
    answer = compared(
        campaigns,
        "old:workload=camera",
        "same:arm=zenoh tuned,arm=zenoh untouched",
        metrics=["pss"],
    )
    reasons = {x.cell: x.reason for x in answer.not_comparable}
    assert reasons["camera, cyclonedds tuned (A)"] == "B has no arm cyclonedds tuned"
    assert reasons["pointcloud, zenoh tuned (B)"] == "A has no workload pointcloud"
    assert answer.exit_code == 2
    only_more = compared(campaigns, "old:workload=camera", "same", metrics=["pss"])
    assert only_more.not_comparable and only_more.exit_code == 0


def test_a_level_selected_on_each_side_is_compared_on_purpose(tmp_path):
    place = synthetic_bundle.write(
        tmp_path / "c", arms=ARMS[:2], workloads=("camera",), levels=3, blocks=6
    )
    answer = of(f"{place}:level=0", f"{place}:level=2")
    assert {r.cell for r in answer.rows} == {f"camera [level=0], {a.arm}" for a in ARMS[:2]}
    assert all("level 0, in B 2" in r.flags for r in answer.rows)
    assert answer.paired


def test_who_fails_in_four_of_ten_blocks_is_not_better_for_being_fast_in_the_others(tmp_path):
    (steady,) = [a for a in synthetic_bundle.ARMS if a.arm == "fastdds tuned"]
    flaky = dataclasses.replace(slower(steady, 1 / 1.4), fails=(1, 4, 6, 8))
    for name, one in (("a", steady), ("b", flaky)):
        synthetic_bundle.write(
            tmp_path / name, arms=(one,), workloads=("camera",), blocks=10, sd=0.02
        )
    rows = {row.metric: row for row in of(tmp_path / "a", tmp_path / "b").rows}
    assert rows["response_latency_p50"].verdict == "undecided"
    assert rows["undelivered"].difference.value == pytest.approx(0.4)
    assert rows["failed_trials"].reason == "0 of 10 trials failed in A, 4 of 10 in B"
    assert rows["response_latency_p50"].trials == (10, 10) and rows["pss"].trials == (10, 6)
    with journal(tmp_path / "b") as lines:
        for line in lines:
            if line.get("status") == "failed":
                line["failed_by"] = "host"
    again = of(tmp_path / "a", tmp_path / "b")
    assert verdicts(again) == {"camera, fastdds tuned": "better"}
    assert not verdicts(again, "failed_trials"), "what its host broke is no failure of the arm"


def test_a_lost_block_is_infinite_in_whatever_the_primary_metric_is(tmp_path):
    """Of a time to recover, too, which is no percentile of messages."""
    for name in "ab":
        network_bundle.write(tmp_path / name, blocks=10)
    with journal(tmp_path / "b") as lines:
        for line in lines:
            if line.get("cell") == 0 and line["block"] in (1, 4, 6, 8):
                line |= {"status": "failed", "reason": "it died", "failed_by": "worker"}
    answer = of(tmp_path / "a", tmp_path / "b")
    row = next(r for r in answer.rows if r.cell_a == 0 and r.metric == "recovery_time")
    assert row.trials == (10, 10)
    assert row.ratio.value is None and row.verdict in ("undecided", "worse")


def test_named_metrics_replace_the_default_ones_and_none_is_left_out(campaigns):
    answer = compared(
        campaigns, "old:zenoh tuned", "new:zenoh tuned", metrics=["response_latency_p99", "pss"]
    )
    assert [r.metric for r in answer.rows] == ["response_latency_p99", "pss"] * 2
    # 30 messages per trial
    assert set(verdicts(answer, "response_latency_p99").values()) == {"no data"}
    wide = compared(campaigns, "old:zenoh tuned", "new:zenoh tuned", margin=0.6)
    assert "worse" not in {r.verdict for r in wide.rows}


def test_a_margin_keeps_the_digits_that_its_user_wrote(campaigns):
    answer = compared(campaigns, "old", "same", margin=0.1225)
    margins = {row.reason.partition("margin of ")[2] for row in answer.rows if row.reason}
    assert margins - {""} == {"12.25 %"}
    assert sum("margin of 12.25 %" in text for text in texts(view(answer).sections)) == 1
    assert any("margin of 12.25 %" in text for text in texts(view(answer).answer))


def test_loss_comes_first_whatever_metrics_are_named(tmp_path):
    """Of who lost half of all messages `--metric pss` said that it is equivalent."""
    (sound,) = [a for a in ARMS if a.arm == "zenoh tuned"]
    for name, loss in (("a", 0.0), ("b", 0.5)):
        arms = (dataclasses.replace(sound, loss=loss),)
        synthetic_bundle.write(tmp_path / name, arms=arms, workloads=("camera",), blocks=10)
    a, b = (select(f"{tmp_path}/{name}") for name in "ab")
    answer, turned = compare(a, b, metrics=["pss"]), compare(b, a, metrics=["pss"])
    by_metric = [{r.metric: r.verdict for r in one.rows} for one in (answer, turned)]
    assert by_metric == [
        {"pss": "undecided", "undelivered": "worse"},
        {"pss": "undecided", "undelivered": "better"},
    ]
    assert "B delivers less" in answer.rows[0].reason
    assert (answer.exit_code, turned.exit_code) == (1, 2)


def test_of_a_chain_the_ledger_of_its_hops_is_not_judged(campaigns, tmp_path):
    chain = shutil.copytree(campaigns / "old", tmp_path / "changed")
    with campaign_json(chain) as document:
        for one in document["plan"]["comparisons"]:
            one["primary_metric"] = "end_to_end_latency_p50"
    answer = of(*(f"{chain}:{arm}" for arm in ("zenoh untouched", "zenoh tuned")))
    # Nothing is relayed here, so there is nothing end to end.
    assert {r.metric for r in answer.rows} == {"cpu_per_message", "pss"}


@pytest.mark.parametrize("metric", ["history_wanted", "layer_share_middleware"])
def test_what_has_no_better_side_is_refused(campaigns, metric):
    with pytest.raises(UserError, match="neither better nor worse") as refused:
        compared(campaigns, "old", "new", metrics=[metric])
    assert refused.value.where == "--metric" and refused.value.expected
    assert refused.value.fix.startswith("--metric ")


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ("old", "old", "a trial cannot be compared with itself"),
        ("old:zenoh tuned", "old", "a trial cannot be compared with itself"),
        ("gone", "old", "no such directory"),
        ("gone:zenoh tuned", "old", "no such directory"),
        ("old:zenoh tunde", "new", "did you mean `zenoh tuned`"),
        ("old:arn=zenoh tuned", "new", "did you mean `arm`"),
        ("old:workload=camera,zenoh", "new", "not part of a selection"),
        ("old:", "new", "empty selection"),
        ("old:workload=", "new", "empty selection"),
        ("old:middleware=zenoh,arm=cyclonedds tuned", "new", "no cell has all of this"),
    ],
)
def test_wrong_sides_are_refused_with_what_to_do(campaigns, a, b, says):
    with pytest.raises(UserError, match=says):
        compared(campaigns, a, b)


def test_the_verb_prints_writes_and_answers_with_its_exit_code(campaigns, capsys, tmp_path):
    old, new = f"{campaigns}/old", f"{campaigns}/new"

    def run(*words):
        return captured(capsys, "compare", *words)

    code, out, _ = run(old, new, "--html", f"{tmp_path}/c.html")
    assert code == 1
    assert "B is worse than A in " in out
    assert "1.3" in (tmp_path / "c.html").read_text()
    tuned = (f"{new}:zenoh tuned", f"{old}:zenoh tuned")
    code, out, _ = run(*tuned, "--json", "--metric", "response_latency_p50")
    assert code == 0 and json.loads(out)["verdict"] == "better"
    code, _, err = run(old, new, "--margin", "5")
    assert code == 2 and "--margin 5%" in err
    code, _, err = run(old, new, "--metric", "response_latency_50")
    assert code == 2 and "did you mean `response_latency_p50`" in err
    for place in (tmp_path, tmp_path / "none" / "c.html"):
        assert run(old, new, "--html", place)[0] == 2


@pytest.mark.parametrize("width", [80, 120])
def test_what_changed_comes_last_and_what_did_not_takes_a_line_per_metric(campaigns, width):
    answer = compared(campaigns, "old", "new")
    text = printed(view(answer), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert text.index("The same machine?") < text.index("B is worse than A in ")
    worse = [r for r in answer.rows if r.verdict == "worse"]
    end = " ".join(text[text.rindex("The same ") :].split())
    assert worse and all(f"worse {row.cell}" in end for row in worse)
    rest = [r for r in answer.rows if r.verdict not in ("worse", "better")]
    assert len(unchanged(answer)) == len({r.title for r in rest})
    total = sum(
        int(n)
        for line in unchanged(answer)
        for n in re.findall(r"(\d+) (?:equivalent|undecided|no data)", line)
    )
    assert total == len(rest)
    cells = {r.cell for r in answer.rows} - {r.cell for r in worse}
    assert f"{len(cells)} cells without a change not shown" in text


def test_what_a_bundle_says_cannot_drive_the_terminal_or_the_page(campaigns, tmp_path):
    evil = "\x1b[2J<script>alert(1)</script>"
    other = shutil.copytree(campaigns / "same", tmp_path / "changed")
    with campaign_json(other) as document:
        document["tool_version"] = evil
    answer = of(f"{campaigns}/old", other, metrics=["pss"])
    assert "\x1b" not in printed(view(answer), 80)
    page = render_html(view(answer))
    assert "<script>alert" not in page and "&lt;script&gt;" in page


def test_marks_lie_on_the_axis_and_intervals_without_end_run_off_it(campaigns):
    answer = compared(campaigns, "old", "new")
    axis = axis_of(answer)
    assert axis.place(1) == 50 and axis.band[0] < 50 < axis.band[0] + axis.band[1]
    for row in answer.rows:
        if row.ratio is not None and row.ratio.value is not None:
            place = mark(row.ratio, axis)
            assert 0 <= place.low <= place.at <= place.high <= 100
    endless = Ratio(value=1.1, low=0.0, high=math.inf)
    assert mark(endless, axis).beyond == (True, True)
    assert mark(Ratio(no_data="…"), axis) is None


def test_the_document_is_json_and_is_read_back_as_the_same_answer(campaigns):
    """What is in the file is what programs of others have: nothing is lost but digits beyond the
    sixth."""
    for a, b in (
        ("old", "new"),
        ("old:zenoh untouched", "old:zenoh tuned"),
        ("old:workload=camera", "same"),
    ):
        written = json.loads(json.dumps(document(compared(campaigns, a, b)), allow_nan=False))
        assert (written["schema"], written["version"]) == ("rmwbench/compare", 1)
        assert document(TypeAdapter(Compared).validate_python(written)) == written
