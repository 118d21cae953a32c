"""The loop with machines that are only pretended: what it writes, when, and what it makes of one
that is lost."""

import io
import json
import random

import pytest
from rich.console import Console

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.journal import LookTaken
from rmwbench.bundle.schema import table_from_rows
from rmwbench.campaign.course import Course
from rmwbench.campaign.plan.plan import duration_text
from rmwbench.campaign.run import Runner
from rmwbench.campaign.start import resumed_course
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import ResultsLost, StopSignal
from rmwbench.cluster.batch_schedule import Schedule
from rmwbench.cluster.filesystem import Copy
from rmwbench.cluster.fleet import Fleet as RealFleet
from rmwbench.cluster.machine_parts import PartSource
from rmwbench.errors import UserError
from tests.campaign.test_course import plan

FIXED = "{planned: 6, minimum: 5}"
CARD = {
    "machine": {"hardware": {}, "kernel": {}, "sysctls": {}, "state": {}, "summary": "a machine"}
}


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


class Pretended:
    """A machine that answers at once; `dies_in` is the number of its trial in which it is lost."""

    def __init__(self, name, fleet, dies_in=None):
        self.members = [self]
        self.name, self.card, self._fleet, self._dies_in, self._asked = (
            name,
            CARD,
            fleet,
            dies_in,
            0,
        )

    def ask(self, method, *arguments, returns=1):
        if method == "state":
            return (self, "state", {"time_utc": "later"})
        order, _ = arguments
        self._asked += 1
        if self._asked == self._dies_in:
            self._fleet.dead.add(self.name)
        self._fleet.asked.append((order.trial, self.name))
        self._fleet.orders.append(order)
        status, reason, cause = self._fleet.fates.get(order.trial, ("done", None, None))
        row = {
            "trial": order.trial,
            "cell": order.cell.number,
            "block": order.block,
            "status": status,
        }
        tables = {} if status == "unsupported" else {"trials": table_from_rows("trials", [row])}
        result = TrialResult(order, status, reason, tables, {}, {}, cause)
        return (self, "summary", order.trial, (status, reason, cause)), (
            self,
            "result",
            order.trial,
            result,
        )


class Fleet(RealFleet):
    """One of machines that are pretended; who answers first is drawn."""

    def __init__(self, count, seed=0, dies=(), fates=None, here=None, before_wait=None):
        self.dead, self.asked, self.orders, self.fetched = set(), [], [], []
        self.copy, self._under_way = None, {}
        self.machines = [Pretended(f"m{n}", self, dict(dies).get(f"m{n}")) for n in range(count)]
        self.fates, self.here, self.address = fates or {}, here, "nowhere:6379"
        self.left_out = [("m9", "it is unlike the others")]
        self._draw, self._before_wait = random.Random(seed), before_wait
        self.running_here_while_fetching = 0
        self._open = set()

    def answered(self, references, timeout_s):
        references = list(references)
        self._open = {reference[0].name for reference in references}
        if self._before_wait:
            self._before_wait(self)
        return [self._draw.choice(references)]

    def get(self, reference):
        if isinstance(reference, list):
            self.running_here_while_fetching += self.here in self._open
            return [self.get(one) for one in reference]
        if reference[0].name in self.dead:
            raise ResultsLost("its network was closed")
        self._open.discard(reference[0].name)
        return reference[-1]

    def answers(self, references, timeout_s):
        return {name: reference[-1] for name, reference in references.items()}


def campaign(directory, fleet, made=None, copy_to=None, budget_s=None) -> Runner[PartSource]:
    made = made or plan(FIXED)
    if (directory / "campaign.json").exists():
        writer, journal = BundleWriter.reopen(directory), Bundle(directory).journal.lines
        resumed_course(writer, made, Course(made, journal), journal)
    else:
        writer = BundleWriter.create(directory, {"campaign": "v", "plan": made.document()})
    fleet.copy = Copy(directory, copy_to) if copy_to else None
    schedule = Schedule(made, Bundle(directory).journal.lines)
    source = PartSource("v", schedule, writer, fleet, cluster_s=budget_s)
    return Runner(source, fleet, {}, writer, MachineDocument())


def run(directory, fleet, **options) -> tuple[object, str]:
    made = campaign(directory, fleet, **options)
    text = io.StringIO()
    with made.writer:
        return made.run(Console(file=text, soft_wrap=True)), text.getvalue()


def lines(directory, kind) -> list[dict]:
    text = (directory / "journal.jsonl").read_text()
    return [line for line in map(json.loads, text.splitlines()) if line["type"] == kind]


def placed(directory) -> dict[tuple[int, str], set[str]]:
    """(block, comparison) → the machines that ran it."""
    machines_of: dict[tuple[int, str], set[str]] = {}
    for row in Bundle(directory).rows("trials"):
        machines_of.setdefault((row["block"], plan(FIXED).cell(row["cell"]).comparison), set()).add(
            row["machine"]
        )
    return machines_of


def numbers(directory) -> list[int]:
    return sorted(line["trial"] for line in lines(directory, "trial"))


@pytest.mark.parametrize("count", [1, 3, 20])
def test_the_bundle_is_that_of_a_campaign_on_one_machine_and_says_who_ran_what(tmp_path, count):
    ending, text = run(tmp_path / "out", Fleet(count))
    assert (ending.done, ending.failed, ending.stopped_by) == (36, 0, None)
    bundle = Bundle(tmp_path / "out")
    bundle.check()
    assert numbers(tmp_path / "out") == list(range(1, 37)) and bundle.journal.finished
    assert (
        all(len(names) == 1 for names in placed(tmp_path / "out").values())
        and len(placed(tmp_path / "out")) == 12
    )
    machines = bundle.rows("machine")
    assert [row["machine"] for row in machines] == [f"m{n}" for n in range(count)]
    assert all(json.loads(row["end"]) == {"time_utc": "later"} for row in machines)
    assert "machine m9 is not used: it is unlike the others" in text and "6 of 6 done" in text


@pytest.mark.parametrize("seed", range(5))
def test_a_lost_machine_costs_its_part_and_nothing_else(tmp_path, seed):
    fleet = Fleet(4, seed, dies={"m1": 1 + seed % 5, "m3": 4})
    ending, text = run(tmp_path / "out", fleet)
    assert ending.done == 36 and numbers(tmp_path / "out") == list(range(1, 37))
    assert all(len(names) == 1 for names in placed(tmp_path / "out").values())
    notes = [line["text"] for line in lines(tmp_path / "out", "note")]
    assert sum("was lost in trial" in note for note in notes) == 2 and "queued again" in text
    assert any("m1" in note and "its network was closed" in note for note in notes)


def test_a_machine_keeps_the_state_of_its_start_when_the_campaign_goes_on_and_others_join(tmp_path):
    """Resuming dropped the machines that are not there any more, and their beginning of all."""
    with pytest.raises(UserError):
        run(tmp_path / "out", Fleet(2, dies={"m0": 5, "m1": 8}))
    later = Fleet(3)
    for machine in later.machines:
        machine.card = {"machine": {**CARD["machine"], "state": {"time_utc": "resumed"}}}
    later.machines.pop(0)
    run(tmp_path / "out", later)
    row_of = {row["machine"]: row for row in Bundle(tmp_path / "out").rows("machine")}
    assert {name: json.loads(row["start"]) for name, row in row_of.items()} == {
        "m0": {},
        "m1": {},
        "m2": {"time_utc": "resumed"},
    }
    assert [name for name, row in row_of.items() if row["end"] is None] == ["m0"]


def test_when_every_machine_is_lost_the_campaign_is_valid_and_resumes_on_others(tmp_path):
    with pytest.raises(UserError, match="every machine of the cluster was lost") as raised:
        run(tmp_path / "out", Fleet(2, dies={"m0": 5, "m1": 8}))
    assert raised.value.fix == "start machines of the cluster again"
    bundle = Bundle(tmp_path / "out")
    bundle.check()
    before = numbers(tmp_path / "out")
    assert 0 < len(before) < 36 and len(before) % 3 == 0 and not bundle.journal.finished
    ending, _ = run(tmp_path / "out", Fleet(3))
    assert ending.done == 36 - len(before) and numbers(tmp_path / "out") == list(range(1, 37))
    assert all(len(names) == 1 for names in placed(tmp_path / "out").values())


def test_a_stopped_campaign_has_whole_parts_and_resumes(tmp_path):
    waits = []

    def stop(fleet):
        waits.append(None)
        if len(waits) == 14:
            raise StopSignal("SIGINT")

    ending, _ = run(tmp_path / "out", Fleet(3, before_wait=stop))
    assert ending.stopped_by == "SIGINT"
    before = numbers(tmp_path / "out")
    assert before and len(before) % 3 == 0
    note = lines(tmp_path / "out", "note")[-1]["text"]
    assert "SIGINT in trials" in note and "discarded" in note
    assert run(tmp_path / "out", Fleet(2))[0].done == 36 - len(before)
    assert (
        numbers(tmp_path / "out") == list(range(1, 37))
        and Bundle(tmp_path / "out").journal.finished
    )


def test_a_part_that_was_cut_while_it_was_written_runs_anew_on_one_machine(tmp_path):
    run(tmp_path / "out", Fleet(2))
    journal = tmp_path / "out" / "journal.jsonl"
    trials = [x for x in journal.read_text().splitlines() if json.loads(x)["type"] == "trial"]
    cut = next(n for n, line in enumerate(trials) if json.loads(line)["trial"] == 1)
    journal.write_text("\n".join(trials[: cut + 1]) + "\n")
    fleet = Fleet(2)
    fleet.machines[0].name = "another"
    run(tmp_path / "out", fleet)
    (voids,) = [line["voids"] for line in lines(tmp_path / "out", "resumed")]
    assert 1 in voids
    valid = Bundle(tmp_path / "out").trials("done")
    assert len(valid) == 36 and not {trial.trial for trial in valid} & set(voids)


def test_a_trial_that_its_machine_spoilt_runs_again_there_and_one_that_is_unsupported_takes_its_cell_along(
    tmp_path,
):
    made = plan(FIXED)
    first, cell = made.trials[0], made.trials[1].cell
    fates = {1: ("void", "machine: stolen", "machine")}
    fates |= {
        trial.trial: ("unsupported", "it cannot", None)
        for trial in made.trials
        if trial.cell == cell
    }
    _, text = run(tmp_path / "out", Fleet(2, fates=fates), budget_s=1e6)
    again = [line for line in lines(tmp_path / "out", "trial") if "repeats" in line]
    assert [(line["repeats"], line["trial"], line["cell"]) for line in again] == [
        (1, 37, first.cell)
    ]
    assert "its block is void for every arm, and runs again" in text
    assert [line["cell"] for line in lines(tmp_path / "out", "unsupported")] == [cell]
    assert len(numbers(tmp_path / "out")) == 31 and Bundle(tmp_path / "out").journal.finished


def test_a_look_waits_for_whole_blocks_and_may_end_the_campaign(tmp_path, monkeypatch):
    fleet = Fleet(7)
    made = campaign(tmp_path / "out", fleet, made=plan("{minimum: 5, maximum: 12}"))
    looks = []

    class Look:
        open, blocks, decided, of, verdicts = (), 5, 1, 1, {}

        def line(self, plan, stop):
            whole = {
                "looks": [5, 12],
                "alpha": 0.01,
                "ended": False,
                "decided": 1,
                "of": 1,
                "open": [],
            }
            more = {"minutes_to_decide": None, "verdicts": {}, "took_ns": 1}
            return LookTaken(blocks=5, **whole, **more, stop=stop)

    def judge(blocks, minutes_per_block, ended):
        looks.append((blocks, len(numbers(tmp_path / "out"))))
        return Look()

    monkeypatch.setattr("rmwbench.campaign.looks.Judge", lambda plan, directory: judge)
    with made.writer:
        made.run(Console(file=io.StringIO()))
    assert looks == [(5, 30)] and lines(tmp_path / "out", "look")[0]["stop"] == "decided"
    assert Bundle(tmp_path / "out").journal.finished and {trial for trial, _ in fleet.asked} == set(
        range(1, 31)
    )


def test_a_campaign_by_the_clock_ends_when_its_suites_time_is_over(tmp_path, monkeypatch):
    clock = iter(range(0, 10**9, 5))
    monkeypatch.setattr("rmwbench.cluster.machine_parts.time.monotonic", lambda: float(next(clock)))
    made = plan("{minimum: 5, maximum: 40, within_s: 150}")
    assert made.within_s == 150 < made.blocks * made.block_s / 2
    by_the_clock = campaign(tmp_path / "out", Fleet(2), made=made)

    def judge(blocks, minutes_per_block, ended):
        raise UserError("nobody judges here")

    monkeypatch.setattr("rmwbench.campaign.looks.Judge", lambda plan, directory: judge)
    text = io.StringIO()
    with by_the_clock.writer:
        by_the_clock.run(Console(file=text, soft_wrap=True))
    blocks = {line["block"] for line in lines(tmp_path / "out", "trial")}
    assert 5 <= len(blocks) < 40 and f"of {duration_text(150.0)} allowed" in text.getvalue()


def test_a_driver_on_a_machine_that_measures_writes_each_part_between_two_of_its_trials(tmp_path):
    """It wrote none before the end: its own machine had its next trial first, again and again."""
    counts = []
    fleet = Fleet(2, here="m0", before_wait=lambda _: counts.append(len(numbers(tmp_path / "out"))))
    assert run(tmp_path / "out", fleet)[0].done == 36
    assert len(set(counts)) > 3 and fleet.running_here_while_fetching == 0
    assert Fleet(3, here="m0").idle() == ["m1", "m2", "m0"]


def test_a_copy_is_a_valid_campaign_at_every_block_and_whole_at_the_end(tmp_path):
    address, counts = f"file://{tmp_path}/there", []

    def look(fleet):
        if (tmp_path / "there" / "journal.jsonl").exists():
            Bundle(tmp_path / "there").check()
            counts.append(len(numbers(tmp_path / "there")))

    run(tmp_path / "out", Fleet(2, before_wait=look), copy_to=address)
    assert len(set(counts)) > 3 and numbers(tmp_path / "there") == list(range(1, 37))
    Bundle(tmp_path / "there").check()
