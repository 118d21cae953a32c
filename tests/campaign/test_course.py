"""The order of a campaign with looks, repeats and resumes, gone through without running anything;
and the blocks that are left out on a slow machine, by the clock alone and never below the
minimum."""

import json

import pytest

from rmwbench.bundle.journal import read_line
from rmwbench.campaign.course import (
    MOST_REPEATS,
    TOLERANCE,
    Course,
    SpoiltBlock,
    has_time,
    limit_s,
)
from rmwbench.campaign.plan.plan import Plan, Trial, make_plan
from rmwbench.suite.cells import cells
from tests.campaign.cells import suite_of
from tests.suite.suite_text import suite

SUITE = """
blocks: {blocks}
arms:
  - {{name: one, middleware: floor, options: {{transport: shm_ring}}}}
  - {{name: two, middleware: zenoh}}
  - {{name: three, middleware: zenoh, wait: poll}}
workloads:
  - {{name: small, message: Bytes(100), rate_hz: 100, timeline: {{steady_s: 1.0}}}}
  - {{name: large, message: Bytes(1000), rate_hz: 100, timeline: {{steady_s: 1.0}}}}
"""


def plan(blocks="{minimum: 5, maximum: 12}", **options) -> Plan:
    suite = suite_of(SUITE.format(blocks=blocks))
    return make_plan(suite, cells(suite), seed=3, **options)


LOOK = {"type": "look", "looks": [2], "alpha": 0.05, "ended": False, "decided": 0, "of": 1}


def course_of(made: Plan, journal: list[dict]) -> Course:
    return Course(made, map(read_line, journal))


def trial_line(trial: Trial, status: str) -> dict[str, object]:
    line = {"type": "trial", "trial": trial.trial, "cell": trial.cell, "block": trial.block}
    repeats = {} if trial.repeats is None else {"repeats": trial.repeats}
    return {**line, "status": status, **repeats}


class Walk:
    """Goes through a course and writes the journal that a campaign would."""

    def __init__(self, made: Plan, journal=()):
        self.plan, self.journal = made, list(journal)
        self.course = course_of(made, self.journal)

    def trial(self, status="done", cause=None, may_repeat=True) -> int:
        trial = self.course.next
        line = trial_line(trial, status) | ({"cause": cause} if cause else {})
        self.course.ended(trial, status, cause, may_repeat)
        if spoilt := self.course.spoilt:
            line |= {"again": spoilt.again, "voids": list(spoilt.voids)}
        self.journal.append(line)
        return trial.trial

    def void(self, may_repeat=True) -> int:
        return self.trial("void", "machine", may_repeat)

    def look(self, decided=False) -> int:
        blocks = self.course.next_look
        self.journal.append({**LOOK, "blocks": blocks, "stop": "decided" if decided else None})
        self.course.looked(blocks, decided)
        return blocks

    def to_the_end(self) -> list:
        """Trial numbers and, as texts, looks."""
        steps = []
        while not self.course.finished:
            steps.append(f"look {self.look()}" if self.course.look_due else self.trial())
        return steps

    def again(self) -> "Walk":
        """Return the walk after `rmwbench resume`, which is made from the journal alone."""
        cut = course_of(self.plan, self.journal).cut
        line = {"type": "resumed"} | ({"voids": cut} if cut else {})
        return Walk(self.plan, json.loads(json.dumps([*self.journal, line])))

    def valid(self) -> list[dict]:
        """The lines of the trials that count."""
        taken = {trial for line in self.journal for trial in line.get("voids", ())}
        return [
            line
            for line in self.journal
            if line["type"] == "trial" and line["status"] == "done" and line["trial"] not in taken
        ]

    def torn(self) -> set[tuple[int, str]]:
        """The blocks whose trials that count were run partly before a resume, partly after it."""
        sessions: dict[tuple[int, str], set[int]] = {}
        valid, session = self.valid(), 0
        for line in self.journal:
            session += line["type"] == "resumed"
            if line in valid:
                key = line["block"], self.plan.cell(line["cell"]).comparison
                sessions.setdefault(key, set()).add(session)
        return {key for key, in_sessions in sessions.items() if len(in_sessions) > 1}


def test_looks_come_between_blocks_and_the_last_one_at_the_end():
    walk = Walk(plan())
    assert walk.plan.looks == (5, 8, 12)
    assert walk.to_the_end() == [
        *range(1, 31),
        "look 5",
        *range(31, 49),
        "look 8",
        *range(49, 73),
        "look 12",
    ]


def test_everything_decided_ends_it_and_stays_ended():
    walk = Walk(plan())
    for _ in range(30):
        walk.trial()
    walk.look(decided=True)
    for course in (walk.course, walk.again().course):
        assert course.finished and course.decided and course.next is None and not course.look_due


@pytest.mark.parametrize("stopped_after", [*range(0, 73, 6), 73, 74, 75])
def test_a_resume_at_any_point_goes_on_with_whole_blocks(stopped_after):
    """After a stop between two blocks the campaign goes on as if nothing had happened; after a stop
    within a block, this block runs anew, so that no block has arms of two sessions."""
    whole = Walk(plan())
    expected = whole.to_the_end()
    walk = Walk(plan())
    steps = []
    for _ in range(stopped_after):
        steps.append(f"look {walk.look()}" if walk.course.look_due else walk.trial())
    walk = walk.again()
    cut = walk.journal[-1].get("voids", [])
    assert cut == sorted(x["trial"] for x in walk.journal if x not in walk.valid() and "cell" in x)
    rest = walk.to_the_end()
    assert [x for x in rest if x not in range(73, 76)] == expected[len(steps) :]
    assert [line["repeats"] for line in walk.journal if "repeats" in line] == cut
    assert sorted((x["cell"], x["block"]) for x in walk.valid()) == sorted(
        (trial.cell, trial.block) for trial in walk.plan.trials
    )
    assert not walk.torn() and walk.again().journal[-1] == {"type": "resumed"}


def test_a_campaign_killed_between_its_last_trial_and_its_last_look_still_owes_the_look():
    walk = Walk(plan())
    while walk.course.next:
        if walk.course.look_due:
            walk.look()
        walk.trial()
    course = walk.again().course
    assert course.next is None and course.look_due and not course.finished
    assert course.next_look == 12


def test_a_trial_that_the_machine_spoilt_takes_its_block_along_and_every_arm_runs_again():
    walk = Walk(plan())
    walk.trial()
    first, spoilt = walk.plan.trials[0], walk.course.next
    assert walk.void() == 2
    assert walk.course.spoilt == SpoiltBlock((1,), again=True)
    again = list(walk.course.rest)[:3]
    assert [(t.trial, t.repeats) for t in again] == [(73, 1), (74, 2), (3, None)]
    same = ("cell", "block", "position", "seed", "estimated_s")
    for before, after in zip((first, spoilt), again, strict=False):
        assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert [walk.trial() for _ in range(4)] == [73, 74, 3, 4] and walk.course.spoilt is None
    assert [line.get("repeats") for line in walk.journal[2:]] == [1, 2, None, None]


def test_a_block_runs_again_at_once_then_at_the_end_and_in_all_so_often_and_then_counts_for_no_arm():
    walk = Walk(plan("{planned: 3, minimum: 2}"))
    assert [walk.void(), walk.trial(), walk.void()] == [1, 19, 2]
    assert walk.course.spoilt == SpoiltBlock((19,), again=True, put_off=True)
    assert walk.course.next.trial == 4 and len(walk.course.later) == 3
    assert [walk.trial() for _ in range(15)] == list(range(4, 19))
    for repeat in range(3, MOST_REPEATS + 1):
        assert walk.course.late and walk.course.begins_block and walk.course.blocks_done == 3
        walk.void()
        assert walk.course.spoilt.again and walk.course.spoilt.put_off, repeat
    walk.trial()
    walk.void()
    assert not walk.course.spoilt.again and len(walk.course.spoilt.voids) == 1
    assert walk.course.finished  # the third arm does not run alone either
    again = walk.again().course  # who goes on tries it anew
    assert again.next.block == 0 and len(again.rest) == 3 and not again.later


def test_what_waits_for_the_end_runs_block_by_block_and_one_that_has_no_time_costs_only_itself():
    walk = Walk(plan("{planned: 3, minimum: 2}"))
    keys = [walk.plan.cell(walk.plan.trials[at].cell).comparison for at in (0, 3)]
    for _ in range(2):  # both comparisons of the first block are spoilt twice
        for _ in range(2):
            walk.void()
        assert walk.course.next.block == 0 or walk.course.next.trial == 7
    while not walk.course.late:
        walk.trial()
    assert walk.course.block_of(walk.course.next) == list(walk.course.rest)
    walk.course.give_up()
    assert [walk.plan.cell(trial.cell).comparison for trial in walk.course.rest] == [keys[1]] * 3
    assert walk.course.needs(walk.course.next) is False
    walk.course.give_up()
    assert walk.course.finished
    resumed = walk.again().course  # who goes on has time again
    assert resumed.late and len(resumed.rest) + len(resumed.later) == 6


def test_a_comparison_needs_its_block_once_it_cannot_lose_another():
    walk = Walk(plan("{minimum: 5, maximum: 6}"))
    first = walk.course.next
    assert not walk.course.needs(first)  # one block of six can be spared
    walk.void(may_repeat=False)
    others = {walk.plan.cell(t.cell).comparison: t for t in walk.course.rest}
    mine = walk.plan.cell(first.cell).comparison
    assert {name: walk.course.needs(trial) for name, trial in others.items()} == {
        name: name == mine for name in others
    }
    # who goes on has the time to run it again
    assert not any(map(walk.again().course.needs, others.values()))


@pytest.mark.parametrize(("status", "cause"), [("void", None), ("failed", None), ("done", None)])
def test_what_a_middleware_did_is_never_repeated(status, cause):
    walk = Walk(plan())
    walk.trial(status, cause)
    assert walk.course.next.trial == 2
    walk.trial(), walk.trial()
    assert walk.again().course.next.trial == 4


def test_without_time_the_block_is_left_out_for_every_arm():
    walk = Walk(plan())
    walk.trial()
    walk.void(may_repeat=False)
    assert walk.course.spoilt == SpoiltBlock((1,), again=False)
    assert walk.course.next.trial == 4
    again = walk.again().course  # who goes on has it
    assert [trial.repeats for trial in again.rest[:4]] == [1, 2, None, None]
    assert again.rest[3].trial == 4


def test_a_comparison_lacks_blocks_where_fewer_than_so_many_ran_and_others_still_could():
    walk = Walk(plan("{planned: 5, minimum: 5}"))
    walk.void(may_repeat=False)
    assert walk.course.lacks(5)
    walk.to_the_end()
    assert not walk.course.lacks(5) and walk.again().course.lacks(5)
    assert not walk.again().course.lacks(4)
    again = walk.again()
    again.to_the_end()
    assert not again.again().course.lacks(5)


def test_a_repeat_at_the_end_of_a_block_comes_before_the_look():
    walk = Walk(plan())
    for _ in range(29):
        walk.trial()
    walk.void()
    assert not walk.course.look_due and walk.course.next.block == 4 and walk.course.blocks_done == 4
    for _ in range(3):
        walk.trial()
    assert walk.course.look_due


@pytest.mark.parametrize("stopped_after", range(0, 14))
def test_a_resume_within_spoilt_blocks_ends_with_the_same_valid_trials(stopped_after):
    def step(walk, number):
        walk.void() if number % 3 == 1 else walk.trial()

    whole, walk = Walk(plan()), Walk(plan())
    for number in range(14):
        step(whole, number)
        if number == stopped_after:
            walk = walk.again()
        step(walk, number)
    assert walk.to_the_end()[-1] == whole.to_the_end()[-1] and not walk.torn()
    assert {(x["cell"], x["block"]) for x in walk.valid()} == {
        (trial.cell, trial.block) for trial in walk.plan.trials
    }
    numbers = [line["trial"] for line in walk.journal if line["type"] == "trial"]
    assert len(numbers) == len(set(numbers))


def test_numbers_of_repeats_are_never_given_twice():
    walk = Walk(plan())
    walk.void()
    walk.trial()
    resumed = walk.again()
    resumed.void()
    again = resumed.course.later[0]
    assert again.trial > again.repeats == 74


def test_an_unsupported_trial_takes_its_cells_others_along_and_stays_away():
    walk = Walk(plan("{planned: 3, minimum: 2}"))
    first = walk.course.next
    walk.journal.append(
        {"type": "unsupported", "cell": first.cell, "trial": first.trial, "reason": "it cannot"}
    )
    walk.course.ended(first, "unsupported", None, True)
    rest = [trial.trial for trial in walk.plan.trials if trial.cell != first.cell]
    assert walk.again().to_the_end() == rest == walk.to_the_end() and len(rest) == 15


def six_blocks(*changes, **more):
    made = suite(*changes)
    return make_plan(made, cells(made), seed=1, **more)


def test_a_machine_as_fast_as_planned_gets_all_blocks():
    p = six_blocks()
    assert all(has_time(p, done, done * p.block_s) for done in range(p.blocks))


def test_a_slow_machine_keeps_the_minimum_and_loses_the_rest():
    p = six_blocks()
    slow_s = 2 * TOLERANCE * p.block_s
    assert [has_time(p, done, done * slow_s) for done in range(6)] == [True] * 5 + [False]


def test_a_budget_is_a_budget():
    p = six_blocks(budget_s=six_blocks().block_s * 8.5)
    assert p.blocks == 8
    assert has_time(p, 7, 7 * p.block_s)
    assert not has_time(p, 7, 7 * p.block_s * 1.07)


def by_clock(within_s, **more):
    return six_blocks(
        ("{planned: 6, minimum: 5}", f"{{minimum: 5, maximum: 12, within_s: {within_s}}}"), **more
    )


def test_a_suite_that_is_planned_by_the_clock_ends_with_it_but_never_below_the_minimum():
    block_s = six_blocks().block_s
    p = by_clock(7.5 * block_s)
    assert (p.blocks, p.looks) == (12, (5, 8, 12)) and p.estimated_s == limit_s(p) == 7.5 * block_s
    assert [has_time(p, done, done * block_s) for done in range(9)] == [True] * 7 + [False] * 2
    # Half of the arms have left after five blocks: what is left of the time holds twice as many of
    # the others.
    halves = [
        has_time(p, done, (5 + (done - 5) / 2) * block_s, block_s / 2) for done in range(5, 12)
    ]
    assert halves == [True] * 5 + [False] * 2
    short = by_clock(0.5 * block_s)
    assert short.estimated_s == limit_s(short) == 5 * block_s and has_time(short, 4, 40 * block_s)
