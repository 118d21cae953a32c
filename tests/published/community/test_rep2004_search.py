"""Whether a repository has a declaration: by the names of files, on every branch and tag, with the
day of the copy."""

import json

import pytest

from rmwbench.published.community.community_views import view_of
from rmwbench.published.community.rep2004.side_by_side import (
    OtherDeclaration,
    compare,
    search_declarations,
    view,
)
from rmwbench.report.render.markdown import render_markdown
from tests.published.community.git_repository import Git
from tests.support.command import captured
from tests.support.program import script


@pytest.fixture
def git(tmp_path):
    git = Git(tmp_path / "wheels")
    git.commit("2024-05-01", "readme.md", "quality\n")
    return git


def test_none_is_said_with_place_and_day_and_is_not_a_no(git):
    git("tag", "1.0")
    search = search_declarations("acme/wheels", git.path)
    assert (search.found, search.elsewhere) == ([], [])
    assert (search.as_of, search.branch) == ("2024-05-01", "main")
    assert (search.branches, search.tags) == (1, 1)
    compared = compare([("acme/wheels", git.path)])
    assert compared.packages == [] and compared.searched == [search]
    text = render_markdown(view(compared))
    assert "no declaration found in acme/wheels as of 2024-05-01" in text and "not stated" in text


def test_one_on_another_branch_or_an_old_tag_is_named_with_its_day(git):
    git("checkout", "-q", "-b", "archive")
    git.commit("2024-05-02", "pkg/QUALITY_DECLARATION.md", "x\n")
    git("tag", "-a", "-m", "x", "skeleton", at="2024-05-09")
    git.commit("2024-05-03", "pkg/other.md", "x\n")
    git("checkout", "-q", "main")
    search = search_declarations("acme/wheels", git.path)
    assert search.found == [] and search.as_of == "2024-05-01"
    assert search.elsewhere == [
        OtherDeclaration(path="pkg/QUALITY_DECLARATION.md", ref="archive", date="2024-05-03")
    ]
    assert "archive, 2024-05-03" in render_markdown(view(compare([("acme/wheels", git.path)])))


def test_one_on_the_default_branch_is_named(git):
    git.commit("2024-05-02", "pkg/QUALITY.md", "x\n")
    search = search_declarations("acme/wheels", git.path)
    assert search.found == ["pkg/QUALITY.md"] and search.elsewhere == []
    text = render_markdown(view(compare([("acme/wheels", git.path)])))
    assert "pkg/QUALITY.md in acme/wheels as of 2024-05-02" in text
    assert "no declaration found" not in text


def test_programs_that_a_repository_configures_are_not_run_for_a_date(git, tmp_path):
    git.commit("2024-05-02", "pkg/QUALITY.md", "## Version Scheme [1.i]\n\nIt is semver.\n")
    git.commit("2024-05-03", ".gitattributes", "*.md diff=shown\n")
    ran = tmp_path / "ran"
    program = script(tmp_path / "program", f'touch {ran}\ncat "$1"')
    git("config", "diff.shown.textconv", str(program))
    git("blame", "pkg/QUALITY.md")
    assert ran.exists()  # git alone would run it
    ran.unlink()
    (package,) = compare([(None, git.path / "pkg" / "QUALITY.md")]).packages
    assert package.date == "2024-05-02" and not ran.exists()


def test_it_stands_beside_the_declarations_that_were_read(git, tmp_path, capsys):
    file = tmp_path / "QUALITY.md"
    claim = (
        "# Quality Declaration\n\nThe package claims to be in the **Quality Level 2** category.\n"
    )
    file.write_text(f"{claim}\n## Version Scheme [1.i]\n\nIt is semver.\n")
    words = ("rep2004", f"axle={file}", f"acme/wheels={git.path}", "--json")
    code, out, _ = captured(capsys, "published", "community", *words)
    doc = json.loads(out)
    assert code == 0
    assert [p["package"] for p in doc["packages"]] == ["axle"] and len(doc["searched"]) == 1
    assert titles(doc, tmp_path)[:2] == ["Requirements", "Whether there is one"]
    del doc["searched"]  # as documents were made before
    assert "Whether there is one" not in titles(doc, tmp_path)


def titles(doc, tmp_path) -> list[str]:
    """Return the titles of the sections of a saved document."""
    path = tmp_path / "rep2004.json"
    path.write_text(json.dumps(doc))
    return [section.title for section in view_of(path).sections]
