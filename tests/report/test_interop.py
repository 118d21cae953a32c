"""Who talks to whom: each pair's outcome, its shade, and the same in all three renderers."""

from dataclasses import replace

import pytest

from rmwbench.report.show.matrices import pairs
from rmwbench.results.answer.headline import headline
from rmwbench.results.show_model import WorkloadAnswer, WorkloadArm
from rmwbench.results.workload import interop
from tests.support.typed import typed
from tests.support.views import tables


def arm(talker, listener, *, median=1000.0, done=1, failures=(), not_supported=None, **wrong):
    metrics = {"response_latency_p50": {"unit": "ns", "value": median}} if median else {}
    metrics |= {
        name: {
            "unit": "fraction" if name.startswith(("loss", "late", "never")) else "messages",
            "value": v,
        }
        for name, v in wrong.items()
    }
    return {
        "arm": f"{talker} → {listener}",
        "pair": [talker, listener],
        "not_supported": not_supported,
        "trials": {"done": done, "failures": list(failures)},
        "metrics": metrics,
    }


def nothing_due(talker, listener):
    """As `aggregate` has it of trials that are done and asked for no message in the window."""
    ends = arm(talker, listener, median=None, done=5)
    none = {"unit": "fraction", "no_data": "no message was wanted from any reader"}
    return ends | {"metrics": {"undelivered": none}, "losses": None}


def not_done(talker, listener, *failures, **more):
    return arm(talker, listener, median=None, done=0, failures=failures, **more)


def failed(cause, reason="endpoint 1: expected 1 matched peers, found 0\nstderr: …", by="worker"):
    return {
        "trial": 1,
        "block": 0,
        "status": "failed",
        "reason": reason,
        "cause": cause,
        "failed_by": by,
    }


def workload(arms):
    pairs_of_arms = typed(WorkloadAnswer, {"primary_metric": "response_latency_p50", "arms": arms})
    return replace(pairs_of_arms, matrix=interop.matrix(pairs_of_arms.arms))


def matrix(*arms):
    return interop.matrix([typed(WorkloadArm, one) for one in arms])


@pytest.mark.parametrize(
    ("one", "outcome", "reason"),
    [
        (arm("a", "b"), "delivers", ""),
        (arm("a", "b", loss=0.03), "degraded", "lost 3 %"),
        (arm("a", "b", loss=0.0, late_share=0.12), "degraded", "12 % still under way"),
        (
            arm("a", "b", reordered=2.0, duplicates=1.5),
            "degraded",
            "1.5 per trial doubled; 2 per trial out of order",
        ),
        (arm("a", "b", duplicates=1234.4), "degraded", "1\u202f234 per trial doubled"),
        (
            not_done("a", "b", failed("no match")),
            "no match",
            "endpoint 1: expected 1 matched peers, found 0",
        ),
        (not_done("a", "b", failed("no delivery", "silence")), "no delivery", "silence"),
        (
            arm("a", "b", median=None, done=5, loss=1.0)
            | {"losses": {"wanted": 500, "missing": 500, "not_located": 500, "under_way": 0}},
            "no delivery",
            "the two found each other, and no message came through",
        ),
        (nothing_due("a", "b"), "no data", "no message was due in the steady window"),
        (not_done("a", "b", failed(None, "it died")), "failed", "it died"),
        (not_done("a", "b"), "not run", ""),
        (not_done("a", "b", not_supported="no services"), "not supported", "no services"),
    ],
)
def test_a_pair_is_judged_by_what_arrived(one, outcome, reason):
    cell = matrix(one, arm("b", "a")).cells[0]
    assert (cell.outcome, cell.reason) == (outcome, reason)


def test_what_the_host_broke_is_no_failure_of_a_pair():
    of_host = failed(None, "no space left for records", by="host")
    kept = arm("a", "b", done=4, failures=[of_host])
    never = not_done("b", "a", of_host, failed("no match"))
    pair_cells = matrix(kept, never).cells
    assert [cell.outcome for cell in pair_cells] == ["delivers", "no match"]


def test_of_pairs_the_headline_says_who_talks_to_whom_and_what_nobody_takes():
    silent = [not_done(*sides, failed("no match")) for sides in (("a", "b"), ("b", "a"))]
    some = workload([arm("a", "a"), *silent, arm("b", "b", loss=0.5)])
    assert headline(some).answer == (
        "1 of 4 pairs deliver every message; b → b is degraded; a → b and b → a never match."
    )
    assert headline(some).detail == ""
    idle = workload([arm("a", "a"), nothing_due("a", "b"), nothing_due("b", "a")])
    assert headline(idle).answer == (
        "1 of 3 pairs deliver every message; a → b and b → a have no data."
    )
    whole = workload([arm("a", "a"), arm("a", "b")])
    assert headline(whole).answer == "All 2 pairs deliver every message."


def test_cells_are_shaded_by_their_ratio_to_the_fastest_pair():
    arms = [arm("a", "a"), arm("a", "b", median=3000.0), arm("b", "a", median=99_000.0)]
    (table,) = tables(pairs(workload(arms)))
    assert [row[0] for row in table.rows] == ["a", "b"]
    assert [[cell.heat for cell in row[1:]] for row in table.rows] == [[None, 2], [4, None]]
    assert table.rows[0][2].text == "✓ 3.00 µs"
