"""A campaign's looks and its report see the same arms, however often and early one looks."""

import json

import pytest

from rmwbench.analysis import compare
from rmwbench.analysis.look import Looks, leaving, rules
from rmwbench.analysis.verdict import Verdict
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.report.summary import summarise
from tests import synthetic_bundle


def cut(directory, trials):
    """The same campaign as it stood after so many trials."""
    journal = directory / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    found = [n for n, line in enumerate(lines) if json.loads(line)["type"] == "trial"]
    journal.write_text("".join(lines[: found[trials - 1] + 1]))
    return "".join(lines)


def test_looking_early_and_often_gives_what_looking_once_at_the_end_gives(tmp_path):
    directory = synthetic_bundle.write(tmp_path / "c", blocks=3, workloads=("camera",))
    whole = cut(directory, 5)
    looks = Looks(Bundle(directory))
    assert sum(len(a.primary) for a in looks.arms()["camera"]) == 5
    (directory / "journal.jsonl").write_text(whole)
    assert looks.arms() == looks.arms() == Looks(Bundle(directory)).arms()
    assert [a.name for a in looks.arms()["camera"]] == [a.arm for a in synthetic_bundle.ARMS]


def test_a_look_and_the_report_come_to_the_same_verdicts(tmp_path):
    directory = synthetic_bundle.write(tmp_path / "c", blocks=6)
    document = summarise(Bundle(directory))
    minutes = document["campaign"]["wall_s"] / 60 / 6
    verdicts = compare.judge(Looks(Bundle(directory)).arms(), rules(None, minutes))
    for workload in document["workloads"]:
        for arm in workload["arms"]:
            assert verdicts[workload["workload"]][arm["arm"]].document() == arm["verdict"]


def test_the_machines_noise_is_known_and_leaves_the_margin():
    noisy, quiet = rules({"aa_floor": 0.12}, None), rules({"aa_floor": 0.01}, None)
    assert (noisy.margin, noisy.noise, noisy.aa_floor) == (
        0.05,
        0.12,
        0.0,
    )  # the interval contains what blocks average out
    assert (quiet.margin, quiet.aa_floor) == (0.05, 0.0)
    assert rules({}, None) == rules(None, None) == rules({"aa_floor": None}, None)


@pytest.mark.parametrize("floor", ["x", -0.1, True, float("nan"), float("inf"), [0.1]])
def test_a_floor_that_is_no_ratio_is_told_and_not_reckoned_with(floor):
    with pytest.raises(UserError, match="no ratio"):
        rules({"aa_floor": floor}, None)


def test_what_leaves_a_campaign_is_worse_or_its_comparison_is_closed():
    def verdict(word):
        return Verdict(word, None, None, "so")

    verdicts = {
        "open": {
            "a": verdict("undecided"),
            "b": verdict("worse"),
            "floor": verdict("reference"),
            "c": verdict("equivalent"),
        },
        "closed": {"a": verdict("best"), "b": verdict("worse"), "floor": verdict("reference")},
    }
    cells = {(w, arm): n for n, (w, arm) in enumerate((w, arm) for w, arms in verdicts.items() for arm in arms)}
    assert leaving(verdicts, cells) == (cells["open", "b"], *(cells["closed", arm] for arm in ("a", "b", "floor")))
    tied = {key: cell for key, cell in cells.items() if key != ("open", "b")}
    assert cells["open", "b"] not in leaving(verdicts, tied)
