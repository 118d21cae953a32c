"""Whether a repository has a declaration: by the names of files, on every branch and tag, with the
day of the copy."""

import json

import pytest

from rmwbench.published.community.rep2004.declaration_search import search_declarations
from rmwbench.published.community.rep2004.side_by_side import document, view
from rmwbench.report.render.markdown import render_markdown
from rmwbench.report.view import View
from tests.published.community.git_repository import Git
from tests.support.command import exit_code


@pytest.fixture
def git(tmp_path):
    git = Git(tmp_path / "wheels")
    git.commit("2024-05-01", "readme.md", "quality\n")
    return git


def text_of(shown: View) -> str:
    return render_markdown(shown)


def test_none_is_said_with_place_and_day_and_is_not_a_no(git):
    git("tag", "1.0")
    found = search_declarations("acme/wheels", git.path)
    assert (found["found"], found["elsewhere"]) == ([], [])
    assert (found["as_of"], found["branch"], found["branches"], found["tags"]) == (
        "2024-05-01",
        "main",
        1,
        1,
    )
    doc = document([("acme/wheels", git.path)])
    assert doc["packages"] == [] and doc["searched"] == [found]
    told = text_of(view(doc))
    assert "no declaration found in acme/wheels as of 2024-05-01" in told and "not stated" in told


def test_one_on_another_branch_or_an_old_tag_is_named_with_its_day(git):
    git("checkout", "-q", "-b", "archive")
    git.commit("2024-05-02", "pkg/QUALITY_DECLARATION.md", "x\n")
    git("tag", "-a", "-m", "x", "skeleton", at="2024-05-09")
    git.commit("2024-05-03", "pkg/other.md", "x\n")
    git("checkout", "-q", "main")
    found = search_declarations("acme/wheels", git.path)
    assert found["found"] == [] and found["as_of"] == "2024-05-01"
    assert found["elsewhere"] == [
        {"path": "pkg/QUALITY_DECLARATION.md", "ref": "archive", "date": "2024-05-03"}
    ]
    assert "archive, 2024-05-03" in text_of(view(document([("acme/wheels", git.path)])))


def test_one_on_the_default_branch_is_named(git):
    git.commit("2024-05-02", "pkg/QUALITY.md", "x\n")
    found = search_declarations("acme/wheels", git.path)
    assert found["found"] == ["pkg/QUALITY.md"] and found["elsewhere"] == []
    told = text_of(view(document([("acme/wheels", git.path)])))
    assert (
        "pkg/QUALITY.md in acme/wheels as of 2024-05-02" in told
        and "no declaration found" not in told
    )


def test_it_stands_beside_the_declarations_that_were_read(git, tmp_path, capsys):
    file = tmp_path / "QUALITY.md"
    claim = (
        "# Quality Declaration\n\nThe package claims to be in the **Quality Level 2** category.\n"
    )
    file.write_text(f"{claim}\n## Version Scheme [1.i]\n\nIt is semver.\n")
    assert (
        exit_code(
            "published", "community", "rep2004", f"axle={file}", f"acme/wheels={git.path}", "--json"
        )
        == 0
    )
    doc = json.loads(capsys.readouterr().out)
    assert [p["package"] for p in doc["packages"]] == ["axle"] and len(doc["searched"]) == 1
    told = view(doc)
    assert [s.title for s in told.sections][:2] == ["Requirements", "Whether there is one"]
    del doc["searched"]  # as documents were made before
    assert "Whether there is one" not in [s.title for s in view(doc).sections]
