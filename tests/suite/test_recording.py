"""What is read of a bag and of what rosbag2 prints: whose messages, how many, and what is said
where it ended badly."""

import re

import pytest

from rmwbench.beside.recorder.process import variables, version_of
from rmwbench.beside.recorder.recording import (
    BagContents,
    Metadata,
    Recording,
    identity,
    parse_log,
    read_bag,
    read_metadata,
)
from tests.support import made_bag
from tests.support.made_bag import NONCE, PROBE, WARMUP, message

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


def recording(text, metadata, exit_code=0, contents=None):
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
    assert list(recording(CACHE + STOPPED, Metadata({"/image_1": 79}, 100)).problems()) == []


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (
            recording(CACHE + STOPPED, Metadata({"/image_1": 79}, 101)),
            "counts 101 messages .* and 100 that it wrote",
        ),
        (recording(STOPPED, None), "ended with exit code 0: where .* is not known"),
        (recording("", Metadata({}, 0), exit_code=None), "was killed"),
        (recording(STOPPED, Metadata({}, 0), exit_code=-11), "exit code -11"),
        (
            recording(
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
    names = {row["counter"] for row in recording("", None, exit_code=None).counters()}
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
