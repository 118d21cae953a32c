"""Datagrams of our own background load are nobody's path: they are taken out of what the kernel
counted, exactly."""

from rmwbench.campaign.trial.attest.counted import window
from rmwbench.lab.sampling.background import Flow
from tests.campaign.cells import outcome

DATAGRAM = 1428


def snapshots(middlewares_bytes: int, middlewares_datagrams: int, ours: int):
    def at(name, time_ns, grown):
        lo = {
            "tx_bytes": 70 + grown * (middlewares_bytes + ours * DATAGRAM),
            "rx_bytes": 70 + grown * (middlewares_bytes + ours * DATAGRAM),
            "tx_packets": 5 + grown * (middlewares_datagrams + ours),
            "rx_packets": 5 + grown * (middlewares_datagrams + ours),
            "tx_dropped": 1,
        }
        count = 9 + grown * (middlewares_datagrams + ours)
        udp = {"in_datagrams": count, "out_datagrams": count, "rcvbuf_errors": 2}
        return {
            "at": name,
            "time_ns": time_ns,
            "interfaces": {"lo": lo, "eth0": {"tx_bytes": 90}},
            "udp": udp,
        }

    return {"snapshots": [at("steady_begin", 1_000, 0), at("steady_end", 9_000, 1)]}


def grown(found, group, name):
    begin, end = window(found)
    value = (
        (lambda s: s["udp"][name]) if group == "udp" else (lambda s: s["interfaces"][group][name])
    )
    return value(end) - value(begin)


def test_what_we_sent_is_taken_out_and_nothing_else():
    found = outcome()
    found.sampling.sampled = snapshots(360_000, 1000, ours=500)
    assert grown(found, "lo", "tx_bytes") == 360_000 + 500 * DATAGRAM
    found.network.background = Flow(
        ((900, 100), (5_000, 350), (8_900, 600), (9_100, 610)), DATAGRAM
    )
    assert grown(found, "lo", "tx_bytes") == grown(found, "lo", "rx_bytes") == 360_000
    assert grown(found, "lo", "tx_packets") == grown(found, "udp", "out_datagrams") == 1000
    assert (
        grown(found, "lo", "tx_dropped")
        == grown(found, "udp", "rcvbuf_errors")
        == grown(found, "eth0", "tx_bytes")
        == 0
    )


def test_a_burst_at_an_edge_makes_no_negative_count():
    found = outcome()
    # ten datagrams of the last burst were not counted yet
    found.sampling.sampled = snapshots(1_000, 3, ours=490)
    found.network.background = Flow(((900, 100), (8_900, 600)), DATAGRAM)
    assert grown(found, "lo", "tx_bytes") == 0 and grown(found, "udp", "in_datagrams") == 0
