"""`rmwbench candidates`: what suites compare by name, and what of it is ready here."""

import json

import pytest

from rmwbench.cli.options import complete_candidate
from rmwbench.cli.verbs import candidates, plan_view
from rmwbench.errors import UserError
from rmwbench.lab.middleware import find
from rmwbench.suite.file.candidates_file import known_candidates
from tests.suite.suite_text import cells_of


@pytest.fixture(autouse=True)
def without_a_ros2(monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


def test_every_candidate_is_listed_with_its_sets_and_what_would_make_it_ready():
    document = candidates.document([])
    assert (document["schema"], document["version"]) == ("rmwbench/candidates", 1)
    assert [one["candidate"] for one in document["candidates"]] == list(known_candidates().by_name)
    assert [one["set"] for one in document["sets"]] == list(known_candidates().sets)
    for one in document["candidates"]:
        assert one["ready"] == (one["reason"] is None)
        assert one["ready"] == (one["version"] is not None)
    connext = next(one for one in document["candidates"] if one["candidate"] == "rclcpp/connextdds")
    assert not connext["ready"] and "licence" in connext["needs"] and connext["layer"] == "rclcpp"
    assert (
        connext["where"].startswith("suites/candidates.yaml:")
        or "candidates.yaml:" in connext["where"]
    )


def test_an_unknown_name_is_an_error_with_the_nearest():
    with pytest.raises(
        UserError, match=r"(?s)unknown candidate or set `ros3`.*did you mean `ros2`"
    ):
        candidates.document(["ros3"])


def test_an_rmw_of_the_sourced_ros2_that_is_not_a_candidate_is_shown_with_its_line(
    monkeypatch, capsys
):
    described = {"middleware": "rclcpp/rmw_novel_cpp", "version": "1"}
    worker = find.Worker("rclcpp/rmw_novel_cpp", None, described, None)  # type: ignore[arg-type]
    monkeypatch.setattr(
        "rmwbench.lab.middleware.find_workers", lambda wanted=None: {worker.middleware: worker}
    )
    document = candidates.document(["ros2"])
    assert document["unlisted"] == ["rclcpp/rmw_novel_cpp"]
    lacking = {one["candidate"]: one["reason"] for one in document["candidates"]}
    assert lacking["rclcpp/zenoh"] == "the sourced ROS 2 has rclcpp/rmw_novel_cpp"
    candidates.candidates(["ros2"], as_json=False)
    assert (
        "{name: rclcpp/novel, in: [ros2, tsc], middleware: rclcpp/rmw_novel_cpp"
        in capsys.readouterr().out
    )


def test_as_json_it_is_one_document(capsys):
    candidates.candidates(["rmw_zenoh"], as_json=True)
    assert {one["candidate"] for one in json.loads(capsys.readouterr().out)["candidates"]} == {
        "hiroz",
        "rclcpp/zenoh",
    }


def test_the_shell_completes_candidates_and_sets():
    assert complete_candidate("ros") == ["ros2", "ros2_tuned"]
    assert "rclcpp/zenoh" in complete_candidate("rclcpp/")


def test_a_switch_is_written_as_in_a_suite():
    """It was `batching=False`, and `loan True`."""
    settings = {"loan": True, "modes": {"batching": False}}
    assert candidates._settings_text(settings) == "loan true, batching=false"
    (cell,) = cells_of(
        "message: Bytes(64), rate_hz: 9", "middleware: zenoh, modes: {batching: false}"
    )
    assert "batching=false" in plan_view._arm_text(cell.arm)
