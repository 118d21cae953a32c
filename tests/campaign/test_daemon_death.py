"""Daemons that are killed within the window: established streams go on or stop, and who comes later
is told of in events; nothing of it fails a trial that asked for it."""

import pytest

from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.errors import UserError
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import rows, well
from tests.lab import tools

pytestmark = [pytest.mark.traffic, pytest.mark.usefixtures("any_machine")]

SUITE = """
timeline: {{warmup_s: 0.2, drain_s: 0.2, grace_s: 0.1, match_s: 10, steady_s: 1.5}}
arms: [{{name: a, middleware: zenoh, profile: {profile}}}]
workloads:
  - name: w
    rate_hz: 50
    message: Bytes(64)
    daemons_end_s: {end_s}
    nodes:
      - {{name: talker, publishers: [{{topic: x}}]}}
      - {{name: listener, subscriptions: [{{topic: x}}]}}
      - {{name: joiner, subscriptions: [{{topic: x}}], joins_s: 0.8}}
"""


def run(profile: str) -> TrialResult:
    made = only_cell(SUITE.format(profile=profile, end_s=0.4))
    return run_trial(order(made), tools.worker("zenoh"))


def seqs(result: TrialResult, reader: int) -> list[int]:
    return [row["seq"] for row in rows(result, "received", endpoint=reader)]


def events(result: TrialResult) -> dict[str, dict]:
    """The first of each kind."""
    return {row["event"]: row for row in reversed(rows(result, "events"))}


def test_without_its_router_a_client_hears_no_more_and_a_latecomer_never_opens():
    result = run("router")
    assert well(result)
    event_of = events(result)
    assert (
        event_of["killed"]["process"] == "router" and event_of["not_joined"]["process"] == "joiner"
    )
    assert "Unable to connect" in event_of["not_joined"]["text"]
    # 10 messages of warm-up and 20 before the kill; a second later the schedule sends the last of
    # 85
    assert 20 <= max(seqs(result, 2)) < 60 and not seqs(result, 3)


def test_peers_that_found_each_other_by_a_router_need_it_no_more():
    result = run("rmw_zenoh")
    assert well(result)
    assert "killed" in events(result) and max(seqs(result, 2)) == 84


def test_daemons_cannot_end_after_the_window():
    with pytest.raises(UserError, match="the daemons end after the steady state"):
        only_cell(SUITE.format(profile="router", end_s=2))
