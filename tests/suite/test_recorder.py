"""A recorder beside a workload: what it records, how much that is, and what a plan refuses; what is
read of its bag and of what rosbag2 prints, and the problems of one that ended badly."""

import re
import shutil
from types import SimpleNamespace

import pytest

from rmwbench.beside.recorder import plan, process
from rmwbench.beside.recorder import trial as recording
from rmwbench.beside.recorder.cell import (
    bag_bytes,
    host_of,
    recorded_bytes,
    recorded_publishers,
    recorded_topics,
    recorder_of,
)
from rmwbench.beside.recorder.process import RecorderBroken, parameters, variables, version_of
from rmwbench.beside.recorder.recording import (
    BagContents,
    Metadata,
    Recording,
    identity,
    parse_log,
    read_bag,
    read_metadata,
)
from rmwbench.campaign.plan import preflight
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.campaign.trial.outcome import Order
from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from tests.support import made_bag
from tests.support.made_bag import NONCE, PROBE, WARMUP, message
from tests.support.program import script

from .suite_text import one_arm

CAMERAS = """message: Image(1080x720), rate_hz: 10, timeline: {warmup_s: 1.0, steady_s: 3.0, drain_s: 0.5},
     recorder: RECORDER,
     nodes: [
       {name: left, publishers: [{topic: image_1}]},
       {name: right, publishers: [{topic: image_2}]},
       {name: eyes, subscriptions: [{topic: image_1}, {topic: image_2}]}]"""
RMW = "rclcpp/rmw_fastrtps_cpp"
PICTURE = 3 * 1080 * 720


def suite(recorder="{}", more="", middleware=RMW, cameras=CAMERAS):
    return one_arm(cameras.replace("RECORDER", recorder), f"middleware: {middleware}", more)


def cell_of(*given, **more):
    (cell,) = cells(suite(*given, **more))
    return cell


def test_without_topics_everything_that_is_published_is_recorded():
    cell = cell_of()
    assert recorded_topics(cell) == ("image_1", "image_2")
    assert host_of(cell) == "local"
    assert recorded_topics(cell_of("{topics: [image_2]}")) == ("image_2",)


def test_a_bag_is_as_large_as_what_is_sent_in_warm_up_and_steady_state():
    assert 2 * 40 * PICTURE <= recorded_bytes(cell_of()) < 2 * 40 * (PICTURE + 200)
    assert 40 * PICTURE <= recorded_bytes(cell_of("{topics: [image_1]}")) < 40 * (PICTURE + 200)


def test_a_cell_says_what_its_recorder_is_told_and_others_say_nothing():
    definition = cell_of("{place: disk, cache_mib: 5}").definition()["recorder"]
    assert definition == {
        "topics": ["image_1", "image_2"],
        "host": "local",
        "storage": "mcap",
        "cache_mib": 5,
        "place": "disk",
        "keep": False,
    }
    assert "recorder" not in cell_of("null").definition()
    assert recorded_bytes(cell_of("null")) == 0


def test_the_recorder_is_told_in_parameters_of_rosbag2():
    words = parameters(cell_of("{cache_mib: 5}"), "/tmp/bag")
    assert 'record.topics:=["/image_1", "/image_2"]' in words
    assert f"storage.max_cache_size:={5 << 20}" in words
    assert "storage.uri:=/tmp/bag" in words and "storage.storage_id:=mcap" in words


def test_place_and_cache_are_factors():
    more = "factors: {recorder.place: [tmpfs, disk], recorder.cache_mib: [100, 0]}\n"
    suite_cells = cells(suite(more=more))
    assert [(recorder_of(c).place, recorder_of(c).cache_mib) for c in suite_cells] == [
        ("tmpfs", 100),
        ("tmpfs", 0),
        ("disk", 100),
        ("disk", 0),
    ]


@pytest.mark.parametrize(
    ("recorder", "more", "what", "line"),
    [
        ("{topics: [image_3]}", "", "unknown published topic `image_3`", 8),
        ("{host: moon}", "", "unknown host `moon`", 8),
        ("{keep: true}", "", "cannot be kept", 8),
        ("{cache_mib: -1}", "", "cache_mib", 8),
        ("{place: tape}", "", "place", 8),
        ("{storage: sqlite3}", "", "storage", 8),
        (
            "{}",
            "factors: {containers: [own_ipc]}\n",
            "`recorder` cannot be combined with `containers`",
            13,
        ),
        (
            "null",
            "factors: {recorder.cache_mib: [5, 100]}\n",
            "factor `recorder.cache_mib` changes nothing",
            13,
        ),
        ("{}", "factors: {recorder.speed: [1]}\n", "unknown factor `recorder.speed`", 13),
    ],
)
def test_what_contradicts_itself_is_refused_at_its_line(recorder, more, what, line):
    with pytest.raises(UserError) as refused:
        cells(suite(recorder, more))
    assert what in str(refused.value), refused.value
    assert f"f.yaml:{line}" in str(refused.value)


def reason_of(cell, *kind):
    return unsupported_reasons([cell], {}, *kind).get(cell.number)


def test_a_middleware_that_is_not_an_rmw_has_nothing_for_rosbag2():
    reason = reason_of(cell_of(middleware="zenoh"))
    assert "rosbag2 records what ROS 2's RMWs carry, and zenoh is not one of them" in reason


def test_without_rosbag2_a_cell_is_not_supported_and_says_what_brings_it(tmp_path, monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    assert "apt-get install -y ros-jazzy-rosbag2-transport" in reason_of(cell_of())
    program = script(tmp_path / "lib" / "rosbag2_transport" / "recorder")
    assert "apt-get install -y ros-jazzy-rosbag2-storage-mcap" in reason_of(cell_of())
    (tmp_path / "share" / "rosbag2_storage_mcap").mkdir(parents=True)
    assert reason_of(cell_of()) is None
    assert process.find().executable == program


def planned(recorder):
    loaded = suite(recorder)
    return make_plan(loaded, cells(loaded), seed=1)


def test_a_disk_without_room_for_the_bag_is_refused(tmp_path, monkeypatch):
    campaign_plan = planned("{place: disk}")
    needed = plan.disk_bytes(campaign_plan)

    disk = SimpleNamespace(f_blocks=1, f_frsize=1, f_bavail=needed)
    monkeypatch.setattr(preflight.os, "statvfs", lambda _: disk)
    with pytest.raises(UserError, match="not enough disk"):
        preflight.check_disk(campaign_plan, tmp_path)
    disk.f_bavail = needed + (1 << 30)
    preflight.check_disk(campaign_plan, tmp_path)


def order_of(recorder, campaign):
    return Order(
        trial=7, cell=cell_of(recorder), block=0, position=0, seed=1, nonce=2, directory=campaign
    )


@pytest.mark.parametrize(
    ("recorder", "left"), [("{place: disk}", []), ("{place: disk, keep: true}", ["bag-000007"])]
)
def test_a_bag_on_a_disk_is_deleted_unless_it_is_to_be_kept(tmp_path, recorder, left):
    order = order_of(recorder, tmp_path)
    bag = recording._make_directory(order) / "rmwbench-bag"
    bag.mkdir()
    (bag / "rmwbench-bag_0.mcap").write_bytes(b"a bag")
    recording.tidy(order)
    assert [path.name for path in tmp_path.iterdir()] == left
    assert [path.read_bytes() for path in tmp_path.glob("*/*.mcap")] == [b"a bag"] * len(left)


def test_a_disk_that_filled_up_since_the_plan_fails_the_trial_before_it_writes(
    tmp_path, monkeypatch
):
    order = order_of("{place: disk}", tmp_path)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        recording.shutil, "disk_usage", lambda _: usage._replace(free=bag_bytes(order.cell) - 1)
    )
    with pytest.raises(RecorderBroken, match="has 196 MB free, and its bag may take 196 MB"):
        recording._make_directory(order)
    assert list(tmp_path.iterdir()) == []


def test_a_memory_without_room_for_the_bag_is_refused(monkeypatch):
    campaign_plan = planned("{place: tmpfs}")
    room = bag_bytes(campaign_plan.cells[0])
    monkeypatch.setattr(plan, "tmpfs_bytes", lambda: (0, room - 1))
    with pytest.raises(UserError, match="does not fit into memory"):
        preflight.check_memory(campaign_plan)
    monkeypatch.setattr(plan, "tmpfs_bytes", lambda: (0, room))
    plan.check_memory(campaign_plan)


def test_a_bag_of_small_messages_has_room_for_their_headers():
    """MCAP makes 127 bytes of 80; a bag was expected to be 5 % larger than its messages."""
    (cell,) = cells(
        one_arm("message: Bytes(64), rate_hz: 1000, recorder: {}", f"middleware: {RMW}")
    )
    (publisher,) = recorded_publishers(cell)
    assert bag_bytes(cell) >= publisher.sent * (publisher.type.cdr_bytes + 31 + 16)


def test_a_small_bag_has_a_size():
    """A bag of 0.2 MiB was one of 0 MiB."""
    loaded = one_arm("message: Bytes(1000), rate_hz: 10, recorder: {}", f"middleware: {RMW}")
    (line,) = plan.lines(make_plan(loaded, cells(loaded), seed=1))
    assert " kB in all" in line and "0 B in the campaign's directory" in line


def test_a_process_of_the_workload_has_another_name_than_rosbag2s():
    with pytest.raises(UserError, match="a process of the workload is called `recorder`"):
        cells(suite(cameras=CAMERAS.replace("name: eyes", "name: recorder")))


JAZZY = (0, 26, 10)
SUBSCRIBED = "[INFO] [1.0] [rmwbench_recorder]: Subscribed to topic '/image_1'\n"
STOPPED = "[INFO] [9.0] [rmwbench_recorder]: Recording stopped\n"
CACHE = (
    "[WARN] [8.0] [rosbag2_cpp]: Cache buffers lost messages per topic: \n"
    "\t/image_2: 4\n\t/image_1: 17\nTotal lost: 21\n"
)


def test_a_message_says_whose_it_is_wherever_its_header_lies():
    assert identity(message(3, 7), NONCE) == (3, 7, 2)
    assert identity(b"\0" * 300 + message(3, 2**40, phase=WARMUP), NONCE) == (3, 2**40, 1)
    assert identity(b"RMWB" + bytes(10) + message(1, 0), NONCE) == (1, 0, 2), (
        "its first bytes alone are not a header"
    )


def test_a_changed_bit_of_a_header_is_not_a_message_of_the_trial():
    data = bytearray(message(1, 1))
    data[data.index(b"RMWB") + 16] ^= 1
    assert identity(bytes(data), NONCE) is None


@pytest.mark.parametrize("chunked", [True, False])
def test_a_split_bag_is_read_file_by_file_in_its_order(tmp_path, chunked):
    probe, foreign = message(1, 0, phase=PROBE), message(1, 3, nonce=1)
    later = {"/image_1": [message(1, 5)]}
    made_bag.bag(tmp_path, "bag_10.mcap", later, chunked)
    made_bag.bag(
        tmp_path,
        "bag_9.mcap",
        {"/image_1": [probe, message(1, 4), foreign], "/image_2": [message(2, 0)]},
        chunked,
    )
    contents = read_bag(tmp_path, NONCE)
    assert contents.messages == {1: [4, 5], 2: [0]}
    assert (contents.probes[1], contents.foreign, contents.damaged) == (1, 1, None)
    assert contents.count_by_topic == {"/image_1": 4, "/image_2": 1}
    assert contents.file_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


@pytest.mark.parametrize("chunked", [True, False])
def test_of_a_file_that_was_not_finished_everything_before_its_end_counts(tmp_path, chunked):
    path = made_bag.bag(
        tmp_path, "bag_0.mcap", {"/image_1": [message(1, seq) for seq in range(20)]}, chunked
    )
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    contents = read_bag(tmp_path, NONCE)
    assert contents.messages[1] == list(range(len(contents.messages[1])))
    assert 5 < len(contents.messages[1]) < 12
    assert contents.damaged and contents.damaged.startswith("bag_0.mcap: ")


def test_metadata_says_what_was_handed_on_and_what_had_reached_rosbag2(tmp_path):
    made_bag.metadata(tmp_path, handed=90, reached=97)
    assert read_metadata(tmp_path, cached=True) == Metadata({"/image_1": 90}, 97)
    assert read_metadata(tmp_path, cached=False) == Metadata({"/image_1": 90}, None), (
        "it counts twice without a cache"
    )


def test_no_word_of_a_loss_is_zero_only_where_the_recorder_ended_in_order():
    assert parse_log(SUBSCRIBED + STOPPED, JAZZY).cache_lost == {}
    assert parse_log(SUBSCRIBED + STOPPED, JAZZY).transport_lost == 0
    assert (
        parse_log(SUBSCRIBED, JAZZY).cache_lost
        is parse_log(SUBSCRIBED, JAZZY).transport_lost
        is None
    )
    assert parse_log(SUBSCRIBED + STOPPED, (0, 26, 9)).transport_lost is None, (
        "that version does not count them"
    )
    assert parse_log(SUBSCRIBED + STOPPED).transport_lost is None


def a_recording(text, metadata, exit_code=0, contents=None):
    log = parse_log(text, JAZZY)
    contents = contents or BagContents(messages={1: [0, 1]}, file_bytes=9)
    return Recording(
        publishers=(),
        contents=contents,
        metadata=metadata,
        log=log,
        stopped_s=0.5,
        exit_code=exit_code,
    )


def test_an_account_that_adds_up_has_no_problem():
    assert list(a_recording(CACHE + STOPPED, Metadata({"/image_1": 79}, 100)).problems()) == []


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (
            a_recording(CACHE + STOPPED, Metadata({"/image_1": 79}, 101)),
            "counts 101 messages .* and 100 that it wrote",
        ),
        (a_recording(STOPPED, None), "ended with exit code 0: where .* is not known"),
        (a_recording("", Metadata({}, 0), exit_code=None), "was killed"),
        (a_recording(STOPPED, Metadata({}, 0), exit_code=-11), "was ended by signal 11"),
        (
            a_recording(
                STOPPED, Metadata({}, 0), contents=BagContents(damaged="bag_0.mcap: EndOfFile")
            ),
            "the bag is damaged: bag_0",
        ),
    ],
)
def test_what_is_wrong_with_a_bag_is_said(result, problem):
    (text,) = result.problems()
    assert re.search(problem, text)


def test_of_a_recorder_that_was_killed_no_places_are_counted():
    names = {row["counter"] for row in a_recording("", None, exit_code=None).counters()}
    assert names == {"bag.size", "bag.foreign", "rosbag2.stop"}


def test_the_recorder_gets_the_variables_that_a_worker_beside_it_says_it_set():
    text = (
        "RMW_IMPLEMENTATION=rmw_fastrtps_cpp\nexecutor=single\n"
        "FASTRTPS_DEFAULT_PROFILES_FILE=/tmp/a.xml\n"
    )
    text += "\n--- /tmp/a.xml ---\nA=<b>\n"
    assert variables(text) == {
        "RMW_IMPLEMENTATION": "rmw_fastrtps_cpp",
        "FASTRTPS_DEFAULT_PROFILES_FILE": "/tmp/a.xml",
    }


def test_a_version_is_read_from_the_package_and_absent_without_one(tmp_path):
    (tmp_path / "share" / "p").mkdir(parents=True)
    (tmp_path / "share" / "p" / "package.xml").write_text(
        '<package><version compatibility="0.1">0.26.10</version>'
    )
    assert version_of(tmp_path, "p") == (0, 26, 10)
    assert version_of(tmp_path, "q") == ()


@pytest.mark.parametrize(
    "text",
    ["", "a: [", "rosbag2_bagfile_information: 3", "rosbag2_bagfile_information: {files: []}"],
)
def test_metadata_of_another_kind_is_none(tmp_path, text):
    (tmp_path / "metadata.yaml").write_text(text)
    assert read_metadata(tmp_path, cached=True) is None
