"""Two runs of one evaluation: which verdicts are the same, and which contradict each other."""

import dataclasses
import json
import shutil
from collections import Counter
from types import SimpleNamespace

import pytest

from rmwbench.errors import UserError
from rmwbench.published.committee import agreement
from rmwbench.published.committee.agreement import Agreement
from rmwbench.published.committee.report_parts import gather
from rmwbench.results.model import Ratio
from tests.published.committee import evaluations
from tests.support import synthetic_bundle
from tests.support.command import exit_code

pytestmark = pytest.mark.long

FEW = tuple(arm for arm in synthetic_bundle.ARMS if arm.arm.partition(" ")[2] != "untouched")
"""Enough arms to change places: a report of more takes longer and says the same of two runs."""


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return evaluations.make_evaluation(tmp_path_factory.mktemp("first") / "tsc", FEW)


@pytest.fixture(scope="module")
def second(tmp_path_factory, first):
    """Two candidates of the robot have changed places; the other section is the same."""
    made = evaluations.copy(first, tmp_path_factory.mktemp("second") / "tsc")
    place = made.place(made.sections[1])
    shutil.rmtree(place)
    by_name = {arm.arm: arm for arm in FEW}
    others = {"iceoryx2 event": "cyclonedds tuned", "cyclonedds tuned": "iceoryx2 event"}
    arms = tuple(with_speed_of(arm, by_name[others.get(arm.arm, arm.arm)]) for arm in FEW)
    synthetic_bundle.write(place, blocks=6, arms=arms, workloads=("camera",))
    return made


def with_speed_of(arm, other):
    return dataclasses.replace(arm, base_ns=other.base_ns, bytes_per_ns=other.bytes_per_ns)


@pytest.fixture(scope="module")
def reports(first, second):
    return tuple(gather(session, "", [], needs=()) for session in (first, second))


def test_a_run_agrees_with_itself(first, reports):
    runs = agreement.agreement_of(reports[0], reports[0])
    assert runs.exit_code == 0 and runs.contrary == []
    assert list(runs.counts_by_section) == [section.title for section in first.sections[:2]]
    shown = [part.answer for part in reports[0].measured]
    arms = [arm for one in shown for workload in one.workloads for arm in workload.arms]
    assert runs.total.total() == sum(arm.role != "floor" for arm in arms)
    assert runs.total[Agreement.DECIDED_IN_ONE] == runs.total[Agreement.CONTRARY] == 0
    assert agreement.sentence(runs).endswith("are the same and none is contrary.")


def test_verdicts_that_changed_sides_are_named(reports):
    runs = agreement.agreement_of(*reports)
    pubsub, robot = runs.counts_by_section.values()
    assert runs.exit_code == 1 and pubsub[Agreement.CONTRARY] == 0
    assert robot[Agreement.CONTRARY] == len(runs.contrary)
    assert {"iceoryx2 event", "cyclonedds tuned"} <= {pair.candidate for pair in runs.contrary}
    for pair in runs.contrary:
        sides = {agreement.SIDES[arm.verdict.verdict] for arm in pair.arms}
        assert sides == {"good", "worse"} and pair.workload == "camera"
    counts, contrary = (one.blocks[0].rows for one in agreement.view(runs).sections)
    assert len(counts) == len(runs.counts_by_section) + 1
    assert len(contrary) == len(runs.contrary)


def test_what_made_an_arm_worse_stands_beside_it_and_a_ratio_only_where_it_was_the_ratio():
    ratio = Ratio(value=0.437, low=0.4, high=0.5, blocks=6)
    run = SimpleNamespace(seed=0, created_utc="2026-11-29T12:00:00Z")

    def row(verdict, by):
        worse, best = (
            SimpleNamespace(verdict=SimpleNamespace(verdict=one, by=by, ratio=ratio))
            for one in (verdict, "best" if verdict == "worse" else "worse")
        )
        pair = agreement.RunPair(section="s", workload="w", candidate="c", arms=(worse, best))
        runs = agreement.RunAgreement(run, run, (pair,))
        return agreement.view(runs).sections[1].blocks[0].rows[0][3]

    assert row("worse", "delivery") == "worse by delivery"
    assert row("worse", "failure") == "worse by failure"
    assert row("worse", "primary") == "worse 0.437×"
    assert row("best", None) == "best 0.437×"


def test_evaluations_without_a_common_workload_are_refused(first, reports):
    nothing = gather(dataclasses.replace(first, sections=[]), "", [], needs=())
    with pytest.raises(UserError, match="no workload in common"):
        agreement.agreement_of(reports[0], nothing)


def test_compare_takes_two_evaluations(first, second, tmp_path, capsys):
    both = [str(first.directory), str(second.directory)]
    assert exit_code("compare", *both, "--json") == 1
    assert json.loads(capsys.readouterr().out)["schema"] == "rmwbench/evaluation-agreement"
    code = exit_code("compare", *both, "-o", tmp_path / "page.html")
    assert code == 1 and "are contrary" in (tmp_path / "page.html").read_text()
    assert exit_code("compare", *both, "-o", tmp_path / "page.md") == 1
    text = (tmp_path / "page.md").read_text()
    assert text.startswith("# Two runs of one evaluation\n") and "<html" not in text
    assert "that both runs decide" in capsys.readouterr().out
    code = exit_code("compare", *both, "--margin", "5%")
    assert code == 2 and "leave --margin out" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("first", "second", "agreement_of_both"),
    [
        ("alone", "alone", Agreement.ABSENT),
        ("alone", "best", Agreement.ABSENT),
        ("no data", "worse", Agreement.ABSENT),
        ("undecided", "best", Agreement.DECIDED_IN_ONE),
        ("equivalent", "best", Agreement.SAME),
    ],
)
def test_a_candidate_that_was_alone_was_not_compared(first, second, agreement_of_both):
    arms = tuple(SimpleNamespace(verdict=SimpleNamespace(verdict=one)) for one in (first, second))
    pair = agreement.RunPair(section="s", workload="w", candidate="c", arms=arms)
    assert pair.agreement is agreement_of_both


@pytest.mark.parametrize(
    ("same", "contrary", "text"),
    [
        (1, 0, "Of 1 verdict that both runs decide, 1 is the same and none is contrary."),
        (0, 2, "Of 2 verdicts that both runs decide, none is the same and 2 are contrary."),
    ],
)
def test_the_sentence_counts_one_and_none(same, contrary, text):
    total = Counter({Agreement.SAME: same, Agreement.CONTRARY: contrary})
    assert agreement.sentence(SimpleNamespace(total=total)) == text
