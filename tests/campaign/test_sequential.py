"""Campaigns that look at themselves: virtual ones, where a trial is a line of numbers and time a
counter, and two real small ones over synthetic arms whose truth is known."""

import io
import json
import re
import time
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from rich.console import Console

from rmwbench.analysis.verdicts import best, sequential
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules, Verdict
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.journal import LookTaken
from rmwbench.campaign import blocks, trial_lab
from rmwbench.campaign.blocks import BlockSource, Hold
from rmwbench.campaign.course import SPOILT_TOLERANCE, Course
from rmwbench.campaign.looks import look_at
from rmwbench.campaign.progress import Progress
from rmwbench.campaign.run import Runner
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import Lab, StopSignal
from rmwbench.errors import UserError
from tests.campaign.test_course import plan
from tests.lab import tools
from tests.support.command import run_suite
from tests.support.shown import show_document


@dataclass
class Virtual:
    """A campaign of which only the decisions are real. `open_until`: blocks from which on the judge
    sees all decided; `slow`: how much longer than planned a trial takes; `spoilt`: trials that the
    machine makes void; `silent`: the judge sees no arm with data."""

    directory: object
    monkeypatch: object
    open_until: int = 10_000
    slow: float = 1.0
    spoilt: frozenset = frozenset()
    stop_after: int | None = None
    silent: bool = False
    hold: Hold | None = None
    leaving: tuple[int, ...] = ()
    ran: list = field(default_factory=list)
    judged: list = field(default_factory=list)
    hosts: list = field(default_factory=list)
    now_s: float = 0.0

    def run(self, made) -> str:
        for name, value in (
            ("run_trial", self._trial),
            ("hosts_ahead", self._host),
            ("machine_table", lambda *_: EMPTY),
        ):
            self.monkeypatch.setattr(trial_lab, name, value)
        self.monkeypatch.setattr(time, "monotonic", lambda: self.now_s)
        journal = []
        if (self.directory / "campaign.json").exists():
            journal = Bundle(self.directory).journal.lines
            writer = BundleWriter.reopen(self.directory)
        else:
            writer = BundleWriter.create(self.directory, {"campaign": "v", "plan": made.document()})
        text = io.StringIO()
        with writer:
            course = Course(made, journal)
            source = BlockSource("v", made, course, writer, judge=self._judge, hold=self.hold)
            campaign = Runner(source, Lab(), _AnyWorker(), writer, MachineDocument())
            if not course.finished:
                self.ending = campaign.run(Console(file=text, soft_wrap=True))
        assert all(host.closed for host in self.hosts)
        return text.getvalue()

    def _host(self, *_, **__):
        self.hosts.append(_NoHost())
        return self.hosts[-1]

    def _trial(self, order, worker, host):
        if host is not None:
            host.close()
        if self.stop_after is not None and len(self.ran) == self.stop_after:
            raise StopSignal("SIGINT")
        self.ran.append(order.trial)
        self.now_s += self.slow * (order.cell.timeline.duration_s + 0.3)
        void = order.trial in self.spoilt
        status, reason, cause = (
            ("void", "machine: stolen", "machine") if void else ("done", None, None)
        )
        return TrialResult(order, status, reason, {}, {}, {}, cause)

    def _judge(self, blocks, minutes_per_block, ended):
        self.judged.append((blocks, ended))
        verdict = "best" if blocks >= self.open_until else "undecided"
        if self.silent:
            verdict = "no data"
        verdicts = {"small": {"two": Verdict(verdict, "three", None, "so", minutes_to_decide=9.0)}}
        return look_at(plan(), blocks, 0.01, ended, verdicts, leaving=self.leaving)

    def lines(self, kind) -> list:
        text = (self.directory / "journal.jsonl").read_text()
        return [line for line in map(json.loads, text.splitlines()) if line["type"] == kind]


EMPTY = {"hardware": ["{}"], "kernel": ["{}"], "sysctls": ["{}"], "start": ["{}"], "end": ["{}"]}


class _NoHost:
    closed = False

    def close(self):
        self.closed = True


class _AnyWorker(dict):
    def __missing__(self, key):
        return None


@pytest.fixture
def virtual(tmp_path, monkeypatch):
    return lambda **options: Virtual(tmp_path / "v", monkeypatch, **options)


def test_it_stops_at_the_first_look_that_sees_everything_decided(virtual):
    campaign = virtual(open_until=8)
    output = campaign.run(plan())
    assert campaign.judged == [(5, False), (8, False)] and len(campaign.ran) == 48
    first, last = campaign.lines("look")
    assert (first["stop"], first["decided"], first["of"]) == (None, 0, 1)
    assert first["minutes_to_decide"] == 9.0
    assert first["open"] == [{"comparison": "small", "arm": "two", "reason": "so", "minutes": 9.0}]
    assert (last["stop"], last["blocks"], last["decided"]) == ("decided", 8, 1)
    assert last["looks"] == [5, 8, 12]
    assert campaign.lines("finished") and not campaign.lines("note")
    assert (
        "look after block 5: 0 of 1 decided; open: small: two; a campaign of about 9 min would "
        "decide" in output
    )
    assert (
        "look after block 8: all 1 decided; the other 4 of at most 12 blocks are not needed"
        in output
    )
    assert "at most" in output and "to the look after block 5" in output


def test_where_nothing_can_be_judged_it_stops_unless_the_machine_spoilt_it(virtual):
    made = plan()
    output = virtual(silent=True).run(made)
    assert (
        "look after block 5: no two arms can be compared so far; the other 7 of at most 12 blocks "
        "are not run" in output
    )


def test_what_is_decided_leaves_the_coming_blocks_and_stays_away_when_resumed(virtual):
    made = plan(blocks="{minimum: 5, maximum: 20}")
    cell = made.trials[0].cell
    first = virtual(leaving=(cell,), stop_after=len(made.cells) * 5 + 1)
    assert "decided, and not run any more: 1 of" in first.run(made)
    second = virtual(leaving=(cell,))
    second.run(made)
    (line,) = second.lines("dropped")
    assert (line["blocks"], line["cells"], line["why"]) == (5, [cell], "decided")
    ran = {(t.cell, t.block) for t in made.trials if t.trial in (*first.ran, *second.ran)}
    assert {block for c, block in ran if c == cell} == set(range(5))
    assert {block for c, block in ran if c != cell} == set(range(20))


def test_time_over_between_two_looks_gives_a_last_look_with_all_that_is_left(virtual):
    """Blocks take 1.5 times as long as planned: within 25 % more time 10 of 12 fit."""
    campaign = virtual(slow=1.5)
    output = campaign.run(plan())
    assert campaign.judged == [(5, False), (8, False), (10, True)]
    last = campaign.lines("look")[-1]
    assert (last["blocks"], last["ended"], last["stop"]) == (10, True, "time")
    assert "2 of 12 blocks left out" in output
    assert "2 of 12 blocks left out" in campaign.lines("note")[0]["text"]


def test_the_time_left_is_never_more_than_the_clock_leaves(virtual):
    """Three times as many blocks are planned as the time holds, since decided arms leave."""
    made = plan("{minimum: 5, maximum: 6, within_s: 30}", budget_s=200.0)
    assert made.estimated_s < sum(trial.estimated_s for trial in made.trials) / 2
    campaign = virtual()
    output = campaign.run(made)
    estimates = [
        float(amount) * (60 if unit == "min" else 1)
        for amount, unit in re.findall(r"(?:at most|about) (\d+) (s|min) left", output)
    ]
    block_s = campaign.now_s / (campaign.judged[-1][0])
    assert len(estimates) > 5 and campaign.now_s <= 200.0
    for done, left_s in enumerate(estimates, start=1):
        assert left_s <= 200.0 - done * block_s + 60.0, (done, output)  # whole minutes are told


def test_a_fixed_design_that_time_ends_spends_no_error_twice(virtual):
    """Blocks take twice as long as planned. Without the look that time gave it, the campaign was
    judged at 5 % where it was cut, and at 5 % again where it was resumed."""
    made = plan("{planned: 12, minimum: 5}")
    first = virtual(slow=2.0)
    output = first.run(made)
    assert first.judged == [(7, True)] and "5 of 12 blocks left out" in output
    (cut,) = first.lines("look")
    assert (cut["blocks"], cut["looks"], cut["ended"], cut["stop"]) == (7, [12], True, "time")
    second = virtual(open_until=7)
    second.run(made)
    assert second.judged == [(12, False)] and len(first.ran + second.ran) == 72
    last = second.lines("look")[-1]
    assert (last["blocks"], last["looks"]) == (12, [12])
    assert (last["ended"], last["stop"]) == (False, "maximum")
    assert Bundle(second.directory).ended_at == (7,)


def test_a_budget_is_kept_and_pays_for_the_looks_that_fit(virtual):
    made = plan("{minimum: 5, maximum: 6}", budget_s=24 * plan().block_s)
    assert made.blocks == 24 and made.looks == (5, 8, 12, 18, 24)
    campaign = virtual(slow=2.9)
    campaign.run(made)
    assert campaign.now_s <= made.budget_s
    assert campaign.lines("look")[-1]["stop"] == "time" and len(campaign.ran) == 48


def test_a_campaign_stopped_between_looks_takes_the_same_looks_when_it_is_resumed(virtual):
    first = virtual(stop_after=33, open_until=12)
    first.run(plan())
    assert first.ending.stopped_by == "SIGINT" and first.judged == [(5, False)]
    second = virtual(open_until=12)
    second.run(plan())
    assert second.judged == [(8, False), (12, False)]
    assert first.ran + second.ran == list(range(1, 73))
    assert [line["blocks"] for line in second.lines("look")] == [5, 8, 12]
    third = virtual()
    third.run(plan())
    assert not third.ran and not third.judged


def test_what_the_machine_spoilt_runs_again_and_the_journal_says_so(virtual):
    campaign = virtual(spoilt=frozenset({2, 73}))
    output = campaign.run(plan())
    assert campaign.ran[:4] == [1, 2, 73, 4] and campaign.ran[-3:] == [75, 74, 3]
    assert len(campaign.ran) == 75
    assert [blocks for blocks, _ in campaign.judged] == [5, 8, 12]
    lines = {line["trial"]: line for line in campaign.lines("trial")}
    assert (lines[2]["cause"], lines[2]["voids"], lines[2]["again"]) == ("machine", [1], True)
    repeats = {number: line["repeats"] for number, line in lines.items() if "repeats" in line}
    assert repeats == {73: 1, 74: 2, 75: 73}
    assert "cause" not in lines[74] and "voids" not in lines[73]
    assert lines[74]["cell"] == lines[2]["cell"]
    assert (campaign.ending.done, campaign.ending.void) == (72, 3)
    assert "its block is void for every arm, and runs again\n" in output
    assert "and runs again at the end" in output


def test_a_block_that_was_put_off_and_has_no_time_is_left_out_with_the_command_that_runs_it(
    virtual, monkeypatch
):
    may_repeat_at = BlockSource._may_repeat
    monkeypatch.setattr(
        BlockSource,
        "_may_repeat",
        lambda campaign, trial: (
            may_repeat_at(campaign, trial) if campaign.course.resumed else not campaign.course.late
        ),
    )
    campaign = virtual(spoilt=frozenset({2, 73}))
    output = campaign.run(plan())
    assert len(campaign.ran) == 72 and 3 not in campaign.ran
    assert [blocks for blocks, _ in campaign.judged] == [5, 8, 12]
    note = "no time for 1 block of a comparison that the machine spoilt twice"
    assert f"{note}; `rmwbench resume` runs it" in output
    assert note in [line.get("text") for line in campaign.lines("note")]
    later = virtual()
    later.run(plan())
    assert [number for number in later.ran if number == 3 or number > 72] == later.ran
    assert len(later.ran) == 3


def test_repeats_of_what_cannot_be_spared_take_half_of_the_budget_again_and_no_more(virtual):
    """Every trial is spoilt, and the budget is for the minimum: with a block less nothing would be
    decided."""
    made = plan("{planned: 3, minimum: 2}", budget_s=2 * plan().block_s)
    campaign = virtual(spoilt=frozenset(range(1, 1000)))
    campaign.run(made)
    lines = campaign.lines("trial")
    assert {line["status"] for line in lines} == {"void"}
    assert made.budget_s < campaign.now_s <= SPOILT_TOLERANCE * made.budget_s * 1.001
    assert lines[0]["again"] is True and lines[-1]["again"] is False


def test_a_look_that_cannot_judge_costs_the_look_and_not_the_campaign(virtual, monkeypatch):
    def broken(self, *_):
        raise UserError("the records of trial 3 contradict the record format")

    monkeypatch.setattr(Virtual, "_judge", broken)
    campaign = virtual()
    campaign.run(plan())
    assert len(campaign.ran) == 72 and campaign.lines("finished")
    assert [note["text"].split(":")[0] for note in campaign.lines("note")] == [
        "look after block 5",
        "look after block 8",
        "look after block 12",
    ]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_lines_also_if_colour_is_forced():
    """As in the logs of many services that run tests."""
    made = plan()
    console = Console(file=io.StringIO(), force_terminal=True)
    Progress(made, console, Course(made)).begin(made.trials[0])
    assert not console.file.getvalue()


def test_trials_that_are_void_with_their_block_are_counted_as_void():
    made = plan()
    course, console = Course(made), Console(file=_Terminal(), width=200)
    progress = Progress(made, console, course)
    for status, cause in (("done", None), ("done", None), ("void", "machine")):
        trial = course.next
        course.ended(trial, status, cause, may_repeat=True)
        progress.end(trial, status, None, 1.0)
    progress.begin(course.next)
    assert ", 3 void, " in console.file.getvalue()


def test_a_longer_window_that_cannot_be_measured_costs_no_campaign(monkeypatch):
    def contradicts(evidence):
        raise UserError("these records contradict their format")

    monkeypatch.setattr(blocks, "measure_trial", contradicts)
    trial = SimpleNamespace(trial=3)
    bundle = SimpleNamespace(
        reload=lambda: None, trials=lambda status: [trial], evidence=lambda lines: lines
    )
    assert not blocks._rises(bundle, 3)


def test_only_what_matters_is_waited_for():
    open_, shut = (Verdict(word, None, None, "") for word in ("undecided", "worse"))
    verdicts = {
        "small": {"one": Verdict("reference", None, None, ""), "two": shut},
        "large": {"two": open_},
    }
    both = look_at(plan(), 2, 0.01, False, verdicts)
    assert (both.decided, both.of, [o.comparison for o in both.open]) == (1, 2, ["large"])
    small = look_at(plan("{minimum: 5, maximum: 12, decide: [small]}"), 2, 0.01, False, verdicts)
    assert (small.decided, small.of, small.open) == (1, 1, ())
    assert small.verdicts["large"] == {"two": "undecided"}  # said, though not waited for


def test_an_arm_that_never_has_data_is_not_waited_for():
    verdicts = {
        "small": {
            "two": Verdict("no data", None, None, ""),
            "three": Verdict("best", None, None, ""),
        }
    }
    assert look_at(plan(), 2, 0.01, False, verdicts).open == ()


SYNTHETIC = """
suite: planted
title: a difference of known size
blocks: {{minimum: 5, maximum: {maximum}}}
timeline: {{warmup_s: 0.05, drain_s: 0.05, steady_s: 0.15}}
arms:
  - {{name: here, middleware: synthetic, options: {{latency: constant ns=300000}}}}
  - {{name: there, middleware: synthetic, options: {{latency: constant ns={there_ns}}}}}
workloads:
  - {{name: w, message: Bytes(100), rate_hz: 200}}
"""


def real(tmp_path, capsys, there_ns, maximum) -> tuple[Bundle, str]:
    tools.worker("synthetic")
    code = run_suite(tmp_path, SYNTHETIC.format(there_ns=there_ns, maximum=maximum))
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return Bundle(tmp_path / "out"), captured.err


@pytest.mark.timing
@pytest.mark.smoke
def test_a_planted_difference_stops_a_campaign_early_and_its_report_judges_like_its_last_look(
    tmp_path, capsys
):
    bundle, output = real(tmp_path, capsys, there_ns=6_000_000, maximum=20)
    looks = [line for line in bundle.journal.lines if isinstance(line, LookTaken)]
    assert looks[-1].stop == "decided" and looks[-1].blocks < 20, output
    assert looks[-1].verdicts == {"w": {"here": "best", "there": "worse"}}
    assert {line.block for line in bundle.trials()} == set(range(looks[-1].blocks))
    document = show_document(bundle)
    shown = {arm["arm"]: arm["verdict"]["verdict"] for arm in document["workloads"][0]["arms"]}
    assert shown == looks[-1].verdicts["w"]
    campaign = document["campaign"]
    assert campaign["looks"]["stop"] == "decided" and campaign["finished"]
    assert campaign["trials"]["planned"] == 2 * looks[-1].blocks
    worse = next(
        arm["verdict"] for arm in document["workloads"][0]["arms"] if arm["arm"] == "there"
    )
    arms = {"w": [JudgedArm(name, _primary(document, name)) for name in ("here", "there")]}
    planned, blocks = campaign["looks"]["looks"], looks[-1].blocks
    expected = sequential.judge(arms, Rules(), planned, blocks=blocks)["w"]["there"]
    assert worse["ratio"]["low"] == pytest.approx(expected.ratio.low, rel=1e-4)
    # The whole of alpha would have given a narrower interval than the share of one look: the report
    # must not use it.
    assert worse["ratio"]["low"] < best.judge(arms, Rules())["w"]["there"].ratio.low * 0.9999


def _primary(document, name) -> dict[int, float]:
    arm = next(arm for arm in document["workloads"][0]["arms"] if arm["arm"] == name)
    return {row["block"]: row["value"] for row in arm["per_trial"]["response_latency_p50"]}


@pytest.mark.timing
def test_equal_arms_end_as_equivalent_or_at_the_maximum(tmp_path, capsys):
    bundle, output = real(tmp_path, capsys, there_ns=300_000, maximum=8)
    last = [line for line in bundle.journal.lines if isinstance(line, LookTaken)][-1]
    assert last.stop in ("decided", "maximum"), output
    if last.stop == "decided":
        assert set(last.verdicts["w"].values()) == {"equivalent"}
    else:
        assert last.blocks == 8 and "undecided" in last.verdicts["w"].values()
