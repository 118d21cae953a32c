"""Datagrams of our own background load are nobody's path and nobody's cost: they are taken out of
what the kernel counted, exactly."""

from rmwbench.analysis.metrics.cost import unread_reasons
from rmwbench.campaign.record import sampler_rows
from rmwbench.campaign.record.tables import trial_tables
from rmwbench.campaign.trial.attest.window_counts import window
from rmwbench.lab.sampling.loads import LoadFlow
from tests.campaign.cells import outcome
from tests.campaign.ended import costs, grown

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


def growth(trial, group, name):
    """Return the growth of a counter of the kernel within the window."""
    begin, end = (
        edge["udp"] if group == "udp" else edge["interfaces"][group] for edge in window(trial)
    )
    return end[name] - begin[name]


def test_what_we_sent_is_taken_out_and_nothing_else():
    trial = outcome()
    trial.sampling.sampled = snapshots(360_000, 1000, ours=500)
    assert growth(trial, "lo", "tx_bytes") == 360_000 + 500 * DATAGRAM
    trial.network.background = {"local": FLOW}
    assert growth(trial, "lo", "tx_bytes") == growth(trial, "lo", "rx_bytes") == 360_000
    assert growth(trial, "lo", "tx_packets") == growth(trial, "udp", "out_datagrams") == 1000
    assert growth(trial, "lo", "tx_dropped") == growth(trial, "udp", "rcvbuf_errors") == 0
    assert growth(trial, "eth0", "tx_bytes") == 60


def test_what_we_sent_is_in_no_counter_of_the_trial_either():
    trial = outcome()
    trial.sampling.sampled = snapshots(360_000, 1000, ours=500)
    assert grown(sampler_rows.counters(trial), "interface.lo.tx_bytes")["local"] == 1_074_000
    trial.network.background = {"local": FLOW}
    rows = list(sampler_rows.counters(trial))
    assert grown(rows, "interface.lo.tx_bytes")["local"] == 360_000
    assert grown(rows, "udp.out_datagrams")["local"] == 1000
    assert grown(rows, "interface.eth0.tx_bytes")["local"] == 60


def test_without_a_sampler_it_is_taken_out_of_what_a_worker_counted():
    trial = outcome()
    trial.network.background = {"local": FLOW}
    usage = snapshots(360_000, 1000, ours=500)["snapshots"]
    trial.sampling.collected = {"talker": {"usage": usage}}
    rows = trial_tables(trial, "done", None, [])["counters"].to_pylist()
    assert grown(rows, "interface.lo.tx_bytes")["local"] == 360_000


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
    no_data = unread_reasons(tables["events"].to_pylist())
    values = costs(rows, 1000, 8_000, delivered_bytes=320_000, no_data=no_data)
    assert values["wire_bytes_per_payload_byte"] == 1.125
    assert "other programs" in values["wire_bytes_per_payload_byte_eth0"]
