"""Room and capabilities, on machines that lack them; and a plan that sends no more over a link or
medium than a result could still say something of."""

import os
from dataclasses import replace

import pytest

from rmwbench.bundle.journal import TrialEnded
from rmwbench.campaign.course import Course
from rmwbench.campaign.plan import preflight
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import load
from tests.campaign.cells import suite_of
from tests.support.command import rmwbench

SUITE = """
{blocks}
arms: [{{name: a, middleware: fake}}]
workloads:
- {{name: w, message: Bytes({size}), rate_hz: 100, qos: {{depth: {depth}}}, subscribers: 2}}
{more}
"""


def plan(size=1000, depth=10, blocks="", budget_s=None, more=""):
    suite = suite_of(SUITE.format(size=size, depth=depth, blocks=blocks, more=more))
    return make_plan(suite, cells(suite), seed=0, budget_s=budget_s)


def test_a_full_disk_is_named_with_the_place(tmp_path, monkeypatch):
    full = os.statvfs_result((4096, 4096, 1000, 10, 10, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    with pytest.raises(UserError, match=r"not enough disk(?s:.*)--out DIR") as error:
        preflight.check_disk(plan(), tmp_path / "new")
    assert error.value.where == str(tmp_path)


def free(monkeypatch, made_for):
    """A disk with room for the trials of that plan, and no page more."""
    slots = sum(made_for.cell(trial.cell).record_bytes for trial in made_for.trials)
    pages = (
        preflight.DISK_RESERVE_BYTES
        + len(made_for.trials) * preflight.DISK_PER_TRIAL_BYTES
        + int(slots * preflight.DISK_PER_SLOT_BYTE)
    ) // 4096 + 1
    room = os.statvfs_result((4096, 4096, 1 << 30, pages, pages, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: room)


def test_a_campaign_that_goes_on_needs_disk_for_what_is_left_of_it(tmp_path, monkeypatch):
    """One that a full disk had stopped was asked for the disk of the whole plan again."""
    made = plan(blocks="blocks: {planned: 10, minimum: 2}")
    ended = [
        TrialEnded(trial=trial.trial, cell=trial.cell, block=trial.block, status="done")
        for trial in made.trials[:-2]
    ]
    free(monkeypatch, plan(blocks="blocks: {planned: 3, minimum: 2}"))
    preflight.check_disk(made, tmp_path, Course(made, ended).rest)
    with pytest.raises(UserError, match="not enough disk") as error:
        preflight.check_disk(made, tmp_path, Course(made, ended[:5]).rest)
    assert "move the campaign's directory" in error.value.fix
    with pytest.raises(UserError, match="not enough disk"):
        preflight.check_disk(made, tmp_path)


def test_a_campaign_by_the_clock_needs_disk_for_the_blocks_that_its_time_holds(
    tmp_path, monkeypatch
):
    """A campaign by the clock plans four times the blocks that fit into its budget."""
    by_the_clock = "blocks: {minimum: 5, maximum: 40, within_s: 60}"
    block_s = plan(blocks=by_the_clock).block_s
    made = plan(blocks=by_the_clock, budget_s=5.5 * block_s)
    assert made.blocks == 20
    free(monkeypatch, plan(blocks="blocks: {planned: 6, minimum: 2}"))
    preflight.check_disk(made, tmp_path)
    free(monkeypatch, plan(blocks="blocks: {planned: 5, minimum: 2}"))
    with pytest.raises(UserError, match="not enough disk"):
        preflight.check_disk(made, tmp_path)


@pytest.mark.parametrize(
    ("available", "size", "depth"),
    [
        (200 << 20, 1000, 10),  # not even the reserve
        (3 << 30, 10_000_000, 100),  # three queues of 102 messages are 3.06 GB
    ],
)
def test_too_little_memory_is_named_with_the_workload(monkeypatch, available, size, depth):
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: available)
    with pytest.raises(UserError, match="not enough memory") as error:
        preflight.check_memory(plan(size, depth))
    assert "workload w" in error.value.where
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: 2 * available)
    preflight.check_memory(plan(size, depth))


def test_too_little_shared_memory_is_its_own_message(monkeypatch):
    made = plan(30_000_000, 40)
    monkeypatch.setattr(preflight, "memory_bytes", lambda cell: 0)
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: 2 << 30)
    with pytest.raises(UserError, match="do not fit into shared memory"):
        preflight.check_memory(made)


def test_shared_memory_is_asked_for_the_workload_that_needs_most_of_it(monkeypatch):
    """The workload with the most records was the only one asked, and its queues are small."""
    more = "- {name: records, message: Bytes(64), rate_hz: 20000, qos: {depth: 1}}"
    made = plan(30_000_000, 40, more=more)
    largest = {"w": 0, "records": 1}
    monkeypatch.setattr(preflight, "memory_bytes", lambda cell: largest[cell.workload.name])
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: 2 << 30)
    with pytest.raises(UserError, match="do not fit into shared memory") as error:
        preflight.check_memory(made)
    assert error.value.where == "workload w"


def test_a_cell_that_is_not_supported_needs_no_memory(monkeypatch):
    made = plan(more="- {name: big, message: Bytes(30000000), rate_hz: 5, qos: {depth: 25}}")
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: 1 << 30)
    with pytest.raises(UserError, match="not enough memory"):
        preflight.check_memory(made)
    numbers = [cell.number for cell in made.cells if cell.workload.name == "big"]
    preflight.check_memory(replace(made, unsupported=dict.fromkeys(numbers, "no")))


def test_an_unknown_wish_on_spoilt_trials_is_refused_before_anything_is_written(monkeypatch):
    """A search for a capacity, and a campaign that is resumed, learnt of it in the first trial."""
    monkeypatch.setenv("RMWBENCH_SPOILT", "kept")
    with pytest.raises(UserError, match="what becomes of spoilt trials"):
        preflight.find_and_check(plan(), None)


THIN = """
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


def cell_over(tmp_path, network: str, text: str = THIN):
    path = tmp_path / "thin.yaml"
    path.write_text(text.replace("NETWORK", network))
    suite = load(path)
    return cells(suite), Places(str(path), path.read_text(), suite, False)


def test_a_message_counts_once_per_link_and_host_and_twice_on_a_medium_of_both(tmp_path):
    links = "links: {robot: {both: {medium: air}}, base: {both: {medium: air}}}"
    made, _ = cell_over(tmp_path, f"{{media: {{air: {{rate_mbps: 54}}}}, {links}}}")
    asked_mbps = {one.part: one.asked_bps / 1e6 for one in preflight.overloads(made[0])}
    assert asked_mbps == {"medium air": pytest.approx(2 * SENT_MBPS)}
    made, _ = cell_over(tmp_path, "{links: {robot: {up: {rate_mbps: 10}, down: {rate_mbps: 10}}}}")
    asked_mbps = {one.part: one.asked_bps / 1e6 for one in preflight.overloads(made[0])}
    assert asked_mbps == {
        "the link up of host robot": pytest.approx(SENT_MBPS),
        "the link down of host robot": 0,
    }


def test_a_reply_crosses_to_its_own_client_alone(tmp_path):
    """Every reply counted for every host with a client: twice here."""
    service = "{service: map, request: Bytes(64), reply: Bytes(125000)}"
    nodes = f"      - {{name: server, host: robot, services: [{service}]}}\n"
    for host in ("robot", "base"):
        nodes += f"      - {{name: of_{host}, host: {host}, clients: [{{service: map}}]}}\n"
    network = "{links: {robot: {up: {rate_mbps: 10}}, base: {down: {rate_mbps: 10}}}}"
    text = THIN[: THIN.index("      - {name: robot")] + nodes
    made, _ = cell_over(tmp_path, network, text)
    for overload in preflight.overloads(made[0]):
        assert overload.asked_bps / 1e6 == pytest.approx(SENT_MBPS), overload.part


@pytest.mark.parametrize(
    ("rate_mbps", "refused"), [(SENT_MBPS / 4.9, False), (SENT_MBPS / 5.1, True)]
)
def test_more_than_five_times_what_a_link_carries_is_refused(tmp_path, rate_mbps, refused):
    made, places = cell_over(tmp_path, f"{{links: {{base: {{down: {{rate_mbps: {rate_mbps}}}}}}}}}")
    if not refused:
        return preflight.check_overload(made, places)
    with pytest.raises(UserError) as error:
        preflight.check_overload(made, places)
    text = error.value.render()
    assert "thin.yaml" in text and "the link down of host base" in text
    assert "100 Mbit/s of payload" in text


def test_an_overload_on_purpose_is_not_refused_and_needs_a_network(tmp_path):
    thin = "{links: {base: {down: {rate_mbps: 1}}}}\n    overload: true"
    made, places = cell_over(tmp_path, thin)
    preflight.check_overload(made, places)
    text = THIN.replace("    network: NETWORK", "    overload: true").replace(
        "host: base", "host: robot"
    )
    path = tmp_path / "none.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match="`overload` is about a network"):
        load(path)


def test_a_plan_names_the_link_that_is_asked_for_more_than_it_carries(tmp_path):
    path = tmp_path / "thin.yaml"
    path.write_text(THIN.replace("NETWORK", "{links: {base: {down: {rate_mbps: 50}}}}"))
    text = " ".join(rmwbench("plan", path).stdout.split())
    assert "the link down of host base is asked for 100 Mbit/s of payload and carries 50" in text
    path.write_text(THIN.replace("NETWORK", "{links: {base: {down: {rate_mbps: 500}}}}"))
    assert "is asked for" not in rmwbench("plan", path).stdout


def test_a_fast_link_is_named_without_an_exponent():
    overload = preflight.Overload("the link up of host robot", 6.4e10, 1e10)
    text = overload.text.replace("\N{NARROW NO-BREAK SPACE}", "")
    assert text.endswith("is asked for 64000 Mbit/s of payload and carries 10000 Mbit/s")
    overload = preflight.Overload("medium air", 54.003e6, 54e6)
    assert overload.text.endswith("54.003 Mbit/s of payload and carries 54 Mbit/s")


def test_a_need_never_reads_like_what_is_there(monkeypatch):
    """Both were rounded to the same number of MiB."""
    made = plan()
    needed_bytes = preflight.memory_bytes(made.cells[0]) + preflight.MEMORY_RESERVE_BYTES
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: needed_bytes - 1)
    with pytest.raises(UserError, match="not enough memory") as error:
        preflight.check_memory(made)
    needed, available = (
        int("".join(filter(str.isdigit, text)))
        for text in (error.value.expected, error.value.actual)
    )
    assert needed > available
