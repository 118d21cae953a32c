"""What is left behind, and what goes where nobody is: counted where it was looked at, never zero
where it was not."""

from rmwbench.analysis.metrics.network.network_counters import NO_FURTHER, NOT_READ, stray
from rmwbench.analysis.metrics.trial_metrics import NOT_ASKED, leftovers


def left(host, value, text):
    return {"event": "leftovers", "process": host, "value": value, "text": text}


def test_leftovers_are_files_and_sockets_of_all_hosts():
    events = [
        left("robot", 8192, '{"directory": 2, "file": 3}'),
        left("base", 0, '{"socket": 1}'),
        {"event": "killed", "process": "p", "value": 7, "text": None},
    ]
    assert leftovers(events) == {"leftover_files": 4.0, "leftover_bytes": 8192.0}
    assert leftovers([left("robot", 0, "{}")]) == {"leftover_files": 0.0, "leftover_bytes": 0.0}


def test_where_nobody_looked_there_is_no_figure():
    got = leftovers([])
    assert set(got.values()) == {NOT_ASKED}


DEFINITION = {
    "network": {"hosts": ["robot", "base"], "interfaces": {"robot": [{"name": "docker0"}]}}
}


def counter(host, name, at, value):
    return {"process": host, "counter": f"interface.{name}.tx_bytes", "at": at, "value": value}


def test_stray_bytes_are_those_of_further_interfaces_and_of_the_loopback():
    rows = [
        counter(host, name, at, value)
        for host, name, before, after in (
            ("robot", "docker0", 100, 600),
            ("robot", "lo", 0, 7000),
            ("base", "lo", 50, 60),
            ("robot", "eth0", 0, 90_000),
            ("base", "docker0", 0, 90_000),  # not one that its network gave it
        )
        for at, value in (("before_open", before), ("complete", 12345), ("steady_end", after))
    ]
    assert stray(rows, DEFINITION) == {"stray_bytes": 500, "loopback_bytes": 7010}
    further = {host: [{"name": "docker0"}] for host in ("robot", "traffic")}
    of_all = {"network": {"hosts": ["robot", "base"], "interfaces": further}}
    assert stray(rows, of_all) == stray(rows, DEFINITION), "nothing reads hosts of cross traffic"
    got = stray(rows[1:], DEFINITION)
    assert set(got.values()) == {NOT_READ}


def test_without_further_interfaces_nothing_is_stray():
    got = stray([], {"network": {"hosts": ["robot"]}})
    assert set(got.values()) == {NO_FURTHER}
    assert stray([], {}) == got
