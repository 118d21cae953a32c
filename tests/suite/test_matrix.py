"""eProsima's matrix configuration, read as a suite."""

import json

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import line_of, load, parse
from rmwbench.suite.suite import Suite


def configuration(**changes) -> dict:
    """One of that tool's, small; changes to `perf_test` by its keys."""
    perf_test = {
        "reliability": ["best_effort", "reliable"],
        "durability": ["volatile"],
        "history_kind": ["keep_last"],
        "dds_domain": 12,
        "history_depth": [7],
        "max_runtime": [42],
        "zero_copy": ["OFF"],
    }
    whole = {
        "log_directory": "anywhere",
        "process_mode": ["inter-process"],
        "rates": [20, 500, 30],
        "num_subs": [2, 4, 5],
        "topics": ["Array1k", "Array8m"],
        "communication": ["rclcpp-single-threaded-executor"],
        "rmw_implementations": ["rmw_cyclonedds_cpp"],
        "roundtrip_mode": "none",
        "perf_test": perf_test,
        "fastdds_xml_files": ["fastdds_no_datasharing_sync.xml", "fastdds_datasharing_async.xml"],
    }
    for key, value in changes.items():
        (perf_test if key in perf_test else whole)[key] = value
    return whole


def read(document: object, indent: int | str | None = 1, shortened: bool = False) -> Suite:
    return parse(json.dumps(document, indent=indent), where="m.json", shortened=shortened)


def test_lists_are_factors_and_single_values_hold_everywhere():
    suite = read(configuration(), "\t")
    assert dict(suite.factors) == {
        "message": ("Array1k", "Array8m"),
        "rate_hz": (20, 500, 30),
        "subscribers": (2, 4, 5),
        "reliability": ("best_effort", "reliable"),
    }
    (workload,) = suite.workloads
    assert (workload.qos.depth, workload.qos.durability) == (7, "volatile")
    assert all(
        len({e.process for e in cell.endpoints}) == len(cell.endpoints) for cell in cells(suite)
    )
    assert suite.timeline.steady_s == 42
    assert suite.arms == load("fastdds-2021/interprocess").arms
    assert suite.blocks == load("fastdds-2021/interprocess").blocks
    assert len(cells(suite)) == 2 * 3 * 3 * 2 * len(suite.arms)


def test_within_one_process_the_arms_are_those_of_the_other_matrix():
    suite = read(
        configuration(
            process_mode=["intra-process"], fastdds_xml_files=["fastdds_no_datasharing_sync.xml"]
        )
    )
    assert suite.arms == load("fastdds-2021/intraprocess").arms
    assert suite.workloads[0].processes == "one"


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"rates": [30, 0]}, ("rates", 1), "more than 0"),
        ({"num_subs": [1.5]}, ("num_subs", 0), "whole numbers"),
        ({"num_subs": [1, 1]}, ("num_subs", 1), "twice"),
        ({"topics": ["Array1k", "Array3k"]}, ("topics", 1), "Array3k"),
        ({"topics": []}, ("topics",), "at least one"),
        ({"reliability": ["sometimes"]}, ("perf_test", "reliability", 0), "best_effort"),
        ({"max_runtime": [10, 20]}, ("perf_test", "max_runtime"), "one length"),
        ({"zero_copy": ["OFF", "ON"]}, ("perf_test", "zero_copy", 1), "only OFF"),
        ({"roundtrip_mode": "main"}, ("roundtrip_mode",), "only none"),
        ({"communication": ["rclcpp-waitset"]}, ("communication", 0), "single-threaded"),
        (
            {"rmw_implementations": ["rmw_gurumdds_cpp"]},
            ("rmw_implementations", 0),
            "rmw_fastrtps_cpp",
        ),
        (
            {"fastdds_xml_files": ["mine.xml"]},
            ("fastdds_xml_files", 0),
            "fastdds_datasharing_sync.xml",
        ),
        ({"process_mode": ["two-machines"]}, ("process_mode", 0), "intra-process"),
        ({"num_subscribers": [1]}, ("num_subscribers",), "num_subs"),
        ({"perf_test": 3}, ("perf_test",), "a mapping"),
    ],
)
def test_what_no_arm_does_is_one_error_at_its_line(changes, key, words):
    document = configuration(**changes)
    text = json.dumps(document, indent=1)
    with pytest.raises(UserError) as caught:
        parse(text, where="m.json")
    assert words in str(caught.value)
    # The line of the value, found by hand: a marker in its place, in the same layout.
    inside = document
    for step in key[:-1]:
        inside = inside[step]
    inside[key[-1]] = "HERE" if isinstance(inside, list) else inside[key[-1]]
    lines = json.dumps(document, indent=1).splitlines()
    mark = '"HERE"' if isinstance(inside, list) else f'"{key[-1]}":'
    (line,) = [number for number, line_text in enumerate(lines, 1) if mark in line_text]
    assert caught.value.where == f"m.json:{line}"


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '{"rates": [1]}', "3"])
def test_other_json_is_not_a_suite(text):
    with pytest.raises(UserError, match=r"this JSON is not a suite[\s\S]*num_subs"):
        parse(text, where="other.json")


def test_an_error_behind_the_reader_names_the_file_and_its_first_line():
    text = "\n\n" + json.dumps(configuration(), indent=1)
    assert line_of(text, ("arms", 0)) == 3


def test_a_second_value_of_a_quality_makes_it_a_factor():
    suite = read(
        configuration(history_depth=[1, 100], process_mode=["inter-process", "intra-process"])
    )
    assert suite.factors["depth"] == (1, 100) and suite.factors["processes"] == ("per_node", "one")
    assert {cell.workload.qos.depth for cell in cells(suite)} == {1, 100}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["keep_all"], {("keep_all", None)}),
        (["keep_all", "keep_last"], {("keep_all", None), ("keep_last", 7)}),
    ],
)
def test_the_depth_that_every_file_has_is_of_keep_last_alone(kinds, expected):
    qos = [cell.workload.qos for cell in cells(read(configuration(history_kind=kinds)))]
    assert {(q.history, q.depth) for q in qos} == expected
