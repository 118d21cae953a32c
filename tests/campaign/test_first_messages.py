"""Which probes are sent, and how many of them each reader must hear."""

import pytest

from rmwbench.campaign.trial import barrier
from tests.campaign.cells import only_cell

CHAIN = """
arms: [{name: a, middleware: fake}]
workloads:
  - name: w
    message: Bytes(1000)
    nodes:
      - {name: camera, publishers: [{topic: image, rate_hz: 100}]}
      - name: detector
        subscriptions: [{topic: image}]
        publishers: [{topic: boxes, arrival: {kind: relay, from: image}}]
      - {name: planner, subscriptions: [{topic: boxes}]}
"""
LINKS = """
arms: [{name: a, middleware: fake}]
workloads:
  - name: w
    message: Bytes(1000000)
    rate_hz: 100
    nodes:
      - {name: robot, host: robot, publishers: [{topic: map}]}
      - {name: base, host: base, subscriptions: [{topic: map}]}
    network: {links: {base: {down: {rate_mbps: 8}}}}
"""


class TrialProcesses:
    def __init__(self, sent):
        self.asked, self._sent = [], sent

    def ask(self, requests, timeout_s):
        self.asked.append({name: fields for name, (_, fields) in requests.items()})
        return {name: {"sent": self._sent} for name in requests}


def test_behind_a_relay_as_many_are_heard_as_its_source_sent():
    cell = only_cell(CHAIN)
    image, boxes = (e for e in cell.endpoints if e.kind == "publisher")
    readers = {e.topic: e.endpoint for e in cell.endpoints if e.kind == "subscription"}
    probes, processes = barrier._Probes(cell), TrialProcesses({str(image.endpoint): 3})
    probes.send(processes, [(readers["boxes"], boxes.endpoint)])
    assert processes.asked == [{image.process: {"endpoints": [image.endpoint]}}], (
        "a relay sends none"
    )
    for topic, writer in (("image", image), ("boxes", boxes)):
        pair = readers[topic], writer.endpoint
        assert probes.expected(*pair) == 3 and probes.counted_by(*pair) == pair


def test_a_client_counts_the_answers_to_its_own():
    text = CHAIN[: CHAIN.index("    message")] + (
        "    request: Bytes(100)\n    reply: Bytes(100)\n    rate_hz: 10\n    clients: 2\n"
    )
    cell = only_cell(text)
    service = next(e for e in cell.endpoints if e.kind == "service")
    clients = [e for e in cell.endpoints if e.kind == "client"]
    assert len(clients) == 2
    probes = barrier._Probes(cell, {e.endpoint: n for n, e in enumerate(clients, start=1)})
    for sent, client in enumerate(clients, start=1):
        assert probes.expected(client.endpoint, service.endpoint) == sent
        own = client.endpoint, client.endpoint
        assert probes.counted_by(client.endpoint, service.endpoint) == own
        assert probes.expected(service.endpoint, client.endpoint) == sent
        silent, processes = (client.endpoint, service.endpoint), TrialProcesses({})
        probes.send(processes, [silent])
        assert processes.asked == [{client.process: {"endpoints": [client.endpoint]}}]


def test_the_next_probe_waits_for_what_the_slowest_link_takes():
    cell = only_cell(LINKS)
    takes_s = barrier._Probes(cell).send(TrialProcesses({"1": 1}), [(2, 1)])
    assert takes_s == pytest.approx(1.0), "1 MB at 8 Mbit/s"
