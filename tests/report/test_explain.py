"""`rmwbench explain`: every arm has its path, its losses and its slowest messages, and bad wishes
are refused."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from rmwbench.analysis.causes.median import Phase
from rmwbench.bundle import Bundle
from rmwbench.cli.main import _app
from rmwbench.errors import UserError
from rmwbench.report.explain import explain_view
from rmwbench.report.explain.explain_view import view
from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.explain import explain_document
from rmwbench.results.explain.explain_document import explanations
from rmwbench.results.explain.explain_model import ArmInTopic, Losses, UndoneTrial
from rmwbench.results.judged_campaign import judge_campaign
from rmwbench.results.show_document import summarise
from rmwbench.results.workload.lost_messages import slow_of
from tests.support import synthetic_bundle
from tests.support.typed import exact, typed
from tests.support.views import texts


@pytest.fixture(scope="module")
def every(directory):
    return explanations(Bundle(directory))


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "bundle"
    synthetic_bundle.write(path, blocks=5, merged=True)
    return path


@pytest.mark.long
def test_every_arm_is_explained_and_what_is_missing_is_accounted_for(every):
    lossy = [one for one in every if one.losses]
    assert lossy and len(lossy) < len(every)
    for one in lossy:
        losses = one.losses
        explained = sum(place.messages for place in losses.places)
        assert losses.missing == explained + losses.not_located or any(
            place.label == "at most" for place in losses.places
        )
    tails = [tail for one in every for tail in one.tails]
    assert tails
    for tail in tails:
        assert sum(cause.messages for cause in tail.causes) == tail.messages <= tail.of
        assert [m.latency_ns for m in tail.worst] == sorted(
            (m.latency_ns for m in tail.worst), reverse=True
        )
        for message in tail.worst:
            assert sum(message.phases_ns.values()) == message.latency_ns


def test_one_trial_is_that_trials_arm_alone(directory, every):
    trial = next(tail.trial for one in every for tail in one.tails)
    (one,) = explanations(Bundle(directory), trial)
    assert {tail.trial for tail in one.tails} == {trial}


def test_a_trial_that_is_not_there_or_was_not_done_is_refused(directory):
    failed = next(line.trial for line in Bundle(directory).trials() if line.status != "done")
    for trial in (99_999, failed):
        with pytest.raises(UserError, match="cannot be explained"):
            explanations(Bundle(directory), trial)


def test_the_verb_prints_text_and_json_of_the_arm_that_was_asked_for(directory, every):
    run = lambda *more: CliRunner().invoke(_app("explain"), ["explain", str(directory), *more])  # noqa: E731
    name = every[0].arm
    shown = run("--arm", name)
    assert shown.exit_code == 0 and name in shown.output and "path" in shown.output
    assert {one["arm"] for one in json.loads(run("--arm", name, "--json").output)} == {name}
    assert isinstance(run("--arm", "nobody").exception, UserError)
    narrowed = run("--workload", every[0].workload, "--arm", "nobody").exception
    assert f"has no arm `nobody` in workload {every[0].workload}" in str(narrowed)


def test_an_arm_without_a_good_trial_lost_nothing_and_is_not_zero(every):
    void = {"trial": 3, "block": 0, "status": "void", "reason": "path: asked for shm"}
    void = typed(UndoneTrial, void | {"codes": ["path"]})
    for undone, why in (
        ((void,), "1 void; the first: path: asked for shm"),
        ((replace(void, reason=None),), "1 void; the first: no reason recorded"),
    ):
        trials = replace(every[0].trials, done=0, failures=undone)
        said = texts(view([replace(every[0], trials=trials, medians=(), losses=None)]).sections)
        assert said[0] == f"no data: no trial is done: {why}"
        assert not any(text.startswith("missing") for text in said)


def test_one_message_and_one_datagram_are_counted_in_the_singular(every):
    place = {"place": "IP reassembly", "count": 1, "unit": "datagrams", "messages": 1}
    place |= {"label": "at most", "text": "it is full"}
    lost = typed(Losses, {"wanted": 30, "missing": 1, "places": [place]})
    one = replace(next(one for one in every if one.trials.done), losses=lost)
    said = texts(view([one]).sections)
    assert "missing: 1 message did not arrive sound and in time" in said
    assert any("IP reassembly: at most 1 message (1 datagram counted there)" in x for x in said)


def test_the_numbers_behind_a_median_are_counted_once(every):
    responses = [one.medians[0].response for one in every if one.medians]
    assert {explain_view._cell(x).why.count("n = ") for x in responses if x.value} == {1}


def test_where_nodes_alone_are_measured_no_message_is_explained(every):
    """Of a node without endpoints explain told that nothing is missing, and a table of no data."""
    nothing = SimpleNamespace(trials=[1], endpoints=())
    assert explain_document.medians(nothing, {}, {}) == ()
    one = replace(next(one for one in every if one.trials.done), medians=(), notes=())
    said = texts(view([replace(one, flags=(), losses=None, tails=())]).sections)
    assert said == ["messages: none: its nodes alone are measured"]
    assert texts(view([]).sections) == [
        "No message is judged here, so there is nothing to explain; `rmwbench show` has the answer."
    ]


def test_a_wake_up_that_has_the_stamp_of_the_take_is_not_a_take_of_0_ns(directory):
    """An executor of rclcpp knows one moment for both."""
    bundle = Bundle(directory)
    campaign = judge_campaign(bundle)
    name, arms = next(iter(campaign.arms.items()))
    typical = explain_document.typical_messages(bundle, campaign, arms)
    stamped = {
        trial: {
            topic: replace(message, phases_ns={**message.phases_ns, Phase.TAKE: 0.0})
            for topic, message in messages.items()
        }
        for trial, messages in typical.items()
    }
    for given, has_take in ((typical, True), (stamped, False)):
        (median, *_) = explain_document.medians(arms[-1], given, campaign.verdicts[name])
        take = median.time(Phase.TAKE)
        assert (take.value is not None) is has_take and (take.value is None or take.value > 0)
    share = next(phase.share for phase in median.phases if phase.phase is Phase.TAKE)
    assert share is None and "one stamp" in take.no_data


def test_a_topic_has_the_reason_of_its_verdict_and_none_where_it_is_not_judged(every):
    metrics = {"response_latency_p50": exact(2e5, "ns", count=30), "loss": exact(0.0, count=30)}
    ratio = {"value": 1.32, "low": 1.16, "high": 1.51, "blocks": 5}
    for verdict, start in (
        ({"verdict": "no data"}, "front: response"),
        ({"verdict": "best"}, "front: best; response"),
        ({"verdict": "worse", "by": "primary", "ratio": ratio}, "front: worse 1.32×; response"),
        ({"verdict": "worse", "by": "delivery"}, "front: worse by delivery; response"),
    ):
        topic = typed(ArmInTopic, {"topic": "front", "metrics": metrics, "verdict": verdict})
        arm = replace(next(one for one in every if one.trials.done), topics=(topic,))
        assert any(start in text for text in texts(view([arm]).sections))


SLOW = typed(Losses, {"wanted": 30, "under_way": 7, "uncounted": ["interfaces"]})


def test_what_waited_to_be_sent_is_not_called_late(every):
    said = texts(view(every).sections)
    worst = [text for text in said if "seq " in text and " = " in text]
    assert worst and all("waiting to be sent" in text and "late" not in text for text in worst)


def test_what_was_slow_is_told_beside_what_was_lost_and_is_not_lost(every):
    one = replace(next(one for one in every if one.trials.done), losses=SLOW)
    said = texts(view([one]).sections)
    assert "missing: nothing" in said and not any("nobody counts" in text for text in said)
    late = "7 messages (23.3 %) were still under way when the trials ended: late, not lost"
    assert f"late: {late}" in said
    assert slow_of(replace(SLOW, under_way=1)).startswith("1 message (3.3 %) was still")
    assert slow_of(replace(SLOW, under_way=0)) is None and slow_of(None) is None


def test_the_document_has_what_was_under_way_apart_from_what_is_missing(directory, every):
    for one in every:
        if one.losses:
            assert one.losses.under_way == 0 < one.losses.missing
    shown = summarise(Bundle(directory))
    workload = shown.workloads[0]
    arms = tuple(
        replace(arm, losses=SLOW) if arm.role == "contender" else arm for arm in workload.arms
    )
    shown = replace(shown, workloads=(replace(workload, arms=arms),))
    said = [x.text for x in conclusions(shown, calibrated=True, margin=0.05, one_host=True)]
    arm = next(arm for arm in arms if arm.role == "contender")
    assert any(f"{arm.arm}: 7 messages (23.3 %) were still under way" in text for text in said)


def test_an_explanation_has_the_parts_of_the_show_document(directory, every):
    shown = [arm for w in summarise(Bundle(directory)).workloads for arm in w.arms]
    for part in (
        "arm",
        "cell",
        "trials",
        "path",
        "notes",
        "flags",
        "losses",
        "tails",
        "chain",
        "layers",
    ):
        assert [getattr(one, part) for one in every] == [getattr(arm, part) for arm in shown]


def test_what_was_not_watched_is_said_once(every):
    assert len([one for one in every if any(tail.unwatched for tail in one.tails)]) > 1
    assert sum(text.startswith("Not watched") for text in texts(view(every).sections)) == 1
