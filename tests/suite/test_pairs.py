"""Several middlewares in one trial: overrides of processes, and pairs that expand into arms."""

import pytest

from rmwbench.suite.cells import cells

from .suite_text import error, suite

LAST = "  - {name: b, middleware: zenoh}\n"


def with_arm(text):
    return (LAST, f"  - {text}\n")


def test_an_override_takes_the_processes_it_names():
    own = "name: b, middleware: zenoh, options: {a: 1}, modes: {threads: 2}"
    arm = f"{{{own}, processes: {{listener: {{middleware: fastdds}}}}}}"
    loaded = suite(with_arm(arm), ("rate_hz: 1000", "rate_hz: 1000\n    subscribers: 2"))
    cell = cells(loaded)[1]
    assert {name: side.middleware for name, side in cell.sides.items()} == {
        "talker": "zenoh", "listener_1": "fastdds", "listener_2": "fastdds",
    }  # fmt: skip
    # options and profile belong to one middleware, modes to all
    assert cell.sides["listener_1"].options == {} and cell.sides["listener_1"].modes == {
        "threads": 2
    }
    assert cell.middlewares == ("zenoh", "fastdds")
    assert len(cells(loaded)[0].middlewares) == 1


def test_pairs_are_every_ordered_pair_with_what_belongs_to_each():
    tuned = "{middleware: zenoh, profile: tuned, options: {a: 1}, modes: {threads: 2}}"
    loaded = suite(with_arm(f"{{pairs: [cyclonedds, fastdds, {tuned}], wait: poll}}"))
    names = ["cyclonedds", "fastdds", "zenoh tuned"]
    assert [arm.name for arm in loaded.arms] == ["a", *(f"{x} → {y}" for x in names for y in names)]
    cell_of_arm = {cell.arm.name: cell for cell in cells(loaded)}
    first, second = (
        cell_of_arm["cyclonedds → zenoh tuned"].sides,
        cell_of_arm["zenoh tuned → cyclonedds"].sides,
    )
    assert (first["talker"].middleware, first["listener"].middleware) == ("cyclonedds", "zenoh")
    assert first["listener"].profile.name == "tuned" and first["listener"].options == {"a": 1}
    assert first["talker"].modes == {} and first["listener"].modes == {"threads": 2}
    assert (
        second["listener"].profile.name == "untouched"
        and second["listener"].modes == second["listener"].options == {}
    )
    assert {arm.wait for arm in loaded.arms[1:]} == {"poll"}
    assert cell_of_arm["fastdds → fastdds"].middlewares == ("fastdds",)


def test_modes_of_all_pairs_stand_behind_a_sides_own():
    loaded = suite(
        with_arm(
            "{pairs: [floor, {middleware: zenoh, modes: {threads: 2}}], modes: {threads: 1, "
            "batching: true}}"
        )
    )
    sides = {cell.arm.name: cell.sides for cell in cells(loaded)}["floor → zenoh"]
    assert sides["talker"].modes == {"threads": 1, "batching": True}
    assert sides["listener"].modes == {"threads": 2, "batching": True}


def test_the_second_of_a_pair_serves():
    calls = "clients: 2\n    request: Bytes(64)\n    reply: Bytes(64)\n    rate_hz: 100"
    loaded = suite(
        with_arm("{pairs: [cyclonedds, fastdds]}"),
        ("message: Bytes(320)\n    rate_hz: 1000", calls),
    )
    sides = {cell.arm.name: cell.sides for cell in cells(loaded)}["cyclonedds → fastdds"]
    assert {name: side.middleware for name, side in sides.items()} == {
        "service": "fastdds", "client_1": "cyclonedds", "client_2": "cyclonedds",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        ("{pairs: [floor]}", "`pairs` is not a list of several middlewares"),
        ("{pairs: floor}", "`pairs` is not a list of several middlewares"),
        ("{pairs: [floor, floor]}", "`floor` is in the list twice"),
        ("{pairs: [floor, zenho]}", "unknown middleware `zenho`"),
        ("{pairs: [floor, 3]}", "an entry of `pairs` is no middleware"),
        ("{pairs: [floor, {profile: tuned}]}", "an entry of `pairs` is no middleware"),
        ("{pairs: [floor, {middleware: zenoh, profle: tuned}]}", "unknown key `profle`"),
        (
            "{pairs: [floor, {middleware: zenoh, modes: {threads: 0}}]}",
            "mode `threads` is a whole number",
        ),
        ("{pairs: [floor, zenoh], name: both}", "`name` and `pairs` contradict each other"),
        ("{pairs: [floor, zenoh], options: {a: 1}}", "`options` and `pairs` contradict each other"),
        (
            "{pairs: [floor, {middleware: zenoh, optional: maybe}]}",
            "`optional` is not true or false",
        ),
        ("{pairs: [floor, zenoh], wiat: poll}", "unknown key `wiat`"),
        ("{pairs: [floor, zenoh], modes: [udp]}", "`modes` is not a mapping"),
        ("{pairs: [floor, zenoh], modes: }", "`modes` is not a mapping"),
        (
            "{name: b, middleware: zenoh, processes: {listner: {middleware: floor}}}",
            "overrides process `listner`",
        ),
        (
            "{name: b, middleware: zenoh, processes: {listener: {middleware: flor}}}",
            "unknown middleware `flor`",
        ),
        ("{name: b, middleware: zenoh, processes: {listener: {wait: poll}}}", "unknown key `wait`"),
        (
            "{name: b, middleware: zenoh, processes: {a-b: {middleware: floor}}}",
            "`a-b` names no process",
        ),
        (
            "{name: b, middleware: zenoh, processes: {listener: {profile: tuned}, listener|talker: "
            "{profile: tuned}}}",
            "process `listener` is overridden twice",
        ),
    ],
)
def test_what_makes_no_sense_is_told_with_its_line(arm, words):
    mistake = error(with_arm(arm))
    assert words in mistake.what and mistake.where == "f.yaml:6", str(mistake)
