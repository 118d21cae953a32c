"""Which machine runs which trial, gone through with machines that are lost at every possible
step."""

import random
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rmwbench.bundle.journal import read_line
from rmwbench.campaign.course import MOST_REPEATS, SpoiltBlock
from rmwbench.cluster.batch_schedule import BlockKey, MachineBatch, Schedule, duration_s
from rmwbench.cluster.machine_parts import PartSource
from tests.campaign.test_course import plan, trial_line


class Walk:
    """A campaign without trials: `step` ends what one machine runs, `lose` takes a machine away,
    and the journal gets what a bundle would."""

    def __init__(self, made, machines, journal=()):
        self.plan, self.journal = made, list(journal)
        self.schedule = Schedule(made, map(read_line, self.journal))
        self.machines, self.running, self.unwritten = list(machines), {}, []
        self.ran_on: dict[BlockKey, set[str]] = {}
        self.looks: list[tuple[int, int]] = []

    def dispatch(self) -> None:
        for machine in self.machines:
            if machine not in self.running and (trial := self.schedule.take(machine)):
                self.running[machine] = trial

    def step(self, machine, status="done", cause=None) -> MachineBatch | None:
        self.running.pop(machine)
        part = self.schedule.ended_on(machine, status, cause)
        if part:
            self.unwritten.append(part)
        return part

    def write(self) -> None:
        for part in self.unwritten:
            self.schedule.written(part)
            for trial, status in part.ended:
                line = trial_line(trial, status)
                line |= {"cause": "machine"} if status == "void" else {}
                if spoilt := part.spoilt.get(trial.trial):
                    line |= {"again": spoilt.again, "voids": list(spoilt.voids)}
                self.journal.append(
                    line
                    if status != "unsupported"
                    else {"type": status, "cell": trial.cell, "reason": "it cannot"}
                )
                self.ran_on.setdefault(part.key, set()).add(part.machine)
        self.unwritten.clear()

    def lose(self, machine) -> None:
        """With all results that are still on it."""
        self.machines.remove(machine)
        self.running.pop(machine, None)
        self.schedule.lost(machine)
        for part in [part for part in self.unwritten if part.machine == machine]:
            self.schedule.again(part)
            self.unwritten.remove(part)

    def to_the_end(self) -> "Walk":
        while True:
            self.dispatch()
            if self.running:
                self.step(next(iter(self.running)))
            elif self.unwritten:
                self.write()
            elif self.schedule.look_due:
                self.looks.append((self.schedule.next_look, len(self.journal)))
                self.schedule.looked(self.schedule.next_look, decided=False)
            else:
                assert self.schedule.finished
                return self

    def counted(self) -> Counter:
        taken = {trial for line in self.journal for trial in line.get("voids", ())}
        done = [
            line
            for line in self.journal
            if line.get("status") == "done" and line["trial"] not in taken
        ]
        return Counter((line["cell"], line["block"]) for line in done)


FIXED = "{planned: 12, minimum: 5}"


@pytest.mark.parametrize("machines", [1, 2, 5, 12, 24, 40])
def test_every_trial_runs_once_and_no_block_of_a_comparison_on_two_machines(machines):
    walk = Walk(plan(FIXED), map(str, range(machines))).to_the_end()
    assert sorted(line["trial"] for line in walk.journal) == list(range(1, 73))
    assert len(walk.ran_on) == 24 and all(len(on) == 1 for on in walk.ran_on.values())
    assert len({name for on in walk.ran_on.values() for name in on}) == min(machines, 24)


def test_while_there_are_untouched_blocks_a_machine_runs_whole_ones():
    walk = Walk(plan(FIXED), "abc").to_the_end()
    by_block: dict[int, set[str]] = {}
    for key, on in walk.ran_on.items():
        by_block.setdefault(key.block, set()).update(on)
    assert sum(len(on) == 1 for on in by_block.values()) >= 10


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_lost_and_void_the_campaign_has_every_cell_once_per_block(seed):
    draw = random.Random(seed)
    made = plan(draw.choice((FIXED, "{minimum: 5, maximum: 12}")))
    machines = [f"m{n}" for n in range(draw.randint(2, 9))]
    walk = Walk(made, machines)
    unable: set[int] = set()
    for _ in range(draw.randint(1, 150)):
        walk.dispatch()
        what = draw.random()
        if what < 0.06 and len(walk.machines) > 1:
            walk.lose(draw.choice(walk.machines))
        elif what < 0.2:
            walk.write()
        elif walk.running:
            machine = draw.choice(sorted(walk.running))
            trial = walk.running[machine]
            if trial.cell in unable or (not unable and draw.random() < 0.01):
                unable.add(trial.cell)
                walk.step(machine, "unsupported")
            else:
                walk.step(
                    machine, *(("void", "machine") if draw.random() < 0.15 else ("done", None))
                )
    walk.to_the_end()
    assert all(len(on) == 1 for on in walk.ran_on.values())
    numbers = [line["trial"] for line in walk.journal if line["type"] == "trial"]
    assert len(numbers) == len(set(numbers))
    counted, spoilt = walk.counted(), Counter()
    for line in walk.journal:
        if line.get("status") == "void":
            spoilt[BlockKey(line["block"], made.cell(line["cell"]).comparison)] += 1
    for key in walk.ran_on:  # every arm once, or none because it was spoilt as often as it may be
        able = [t for t in made.trials if walk.schedule._key(t) == key and t.cell not in unable]
        expected = 0 if spoilt[key] > MOST_REPEATS else 1
        assert [counted[t.cell, t.block] for t in able] == [expected] * len(able), key
        assert spoilt[key] <= MOST_REPEATS + 1


def test_a_lost_machine_takes_the_trials_of_its_part_back_and_no_others():
    walk = Walk(plan(FIXED), "ab")
    walk.dispatch()
    first = walk.running["a"]
    assert walk.step("a") is None
    walk.dispatch()
    part = walk.schedule.lost("a")
    walk.machines.remove("a")
    walk.running.pop("a")
    assert [trial.trial for trial, _ in part.ended] == [
        first.trial
    ] and walk.schedule.blocks_done == 0
    walk.to_the_end()
    assert sorted(line["trial"] for line in walk.journal) == list(range(1, 73))
    assert set().union(*walk.ran_on.values()) == {"b"}


def test_cells_that_are_dropped_run_on_no_machine_but_for_trials_under_way():
    walk = Walk(plan(FIXED), "ab")
    walk.dispatch()
    under_way = {trial.trial for trial in walk.running.values()}
    dropped = {trial.cell for trial in walk.running.values()}
    walk.schedule.drop(dropped)
    walk.to_the_end()
    ran = [line["trial"] for line in walk.journal if line["cell"] in dropped]
    assert set(ran) == under_way and len(ran) == len(under_way)
    assert len(walk.journal) == 12 * (6 - len(dropped)) + len(under_way)


def test_a_look_waits_for_every_machine():
    walk = Walk(plan(), [f"m{n}" for n in range(40)]).to_the_end()
    assert walk.looks == [(5, 30), (8, 48), (12, 72)]


def test_a_spoilt_part_begins_again_on_the_same_machine_with_every_arm():
    walk = Walk(plan(FIXED), "ab")
    walk.dispatch()
    first = walk.running["a"]
    assert walk.step("a") is None
    second = walk.running["a"] = walk.schedule.take("a")
    assert walk.step("a", "void", "machine") is None
    again, part = [], None
    while part is None:
        walk.running["a"] = trial = walk.schedule.take("a")
        again.append((trial.trial, trial.cell, trial.repeats))
        part = walk.step("a")
    third = next(t for t in walk.plan.trials if t.trial == 3)
    assert again == [
        (73, first.cell, first.trial),
        (74, second.cell, second.trial),
        (3, third.cell, None),
    ]
    assert part.spoilt == {second.trial: SpoiltBlock((first.trial,), again=True)}
    walk.write()
    assert walk.counted() == {(t.cell, 0): 1 for t in (first, second, third)}


def test_a_part_that_the_bundle_has_in_part_begins_anew_once_the_campaign_is_resumed():
    made = plan(FIXED)
    first = made.trials[0]
    journal = [
        {"type": "trial", "trial": 1, "cell": first.cell, "block": 0, "status": "done"},
        {"type": "resumed", "voids": [1]},
    ]
    walk = Walk(made, "ab", journal)
    walk.to_the_end()
    assert walk.counted() == Counter({(t.cell, t.block): 1 for t in made.trials})
    again = next(line for line in walk.journal if line.get("repeats") == 1)
    assert again["trial"] == 73 and (again["cell"], again["block"]) == (first.cell, 0)
    assert all(len(machines) == 1 for machines in walk.ran_on.values())


@pytest.mark.parametrize("blocks", [FIXED, "{minimum: 5, maximum: 12}"])
def test_more_machines_are_never_slower_and_never_faster_than_their_number(blocks):
    made = plan(blocks)
    numbers = (1, 2, 3, 4, 6, 8, 12, 24, 50)
    times = [duration_s(made, number) for number in numbers]
    assert times[0] == pytest.approx(made.estimated_s) and times == sorted(times, reverse=True)
    assert all(
        time >= made.estimated_s / number - 1e-9
        for time, number in zip(times, numbers, strict=True)
    )


@pytest.mark.parametrize(
    ("spare", "elapsed_s", "may"), [(1, 9.0, True), (1, 9.9, False), (0, 9.9, True), (0, 15, False)]
)
def test_a_block_that_cannot_be_spared_may_run_again_for_longer(spare, elapsed_s, may):
    """Ten seconds are allowed, and half as much again for a block without which the comparison
    decides nothing."""
    made = plan(f"{{planned: {5 + spare}, minimum: 5}}")
    schedule = Schedule(made)
    schedule.take("m")
    source = SimpleNamespace(
        course=schedule,
        plan=made,
        _limit_s=10.0,
        _elapsed_s=lambda: elapsed_s,
        _progress=SimpleNamespace(left_s=lambda blocks: 0.0),
    )
    part = schedule.running["m"]
    part.queue[0] = replace(part.queue[0], estimated_s=0.5)
    assert PartSource._may_repeat(source, part) is may
