"""Surveys: questions are found by their answers, nothing is shown of single people's answers, and
tests err as rarely as they say."""

import csv
import json

import pytest

from rmwbench.errors import UserError
from rmwbench.published.community import survey_view as show
from rmwbench.published.community.survey_analysis import analyse
from rmwbench.published.community.survey_file import (
    AGREEMENT,
    FREE_TEXTS,
    NO_OPINION,
    PROFILE_COLUMNS,
    STATEMENTS,
    parse_scale,
    read,
    scale_of,
    survey_file,
    write_form,
)
from rmwbench.report.render.markdown import render_markdown
from rmwbench.report.view import Picture
from rmwbench.results.model import document
from tests.support.command import captured

SECRET = "my employer's secret robot"
LEVELS = AGREEMENT.levels


def run(capsys, *words):
    return captured(capsys, "published", "community", "survey", *words)


def table(
    tmp_path,
    rows,
    header=("Timestamp", "Middleware", "How? [Fast]", "How? [Easy]", "Tell us more"),
    name="s.csv",
):
    path = tmp_path / name
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture
def answers(tmp_path):
    """Eight answers of a, seven of b, two of c; a agrees that it is fast and b does not, and both
    find it as easy."""
    rows = [["t", "a", "Strongly Agree", LEVELS[i % 5], f"{SECRET} {i}"] for i in range(8)]
    rows += [["t", "b", "disagree" if i else "N/A", LEVELS[i % 5], ""] for i in range(7)]
    rows += [["t", "c", "Neutral", "No opinion / not applicable", SECRET]] * 2
    return table(tmp_path, rows)


def test_questions_are_found_by_their_answers(answers):
    survey = read(survey_file(answers), group_by="Middle")
    assert [(q.label, q.text) for q in survey.questions] == [("Q1", "Fast"), ("Q2", "Easy")]
    assert survey.questions[0].answers[:9] == (4,) * 8 + (None,)
    assert survey.questions[0].answers[9] == 1
    assert survey.people == 17 and survey.other_columns == 2 and survey.group_by == "Middleware"


def test_the_document_has_no_words_of_anybody(answers):
    result = analyse(read(survey_file(answers), group_by="Middleware"))
    text = json.dumps(document(result)) + render_markdown(show.view(result))
    assert SECRET not in text and "secret" not in text
    assert result.groups == {"everyone": 17, "a": 8, "b": 7}  # c's two could be recognised
    assert result.not_shown.columns == 2


def test_counts_medians_and_the_comparison(answers):
    result = analyse(read(survey_file(answers), group_by="Middleware"))
    fast = result.questions[0].groups
    assert fast["a"].counts == [0, 0, 0, 0, 8] and fast["a"].median.value == "Strongly Agree"
    assert fast["b"].counts == [0, 6, 0, 0, 0] and fast["b"].no_opinion == 1
    assert fast["a"].upper_half.value == 1.0 and 0.5 < fast["a"].upper_half.low < 1
    first, second = result.comparison.of
    assert result.comparison.groups == ("a", "b")
    assert first.verdict == "higher" and first.delta.value == 1.0
    assert first.p_holm == 2 * first.p
    # of C(14, 6) only one is as far
    assert first.p == pytest.approx(1 / 3003) and "exact" in first.method
    assert second.verdict == "undecided" and second.p_holm >= second.p
    swapped = analyse(read(survey_file(answers), group_by="Middleware"), ("b", "a"))
    back = swapped.comparison.of[0]
    assert back.verdict == "lower" and back.p == pytest.approx(first.p)


def test_other_scales(tmp_path):
    words = ["Never", "Rarely", "Often"]
    path = table(tmp_path, [["x", words[i % 3]] for i in range(9)], ("who", "how often"))
    assert scale_of(words).name == "frequency"
    assert scale_of(["7", "12"]) is None and scale_of(["", "N/A"]) is None
    assert read(survey_file(path)).questions[0].scale.name == "frequency"
    mine = table(
        tmp_path, [["x", "hot" if i else "cold"] for i in range(6)], ("who", "how warm"), "t.csv"
    )
    with pytest.raises(UserError, match="--scale"):
        read(survey_file(mine))
    survey = read(survey_file(mine), scale=parse_scale("cold, mild, hot"))
    assert survey.questions[0].answers == (0, 2, 2, 2, 2, 2)
    assert (
        read(survey_file(mine), scale=parse_scale("hot,cold"), columns=["warm"])
        .questions[0]
        .answers[0]
        == 1
    )


@pytest.mark.parametrize("text", ["one", "a,A", "a,,b", "a,n/a"])
def test_scales_that_are_none(text):
    with pytest.raises(UserError, match="--scale"):
        parse_scale(text)


def test_a_typing_error_is_an_error_with_its_line(answers):
    text = answers.read_text().replace("disagree", "disagre", 1)
    answers.write_text(text)
    with pytest.raises(UserError, match="unknown answer to 'Fast'") as raised:
        read(survey_file(answers))
    assert f"{answers}:11" in raised.value.render()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an empty file"),
        ("a,b\n", "no responses"),
        ("a,b\n1\n", "another length"),
        ("a,b\n1,2\n", "no column has answers"),
        ('a,b\n"1,2\n', "not comma-separated"),
    ],
)
def test_damaged_files(tmp_path, text, words):
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        read(survey_file(path))


@pytest.mark.parametrize(
    ("group", "compare", "words"),
    [
        ("Nobody", None, "no such column"),
        ("How", None, "2 columns have that"),
        (None, ("a", "b"), "which group"),
        ("Middleware", ("a", "zenoh"), "no such group"),
        ("Middleware", ("a", "a"), "with itself"),
        ("Middleware", ("a", "c"), "no such group"),
    ],
)
def test_groups_that_are_none(answers, group, compare, words):
    with pytest.raises(UserError, match=words):
        analyse(read(survey_file(answers), group_by=group), compare)


def test_a_group_without_an_opinion_has_no_data(tmp_path):
    rows = [["t", "a", "Agree", "Neutral", ""]] * 6 + [["t", "b", "N/A", "Agree", ""]] * 6
    result = analyse(read(survey_file(table(tmp_path, rows)), group_by="Middleware"))
    assert result.questions[0].groups["b"].no_data == "nobody answered"
    assert result.comparison.of[0].no_data == "a group did not answer"
    assert result.comparison.questions_tested == 1 and result.comparison.of[1].p_holm is not None
    show.view(result, draw=True)


def test_a_group_with_one_answer_is_not_said_to_agree_with_the_other(tmp_path):
    rows = [["t", "a", LEVELS[n % 5], "Neutral", ""] for n in range(6)]
    rows += [["t", "b", "N/A" if n else "Agree", "Neutral", ""] for n in range(6)]
    result = analyse(read(survey_file(table(tmp_path, rows)), group_by="Middleware"))
    assert [x.no_data for x in result.comparison.of] == [
        "a group has one answer",
        "all answers are the same",
    ]


def test_a_comparison_without_any_test_names_none(tmp_path):
    rows = [["t", group, "Agree", "Neutral", ""] for group in "ab" for _ in range(5)]
    result = analyse(read(survey_file(table(tmp_path, rows)), group_by="Middleware"))
    text = render_markdown(show.view(result))
    assert "Different after correction: 0 of 0 questions (0 before it)." in text
    assert "Mann-Whitney, two-sided" not in text


def test_the_blank_form_filled_in_is_read_again(tmp_path, capsys):
    assert run(capsys, "--form", tmp_path / "form")[0] == 0
    blank = tmp_path / "form" / "survey.csv"
    assert (tmp_path / "form" / "survey.md").read_text().count("☐") == 6 * len(STATEMENTS)
    header = next(csv.reader(blank.open(newline="")))
    with open(blank, "a", newline="") as file:
        for n in range(12):
            levels = [LEVELS[(n + k) % 5] if k else NO_OPINION for k in range(len(STATEMENTS))]
            profile = ("now", "jazzy", "x", ("cyclonedds", "zenoh")[n % 2], "own", "wifi", "9")
            csv.writer(file).writerow([*profile, *levels, SECRET])
    assert len(header) == 1 + len(PROFILE_COLUMNS) + len(STATEMENTS) + len(FREE_TEXTS)
    with pytest.raises(UserError, match="a form already"):
        write_form(tmp_path / "form")
    code, out, _ = run(capsys, blank, "--group", "Middleware", "--json")
    assert code == 0
    doc = json.loads(out)
    # nobody had an opinion on the first
    assert [q["text"] for q in doc["questions"]] == list(STATEMENTS[1:])
    assert doc["groups"] == {"everyone": 12, "cyclonedds": 6, "zenoh": 6} and "published" not in doc


def test_the_verb_prints_tables_and_no_words(answers, capsys, tmp_path):
    page = tmp_path / "p.html"
    code, out, _ = run(capsys, answers, "--group", "Middleware", "--report", page)
    assert code == 0
    assert "Cliff's delta" in out and "secret" not in out + page.read_text()
    for arguments in ([], [tmp_path], [answers, "--report", tmp_path / "no" / "p.html"]):
        assert run(capsys, *arguments)[0] == 2


def test_every_scale_has_its_picture_whose_levels_differ_in_colour(tmp_path):
    sevens = ["Strongly Disagree", "Disagree", "Somewhat Disagree", "Neutral", "Somewhat Agree",
              "Agree", "Strongly Agree"]  # fmt: skip
    often = ["Never", "Rarely", "Sometimes", "Often", "Always"]
    header = ("who", "How? [Fast]", "how often")
    path = table(tmp_path, [["x", sevens[n % 7], often[n % 5]] for n in range(14)], header)
    result = analyse(read(survey_file(path)))
    assert set(result.scales) == {"agreement of 7", "frequency"}
    (section, *_) = show.view(result, draw=True).sections
    pictures = [block for block in section.blocks if isinstance(block, Picture)]
    assert [picture.of for picture in pictures] == list(result.scales)
    for picture, levels in zip(pictures, result.scales.values(), strict=True):
        scale = picture.spec["encoding"]["color"]["scale"]
        assert scale["domain"] == levels and len(set(scale["range"])) == len(levels)


def test_a_scale_of_more_levels_than_shades_has_no_picture_and_says_so(tmp_path):
    levels = [f"level {n}" for n in range(9)]
    path = table(tmp_path, [["x", levels[n % 9]] for n in range(18)], ("who", "how warm"))
    result = analyse(read(survey_file(path), scale=parse_scale(",".join(levels))))
    text = render_markdown(show.view(result, draw=True))
    assert "There is no picture of scale as told" in text


def test_a_sign_flips_where_the_two_differences_have_opposite_signs(answers):
    def difference(x, published, corrected):
        return {
            "figure": "survey_difference", "x": x, "as_published": published,
            "as_corrected": corrected, "note": None,
        }  # fmt: skip

    published = [difference("Q1", 0.1, 0.2), difference("Q2", -0.1, 0.2)]
    result = analyse(read(survey_file(answers)), published=published)
    assert "changes its sign on Q2." in render_markdown(show.view(result))
