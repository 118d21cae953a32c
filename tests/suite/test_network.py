"""Networks between hosts, as a suite says them: what is resolved, what is refused and where, and
what a factor does."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from rmwbench.suite.network.link_trace import parse_trace
from rmwbench.suite.network.network import LINK_FACTORS, NETWORK_PREFIX, Network
from rmwbench.suite.network.spec import GilbertElliott, Spec

SUITE = """\
suite: net
title: two hosts
arms:
  - {{name: a, middleware: zenoh}}
workloads:
  - name: w
    message: Bytes(100)
    rate_hz: 100
    {workload}
{more}
"""
TWO = "hosts: [robot, base]"


def cells_of(workload=TWO, more=""):
    return cells(parse(SUITE.format(workload=workload, more=more), where="net.yaml"))


def refused(workload=TWO, more="") -> UserError:
    with pytest.raises(UserError) as caught:
        cells_of(workload, more)
    return caught.value


def network(text: str, workload=f"{TWO}\n    network: thin") -> dict:
    (cell,) = cells_of(workload, f"networks:\n  thin: {text}")
    return cell.definition()["network"]


def test_several_hosts_without_a_word_have_links_that_do_nothing():
    (cell,) = cells_of()
    definition = cell.definition()["network"]
    assert definition["hosts"] == ["robot", "base"] and definition["name"] is None
    assert definition["links"] == {host: {"up": {}, "down": {}} for host in definition["hosts"]}
    assert (
        definition["multicast"] == "flood"
        and definition["neighbours"] == "permanent"
        and definition["quantum_ns"] == 0
    )


def test_a_spec_is_in_the_units_of_the_link():
    definition = network(
        "{links: {all: {both: {rate_mbps: 54, queue_ms: 50, delay_ms: 2, jitter_ms: 1, loss: 0.1, "
        "reorder: 0.01, reorder_by_ms: 3, duplicate: 0.02, corrupt: 0.03, mtu_bytes: 1420, "
        "exempt_arp: false}}}}"
    )
    assert definition["links"]["robot"]["up"] == definition["links"]["base"]["down"] == {
        "rate_bps": 54_000_000, "queue_ns": 50_000_000, "delay_ns": 2_000_000,
        "jitter": {"kind": "correlated", "sd_ns": 1_000_000, "correlation_ns": 100_000_000},
        "loss": {"kind": "bernoulli", "p": 0.1}, "reorder": {"p": 0.01, "by_ns": 3_000_000},
        "duplicate": 0.02, "corrupt": 0.03, "mtu_bytes": 1420, "exempt_arp": False,
    }  # fmt: skip


def test_a_hosts_own_link_stands_before_that_of_all_and_what_it_leaves_out_does_nothing():
    definition = network("{links: {all: {both: {delay_ms: 2}}, robot: {up: {delay_ms: 5}}}}")
    assert definition["links"]["robot"] == {"up": {"delay_ns": 5_000_000}, "down": {}}
    assert definition["links"]["base"]["down"] == {"delay_ns": 2_000_000}


def test_a_rate_at_the_nic_is_the_hosts_and_not_the_links():
    definition = network(
        "{links: {robot: {both: {rate_mbps: 20, queue_frames: 50, bottleneck: nic}}}}"
    )
    assert definition["links"]["robot"]["up"] == {
        "nic": {"rate_bps": 20_000_000, "queue_frames": 50}
    }
    assert definition["links"]["robot"]["down"] == {"rate_bps": 20_000_000, "queue_frames": 50}


@pytest.mark.parametrize(("rate", "quantum"), [(200, 0), (201, 100_000)])
def test_fast_links_deliver_in_batches(rate, quantum):
    assert network(f"{{links: {{all: {{both: {{rate_mbps: {rate}}}}}}}}}")["quantum_ns"] == quantum
    assert (
        network(f"{{quantum_us: 7, links: {{all: {{both: {{rate_mbps: {rate}}}}}}}}}")["quantum_ns"]
        == 7000
    )


# --- hosts ---


# --- what is refused ---

REFUSED = {
    "unknown network": ("network: thick", "networks:\n  thin: {}", 10, "unknown network `thick`"),
    "network of one host": (
        "network: thin\n    subscribers: 1",
        "networks:\n  thin: {}",
        9,
        "lies between hosts",
    ),
    "no nodes for a host": ("hosts: [a, b, c]", "", 9, "host `c` has no node"),
    "a host twice": ("hosts: [a, a]", "", 9, "listed twice"),
    "one process on two hosts": ("hosts: [a, b]\n    processes: one", "", 9, "one process"),
    "hosts beside nodes": ("hosts: [a]\n    nodes: []", "", 9, "contradict"),
    "daemons elsewhere": ("hosts: [a, b]\n    daemons_host: c", "", 10, "unknown host `c`"),
    "a host called all": ("hosts: [all, b]", "", 9, "no host is called `all`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_at_its_line(case):
    workload, more, line, text = REFUSED[case]
    if case in ("unknown network",):
        workload = f"{TWO}\n    {workload}"
    mistake = refused(workload, more)
    assert text in mistake.what and mistake.where == f"net.yaml:{line}", mistake


def in_network(line: str) -> UserError:
    return refused(f"{TWO}\n    network: thin", f"networks:\n  thin:\n    links: {{}}\n    {line}")


@pytest.mark.parametrize(
    ("line", "words", "fix"),
    [
        (
            "changes: [{at_s: 1, host: robot, chang: up}]",
            "unknown key `chang`",
            "did you mean `change`?",
        ),
        (
            "changes: [{at_s: 1, host: rbot, change: up}]",
            "unknown host `rbot`",
            "did you mean `robot`?",
        ),
        (
            "changes: [{at_s: 1, host: robot, change: blackhol}]",
            "cannot be 'blackhol'",
            "did you mean `blackhole`?",
        ),
        ("changes: [{at_s: 1, host: robot}]", "either a name or a new spec", None),
        (
            "changes: [{at_s: 1, host: robot, change: up, up: {delay_ms: 1}}]",
            "either a name or a new spec",
            None,
        ),
        ("changes: [{at_s: 9, host: robot, change: up}]", "after the steady state", "lengthen"),
        ("multicast: flod", "cannot be 'flod'", "did you mean `flood`?"),
        ("priority: [{dscp: 46, udp_port: 1}]", "names its frames by one key", None),
        ("neighbors: dynamic", "unknown key `neighbors`", "did you mean `neighbours`?"),
        (
            "trace: nowhere.csv",
            "trace `nowhere.csv` cannot be read",
            "relative to the suite's file",
        ),
    ],
)
def test_a_mistake_in_a_network_has_its_line_and_the_nearest_name(line, words, fix):
    mistake = in_network(line)
    assert words in mistake.what and mistake.where == "net.yaml:14", mistake
    assert mistake.fix is None if fix is None else fix in mistake.fix


DOCKER, TUNNEL = (
    "{name: docker0, address: 172.17.0.1/16}",
    "{name: tun0, address: 10.8.0.2/24, multicast: false}",
)


def test_further_interfaces_are_of_a_host_or_of_all_that_have_none_of_their_own():
    interfaces = network(f"{{interfaces: {{all: [{DOCKER}], robot: [{DOCKER}, {TUNNEL}]}}}}")[
        "interfaces"
    ]
    assert [interface["name"] for interface in interfaces["robot"]] == ["docker0", "tun0"] and len(
        interfaces["base"]
    ) == 1
    assert interfaces["robot"][1] == {
        "name": "tun0",
        "address": "10.8.0.2/24",
        "multicast": False,
        "carrier": True,
    }
    assert "interfaces" not in network("{}")


def test_a_network_beside_is_of_the_hosts_that_have_a_link_there():
    definition = network("{beside: {wlan0: {links: {all: {both: {loss: 0.2}}, base: {}}}}}")
    assert definition["name"] == "thin" and list(definition["beside"]) == [
        "robot wlan0",
        "base wlan0",
    ]
    assert definition["beside"]["robot wlan0"]["up"]["loss"] == {"kind": "bernoulli", "p": 0.2}
    assert definition["beside"]["base wlan0"] == {"up": {}, "down": {}}
    assert "beside" not in network("{}")


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ("{eth0: {links: {all: {}}}}", "`eth0` is not a valid name"),
        ("{wlan0: {links: {}}}", "links"),
        ("{wlan0: {links: {robot: {}}}}", "network `wlan0` leads to no other host"),
        ("{wlan0: {links: {robot: {}, nobody: {}}}}", "nobody"),
        ("{wlan0: {links: {all: {up: {rate_mbps: 5, bottleneck: nic}}}}}", "this is for `eth0`"),
        ("{wlan0: {links: {all: {both: {medium: air}}}}}", "there is no medium `air`"),
        (
            f"{{tun0: {{links: {{all: {{}}}}}}}}\n    interfaces: {{all: [{TUNNEL}]}}",
            "leads nowhere",
        ),
        (
            f"{{tun0-p: {{links: {{all: {{}}}}}}}}\n    interfaces: {{all: [{TUNNEL}]}}",
            "at its other end",
        ),
    ],
)
def test_a_network_beside_that_cannot_be_is_refused(beside, words):
    assert words in str(in_network(f"beside: {beside}"))


@pytest.mark.parametrize(
    ("interfaces", "words", "line"),
    [
        ("{rbot: []}", "unknown host `rbot`", 14),
        ("{all: [{name: eth0, address: 172.17.0.1/16}]}", "`eth0` is not a valid name", 14),
        ("{all: [{name: Docker 0, address: 172.17.0.1/16}]}", "is not a valid name", 14),
        ("{all: [{name: a, address: 172.17.0.1}]}", "not an address with its prefix", 14),
        ("{all: [{name: a, address: 10.77.0.1/16}]}", "those of the links between hosts", 14),
        (f"{{all: [{DOCKER}, {DOCKER}]}}", "two interfaces are called `docker0`", 14),
        (f"{{all: [{DOCKER}, {{name: b, address: 172.17.0.1/24}}]}}", "have the same address", 14),
        (
            f"{{all: [{{name: docker0-p, address: 172.18.0.1/16}}, {DOCKER}]}}",
            "`docker0-p` is the device at the other end of `docker0`",
            14,
        ),
    ],
)
def test_an_interface_that_cannot_be_is_refused_at_its_line(interfaces, words, line):
    mistake = in_network(f"interfaces: {interfaces}")
    assert words in mistake.what and mistake.where == f"net.yaml:{line}", mistake


AIR = (
    "media: {ap1: {rate_mbps: 54}, ap2: {rate_mbps: 6}}\n    links: {robot: {both: {medium: ap1}}}"
)


def roams(changes: str) -> str:
    return f"networks:\n  thin:\n    {AIR}\n    changes: {changes}"


def test_a_host_roams_from_medium_to_medium():
    there = "{at_s: 1, host: robot, change: roam, medium: ap2, gap_ms: 50}"
    back = "{at_s: 2, host: robot, change: roam, medium: ap1, new_address: true}"
    (cell,) = cells_of(f"{TWO}\n    network: thin", roams(f"[{there}, {back}]"))
    changes = cell.definition()["network"]["changes"]
    assert changes[0] == {
        "at_s": 1.0,
        "host": "robot",
        "change": "roam",
        "medium": "ap2",
        "gap_ms": 50.0,
    }
    assert changes[1]["new_address"] is True and changes[1]["gap_ms"] == 0
    assert cell.links.network.changes[0].joined_s == 1.05


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("{at_s: 1, host: robot, change: roam}", "needs another medium"),
        ("{at_s: 1, host: robot, change: roam, medium: ap3}", "unknown medium `ap3`"),
        ("{at_s: 1, host: robot, change: roam, medium: ap1}", "is on `ap1` already"),
        ("{at_s: 1, host: base, change: roam, medium: ap2}", "`base` is on no medium"),
        ("{at_s: 1, host: robot, change: up, gap_ms: 5}", "`gap_ms` is for a host that roams"),
        (
            "{at_s: 1, host: robot, change: roam, medium: ap2, gap_ms: 9000}",
            "after the steady state is over",
        ),
    ],
)
def test_roaming_that_cannot_be_is_refused(change, words):
    mistake = refused(f"{TWO}\n    network: thin", roams(f"[{change}]"))
    assert words in mistake.what and mistake.where == "net.yaml:15", mistake


def test_a_background_load_is_on_hosts_that_there_are():
    (cell,) = cells_of(f"{TWO}\n    background: traffic\n    background_hosts: [base]")
    assert cell.background_hosts == ("base",) and cell.definition()["background_hosts"] == ["base"]
    (cell,) = cells_of(f"{TWO}\n    background: traffic")
    assert (
        cell.background_hosts == ("robot", "base") and "background_hosts" not in cell.definition()
    )
    assert "unknown host `bse`" in refused(f"{TWO}\n    background_hosts: [bse]").what


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("{loss: 10}", "a chance is between 0 and 1"),
        ("{rate_mbps: 0}", "not a valid rate of a link"),
        ("{queue_ms: 5}", "`queue_ms` alone does nothing"),
        ("{rate_mbps: 5, queue_ms: 5, queue_kb: 5}", "a queue has one limit"),
        ("{reorder: 0.1}", "`reorder` alone does nothing"),
        ("{bottleneck: nic}", "`bottleneck` alone does nothing"),
        ("{medium: wifi}", "there is no medium `wifi`"),
        ("{mtu_bytes: 100}", "not a valid MTU of a link"),
        ("{loss: {kind: gilbert_elliott, p: 0.1, r: 0}}", "never recovers"),
        ("{delay: 5}", "unknown key `delay`"),
    ],
)
def test_a_mistake_in_a_spec_has_its_line(spec, words):
    text = f"networks:\n  thin:\n    links:\n      robot:\n        up: {spec}"
    mistake = refused(f"{TWO}\n    network: thin", text)
    assert words in mistake.what and mistake.where == "net.yaml:15", mistake


# --- factors ---


def losses(more: str, workload=f"{TWO}\n    network: thin"):
    return [
        (cell.factors, {w: cell.links.spec("robot", w).loss for w in ("up", "down")})
        for cell in cells_of(workload, more)
    ]


def test_a_factor_sets_both_directions_of_every_link():
    more = (
        "networks: {thin: {links: {base: {up: {delay_ms: 1}}}}}\nfactors: {network.loss: [0.0, "
        "0.2]}"
    )
    for factors, loss_of_way in losses(more):
        assert all(loss.mean == factors["network.loss"] for loss in loss_of_way.values())
    cell = cells_of(f"{TWO}\n    network: thin", more)[1]
    assert (
        cell.links.spec("base", "up").delay_ms == 1
        and cell.links.spec("base", "up").loss.mean == 0.2
    )


def test_a_factor_goes_on_behind_a_change_that_does_not_set_the_field_itself():
    changes = (
        "[{at_s: 0.2, host: robot, down: {rate_mbps: 5}}, {at_s: 0.3, host: base, change: "
        "blackhole}, {at_s: 0.4, host: robot, both: {delay_ms: 7}}]"
    )
    more = f"networks: {{thin: {{changes: {changes}}}}}\nfactors: {{network.delay_ms: [2, 20]}}"
    first, second = cells_of(f"{TWO}\n    network: thin", more)
    for cell, level in ((first, 2), (second, 20)):
        slower, away, own = cell.links.network.changes
        assert slower.spec("up") is None and away.change == "blackhole"
        assert (slower.spec("down").delay_ms, slower.spec("down").rate_mbps) == (level, 5)
        assert (own.spec("up").delay_ms, own.spec("down").delay_ms) == (7, 7)


def test_networks_are_levels():
    more = (
        "networks: {thin: {links: {all: {both: {loss: 0.5}}}}, thick: {}}\nfactors: {network: "
        "[thin, thick]}"
    )
    assert [cell.links.name for cell in cells_of(TWO, more)] == ["thin", "thick"]
    error = refused(TWO, more.replace("[thin, thick]", "[thin, thik]"))
    assert "unknown network `thik`" in error.what and error.where == "net.yaml:11"


def test_a_factor_of_a_network_that_is_not_there_changes_nothing_and_is_refused():
    error = refused("subscribers: 1", "factors: {network.loss: [0.0, 0.2]}")
    assert "factor `network.loss` changes nothing" in error.what
    error = refused(
        "subscribers: 1", "networks: {a: {}, b: {multicast: drop}}\nfactors: {network: [a, b]}"
    )
    assert "factor `network` changes nothing" in error.what
    assert "did you mean `network.loss`?" in refused(TWO, "factors: {network.los: [0.1]}").fix


# --- laws ---


@given(p=st.floats(0.001, 1), r=st.floats(0.001, 1), good=st.floats(0, 0.5), bad=st.floats(0.5, 1))
def test_the_mean_loss_of_bursts_lies_between_that_of_its_states(p, r, good, bad):
    law = GilbertElliott(kind="gilbert_elliott", p=p, r=r, good=good, bad=bad)
    assert good - 1e-9 <= law.mean <= bad + 1e-9 and 0 <= law.correlation <= 1


# --- traces ---


def test_mahimahi_is_a_time_per_line():
    assert parse_trace("m", "0\n0\n5\n7\n").opportunities_ns == (0, 0, 5_000_000, 7_000_000)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("t_s,speed\n0,1\n", 1),
        ("t_s,loss\n0,2\n", 2),
        ("t_s,loss\n0,0.1\n0,0.2\n", 3),
        ("t_s,rate_mbps\n0,x\n", 2),
        ("t_s,rate_mbps\n0,0\n", 2),
        ("t_s,loss\n", 1),
        ("5\n4\n", 2),
        ("5\nx\n", 2),
        ("0\n0\n", 2),
        ("t_s,loss\n\n0,2\n", 3),
        ("5\n\nx\n", 3),
        ("t_s,loss\n1700000000,0.1\n", 2),  # a clock's time: the link takes a day
        ("1\n86400001\n", 2),
    ],
)
def test_a_broken_trace_names_its_line(text, line):
    with pytest.raises(ValueError, match=f"line {line} of trace `t`"):
        parse_trace("t", text)


@pytest.mark.parametrize("limit", ["queue_kb", "queue_frames", "queue_ms"])
def test_behind_a_trace_without_rates_nothing_waits(limit):
    rates, delays = (
        parse_trace("t", f"t_s,{column}\n0,5\n") for column in ("rate_mbps", "delay_ms")
    )
    assert Spec.model_validate({limit: 5, "trace": rates}).limited
    with pytest.raises(ValueError, match=f"`{limit}` alone does nothing"):
        Spec.model_validate({limit: 5, "trace": delays})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_trace_is_found_beside_the_suite_and_its_text_stays_out_of_the_cell(tmp_path, encoding):
    """Spreadsheets begin a CSV file with a byte order mark."""
    (tmp_path / "walk.csv").write_text("t_s,loss\n0,0.1\n1,0.9\n", encoding=encoding)
    text = SUITE.format(
        workload=f"{TWO}\n    network: thin", more="networks: {thin: {trace: walk.csv}}"
    )
    (cell,) = cells(parse(text, where="net.yaml", directory=tmp_path))
    trace = cell.definition()["network"]["links"]["robot"]["up"]["trace"]
    (sha256,) = cell.links.traces
    assert trace == {"file": "walk.csv", "sha256": sha256, "lines": 2}


def test_a_network_with_a_trace_has_no_rate_at_a_hosts_own_device(tmp_path):
    (tmp_path / "walk.csv").write_text("t_s,rate_mbps\n0,5\n1,2\n")
    nic = "{rate_mbps: 5, bottleneck: nic}"
    more = f"networks:\n  thin:\n    trace: walk.csv\n    links: {{robot: {{up: {nic}}}}}"
    text = SUITE.format(workload=f"{TWO}\n    network: thin", more=more)
    with pytest.raises(UserError, match="a trace changes the rate") as caught:
        parse(text, where="net.yaml", directory=tmp_path)
    assert caught.value.where == "net.yaml:14"


def test_the_page_lists_the_vocabulary():
    page = (Path(__file__).parents[2] / "docs" / "network.md").read_text(encoding="utf-8")
    spec, whole = (
        set(
            re.findall(
                r"`(\w+)`", " ".join(re.findall(r"^- ((?:`\w+`(?:, | with )?)+)", part, re.M))
            )
        )
        for part in page.split("Of the network, the default first:")
    )
    assert spec | {"jitter_correlation_ms"} == set(Spec.model_fields) - {"bottleneck"}
    assert whole >= set(Network.model_fields) - {"links"}
    assert "`bottleneck:\n  path`" in page
    assert all(f"`{NETWORK_PREFIX}{name}`" in page for name in LINK_FACTORS)
