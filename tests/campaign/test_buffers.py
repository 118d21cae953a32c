"""`tuned*`: a profile asks for larger socket buffers than the kernel grants."""

from pathlib import Path

import pytest

from rmwbench.campaign.plan.socket_buffers import (
    Kernel,
    Kernels,
    UngrantedBuffer,
    asked_bytes,
    ungranted_buffers,
    ungranted_lines,
    ungranted_of_cell,
)
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from rmwbench.suite.placement import place_cells

MIDDLEWARES = Path(__file__).parents[2] / "native" / "middlewares"
SMALL = Kernel({"net.core.rmem_max": "212992"})
LARGE = Kernel({"net.core.rmem_max": "16777216"})


def profile(name: str) -> str:
    return (MIDDLEWARES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("cyclonedds/profiles/tuned.xml", 16 << 20),
        ("fastdds/profiles/tuned.xml", 4 << 20),
        ("fastdds/profiles/shm.xml", None),
        ("cyclonedds/profiles/untouched.xml", None),
        ("zenoh/profiles/tuned.json5", None),
    ],
)
def test_what_a_shipped_profile_asks_for_is_read_from_it(name, asked):
    assert asked_bytes(profile(name)) == asked


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ('<Socket{0}BufferSize min="10MB"/>', 10 << 20),
        ('<Socket{0}BufferSize min="1MB" max="4MB"/>', 4 << 20),
        ('<Socket{0}BufferSize max="default" min="10MB"/>', 10 << 20),
        ("<MinimumSocket{0}BufferSize>10MB</MinimumSocket{0}BufferSize>", 10 << 20),
        ("<{1}SocketBufferSize>4194304</{1}SocketBufferSize>", 4 << 20),
        ("<out>//tmp</out><Socket{0}BufferSize min='10MB'/>", 10 << 20),
        ("<!-- <{1}SocketBufferSize>4</{1}SocketBufferSize> -->", None),
    ],
)
def test_what_public_configurations_ask_for_is_read_too(text, asked):
    assert asked_bytes(text.format("Receive", "listen")) == asked
    assert asked_bytes(text.format("Send", "send"), "send") == asked


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("{'so_rcvbuf': 4096, so_sndbuf: 1}", 4096),
        ("{so_rcvbuf: null, // so_rcvbuf: 4096\n}", None),
        ("{/* so_rcvbuf: 4096 */ so_rcvbuf: 1024}", 1024),
        ('{allow: ["a/*"], so_rcvbuf: 4096, deny: ["*/b"]}', 4096),
    ],
)
def test_comments_of_a_zenoh_file_ask_for_nothing(text, asked):
    assert asked_bytes(text) == asked


def test_less_than_asked_is_a_fact_with_the_command_that_changes_it():
    (buffer,) = ungranted_buffers(profile("cyclonedds/profiles/tuned.xml"), SMALL)
    assert buffer == UngrantedBuffer("receive", 16 << 20, 212992, "net.core.rmem_max")
    assert buffer.text.endswith("the kernel grants 212992: sysctl -w net.core.rmem_max=16777216")


def test_both_sides_count():
    """ROS 2's advice raises `rmem_max` alone."""
    raised = {"net.core.rmem_max": "4194304", "net.core.wmem_max": "212992"}
    text = "<sendBufferSize>4194304</sendBufferSize>"
    (buffer,) = ungranted_buffers(text, Kernel(raised))
    assert buffer == UngrantedBuffer("send", 1 << 22, 212992, "net.core.wmem_max")
    assert not ungranted_buffers(text, Kernel(raised | {"net.core.wmem_max": "4194304"}))


PROFILE = """\
<CycloneDDS><Domain Id="any"><Internal>
<SocketReceiveBufferSize max="16MB"/>
</Internal></Domain></CycloneDDS>
"""
SUITE = """\
suite: mine
title: t
arms:
  - {name: mine, middleware: cyclonedds, profile: ./mine.xml}
  - {name: beside, middleware: cyclonedds}
workloads: [{name: w, message: Bytes(320), rate_hz: 100}]
"""


class Carries:
    """A worker that has no profile but an empty one."""

    def profile(self, name: str) -> dict[str, str]:
        return {"name": name, "format": "", "text": ""}


def test_before_it_runs_the_arm_is_told_with_the_one_command(tmp_path):
    (tmp_path / "mine.xml").write_text(PROFILE)
    all_cells = cells(parse(SUITE, where="mine.yaml", directory=tmp_path))
    workers = {"cyclonedds": Carries()}
    (line,) = ungranted_lines(all_cells, workers, Kernels(Kernel({"net.core.rmem_max": "4194304"})))
    assert line.startswith("mine: asks for a receive buffer of 16.8 MB, the kernel grants 4.19 MB")
    assert line.endswith("rmwbench doctor --fix --only 'receive buffer'")
    assert ungranted_lines(all_cells, workers, Kernels(LARGE)) == []


MACHINES = """\
suite: mine
title: t
arms:
  - {name: mine, middleware: cyclonedds, profile: ./mine.xml}
  - {name: sender, middleware: cyclonedds, processes: {talker: {profile: ./mine.xml}}}
workloads: [{name: w, message: Bytes(320), rate_hz: 100, hosts: [robot, base]}]
"""


def test_each_machine_that_an_arm_has_a_process_on_is_asked_and_named(tmp_path):
    (tmp_path / "mine.xml").write_text(PROFILE)
    both, sender = place_cells(
        cells(parse(MACHINES, where="mine.yaml", directory=tmp_path)), "--place"
    )
    robot, desk = Kernel(LARGE.sysctls, "rover"), Kernel(SMALL.sysctls, "desk")
    kernels = Kernels(robot, {"robot": robot, "base": desk})
    workers = {"cyclonedds": Carries()}
    (buffer,) = ungranted_of_cell(both, workers, kernels)
    assert buffer.machine == "desk" and buffer.document()["machine"] == "desk"
    assert "the kernel of desk grants 212992: sysctl -w" in buffer.text
    assert ungranted_of_cell(sender, workers, kernels) == ()  # its buffer is the talker's alone
    turned = Kernels(desk, {"robot": desk, "base": robot})
    assert [buffer.machine for buffer in ungranted_of_cell(sender, workers, turned)] == ["desk"]
    (line,) = ungranted_lines([both], workers, kernels)
    assert "the kernel of desk grants 213 kB" in line and line.endswith("there, on desk")
