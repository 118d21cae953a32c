"""The real thing: hosts with TAP devices, the link between them, tried and read back. Needs the
built link and TAP devices."""

import errno
import json
import os
import socket
import time
from pathlib import Path

import numpy as np
import pytest

from rmwbench.errors import UserError
from rmwbench.lab.host import Configured, HostBroken, Hosts
from rmwbench.lab.host.host import advice
from rmwbench.lab.network import Emulation, NetworkBroken, host_network, netlink
from rmwbench.lab.network.host_network import HostDevices, rehearse_host
from rmwbench.lab.network.switch import CLASSES, LOST_UP, VERDICTS
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.suite.network.network import Links
from tests.lab import tools
from tests.network.laboratory import links, taps
from tests.support.program import run_as_nobody

TIMEOUT_S = 10.0
END_NS = 1 << 62
RESOLUTION = CLASSES.index("resolution")


@pytest.fixture(scope="module", autouse=True)
def _possible():
    taps()
    tools.built("link")


class Lab:
    """Joined hosts, up and not yet tried."""

    def __init__(self, wanted: Links, seed: int = 7):
        self.links, self.noted = wanted, []
        self.hosts = Hosts(
            "test",
            wanted.hosts,
            beside={host: wanted.devices_beside(host) for host in wanted.hosts},
        )
        try:
            self.hosts.wait_ready()
            self.processes = TrialProcesses(self.hosts)
            self.network = Emulation(self.processes, self.hosts, wanted, 200_000)
            self.network.spawn()
            self.processes.wait_hello(TIMEOUT_S)
            self.network.up(seed)
        except BaseException:
            self.hosts.close()
            raise

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self.network.close()
        self.processes.__exit__()
        self.hosts.close()

    def note(self, host: str, what: str, time_ns: int) -> None:
        self.noted.append((host, what, time_ns))

    def run(self, host: str, program: str, *arguments: object) -> bytes:
        """A program in Python within a host; what it wrote to descriptor 4."""
        programs = {host: (program, list(map(str, arguments)))}
        status, output = self.processes.run_programs(programs, TIMEOUT_S)[host]
        assert status == 0
        return output

    def end(self) -> np.ndarray:
        self.network.end(0, 1 << 62, self.note)
        return self.network.frames


SEND = """
import _socket, os, time
address, count, interval = ARGUMENTS[0], int(ARGUMENTS[1]), float(ARGUMENTS[2])
sock = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
sent = 0
for k in range(count):
    try:
        sock.sendto(b"x" * 100, (address, 9))
        sent += 1
    except OSError:
        pass
    time.sleep(interval)
os.write(4, b"%d" % sent)
"""


SEND_BROADCAST = SEND.replace(
    "sent = 0\n", "sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_BROADCAST, 1)\nsent = 0\n"
)


def verdicts(frames: np.ndarray, to_port: int) -> dict[str, int]:
    """Of the frames of SEND (142 bytes)."""
    mine = frames[(frames["to_port"] == to_port) & (frames["frame_bytes"] == 142)]
    found, count = np.unique(mine["verdict"], return_counts=True)
    return {VERDICTS[one]: int(number) for one, number in zip(found, count, strict=True)}


def test_what_is_in_force_is_read_back_and_kept():
    spec = (
        "{links: {robot: {up: {rate_mbps: 20, queue_ms: 50, bottleneck: nic, mtu_bytes: "
        "1420}}}, ip_fragments: tuned}"
    )
    with Lab(links(spec)) as lab:
        found = json.loads(lab.network.files["network.json"])
    robot, base = found["hosts"]["robot"], found["hosts"]["base"]
    assert (robot["address"], robot["mac"]) == ("10.77.0.1", "02:4d:00:00:00:01")
    assert (robot["mtu_bytes"], base["mtu_bytes"]) == (1420, 1500)
    assert robot["nic"] == {"rate_bps": 20_000_000, "queue_ns": 50_000_000} and base["nic"] is None
    assert robot["sysctls"]["ipv4/ipfrag_time"] == "1" and robot["sysctls"][
        "ipv4/ipfrag_high_thresh"
    ] == str(256 << 20)
    assert found["link"]["ports"] == 2 and found["network"]["hosts"] == ["robot", "base"]


def test_a_host_that_is_not_as_asked_for_is_found():
    """The same kernel, asked for one thing and held against another."""
    made, other = links(), links("{links: {robot: {up: {rate_mbps: 5, bottleneck: nic}}}}")
    with Hosts("test", made.hosts) as hosts:
        hosts.wait_ready()
        place = HostDevices("robot", 1, hosts["robot"].device or 0)
        hosts["robot"].configure("t", *host_network.setup(place, made))
        done = hosts["robot"].receive(5)
        assert isinstance(done, Configured)
        assert host_network.check(place, made, done)["address"] == "10.77.0.1"
        with pytest.raises(
            NetworkBroken, match=r"rate at eth0 \(bit/s\) is \[\], expected \[5000000\]"
        ):
            host_network.check(place, other, done)
        with pytest.raises(
            NetworkBroken, match=r"mac of eth0 is 02:4d:00:00:00:01, expected 02:4d:00:00:00:02"
        ):
            host_network.check(HostDevices("robot", 2, place.eth0), made, done)
        hosts["robot"].configure("again", *host_network.setup(HostDevices("robot", 1, 77), made))
        broken = hosts["robot"].receive(5)
        with pytest.raises(NetworkBroken, match=r"host robot: device of eth0: No such device"):
            host_network.check(place, made, broken)


@pytest.mark.parametrize(
    ("before", "after", "limit"),
    [("queue_ms: 50", "queue_ms: 50", ("bfifo", 12_500)), ("queue_frames: 9", "", ("pfifo", 1000))],
)
def test_a_new_rate_at_the_device_comes_with_its_queue(before, after, limit):
    """What may wait for 50 ms is another number of bytes."""
    up = "rate_mbps: {rate}, bottleneck: nic, {queue}"
    first, then = up.format(rate=20, queue=before), up.format(rate=2, queue=after)
    change = f"changes: [{{at_s: 1, host: robot, up: {{{then}}}}}]"
    wanted = links(f"{{links: {{robot: {{up: {{{first}}}}}}}, {change}}}")
    with Hosts("test", wanted.hosts) as hosts:
        hosts.wait_ready()
        place = HostDevices("robot", 1, hosts["robot"].device or 0)
        hosts["robot"].configure("t", *host_network.setup(place, wanted))
        done = hosts["robot"].receive(5)
        host_network.check(place, wanted, done)
        spec = wanted.network.changes[0].spec("up")
        read = ("read", netlink.GETQDISC, netlink.DUMP, netlink.traffic_body(place.eth0))
        hosts["robot"].configure("then", [*host_network.change_nic(place, spec), read], [], [])
        done = hosts["robot"].receive(5)
        assert done.failed is None
        assert netlink.fifo_limits_of(done.answers[-1])[place.eth0] == limit


def test_what_the_queue_of_a_device_drops_is_counted():
    """Three times what the device carries, through a queue that one socket can fill."""
    up = "{rate_mbps: 1, queue_frames: 10, bottleneck: nic}"
    with Lab(links(f"{{links: {{robot: {{up: {up}}}}}}}")) as lab:
        lab.network.schedule(time.monotonic_ns() + 10_000_000, END_NS)
        until_s = time.monotonic() + 5
        while not lab.network.counters and time.monotonic() < until_s:
            lab.network.apply_due(time.monotonic_ns())
            lab.processes.turn(0.01)
            lab.network.hear(lab.note)
        sent = int(lab.run("robot", SEND, "10.77.0.2", 2000, 0.0))
        time.sleep(0.1)  # ten frames of 1.1 ms
        lab.network.settle(lab.note)
        frames = lab.end()
    begin, end = lab.network.counters
    assert [(row["process"], row["at"]) for row in (begin, end)] == [
        ("robot", "steady_begin"),
        ("robot", "steady_end"),
    ]
    never_seen = sent - sum(verdicts(frames, 1).values())
    # What the kernel says by itself may meet the full queue, too.
    assert sent == 2000 and never_seen > 1000
    assert never_seen <= end["value"] - begin["value"] <= never_seen + 10


BESIDE = "{beside: {wlan0: {links: {all: {up: {loss: 0.3}, down: {}}}}, lte0: {links: {all: {}}}}}"


def test_a_network_beside_has_links_of_its_own_and_nothing_crosses_from_one_to_the_other():
    with Lab(links(BESIDE)) as lab:
        kept = json.loads(lab.network.files["network.json"])["hosts"]
        assert kept["robot"]["beside"] == {"wlan0": "10.77.1.1", "lte0": "10.77.2.1"}
        lab.network.probe()
        assert not lab.network.findings
        for address in ("10.77.1.2", "10.77.2.2", "10.77.0.2", "10.77.1.255"):
            assert lab.run("robot", SEND_BROADCAST, address, 300, 0.0002) == b"300"
        lab.network.schedule(time.monotonic_ns(), END_NS)
        frames = lab.end()
        document = lab.network.document
    ports = [port.name for port in lab.links.ports]
    assert ports == ["robot", "base", "robot wlan0", "base wlan0", "robot lte0", "base lte0"]
    wireless = verdicts(frames, ports.index("base wlan0"))
    lost = verdicts(frames, 3).get("lost_up", 0) + verdicts(frames, 65535).get("lost_up", 0)
    assert wireless["delivered"] + lost == 600 and 120 < lost < 240  # broadcasts included
    assert verdicts(frames, ports.index("base lte0")) == {"delivered": 300}
    assert verdicts(frames, ports.index("base")) == {"delivered": 300}
    assert document["links"]["robot wlan0"]["up"]["frames"] >= 600
    assert not lab.network.findings


FURTHER = """{interfaces: {all: [{name: docker0, address: 172.17.0.1/16}],
    robot: [{name: docker0, address: 172.17.0.1/16, carrier: false},
            {name: tun0, address: 10.8.0.2/24, multicast: false}]}}"""


def test_further_interfaces_are_there_and_what_is_sent_into_them_is_counted_and_gone():
    with Lab(links(FURTHER)) as lab:
        kept = json.loads(lab.network.files["network.json"])["hosts"]
        assert kept["robot"]["further"] == {"docker0": "172.17.0.1/16", "tun0": "10.8.0.2/24"}
        assert lab.run("robot", SEND, "10.8.0.9", 20, 0) == b"20"  # no resolution on a tunnel
        assert lab.run("base", SEND, "172.17.0.9", 20, 0) == b"20"
        counted = 'import os\nos.write(4, open("/proc/net/dev", "rb").read())'
        sent = {}
        for host in ("robot", "base"):
            for line in lab.run(host, counted).decode().splitlines()[2:]:
                name, _, numbers = line.partition(":")
                sent[host, name.strip()] = int(numbers.split()[9])
        lab.network.schedule(time.monotonic_ns(), END_NS)
        frames = lab.end()
    # nothing is plugged in there
    assert sent["robot", "tun0"] == 20 and sent["robot", "docker0"] == 0
    assert sent["base", "docker0"] >= 1  # the question who has that address
    assert not (frames["frame_bytes"] == 142).any()  # nothing of it reached the link


def test_an_interface_that_is_not_as_asked_for_is_found():
    made, other = links(FURTHER), links(FURTHER.replace("10.8.0.2/24", "10.9.0.2/24"))
    with Hosts("test", made.hosts) as hosts:
        hosts.wait_ready()
        place = HostDevices("robot", 1, hosts["robot"].device or 0)
        hosts["robot"].configure("t", *host_network.setup(place, made))
        done = hosts["robot"].receive(5)
        host_network.check(place, made, done)
        with pytest.raises(NetworkBroken, match=r"address 10.9.0.2 of tun0 is absent"):
            host_network.check(place, other, done)
        with pytest.raises(NetworkBroken, match=r"carrier of docker0 is False, expected True"):
            host_network.check(place, links(FURTHER.replace(", carrier: false", "")), done)


def test_what_depends_on_time_begins_anew_with_the_steady_state():
    """Discovery takes each candidate another while; all should meet the same outages at the same
    place of it."""
    in_time = "{kind: gilbert_elliott_time, good_ms: 80, bad_ms: 20}"
    own = f"robot: {{up: {{loss: {in_time}}}}}, base: {{down: {{loss: 0.1}}}}"
    wlan0 = f"robot: {{both: {{loss: 0.1}}}}, base: {{down: {{loss: {in_time}}}}}"
    with Lab(links(f"{{links: {{{own}}}, beside: {{wlan0: {{links: {{{wlan0}}}}}}}}}")) as lab:
        steady_ns = time.monotonic_ns() + 100_000_000
        lab.network.schedule(steady_ns, END_NS)
        lab.run("robot", SEND, "10.77.0.2", 60, 0.005)
        lab.end()
        made = lab.network.document["changes"]
    assert [(one["link"], one["change"], one["asked_ns"]) for one in made] == [
        ("robot", "restart", steady_ns),
        ("base wlan0", "restart", steady_ns),
    ]
    assert lab.noted == []  # no news to the trial


AIR = (
    "{media: {ap1: {rate_mbps: 54}, ap2: {rate_mbps: 54}}, links: {base: {both: {medium: "
    "ap1}}}, changes: [%s]}"
)


@pytest.mark.timing
def test_a_host_that_roams_is_nowhere_for_the_gap_and_then_on_the_other_medium():
    with Lab(links(AIR % "{at_s: 0.3, host: base, change: roam, medium: ap2, gap_ms: 400}")) as lab:
        lab.network.schedule(time.monotonic_ns() + 100_000_000, END_NS)
        assert lab.run("robot", SEND, "10.77.0.2", 300, 0.005) == b"300"
        frames = lab.end()
        media = lab.network.document["media"]
    assert [(host, what) for host, what, _ in lab.noted] == [
        ("base", "roam ap2"),
        ("base", "roamed ap2"),
    ]
    assert lab.noted[1][2] - lab.noted[0][2] > 300_000_000  # both as late as the machine has it
    found = verdicts(frames, 1)
    assert found["delivered"] > 20 and found["blackhole"] > 20, found
    assert all(media[name]["attempts"] > 0 for name in ("ap1", "ap2"))


def test_a_kernel_that_cannot_says_so_before_anything_runs():
    with pytest.raises(NetworkBroken, match="TCP congestion control is"):
        rehearse_host(links("{congestion_control: nosuch}"), "robot")
    rehearse_host(links(), "base")


def test_hosts_of_a_network_reach_each_other_and_nothing_else():
    program = """
import _socket, os
sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
sock.settimeout(1)
try:
    sock.connect(("127.0.0.1", int(ARGUMENTS[0])))
except OSError as error:
    os.write(4, b"%d" % error.errno)
"""
    with socket.create_server(("127.0.0.1", 0)) as server, Lab(links()) as lab:
        for host in lab.links.hosts:
            assert int(lab.run(host, program, server.getsockname()[1])) == errno.ECONNREFUSED
        assert lab.run("robot", SEND, "10.77.0.2", 10, 0) == b"10"
        assert verdicts(lab.end(), 1) == {"delivered": 10}


@pytest.mark.timing
@pytest.mark.smoke
def test_a_probe_finds_what_was_asked_for():
    spec = "{links: {all: {both: {rate_mbps: 20, loss: 0.1, delay_ms: 5}}}}"
    with Lab(links(spec)) as lab:
        lab.network.probe()
        rows = {row["probe"]: row["value"] for row in lab.network.rows}
        assert [one for one in lab.network.findings if one.void] == []
        assert {
            f"network.loss.{host}.{way}" for host in lab.links.hosts for way in ("up", "down")
        } <= rows.keys()
        assert 0.02 < rows["network.loss.robot.up"] < 0.25
        assert rows["network.delay.robot.base"] >= 10e6
        assert rows["network.rate.robot.up"] == pytest.approx(20e6, rel=0.4)
        frames = lab.end()
        assert not len(frames[frames["frame_bytes"] == 1442])  # probes are not frames of the trial


@pytest.mark.timing
def test_a_link_that_does_something_else_is_found():
    """The link is told of no loss, and held against a spec that asks for 40 %."""
    with Lab(links()) as lab:
        lab.network._links = links("{links: {all: {both: {loss: 0.4}}}}")
        lab.network.probe()
        assert any(one.void and "asked for 40 %" in one.text for one in lab.network.findings)


def test_the_same_seed_loses_the_same_frames():
    """The k-th frame meets the k-th draw. A system's own frames come in between when they like;
    those that resolve addresses or join groups are never lost, and draw nothing."""

    def fates(seed: int) -> list[bool]:
        with Lab(links("{links: {robot: {up: {loss: 0.3}}}, multicast: drop}"), seed) as lab:
            lab.run("robot", SEND, "10.77.0.2", 200, 0)
            frames = lab.end()
        mine = np.sort(
            frames[(frames["from_port"] == 0) & (frames["class"] != RESOLUTION)], order="index"
        )
        return (mine["verdict"] == LOST_UP).tolist()

    first, again, other = fates(7), fates(7), fates(8)
    assert 30 < sum(first) < 95
    assert first[:195] == again[:195] and first[:195] != other[:195]


@pytest.mark.timing
def test_a_blackhole_a_lost_carrier_and_a_device_that_is_down_are_three_things():
    changes = ", ".join(
        f"{{at_s: {at}, host: base, change: {what}}}"
        for at, what in ((0.2, "blackhole"), (0.5, "up"), (0.8, "carrier_loss"), (1.1, "up"))
    )
    changes += ", {at_s: 1.4, host: base, change: admin_down}, {at_s: 1.7, host: base, change: up}"
    with Lab(links(f"{{changes: [{changes}]}}")) as lab:
        begin_ns = time.monotonic_ns() + 50_000_000
        lab.network.schedule(begin_ns, END_NS)
        file = os.memfd_create("result")
        arguments = ["10.77.0.2", "400", "0.005"]
        lab.processes.start_program("sender", SEND, arguments, {4: file}, "robot")
        while time.monotonic_ns() < begin_ns + 2_300_000_000:
            lab.network.apply_due(time.monotonic_ns())
            lab.processes.turn(0.01)
            lab.network.hear(lab.note)
        os.close(file)
        frames = lab.end()
    assert [(host, what) for host, what, _ in sorted(lab.noted, key=lambda one: one[2])] == [
        ("base", what) for what in ("blackhole", "up", "carrier_loss", "up", "admin_down", "up")
    ]
    found = verdicts(frames, 1)
    assert {"delivered", "blackhole", "no_carrier", "refused"} <= found.keys(), found
    late = [time_ns - begin_ns for _, _, time_ns in lab.noted]
    assert all(0.15e9 < one < 2.3e9 for one in late)


def test_a_device_whose_mtu_is_too_small_for_ipv6_has_ipv4_alone():
    with Lab(links("{links: {robot: {both: {mtu_bytes: 576, rate_mbps: 10}}}}")) as lab:
        lab.network.probe()
    assert [one.text for one in lab.network.findings if one.void] == []


def test_a_probe_waits_for_datagrams_that_are_held_back():
    """They came when it had ended, and had vanished outside of the link."""
    with Lab(links("{links: {robot: {up: {reorder: 0.2, reorder_by_ms: 60}}}}")) as lab:
        lab.network.probe()
    assert [one.text for one in lab.network.findings if "vanished" in one.text] == []


def test_a_change_that_host_and_link_make_is_noted_once_and_when_the_host_has_done_it():
    nic = "up: {rate_mbps: 20, bottleneck: nic}"
    changes = (
        "{at_s: 0, host: base, change: blackhole}, {at_s: 0, host: base, change: admin_down}, "
    )
    changes += f"{{at_s: 0.1, host: base, change: up}}, {{at_s: 0.1, host: robot, {nic}}}"
    with Lab(links(f"{{links: {{robot: {{{nic}}}}}, changes: [{changes}]}}")) as lab:
        begin_ns = time.monotonic_ns() + 50_000_000
        lab.network.schedule(begin_ns, END_NS)
        while time.monotonic_ns() < begin_ns + 150_000_000:
            lab.network.apply_due(time.monotonic_ns())
            lab.processes.turn(0.01)
            lab.network.hear(lab.note)
        lab.network.settle(lab.note)
        of_base = [what for host, what, _ in lab.noted if host == "base"]
        assert of_base == ["admin_down", "up"] and len(lab.noted) == 3  # and robot's new spec
        lab.end()
    assert [what for _, what, _ in lab.noted[3:]] == ["blackhole"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_new_address_is_reached_and_the_old_one_is_not(times):
    changes = [f"{{at_s: {k}, host: base, change: new_address}}" for k in reversed(range(times))]
    with Lab(links(f"{{changes: [{', '.join(changes)}]}}")) as lab:
        lab.network.schedule(time.monotonic_ns() + 1_000_000_000, END_NS)
        lab.network.apply_due(1 << 62)
        lab.network.settle(lab.note)
        assert [(host, what) for host, what, _ in lab.noted] == [("base", "new_address")] * times
        ping = """
import _socket, os, select
sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
sock.setblocking(False)
try:
    sock.connect((ARGUMENTS[0], 9))
except BlockingIOError:
    pass
poll = select.poll(); poll.register(sock.fileno(), select.POLLOUT)
os.write(4, b"%d" % (sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR) if poll.poll(500) else -1))
"""
        first, other = "10.77.0.2", "10.77.0.102"
        new, old = (other, first) if times == 1 else (first, other)
        # somebody is there, and says no
        assert int(lab.run("robot", ping, new)) == errno.ECONNREFUSED
        assert int(lab.run("robot", ping, old)) == -1


def test_a_network_whose_process_is_gone_breaks_the_trial_and_not_the_tool():
    from rmwbench.lab.process.worker import WorkerFailed

    with Lab(links()) as lab:
        os.kill(lab.network._switch.pid, 9)
        with pytest.raises(WorkerFailed) as caught:
            lab.network.probe()
        assert caught.value.role == "network"


def test_everything_ends_with_its_hosts():
    with Lab(links()) as lab:
        pid = lab.network._switch.pid
        assert Path(f"/proc/{pid}").exists() and lab.network.cpu_ns() > 0
    assert not Path(f"/proc/{pid}").exists() and lab.network.cpu_ns() is None


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (errno.EACCES, "chmod 0666 /dev/net/tun"),
        (errno.ENOENT, "modprobe tun"),
        (errno.EPERM, "run as root"),
    ],
)
def test_without_tap_devices_it_is_said_what_is_missing_and_what_still_works(number, fix):
    error = advice(HostBroken("open /dev/net/tun", number))
    assert isinstance(error, UserError)
    assert (
        "workloads on one host still run" in error.what
        and fix in error.fix
        and error.where == "open /dev/net/tun"
    )


def test_only_of_a_tap_device_it_is_said_that_one_host_still_runs():
    """A kernel without veth makes no host at all; the devices beside `eth0` are TAP devices too."""
    veth = advice(HostBroken("make eth0", errno.EOPNOTSUPP))
    assert "isolated host that every trial runs in" in veth.what
    beside = advice(HostBroken("make can0 a TAP device", errno.EPERM))
    assert "workloads on one host still run" in beside.what


NOBODY = """
import sys
sys.path.insert(0, sys.argv[1])
from rmwbench.errors import UserError
from rmwbench.lab.host import Hosts, check_tap
try:
    check_tap()
except UserError as error:
    print(error)
else:
    with Hosts("nobody", ["robot", "base"]) as hosts:
        hosts.wait_ready()
        print("user namespace", hosts["robot"].user_namespace, hosts["robot"].tap_fd is not None)
"""


def test_a_user_without_capabilities_joins_hosts_or_is_told_what_is_missing():
    done = run_as_nobody(NOBODY)
    said = done.stdout.strip()
    if said.startswith("cannot make the isolated host"):
        pytest.skip("this machine forbids user namespaces")
    assert said == "user namespace True True" or "workloads on one host still run" in said, (
        done.stdout + done.stderr
    )
