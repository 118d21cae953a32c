"""`rmwbench doctor --live`: each rule on processes that really are what it complains of, in
namespaces of their own, and silence about those that are not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rmwbench.robot.live.live_model import (
    LiveCode,
    LiveProcess,
    LiveSystem,
    SharedFile,
    Socket,
)
from rmwbench.robot.live.live_processes import loaded_rmw
from rmwbench.robot.live.live_rules import endpoints, findings

ROOT = os.geteuid() == 0
NAMESPACES = ["unshare", "--mount", "--net", "--ipc", "--pid", "--fork", "--mount-proc"]
FASTDDS = ["librmw_fastrtps_cpp.so", "librmw_fastrtps_shared_cpp.so", "librmw_dds_common.so"]
CYCLONEDDS = ["librmw_cyclonedds_cpp.so"]
ZENOH = ["librmw_zenoh_cpp.so"]


def look(*nodes, options=()):
    """(exit code, document)."""
    apart = [*NAMESPACES, *([] if ROOT else ["--map-root-user"])]
    if shutil.which("ip") is None or subprocess.run([*apart, "true"]).returncode:
        pytest.skip("no namespaces here")
    own = 'mount -t tmpfs shm /dev/shm; exec "$@"'
    command = [*apart, "sh", "-ec", own, "sh", sys.executable, "-m", "tests.robot.live_world"]
    done = subprocess.run(
        [*command, json.dumps(nodes), *options],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
        env={name: value for name, value in os.environ.items() if not name.startswith("ROS_")},
    )
    assert done.returncode in (0, 1, 2) and not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def codes(document):
    return [finding["code"] for finding in document["findings"]]


def node(libraries, *, domain=0, index=0, env=None, **more):
    begin = 7400 + 250 * domain
    udp = [begin, begin + 10 + 2 * index, begin + 11 + 2 * index]
    return {"libraries": libraries, "udp": udp, "env": env or {}, **more}


def test_a_healthy_system_is_not_complained_of():
    """Two nodes of a domain, and others with a router in two domains more."""
    code, document = look(
        node(FASTDDS, shm={"fastrtps_port7410": 0o666}),
        node(FASTDDS, index=1, shm={"fastrtps_port7412": 0o666}, env={"ROS_DOMAIN_ID": "0"}),
        {"libraries": ZENOH, "listens": [7447], "env": {"ROS_DOMAIN_ID": "5"}},
        {"libraries": ZENOH, "connects": [7447], "env": {"ROS_DOMAIN_ID": "5"}},
        {"libraries": ["libunknown.so"], "udp": [9000], "env": {"ROS_LOCALHOST_ONLY": "1"}},
    )
    assert (code, codes(document), document["unread"]) == (0, [], 0)
    domains_of_rmw = [(process["rmw"], process["domains"]) for process in document["processes"]]
    assert sorted(domains_of_rmw) == [
        ("rmw_fastrtps_cpp", [0]),
        ("rmw_fastrtps_cpp", [0]),
        ("rmw_zenoh_cpp", [5]),
        ("rmw_zenoh_cpp", [5]),
    ]


def test_two_rmws_in_one_domain():
    nodes = [node(FASTDDS), {"libraries": ZENOH, "listens": [7447]}, node(CYCLONEDDS, domain=3)]
    code, document = look(*nodes)
    assert (code, codes(document)) == (1, [LiveCode.TWO_RMWS])
    finding = document["findings"][0]
    assert finding["level"] == "red" and len(finding["processes"]) == 2
    assert look(*nodes, options=["--domain", "3"])[0] == 0
    code, document = look(node(FASTDDS), node(CYCLONEDDS, index=1))
    assert (codes(document), document["findings"][0]["level"]) == ([LiveCode.TWO_RMWS], "yellow")


def test_two_rmws_of_two_networks_are_not_one_graph():
    assert look(node(FASTDDS), node(CYCLONEDDS, own_net=True))[0] == 0


def test_shared_memory_of_two_containers_on_one_network():
    writer = node(FASTDDS, shm={"fastrtps_port7410": 0o666})
    other = node(FASTDDS, index=1, shm={"fastrtps_port7412": 0o666})
    code, document = look(writer, {**other, "own_shm": True})
    assert (code, codes(document)) == (1, [LiveCode.SHM_OTHER_PLACE])
    # with a network of its own it is another host, to which nothing is sent through memory
    assert look(writer, {**other, "own_shm": True, "own_net": True})[0] == 0


@pytest.mark.skipif(not ROOT, reason="only root has two users here")
@pytest.mark.parametrize(("mode", "expected"), [(0o644, [LiveCode.SHM_OTHER_USER]), (0o666, [])])
def test_shared_memory_of_two_users(mode, expected):
    nodes = [
        node(FASTDDS, shm={"fastrtps_port7410": mode}),
        node(FASTDDS, index=1, shm={"fastrtps_port7412": 0o666}, uid=12345),
    ]
    document = look(*nodes)[1]
    assert codes(document) == expected
    assert all("7410" in finding["evidence"][0] for finding in document["findings"])


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"ZENOH_CONFIG_OVERRIDE": 'connect/endpoints=["tcp/localhost:7448"]'},
        {"ZENOH_CONFIG_OVERRIDE": 'connect/endpoints=["tcp/10.1.2.3:7447"]'},
    ],
)
def test_no_router(env):
    code, document = look({"libraries": ZENOH, "env": env})
    assert (code, codes(document)) == (1, [LiveCode.NO_ROUTER])


def test_a_router_of_another_network_is_not_here():
    _, document = look(
        {"libraries": ["libzenohc.so"], "listens": [7447], "own_net": True},
        {"libraries": ZENOH},
    )
    assert codes(document) == [LiveCode.NO_ROUTER]
    assert len(document["findings"][0]["evidence"]) == 2


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"ZENOH_CONFIG_OVERRIDE": "connect/endpoints=[]"}, []),
        ({"ZENOH_CONFIG_OVERRIDE": 'connect/endpoints=["tcp/a:1","tls/[::1]:2"]'}, ["tcp/a:1", "tls/[::1]:2"]),
        ({"ZENOH_CONFIG_OVERRIDE": 'connect/endpoints=["tcp/a:1'}, ["tcp/localhost:7447"]),
        ({"ZENOH_CONFIG_OVERRIDE": "scouting/multicast/enabled=true"}, ["tcp/localhost:7447"]),
    ],
)  # fmt: skip
def test_where_a_session_is_told_to_connect(env, expected):
    assert endpoints(process(env)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{ // connect: {endpoints: ["tcp/no:1"]}\n mode: "peer",\n connect: { endpoints: {\n'
         ' peer: ["tcp/robot:7450#iface=eth0"], /* "tcp/no:2" */ router: ["tcp/no:3"] } },\n'
         ' listen: { endpoints: ["tcp/[::]:0"] } }', ["tcp/robot:7450"]),
        ("{ connect: { endpoints: [] } }", []),
        ('{ mode: "peer" }', []),
        ("{ connect", None),
        (None, None),
    ],
)  # fmt: skip
def test_where_a_configuration_file_tells_it_to_connect(text, expected):
    configured = process({}, configurations={"ZENOH_SESSION_CONFIG_URI": text})
    assert endpoints(configured) == expected


def test_a_variable_decides_over_a_file_that_cannot_be_read():
    env = {"ZENOH_CONFIG_OVERRIDE": 'connect/endpoints=["tcp/a:1"]'}
    assert endpoints(process(env, configurations={"ZENOH_SESSION_CONFIG_URI": None})) == ["tcp/a:1"]


def test_files_are_those_of_the_process(tmp_path):
    """Its relative paths begin at its working directory. A file that cannot be read is no fault."""
    (tmp_path / "session.json5").write_text('{connect: {endpoints: ["tcp/localhost:7448"]}}')
    there = {"libraries": ZENOH, "listens": [7448], "cwd": str(tmp_path)}
    code, document = look({**there, "env": {"ZENOH_SESSION_CONFIG_URI": "session.json5"}})
    assert (code, codes(document)) == (0, [])
    code, document = look({**there, "env": {"ZENOH_SESSION_CONFIG_URI": "other.json5"}})
    assert (code, codes(document)) == (2, [LiveCode.NO_ROUTER])
    assert document["findings"][0]["level"] == "unknown"


def process(env, **more):
    fields = {"network": 1, "ipc": 1, "shm": None, "udp": (), "tcp": (), "files": ()}
    fields |= {"pid": 7, "name": "node", "uid": 0, "rmw": "rmw_zenoh_cpp", "configurations": {}}
    return LiveProcess(environment=env, **{**fields, **more})


def found(*processes, sysctls=None):
    udp = tuple(socket for process in processes for socket in process.udp)
    tcp = tuple(socket for process in processes for socket in process.tcp)
    system = LiveSystem(
        processes=processes, udp={1: udp}, tcp={1: tcp}, unread=0, sysctls=sysctls or {}
    )
    return findings(system)


@pytest.mark.parametrize(("taken", "level"), [(29, None), (31, "yellow"), (33, "red")])
def test_participant_indices_that_are_used_up(taken, level):
    nodes = [node(CYCLONEDDS), {"libraries": CYCLONEDDS, "udp": [7400]}]
    nodes[1]["udp"] += [7410 + 2 * index for index in range(1, taken)]
    document = look(*nodes)[1]
    assert [(finding["code"], finding["level"]) for finding in document["findings"]] == (
        [] if level is None else [(LiveCode.PARTICIPANT_INDEX, level)]
    )


def test_more_indices_where_the_configuration_says_so():
    env = {"CYCLONEDDS_URI": "<MaxAutoParticipantIndex>119</MaxAutoParticipantIndex>"}
    udp = [7400, *(7410 + 2 * index for index in range(33))]
    assert look({"libraries": CYCLONEDDS, "udp": udp, "env": env})[0] == 0


@pytest.mark.parametrize(
    ("uri", "code"), [("file://{}", 0), ("<Tracing/>,{}", 0), ("{}", 0), ("other.xml", 2)]
)
def test_more_indices_where_a_configuration_file_says_so(tmp_path, uri, code):
    path = tmp_path / "cyclonedds.xml"
    path.write_text(
        "<CycloneDDS><Domain><Discovery><MaxAutoParticipantIndex>119</MaxAutoParticipantIndex>"
        "<!-- <MaxAutoParticipantIndex>9</MaxAutoParticipantIndex> --></Discovery></Domain>"
        "</CycloneDDS>"
    )
    udp = [7400, *(7410 + 2 * index for index in range(40))]
    env = {"CYCLONEDDS_URI": uri.format(path)}
    assert look({"libraries": CYCLONEDDS, "udp": udp, "env": env})[0] == code


def test_datagrams_that_a_full_socket_dropped():
    code, document = look(node(FASTDDS, buffer=16_384, flooded=50))
    assert (code, codes(document)) == (1, [LiveCode.DATAGRAMS_DROPPED])
    finding = document["findings"][0]
    # it asked for less than the kernel grants, so no setting of the kernel helps
    assert finding["permanent"] is None and "32768 bytes" in finding["evidence"][-1]


def test_who_asks_for_no_buffer_has_the_kernels_default():
    finding = look(node(FASTDDS, flooded=400))[1]["findings"][0]
    assert finding["code"] == LiveCode.DATAGRAMS_DROPPED
    assert "rmem_default" in finding["permanent"]


def test_sizes_that_cannot_be_read_are_not_told():
    """A network namespace may lack net.core.rmem_*."""
    full = Socket(inode=1, port=7410, drops=3, buffer_bytes=212_992)
    [finding] = found(process({}, rmw="rmw_fastrtps_cpp", udp=(full,)))
    assert finding.evidence[-1] == (
        "about half of 212992 bytes can hold payload: a message above 104 KiB does not fit"
    )
    assert finding.fix is not None and "sysctl" not in finding.fix


@pytest.mark.parametrize(
    ("libraries", "env", "level"),
    [
        (ZENOH, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, "red"),
        (ZENOH, {"ROS_LOCALHOST_ONLY": "1"}, "red"),
        (ZENOH, {"ROS_LOCALHOST_ONLY": "0", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, None),
        (ZENOH, {"FASTRTPS_DEFAULT_PROFILES_FILE": "/a.xml"}, "yellow"),
        (FASTDDS, {"CYCLONEDDS_URI": "file:///a.xml"}, "yellow"),
        (CYCLONEDDS, {"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp"}, "red"),
        (FASTDDS, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, None),
        (CYCLONEDDS, {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}, None),
    ],
)
def test_variables_that_an_rmw_ignores(libraries, env, level):
    here = {"listens": [7447]} if libraries is ZENOH else {"udp": [7400, 7410]}
    document = look({"libraries": libraries, "env": env, **here})[1]
    assert [(finding["code"], finding["level"]) for finding in document["findings"]] == (
        [] if level is None else [(LiveCode.VARIABLE_IGNORED, level)]
    )


@pytest.mark.parametrize(
    ("env", "level"),
    [
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}, "red"),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT"}, None),
        ({"ROS_LOCALHOST_ONLY": "1"}, "yellow"),
        ({"ROS_LOCALHOST_ONLY": "0"}, None),
    ],
)
def test_discovery_ranges_that_differ(env, level):
    document = look(node(FASTDDS), node(FASTDDS, index=1, env=env))[1]
    assert [(finding["code"], finding["level"]) for finding in document["findings"]] == (
        [] if level is None else [(LiveCode.DISCOVERY_RANGE, level)]
    )


def test_one_range_by_two_variables_is_no_difference():
    by_variable = ({"ROS_LOCALHOST_ONLY": "1"}, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"})
    assert not found(*(process(env, rmw="rmw_fastrtps_cpp") for env in by_variable))


def test_the_fix_of_two_rmws_is_for_those_that_change():
    """Also where as many processes have one as the other, or one has each of two others."""
    rmws = ["rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"]
    [finding] = found(*(process({}, rmw=rmw, name=rmw) for rmw in rmws))
    assert "RMW_IMPLEMENTATION=rmw_fastrtps_cpp where rmw_cyclonedds_cpp (7)" in finding.fix
    rmws = [rmws[0], rmws[0], rmws[1], "rmw_connextdds"]
    [finding] = found(*(process({}, rmw=rmw, name=rmw) for rmw in rmws))
    assert "where rmw_cyclonedds_cpp (7), rmw_connextdds (7) are started" in finding.fix


def test_shared_memory_of_many_is_one_finding_for_two_places():
    file = SharedFile(name="fastrtps_port7410", middleware="Fast DDS", uid=0, mode=0o666)
    here, there = (
        [process({}, rmw=None, pid=pid + 1, shm=(shm, 1), files=(file,)) for pid in range(3)]
        for shm in (1, 2)
    )
    [finding] = found(*here, *there)
    assert (finding.code, len(finding.processes)) == (LiveCode.SHM_OTHER_PLACE, 6)


def test_the_loaded_rmw_is_none_of_the_libraries_around_it():
    """Libraries that are loaded later are mapped below, and stand first."""
    around = ("dds_common__rosidl_typesupport_cpp", "dds_common", "fastrtps_shared_cpp")
    names = ("implementation", *around, "fastrtps_cpp")
    lines = [
        f"7f0{at}000-7f0{at}fff r-xp 0 08:01 7 /opt/ros/jazzy/lib/librmw_{name}.so\n"
        for at, name in enumerate(names)
    ]
    assert loaded_rmw("".join(lines)) == "rmw_fastrtps_cpp"
    assert loaded_rmw("".join(lines[:-1])) is None


@pytest.mark.parametrize(
    ("env", "ports", "domains"),
    [
        ({}, (7400, 40400), (0,)),  # 40400 is the discovery port of domain 132
        ({"ROS_DOMAIN_ID": "5"}, (40400,), (5,)),
        ({"ROS_DOMAIN_ID": "132"}, (40400,), (132,)),
        ({"ROS_DOMAIN_ID": "5"}, (7650,), (1,)),  # its own file may state a domain
    ],
)
def test_a_port_that_the_kernel_chose_is_not_a_domain(env, ports, domains):
    sockets = tuple(Socket(inode=number, port=port) for number, port in enumerate(ports))
    assert process(env, udp=sockets).domains == domains


def test_commands_to_copy_quote_the_names_of_others():
    odd = "rmw_a; touch ran"
    processes = [process({}, rmw=rmw) for rmw in (odd, odd, "rmw_connextdds")]
    [finding] = found(*processes)
    assert f"RMW_IMPLEMENTATION='{odd}' where" in finding.fix
    names = ((1000, "fastrtps_$(touch ran)", 0o644), (1001, "fastrtps_port7412", 0o666))
    [finding] = found(
        *(
            process({}, rmw=None, uid=uid, shm=(1, 1), files=(shared_file(name, uid, mode),))
            for uid, name, mode in names
        )
    )
    assert finding.proof == "ls -ln '/proc/7/root/dev/shm/fastrtps_$(touch ran)'"


def shared_file(name, uid, mode):
    return SharedFile(name=name, middleware="Fast DDS", uid=uid, mode=mode)


def test_options_that_contradict_each_other():
    from tests.support.command import rmwbench

    for options in (("--live", "--fix"), ("--domain", "1")):
        assert rmwbench("doctor", *options).returncode == 2
