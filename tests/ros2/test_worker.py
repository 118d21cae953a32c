"""The worker on rclcpp against the protocol, under each RMW of the sourced ROS 2: types, modes,
refusals, read-back."""

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rmwbench.lab.host import Host, Spawned
from rmwbench.lab.process import records
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed
from rmwbench.suite.workload.message_type import message_type, message_type_names
from tests.ros2 import sourced
from tests.support.program import script

pytestmark = [sourced.needed, pytest.mark.timing]
QOS = {"reliability": "reliable", "durability": "volatile", "history": "keep_last", "depth": 5}


class Opened:
    """One worker, open, in a host of its own; its daemons serve."""

    def __init__(
        self, rmw: str, embedded: str = "untouched", sections=(), first=lambda host: None, **fields
    ):
        self.worker, self.first = sourced.worker(rmw), first
        embedded = self.worker.profile(embedded)
        self.open = {
            "trial_nonce": "7",
            "domain_id": 0,
            "profile": embedded,
            "options": {},
            "modes": {},
        } | fields
        self.daemons = embedded.get("daemons", [])
        self.sections = sections

    def __enter__(self):
        self.host = Host("ros2")
        self.host.__enter__()
        self.host.wait_ready()
        self.first(self.host)
        self.processes = TrialProcesses(self.host)
        self.processes.__enter__()
        for name in self.daemons:
            self.processes.spawn_daemon(name, self.worker.executable, self.worker.environment)
            self.processes.wait_hello(10.0)
            self.processes.ask_daemon(name, "open", self.open, 30.0)
        self.records = records.make([records.SectionPlan(*section) for section in self.sections], 7)
        self.process = self.processes.spawn(
            "p", self.worker.executable, self.records, environment=self.worker.environment
        )
        self.processes.wait_hello(10.0)
        return self

    def __exit__(self, *error):
        for name in self.processes.workers:
            self.processes.ask({name: ("exit", {})}, 20.0) if error[0] is None else None
        for name in self.daemons:
            self.processes.ask_daemon(name, "exit", {}, 20.0) if error[0] is None else None
        self.processes.__exit__(*error)
        self.host.__exit__(*error)
        os.close(self.records)

    def beside(self, **changes):
        """A second worker in the same host, open with these changes."""
        mine = records.make([], int(changes.get("trial_nonce", "7")))
        self.processes.spawn("q", self.worker.executable, mine, environment=self.worker.environment)
        os.close(mine)
        self.processes.wait_hello(10.0)
        self.processes.ask({"q": ("open", self.open | changes)}, 30.0)

    def ask(self, cmd, **fields):
        """The worker's `ok`; raises WorkerFailed for an error."""
        return self.processes.ask({"p": (cmd, fields)}, 30.0)["p"]


def endpoint(number, kind, name, **changes):
    asked = {
        "endpoint": number, "kind": kind, "topic": f"t_{name.lower()}".replace("(", "").replace(")", ""),
        "type": message_type(name).wire(), "qos": QOS, "touch": "all", "matches": 1,
    }  # fmt: skip
    asked |= (
        {"arrival": {"kind": "periodic", "period_ns": 10_000_000}}
        if kind == "publisher"
        else {"wait": "block"}
    )
    return asked | changes


def created(opened, *endpoints):
    """What is granted of these endpoints of one node, in a session that this opens."""
    opened.ask("open", **opened.open)
    return opened.ask("create", nodes=[{"name": "n", "endpoints": list(endpoints)}])["endpoints"]


@pytest.mark.parametrize("rmw", sourced.RMWS)
def test_every_type_of_the_suite_is_the_same_bytes_in_ros(rmw):
    """The worker compares each layout with what the RMW's serialiser makes of the type, and refuses
    a difference."""
    sized = ["Bytes(64)", "Bytes(100000)", "Image(64x48)", "LaserScan(1081)", "PointCloud2(1000)"]
    maps = ["OccupancyGrid(30x20)"] if sourced.has_package("nav_msgs") else []
    trees = ["TFMessage(2)", "TFMessage(30)"] if sourced.has_package("tf2_msgs") else []
    names = [*message_type_names(), *sized, *maps, *trees]
    nodes = [
        {
            "name": f"n{2 * i}",
            "endpoints": [
                endpoint(2 * i + 1, "publisher", name),
                endpoint(2 * i + 2, "subscription", name),
            ],
        }
        for i, name in enumerate(names)
    ]
    with Opened(rmw) as opened:
        opened.ask("open", **opened.open)
        opened.ask("create", nodes=nodes)


@pytest.mark.parametrize("rmw", sourced.RMWS)
def test_a_c_plus_plus_node_has_no_python_in_its_memory(rmw):
    """The message packages' libraries for rclpy are C++ targets too: linked along, they bring
    Python's library, or keep the worker from loading where the install leaves Python to the
    interpreter."""
    with Opened(rmw) as opened:
        opened.ask("open", **opened.open)
        mapped = [line.split()[-1] for line in maps_of_the_workers()]
    assert any("librclcpp.so" in path for path in mapped), "no worker was looked at"
    assert not [path for path in mapped if "generator_py" in path or "libpython" in path]


def maps_of_the_workers() -> list[str]:
    """The lines of /proc/PID/maps of every worker on rclcpp that runs here."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "comm").read_text().startswith("rmwbench-rclcp"):
                found += (process / "maps").read_text().splitlines()
    return found


def test_describe_lists_each_rmw_of_the_install_once():
    worker = sourced.worker("rmw_cyclonedds_cpp")
    document = json.loads(
        subprocess.run([worker.executable, "--describe"], capture_output=True, check=True).stdout
    )
    names = [one["middleware"] for one in document["middlewares"]]
    assert "rclcpp/rmw_cyclonedds_cpp" in names and len(names) == len(set(names))
    for one in document["middlewares"]:
        assert one["environment"] == {"RMW_IMPLEMENTATION": one["middleware"].partition("/")[2]}
        assert one["layer"] == "rclcpp" and "untouched" in [
            profile["name"] for profile in one["profiles"]
        ]


def test_describe_has_the_profile_of_fast_dds_3_in_the_words_of_that_version(tmp_path):
    """Of a file with a name that it does not know Fast DDS takes nothing."""
    package = tmp_path / "share" / "fastdds" / "package.xml"
    package.parent.mkdir(parents=True)
    package.write_text("<package><version>3.2.4</version></package>")
    worker = sourced.worker("rmw_fastrtps_cpp")
    prefixes = f"{tmp_path}{os.pathsep}{os.environ['AMENT_PREFIX_PATH']}"
    done = subprocess.run(
        [worker.executable, "--describe"],
        env=os.environ | {"AMENT_PREFIX_PATH": prefixes},
        capture_output=True,
        check=True,
    )
    (text,) = (
        profile["text"]
        for one in json.loads(done.stdout)["middlewares"]
        if one["middleware"] == worker.middleware
        for profile in one["profiles"]
        if profile["name"] == "tuned"
    )
    old = ("heartbeatPeriod", "heartbeatResponseDelay", "nackResponseDelay")
    assert not any(name in text for name in old)
    assert "<heartbeat_period>" in text and "<initialAnnouncements>" in text


@pytest.mark.parametrize("linked", [True, False])
def test_describe_finds_an_iceoryx_that_only_the_shell_and_the_loader_know(tmp_path, linked):
    """colcon gives each package a prefix of its own, and ament's variable has no Cyclone DDS."""
    worker = sourced.worker("rmw_cyclonedds_cpp")
    script(tmp_path / "bin" / "iox-roudi")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libddsc.so.0").write_bytes(
        b"\0libiceoryx_binding_c.so\0" if linked else b"\0libc.so.6\0"
    )
    added = {
        name: f"{tmp_path / part}{os.pathsep}{os.environ.get(name, '')}"
        for name, part in (("PATH", "bin"), ("LD_LIBRARY_PATH", "lib"))
    }
    done = subprocess.run(
        [worker.executable, "--describe"], env=os.environ | added, capture_output=True, check=True
    )
    (told,) = (
        one
        for one in json.loads(done.stdout)["middlewares"]
        if one["middleware"] == worker.middleware
    )
    assert ("shm" in [profile["name"] for profile in told["profiles"]]) == linked
    assert ("shm" in told["modes"]["transport"]) == linked


def test_describe_says_which_daemons_a_level_of_discovery_needs_and_which_every_host_has():
    told = sourced.worker("rmw_zenoh_cpp").description
    assert told["daemons_each_host"] == ["router"]
    assert told["mode_daemons"]["discovery"] == {
        "multicast": [],
        "peers": [],
        "server": ["central_router"],
        "routers": ["router"],
        "client": ["central_router"],
    }
    (tuned,) = [
        profile
        for profile in sourced.worker("rmw_cyclonedds_cpp").description["profiles"]
        if profile["name"] == "tuned"
    ]
    assert "unless" not in tuned["one_host"] and "loopback" in tuned["one_host"]["reason"]


@pytest.mark.parametrize(
    ("history", "modes", "when_full"),
    [
        ("keep_last", {}, "drops_at_writer"),
        ("keep_last", {"congestion": "block"}, "blocks"),
        ("keep_all", {}, "blocks"),
        ("keep_all", {"congestion": "drop"}, "drops_at_writer"),
    ],
)
def test_rmw_zenoh_grants_what_its_congestion_control_does(history, modes, when_full):
    qos = QOS | {"history": history}
    with Opened("rmw_zenoh_cpp", modes=modes) as opened:
        opened.ask("open", **opened.open)
        node = {"name": "n", "endpoints": [endpoint(1, "publisher", "Array1k", qos=qos)]}
        granted = opened.ask("create", nodes=[node])["endpoints"]["1"]
    assert granted["when_full"] == when_full
    assert any("std::allocator" in note for note in granted["notes"])


@pytest.mark.parametrize(
    ("rmw", "history", "when_full"),
    [
        ("rmw_zenoh_cpp", "keep_all", "never_full"),
        ("rmw_zenoh_cpp", "keep_last", "drops_at_reader"),
        ("rmw_cyclonedds_cpp", "keep_all", "blocks"),
    ],
)
def test_a_reader_says_what_a_full_queue_does(rmw, history, when_full):
    asked = endpoint(1, "subscription", "Array1k", qos=QOS | {"history": history})
    with Opened(rmw) as opened:
        assert created(opened, asked)["1"]["when_full"] == when_full


@pytest.mark.parametrize(
    ("rmw", "words"),
    [
        ("rmw_fastrtps_cpp", "at most max_blocking_time, 100 ms"),
        ("rmw_cyclonedds_cpp", "without a limit"),
    ],
)
def test_a_publisher_that_blocks_says_for_how_long(rmw, words):
    asked = endpoint(1, "publisher", "Array1k", qos=QOS | {"history": "keep_all"})
    with Opened(rmw) as opened:
        granted = created(opened, asked)["1"]
    assert granted["when_full"] == "blocks" and any(words in note for note in granted["notes"])


@pytest.mark.parametrize(
    ("callback", "take"),
    [("const_ref", "lent"), ("shared_ptr", "lent"), ("unique_ptr", "typed")],
)
def test_a_loan_that_rclcpp_copies_for_the_callback_is_none(callback, take):
    options = {"loaned_take": True, "callback": callback}
    with Opened("rmw_fastrtps_cpp", options=options) as opened:
        assert created(opened, endpoint(1, "subscription", "Array1k"))["1"]["take"] == take


@pytest.mark.parametrize(
    ("rmw", "publish_mode"), [("rmw_cyclonedds_cpp", "default"), ("rmw_fastrtps_cpp", "async")]
)
def test_events_are_counted_from_zero_and_what_a_queue_dropped_is_absent(rmw, publish_mode):
    """What a reader's middleware tells is what never came, not what the reader's queue dropped."""
    options = {"deadline_ms": 60_000, "liveliness_lease_ms": 60_000}
    options |= {} if publish_mode == "default" else {"publish_mode": publish_mode}
    writer = endpoint(1, "publisher", "Array1k", publish_mode=publish_mode)
    with Opened(rmw, options=options) as opened:
        created(opened, writer, endpoint(2, "subscription", "Array1k"))
        told = opened.ask("collect")["endpoints"]
    assert told["1"]["counters"]["offered_deadline_missed"] == 0
    assert told["2"]["counters"]["requested_deadline_missed"] == 0
    assert told["2"]["counters"]["sample_lost"] == 0 and "reader_drops" not in told["2"]


def test_describe_without_a_ros_2_says_what_to_do():
    worker = sourced.worker("rmw_cyclonedds_cpp")
    bare = {name: value for name, value in os.environ.items() if name != "AMENT_PREFIX_PATH"}
    done = subprocess.run(
        [worker.executable, "--describe"], capture_output=True, text=True, env=bare
    )
    assert done.returncode == 2 and "source a ROS 2" in done.stderr


def test_a_wrong_layout_is_refused():
    wrong = message_type("Array1k").wire() | {"cdr_prefix_hex": "000100000000000000000000"}
    with Opened("rmw_cyclonedds_cpp") as opened:
        opened.ask("open", **opened.open)
        with pytest.raises(WorkerFailed) as caught:
            opened.ask(
                "create",
                nodes=[
                    {"name": "n", "endpoints": [endpoint(1, "publisher", "Array1k", type=wrong)]}
                ],
            )
    assert "Array1k" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"options": {"colour": "red"}}, "known options"),
        ({"options": {"callback": "raw"}}, "const_ref"),
        ({"options": {"ros_variables": "DOMAIN_ID=3"}}, "expected ROS_NAME=VALUE"),
        (
            {
                "modes": {"security": True},
                "options": {"ros_variables": "ROS_SECURITY_STRATEGY=Permissive"},
            },
            "ROS_SECURITY_STRATEGY beside security: true",
        ),
        ({"modes": {"threads": 2}}, "multi_threaded"),
        ({"modes": {"discovery": "server"}}, "no discovery server"),
        ({"profile": {"name": "mine", "format": "json5", "text": "{mode: 'peer'}"}}, "reads xml"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(changes, words):
    with Opened("rmw_cyclonedds_cpp", **changes) as opened, pytest.raises(WorkerFailed) as caught:
        opened.ask("open", **opened.open)
    assert words in str(caught.value)


@pytest.mark.parametrize("rmw", ["rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp"])
def test_a_profile_of_which_fast_dds_takes_nothing_is_refused(rmw):
    """It opens the file, finds a name in it that it does not know, and runs as installed."""
    text = sourced.worker(rmw).profile("tuned")["text"].replace("segment_size", "segment_length")
    mine = {"name": "mine", "format": "xml", "text": text}
    with Opened(rmw, profile=mine) as opened, pytest.raises(WorkerFailed) as caught:
        opened.ask("open", **opened.open)
    assert "took nothing of the file" in str(caught.value)


def test_a_session_that_was_refused_leaves_the_next_one_its_file():
    wrong = "<CycloneDDS><Domain><Colour>red</Colour></Domain></CycloneDDS>"
    mine = {"name": "mine", "format": "xml", "text": wrong}
    with Opened("rmw_cyclonedds_cpp", "tuned") as opened:
        with pytest.raises(WorkerFailed):
            opened.ask("open", **opened.open | {"profile": mine})
        created(opened, endpoint(1, "publisher", "Array1k"))


@pytest.mark.skipif(not sourced.has_roudi(), reason=sourced.NO_ROUDI)
@pytest.mark.parametrize(("profile", "modes"), [("untouched", {"transport": "shm"}), ("shm", {})])
def test_shared_memory_without_roudi_is_refused_at_once(profile, modes):
    asked = Opened("rmw_cyclonedds_cpp", profile, modes=modes)
    asked.daemons = []
    with asked as opened, pytest.raises(WorkerFailed) as caught:
        opened.ask("open", **opened.open)
    assert "no RouDi serves this host" in str(caught.value)


@pytest.mark.parametrize(
    ("profile", "modes", "words"),
    [
        ("untouched", {"shm_pool_bytes": 1 << 24}, "ask for transport: shm too"),
        ("tuned", {"transport": "tcp", "shm_pool_bytes": 1 << 24}, "ask for transport: shm too"),
        ("untouched", {"transport": "udp"}, "meet by TCP"),
        ("untouched", {"security": True, "transport": "shm"}, "is not encrypted"),
    ],
)
def test_what_rmw_zenoh_cannot_do_is_refused_with_its_reason(profile, modes, words):
    asked = Opened("rmw_zenoh_cpp", profile, modes=modes)
    asked.daemons = []  # the router would refuse first
    with asked as opened, pytest.raises(WorkerFailed) as caught:
        opened.ask("open", **opened.open)
    assert words in str(caught.value)


def test_rmw_zenoh_is_told_what_the_modes_came_to():
    modes = {
        "transport": "shm",
        "shm_pool_bytes": 1 << 24,
        "batching": False,
        "congestion": "block",
    }
    modes["compression"] = True
    with Opened("rmw_zenoh_cpp", modes=modes) as opened:
        text = opened.ask("open", **opened.open)["configuration"]["text"]
    assert "transport/unicast/compression/enabled=true" in text
    assert (
        "ZENOH_SHM_ALLOC_SIZE=16777216" in text and "transport/shared_memory/enabled=true" in text
    )
    assert '"express":true,"congestion_control":"block"' in text


def test_ros_variables_are_the_last_word_in_a_process():
    said = "ROS_DOMAIN_ID=41 ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST"
    with Opened(
        "rmw_cyclonedds_cpp", modes={"discovery": "multicast"}, options={"ros_variables": said}
    ) as opened:
        text = opened.ask("open", **opened.open)["configuration"]["text"]
    assert text.splitlines()[-2:] == said.split()
    assert sourced.worker("rmw_cyclonedds_cpp").description["ros_variables"] is True


@pytest.mark.parametrize("rmw", ["rmw_cyclonedds_cpp", "rmw_fastrtps_cpp", "rmw_zenoh_cpp"])
@pytest.mark.parametrize(
    ("reader", "met"),
    [
        ({"modes": {"security": True}}, True),
        ({"modes": {"security": False}}, False),
        # With a keystore of its own, as good as the other's.
        ({"modes": {"security": True}, "trial_nonce": "8"}, False),
    ],
    ids=["same keystore", "not secured", "another keystore"],
)
def test_a_secured_writer_meets_only_readers_of_its_keystore(rmw, reader, met):
    level = sourced.worker(rmw).description["modes"]["security"]
    if isinstance(level, str) and level.startswith("no"):
        pytest.skip(f"{rmw}: security: {level}")
    with Opened(rmw, modes={"security": True}) as opened:
        text = opened.ask("open", **opened.open)["configuration"]["text"]
        zenoh = rmw == "rmw_zenoh_cpp"
        assert ("enable_mtls:true" if zenoh else "ROS_SECURITY_STRATEGY=Enforce") in text
        opened.beside(**reader)
        opened.ask(
            "create", nodes=[{"name": "n", "endpoints": [endpoint(1, "publisher", "Array1k")]}]
        )
        reads = {"name": "m", "endpoints": [endpoint(2, "subscription", "Array1k")]}
        opened.processes.ask({"q": ("create", {"nodes": [reads]})}, 30.0)
        if met:
            opened.ask("match", timeout_ns=20_000_000_000)
        else:
            with pytest.raises(WorkerFailed, match="matched"):
                opened.ask("match", timeout_ns=4_000_000_000)


def shared_memory_bytes():
    """Of the workers that run here, each one's own."""
    found = []
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            fields = dict(
                line.split(":\t", 1) for line in path.read_text().splitlines() if ":\t" in line
            )
            if fields["Name"].startswith("rmwbench-rclcp"):
                found.append(int(fields["RssShmem"].split()[0]) * 1024)
    return found


@pytest.mark.parametrize(
    ("profile", "modes", "bytes_"),
    [
        ("untouched", {"transport": "shm", "shm_pool_bytes": 1 << 27}, 1 << 27),
        ("untouched", {"transport": "shm"}, 50_331_648),
        ("tuned", {}, 50_331_648),
        ("untouched", {}, 0),
    ],
)
def test_the_pool_of_rmw_zenoh_is_there_once_the_publisher_is(profile, modes, bytes_):
    with Opened("rmw_zenoh_cpp", profile, modes=modes) as opened:
        opened.ask("open", **opened.open)
        opened.ask(
            "create",
            nodes=[{"name": "n", "endpoints": [endpoint(1, "publisher", "Array1k", matches=0)]}],
        )
        most = max(shared_memory_bytes())
    assert bytes_ <= most < bytes_ + (1 << 23)


def test_the_pool_of_rmw_zenoh_is_awaited_beside_the_records():
    pool_bytes, slots = 1 << 26, 1 << 20
    sections, modes = [(records.SENT, 1, slots)], {"transport": "shm", "shm_pool_bytes": pool_bytes}
    with Opened("rmw_zenoh_cpp", sections=sections, modes=modes) as opened:
        created(opened, endpoint(1, "publisher", "Array1k", matches=0))
        assert max(shared_memory_bytes()) >= pool_bytes + 64 * slots


def test_the_configuration_in_force_is_told_and_the_file_was_read():
    with Opened("rmw_cyclonedds_cpp", "tuned", modes={"discovery": "spdp"}) as opened:
        answer = opened.ask("open", **opened.open)
        opened.ask(
            "create",
            nodes=[{"name": "n", "endpoints": [endpoint(1, "publisher", "Bytes(64)", matches=0)]}],
        )
    text = answer["configuration"]["text"]
    assert "CYCLONEDDS_URI=file:///tmp/" in text and "<AllowMulticast>spdp</AllowMulticast>" in text


def granted_publisher(rmw, **changes):
    modes = {"publish_mode": changes["publish_mode"]} if "publish_mode" in changes else {}
    with Opened(rmw, options=modes) as opened:
        opened.ask("open", **opened.open)
        asked = endpoint(1, "publisher", "Array1k", matches=0, **changes)
        return opened.ask("create", nodes=[{"name": "n", "endpoints": [asked]}])["endpoints"]["1"]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("rmw", ["rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp"])
def test_fast_dds_tells_the_publish_mode_itself(rmw, mode):
    granted = granted_publisher(rmw, publish_mode=mode)
    assert granted["publish_mode"] == mode
    assert any("read from Fast DDS's writer" in note for note in granted["notes"])


SOURCED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "AMENT_PREFIX_PATH", "ROS_DISTRO")
WATCHER = """
import json, rclpy, time
rclpy.init()
node = rclpy.create_node("watcher")
until = time.monotonic() + 30
while time.monotonic() < until and ("n", "/") not in node.get_node_names_and_namespaces():
    time.sleep(0.05)
time.sleep(1.0)
events = node.get_subscriptions_info_by_topic("/parameter_events")
print(json.dumps({
    "names": [name for name, _ in node.get_node_names_and_namespaces()],
    "events": [one.node_name for one in events],
    "services": [name for name, _ in node.get_service_names_and_types()],
}), flush=True)
"""


@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_process_is_one_participant_and_has_the_endpoints_of_its_nodes_alone(rmw, mode):
    """Seen from a node of another process: what every participant adds would count in discovery."""
    if (rmw, mode) in OTHER_MODES:
        pytest.skip(f"{rmw} has no publish mode {mode}")
    if importlib.util.find_spec("rclpy") is None:
        pytest.skip("the sourced ROS 2 has no rclpy, with which the watching node is written")
    output = os.memfd_create("rmwbench-node", os.MFD_CLOEXEC)
    variables = {"RMW_IMPLEMENTATION": rmw, "ROS_DOMAIN_ID": "0", "HOME": "/tmp"}
    # rmw_zenoh's router comes with the worker
    variables |= {"ROS_LOG_DIR": "/tmp", "ZENOH_ROUTER_CHECK_ATTEMPTS": "0"}
    environment = {name: os.environ[name] for name in SOURCED if name in os.environ} | variables

    def watch(host):
        python = Path(sys.executable)
        host.spawn("watcher", python, ["-c", WATCHER], {1: output, 2: output}, environment)
        assert isinstance(host.receive(10.0), Spawned)

    with Opened(rmw, options={"publish_mode": mode}, first=watch) as opened:
        created(opened, endpoint(1, "publisher", "Array1k", matches=0, publish_mode=mode))
        deadline, said = time.monotonic() + 60, b""
        while not said.endswith(b"}\n") and time.monotonic() < deadline:
            time.sleep(0.1)
            said = os.pread(output, 1 << 20, 0)
    os.close(output)
    assert said.endswith(b"}\n"), said
    told = json.loads(said.splitlines()[-1])
    assert told["names"].count("n") == 1 and told["events"].count("n") == 1, told
    assert "rmwbench_session" not in told["events"]
    assert not [name for name in told["services"] if "rmwbench_session" in name]


OTHER_MODES = [("rmw_cyclonedds_cpp", "async"), ("rmw_zenoh_cpp", "sync")]


@pytest.mark.parametrize(("rmw", "mode"), OTHER_MODES)
def test_the_other_publish_mode_is_refused(rmw, mode):
    with pytest.raises(WorkerFailed) as caught:
        granted_publisher(rmw, publish_mode=mode)
    assert f"publish_mode {mode}" in str(caught.value)


@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
def test_a_manager_and_a_node_that_hangs_end_when_they_are_asked_to_and_not_at_their_time_out(rmw):
    if sourced.worker(rmw).description["lifecycle"] != "yes":
        pytest.skip(
            f"the worker has no lifecycle nodes: {sourced.worker(rmw).description['lifecycle']}"
        )
    for managed, waits_for in [("nobody", "a service"), ("hung", "an answer")]:
        options = {"manager": "boss", "manages": managed, "service_timeout_ms": "60000"}
        with Opened(rmw, options=options | {"lifecycle_nodes": "hung:60000:0"}) as opened:
            opened.ask("open", **opened.open)
            opened.ask(
                "create", nodes=[{"name": name, "endpoints": []} for name in ("hung", "boss")]
            )
            time.sleep(1.5)  # the hung node's services are found, and its callback runs
            for name in ("boss", "hung"):
                begun = time.monotonic()
                opened.ask("destroy", nodes=[name])
                assert time.monotonic() - begun < 30, (
                    f"{name} outlives its end, waiting for {waits_for}"
                )


@pytest.mark.parametrize("rmw", sourced.ONE_OF_EACH)
def test_a_lifecycle_node_that_was_destroyed_is_gone(rmw):
    assert step_with(rmw, "one", destroyed=True) == "timed_out"


def test_a_manager_outlives_a_name_that_ros_refuses():
    assert step_with("rmw_cyclonedds_cpp", "no-such", destroyed=False) == "refused"


def step_with(rmw, name, *, destroyed):
    """How a manager's wait for the services of the node `name` ends."""
    told = sourced.worker(rmw).description["lifecycle"]
    if told != "yes":
        pytest.skip(f"the worker has no lifecycle nodes: {told}")
    options = {"lifecycle_nodes": "one:0:0", "manager": "boss", "manages": name}
    with Opened(rmw, options=options | {"service_timeout_ms": "2000"}) as opened:
        opened.ask("open", **opened.open)
        if destroyed:
            opened.ask("create", nodes=[{"name": name, "endpoints": []}])
            opened.ask("destroy", nodes=[name])
        opened.ask("create", nodes=[{"name": "boss", "endpoints": []}])
        steps = lambda: [one for one in opened.process.events if one["event"] == "step"]  # noqa: E731
        opened.processes.wait(steps, 20.0, "step")
        return steps()[0]["outcome"]


@pytest.mark.skipif("rmw_zenoh_cpp" not in sourced.RMWS, reason="no rmw_zenoh in this ROS 2")
def test_a_daemon_that_ends_by_itself_ends_the_process_that_started_it():
    """The program is the RMW's own: if it died unseen, all that it should have carried would count
    as lost."""
    with Opened("rmw_zenoh_cpp") as one:
        (wrapper,) = [worker for worker in one.processes.daemons.values() if not worker.ended]
        children = Path(f"/proc/{wrapper.pid}/task/{wrapper.pid}/children")
        (router,) = map(int, children.read_text().split())
        os.kill(router, signal.SIGKILL)
        with pytest.raises(WorkerFailed, match="router"):
            until = time.monotonic() + 10.0
            while time.monotonic() < until:
                one.processes.turn(0.1)
        assert wrapper.ended
        one.daemons = []


@pytest.mark.skipif("rmw_fastrtps_cpp" not in sourced.RMWS, reason="no rmw_fastrtps in this ROS 2")
@pytest.mark.parametrize(
    ("profile", "modes", "why"),
    [
        ("discovery_server", {"discovery": "multicast"}, "the profile has a discovery server"),
        ("data_sharing", {"transport": "udp"}, "the profile shares histories"),
    ],
)
def test_a_mode_that_the_profile_contradicts_is_refused(profile, modes, why):
    opened = Opened("rmw_fastrtps_cpp", profile, modes=modes)
    opened.daemons = []  # the server would refuse first
    with opened as one, pytest.raises(WorkerFailed, match=why):
        one.ask("open", **one.open)


@pytest.mark.parametrize("rmw", sourced.RMWS)
def test_the_version_names_the_library_too(rmw):
    """Two libraries under one version of an RMW are two candidates, and not one."""
    told = sourced.worker(rmw).description
    library = told["build"].get("library")
    assert rmw in told["version"] and (library is None or told["version"].endswith(library))
