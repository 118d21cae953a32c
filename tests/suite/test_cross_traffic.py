"""Cross traffic and policers as a suite says them: what is resolved, what is refused and where, and
in words."""

import re

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.network.backend import lacking
from rmwbench.suite.network.spec import Police
from rmwbench.suite.placement import place_cells
from tests.network.laboratory import cell, links

DOWNLOADS = "[{from: server, to: laptop, kind: tcp, flows: 2}]"


def cell_with(traffic=DOWNLOADS, link="{rate_mbps: 54}"):
    return cell(f"{{links: {{all: {{both: {link}}}}}, cross_traffic: {traffic}}}")


def refused(traffic=DOWNLOADS, link="{rate_mbps: 54}") -> UserError:
    with pytest.raises(UserError) as caught:
        cell_with(traffic, link)
    return caught.value


def test_its_hosts_come_behind_those_of_the_workload_and_are_none_of_them():
    beside = cell_with(
        "[{from: server, to: laptop}, {from: server, to: tv, piece_mb: 2.5, every_s: 4}]"
    )
    assert beside.hosts == ("robot", "base") and beside.all_hosts == (
        "robot",
        "base",
        "server",
        "laptop",
        "tv",
    )
    assert beside.links.traffic_hosts == ("server", "laptop", "tv")
    definition = beside.definition()["network"]
    assert definition["hosts"] == ["robot", "base"]
    assert definition["links"]["tv"]["down"] == {"rate_bps": 54_000_000}
    piece = {"bytes": 2_500_000, "every_ns": 4_000_000_000}
    assert definition["cross_traffic"] == [
        {"from": "server", "to": "laptop", "kind": "tcp", "flows": 1},
        {"from": "server", "to": "tv", "kind": "tcp", "flows": 1, "piece": piece},
    ]


def test_a_network_without_it_says_nothing_of_it():
    alone = cell_with("[]")
    assert alone.all_hosts == alone.hosts and "cross_traffic" not in alone.definition()["network"]


@pytest.mark.parametrize(
    ("traffic", "words"),
    [
        ("[{from: robot, to: laptop}]", "cannot use host `robot`: the workload has nodes there"),
        ("[{from: server, to: base}]", "cannot use host `base`: the workload has nodes there"),
        ("[{from: server, to: server}]", "leads to its own host"),
        (
            "[{from: server, to: tv}, {from: server, to: tv}]",
            "cross traffic from server to tv already",
        ),
        ("[{from: server, to: tv, piece_mb: 2}]", "`piece_mb` alone does not define a rate"),
        ("[{from: server, to: tv, every_s: 2}]", "`every_s` alone does not define a rate"),
        ("[{from: server, to: tv, kind: udp}]", "kind"),
        ("[{from: server, to: tv, flows: 0}]", "flows"),
        ("[{from: server, to: tv, flow: 2}]", "unknown key `flow`"),
        ("[{to: tv}]", "from"),
        ("[{from: all, to: tv}]", "no host is called `all`"),
    ],
)
def test_what_cannot_be_is_refused_at_its_line(traffic, words):
    mistake = refused(traffic)
    assert words in str(mistake) and mistake.where == "mini.yaml:13", mistake


def test_tcp_without_a_limit_is_refused_since_it_would_take_the_machine():
    mistake = refused(link="{delay_ms: 2}")
    assert "nothing limits the cross traffic from server to laptop" in mistake.what
    one_end = "{all: {both: {}}, laptop: {down: {rate_mbps: 20}}}"
    assert links(f"{{links: {one_end}, cross_traffic: {DOWNLOADS}}}").traffic_hosts == (
        "server",
        "laptop",
    )


def test_machines_have_no_hosts_for_it():
    with pytest.raises(UserError, match="needs hosts of its own"):
        place_cells([cell_with()], "--place")


# --- policers ---


def policed(text: str, more: str = ""):
    return links(f"{{links: {{robot: {{up: {{police: {text}}}}}}}{more}}}")


def police(text: str) -> dict:
    cell_links = policed(text)
    assert not cell_links.spec("robot", "down").wire() and cell_links.spec("robot", "up").wire()
    return cell_links.definition()["links"]["robot"]["up"]["police"]


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        ("{rate_mbps: 10, burst_kb: 64}", {"rate_bps": 10_000_000, "burst_bytes": 64_000}),
        (
            "{packets_per_s: 500, burst_packets: 100, protocol: udp}",
            {"packets_per_s": 500, "burst_packets": 100, "protocol": "udp"},
        ),
    ],
)
def test_a_policer_is_in_the_units_of_the_link(text, wire):
    assert police(text) == wire


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"packets_per_s": 500, "burst_packets": 50, "protocol": "udp"},
            "UDP above 500 packets/s and 50 packets at once dropped, flow by flow",
        ),
        (
            {"rate_mbps": 10, "burst_kb": 64},
            "IP above 10 Mbit/s and 64 kB at once dropped, flow by flow",
        ),
    ],
)
def test_a_policer_is_told_with_its_units(spec, words):
    assert Police.model_validate(spec).words == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "the policer needs one limit"),
        ("{burst_kb: 64}", "the policer needs one limit"),
        ("{rate_mbps: 10, packets_per_s: 5, burst_kb: 64}", "the policer needs one limit"),
        ("{rate_mbps: 10}", "is not a policer, which also limits bursts"),
        ("{packets_per_s: 10}", "is not a policer, which also limits bursts"),
        ("{packets_per_s: 10, burst_kb: 64}", "`burst_kb` does not belong to `packets_per_s`"),
        ("{rate_mbps: 10, burst_kb: 1.5}", "lets no frame through"),
        ("{rate_mbps: 10, burst_kb: 64, protocol: icmp}", "protocol"),
        ("{rate_mbps: 10, burst: 64}", "unknown key `burst`"),
    ],
)
def test_what_is_not_a_policer_is_refused(text, words):
    with pytest.raises(UserError, match=re.escape(words)):
        police(text)


def test_the_kernel_has_no_policer_by_flow():
    (why,) = lacking(policed("{rate_mbps: 10, burst_kb: 64}", ", backend: kernel"))
    assert "one bucket for all flows together" in why
