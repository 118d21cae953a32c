"""The questionnaire: every question of the source is there, every measurement exists, evidence has
its sources, and all forms say the same."""

import functools
import json
import re
from dataclasses import replace

import pytest

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.errors import UserError
from rmwbench.published.campaign import of_shown
from rmwbench.published.questionnaire import questions_file
from rmwbench.published.questionnaire.questionnaire_view import view
from rmwbench.published.questionnaire.questions_file import (
    Answers,
    QuestionEvidence,
    Questionnaire,
    answers_text,
    check,
    load,
    measured_here,
)
from rmwbench.published.questionnaire.responses import (
    ANSWERED,
    IN_PART,
    MEASURED,
    NO_DATA,
    NOT_APPLICABLE,
    OPEN,
    UNKNOWN,
    answer_questions,
    merged_documents,
    reduced_document,
)
from rmwbench.published.summaries import campaign_of
from rmwbench.report.render.html import render_html
from rmwbench.report.render.markdown import render_markdown
from rmwbench.results.model import Estimate
from rmwbench.results.model import document as as_document
from rmwbench.results.workload.workload_arm import as_installed
from rmwbench.suite.file.candidates_file import known_candidates
from rmwbench.suite.file.load import load as load_suite
from rmwbench.suite.file.suite_files import name_in_bundles, shipped_suites
from rmwbench.suite.file.tree import validated
from tests.published.claims.headings import headings, named, source_text
from tests.report.example_document import HOSTILE, example
from tests.support.command import captured

ASKED, EVIDENCE = load("fastdds-2021")
COLUMNS = [middleware.name for middleware in ASKED.middlewares]
suite_of = functools.cache(load_suite)
SECTIONS = ("Performance", "Services", "WiFi", "Features", "Quality")


def asked_in_the_source() -> list[str]:
    text = source_text(ASKED.text)
    asked, section = [], None
    for heading in headings(ASKED.text, text):
        if re.search(rf"^## {re.escape(heading)}\s*$", text, re.MULTILINE):
            section = heading
        elif section in SECTIONS:
            asked.append(heading)
    return asked


def test_every_question_of_the_source_is_asked_and_no_other():
    source = asked_in_the_source()
    assert len(source) > 20
    assert [h for h in source if sum(named(q.heading, h) for q in ASKED.questions) != 1] == []
    of_the_source = [q for q in ASKED.questions if q.url is None]
    assert [q.id for q in of_the_source if sum(named(q.heading, h) for h in source) != 1] == []


@pytest.mark.parametrize("question", [q for q in ASKED.questions if q.measured], ids=lambda q: q.id)
def test_every_measurement_names_cells_that_exist_for_some_of_the_middlewares(question):
    for measurement in question.measured:
        assert measurement.suite in shipped_suites()
        suite = suite_of(measurement.suite)
        assert suite.suite == name_in_bundles(measurement.suite)
        assert measurement.workload in (None, *(workload.name for workload in suite.workloads))
        for factor, level in measurement.at.items():
            assert level in suite.factors[factor], (measurement.suite, factor, level)
        assert [name for name in measurement.metrics if name not in GLOSSARY] == []
        meant = {name for middleware in ASKED.middlewares for name in middleware.arms}
        arms = [
            arm
            for arm in suite.arms
            if not measurement.as_installed or as_installed(arm.definition(), arm.profile.name)
        ]
        assert meant & {name for arm in arms for name in arm.middlewares}, measurement.suite


def test_what_no_measurement_answers_has_evidence_for_every_middleware():
    given = {(item.question, item.middleware) for item in EVIDENCE}
    without = [(q.id, name) for q in ASKED.questions if not q.measured for name in COLUMNS]
    assert [pair for pair in without if pair not in given] == []


def campaign(**about):
    """Return the example as a campaign, with other facts about it."""
    return replace(of_shown(example()), **about)


def answers_to(campaigns, question="large-images"):
    """Return all answers, and those to one question by middleware."""
    answers = answer_questions(ASKED, EVIDENCE, campaigns)
    (to_it,) = [to_each for one, to_each in answers.by_question if one.id == question]
    return answers, {answer.middleware: answer for answer in to_it}


def test_a_campaign_answers_with_value_interval_and_what_it_rests_on_of_the_arms_that_are_meant():
    _, before = answers_to([])
    assert {answer.state for answer in before.values()} == {OPEN}
    answers, by_middleware = answers_to([campaign()])
    assert by_middleware["Zenoh"].state == MEASURED
    values = by_middleware["Zenoh"].measured
    assert {value.arm.arm for value in values} == {"zenoh untouched"}, (
        "unconfigured: the tuned arm is not an answer"
    )
    assert {value.workload for value in values} == {"camera"}
    (median,) = [value for value in values if value.metric == "response_latency_p50"]
    row = median.document()
    assert row["low"] < row["value"] < row["high"]
    assert row["text"].startswith("9.") and "ms [" in row["text"] and "trials" in row["basis"]
    assert answers.counts[MEASURED] > 0


def test_an_arm_without_data_was_measured_and_has_its_reason():
    def without_data(arm):
        why = "no mode shm" if arm.middleware == "zenoh" else None
        return replace(arm, metrics={}, not_supported=why)

    workloads = tuple(
        replace(workload, arms=tuple(map(without_data, workload.arms)))
        for workload in campaign().workloads
    )
    answers, by_middleware = answers_to([campaign(workloads=workloads)])
    zenoh, fastdds = by_middleware["Zenoh"], by_middleware["Fast DDS"]
    assert zenoh.state == fastdds.state == NO_DATA
    assert by_middleware["iceoryx2"].state == OPEN, "none of its arms is there"
    assert answers.counts[NO_DATA] == sum(
        answer.state == NO_DATA for to_each in answers.answers for answer in to_each
    )
    reasons = {value.number_text.basis for value in zenoh.measured}
    assert reasons == {"not supported: no mode shm"}
    assert {value.number_text.full for value in fastdds.measured} == {"no data"}


def test_what_is_kept_of_a_campaign_answers_the_same_and_is_small():
    shown = example()
    document = reduced_document(ASKED, campaign())
    whole = answer_questions(ASKED, EVIDENCE, [campaign()]).document()
    read = [campaign_of(one) for one in json.loads(answers_text([document]))["campaigns"]]
    again = answer_questions(ASKED, EVIDENCE, read).document()
    assert again["questions"] == whole["questions"] and whole["summary"][MEASURED] > 0
    assert len(answers_text([document])) < len(json.dumps(as_document(shown))) / 5
    assert {workload["workload"] for workload in document["workloads"]} == {"camera"}


def test_states_follow_from_the_evidence():
    def state(question, *kinds):
        items = [
            QuestionEvidence(
                question=question,
                middleware="Zenoh",
                kind=kind,
                answer="something",
                date="2026-11-21",
                url="https://example.org",
            )
            for kind in kinds
        ]
        answers = answer_questions(ASKED, items, [])
        (to_it,) = [to_each for one, to_each in answers.by_question if one.id == question]
        return next(answer.state for answer in to_it if answer.middleware == "Zenoh")

    assert state("roadmap") == UNKNOWN
    assert state("roadmap", "unknown", "third party") == ANSWERED
    assert state("roadmap", "not applicable") == NOT_APPLICABLE
    assert state("range") == state("range", "unknown") == OPEN


def test_an_arm_of_no_known_version_has_none_in_the_table():
    workloads = tuple(
        replace(workload, arms=tuple(replace(arm, version=None) for arm in workload.arms))
        for workload in campaign().workloads
    )
    text = render_markdown(view(answers_to([campaign(workloads=workloads)])[0]))
    assert "zenoh untouched (" in text and "(None" not in text


def test_all_forms_show_every_answer_and_nothing_breaks_out_of_the_page():
    answers, by_middleware = answers_to([campaign(title=HOSTILE)])
    text = next(
        value.number_text.text
        for value in by_middleware["Zenoh"].measured
        if value.metric == "response_latency_p50"
    )
    forms = (render_html(view(answers)), render_markdown(view(answers)))
    for form in forms:
        assert text in form
        assert all(question.id in form for question in ASKED.questions)
        assert all(item.url is None or item.url in form for item in EVIDENCE)
    assert HOSTILE not in forms[0]


BAD = """
evidence: fastdds-2021
items:
  - {{question: roadmap, middleware: Zenoh, kind: {kind}, date: "{date}", answer: "a roadmap"{more}}}
"""


@pytest.mark.parametrize(
    ("kind", "date", "more", "told"),
    [
        ("self-declared", "2026-11-21", "", "has no source"),
        ("probed", "2026-11-21", "", "has the command that shows it"),
        (
            "unknown",
            "2026-11-21",
            ', command: "rmwbench run quick"',
            "has the command that shows it",
        ),
        ("third party", "2026-11-21", ', url: "http://example.org"', "url"),
        ("unknown", "yesterday", "", "this is not a date"),
        ("rumour", "2026-11-21", "", "kind"),
    ],
)
def test_evidence_without_its_source_is_told_with_its_line(kind, date, more, told):
    with pytest.raises(UserError) as raised:
        validated(BAD.format(kind=kind, date=date, more=more), where="evidence.yaml", model=Answers)
    assert "evidence.yaml:4" in raised.value.render() and told in raised.value.render()


def test_evidence_of_nothing_that_was_asked_is_refused():
    for changes in ({"question": "roadmaps"}, {"middleware": "FastDDS"}):
        item = EVIDENCE[0].model_copy(update=changes)
        with pytest.raises(UserError, match=r"unknown (question|middleware)"):
            check(ASKED, (item,), "evidence.yaml")


def test_a_question_has_one_id():
    twice = (ASKED.questions[0], ASKED.questions[0])
    with pytest.raises(ValueError, match="two questions have the id"):
        Questionnaire.model_validate(ASKED.model_copy(update={"questions": twice}).model_dump())
    with pytest.raises(UserError, match="has no questions"):
        questions_file.load("galactic-2020")


def run(capsys, *words):
    return captured(capsys, "published", "questionnaire", *words)


def test_the_command_in_each_form(capsys, tmp_path):
    code, out, _ = run(capsys, "--json", "--question", "rtps")
    made = json.loads(out)
    assert (code, made["schema"]) == (0, "rmwbench/questionnaire")
    assert [q["id"] for q in made["questions"]] == ["rtps"]
    code, out, _ = run(capsys, "--question", "rtps")
    assert code == 0 and "DDSI-RTPS 2.5" in out
    target = tmp_path / "q.html"
    assert run(capsys, "--html", str(target))[0] == 0 and "<h2>Quality</h2>" in target.read_text()


def reduced_of(suite, created, **workloads):
    metrics = {"m": {"unit": "ns", "value": 1.0}}
    arms = {
        name: [{"arm": arm, "of": created, "metrics": metrics} for arm in names]
        for name, names in workloads.items()
    }
    return {
        "campaign": {"suite": suite, "created_utc": created},
        "workloads": [{"workload": name, "arms": names} for name, names in arms.items()],
    }


def test_what_is_measured_again_takes_the_place_of_the_old_and_the_rest_stays():
    old = [reduced_of("s", "2026-01", a=["x", "y"], b=["x"]), reduced_of("t", "2026-01", a=["x"])]
    new = [reduced_of("s", "2026-02", a=["x"]), reduced_of("u", "2026-02")]
    assert merged_documents(old, new) == [
        reduced_of("s", "2026-02", a=["x"]),
        reduced_of("s", "2026-01", a=["y"], b=["x"]),
        reduced_of("t", "2026-01", a=["x"]),
    ]


def cells_campaign(suite, *workloads):
    """Return a campaign of the suite in which Zenoh has one value in each of these workloads."""
    (camera,) = [one for one in campaign().workloads if one.workload == "camera"]
    (arm,) = [arm for arm in camera.arms if arm.arm == "zenoh untouched"]
    arm = replace(arm, metrics={"graph_time": Estimate(unit="ns", value=1e6)})
    return campaign(
        suite=suite,
        workloads=tuple(
            replace(camera, workload=name, name=name, arms=(arm,)) for name in workloads
        ),
    )


def test_what_each_further_one_costs_is_not_told_by_one_cell():
    one, two = (
        cells_campaign("discovery", "nodes_4"),
        cells_campaign("discovery", "nodes_4", "nodes_10"),
    )
    assert answers_to([one], "nodes")[1]["Zenoh"].state == IN_PART
    answers, by_middleware = answers_to([two], "nodes")
    assert by_middleware["Zenoh"].state == MEASURED
    assert "discovery" not in by_middleware["Zenoh"].without
    assert "discovery" in by_middleware["Fast DDS"].without
    assert "discovery (Cyclone DDS, Fast DDS, iceoryx2)" in render_markdown(view(answers))


def test_what_is_kept_is_of_cells_that_the_suites_have_today():
    """A workload that was renamed or dropped would never be measured again."""
    by_name = {name_in_bundles(name): name for name in shipped_suites()}
    for campaign in measured_here("fastdds-2021"):
        suite = suite_of(by_name[campaign.suite])
        names = {workload.name for workload in suite.workloads}
        arms = {arm.name for arm in suite.arms} | set(known_candidates().names)
        for workload in campaign.workloads:
            assert workload.name in names, (campaign.suite, workload.workload)
            assert {arm.arm for arm in workload.arms} <= arms, campaign.suite


def test_a_wrong_wish_is_told(capsys, tmp_path):
    code, _, err = run(capsys, "--question", "rtp")
    assert code == 2 and "did you mean" in err
    assert run(capsys, "--json", "--markdown")[0] == 2
    assert run(capsys, "--campaign", str(tmp_path))[0] == 2
    code, _, err = run(capsys, "--save", str(tmp_path / "kept.json"))
    assert code == 2 and "nothing to save" in err and not (tmp_path / "kept.json").exists()


def test_a_question_is_not_chosen_of_what_is_saved(capsys, tmp_path):
    """The choice was ignored without any message."""
    wish = ("--save", str(tmp_path / "kept.json"), "--campaign", str(tmp_path))
    code, _, err = run(capsys, *wish, "--question", "rtps")
    assert code == 2 and "leave --question out" in err
