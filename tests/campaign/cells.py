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
    """A suite from its file's text, but for its name and its title."""
    whole = f"suite: mini\ntitle: a test\n{text}"
    return parse(whole, where="mini.yaml", directory=Path(), middlewares=["fake"])


def only_cell(text: str) -> Cell:
    """That of a suite with one arm and one workload."""
    (one,) = cells(suite_of(text))
    return one


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


def order(made: Cell | None = None) -> Order:
    return Order(
        trial=1, cell=made or cell(), block=0, position=0, seed=7, nonce=0xFEED_FACE_CAFE_BEEF
    )


def outcome(made: Cell | None = None) -> TrialOutcome:
    """As after a good trial, without any record yet: started at 1000 ns, steady from 2000, ended at
    12000."""
    trial = TrialOutcome(order(made), TimeFacts("2026-01-01T00:00:00Z", begun_ns=500))
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
    """Slots as a worker fills them; what a row does not name is 0."""
    slots = np.zeros(len(rows), [(name, "<i8") for name in SENT_NAMES])
    for number, row in enumerate(rows):
        for name, value in ({"seq": number} | row).items():
            slots[name][number] = value
    return RecordSection(SENT, endpoint, capacity, len(rows), 0, slots)
