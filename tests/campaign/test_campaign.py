"""Whole campaigns as a user runs them, on the fake worker: finish, stop, resume, and every refusal
before anything is written."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rmwbench.bundle import Bundle, BundleWriter, write
from rmwbench.bundle.journal import TrialEnded
from rmwbench.campaign import course, start, trial_lab
from rmwbench.campaign.plan import request
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.campaign.trial_lab import StopSignal, StopSignals
from rmwbench.lab import machine
from rmwbench.lab.machine import void_rules
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from tests.lab import fake_worker, tools
from tests.support.command import captured
from tests.support.edited import campaign_json, journal
from tests.support.program import until
from tests.support.shown import show_document

SUITE = """
suite: mini
title: a test
blocks: {planned: 2, minimum: 2}
timeline: {warmup_s: 0.05, drain_s: 0.1, grace_s: 0.05, match_s: 20}
arms:
  - {name: one, middleware: fake}
  - {name: two, middleware: fake, wait: poll}
workloads:
  - {name: small, message: Bytes(100), rate_hz: 400, timeline: {steady_s: 0.1}}
  - {name: fan, message: Bytes(200), rate_hz: 400, subscribers: 2, timeline: {steady_s: 0.1}}
"""


HANGS = "workers = {name: replace(worker, executable=path) for name, worker in workers.items()}"
WAITS = "while not gate.exists(): time.sleep(0.02)"
HELD = """
import time
from dataclasses import replace
from pathlib import Path
from rmwbench.campaign import trial_lab
from rmwbench.campaign.trial import timeouts
from rmwbench.cli.main import main
from rmwbench.lab import machine
machine.voids = lambda probes: []
run_trial, path, gate = trial_lab.run_trial, Path({hanging!r}, "rmwbench-fake"), Path({gate!r})
def held(order, workers, host):
    if order.trial > {trials}:
        timeouts.COMMAND_TIMEOUT_S = 1000
        {then}
    return run_trial(order, workers, host)
trial_lab.run_trial = held
main()
"""
"""`rmwbench run` that stays where a test needs it."""


class Bench:
    """A directory with a suite and a fake worker, and the command line on it."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]):
        self.path, self.suite = path, path / "mini.yaml"
        self.workers, self.out = path / "workers", path / "out"
        self._capsys = capsys
        self.suite.write_text(SUITE)
        self.workers.mkdir()
        fake_worker.install(self.workers)

    def start(self, trials: int, then: str = HANGS) -> subprocess.Popen:
        """Runs the suite in a process of its own, to be killed: after so many trials it waits, in
        the middle of the next one or, with WAITS, before it until `go_on` is called. However busy
        the machine, it does not get away."""
        hanging = self.path / "hanging"
        hanging.mkdir()
        fake_worker.install(hanging, "hang", "drain")
        code = HELD.format(trials=trials, then=then, hanging=str(hanging), gate=str(self.gate))
        command = [sys.executable, "-c", code, "run", self.suite, "--out", self.out, "--no-report"]
        return subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @property
    def gate(self) -> Path:
        return self.path / "go on"

    def go_on(self) -> None:
        self.gate.touch()

    def stopped(self, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
        """Runs the suite in this process as if a signal came in its second trial; what it says."""
        run_trial = trial_lab.run_trial

        def interrupted(order, workers, host):
            if order.trial == 1:
                return run_trial(order, workers, host)
            host.close()
            raise StopSignal("SIGINT")

        monkeypatch.setattr(trial_lab, "run_trial", interrupted)
        code, output = self.run(*arguments)
        monkeypatch.setattr(trial_lab, "run_trial", run_trial)
        assert code == 130 and self.finished() == [1], output
        return output

    def command(self, *arguments: object) -> tuple[int, str]:
        """Run a command in this process, which saves a second of imports; return its exit status, and
        both outputs together."""
        self._capsys.readouterr()
        code, out, err = captured(self._capsys, *arguments)
        return code, out + err

    def run(self, *arguments: object) -> tuple[int, str]:
        return self.command("run", self.suite, "--out", self.out, "--no-report", *arguments)

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in (self.out / "journal.jsonl").read_text().splitlines()]

    def finished(self) -> list[int]:
        return [line["trial"] for line in self.lines() if line["type"] == "trial"]

    def until_trials(self, count: int) -> None:
        path = self.out / "journal.jsonl"
        until(lambda: path.exists() and len(self.finished()) >= count, timeout_s=300)


@pytest.fixture
def bench(tmp_path, capsys, monkeypatch):
    made = Bench(tmp_path, capsys)
    tools.place(made.workers)
    monkeypatch.setenv("RMWBENCH_WORKERS", str(made.workers))
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", str(tmp_path / "none"))
    # a busy machine is not what is tested here
    monkeypatch.setattr(machine, "voids", lambda probes: [])
    return made


@pytest.mark.long
def test_on_the_shared_host_a_trial_meets_no_other_campaign(bench, monkeypatch):
    monkeypatch.setenv("RMWBENCH_HOST_KIND", "shared")
    with contextlib.ExitStack() as others:
        for port in range(20_001, 20_009):  # those of a fake worker in a host of its own
            taken = others.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            taken.bind(("127.0.0.1", port))
        code, output = bench.run()
    assert code == 0, output
    assert {line.status for line in Bundle(bench.out).trials()} == {"done"}, output


@pytest.mark.long
def test_a_campaign_runs_in_plan_order_and_is_finished(bench):
    code, output = bench.run("--seed", 5)
    assert (code, "2 of 2" in output) == (0, True), output
    assert bench.finished() == list(range(1, 9)) and bench.lines()[-1]["type"] == "finished"
    bundle = Bundle(bench.out)
    bundle.check()
    assert {line.status for line in bundle.trials()} == {"done"}
    loaded = parse(SUITE, where="mini.yaml", middlewares=["fake"])
    planned = make_plan(loaded, cells(loaded), seed=5).trials
    assert [(t.trial, t.cell, t.block) for t in planned] == [
        (t.trial, t.cell, t.block) for t in bundle.trials()
    ]
    assert len({row["nonce"] for row in bundle.rows("trials")}) == 8
    document = bundle.campaign
    assert document.plan.blocks.count == 2 and document.middlewares[0].middleware == "fake"
    assert document.machine.facts and json.loads(bundle.rows("machine")[0]["end"])["time_utc"]
    assert bundle.journal.left_behind() == []
    rows = bundle.rows("cells")
    assert {(row["workload"], row["arm"]) for row in rows} == {
        (w, a) for w in ("small", "fan") for a in ("one", "two")
    }
    profile = json.loads(rows[0]["definition"])["arm"]["profile"]
    assert profile == {"name": "untouched", "format": "none", "text": ""}
    logs = [row for row in bundle.rows("files") if row["name"].endswith(".stderr")]
    assert bundle.file(logs[0]["sha256"]) == b"the last words\n"


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_campaign_is_valid_and_resumes_without_repeating(bench, how):
    process = bench.start(trials=2)
    bench.until_trials(2)
    process.send_signal(how)
    output = "".join(process.communicate(timeout=300))
    before = bench.finished()
    assert before == [1, 2]
    Bundle(bench.out).check()
    if how != signal.SIGKILL:
        assert process.returncode == 130 and "rmwbench resume" in output
        assert any(line["type"] == "note" and "discarded" in line["text"] for line in bench.lines())
        assert Bundle(bench.out).journal.left_behind() == []
    code, output = bench.command("resume", bench.out, "--no-report")
    assert code == 0, output
    assert bench.finished() == list(range(1, 9)) and bench.finished()[: len(before)] == before
    Bundle(bench.out).check()
    code, output = bench.command("resume", bench.out, "--no-report")
    assert code == 0 and "finished" in output and bench.finished() == list(range(1, 9))


@pytest.mark.long
def test_what_a_budget_cut_stays_cut_on_resume_and_the_report_says_so(bench, monkeypatch):
    """Two comparisons of two blocks take 4.8 s and more: 3.5 s hold one of them, whole."""
    output = bench.stopped(monkeypatch, "--budget", "3.5s")
    assert "Not run within 3.5 s: 1 of 2 comparisons" in output
    stored = Bundle(bench.out).campaign
    assert stored.request["comparisons"] == ["small"]
    assert stored.plan.not_run.comparisons == ("fan",)
    # whatever a budget would hold by now
    monkeypatch.setattr(request.Planner, "within_budget", None)
    code, output = bench.command("resume", bench.out, "--no-report")
    assert code == 0, output
    bundle = Bundle(bench.out)
    assert {row["workload"] for row in bundle.rows("cells")} == {"small"}
    assert {row["arm"] for row in bundle.rows("cells")} == {"one", "two"}
    # the block that it was stopped in ran again as a whole
    (cut,) = bundle.trials("void")
    assert cut.trial == 1 and "the campaign was stopped within it" in cut.reason
    assert sorted((trial.cell, trial.block) for trial in bundle.trials("done")) == sorted(
        (trial.cell, trial.block) for trial in stored.plan.trials
    )
    not_run = show_document(bundle)["campaign"]["not_run"]
    assert "Not run within 3.5 s: 1 of 2 comparisons" in not_run
    shown = bench.command("show", bench.out)[1]
    assert "workload fan" in " ".join(shown.split())


@pytest.mark.long
def test_blocks_for_which_there_is_no_time_are_left_out_and_can_be_resumed(bench, monkeypatch):
    monkeypatch.setattr(
        "rmwbench.campaign.blocks.has_time", lambda plan, blocks_done, *_: blocks_done < 1
    )
    status, output = bench.run()
    assert status == 0 and "1 of 2 blocks left out" in output, output
    assert bench.finished() == [1, 2, 3, 4]
    assert any(line["type"] == "note" and "left out" in line["text"] for line in bench.lines())
    status, output = bench.command("resume", bench.out, "--no-report")
    assert status == 0, output
    assert bench.finished() == list(range(1, 9))


@pytest.mark.long
def test_a_trial_with_a_stolen_processor_runs_again_and_the_report_counts_it(bench, monkeypatch):
    """The kernel's counters of two trials say that the hypervisor took the processor away."""
    stolen = iter([(0, 0), (0, 900), (0, 900), *[(0, 0)] * 100])
    edges = itertools.chain.from_iterable(stolen)
    read_edge, voids = machine.read_edge, void_rules.voids

    def with_steal():
        reading = read_edge()
        return reading._replace(
            ticks=machine.Ticks(reading.ticks.busy, reading.ticks.idle, 0, next(edges))
        )

    monkeypatch.setattr(machine, "read_edge", with_steal)
    only_steal = lambda probes: voids(  # noqa: E731
        [row for row in probes if row["probe"] in ("steal", "stolen", "stolen_ticks")]
    )
    monkeypatch.setattr(machine, "voids", only_steal)
    monkeypatch.delenv("RMWBENCH_SPOILT")
    # a busy machine must not take away the time for repeats
    monkeypatch.setattr(course, "TOLERANCE", 100.0)
    code, output = bench.run()
    assert code == 0 and "steal" in output, output
    for text in ("its block is void for every arm, and runs again", "runs again at the end"):
        assert text in output, output
    assert bench.finished() == [1, 2, 9, 3, 4, 5, 6, 7, 8, 11, 10]
    lines = [line for line in bench.lines() if line["type"] == "trial"]
    compared = [*lines[:3], *lines[-2:]]
    assert [
        (x["status"], x.get("cause"), x.get("repeats"), x.get("voids"), x.get("again"))
        for x in compared
    ] == [
        ("done", None, None, None, None),
        ("void", "machine", None, [1], True),
        ("void", "machine", 1, None, True),
        ("done", None, 9, None, None),
        ("done", None, 2, None, None),
    ]
    bundle = Bundle(bench.out)
    assert [t.status for t in bundle.trials()[:2]] == ["void", "void"]
    assert len(bundle.trials("done")) == 8
    taken = bundle.trials()[0]
    assert (taken.cause, taken.codes) == ("machine", ("block",))
    assert "with trial 2 (machine: steal" in taken.reason
    of_block = [row for row in bundle.rows("trials") if row["trial"] in (1, 2, 9, 10, 11)]
    assert len({row["seed"] for row in of_block}) == 1
    assert len({row["nonce"] for row in bundle.rows("trials")}) == 11
    document = show_document(bundle)
    assert document["campaign"]["trials"] == {
        "planned": 8, "done": 8, "failed": 0, "void": 3, "repeated": 3, "voided_by": {"block": 1, "steal": 2},
    }  # fmt: skip
    assert document["campaign"]["blocks_complete"] == 2
    shown = " ".join(bench.command("show", bench.out)[1].split())
    assert "3 void (with its block 1, steal 2), repeated" in shown
    assert "Trials that the machine spoilt, by arm:" in shown


@pytest.mark.long
def test_a_limit_of_the_kernel_that_was_raised_since_is_what_a_resume_names():
    """`doctor --fix` had raised it, and the advice was to restore profile files."""
    stored = {"arm": 1, "ungranted": [{"side": "receive"}], "flags": ["tuned*: …"]}
    current = {"arm": 1, "flags": []}
    assert start._difference(stored, current) == "different: flags, ungranted"
    assert "sysctl" in start._cause(stored, current)
    assert "profile files" in start._cause(stored, stored | {"arm": 2})


def test_a_hang_up_that_nohup_ignores_stops_nothing():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as signals, signals.interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_failing_worker_costs_its_trials_and_not_the_campaign(bench):
    fake_worker.install(bench.workers, "segfault", "drain")
    code, output = bench.run()
    assert code == 2  # nothing good in it
    assert output.count("SIGSEGV") == 4  # once for each cell
    assert [line["status"] for line in bench.lines() if line["type"] == "trial"] == ["failed"] * 8
    assert bench.lines()[-1]["type"] == "finished"


@pytest.mark.long
def test_a_selection_runs_what_was_named(bench):
    assert bench.run("--workload", "fan", "--arm", "two")[0] == 0
    rows = Bundle(bench.out).rows("cells")
    assert [(row["workload"], row["arm"]) for row in rows] == [("fan", "two")]


def test_a_directory_that_holds_something_is_refused(bench):
    assert bench.run("--workload", "small", "--arm", "one")[0] == 0
    code, output = bench.run()
    assert code == 2 and "holds a campaign already" in output and "rmwbench resume" in output


@pytest.mark.parametrize(
    ("describe", "says"),
    [
        pytest.param({"version": "2.0"}, ("another version", "1.0", "2.0"), id="version"),
        pytest.param(
            {"profiles": [fake_worker.DESCRIBE["profiles"][0] | {"text": "new"}]},
            ("cells are not what they were", "profile"),
            id="profile",
        ),
    ],
)
def test_a_resume_with_another_worker_is_refused(bench, monkeypatch, describe, says):
    bench.stopped(monkeypatch)
    fake_worker.install(bench.workers, describe=describe)
    code, output = bench.command("resume", bench.out)
    assert code == 2 and all(text in output for text in says)


def test_a_trial_that_another_process_finished_until_it_gave_the_lock_is_not_repeated(
    bench, monkeypatch
):
    """Resuming read the journal, and seconds later took the lock."""
    bench.stopped(monkeypatch)
    other, take = BundleWriter.reopen(bench.out), write._take_lock
    second = start.course_of(bench.out).next

    def after_the_other(place):
        where = {"trial": second.trial, "cell": second.cell, "block": second.block}
        other.finish_trial(TrialEnded(**where, status="failed", reason="x", finished_utc=""), {})
        other.close()
        return take(place)

    monkeypatch.setattr(write, "_take_lock", after_the_other)
    resumed = start.resumed_campaign(bench.out)
    resumed.writer.close()
    assert second.trial not in [trial.trial for trial in resumed.source.course.rest]
    assert bench.lines()[-1] == {**bench.lines()[-1], "type": "resumed", "trials_left": 6}


@pytest.mark.parametrize(
    ("fact", "change"),
    [("cpu_model", lambda now: f"Another {now}"), ("memory_bytes", lambda now: now // 2)],
)
def test_a_resume_on_another_machine_is_refused(bench, monkeypatch, fact, change):
    bench.stopped(monkeypatch)
    changed = of_machine(bench, fact, change)
    code, output = bench.command("resume", bench.out)
    assert code == 2 and "another machine" in output and f"{fact} {changed}" in output


def of_machine(bench, fact, change):
    """Changes a fact of the machine that a campaign says it began on; what it is now."""
    with campaign_json(bench.out) as document:
        hardware = document["machine"]["hardware"]
        hardware[fact] = change(hardware[fact])
    return hardware[fact]


@pytest.mark.long
def test_two_cannot_write_one_campaign(bench):
    process = bench.start(trials=1, then=WAITS)
    bench.until_trials(1)
    code, output = bench.command("resume", bench.out)
    assert code == 2 and "another rmwbench is writing" in output
    code, output = bench.command("clean", bench.out)
    assert code == 2 and "still runs" in output
    bench.go_on()
    assert process.wait(timeout=300) == 0
    process.communicate()


@pytest.mark.long
def test_clean_settles_what_a_killed_campaign_left(bench):
    process = bench.start(trials=1)
    bench.until_trials(1)
    process.kill()
    process.communicate(timeout=300)
    leftover = bench.out / "tables" / "sent" / "000099.parquet.partial"
    leftover.write_bytes(b"half")
    assert Bundle(bench.out).journal.left_behind()
    code, output = bench.command("clean", "--dry-run", bench.out)
    assert code == 0 and "would remove" in output and leftover.exists()
    before = bench.finished()
    assert bench.command("clean", bench.out)[0] == 0
    assert not leftover.exists() and not Bundle(bench.out).journal.left_behind()
    assert bench.finished() == before
    assert "nothing was left behind" in bench.command("clean", bench.out)[1]


def test_middlewares_lists_the_worker_for_people_and_for_scripts(bench):
    document = json.loads(bench.command("middlewares", "--json")[1])
    assert (document["schema"], document["version"]) == ("rmwbench/middlewares", 1)
    entries = {entry["middleware"]: entry for entry in document["middlewares"]}
    assert entries["fake"]["built"] and entries["fake"]["reason"] is None
    assert entries["fake"]["version"] == "1.0"
    floor = entries["floor"]
    assert not floor["built"] and floor["version"] is None and floor["reason"]
    assert "build floor" in floor["command"] or "rustup" in floor["command"]
    text = bench.command("middlewares")[1]
    assert "fake" in text and "2026-01" in text and "always copies" not in text
    assert "floor not ready" in text
    text = bench.command("middlewares", "show", "fake")[1]
    assert "fake 1.0, released 2026-01-01" in text and "loan (it always copies)" in text
    assert "floor" not in text
    code, text = bench.command("middlewares", "show", "fkae")
    assert code == 2 and "did you mean `fake`" in text
    code, text = bench.command("middlewares", "build", "zenho")
    assert code == 2 and "did you mean `zenoh`" in text


@pytest.mark.long
def test_what_is_sampled_is_kept_with_the_campaign_and_resumed_the_same(bench):
    code, output = bench.run("--series", "50Hz", "--threads", "--schedule")
    assert code == 0 and "traced" in output
    bundle = Bundle(bench.out)
    sampling = {"series_hz": 50.0, "threads": True, "schedule": True}
    assert bundle.campaign.request["sampling"] == sampling
    definitions = [json.loads(row["definition"]) for row in bundle.rows("cells")]
    assert all(
        d["sampling"] == sampling and any(f.startswith("traced:") for f in d["flags"])
        for d in definitions
    )
    assert len(bundle.rows("samples")) > 100
    with journal(bench.out) as lines:
        kept = [line for line in lines if line["type"] not in ("finished", "merged", "removed")]
        cut = max(i for i, line in enumerate(kept) if line["type"] == "trial")
        lines[:] = kept[:cut]
    code, output = bench.command("resume", bench.out, "--no-report")
    assert code == 0 and "traced" in output
    assert len(Bundle(bench.out).trials("done")) == 8
