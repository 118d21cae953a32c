"""Cells that cannot be run: found before anything is written or by their first trial, shown with
the reason, resumed the same, and never a failure. Optional arms that are not here, and two
middlewares in one trial."""

import json
from pathlib import Path

import pytest

from rmwbench.bundle import Bundle
from rmwbench.lab import machine
from tests.lab import fake_worker, tools
from tests.support.command import captured
from tests.support.edited import journal
from tests.support.shown import show_document

SUITE = """
suite: mini
title: a test
blocks: {planned: 2, minimum: 2}
timeline: {warmup_s: 0.05, drain_s: 0.1, grace_s: 0.05, match_s: 20, steady_s: 0.1}
arms:
  - {name: one, middleware: fake}
  - {name: two, middleware: fake, EXTRA}
workloads:
  - {name: small, message: Bytes(100), rate_hz: 400}
  - {name: calls, clients: 1, request: Bytes(64), reply: Bytes(64), rate_hz: 400}
"""
MODES = {"transport": "udp|tcp", "threads": "no: it has one"}


class Bench:
    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]):
        self.path, self._capsys = path, capsys
        self.workers, self.out = path / "workers", path / "out"
        self.workers.mkdir()
        tools.place(self.workers)

    def install(self, fault="", stage="", name="fake", **describe) -> None:
        fake_worker.install(self.workers, fault, stage, describe=describe | {"middleware": name})

    def write(self, extra="wait: block", edit=("", "")) -> Path:
        suite = self.path / "mini.yaml"
        suite.write_text(SUITE.replace("EXTRA", extra).replace(*edit))
        return suite

    def run(self, extra="wait: block", *arguments: object, edit=("", "")) -> tuple[int, str]:
        suite = self.write(extra, edit)
        return self.command("run", suite, "--out", self.out, "--no-report", *arguments)

    def command(self, *arguments: object) -> tuple[int, str]:
        self._capsys.readouterr()
        code, out, err = captured(self._capsys, *arguments)
        return code, out + err

    def lines(self, kind: str) -> list[dict]:
        lines = map(json.loads, (self.out / "journal.jsonl").read_text().splitlines())
        return [line for line in lines if line["type"] == kind]


@pytest.fixture
def bench(tmp_path, capsys, monkeypatch):
    made = Bench(tmp_path, capsys)
    monkeypatch.setenv("RMWBENCH_WORKERS", str(made.workers))
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", str(tmp_path / "none"))
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.setattr(machine, "voids", lambda probes: [])
    return made


def cells_of(bundle: Bundle) -> dict[int, tuple[str, str]]:
    return {row["cell"]: (row["workload"], row["arm"]) for row in bundle.rows("cells")}


@pytest.mark.long
def test_what_a_description_denies_is_not_run_and_everything_else_is(bench):
    bench.install(capabilities={"services": "no: only topics"}, modes=MODES)
    code, output = bench.run("modes: {threads: 4}")
    assert code == 0 and "not supported: one in calls: fake has no services" in output, output
    assert "not supported: two in small: fake has no mode threads: it has one" in output
    bundle = Bundle(bench.out)
    where = cells_of(bundle)
    assert {
        where[cell]: reason.rpartition(": ")[2] for cell, reason in bundle.unsupported.items()
    } == {
        ("calls", "one"): "only topics",
        ("calls", "two"): "only topics",
        ("small", "two"): "it has one",
    }
    assert {where[line.cell] for line in bundle.trials()} == {("small", "one")}
    assert len(bundle.trials("done")) == 2
    planned = bundle.campaign.plan
    assert len(planned.trials) == 2 and len(planned.unsupported) == 3
    document = show_document(bundle)
    assert document["campaign"]["blocks_complete"] == 2
    assert document["campaign"]["trials"]["failed"] == 0
    arms = {(w["workload"], a["arm"]): a for w in document["workloads"] for a in w["arms"]}
    assert arms["small", "two"]["not_supported"].endswith("it has one")
    assert arms["small", "one"]["not_supported"] is None
    code, output = bench.command("show", bench.out)
    text = " ".join(output.split())
    assert code == 0 and "not supported" in text and "fake has no mode threads: it has one" in text


def test_the_plan_shows_it_without_running_anything(bench):
    bench.install(capabilities={"services": "no: only topics"})
    suite = bench.write("wait: poll")
    code, output = bench.command("plan", suite)
    assert code == 0 and "Not supported" in output
    assert "one in calls: fake has no services" in output
    document = json.loads(bench.command("plan", suite, "--json")[1])
    assert [row["cell"] for row in document["unsupported"]] == [3, 4]
    assert {trial["cell"] for trial in document["trials"]} == {1, 2}


@pytest.mark.long
def test_a_budget_pays_only_for_what_can_run(bench):
    bench.install(capabilities={"services": "no: only topics"})
    planned = json.loads(bench.command("plan", bench.write("wait: poll"), "--json")[1])
    code, output = bench.run("wait: poll", "--budget", f"{planned['estimated_s'] + 0.1}s")
    assert code == 0, output


def test_a_level_that_open_refuses_is_found_before_anything_is_written(bench):
    bench.install("cannot", "open", modes=MODES)
    code, output = bench.run("modes: {transport: tcp}")
    # the fault strikes every arm: nothing is left
    assert code == 2 and "udp only" in output and not bench.out.exists()


@pytest.mark.long
def test_what_only_a_trial_finds_ends_its_cell_alone(bench):
    bench.install("late_cannot", "create")
    code, output = bench.run()
    assert code == 0 and "not supported: mode transport: udp only" in output
    unsupported = bench.lines("unsupported")
    bundle = Bundle(bench.out)
    assert {cells_of(bundle)[line["cell"]][0] for line in unsupported} == {"calls"}
    assert len(unsupported) == 2
    assert not bundle.trials("failed") and len(bundle.trials("done")) == 4
    assert show_document(bundle)["campaign"]["blocks_complete"] == 2
    with journal(bench.out) as lines:
        lines[:] = [line for line in lines if line["type"] != "finished"]
    code, output = bench.command("resume", bench.out, "--no-report")
    assert code == 0 and len(bench.lines("unsupported")) == 2
    assert len(Bundle(bench.out).trials()) == 4


@pytest.mark.long
@pytest.mark.parametrize("more", ["optional: true", "wait: block"])
def test_an_arm_that_is_not_here_is_left_out_with_the_command_and_stays_out(bench, more):
    bench.install()
    code, output = bench.run(
        more, edit=("name: two, middleware: fake", "name: two, middleware: zenoh")
    )
    assert code == 0
    assert "left out: two: zenoh is not built: rmwbench middlewares build zenoh" in output
    bundle = Bundle(bench.out)
    assert bundle.campaign.plan.left_out[0].arm == "two"
    assert {arm for _, arm in cells_of(bundle).values()} == {"one"}
    reason = "Left out: two: zenoh is not built: rmwbench middlewares build zenoh"
    _, shown = bench.command("show", bench.out)
    assert reason in " ".join(shown.split())
    for kind, page in (("markdown", "report.md"), ("html", "report.html")):
        bench.command("report", bench.out, "--format", kind)
        assert reason in (bench.out / page).read_text()
    bench.install(name="zenoh")  # built meanwhile: a campaign goes on with the arms it began with
    code, output = bench.command("resume", bench.out, "--no-report")
    assert code == 0 and "nothing is left to run" in output


@pytest.mark.long
def test_two_middlewares_meet_in_one_trial_each_with_its_own_worker_and_version(bench):
    bench.install(version="1.0", release_date="2020-01-01")
    bench.install(name="zenoh", version="2.0")
    code, output = bench.run("processes: {listener|service: {middleware: zenoh}}")
    assert code == 0, output
    bundle = Bundle(bench.out)
    (mixed,) = [
        row for row in bundle.rows("cells") if row["arm"] == "two" and row["workload"] == "small"
    ]
    assert (mixed["middleware"], mixed["version"]) == ("fake + zenoh", "1.0 + 2.0")
    assert mixed["release_date"] == "2020-01-01"
    described = {one.middleware for one in bundle.campaign.middlewares}
    assert described == {"fake", "zenoh"}
    trials = [line.trial for line in bundle.trials("done") if line.cell == mixed["cell"]]
    ends = {
        (row["process"], row["middleware"])
        for row in bundle.rows("endpoints")
        if row["trial"] in trials
    }
    assert ends == {("talker", "fake"), ("listener", "zenoh")} and len(trials) == 2


def test_a_pair_that_carries_transforms_in_two_ways_does_not_meet(bench):
    bench.install()
    bench.install(name="rclcpp")
    pair = "processes: {listener|service: {middleware: rclcpp}}"
    suite = bench.write(pair, ("Bytes(100)", "TFMessage(30)"))
    document = json.loads(bench.command("plan", suite, "--json")[1])
    # `one` has the same middleware on both sides.
    ((cell, reason),) = [(row["cell"], row["reason"]) for row in document["unsupported"]]
    assert [one["arm"]["name"] for one in document["cells"] if one["cell"] == cell] == ["two"]
    assert reason.startswith("fake and rclcpp do not read each other's TFMessage(30)")


@pytest.mark.long
def test_two_that_never_match_are_a_finding_with_its_cause(bench):
    bench.install()
    bench.install("apart", "match", name="zenoh")
    both = "processes: {listener|service: {middleware: zenoh}}"
    code, output = bench.run(both, "--workload", "small", edit=("match_s: 20", "match_s: 0.5"))
    assert code == 2, output  # an arm of the user's own that failed in every trial
    assert {line.cause for line in Bundle(bench.out).trials("failed")} == {"no match"}
