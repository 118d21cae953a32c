"""Campaigns and a limits file -> the decision: pooling, machines, cases, exit codes, and what is
drawn of it."""

import json
from dataclasses import replace

import pytest

from rmwbench.analysis.decide.decisions import FactorOutcomes, FailureCount, Flip, LevelOutcomes
from rmwbench.analysis.verdicts.limit_outcomes import Outcome
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.report.decision_view import view
from rmwbench.report.render.markdown import render_markdown
from rmwbench.results.decide import decide_words
from rmwbench.results.decide.candidate_campaigns import (
    CandidateCase,
    CandidateData,
    Identity,
    MachineData,
    blocks_of,
    candidate,
    limits_in,
)
from rmwbench.results.decide.decide_document import summarise
from rmwbench.results.decide.decide_model import Decided
from rmwbench.results.show_document import summarise as show
from rmwbench.suite.file.limits_file import read_limits
from tests.support import kept, synthetic_bundle
from tests.support.command import rmwbench
from tests.support.edited import campaign_json, journal
from tests.support.typed import typed
from tests.support.views import cells, section, tables, texts

FAST, SLOW = synthetic_bundle.ARMS[1], synthetic_bundle.ARMS[2]
FLOOR = synthetic_bundle.ARMS[0]
NEWER = replace(FAST, version="9.9.9")
TEXT = (
    "limits: mine\ntitle: my robot\nacceptable: {response_latency_p50_ms: %s, undelivered: 0.2}\n"
)


def limits(tmp_path, most_ms=0.04, more=""):
    path = tmp_path / "limits.yaml"
    path.write_text(TEXT % most_ms + more)
    return read_limits(path)


@pytest.fixture(scope="module")
def imu(tmp_path_factory):
    """One campaign that several tests only read."""
    return campaign(tmp_path_factory.mktemp("imu"))


def campaign(tmp_path, name="c", **asked):
    asked = {
        "workloads": ("imu",),
        "arms": (FLOOR, FAST, SLOW),
        "blocks": 6,
        "merged": True,
    } | asked
    return synthetic_bundle.write(tmp_path / name, **asked)


def on_another_machine(tmp_path, **asked):
    path = campaign(tmp_path, "b", **asked)
    with campaign_json(path) as document:
        document["machine"]["summary"] = "another one"
    return path


def decided(tmp_path, *paths, **asked):
    return summarise([Bundle(path) for path in paths], limits(tmp_path, **asked))


def outcomes(answer, machine=0):
    return {one.arm: one.outcome for one in answer.machines[machine].candidates}


def test_the_fast_one_meets_what_the_slow_one_misses(tmp_path, imu):
    answer = decided(tmp_path, imu)
    assert outcomes(answer) == {FAST.arm: "meets", SLOW.arm: "misses"}
    assert answer.outcome == "meets"
    assert f"Take {FAST.arm}" in answer.text
    slow = answer.machines[0].candidates[1]
    assert slow.binding.metric == "response_latency_p50"
    assert 50_000 < slow.binding.measured.value < 75_000


def test_too_few_blocks_of_two_campaigns_are_enough_together(tmp_path):
    first, second = (campaign(tmp_path, name, blocks=3, seed=n) for n, name in enumerate("ab"))
    assert decided(tmp_path, first).outcome == "open"
    both = decided(tmp_path, first, second)
    assert both.outcome == "meets"
    assert {one.blocks for one in both.machines[0].candidates} == {6}
    assert len(both.machines) == 1


def test_what_one_campaign_could_not_run_and_another_did_is_judged_by_what_it_did(tmp_path, imu):
    """In whatever order they are given."""

    def without_fast(name):
        path = campaign(tmp_path, name)
        with campaign_json(path) as document:
            document["plan"]["unsupported"] = [{"cell": 1, "reason": "no memory here"}]
        with journal(path) as lines:
            lines[:] = [line for line in lines if line.get("cell") != 1]
        return path

    unable, again = without_fast("a"), without_fast("b")
    for paths in ((unable, imu), (imu, unable)):
        assert outcomes(decided(tmp_path, *paths))[FAST.arm] == "meets"
    (fast, _) = decided(tmp_path, unable, again).machines[0].candidates
    assert (fast.arm, fast.outcome, fast.why) == (FAST.arm, "misses", "not_supported")
    assert decide_words.reason(fast) == "no memory here"
    text = decided(tmp_path, unable, again, most_ms=1.0).text
    assert f"{FAST.arm} cannot run here." in text and "misses" not in text


def test_machines_stand_side_by_side(tmp_path, imu):
    answer = decided(tmp_path, imu, on_another_machine(tmp_path))
    assert len(answer.machines) == 2 and answer.outcome == "meets"
    assert "On another one:" in answer.text


def test_one_name_of_two_versions_on_two_machines_is_no_one_candidate(tmp_path, imu):
    answer = decided(tmp_path, imu, on_another_machine(tmp_path, arms=(FLOOR, NEWER)))
    assert [outcomes(answer, n)[FAST.arm] for n in (0, 1)] == ["meets", "meets"]
    assert answer.outcome == "open"
    assert (
        "No candidate of one version and profile is shown to meet them everywhere." in answer.text
    )


def test_another_version_is_another_candidate(tmp_path, imu):
    second = campaign(tmp_path, "b", arms=(FLOOR, NEWER, SLOW))
    assert set(outcomes(decided(tmp_path, imu, second))) == {
        FAST.arm,
        f"{FAST.arm} 9.9.9",
        SLOW.arm,
    }


def test_all_cases_must_be_met_and_one_may_be_asked_for(tmp_path):
    path = campaign(tmp_path, workloads=("imu", "camera"))
    both = decided(tmp_path, path)
    assert outcomes(both) == {FAST.arm: "misses", SLOW.arm: "misses"} and both.outcome == "misses"
    assert len(both.machines[0].cases) == 2
    imu = decided(tmp_path, path, more="of: {workload: imu}\n")
    assert outcomes(imu)[FAST.arm] == "meets"


def test_a_factor_that_changes_nothing_has_no_flip(tmp_path):
    answer = decided(tmp_path, campaign(tmp_path, levels=2), more="of: {levels: {level: 1}}\n")
    (along,) = answer.machines[0].along
    assert (along.factor, along.flips) == ("level", ())
    assert [one.meets for one in along.levels] == [(FAST.arm,), (FAST.arm,)]
    assert [case.levels for case in answer.machines[0].cases] == [{"level": 1}]


def test_campaigns_beside_a_recorder_and_without_are_two_cases(tmp_path, imu, monkeypatch):
    usual = synthetic_bundle._cell_row
    monkeypatch.delenv(kept.VARIABLE)

    def row(cell):
        answer = usual(cell)
        definition = json.loads(answer["definition"]) | {"recorder": {"host": "robot"}}
        return answer | {"definition": json.dumps(definition)}

    monkeypatch.setattr(synthetic_bundle, "_cell_row", row)
    answer = decided(tmp_path, imu, campaign(tmp_path, "recorded"))
    assert len(answer.machines[0].cases) == 2


ARM = Identity(
    arm="x", identity="x", middleware="m", layer="native", version="1", profile="untouched"
)


def test_a_case_is_machine_bound_by_its_own_trials():
    asked = (None, "cpu_cores")
    places = [(0, block) for block in range(5)]
    cases = tuple(CandidateCase(f"cameras={n}", "w", {"cameras": n}, True) for n in (1, 2, 4))
    seen = {
        case.name: {
            "x": CandidateData(
                limits={asked: 1.0},
                values={asked: dict.fromkeys(places, 0.5)},
                ran=set(places),
                bound_trials=5 if case.levels["cameras"] == 4 else 0,
            )
        }
        for case in cases
    }
    machine = MachineData("here", ("c",), cases, {"x": ARM}, seen, frozenset(), {})
    limits = limits_in(cases, machine)
    judged = candidate("x", cases, machine, limits)
    assert len(limits) == 3 and judged.machine_bound == {"cameras=4"}


@pytest.mark.parametrize(
    ("metric", "undelivered"),
    [
        ("undelivered", (5, 100)),
        ("loss", (5, 100)),
        ("late_share", (5,)),
        ("never_sent_share", (5,)),
        ("lost_after_first", (5,)),
    ],
)
def test_a_failed_trial_is_wholly_undelivered_and_neither_late_nor_never_sent(metric, undelivered):
    asked = (None, metric)
    seen = CandidateData(values={asked: {(0, 0): (5, 100)}}, failed={(0, 1)})
    by_block = blocks_of(seen, asked)
    assert by_block.kind == "fraction" and by_block.values == undelivered


def test_a_failing_arm_says_how_often(tmp_path):
    failing = replace(FAST, fails=(2,))
    path = campaign(tmp_path, workloads=("camera",), arms=(FLOOR, failing), blocks=8)
    (one,) = decided(tmp_path, path, most_ms=50).machines[0].candidates
    assert one.failed == FailureCount(trials=1, of=8)
    assert one.outcome != "meets"


def test_its_view_has_the_candidates_every_case_and_where_the_answer_flips(tmp_path):
    answer = decided(tmp_path, campaign(tmp_path, levels=2))
    shown = view(answer)
    assert texts(shown.answer) == [answer.text]
    candidates, cases = tables(shown.sections)
    assert [(row[0], row[1]) for row in cells(candidates)] == [*outcomes(answer).items()]
    assert [row[0] for row in cells(cases)] == [one.case for one in answer.machines[0].cases]
    assert len(cells(cases)) == 2
    (along,) = section(shown, "Where the answer flips").blocks
    assert along.lead.startswith("Along level")


def test_the_same_campaign_twice_is_refused(tmp_path, imu):
    with pytest.raises(UserError, match="given twice"):
        decided(tmp_path, imu, imu)


def test_limits_of_a_topic_that_nobody_has_are_refused(tmp_path, imu):
    asked = limits(tmp_path, more="topics: {fornt: {loss: 0.1}}\n")
    for ask in (lambda: summarise([Bundle(imu)], asked), lambda: show(Bundle(imu), asked)):
        with pytest.raises(UserError, match="topic or reader of these campaigns is called `fornt`"):
            ask()


def told(*outcomes, levels=(1, 2, 4, 8), before="meets"):
    """The flip of x, which meets or misses the limits, or is open, at each level in turn."""
    at = [
        LevelOutcomes(
            level=level,
            meets=("x",) * (one == "meets"),
            misses=("x",) * (one == "misses"),
            open=("x",) * (one == "open"),
        )
        for level, one in zip(levels, outcomes, strict=False)
    ]
    after = "misses" if before == "meets" else "meets"
    place = max(n for n, one in enumerate(outcomes[:-1]) if one == before and after in outcomes[n:])
    to = outcomes.index(after, place)
    flip = Flip(
        arm="x",
        before=Outcome(before),
        after=Outcome(after),
        from_=at[place].level,
        to=at[to].level,
    )
    return decide_words.flip(
        flip, FactorOutcomes(workload="w", factor="n", fixed={}, levels=tuple(at), flips=(flip,))
    )


def test_up_to_a_level_is_said_only_where_all_below_agree():
    assert told("meets", "meets", "misses", "misses") == (
        "x meets the limits up to n=2 and misses them from n=4 on"
    )
    # One level is none to generalise from, an open one no level that agrees.
    assert told("meets", "misses") == "x meets the limits at n=1 and misses them at n=2"
    assert told("open", "meets", "misses", "open") == (
        "x meets the limits at n=2 and misses them at n=4"
    )
    # What turns twice.
    turning = ("meets", "misses", "meets")
    assert told(*turning) == "x meets the limits at n=1 and misses them at n=2"
    assert told(*turning, before="misses") == "x misses the limits at n=2 and meets them at n=4"
    assert told("misses", "meets", levels=(False, True), before="misses") == (
        "x misses the limits at n=false and meets them at n=true"
    )


@pytest.mark.parametrize(("most_ms", "code"), [("0.04", 0), ("0.001", 1), ("fast", 2)])
def test_the_exit_code_is_the_answer(tmp_path, imu, most_ms, code):
    (tmp_path / "limits.yaml").write_text(TEXT % most_ms)
    done = rmwbench("decide", imu, "--limits", tmp_path / "limits.yaml", "--json")
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    if done.stdout:
        assert json.loads(done.stdout)["schema"] == "rmwbench/decide"
    else:
        assert "limits.yaml:3" in done.stderr


def test_memory_and_its_limit_have_one_unit(tmp_path, imu):
    text = "limits: mine\nacceptable: {pss_mib: 400}\n"
    (tmp_path / "limits.yaml").write_text(text)
    answer = summarise([Bundle(imu)], read_limits(tmp_path / "limits.yaml"))
    for one in answer.machines[0].candidates:
        (met,) = one.limits
        told = decide_words.measured(met)
        assert told.count(" MiB") == 2 and " MB" not in told


def test_who_never_came_to_an_end_does_not_meet_what_nobody_could_measure(tmp_path):
    never = replace(FAST, fails=tuple(range(6)))
    path = campaign(tmp_path, workloads=("camera",), arms=(never,))
    answer = decided(tmp_path, path, most_ms=50)
    assert set(outcomes(answer).values()) == {"misses"}
    (tmp_path / "limits.yaml").write_text("limits: a\ntopics: {data: {loss: 0.1}}\n")
    answer = summarise([Bundle(path)], read_limits(tmp_path / "limits.yaml"))
    assert set(outcomes(answer).values()) == {"unknown"}
    render_markdown(view(answer))


def test_limits_of_nothing_that_was_measured_are_refused(tmp_path, imu):
    with pytest.raises(UserError, match="no measured cell matches the case"):
        decided(tmp_path, imu, more="of: {workload: lidar}\n")


def test_limits_of_topics_alone_do_not_begin_with_an_empty_one():
    """`Limits mine: ; in front undelivered at most 1 %`."""
    of_topics = {"name": "mine", "topics": {"front": [{"metric": "undelivered", "at_most": 0.01}]}}
    answer = typed(Decided, {"limits": of_topics, "rules": {"alpha": 0.05, "min_blocks": 5}})
    (meaning,) = texts(view(answer).about)
    assert meaning.startswith("Limits mine: in front undelivered of at most 1 %. P(all) is")
