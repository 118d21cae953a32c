"""Modes of arms: the vocabulary, levels as factors, and the error's line for an unknown one. The
publish mode as workers are told it: of each publisher, and on rclcpp before the session opens."""

import re
from pathlib import Path

import pytest

from rmwbench.campaign.plan.profile import publish_mode_option
from rmwbench.suite.arm import MODES, NUMBERS, SWITCHES, WORDS
from rmwbench.suite.cells import cells

from .suite_text import cells_of, error, suite

ARM = "{name: b, middleware: zenoh}"


def with_modes(text):
    return (ARM, f"{{name: b, middleware: zenoh, modes: {text}}}")


def test_modes_are_the_arms_own_and_stand_in_the_definition():
    loaded = suite(with_modes("{transport: tcp, batching: false, threads: 4}"))
    asked = {"transport": "tcp", "batching": False, "threads": 4}
    assert loaded.arms[1].modes == asked and loaded.arms[1].definition()["modes"] == asked
    assert "modes" not in loaded.arms[0].definition()  # as cells of older campaigns have it


def test_a_mode_is_a_factor_and_replaces_the_arms_level():
    suite_cells = cells(
        suite(with_modes("{transport: udp}"), more="factors: {modes.transport: [tcp, shm]}\n")
    )
    assert [cell.arm.modes["transport"] for cell in suite_cells] == ["tcp", "tcp", "shm", "shm"]
    assert {cell.comparison for cell in suite_cells} == {
        "w [modes.transport=tcp]",
        "w [modes.transport=shm]",
    }


def test_a_level_reaches_every_side_of_an_arm():
    mixed = (
        "{name: b, middleware: zenoh, processes: {listener: {middleware: cyclonedds, modes: "
        "{threads: 2}}}}"
    )
    suite_cells = cells(suite((ARM, mixed), more="factors: {modes.transport: [tcp, shm]}\n"))
    sides = [cell.sides["listener"].modes for cell in suite_cells if cell.arm.name == "b"]
    assert sides == [{"threads": 2, "transport": "tcp"}, {"threads": 2, "transport": "shm"}]


@pytest.mark.parametrize(
    ("modes", "words", "advice"),
    [
        ("{transprt: tcp}", "unknown mode `transprt`", "did you mean `transport`?"),
        ("{transport: tpc}", "unknown level of mode `transport` `tpc`", "did you mean `tcp`?"),
        ("{batching: 1}", "mode `batching` is on or off", None),
        ("{threads: 0}", "mode `threads` is a whole number", None),
        ("{threads: true}", "mode `threads` is a whole number", None),
        ("{shm_pool_bytes: 1.5}", "mode `shm_pool_bytes` is a whole number", None),
        ("{discovery: [peers]}", "this is not a single value", None),
        ("tcp", "`modes` is not a mapping", None),
    ],
)
def test_what_is_not_a_mode_is_told_with_its_line(modes, words, advice):
    mistake = error(with_modes(modes))
    assert (
        words in mistake.what
        and mistake.where == "f.yaml:6"
        and (advice is None or mistake.fix == advice)
    ), str(mistake)


def test_a_level_that_does_not_exist_is_told_at_the_factor():
    mistake = error(more="factors: {modes.transport: [udp, tpc]}\n")
    assert (
        "unknown level of mode `transport` `tpc`" in mistake.what and mistake.where == "f.yaml:13"
    )
    mistake = error(more="factors: {modes.transprt: [udp, tcp]}\n")
    assert mistake.fix == "did you mean `modes.transport`?"


def test_the_page_lists_the_vocabulary():
    page = (Path(__file__).parents[2] / "docs" / "suites.md").read_text(encoding="utf-8")
    page = page.partition("\n## Modes\n")[2].partition("\n## ")[0]
    listing = page.partition("\n- ")[2].partition("\n\n")[0]
    rows = [item.split("`: ", 1) for item in listing.split("\n- ")]
    rows = [(f"{names}`", levels) for names, levels in rows]
    levels_of = {name: levels for names, levels in rows for name in re.findall(r"`(\w+)`", names)}
    assert set(levels_of) == set(MODES)
    for name, levels in WORDS.items():
        assert re.findall(r"`(\w+)`", levels_of[name]) == list(levels)
    assert all("`true`" in levels_of[name] for name in SWITCHES) and all(
        "number" in levels_of[name] for name in NUMBERS
    )


def test_the_harness_has_the_same_vocabulary():
    source = (Path(__file__).parents[2] / "native/harness/src/modes.rs").read_text(encoding="utf-8")
    table = source[
        source.index("pub const MODES") : source.index("];", source.index("pub const MODES"))
    ]
    levels = re.findall(r'"(\w+)",\s*Levels::(\w+(?:\([^)]*\))?)', table)
    words_of = {name: re.findall(r'"(\w+)"', text) for name, text in levels}
    assert (
        set(words_of) == set(MODES)
        and {name: tuple(words) for name, words in words_of.items() if words} == WORDS
    )


NO_PUBLISHER = "primary_metric: rss, nodes: [{name: a}], timeline: {steady_s: 3.0}"


@pytest.mark.parametrize(
    ("arm", "option"),
    [
        ("rclcpp/rmw_fastrtps_cpp, publish_mode: async", {"publish_mode": "async"}),
        ("rclcpp/rmw_fastrtps_cpp, publish_mode: sync", {"publish_mode": "sync"}),
        ("rclcpp/rmw_fastrtps_cpp", {}),
        ("fastdds, publish_mode: async", {}),
    ],
)
def test_a_process_without_publishers_has_the_mode_too_where_an_rmw_takes_it(arm, option):
    """rmw_fastrtps has it per participant: a node that publishes /rosout alone is asynchronous."""
    (cell,) = cells_of(NO_PUBLISHER, f"middleware: {arm}")
    assert publish_mode_option(cell, cell.sides["a"]) == option
