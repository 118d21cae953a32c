"""Declarations in the layouts that projects use, written for these tests; what cannot be told is
`not stated`.
Whether a repository has a declaration: by the names of files, on every branch and tag, with the day
of the copy."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmwbench.errors import UserError
from rmwbench.published.community.community_views import view_of
from rmwbench.published.community.rep2004.declaration import classify, open_points, read
from rmwbench.published.community.rep2004.items import ITEMS, LEVELS, by_words, numbers
from rmwbench.published.community.rep2004.side_by_side import (
    OtherDeclaration,
    compare,
    search_declarations,
    view,
)
from rmwbench.report.render.markdown import render_markdown
from tests.published.community.git_repository import Git
from tests.support.command import captured, exit_code
from tests.support.program import script
from tests.support.views import cells, heads, tables, texts

# The layout of core packages: numbered headings, some shared, and a table with their typo (4.iii.a
# twice, 1.vi_).
CORE = """This document declares the quality of the `tiny_rmw` package after [REP-2004](https://example.org/rep).

# `tiny_rmw` Quality Declaration

The package `tiny_rmw` claims to be in the **Quality Level 2** category when used with a **Quality Level 1** library.

Notes on the [Package Requirements for Quality Level 3](https://example.org/rep).

## Version Policy [1]

### Version Scheme [1.i]

Versions follow [semver](https://semver.example/spec).

### Version Stability [1.ii]

We are not yet at a stable version. The number is in [package.xml](package.xml).

### API Stability Within a Released ROS Distribution [1.iv]/[1.vi]

Nothing breaks within a distribution.

## Change Control [2]

Done as others do.

### Change Requests / Origin [2.i, 2.ii]

Everything is a pull request, see [the rules][rules].

### Peer Review Policy [2.iii]

> TODO: agree on one

## Testing [4]

### Coverage [4.iii]

Lines are counted [![badge](https://badge.example/x.svg)](https://cover.example/tiny), 91 % as of 2025-03-04.

### Performance [4.iv]

There are no performance tests.

```
### Security [7.i]
inside a fence this is no heading
```

## Dependencies [5]

It has no dependencies besides libc, which everybody has.

## Platform Support [6]

All of tier 1.

# Current status

☆ = planned for next year

|Number| Requirement| Current state |
|--|--|--|
|1| **Version policy** |---|
|1.i|scheme |✓|
|1.vi_|distribution|✓|
|2.ii|origin|☆|
|3.iii|licence| |
|3.iv|copyright|*|
|4.iii.a|coverage|✓|
|4.iii.a|policy|☓|
|4.iv.a|performance| ✓ |
|4.iv.b|policy| ✓ |

[rules]: https://example.org/rules
"""

RST = """\
===================
Quality Declaration
===================

The package ``tiny_dds`` claims to be in the **Quality Level 3** category.

Version Policy [1]
------------------

Version Scheme [1.i]
~~~~~~~~~~~~~~~~~~~~

It follows `semver <https://semver.example/spec>`_, see the changelog_ and https://bare.example/x.

Public API Declaration [1.iii]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~

This package does not have a public API.

Vulnerability Disclosure Policy [7.i]
-------------------------------------

Write to us; however we do not have a schedule.

.. list-table:: Status
   :header-rows: 1

   * - Number
     - State
   * - 3.iii
     - ✓
   * - 2.iv
     - no

.. _changelog: https://example.org/changelog
"""

# The early template: headings without numbers.
PLAIN = """# plain Quality Declaration

This package meets the requirements of Quality Level 4.

## Version Policy

### Version Scheme

semver

### ABI Stability Within a Released ROS Distribution

Kept.

## Documentation

### License

MIT

## Testing

### Linters and Static Analysis

Run on every change.

## Dependencies

### Direct Runtime Non-ROS Dependencies

libc
"""


def test_the_core_layout():
    declaration = read(CORE, "x.md")
    assert (declaration.package, declaration.level) == ("tiny_rmw", 2)
    status = {n: f.status for n, f in declaration.findings.items()}
    assert status["1.i"] == "met" and status["1.vi"] == "met" and status["1.iv"] == "stated"
    assert status["1.ii"] == "not met" and status["2.i"] == "stated" and status["6.i"] == "stated"
    assert status["2.ii"] == "qualified"
    assert declaration.findings["2.ii"].note == "planned for next year"
    assert status["3.iv"] == "qualified" and "does not explain" in declaration.findings["3.iv"].note
    assert status["4.iii.a"] == "met" and status["4.iii.b"] == "not met"
    untold = {n for n, s in status.items() if s == "not stated"}
    assert {"1.iii", "1.v", "2.iii", "2.iv", "3.i", "3.iii", "7.i"} <= untold
    assert set(status.values()) == {"met", "stated", "not met", "qualified", "not stated"}


def test_evidence_has_lines_links_and_words():
    findings = read(CORE, "x.md").findings
    lines = CORE.split("\n")
    assert lines[findings["1.i"].line - 1] == "### Version Scheme [1.i]"
    links = {number: findings[number].links for number in ("1.i", "1.ii", "2.i", "4.iii.a")}
    assert links == {
        "1.i": ["https://semver.example/spec"],
        "1.ii": ["package.xml"],
        "2.i": ["https://example.org/rules"],
        "4.iii.a": ["https://cover.example/tiny"],
    }
    assert findings["4.iii.a"].as_of == "2025-03-04"
    assert findings["1.ii"].quote == "We are not yet at a stable version."


def test_what_stands_below_headings_of_its_own_belongs_to_the_requirement():
    text = (
        "## Dependencies [5]\n\nIntro.\n\n### Runtime [5.i]/[5.ii]\n\n#### `coverage`\n\n"
        "[Level 1](https://x.example).\n"
    )
    findings = read(text + "\n### Other [5.iii]\n\nlibc\n", "x.md").findings
    assert findings["5.i"].status == findings["5.ii"].status == "stated"
    assert findings["5.i"].links == ["https://x.example"]
    assert findings["4.iii.a"].status == "not stated" and findings["5.iii"].quote == "libc"


def test_restructured_text():
    declaration = read(RST, "x.rst")
    assert (declaration.package, declaration.level) == ("tiny_dds", 3)
    f = declaration.findings
    assert f["1.i"].status == "stated"
    assert set(f["1.i"].links) == {
        "https://semver.example/spec",
        "https://example.org/changelog",
        "https://bare.example/x",
    }
    assert f["1.iii"].status == "not applicable" and f["7.i"].status == "qualified"
    assert f["3.iii"].status == "met" and f["2.iv"].status == "not met"


def test_headings_without_numbers():
    declaration = read(PLAIN, "x.md")
    assert declaration.level == 4
    told = {n for n, f in declaration.findings.items() if f.status != "not stated"}
    assert told == {"1.i", "1.v", "1.vi", "3.iii", "4.v.a", "4.v.b", "5.iii"}


@pytest.mark.parametrize(
    "text", ["", "# Readme\n\nHello\n", "just words", "|a|b|\n|--|--|\n|1|2|\n", "\0\x1b[31m"]
)
def test_other_documents_are_refused(text):
    with pytest.raises(UserError, match="not a quality declaration"):
        read(text, "x.md")


@given(
    st.lists(
        st.sampled_from(
            [*CORE.split("\n"), *RST.split("\n"), "====", "|", "| a | b |", "\t", "[", "```"]
        )
    )
)
@settings(max_examples=60, deadline=None)
def test_any_mixture_of_lines_is_read_or_refused(lines):
    try:
        declaration = read("\n".join(lines), "x")
    except UserError:
        return
    for finding in declaration.findings.values():
        assert (finding.status == "not stated") == (finding.basis == "")
        assert finding.line is None or 1 <= finding.line <= len(lines)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("We do not require a sign-off.", "not met"),
        ("This package doesn't track coverage.", "not met"),
        ("We do not track coverage. However each change is reviewed for tests.", "qualified"),
        ("Coverage is tracked. There is no policy that enforces it.", "qualified"),
        ("While there are no public results, regressions are looked for.", "qualified"),
        ("It will not break within a distribution.", "stated"),
        ("There are no known linter errors.", "stated"),
        ("Not applicable: it is a library of headers.", "not applicable"),
        ("It does not contain any C or C++ code.", "not applicable"),
        ("TODO", "not stated"),
        ("TBD later\n", "not stated"),
        ("\n\n", "not stated"),
    ],
)
def test_texts(text, status):
    assert classify(text, "4.iii.a")[0] == status


def test_numbers_and_words():
    assert numbers("API / ABI Stability [1.iv/1.v/1.vi]") == ["1.iv", "1.v", "1.vi"]
    assert numbers("Performance [4.iv]") == ["4.iv.a", "4.iv.b"] and numbers("Testing [4]") == []
    assert numbers("version 1.2 of 2.x") == [] and numbers("|4.iii.b|") == ["4.iii.b"]
    assert by_words("Optional Direct Runtime ROS Dependencies") == ["5.ii"]
    assert by_words("ABI Stability Policy") == ["1.v"] and by_words("Introduction") == []


def test_the_levels_are_the_reps():
    asked = {level: sum(v == "required" for v in of.values()) for level, of in LEVELS.items()}
    assert asked == {1: 29, 2: 22, 3: 11, 4: 2, 5: 0} and len(ITEMS) == 31
    assert all(number in ITEMS for of in LEVELS.values() for number in of)


def test_open_points_are_of_the_claimed_level():
    points = {p.number: p.status for p in open_points(read(CORE, "x.md"))}
    assert points["1.ii"] == "not met" and points["3.i"] == "not stated"
    assert points["2.ii"] == "qualified"
    assert "2.iii" not in points and "1.i" not in points  # not asked for at level 2; marked


def test_dates_from_git_line_by_line(tmp_path):
    git = Git(tmp_path / "r")
    git.commit("2024-01-01", "QUALITY.md", CORE)
    path = git.path / "QUALITY.md"
    path.write_text(CORE.replace("Everything is a pull request", "All is a pull request"))
    git("commit", "-qam", "two", at="2025-06-01")
    (package,) = compare([(None, path)]).packages
    of = {item.number: item.date for item in package.items}
    assert package.date == "2025-06-01" and package.date_from == "git"
    assert of["2.i"] == "2025-06-01" and of["1.i"] == "2024-01-01" and of["7.i"] is None


def test_the_days_of_a_document_and_of_its_lines_are_of_one_time_zone(tmp_path):
    """Lines were newer than the document that has them."""
    git = Git(tmp_path / "r")
    git.commit("2025-06-01T22:00:00-05:30", "QUALITY.md", CORE)
    (package,) = compare([(None, git.path / "QUALITY.md")]).packages
    assert {item.date for item in package.items} == {package.date, None}
    assert package.date == "2025-06-02"


def test_packages_side_by_side(tmp_path):
    a, b = tmp_path / "a.md", tmp_path / "b.rst"
    a.write_text(CORE)
    b.write_text(RST)
    days = {"tiny_rmw": "2020-01-01", "tiny_dds": "2025-01-01"}
    shown = view(compare([(None, a), (None, b), ("again", a)], days))
    table = tables(shown.sections)[0]
    assert heads(table) == ["requirement", "", "tiny_rmw", "tiny_dds", "again"]
    rows = {row[0]: row for row in cells(table)}
    assert rows["level claimed"][2:] == ["2", "3", "2"]
    assert rows["2.iv"][2:] == ["not stated", "not met", "not stated"]
    assert rows["5.i"][2] == "stated*" and rows["4.iv.a"][2] == "met (!)"
    assert any("18 months" in line for line in texts(shown.about))
    later = tmp_path / "later.md"
    later.write_text(CORE)
    twice = [package.package for package in compare([(None, a), (None, later)]).packages]
    assert twice == [f"tiny_rmw ({a})", f"tiny_rmw ({later})"], (
        "two versions of one package are told apart"
    )


def test_two_files_of_one_package_and_one_day_have_names_that_differ(tmp_path):
    paths = [tmp_path / name for name in ("a.md", "b.md", "c.md")]
    for path in paths:
        path.write_text(CORE)
    days = {"a.md": "2025-01-02", "b.md": "2025-01-02", "c.md": "2026-01-02"}
    compared = compare([(None, path) for path in paths], days)
    names = [package.package for package in compared.packages]
    assert names == [f"tiny_rmw ({paths[0]})", f"tiny_rmw ({paths[1]})", "tiny_rmw (2026-01-02)"]


def test_the_verb(tmp_path, capsys):
    path = tmp_path / "q.md"
    path.write_text(CORE)
    for arguments, code in (
        ([f"mine={path}", "--date", "2025-01-02", "--json"], 0),
        ([str(path)], 0),
        ([str(tmp_path / "none.md")], 2),
        ([str(path), "--date", "soon"], 2),
        ([str(path), "--date", "other=2025-01-02"], 2),
    ):
        assert exit_code("published", "community", "rep2004", *arguments) == code
        shown = capsys.readouterr()
        if "--json" in arguments:
            (package,) = json.loads(shown.out)["packages"]
            assert package["package"] == "mine" and package["date"] == "2025-01-02"


def test_table_and_text_that_contradict_each_other():
    findings = read(CORE, "x.md").findings
    assert findings["4.iv.a"].status == "met" and findings["4.iv.a"].contradicts
    assert "There are no performance tests" in findings["4.iv.a"].note
    agreeing = CORE.replace("|4.iv.a|performance| ✓ |", "|4.iv.a|performance| ☓ |")
    half = read(agreeing, "x.md").findings
    assert not half["4.iv.b"].contradicts  # the text speaks of both, and the table agrees on one


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
