"""What a report says of how much was done, without a campaign."""

from dataclasses import replace

import pytest

from rmwbench.results.answer import progress
from rmwbench.results.model import document
from rmwbench.results.show_model import CampaignFacts, SuiteAnswer, WorkloadAnswer
from tests.support.typed import typed

LOOK = {
    "blocks": 8,
    "looks": [5, 8, 12, 20],
    "alpha": 0.002,
    "ended": False,
    "decided": 14,
    "of": 14,
    "stop": "decided",
}


def campaign(look=None, complete=6, planned=6, **trials):
    return typed(
        CampaignFacts,
        {
            "blocks_complete": complete,
            "blocks_planned": planned,
            "looks": look,
            "trials": trials,
        },
    )


def test_trials_that_need_not_run_are_not_missing():
    def told(look=None):
        facts = campaign(look, done=264)
        return progress.trials(replace(facts, trials=replace(facts.trials, planned=334)))

    assert told() == told(LOOK | {"looks": [6]}) == "264 of 334 trials"
    assert told(LOOK) == "264 of at most 334 trials"


@pytest.mark.parametrize(
    ("trials", "text"),
    [
        ({}, ""),
        ({"void": 1}, "1 void"),
        ({"void": 3, "repeated": 3, "voided_by": {"steal": 3}}, "3 void (steal 3), repeated"),
        (
            {"void": 3, "repeated": 3, "voided_by": {"steal": 1, "block": 2}},
            "3 void (steal 1, with its block 2), repeated",
        ),
        (
            {"void": 4, "repeated": 2, "voided_by": {"steal": 2, "canary": 1}},
            "4 void (steal 2, canary 1), 2 of them repeated",
        ),
    ],
)
def test_void(trials, text):
    assert progress.void(campaign(**trials)) == text


def trial(status, codes, cause=None):
    return {
        "trial": 1,
        "block": 0,
        "status": status,
        "reason": "it",
        "cause": cause,
        "failed_by": None,
        "codes": codes,
    }


def arm(name, *failures):
    return {"arm": name, "trials": {"done": 5, "failures": list(failures)}}


def test_an_arm_whose_other_trials_are_void_did_not_fail_in_every_trial():
    failed, void = trial("failed", ["worker"]), trial("void", ["steal"], "machine")
    none = {"done": 0}

    def told(*undone):
        arms = [{"arm": "mine", "trials": none | {"failures": list(undone)}}]
        return progress.whole_failures(typed(SuiteAnswer, {"workloads": [{"arms": arms}]}))

    assert told(failed, failed) == ["mine failed in every trial: it"]
    (both,) = told(failed, void, void)
    assert both == "no trial of mine is done: 1 failed and 2 void; the first: it"
    assert told(void) == []


def voids_per_arm(*arms):
    return progress.voids_per_arm(typed(WorkloadAnswer, {"arms": list(arms)}))


def test_voids_are_told_per_arm_and_apart_by_who_is_to_blame():
    stolen, along = trial("void", ["steal"], "machine"), trial("void", ["block"], "machine")
    path, crash = trial("void", ["path"]), trial("failed", ["crashed"])
    spoilt, own = voids_per_arm(
        arm("a", stolen, stolen, crash), arm("b", along, along, path), arm("c", along)
    )
    assert "by arm: a 2 (steal 2); b 0; c 0. Each voids its block for every arm" in spoilt
    assert (
        own
        == "Trials that are void for what the arm did: b 1 (path 1). Its numbers are those of its "
        "other trials."
    )
    (several,) = voids_per_arm(arm("a", path), arm("b", path, path))
    assert several.endswith(
        "a 1 (path 1); b 2 (path 2). Their numbers are those of their other trials."
    )
    assert voids_per_arm(arm("a", crash), arm("b")) == []


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (campaign(), "6 of 6 blocks"),
        (campaign(LOOK, 8, 20), "8 of at most 20 blocks, 14 of 14 verdicts decided"),
        (
            campaign(LOOK | {"decided": 9, "stop": "maximum"}, 20, 20),
            "20 of at most 20 blocks, 9 of 14 verdicts decided",
        ),
        (
            campaign(LOOK | {"looks": [6], "stop": "maximum"}),
            "6 of 6 blocks, 14 of 14 verdicts decided",
        ),
        (
            campaign(LOOK | {"looks": [6], "stop": "time"}, 5),
            "5 of 6 blocks, 14 of 14 verdicts decided",
        ),
    ],
)
def test_blocks(document, text):
    assert progress.blocks(document) == text


def more(*workloads, minutes_per_block=None):
    options = progress.open_comparisons(
        [typed(WorkloadAnswer, one) for one in workloads], minutes_per_block
    )
    return [document(one) for one in options]


def open_lines(options):
    return progress.open_lines(typed(SuiteAnswer, {"more": options}))


def judged_arm(name, verdict, minutes=None):
    return {
        "arm": name,
        "role": "contender",
        "verdict": {"verdict": verdict, "against": "a", "minutes_to_decide": minutes},
    }


def workload(name, *arms, topics=()):
    return {"workload": name, "arms": list(arms), "topics": list(topics)}


def test_open_comparisons_in_the_order_of_what_they_take():
    open_comparisons = more(
        workload(
            "imu",
            judged_arm("a", "equivalent"),
            judged_arm("b", "undecided", 20.0),
            judged_arm("c", "undecided"),
        ),
        workload(
            "camera",
            judged_arm("a", "best"),
            judged_arm("b", "worse"),
            judged_arm("c", "undecided", 4.0),
        ),
        minutes_per_block=2.0,
    )
    assert [
        (one["workload"], one["arm"], one["blocks"], one["minutes"]) for one in open_comparisons
    ] == [
        ("camera", "c", 2, 4.0),
        ("imu", "b", 10, 20.0),
        ("imu", "c", None, None),
    ]
    assert open_lines(open_comparisons) == [
        "2 blocks, about 4 min: c (camera) (1 of 3 that are open)",
        "10 blocks, about 20 min: b (imu) (2 of 3 that are open)",
        "no known number of blocks: c (imu)",
    ]
    assert open_lines(open_comparisons[:1]) == [
        "2 blocks, about 4 min: c (camera) (1 of 1 that is open)"
    ]
