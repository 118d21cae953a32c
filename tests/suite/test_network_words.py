"""A network in words: nothing that a suite can say of it is left out, since that is what tells two
cells apart in a plan, and what a placement on real machines says that it leaves out."""

import pytest

from rmwbench.suite.network.link_trace import parse_trace
from rmwbench.suite.network.network import Links, Medium, Network
from rmwbench.suite.network.network_words import network_lines
from rmwbench.suite.network.spec import Spec
from rmwbench.suite.placement import place_cells

from .suite_text import cells_of

TRACE = parse_trace("walk.csv", "t_s,delay_ms\n0,5\n")
RATED = {"rate_mbps": 5.0}
NEXT_TO = {
    **dict.fromkeys(("bottleneck", "queue_kb", "queue_frames", "queue_ms"), (RATED, {})),
    "jitter_correlation_ms": ({"jitter_ms": 3.0}, {}),
    "reorder": ({}, {"reorder_by_ms": 1.0}),
    "reorder_by_ms": ({"reorder": 0.1, "reorder_by_ms": 1.0}, {}),
}
"""What a field of a link needs beside it: what is there without it, too, and what comes with it."""
SPECS = {
    "rate_mbps": 5.0,
    "bottleneck": "nic",
    "queue_kb": 9.0,
    "queue_frames": 9,
    "queue_ms": 9.0,
    "delay_ms": 2.0,
    "jitter_ms": 3.0,
    "jitter_correlation_ms": 0.0,
    "loss": {"kind": "gilbert_elliott", "p": 0.1, "r": 0.5},
    "reorder": 0.1,
    "reorder_by_ms": 7.0,
    "duplicate": 0.1,
    "corrupt": 0.1,
    "mtu_bytes": 1400,
    "police": {"packets_per_s": 9, "burst_packets": 9},
    "medium": "wifi",
    "trace": TRACE,
    "exempt_arp": False,
}
MEDIA = {
    "rate_mbps": 11.0,
    "overhead_us": 50.0,
    "basic_rate_mbps": 6.0,
    "retries": 1,
    "phy_loss": 0.1,
    "queue_frames": 9,
    "codel": {},
}
NETWORKS = {
    "links": {"all": {"both": {"delay_ms": 1.0}}},
    "media": {"lte": {"rate_mbps": 5.0}},
    "multicast": "drop",
    "priority": ({"dscp": 46},),
    "ip_fragments": "tuned",
    "congestion_control": "bbr",
    "neighbours": "dynamic",
    "quantum_us": 50.0,
    "backend": "kernel",
    "changes": ({"at_s": 1.0, "host": "robot", "change": "blackhole"},),
    "trace": TRACE,
    "interfaces": {"robot": ({"name": "docker0", "address": "172.17.0.1/16"},)},
    "beside": {"wlan0": {"links": {"all": {}}}},
    "cross_traffic": ({"from": "robot", "to": "base", "kind": "tcp"},),
}


def words(**network):
    network.setdefault("media", {"wifi": {"rate_mbps": 54.0}})
    return network_lines(Links(None, ("robot", "base"), Network.model_validate(network)))


def test_every_field_is_here():
    assert SPECS.keys() == Spec.model_fields.keys()
    assert MEDIA.keys() == Medium.model_fields.keys()
    assert NETWORKS.keys() == Network.model_fields.keys()


@pytest.mark.parametrize("field", SPECS)
def test_every_field_of_a_link_is_told(field):
    without, beside = NEXT_TO.get(field, ({}, {}))
    with_it = without | beside | {field: SPECS[field]}
    with_text, without_text = (words(links={"robot": {"up": s}}) for s in (with_it, without))
    assert with_text != without_text
    if field != "bottleneck":  # which cannot move
        assert words(changes=({"at_s": 1.0, "host": "robot", "up": with_it},)) != words()


@pytest.mark.parametrize("field", MEDIA)
def test_every_field_of_a_medium_is_told(field):
    medium = {"rate_mbps": 54.0} | {field: MEDIA[field]}
    assert words(media={"wifi": medium}) != words()


@pytest.mark.parametrize("field", NETWORKS)
def test_every_field_of_a_network_is_told(field):
    limited = {"links": {"all": {"both": {"rate_mbps": 5.0}}}} if field == "cross_traffic" else {}
    assert words(**limited | {field: NETWORKS[field]}) != words(**limited)


def test_the_laws_of_loss_are_told_apart():
    def of(**loss):
        return words(links={"all": {"both": {"loss": loss}}})

    bursts = {"kind": "gilbert_elliott", "p": 0.1, "r": 0.5}
    assert of(**bursts) != of(**bursts | {"p": 0.2, "r": 1.0})  # of one mean
    in_time = {"kind": "gilbert_elliott_time", "good_ms": 80.0, "bad_ms": 20.0}
    assert of(**in_time) != of(**in_time, bad=0.5)
    assert "robot: bad for 20 ms after 80 ms, 0 % lost while good and 50 % while bad" in of(
        **in_time, bad=0.5
    )
    assert "DSCP 46 leaves queues first" in words(priority=({"dscp": 46},))


def test_what_there_is_one_of_is_in_the_singular():
    docker = {"name": "docker0", "address": "172.17.0.1/16"}
    tunnel = {"name": "tun0", "address": "10.8.0.1/24"}
    one, two = (
        words(interfaces={"robot": interfaces}) for interfaces in ((docker,), (docker, tunnel))
    )
    assert "robot also has docker0 172.17.0.1/16, that leads nowhere" in one
    assert "robot also has docker0 172.17.0.1/16, tun0 10.8.0.1/24, that lead nowhere" in two
    queue = words(links={"all": {"both": {"rate_mbps": 5.0, "queue_frames": 1}}})
    assert "robot: 5 Mbit/s, 1 frame may wait" in queue


def test_a_placement_on_machines_leaves_out_a_network_beside_whose_links_do_nothing():
    (placed,) = place_cells(
        cells_of(
            "message: Bytes(100), rate_hz: 100, hosts: [robot, base], network: two",
            more="networks: {two: {beside: {wlan0: {links: {all: {}}}}}}\n",
        ),
        "--place",
    )
    assert placed.real.left_out == (
        "robot also has wlan0, a network beside: does nothing",
        "base also has wlan0, a network beside: does nothing",
    )
