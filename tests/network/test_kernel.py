"""The kernel backend: the programs that lose frames, run on paper; and the real thing between
hosts, where this machine lets us build it."""

import errno
import json
import socket
import struct
import time
from functools import partial

import pytest

from rmwbench.analysis.metrics.network import link_bytes
from rmwbench.analysis.verdicts.unlike_arms import ArmFacts, between
from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.errors import UserError
from rmwbench.lab.host import Hosts
from rmwbench.lab.machine.network_rules import kernel_backend
from rmwbench.lab.network import NetworkBroken, bridge, kernel
from rmwbench.lab.network.kernel import KernelNetwork
from rmwbench.lab.network.netlink import ACT_SHOT, ACT_UNSPEC
from rmwbench.lab.network.network_probe import chance_bound
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.suite.fault import Fault
from rmwbench.suite.file.load import parse
from rmwbench.suite.network.backend import check_one_backend, lacking
from rmwbench.suite.network.network import Access, Links, Network
from rmwbench.suite.network.spec import Spec
from tests.lab import tools
from tests.network.laboratory import cell, links, taps
from tests.network.test_emulation import END_NS, SEND, Lab

KERNEL = "{backend: kernel, links: %s}"


# --- programs of classic BPF, run here as the kernel does (linux/filter.h) ---


def verdict(program: bytes, frame: bytes, draw: int = 0) -> int:
    """What a program returns; 0 where it reads behind the frame's end, as in the kernel."""
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at, loaded = 0, 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        match operation:
            case 0x06:
                return value
            case 0x20:
                assert value == 0xFFFFF038  # the random number
                loaded = draw
            case 0x28 | 0x30:
                size = 2 if operation == 0x28 else 1
                if value + size > len(frame):
                    return 0
                loaded = int.from_bytes(frame[value : value + size], "big")
            case 0x15 | 0x25 | 0x35:
                holds = {0x15: loaded == value, 0x25: loaded > value, 0x35: loaded >= value}[
                    operation
                ]
                at += yes if holds else no
            case _:
                raise AssertionError(f"operation {operation:#x}")


def ethernet(kind: int, content: bytes) -> bytes:
    return bytes(12) + kind.to_bytes(2, "big") + content.ljust(46, b"\0")


def ipv4(protocol: int) -> bytes:
    return ethernet(0x0800, bytes([0x45]) + bytes(8) + bytes([protocol]) + bytes(20))


def ipv6(next_header: int, payload: bytes = bytes(8)) -> bytes:
    return ethernet(0x86DD, bytes([0x60]) + bytes(5) + bytes([next_header]) + bytes(33) + payload)


UDP, TCP, FRAMES_OF_ITS_OWN = ipv4(17), ipv4(6), ethernet(0x88CC, b"")
RESOLUTION = {
    "arp": ethernet(0x0806, b""),
    "igmp": ipv4(2),
    "solicitation": ipv6(58, bytes([135])),
    "advertisement": ipv6(58, bytes([136])),
    "router": ipv6(58, bytes([133])),
    "redirect": ipv6(58, bytes([137])),
    "mld": ipv6(0, bytes([58, 0, 5, 2, 0, 0, 1, 0, 143])),
}
OTHERS = {
    "udp": UDP,
    "tcp": TCP,
    "lldp": FRAMES_OF_ITS_OWN,
    "udp over ipv6": ipv6(17),
    "ping over ipv6": ipv6(58, bytes([128])),
    "beyond discovery": ipv6(58, bytes([138])),
    "options": ipv6(0, bytes([17, 0])),
}


@pytest.mark.parametrize("name", RESOLUTION)
def test_address_resolution_is_exempt_unless_it_is_not(name):
    frame = RESOLUTION[name]
    assert (
        verdict(bridge.loss_program(0.5, exempt=True), frame)
        == verdict(bridge.loss_program(1, exempt=True), frame)
        == ACT_UNSPEC
    )
    assert (
        verdict(bridge.loss_program(0.5, exempt=False), frame)
        == verdict(bridge.loss_program(1, exempt=False), frame)
        == ACT_SHOT
    )
    assert verdict(bridge.drop_program(), frame) == ACT_SHOT


@pytest.mark.parametrize("name", OTHERS)
def test_everything_else_meets_the_draw(name):
    frame, limit = OTHERS[name], round(0.1 * 2**32)
    for exempt in (True, False):
        lossy = partial(verdict, bridge.loss_program(0.1, exempt=exempt), frame)
        assert [lossy(draw) for draw in (0, limit - 1, limit, 2**32 - 1)] == [ACT_SHOT] * 2 + [
            ACT_UNSPEC
        ] * 2
        assert verdict(bridge.loss_program(0, exempt=exempt), frame) == ACT_UNSPEC
        assert verdict(bridge.loss_program(1, exempt=exempt), frame, 2**32 - 1) == ACT_SHOT


# --- what it cannot be asked for ---


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("{backend: kernel, multicast: drop}", "`multicast: drop`"),
        ("{backend: kernel, priority: [{dscp: 46}]}", "`priority`"),
        (
            "{backend: kernel, media: {w: {rate_mbps: 5}}, links: {base: {both: {medium: w}}}}",
            "model of airtime",
        ),
        (
            KERNEL % "{robot: {up: {jitter_ms: 1}}}",
            "`jitter_ms`: the kernel's only jitter follows another law",
        ),
        (
            KERNEL % "{all: {both: {loss: {kind: gilbert_elliott, p: 0.1, r: 0.5}}}}",
            "loss of kind `gilbert_elliott`",
        ),
        (KERNEL % "{robot: {up: {mtu_bytes: 1420}}}", "one MTU for both directions"),
        (
            KERNEL % "{robot: {up: {rate_mbps: 5, queue_ms: 9, delay_ms: 1}}}",
            "`queue_ms` beside `delay_ms`",
        ),
        ("{backend: kernel, changes: [{at_s: 1, host: base, up: {duplicate: 0.1}}]}", "at 1 s"),
    ],
)
def test_what_the_kernel_never_can_is_said_with_the_reason(network, words):
    found = list(lacking(links(network)))
    assert len(found) >= 1 and any(words in one for one in found), found
    assert words in (kernel.why_not(links(network)) or "")
    assert list(lacking(links(network.replace("backend: kernel", "backend: switch")))) == []


def test_two_backends_in_one_comparison_are_refused():
    networks = "{k: {backend: kernel}, s: {links: {all: {both: {rate_mbps: 5}}}}}"
    with pytest.raises(UserError, match="two backends") as caught:
        _both(networks)
    assert "a workload for each" in str(caught.value)


def test_what_is_held_against_another_has_its_backend():
    alike = [("a", None, "kernel"), ("b", "a", "kernel"), ("c", "elsewhere", "switch")]
    check_one_backend(alike)
    with pytest.raises(Fault, match="`b` is compared with `a`, whose network has another backend"):
        check_one_backend([("a", None, "switch"), ("b", "a", "kernel")])


def test_campaigns_over_different_backends_are_unlike():
    one, other = (ArmFacts("a", backend=name) for name in ("switch", "kernel"))
    assert (
        between(one, other) == ["network's backend: switch in A, kernel in B"]
        and between(one, one) == []
    )
    assert between(one, ArmFacts("a")) == []  # one host: no network


def _both(networks: str):
    text = f"""
suite: mini
title: a test
blocks: {{planned: 1, minimum: 1}}
arms:
  - {{name: a, middleware: cyclonedds}}
networks: {networks}
factors: {{network: [k, s]}}
workloads:
  - name: w
    message: Bytes(320)
    rate_hz: 100
    hosts: [robot, base]
    network: k
"""
    return parse(text, where="mini.yaml", middlewares=["cyclonedds"])


def test_the_doctor_says_what_works_and_why_the_rest_does_not():
    def told(works):
        return kernel_backend({"network": {"kernel_backend": works}})

    assert told({"a": "", "b": ""}).level == "green"
    some = told({"loss": "", "delay": "sch_netem: No such file or directory"})
    assert some.level == "green" and "loss; without delay: sch_netem" in some.found
    none = told({"loss": "veth: Operation not permitted", "delay": "veth: Operation not permitted"})
    assert none.level == "yellow" and none.found.count("not permitted") == 1 and "root" in none.fix
    assert told(None).level == "unknown"


# --- the real thing ---


@pytest.fixture(scope="module")
def joined():
    taps()
    if problem := kernel.works()[kernel.JOINED]:
        pytest.skip(f"no kernel backend here: {problem}")
    if problem := kernel.works()[kernel.RATE]:
        pytest.skip(f"no rates of the kernel's here: {problem}")


@pytest.mark.timing  # beside other tests the machine may drop frames of its own
@pytest.mark.usefixtures("joined")
@pytest.mark.smoke
def test_losses_are_those_asked_for_and_every_frame_is_counted_once():
    with Lab(links(KERNEL % "{robot: {up: {loss: 0.2}, down: {loss: 0.4}}}")) as lab:
        kept = json.loads(lab.network.files["network.json"])
        before = lab.network._switch.mark()
        for host, to in (("robot", "10.77.0.2"), ("base", "10.77.0.1")):
            assert lab.run(host, SEND, to, 2000, 0) == b"2000"
        after = lab.network._switch.mark()
        frames = lab.end()
        document = lab.network.document
    assert frames is None and document["backend"] == "kernel" == kept["network"]["backend"]
    assert (
        kept["hosts"]["robot"]["address"] == "10.77.0.1"
        and kept["link"]["offloads"]["robot"]["eth0"]["tso"] == 0
    )
    grown = {
        (host, way): [
            after.growth(before, host, way, name) for name in ("frames", "lost", "delivered")
        ]
        for host in ("robot", "base")
        for way in ("up", "down")
    }
    for (host, way), p in {
        ("robot", "up"): 0.2,
        ("robot", "down"): 0.4,
        ("base", "up"): 0,
        ("base", "down"): 0,
    }.items():
        came, lost, delivered = grown[host, way]
        assert came == lost + delivered and chance_bound(lost, came, p) > 1e-9, (host, way, grown)
    assert grown["robot", "up"][0] >= 2000 and grown["base", "down"][0] == grown["robot", "up"][2]
    assert document["devices"]["robot"]["mean_frame_bytes"] <= 1514
    assert document["devices"]["base"]["dropped"] == 0
    assert not [one for one in lab.network.findings if one.void]


@pytest.mark.timing
@pytest.mark.usefixtures("joined")
def test_both_backends_do_the_same():
    """They share the words and the probes, and nothing else. `python -m bench network` has it at
    length."""
    rates = {}
    for backend in ("switch", "kernel"):
        tools.built("link")
        with Lab(
            links(f"{{backend: {backend}, links: {{robot: {{up: {{rate_mbps: 20, loss: 0.3}}}}}}}}")
        ) as lab:
            lab.network.probe()
            (rates[backend],) = (
                r["value"] for r in lab.network.rows if r["probe"].startswith("network.rate.robot")
            )
            before = lab.network._switch.mark()
            lab.run("robot", SEND, "10.77.0.2", 1500, 0.0002)
            after = lab.network._switch.mark()
            assert not [one for one in lab.network.findings if one.void], backend
        came, lost, full = (
            after.growth(before, "robot", "up", name) for name in ("frames", "lost", "queue_full")
        )
        assert came >= 1500 and chance_bound(lost, came - full, 0.3) > 1e-9, (
            backend,
            came,
            lost,
            full,
        )
    assert rates["kernel"] == pytest.approx(rates["switch"], rel=0.4), rates


@pytest.mark.usefixtures("joined")
def test_a_rate_in_the_path_drops_and_one_at_the_nic_blocks():
    blast = SEND.replace('b"x" * 100', 'b"x" * 1400')
    found = {}
    # So slow a path is full however slowly a busy machine sends. The queue of the NIC holds more
    # than a socket, which blocks before it is full.
    for place, rate_mbps, room in (("path", 1, 50), ("nic", 20, 1000)):
        up = f"{{rate_mbps: {rate_mbps}, queue_frames: {room}, bottleneck: {place}}}"
        with Lab(links(KERNEL % f"{{robot: {{up: {up}}}}}")) as lab:
            begin = time.monotonic()
            lab.run("robot", blast, "10.77.0.2", 1000, 0)
            elapsed = time.monotonic() - begin
            lab.end()
            found[place] = lab.network.document["links"]["robot"]["up"], elapsed
    path, nic = found["path"][0], found["nic"][0]
    assert path["queue_full"] > 500 and path["delivered"] < 500, path
    assert nic["queue_full"] == 0 and nic["delivered"] >= 800, nic
    assert "bytes" not in path  # the kernel does not count those of frames that a queue drops
    assert found["nic"][1] > 0.4  # 11.5 Mbit at 20 Mbit/s, but for what socket and bucket hold


@pytest.mark.usefixtures("joined")
def test_what_a_queue_dropped_stays_counted_when_a_change_removes_it():
    slow = "{rate_mbps: 1, queue_frames: 10}"
    for way, sender, to in (("up", "robot", "10.77.0.2"), ("down", "base", "10.77.0.1")):
        change = f"changes: [{{at_s: 0.1, host: robot, {way}: {{rate_mbps: 5, queue_kb: 50}}}}]"
        with Lab(
            links(f"{{backend: kernel, links: {{robot: {{{way}: {slow}}}}}, {change}}}")
        ) as lab:
            sent = int(lab.run(sender, SEND, to, 1000, 0))
            lab.network.schedule(time.monotonic_ns(), END_NS)
            before = lab.network._switch.mark().links["robot"][way]
            lab.network.apply_due(END_NS)
            lab.network.settle(lab.note)
            lab.end()
            after = lab.network.document["links"]["robot"][way]
        assert sent == 1000 and before["queue_full"] > 500, before
        assert after["queue_full"] >= before["queue_full"] and after["frames"] >= before["frames"]


@pytest.mark.usefixtures("joined")
def test_outages_and_new_specs_are_made_on_time_and_noted():
    changes = ", ".join(
        f"{{at_s: {at}, host: base, {what}}}"
        for at, what in (
            (0.1, "change: blackhole"),
            (0.2, "change: up"),
            (0.3, "down: {loss: 1}"),
            (0.4, "down: {rate_mbps: 50}"),
            (0.5, "down: {rate_mbps: 5, loss: 0.1, queue_kb: 500}"),
            (0.6, "down: {}"),
            (0.7, "change: carrier_loss"),
            (0.8, "change: up"),
        )
    )
    counts = []
    with Lab(links(f"{{backend: kernel, changes: [{changes}]}}")) as lab:
        begin_ns = time.monotonic_ns()
        lab.network.schedule(begin_ns, END_NS)
        while (due_ns := lab.network.due_ns) is not None:
            # in their order, and as fast as it goes: the times are tested elsewhere
            lab.network.apply_due(due_ns)
            lab.network.settle(lab.note)
            before = lab.network._switch.mark()
            sent = int(lab.run("robot", SEND, "10.77.0.2", 100, 0))
            arrived = lab.network._switch.mark().growth(before, "base", "down", "delivered")
            counts.append((sent, arrived))
        lab.end()
        findings = lab.network.findings
    assert [what for _, what, _ in lab.noted][:2] == ["blackhole", "up"] and len(lab.noted) == 8
    assert [what for _, what, _ in lab.noted][-2:] == ["carrier_loss", "up"]
    got = [arrived for _, arrived in counts]
    assert got[0] == got[6] == 0 and min(got[1], got[3], got[5]) >= 100, got
    assert got[2] <= 10, got  # none of them, but what systems say to resolve addresses is exempt
    assert 40 <= got[4] < 110 and got[7] >= 100, got
    assert not [one for one in findings if one.void], findings


@pytest.mark.timing
@pytest.mark.usefixtures("joined")
def test_the_probe_finds_what_was_asked_for_and_what_was_not():
    with Lab(links(KERNEL % "{all: {both: {rate_mbps: 20, loss: 0.1}}}")) as lab:
        lab.network.probe()
        rows = {row["probe"]: row["value"] for row in lab.network.rows}
        assert [one for one in lab.network.findings if one.void] == []
        assert rows["network.rate.robot.up"] == pytest.approx(20e6, rel=0.4)
        lab.network._links = links(KERNEL % "{all: {both: {loss: 0.6}}}")
        lab.network.probe()
        assert any(one.void and "asked for 60 %" in one.text for one in lab.network.findings)


@pytest.mark.usefixtures("joined")
def test_what_is_not_as_asked_for_is_found():
    made = links(KERNEL % "{robot: {up: {rate_mbps: 20, loss: 0.2}}}")
    with Lab(made) as lab:
        kernel = lab.network._switch
        assert isinstance(kernel, KernelNetwork)
        read = partial(kernel._configure, "again", bridge.dumps(made))
        bridge.check(made, read())
        for other, words in (
            (
                "{robot: {up: {rate_mbps: 21, loss: 0.2}}}",
                r"rate of robot.up \(bit/s\) is 20000000, expected 21000000",
            ),
            ("{robot: {up: {rate_mbps: 20, loss: 0.3}}}", "loss program of robot.up"),
            (
                "{robot: {up: {rate_mbps: 20, loss: 0.2, delay_ms: 1}}}",
                "delay of robot.up by netem is False",
            ),
            (
                "{robot: {both: {rate_mbps: 20, loss: 0.2, mtu_bytes: 1420}}}",
                "MTU of a1 is 1500, expected 1420",
            ),
        ):
            with pytest.raises(NetworkBroken, match=words):
                bridge.check(links(KERNEL % other), read())


@pytest.mark.usefixtures("joined")
def test_an_effect_that_the_kernel_lacks_breaks_the_network_and_is_known_beforehand():
    wanted = links(KERNEL % "{robot: {up: {delay_ms: 3}}}")
    if kernel.works()[kernel.DELAY] == "":
        assert kernel.why_not(wanted) is None
        with Lab(wanted) as lab:
            lab.network.probe()
            rows = {row["probe"]: row["value"] for row in lab.network.rows}
            assert rows["network.delay.robot.base"] >= 3e6
            assert [one for one in lab.network.findings if one.void] == []
        return
    assert "not supported by the kernel backend here: delay" in kernel.why_not(wanted)
    with pytest.raises(NetworkBroken, match="sch_netem"), Lab(wanted):
        pass


@pytest.mark.usefixtures("joined")
def test_it_leaves_nothing_behind():
    def here() -> set[str]:
        return {name for _, name in socket.if_nameindex()}

    before = here()
    with Lab(links(KERNEL % "{all: {both: {rate_mbps: 20}}}")):
        assert here() == before  # nothing of it is ever in this namespace
    assert here() == before


def test_without_the_privilege_it_says_what_it_needs(monkeypatch):
    taps()

    def denied(*_):
        return errno.EPERM

    monkeypatch.setattr("rmwbench.lab.network.kernel.netlink.refusal", denied)
    made = links("{backend: kernel}")
    with Hosts("test", made.hosts) as hosts:
        hosts.wait_ready()
        with (
            TrialProcesses(hosts) as processes,
            pytest.raises(
                NetworkBroken, match=r"veth to robot \(needs root\): Operation not permit"
            ),
        ):
            KernelNetwork(processes, hosts, made).open(1)


@pytest.mark.timing
@pytest.mark.usefixtures("joined")
def test_a_trial_over_it_says_what_it_has_not():
    """With Cyclone DDS, over an outage: no frames, and no metric of theirs; the rest is there."""
    changes = "[{at_s: 0.4, host: robot, change: blackhole}, {at_s: 0.8, host: robot, change: up}]"
    made = cell(
        f"{{backend: kernel, links: {{all: {{both: {{rate_mbps: 54}}}}}}, changes: {changes}}}",
        steady_s=1.5,
    )
    workers = tools.worker("cyclonedds")
    assert unsupported_reasons([made], {"cyclonedds": workers}) == {}
    result = run_trial(
        Order(1, made, 0, 0, seed=11, nonce=0x0123_4567_89AB_CDEF),
        workers,
        Hosts("test", made.hosts),
    )
    assert result.status == "done" or result.cause == "machine", (result.status, result.reason)
    assert "frames" not in result.tables or result.tables["frames"].num_rows == 0
    events = [row for row in result.tables["events"].to_pylist() if row["event"] == "network"]
    assert [(row["process"], row["text"]) for row in events] == [
        ("robot", "blackhole"),
        ("robot", "up"),
    ]
    assert json.loads(result.files["link.json"])["backend"] == "kernel"
    definition = made.definition()
    assert definition["network"]["backend"] == "kernel" and "keeps no log" in link_bytes.why_no_log(
        definition
    )
    assert link_bytes.why_no_log(cell("{}").definition()) == link_bytes.NO_LOG


def test_a_cell_that_the_kernel_cannot_carry_is_not_supported():
    reason = unsupported_reasons([cell("{backend: kernel, multicast: drop}")], {})[1]
    assert "kernel backend" in reason and "its bridge floods" in reason


@pytest.mark.usefixtures("joined")
def test_the_settings_of_many_hosts_are_more_than_one_message_and_are_made_and_read_back():
    names = tuple(f"host{number}" for number in range(40))
    spec = Spec(rate_mbps=54, queue_frames=100)
    made = Links(None, names, Network(backend="kernel", links={"all": Access(both=spec)}))
    with Hosts("test", names) as hosts:
        hosts.wait_ready(60.0)
        with TrialProcesses(hosts) as processes:
            assert KernelNetwork(processes, hosts, made).open(1)["ports"] == len(names)
