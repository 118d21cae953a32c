"""What more blocks would decide: what takes least first, each open comparison once."""

from rmwbench.results.answer import open_comparisons as answer
from rmwbench.results.model import document
from rmwbench.results.show_model import SuiteAnswer, WorkloadAnswer
from tests.support.typed import typed


def more(*workloads, minutes_per_block=None):
    options = answer.open_comparisons(
        [typed(WorkloadAnswer, one) for one in workloads], minutes_per_block
    )
    return [document(one) for one in options]


def lines(options):
    return answer.lines(typed(SuiteAnswer, {"more": options}))


def arm(name, verdict, minutes=None):
    return {
        "arm": name,
        "role": "contender",
        "verdict": {"verdict": verdict, "against": "a", "minutes_to_decide": minutes},
    }


def workload(name, *arms, topics=()):
    return {"workload": name, "arms": list(arms), "topics": list(topics)}


def test_open_comparisons_in_the_order_of_what_they_take():
    open_comparisons = more(
        workload("imu", arm("a", "equivalent"), arm("b", "undecided", 20.0), arm("c", "undecided")),
        workload("camera", arm("a", "best"), arm("b", "worse"), arm("c", "undecided", 4.0)),
        minutes_per_block=2.0,
    )
    assert [
        (one["workload"], one["arm"], one["blocks"], one["minutes"]) for one in open_comparisons
    ] == [
        ("camera", "c", 2, 4.0),
        ("imu", "b", 10, 20.0),
        ("imu", "c", None, None),
    ]
    assert lines(open_comparisons) == [
        "2 blocks, about 4 min: c (camera) (1 of 3 that are open)",
        "10 blocks, about 20 min: b (imu) (2 of 3 that are open)",
        "no number of blocks that is known to suffice: c (imu)",
    ]
