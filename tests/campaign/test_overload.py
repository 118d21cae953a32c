"""A plan sends no more over a link or medium than a result could still say something of."""

import pytest

from rmwbench.campaign.plan import plan_refusals
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import load
from tests.support.command import rmwbench

SUITE = """
suite: thin
title: thin
blocks: {planned: 5}
timeline: {warmup_s: 0.5, steady_s: 9.5, drain_s: 1}
arms: [{name: zenoh, middleware: zenoh, profile: untouched}]
workloads:
  - name: camera
    rate_hz: 100
    primary_metric: response_latency_p50
    network: NETWORK
    nodes:
      - {name: robot, host: robot, publishers: [{topic: image, message: Bytes(125000)}]}
      - {name: near, host: robot, subscriptions: [{topic: image}]}
      - {name: a, host: base, subscriptions: [{topic: image}]}
      - {name: b, host: base, subscriptions: [{topic: image}]}
"""
SENT_MBPS = 125_000 * 100 * 8 / 1e6


def cell_over(tmp_path, network: str):
    path = tmp_path / "thin.yaml"
    path.write_text(SUITE.replace("NETWORK", network))
    suite = load(path)
    return cells(suite), Places(str(path), path.read_text(), suite, False)


def test_a_message_counts_once_per_link_and_host_and_twice_on_a_medium_of_both(tmp_path):
    links = "links: {robot: {both: {medium: air}}, base: {both: {medium: air}}}"
    made, _ = cell_over(tmp_path, f"{{media: {{air: {{rate_mbps: 54}}}}, {links}}}")
    asked_mbps = {one.part: one.asked_bps / 1e6 for one in plan_refusals.overloads(made[0])}
    assert asked_mbps == {"medium air": pytest.approx(2 * SENT_MBPS)}
    made, _ = cell_over(tmp_path, "{links: {robot: {up: {rate_mbps: 10}, down: {rate_mbps: 10}}}}")
    asked_mbps = {one.part: one.asked_bps / 1e6 for one in plan_refusals.overloads(made[0])}
    assert asked_mbps == {
        "the link up of host robot": pytest.approx(SENT_MBPS),
        "the link down of host robot": 0,
    }


@pytest.mark.parametrize(
    ("rate_mbps", "refused"), [(SENT_MBPS / 4.9, False), (SENT_MBPS / 5.1, True)]
)
def test_more_than_five_times_what_a_link_carries_is_refused(tmp_path, rate_mbps, refused):
    made, places = cell_over(tmp_path, f"{{links: {{base: {{down: {{rate_mbps: {rate_mbps}}}}}}}}}")
    if not refused:
        return plan_refusals.check_overload(made, places)
    with pytest.raises(UserError) as error:
        plan_refusals.check_overload(made, places)
    text = error.value.render()
    assert "thin.yaml" in text and "the link down of host base" in text
    assert "100 Mbit/s of payload" in text


def test_an_overload_on_purpose_is_not_refused_and_needs_a_network(tmp_path):
    thin = "{links: {base: {down: {rate_mbps: 1}}}}\n    overload: true"
    made, places = cell_over(tmp_path, thin)
    plan_refusals.check_overload(made, places)
    text = SUITE.replace("    network: NETWORK", "    overload: true").replace(
        "host: base", "host: robot"
    )
    path = tmp_path / "none.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match="`overload` is about a network"):
        load(path)


def test_a_plan_names_the_link_that_is_asked_for_more_than_it_carries(tmp_path):
    path = tmp_path / "thin.yaml"
    path.write_text(SUITE.replace("NETWORK", "{links: {base: {down: {rate_mbps: 50}}}}"))
    said = " ".join(rmwbench("plan", path).stdout.split())
    assert "the link down of host base is asked for 100 Mbit/s of payload and carries 50" in said
    path.write_text(SUITE.replace("NETWORK", "{links: {base: {down: {rate_mbps: 500}}}}"))
    assert "is asked for" not in rmwbench("plan", path).stdout


def test_a_fast_link_is_named_without_an_exponent():
    overload = plan_refusals.Overload("the link up of host robot", 6.4e10, 1e10)
    text = overload.text.replace("\N{NARROW NO-BREAK SPACE}", "")
    assert text.endswith("is asked for 64000 Mbit/s of payload and carries 10000 Mbit/s")
