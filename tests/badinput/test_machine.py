"""Machines that lack something: disk, memory, shared memory, a place that can be written to."""

import json

import pytest

from rmwbench.bundle import Bundle
from tests.badinput.conftest import private_mounts
from tests.support.command import COMMAND
from tests.support.program import run_program

TINY = "mkdir -p small && mount -t tmpfs -o size=2m tmpfs small"


def test_too_little_disk_is_refused_with_the_numbers(user):
    error = user.is_refused("run", "mini.yaml", "--out", "small/out", before=TINY)
    assert "not enough disk" in error and "MiB free" in error and "--out DIR" in error


@pytest.mark.parametrize(
    ("out", "before"),
    [
        ("small/out", "mkdir -p small && mount -t tmpfs -o ro tmpfs small"),
        ("mini.yaml/out", ""),
        ("/proc/out", ""),
    ],
)
def test_a_place_that_cannot_be_written_to_is_refused(user, out, before):
    error = user.is_refused("run", "mini.yaml", "--out", out, before=before)
    assert "a campaign cannot be written here" in error
    assert "choose another place with --out DIR" in error


def test_too_little_memory_is_refused_with_the_numbers(user):
    poor = "sed 's/^MemAvailable:.*/MemAvailable: 102400 kB/' /proc/meminfo > meminfo"
    poor += " && mount --bind meminfo /proc/meminfo"
    (user.path / "meminfo").touch()
    error = user.is_refused("run", "mini.yaml", "--out", "out", before=poor, writes=True)
    assert "not enough memory" in error and "actual: 100 MiB" in error
    assert not (user.path / "out").exists()


def test_a_machine_without_shared_memory_is_refused_with_the_command(user):
    bare = """
    mkdir -p dev && mount -t tmpfs tmpfs dev
    for node in null zero urandom; do touch dev/$node; mount --bind /dev/$node dev/$node; done
    ln -s /proc/self/fd dev/fd
    mount --rbind dev /dev
    """
    error = user.is_refused("run", "mini.yaml", "--out", "out", before=bare)
    assert "/dev/shm" in error and "do: as root: mkdir -m 1777 /dev/shm" in error


@pytest.mark.long
def test_a_disk_that_fills_up_costs_the_trial_under_way_and_nothing_else(user):
    """Filled after two trials that are done; with room again, the campaign goes on where it was."""
    user.edit("{planned: 2, minimum: 2}", "{planned: 12, minimum: 2}")
    script = """
    mkdir -p small && mount -t tmpfs -o size=120m tmpfs small
    "$@" run mini.yaml --out small/out --no-report & run=$!
    trials() { cat small/out/journal.jsonl 2>/dev/null | grep -c '"status": "done"'; }
    while kill -0 $run && [ "$(trials)" -lt 2 ]; do sleep 0.05; done
    dd if=/dev/zero of=small/ballast bs=64k 2>/dev/null || true
    wait $run && echo "ended well" || echo "ended with $?"
    rm small/ballast
    find small/out -name '*.partial'
    "$@" show small/out --json > shown.json && echo shown
    "$@" resume small/out --no-report && echo resumed
    cp -r small/out copied
    """
    command = [*private_mounts(), "sh", "-c", script, "sh", *COMMAND]
    done = run_program(*command, cwd=user.path, env=user._environ(), timeout=120)
    assert done.stdout.split("\n")[:4] == ["ended with 2", "shown", "small/out", "resumed"], (
        done.stdout,
        done.stderr,
    )
    assert "Traceback" not in done.stderr and done.stderr.count("error: ") == 1
    assert "make room" in done.stderr and "rmwbench resume small/out" in done.stderr
    document = json.loads((user.path / "shown.json").read_text())
    assert 2 <= document["campaign"]["trials"]["done"] < 12 and not document["campaign"]["finished"]
    bundle = Bundle(user.path / "copied")
    bundle.check()
    # A busy machine may have voided one, which was run again under another number.
    assert len(bundle.trials("done")) == 12 and bundle.journal.finished
