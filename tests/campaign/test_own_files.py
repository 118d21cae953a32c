"""What hosts are given for a user's own profile file, and what is refused before the run."""

from types import SimpleNamespace

import pytest

from rmwbench.campaign.plan.file_faults import FileFaultKind, faults, renaming_fix
from rmwbench.campaign.plan.profile import daemons, file_domain, file_flags, needed_daemons, setups
from rmwbench.campaign.plan.socket_buffers import Kernel, Kernels
from rmwbench.campaign.trial.changes import Changes
from rmwbench.campaign.trial.outcome import TrialWindow
from rmwbench.lab.host import HostKind
from rmwbench.lab.host.hosts import NAMESPACES, SHARED
from rmwbench.lab.middleware import Worker
from rmwbench.lab.profile_file.file_needs import FileNeeds
from rmwbench.lab.profile_file.host_setup import HostSetup, written_files
from rmwbench.lab.profile_file.readers import file_needs
from tests.campaign.cells import outcome
from tests.campaign.own_file_cells import TWO_HOSTS, cell

LIMITS = Kernels(Kernel({"net.core.rmem_max": 4 << 20, "net.core.wmem_max": 4 << 20}))
DAEMONS = {"zenoh": ["router"], "fastdds": ["server"], "cyclonedds": ["roudi"]}


def worker(middleware: str) -> Worker:
    named = [name for family, names in DAEMONS.items() if family in middleware for name in names]
    described = {"profiles": [{"name": "x", "format": "xml", "text": "", "daemons": named}]}
    return Worker(middleware, None, described, None)


def kinds(made, kind=NAMESPACES) -> list[FileFaultKind]:
    workers = {name: worker(name) for name in made.middlewares}
    return [fault.kind for fault in faults(made, workers, kind, LIMITS)]


def given(made) -> dict[str, tuple]:
    return {host: one.addresses for host, one in setups(made).items()}


def test_a_host_alone_has_every_address_of_its_file():
    made = cell("whitelist-address-fastdds.xml")
    assert kinds(made) == []
    assert given(made) == {"local": ("192.168.50.7/24", "192.168.50.8/24")}
    assert given(cell("ipv6-peers-fastdds.xml")) == {"local": ("fd00:50::1/64", "fd00:50::2/64")}


def test_of_two_hosts_each_has_one_of_them_and_the_first_a_free_one_where_there_is_one():
    six = cell("ipv6-peers-fastdds.xml", hosts=TWO_HOSTS)
    assert kinds(six) == []
    assert given(six) == {"robot": ("fd00:50::1/64",), "base": ("fd00:50::2/64",)}
    named = cell("named-interface-cyclonedds.xml", hosts=TWO_HOSTS)
    assert given(named) == {"robot": ("192.168.50.1/24",), "base": ("192.168.50.8/24",)}
    assert {one.device for one in setups(named).values()} == {"wlan0"}


def test_an_address_that_a_file_binds_is_one_hosts_unless_the_other_has_a_file_of_its_own():
    assert kinds(cell("whitelist-address-fastdds.xml", hosts=TWO_HOSTS)) == [FileFaultKind.ADDRESS]
    more = ", processes: {listener: {profile: other-address-fastdds.xml}}"
    both = cell("whitelist-address-fastdds.xml", hosts=TWO_HOSTS, more=more)
    assert kinds(both) == []
    assert given(both) == {"robot": ("192.168.50.7/24",), "base": ("192.168.50.8/24",)}


def test_an_interface_has_the_files_name_and_the_trial_its_domain():
    made = cell("named-interface-cyclonedds.xml")
    (setup,) = setups(made).values()
    assert (file_domain(made), setup.interfaces) == (42, ("wlan0",))
    assert setup.steps() == ["pair wlan0", "address wlan0 192.168.50.8/24"]
    assert len(file_flags(made.sides["talker"])) == 1
    assert file_domain(cell("trace-file-cyclonedds.xml")) is None


def test_a_daemon_that_a_file_connects_to_is_started_where_it_looks_for_it():
    session, server = cell("session-of-a-router-zenoh.json5"), cell("super-client-fastdds.xml")
    assert daemons(session.sides["talker"], worker("zenoh")) == ["router"]
    assert kinds(session) == kinds(server) == []
    (daemon,) = needed_daemons(server, {"fastdds": worker("fastdds")}, 1, 0)
    assert (daemon.name, daemon.environment) == ("server", {"RMWBENCH_ADDRESS": "192.168.50.9"})
    assert given(server) == {"local": ("192.168.50.9/24",)}
    two = cell("super-client-fastdds.xml", hosts=TWO_HOSTS)
    assert given(two) == {"robot": ("192.168.50.9/24",), "base": ("192.168.50.1/24",)}
    apart = cell("session-of-a-router-zenoh.json5", hosts=TWO_HOSTS)
    assert set(kinds(apart)) == {FileFaultKind.NOBODY_LISTENS}


def test_a_killed_daemon_returns_to_the_address_at_which_its_clients_look_for_it():
    made = cell("super-client-fastdds.xml")
    started = []
    processes = SimpleNamespace(
        hosts=SimpleNamespace(first=SimpleNamespace(domain_id=None)),
        spawn_daemon=lambda *arguments: started.append(arguments),
    )
    window = TrialWindow(1000, 2000, 12000)
    changes = Changes(outcome(made), processes, {"fastdds": worker("fastdds")}, window)
    changes._dead = ["server"]
    changes._return_daemons()
    ((name, _, environment, label, host),) = started
    assert (name, label, host) == ("server", "server again", "local")
    assert environment["RMWBENCH_ADDRESS"] == "192.168.50.9"


def test_a_servers_ipv6_address_is_written_in_brackets():
    """Else its port looks like a part of the address."""
    text = '{mode: "client", connect: {endpoints: ["tcp/[fd00:50::9]:7447"]}}'
    (server,) = file_needs("zenoh", "json5", text).servers
    assert str(server) == "[fd00:50::9]:7447"


def test_a_routers_file_is_what_daemon_takes():
    assert set(kinds(cell("router-zenoh.json5"))) >= {FileFaultKind.A_DAEMONS}
    more = ", daemon: {profile: router-zenoh.json5}"
    made = cell("session-of-a-router-zenoh.json5", more=more)
    assert kinds(made) == []
    (daemon,) = needed_daemons(made, {"zenoh": worker("zenoh")}, 1, 0)
    assert daemon.fields["profile"]["name"] == "router-zenoh"
    wrong = cell(
        "session-of-a-router-zenoh.json5",
        more=", daemon: {profile: session-of-a-router-zenoh.json5}",
    )
    assert set(kinds(wrong)) == {FileFaultKind.NO_DAEMON}


def test_tcp_needs_a_peer_and_two_hosts():
    assert FileFaultKind.APART in kinds(cell("tcp-listen-fastdds.xml", hosts=TWO_HOSTS))
    assert kinds(cell("tcp-peer-fastdds.xml")) == [FileFaultKind.PORT]
    assert kinds(cell("tcp-peer-fastdds.xml", hosts=TWO_HOSTS)) == []


def test_a_minimum_that_the_kernel_does_not_grant_has_the_command():
    (one, _) = faults(
        cell("minimum-buffer-cyclonedds.xml"),
        {"cyclonedds": worker("cyclonedds")},
        NAMESPACES,
        LIMITS,
    )
    assert (one.kind, one.fix) == (FileFaultKind.KERNEL, f"sysctl -w net.core.rmem_max={10 << 20}")


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        (
            "<CycloneDDS><Domain><Unsupported><SocketReceiveBufferSize min='2GB'/></Unsupported>"
            "</Domain></CycloneDDS>",
            FileNeeds(receive_buffer_bytes=2 << 30),
        ),
        (
            "<CycloneDDS><Domain><Internal><MinimumSocketReceiveBufferSize>2GB"
            "</MinimumSocketReceiveBufferSize></Internal></Domain></CycloneDDS>",
            FileNeeds(receive_buffer_bytes=2 << 30),
        ),
        (
            "<CycloneDDS><Domain><General><Interfaces><PubSubMessageExchange name='iox'/>"
            "</Interfaces></General></Domain></CycloneDDS>",
            FileNeeds(daemons=("roudi",)),
        ),
        ("<CycloneDDS><DDSI2E><Id>17</Id></DDSI2E></CycloneDDS>", FileNeeds(domain_id=17)),
        ("<Tracing><OutputFile>/x/y</OutputFile></Tracing>", FileNeeds(writes=("/x/y",))),
    ],
)
def test_what_cyclone_reads_under_an_older_name_is_read(text, needs):
    assert file_needs("cyclonedds", "xml", text) == needs


def test_one_participant_is_no_plural(tmp_path):
    path = tmp_path / "alone-cyclonedds.xml"
    index = "<Discovery><ParticipantIndex>1</ParticipantIndex></Discovery>"
    path.write_text(f"<CycloneDDS><Domain>{index}</Domain></CycloneDDS>")
    made = cell(str(path))
    (fault,) = faults(made, {"cyclonedds": worker("cyclonedds")}, NAMESPACES, LIMITS)
    assert "it allows 1 participant on a host" in fault.problem


def test_a_folder_that_it_writes_to_is_made_in_memory_and_never_over_what_trials_need(tmp_path):
    made = cell("trace-file-cyclonedds.xml")
    (setup,) = setups(made).values()
    assert setup.steps() == ["folder 8 /var/log/robot"] and kinds(made) == []
    mine = tmp_path / "mine.xml"
    output = "<Tracing><OutputFile>/usr/mine/x</OutputFile></Tracing>"
    mine.write_text(f"<CycloneDDS><Domain>{output}</Domain></CycloneDDS>")
    more = f", processes: {{talker|listener: {{profile: {mine}}}}}"
    assert set(kinds(cell("trace-file-cyclonedds.xml", more=more))) == {FileFaultKind.FOLDER}


def test_two_folders_below_one_are_made_in_one_file_system():
    """The mount for the second would hide the first."""
    writes = ("/var/log/robot logs/a", "/var/log/pcap/b", "/tmp/there/c")
    assert HostSetup(writes=writes).steps() == [
        "folder 0 /tmp/there",
        "folder 8 /var/log/robot logs",
        "folder 0 /var/log/pcap",
    ]


def test_a_file_is_found_by_its_name_as_it_is_written(tmp_path):
    for name in ("trace[1].7.log", "trace1.7.log"):
        (tmp_path / name).write_text(name)
    setup = HostSetup(writes=("/var/log/trace[1].${PID}.log",))
    host = SimpleNamespace(outside_path=lambda folder: tmp_path)
    assert written_files(host, setup, 100) == {"trace[1].7.log": b"trace[1].7.log"}


def test_what_a_shared_host_has_not_is_told_before():
    shared = HostKind(SHARED, "a test")
    assert kinds(cell("named-interface-cyclonedds.xml"), shared) == [FileFaultKind.SHARED_HOST]
    assert kinds(cell("minimum-buffer-cyclonedds.xml"), shared)[0] is FileFaultKind.KERNEL


def test_a_folder_alone_is_named_too(tmp_path):
    path = tmp_path / "mine-iceoryx2.toml"
    path.write_text('[global]\nroot-path = "/srv/iceoryx2"\n')
    made = cell(str(path))
    shared = HostKind(SHARED, "a test")
    (fault,) = faults(made, {"iceoryx2": worker("iceoryx2")}, shared, LIMITS)
    assert fault.problem.startswith("it needs /srv/iceoryx2, and the shared host has")


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("old-shared-memory-cyclonedds.xml", "cyclonedds-0.10"),
        ("super-client-fastdds.xml", "fastdds-2.9"),
    ],
)
def test_a_file_of_another_version_says_who_reads_it(name, reader):
    fix = renaming_fix(cell(name).sides["talker"], "")
    assert fix is not None and f"`middleware: {reader}`" in fix
    assert renaming_fix(cell(name, middleware=reader).sides["talker"], "") is None


def test_files_that_are_broken_or_another_middlewares():
    """Cyclone DDS takes what comes before the mistake, without a word."""
    assert set(kinds(cell("broken-cyclonedds.xml"))) == {FileFaultKind.BROKEN}
    of_another = cell("trace-file-cyclonedds.xml", middleware="fastdds")
    assert set(kinds(of_another)) == {FileFaultKind.OF_ANOTHER}
