"""Real ROS 2 nodes, demo_nodes_cpp's `talker` and `listener`, against native workers: what a suite
says of two workers of ours must hold for a node that none of us wrote.

Both directions over std_msgs/msg/String. The suites have no such type, since a message's identity
is bytes and a string is text; its layout is made here, and no worker knows more of it than of any
other.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmwbench.lab.host import Host, Spawned
from rmwbench.lab.middleware import Worker, find_workers, ros2
from rmwbench.lab.process import records
from rmwbench.lab.process.records import RECEIVED, SENT, SectionPlan
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.suite.workload.message_type import CdrLayout
from tests.ros2 import sourced

pytestmark = [sourced.needed, pytest.mark.timing]
NONCE = 11
TOPIC = "chatter"
SAYS = "rmwbench says "
MESSAGES, PERIOD_NS = 15, 100_000_000
HELLO = "Hello World: 1"  # each of the talker's first nine messages is as long
FOREIGN = 16  # flag: no message of this trial's workers (docs/formats/records.md)
ROUTER = "lib/rmw_zenoh_cpp/rmw_zenohd"
TWO_FAST_DDS = (
    "two versions of Fast DDS that share memory abort in it (docs/middlewares/rclcpp.md, surprises)"
)
PAIRS = [
    ("rmw_cyclonedds_cpp", "cyclonedds", {}),
    ("rmw_cyclonedds_cpp", "fastdds", {}),
    ("rmw_cyclonedds_cpp", "cyclonedds-0.10", {}),
    ("rmw_cyclonedds_cpp", "rustdds", {}),
    ("rmw_fastrtps_cpp", "cyclonedds", {}),
    pytest.param(
        "rmw_fastrtps_cpp",
        "fastdds",
        {},
        marks=pytest.mark.xfail(reason=TWO_FAST_DDS, strict=False),
    ),
    ("rmw_fastrtps_cpp", "fastdds", {"transport": "udp"}),
    ("rmw_fastrtps_cpp", "rustdds", {}),
    ("rmw_zenoh_cpp", "hiroz", {}),
]
ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "ROS_DISTRO", "ROS_VERSION")


def string(before: str, payload_bytes: int) -> dict[str, str | int]:
    """std_msgs/msg/String whose text is `before` and the payload."""
    layout = (
        CdrLayout()
        .u32(len(before) + payload_bytes + 1)
        .u8(*before.encode())
        .payload(payload_bytes)
        .u8(0)
    )
    return {
        "name": "String",
        "payload_bytes": payload_bytes,
        "ros_type": "std_msgs/msg/String",
        "cdr_prefix_hex": layout.prefix.hex(),
        "cdr_suffix_hex": layout.suffix.hex(),
    }


def endpoint(kind: str, layout: dict[str, str | int]) -> dict[str, Any]:
    # Reliable as the nodes are; a history that keeps what a busy machine is slow to take.
    qos = {
        "reliability": "reliable",
        "durability": "volatile",
        "history": "keep_last",
        "depth": 100,
    }
    asked = {
        "endpoint": 1,
        "kind": kind,
        "topic": TOPIC,
        "type": layout,
        "qos": qos,
        "touch": "header",
        "matches": 1,
    }
    if kind == "publisher":
        return asked | {"arrival": {"kind": "periodic", "period_ns": PERIOD_NS}}
    return asked | {"wait": "block"}


def program(relative: str) -> Path:
    """Of the sourced ROS 2; skips where it has none."""
    for prefix in ros2.prefixes():
        if (prefix / relative).is_file():
            return prefix / relative
    pytest.skip(f"the sourced ROS 2 has no {relative}")


def native_worker(name: str) -> Worker:
    worker = find_workers([name]).get(name)
    if worker is None or worker.description is None:
        pytest.skip(f"the native worker is not built: rmwbench middlewares build {name}")
    return worker


class Stage:
    """A host with one native worker, its router where the RMW has one, and real nodes."""

    def __init__(self, rmw: str, native: str, section: SectionPlan):
        self.rmw, self.worker, self.section = rmw, native_worker(native), section
        self.router = program(ROUTER) if rmw == "rmw_zenoh_cpp" else None

    def __enter__(self) -> "Stage":
        with contextlib.ExitStack() as stack:
            self.host = stack.enter_context(Host("nodes"))
            self.host.wait_ready()
            if self.router:
                says = self.start(self.router, stack)
                self.until(lambda: "Started Zenoh router" in says(), 20, says)
            self.processes = TrialProcesses(self.host)
            self.records = stack.enter_context(records.open_records([self.section], NONCE))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self.processes.__exit__()
        self.stack.__exit__(*error)

    def start(
        self, executable: Path, stack: contextlib.ExitStack | None = None
    ) -> Callable[[], str]:
        """Starts a program of the sourced ROS 2; what is returned tells what it printed so far."""
        output = os.memfd_create("rmwbench-node", os.MFD_CLOEXEC)
        (stack or self.stack).callback(os.close, output)
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        environment |= {
            "RMW_IMPLEMENTATION": self.rmw,
            "ROS_DOMAIN_ID": "0",
            "HOME": "/tmp",
            "ROS_LOG_DIR": "/tmp",
        }
        self.host.spawn(executable.name, executable, [], {1: output, 2: output}, environment)
        report = self.host.receive(10.0)
        assert isinstance(report, Spawned), report
        return lambda: os.pread(output, os.fstat(output).st_size, 0).decode(errors="replace")

    def until(
        self,
        done: Callable[[], bool],
        seconds: float,
        says: Callable[[], str],
        every_s: float = 0.05,
    ) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, says() or "the node printed nothing"
            time.sleep(every_s)

    def open(self, asked: dict[str, Any], modes: dict[str, Any]) -> None:
        """The worker, with one endpoint that knows of its peer."""
        self.processes.__enter__()
        profile = self.worker.profile("untouched")
        self.processes.spawn(
            "p", self.worker.executable, self.records, environment=self.worker.environment
        )
        self.processes.wait_hello(10.0)
        self.ask(
            "open",
            trial_nonce=f"{NONCE:016x}",
            domain_id=0,
            profile=profile,
            options={},
            modes=modes,
        )
        self.ask("create", nodes=[{"name": "native", "endpoints": [asked]}])
        self.ask("match", timeout_ns=25_000_000_000)

    def ask(self, cmd: str, **fields: Any) -> dict[str, Any]:
        return self.processes.ask({"p": (cmd, fields)}, 30.0)["p"]

    def rows(self) -> Any:
        (section,) = records.read(self.records, NONCE)
        return section.rows


@pytest.mark.parametrize(("rmw", "native", "modes"), PAIRS)
def test_the_listener_hears_every_message_of_a_native_publisher(rmw, native, modes):
    program(f"lib/lib{rmw}.so")
    listener = program("lib/demo_nodes_cpp/listener")
    with Stage(rmw, native, SectionPlan(SENT, 1, MESSAGES + 10)) as stage:
        says = stage.start(listener)
        stage.open(endpoint("publisher", string(SAYS, 64)), modes)
        # The payload's magic is text as well; what stands behind it ends at its first zero.
        heard = f"I heard: [{SAYS}RMWB"
        # That the writer knows of its reader says nothing of the reader: it is asked until it
        # hears.
        stage.until(lambda: stage.ask("probe") == {} and heard in says(), 20, says, every_s=0.3)
        time.sleep(1.0)
        before = says().count(heard)
        begin_ns = time.monotonic_ns() + 50_000_000
        end_ns = begin_ns + MESSAGES * PERIOD_NS
        stage.ask(
            "start", at_ns=begin_ns, steady_ns=begin_ns, end_ns=end_ns, grace_ns=2_000_000_000
        )
        stage.until(lambda: says().count(heard) >= before + MESSAGES, 15, says)
        told, sent = says(), stage.rows()
        stage.ask("exit")
    assert [int(row["seq"]) for row in sent] == list(range(MESSAGES))
    assert told.count("I heard") == before + MESSAGES, told


@pytest.mark.parametrize(("rmw", "native", "modes"), PAIRS)
def test_a_native_subscription_hears_the_talker(rmw, native, modes):
    program(f"lib/lib{rmw}.so")
    talker = program("lib/demo_nodes_cpp/talker")
    with Stage(rmw, native, SectionPlan(RECEIVED, 1, 100)) as stage:
        says = stage.start(talker)
        stage.open(endpoint("subscription", string("", len(HELLO))), modes)
        stage.until(lambda: len(stage.rows()) >= 3, 20, says)
        rows = stage.rows()
        stage.ask("exit")
    # Whole, nobody's of ours, and once a second as the node says it publishes.
    assert {int(row["bytes"]) for row in rows} == {len(HELLO)}
    assert all(int(row["flags"]) & FOREIGN for row in rows)
    gaps = [int(b) - int(a) for a, b in zip(rows["taken_ns"], rows["taken_ns"][1:], strict=False)]
    assert all(0.3e9 < gap < 3e9 for gap in gaps), gaps
