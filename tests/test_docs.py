"""The documents say what the code has: links lead somewhere, tables and verbs are complete."""

import importlib.util
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from rmwbench.bundle.schema import TABLES
from rmwbench.cli.main import VERBS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [x for x in targets if not x.startswith("http") and not (page.parent / x).exists()]
    assert missing == []


def test_every_row_of_the_architecture_leads_to_its_files():
    """A name alone is that of a file beside one that the same row names in full."""
    lost = []
    for row in (ROOT / "docs/develop/architecture.md").read_text().splitlines():
        paths = [ROOT / x for x in re.findall(r"`((?:rmwbench|native|workers)/[a-z0-9_./]+)`", row)]
        folders = [ROOT, *(path if path.is_dir() else path.parent for path in paths)]
        names = re.findall(r"`([\w/]+\.(?:py|rs))`", row)
        lost += [path for path in paths if not path.exists()]
        lost += [x for x in names if not any((folder / x).exists() for folder in folders)]
    assert lost == []


def test_every_page_is_reached_from_the_readme():
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        reached.add(page)
        found = (
            (page.parent / x).resolve() for x in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
        )
        todo += [x for x in found if x.exists() and x not in reached]
        if "(docs/formats/)" in page.read_text():
            todo += [x for x in (ROOT / "docs/formats").glob("*.md") if x not in reached]
    assert set(PAGES) - reached == set()


def test_the_page_of_verbs_has_every_verb():
    page = (ROOT / "docs/verbs.md").read_text()
    assert [verb for verb in VERBS if f"`rmwbench {verb}" not in page] == []


def site():
    """setup/site.py, which MkDocs loads by its path."""
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "setup/site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_has_its_place_in_the_site():
    def pages(entry):
        if isinstance(entry, str):
            return [entry]
        return [
            page
            for one in (entry.values() if isinstance(entry, dict) else entry)
            for page in pages(one)
        ]

    nav = pages(YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text())["nav"])
    hooks = site()
    written = [name for name in hooks.WRITTEN if name.endswith(".md")]
    assert sorted(nav) == sorted(
        [*written, *(hooks.place(str(page.relative_to(ROOT))) for page in PAGES)]
    )


@pytest.mark.parametrize("name", site().WRITTEN)
def test_what_the_site_writes_is_written_and_its_links_lead_somewhere(name):
    text = site().written(name)
    assert len(text) > 1000
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if name.endswith(".md") else []
    here = ROOT / "docs" / Path(name).parent
    missing = [x for x in targets if not x.startswith("http") and not (here / x).exists()]
    assert missing == []


@pytest.mark.parametrize(
    ("page", "text", "becomes", "takes"),
    [
        ("README.md", "[a](docs/suites.md#x)", "[a](suites.md#x)", []),
        ("docs/suites.md", "[a](../README.md)", "[a](index.md)", []),
        ("docs/formats/plan.md", "[a](../suites.md)", "[a](../suites.md)", []),
        (
            "docs/formats/plan.md",
            "[`a`](../../suites/quick.yaml)",
            "[`a`](../files/suites/quick.yaml)",
            ["quick"],
        ),
        ("docs/limits.md", "in [limits/](../limits).", "in limits/.", []),
        ("docs/limits.md", "[a](https://example.org/b)", "[a](https://example.org/b)", []),
        ("docs/findings.md", "![a](findings/x.svg)", "![a](findings/x.svg)", []),
    ],
)
def test_links_lead_to_the_same_in_the_site(page, text, becomes, takes):
    told, files = site().rewritten(text, page)
    assert told == becomes and [Path(file).stem for file in files] == takes


@pytest.mark.parametrize("table", TABLES)
def test_the_bundles_page_has_every_table(table):
    page = (ROOT / "docs/formats/bundle.md").read_text()
    assert re.search(rf"^\| ([\w, ]+, )?{table}(, [\w, ]+)? \|", page, re.MULTILINE)
