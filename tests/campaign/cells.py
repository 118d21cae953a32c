"""Small cells and orders for tests of the campaign, from a suite file's text as a user would write
it."""

from pathlib import Path

import numpy as np

from rmwbench.campaign.trial.outcome import Order, TimeFacts, TrialOutcome, TrialWindow
from rmwbench.lab.process.records import SENT, RecordSection
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse
from rmwbench.suite.suite import Suite


def suite_of(text: str) -> Suite:
    """Return the suite of a file's text without its name and title."""
    whole = f"suite: mini\ntitle: a test\n{text}"
    return parse(whole, where="mini.yaml", directory=Path(), middlewares=["fake"])


def only_cell(text: str) -> Cell:
    """Return the cell of a suite with one arm and one workload."""
    (single,) = cells(suite_of(text))
    return single


SUITE = """
timeline: {{warmup_s: 0.05, drain_s: 0.1, grace_s: 0.1, match_s: {match_s}}}
arms:
  - {{name: a, middleware: fake, options: {{{options}}}}}
workloads:
  - name: w
    message: Bytes(100)
    {schedule}
    subscribers: {subscribers}
    processes: {processes}
    timeline: {{steady_s: {steady_s}}}
"""


def cell(
    options="",
    schedule="rate_hz: 200",
    subscribers=1,
    steady_s=0.2,
    processes="per_node",
    match_s=20,
) -> Cell:
    text = SUITE.format(
        options=options,
        schedule=schedule,
        subscribers=subscribers,
        steady_s=steady_s,
        processes=processes,
        match_s=match_s,
    )
    return only_cell(text)


TWO_HOSTS = """
timeline: {warmup_s: 0.1, steady_s: 1, match_s: 20}
arms:
  - {name: a, middleware: fake}
workloads:
  - name: w
    message: Bytes(1000)
    rate_hz: 100
    nodes:
      - {name: away, host: robot, publishers: [{topic: there}], subscriptions: [{topic: back}]}
      - {name: home, host: base, publishers: [{topic: back}], subscriptions: [{topic: there}]}
"""


def cell_of_two_hosts() -> Cell:
    return only_cell(TWO_HOSTS)


def order(own_cell: Cell | None = None) -> Order:
    return Order(
        trial=1, cell=own_cell or cell(), block=0, position=0, seed=7, nonce=0xFEED_FACE_CAFE_BEEF
    )


def outcome(own_cell: Cell | None = None) -> TrialOutcome:
    """Return the outcome of a good trial without records: it starts at 1000 ns, is steady from 2000
    on, and ends at 12000."""
    trial = TrialOutcome(order(own_cell), TimeFacts("2026-01-01T00:00:00Z", begun_ns=500))
    trial.times.window = TrialWindow(1000, 2000, 12000)
    trial.times.started_late_ns = -1
    trial.times.ended_ns = 20000
    for endpoint in trial.order.cell.endpoints:
        qos = endpoint.wire(trial.order.cell.arm, 7)["qos"]
        granted = {"qos": qos, "publish_mode": "sync", "wait": "block"}
        trial.endpoints.granted[endpoint.endpoint] = granted
    return trial


SENT_NAMES = ("seq", "intended_ns", "begun_ns", "call_ns", "return_ns")
SENT_NAMES += ("cause_seq", "cause_endpoint", "bytes", "flags")


def section(endpoint, *rows, capacity=99):
    """Return slots as a worker fills them; fields that a row does not name are 0."""
    slots = np.zeros(len(rows), [(name, "<i8") for name in SENT_NAMES])
    for number, row in enumerate(rows):
        for name, value in ({"seq": number} | row).items():
            slots[name][number] = value
    return RecordSection(SENT, endpoint, capacity, len(rows), 0, slots)
