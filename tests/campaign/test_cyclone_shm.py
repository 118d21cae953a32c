"""Cyclone DDS with shared memory, end to end: RouDi started for the trial, the path attested, and
what bypasses shared memory voided for real. Needs the built worker."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rmwbench.bundle import Bundle
from rmwbench.lab.middleware import Worker
from tests.lab import tools
from tests.support.command import COMMAND, run_suite
from tests.support.program import until

pytestmark = [pytest.mark.traffic, pytest.mark.own_host]  # RouDi has one name on a machine

ARMS = """
suite: shm
title: a test
blocks: {planned: 2, minimum: 2}
timeline: {warmup_s: 0.2, drain_s: 0.3, steady_s: 0.4}
arms:
"""
SHARED = "  - {name: shared, middleware: cyclonedds, profile: shm, options: {path: shm}}\n"
LARGE = (
    ARMS
    + SHARED
    + """
  - {name: loaned, middleware: cyclonedds, profile: shm, loan: true, options: {path: shm}}
  - {name: by mode, middleware: cyclonedds, modes: {transport: shm}, options: {path: shm}}
  - {name: blob, middleware: cyclonedds, profile: shm, options: {path: shm, topic: blob}}
  - {name: small pool, middleware: cyclonedds, profile: shm, options: {path: shm, roudi_pools: "1K:4096 64K:64"}}
workloads:
  - {name: large, message: Array1m, rate_hz: 50}
"""
)
OWN = (
    ARMS
    + """
  - {name: own, middleware: cyclonedds, profile: mine.xml, options: {path: shm, daemons: roudi}}
workloads:
  - {name: large, message: Array1m, rate_hz: 50}
"""
)
HISTORIES = (
    ARMS
    + SHARED
    + """
workloads:
  - {name: latched, message: Array1m, rate_hz: 50, qos: {durability: transient_local, depth: 20}}
  - {name: all, message: Array1k, rate_hz: 100, qos: {history: keep_all}}
"""
)


@pytest.fixture(scope="module", autouse=True)
def worker() -> Worker:
    return tools.worker("cyclonedds")


class Trials:
    """The trials of a finished campaign, by the name of their arm or workload."""

    def __init__(self, directory: Path, column: str):
        self.bundle = Bundle(directory / "out")
        cells = {row["cell"]: row[column] for row in self.bundle.rows("cells")}
        self.trials = {cells[row["cell"]]: row for row in self.bundle.rows("trials")}

    def status(self, name: str) -> tuple[str, str | None]:
        return self.trials[name]["status"], self.trials[name]["reason"]

    def bytes_on(self, name: str, path: str) -> int:
        trial = self.trials[name]["trial"]
        rows = [row for row in self.bundle.rows("attestations") if row["trial"] == trial]
        return sum(row["bytes"] for row in rows if row["path"] == path)

    def notes(self, name: str) -> str:
        trial = self.trials[name]["trial"]
        return " ".join(
            row["granted"] for row in self.bundle.rows("endpoints") if row["trial"] == trial
        )


def leftovers() -> list[str]:
    """Return the names of iceoryx's files outside of every namespace."""
    return [
        name
        for place in ("/dev/shm", "/tmp")
        for name in os.listdir(place)
        if name.startswith("iox1_")
    ]


def test_the_path_is_attested_and_a_blob_topic_that_goes_around_it_is_void(tmp_path):
    before = leftovers()
    run_suite(tmp_path, LARGE)
    trials = Trials(tmp_path, "arm")
    for arm in ("shared", "loaned", "by mode"):
        assert trials.status(arm) == ("done", None)
        payload = trials.bytes_on(arm, "shm")
        assert payload > 10 << 20
        assert trials.bytes_on(arm, "udp") < payload / 100
    status, reason = trials.status("blob")
    assert status == "void" and reason is not None
    assert "path: asked for shm" in reason and "udp on lo" in reason
    assert "blob topics never use PSMX" in reason
    assert trials.bytes_on("blob", "shm") == 0
    # No chunk is large enough: no message leaves its writer, which is what this arm does.
    assert trials.status("small pool") == ("done", None)
    assert not trials.bundle.rows("received", trials.trials["small pool"]["trial"])
    assert leftovers() == before


def test_a_history_that_switches_shared_memory_off_voids_the_trial_and_keep_all_does_not(tmp_path):
    run_suite(tmp_path, HISTORIES)
    trials = Trials(tmp_path, "workload")
    status, reason = trials.status("latched")
    assert status == "void" and reason is not None
    assert "path: asked for shm" in reason and "transient_local with a depth of 20" in reason
    # Cyclone DDS 0.10 leaves shared memory for keep-all. 11.0.1 stays, and says what that costs.
    assert trials.status("all") == ("done", None)
    assert trials.bytes_on("all", "shm") > 0
    assert "loses what comes beyond" in trials.notes("all")


def test_a_users_own_profile_names_the_daemon_that_it_needs(tmp_path, worker, capsys):
    (tmp_path / "mine.xml").write_text(worker.profile("shm")["text"])
    assert run_suite(tmp_path, OWN.replace("roudi", "rouid")) == 2
    assert "did you mean `roudi`?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    run_suite(tmp_path, OWN)
    trials = Trials(tmp_path, "arm")
    assert trials.status("own") == ("done", None)
    assert trials.bytes_on("own", "shm") > 10 << 20


def descendants(pid: int) -> Iterator[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it ended since it was listed
        return
    for child in children:
        yield int(child)
        yield from descendants(int(child))


def test_roudi_and_what_it_made_go_with_a_killed_campaign(tmp_path):
    before = leftovers()
    long = ARMS.replace("steady_s: 0.4", "steady_s: 30") + SHARED
    (tmp_path / "shm.yaml").write_text(
        long + "workloads: [{name: large, message: Array1m, rate_hz: 50}]\n"
    )
    command = [*COMMAND, "run", "shm.yaml", "--out", "out"]
    campaign = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        family: list[int] = []
        deadline = time.monotonic() + 60
        while not any(b"roudi" in _words(pid) for pid in family) or len(family) < 5:
            assert time.monotonic() < deadline and campaign.poll() is None, "no RouDi was started"
            time.sleep(0.05)
            family = list(descendants(campaign.pid))
        time.sleep(1.5)  # into the trial
    finally:
        campaign.send_signal(signal.SIGKILL)
        campaign.wait()
    until(lambda: not any(map(_words, family)), 20, lambda: [*map(_words, family)])
    assert leftovers() == before
    assert json.loads((tmp_path / "out" / "campaign.json").read_text())


def _words(pid: int) -> bytes:
    """Its command line; empty when it is gone, or dead and not yet collected."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
