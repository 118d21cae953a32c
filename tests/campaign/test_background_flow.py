"""Datagrams of our own background load are nobody's path and nobody's cost: they are taken out of
what the kernel counted, exactly."""

from rmwbench.analysis.metrics.cost import cost, unread
from rmwbench.campaign.record import sampled
from rmwbench.campaign.record.tables import trial_tables
from rmwbench.campaign.trial.attest.counted import window
from rmwbench.lab.sampling.background import LoadFlow
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
            "interfaces": {"lo": lo, "eth0": {"tx_bytes": 90 + 60 * grown}},
            "udp": udp,
            "processes": {},
            "sockets": [],
        }

    edges = [at("steady_begin", 1_000, 0), at("steady_end", 9_000, 1)]
    return {"snapshots": edges, "memory": {}, "no_data": {}}


FLOW = LoadFlow(((900, 100), (5_000, 350), (8_900, 600), (9_100, 610)), DATAGRAM)


def grown(trial, group, name):
    begin, end = window(trial)
    value = (
        (lambda s: s["udp"][name]) if group == "udp" else (lambda s: s["interfaces"][group][name])
    )
    return value(end) - value(begin)


def test_what_we_sent_is_taken_out_and_nothing_else():
    trial = outcome()
    trial.sampling.sampled = snapshots(360_000, 1000, ours=500)
    assert grown(trial, "lo", "tx_bytes") == 360_000 + 500 * DATAGRAM
    trial.network.background = {"local": FLOW}
    assert grown(trial, "lo", "tx_bytes") == grown(trial, "lo", "rx_bytes") == 360_000
    assert grown(trial, "lo", "tx_packets") == grown(trial, "udp", "out_datagrams") == 1000
    assert grown(trial, "lo", "tx_dropped") == grown(trial, "udp", "rcvbuf_errors") == 0
    assert grown(trial, "eth0", "tx_bytes") == 60


def counted(rows, host, counter):
    """What a counter of a host grew by in the window; None where it has no rows."""
    at = {
        row["at"]: row["value"]
        for row in rows
        if (row["process"], row["counter"]) == (host, counter)
    }
    return at["steady_end"] - at["steady_begin"] if at else None


def test_what_we_sent_is_in_no_counter_of_the_trial_either():
    trial = outcome()
    trial.sampling.sampled = snapshots(360_000, 1000, ours=500)
    assert counted(sampled.counters(trial), "local", "interface.lo.tx_bytes") == 1_074_000
    trial.network.background = {"local": FLOW}
    rows = list(sampled.counters(trial))
    assert counted(rows, "local", "interface.lo.tx_bytes") == 360_000
    assert counted(rows, "local", "udp.out_datagrams") == 1000
    assert counted(rows, "local", "interface.eth0.tx_bytes") == 60


def test_without_a_sampler_it_is_taken_out_of_what_a_worker_counted():
    trial = outcome()
    trial.network.background = {"local": FLOW}
    usage = snapshots(360_000, 1000, ours=500)["snapshots"]
    trial.sampling.collected = {"talker": {"usage": usage}}
    rows = trial_tables(trial, "done", None, [])["counters"].to_pylist()
    assert counted(rows, "local", "interface.lo.tx_bytes") == 360_000


def test_on_the_shared_host_the_wire_is_the_loopback_and_the_rest_has_a_reason():
    trial = outcome()
    trial.network.shared_host = True
    trial.sampling.sampled = snapshots(360_000, 1000, ours=0)
    before = {"interfaces": {"lo": {"tx_bytes": 1}, "eth0": {"tx_bytes": 2}}}
    trial.network.traffic = {"before_open": {"local": before}}
    tables = trial_tables(trial, "done", None, [])
    rows = tables["counters"].to_pylist()
    names = [row["counter"] for row in rows if row["counter"].startswith("interface.")]
    assert {name.split(".")[1] for name in names} == {"lo"}
    costs = cost(
        rows,
        published=1000,
        heard=1000,
        delivered=1000,
        window_ns=8_000,
        delivered_bytes=320_000,
        no_data=unread(tables["events"].to_pylist()),
    )
    assert costs["wire_bytes_per_payload_byte"] == 1.125
    assert "other programs" in costs["wire_bytes_per_payload_byte_eth0"]
