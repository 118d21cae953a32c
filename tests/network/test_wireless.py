"""What users of WiFi meet, over real namespaces: a policer of UDP, and TCP of others beside a
trial. Needs the built link, load and workers, and TAP devices."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rmwbench.campaign.trial import trial_life
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.lab.network import NetworkBroken
from rmwbench.lab.sampling.loads import CROSS_TRAFFIC, CrossTrafficLoad
from tests.campaign.ended import well
from tests.lab import tools
from tests.network.laboratory import cell, links, taps
from tests.network.test_emulation import SEND, Lab, verdicts
from tests.network.test_trial import order, ours
from tests.support.namespaces import Held
from tests.support.program import until

pytestmark = pytest.mark.traffic

S = 1_000_000_000
LIMIT = "{packets_per_s: 100, burst_packets: 10, protocol: udp}"
TRAFFIC = "[{from: server, to: laptop, flows: 2}]"


@pytest.fixture(scope="module", autouse=True)
def _possible():
    taps()
    for name in ("link", "load"):
        tools.built(name)


def carried(lab: Lab, length_s: float = 1.0) -> tuple[float, dict]:
    """What cross traffic carried in a window, in Mbit/s, and what its processes said."""
    traffic = CrossTrafficLoad(lab.processes, lab.links)
    traffic.start()
    begin_ns = time.monotonic_ns() + S // 2
    end_ns = begin_ns + round(length_s * S)
    traffic.window({host: (begin_ns, end_ns) for host in lab.links.hosts})
    while time.monotonic_ns() < end_ns + S // 10:
        lab.processes.turn(0.1)
    traffic.stop()
    received = {
        row["at"]: row["value"] for row in traffic.rows() if row["counter"] == "tcp.received"
    }
    return 8e-6 * (received["steady_end"] - received["steady_begin"]) / length_s, traffic.document()


def test_a_policer_drops_what_a_flow_of_udp_has_above_its_limit_and_counts_it_apart():
    with Lab(links(f"{{links: {{robot: {{up: {{police: {LIMIT}}}}}}}}}")) as lab:
        begun = time.monotonic()
        assert lab.run("robot", SEND, "10.77.0.2", 1500, 0.001) == b"1500"
        took_s = time.monotonic() - begun
        assert lab.run("base", SEND, "10.77.0.1", 200, 0) == b"200"
        frames = lab.end()
        there, back = verdicts(frames, 1), verdicts(frames, 0)
        counters = lab.network.document["links"]["robot"]["up"]
    # The bucket and the rate, with wide margins: the sender of a busy machine is slower, and more
    # of them pass.
    assert there.keys() == {"delivered", "policed_up"} and sum(there.values()) == 1500
    assert 50 <= there["delivered"] <= 10 + 100 * took_s + 1, (there, took_s)
    assert counters["policed"] >= there["policed_up"] > 300
    assert (counters["lost"], counters["queue_full"]) == (0, 0)
    assert back == {"delivered": 200}


def test_tcp_passes_a_policer_of_udp_untouched():
    limited = f"{{rate_mbps: 20, police: {LIMIT}}}"
    with Lab(links(f"{{links: {{all: {{both: {limited}}}}}, cross_traffic: {TRAFFIC}}}")) as lab:
        mbps, document = carried(lab)
        lab.end()
        counters = lab.network.document["links"]["server"]["up"]
    assert 5 < mbps < 20, mbps
    assert counters["policed"] == 0 and counters["delivered"] > 500
    assert document["server to laptop"]["congestion_control"] == "cubic"


def test_the_probe_bears_a_policer():
    with Lab(
        links(f"{{links: {{all: {{both: {{rate_mbps: 54, delay_ms: 1, police: {LIMIT}}}}}}}}}")
    ) as lab:
        lab.network.probe()
        assert [one.text for one in lab.network.findings if one.void and not one.machine] == []


def test_a_video_carries_its_pieces_and_no_more():
    video = "[{from: server, to: tv, piece_mb: 0.25, every_s: 0.5, congestion_control: reno}]"
    with Lab(
        links(f"{{links: {{all: {{both: {{rate_mbps: 50}}}}}}, cross_traffic: {video}}}")
    ) as lab:
        mbps, document = carried(lab, 2.0)
    # four pieces of 2 Mbit in two seconds, one more or less at each edge
    assert 2 <= mbps <= 6, mbps
    assert document["server to tv"]["congestion_control"] == "reno"


def test_cross_traffic_that_cannot_be_breaks_the_network():
    lost = f"{{links: {{laptop: {{down: {{rate_mbps: 5, loss: 1}}}}}}, cross_traffic: {TRAFFIC}}}"
    with (
        Lab(links(lost)) as lab,
        pytest.raises(NetworkBroken, match="cross traffic from server to laptop, sender"),
    ):
        CrossTrafficLoad(lab.processes, lab.links).start()


AIR = f"""{{media: {{wifi: {{rate_mbps: 54, overhead_us: 100}}}},
      links: {{all: {{both: {{medium: wifi}}}}, base: {{both: {{}}}}, server: {{both: {{}}}}}},
      cross_traffic: {TRAFFIC}}}"""


def test_a_trial_beside_downloads_tells_what_they_got_and_nothing_of_theirs_is_the_middlewares():
    result = run_trial(order(cell(AIR, steady_s=2.5)), tools.worker("cyclonedds"))
    assert well(result)
    rows = [row for row in result.tables["counters"].to_pylist() if row["role"] == CROSS_TRAFFIC]
    received = {row["at"]: row["value"] for row in rows if row["counter"] == "tcp.received"}
    assert list(received) == ["steady_begin", "second_1", "second_2", "steady_end"]
    assert received["steady_end"] - received["steady_begin"] > 1_000_000
    assert {row["process"] for row in rows} == {
        "server to laptop, receiver",
        "server to laptop, sender",
    }
    assert "server to laptop" in json.loads(result.files["cross_traffic.json"])
    assert {"robot", "base", "server", "laptop"} <= set(
        result.tables["frames"]["from_host"].to_pylist()
    )
    attested = result.tables.get("attestations")
    if attested is not None:  # a void trial has none
        assert [row["path"] for row in attested.to_pylist()] == ["udp"]
    hosts = {
        row["process"] for row in result.tables["counters"].to_pylist() if row["role"] == "machine"
    }
    assert {"robot", "base"} <= hosts and not hosts & {"server", "laptop"}


ABORTED = f"""
import time
from tests.network.test_wireless import *
lab = Lab(links("{{links: {{all: {{both: {{rate_mbps: 20}}}}}}, cross_traffic: {TRAFFIC}}}"))
CrossTrafficLoad(lab.processes, lab.links).start()
print("flowing", flush=True)
time.sleep(60)
"""


def test_nothing_flows_on_where_the_trial_is_killed():
    program = [sys.executable, "-c", ABORTED]
    running = subprocess.Popen(
        program, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout.readline() == "flowing\n"
        assert len(ours(running.pid)) > 4
    finally:
        running.kill()
        running.wait()
        running.stdout.close()
    until(lambda: not ours(running.pid), 10, lambda: ours(running.pid))


def test_nothing_flows_on_where_the_network_breaks(monkeypatch):
    within: list[Held] = []
    flowing = []

    def fail(*_args):
        within.append(Held(ours(os.getpid())))
        names = [Path(f"/proc/{pid}/comm").read_text() for pid in within[0].processes()]
        flowing.extend(name for name in names if name == "rmwbench-load\n")
        raise NetworkBroken("a link that broke within the window")

    monkeypatch.setattr(trial_life, "drain", fail)
    result = run_trial(order(cell(AIR, steady_s=0.3)), tools.worker("cyclonedds"))
    assert (result.status, result.reason) == (
        "void",
        "network: a link that broke within the window",
    )
    assert len(flowing) == 2  # who sends, and who receives
    with within[0] as namespaces:
        assert not namespaces.processes()
