"""A user's own profile file through the whole of `rmwbench run`: it runs as it stands on the robot,
or is refused before anything is written."""

from pathlib import Path

import pytest

from rmwbench.bundle import Bundle
from rmwbench.lab.middleware import find_workers
from rmwbench.suite.arm import bare
from tests.campaign.own_file_cells import FILES, TWO_HOSTS, middleware_of, suite
from tests.lab import tools
from tests.support.command import run_suite

pytestmark = [pytest.mark.traffic, pytest.mark.own_host]


def matched(directory: Path) -> set[str]:
    """The processes that found each other: also of a trial that the machine voids later."""
    events = Bundle(directory / "out").rows("events")
    return {row["process"] for row in events if row["event"] == "matched"}


def needed(name: str) -> None:
    tools.worker(bare(middleware_of(name)))


@pytest.fixture(autouse=True)
def _whatever_the_machine_does(monkeypatch):
    monkeypatch.setenv("RMWBENCH_SPOILT", "keep")


@pytest.mark.parametrize(
    ("name", "hosts"),
    [
        ("whitelist-address-fastdds.xml", ""),
        ("ipv6-peers-fastdds.xml", ""),
        ("ipv6-peers-fastdds.xml", TWO_HOSTS),
        ("tcp-peer-fastdds.xml", TWO_HOSTS),
        ("named-interface-cyclonedds.xml", ""),
        ("named-interface-cyclonedds.xml", TWO_HOSTS),
        ("session-of-a-router-zenoh.json5", ""),
    ],
)
def test_it_runs_as_it_stands_on_the_robot(tmp_path, name, hosts):
    needed(name)
    run_suite(tmp_path, suite(name, hosts=hosts))
    assert matched(tmp_path) == {"talker", "listener"}


def test_two_hosts_with_a_file_each(tmp_path):
    """Hosts with one machine id are one machine for Fast DDS 3, which then looks for the other's
    whitelisted address in its own loopback."""
    needed("whitelist-address-fastdds.xml")
    other = FILES / "other-address-fastdds.xml"
    more = f", processes: {{listener: {{profile: {other}}}}}"
    run_suite(tmp_path, suite("whitelist-address-fastdds.xml", hosts=TWO_HOSTS, more=more))
    assert matched(tmp_path) == {"talker", "listener"}


def test_a_router_is_started_from_its_own_file(tmp_path):
    """It listens where that says, which is where the session's file connects to."""
    needed("session-of-a-router-zenoh.json5")
    more = f", daemon: {{profile: {FILES / 'router-zenoh.json5'}}}"
    run_suite(tmp_path, suite("session-of-a-router-zenoh.json5", more=more))
    assert matched(tmp_path) == {"talker", "listener"}


@pytest.mark.parametrize("hosts", ["", TWO_HOSTS])
def test_a_discovery_server_serves_where_the_file_says(tmp_path, hosts):
    name, middleware = "super-client-fastdds.xml", "fastdds-2.9"
    if middleware not in find_workers([middleware]):
        pytest.skip("this system's Fast DDS is not 2.9, whose file this is")
    run_suite(tmp_path, suite(name, middleware=middleware, hosts=hosts))
    assert matched(tmp_path) == {"talker", "listener"}


def test_what_it_writes_is_kept_with_the_trial_and_not_on_the_machine(tmp_path):
    needed("trace-file-cyclonedds.xml")
    run_suite(tmp_path, suite("trace-file-cyclonedds.xml"))
    names = [row["name"] for row in Bundle(tmp_path / "out").rows("files")]
    assert "cdds.log" in names
    assert not Path("/var/log/robot").exists()


@pytest.mark.parametrize(
    ("name", "hosts", "says"),
    [
        ("minimum-buffer-cyclonedds.xml", "", "sysctl -w net.core.rmem_max=10485760"),
        ("tcp-listen-fastdds.xml", TWO_HOSTS, "initialPeersList"),
        ("router-zenoh.json5", "", "`daemon:`"),
        ("whitelist-address-fastdds.xml", TWO_HOSTS, "192.168.50.7"),
        ("not-default-fastdds.xml", "", "is_default_profile"),
        ("misplaced-element-fastdds.xml", "", "initialPeersList"),
        ("misplaced-element-cyclonedds.xml", "", "MaxMessageSize"),
        ("old-shared-memory-cyclonedds.xml", "", "cyclonedds-0.10"),
        ("broken-cyclonedds.xml", "", "profile broken"),
    ],
)
def test_it_is_refused_before_any_trial_with_what_mends_it(tmp_path, capfd, name, hosts, says):
    needed(name)
    assert run_suite(tmp_path, suite(name, hosts=hosts)) == 2
    assert says in capfd.readouterr().err
    assert not (tmp_path / "out").exists()
