"""`tuned*`: a profile asks for larger socket buffers than the kernel grants."""

from pathlib import Path

import pytest

from rmwbench.campaign.plan.buffers import asked_bytes, granted_less

MIDDLEWARES = Path(__file__).parents[2] / "native" / "middlewares"
SMALL = {"net.core.rmem_max": "212992"}


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
    assert asked_bytes(profile(name), {}) == asked


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ('<SocketReceiveBufferSize min="1 MB" max="2MiB"/>', 2 << 20),
        ("<SocketReceiveBufferSize max='500kB' min='1B'/>", 500 << 10),
        ('<!-- <SocketReceiveBufferSize max="2MB"/> -->', None),
        ("<receiveBufferSize> 100000 </receiveBufferSize>", 100_000),
        ('{ transport: { link: { tcp: { "so_rcvbuf": 65000 } } } }', 65_000),
        ("{ // so_rcvbuf: 65000\n}", None),
    ],
)
def test_what_a_file_of_the_users_asks_for(text, asked):
    assert asked_bytes(text, {}) == asked


def test_a_mode_replaces_what_the_profile_asks_for():
    assert (
        asked_bytes(profile("cyclonedds/profiles/tuned.xml"), {"socket_buffer_bytes": 1000}) == 1000
    )


def test_less_than_asked_is_told_with_the_command_that_changes_it():
    told = granted_less(profile("cyclonedds/profiles/tuned.xml"), {}, SMALL)
    assert told is not None and "212992" in told and "sysctl -w net.core.rmem_max=16777216" in told


def test_both_sides_count():
    """ROS 2's advice raises `rmem_max` alone."""
    raised = {"net.core.rmem_max": "4194304", "net.core.wmem_max": "212992"}
    for text, modes in (
        ("", {"socket_buffer_bytes": 1 << 22}),
        (profile("fastdds/profiles/tuned.xml"), {}),
    ):
        told = granted_less(text, modes, raised)
        assert told is not None and "a send buffer of 4194304 bytes" in told
        assert "rmem_max" not in told
        assert granted_less(text, modes, raised | {"net.core.wmem_max": "4194304"}) is None


def test_enough_is_not_told_nor_what_nobody_knows():
    text = profile("cyclonedds/profiles/tuned.xml")
    assert granted_less(text, {}, {"net.core.rmem_max": "16777216"}) is None
    assert granted_less(text, {}, {"net.core.rmem_max": None}) is None
    assert granted_less("", {}, SMALL) is None
