"""Markdown: the text as a snapshot, charts beside it with their experiment on them, texts that stay
texts."""

from dataclasses import replace

from rmwbench.report.render.markdown import render_markdown
from rmwbench.report.show.suite_view import view, write_markdown
from tests.report.example_document import example
from tests.report.snapshot import check
from tests.support.views import of_view, pictures


def test_snapshot():
    made = view(example(), draw=True)
    images = {
        (one.of, one.key): f"report-charts/{one.of}-{one.key}.svg"
        for one in pictures(of_view(made))
        if one.spec
    }
    check("report.md", render_markdown(made, images))


def test_charts_stand_beside_the_text_and_carry_their_experiment(tmp_path):
    shown = example()
    shown = replace(shown, workloads=shown.workloads[2:], conclusions=())
    written = write_markdown(shown, tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    svgs = [path for path in written if path.suffix == ".svg"]
    assert len(svgs) == len([path for path in written if path.suffix == ".png"]) == 8
    for svg in svgs:
        assert f"({svg.parent.name}/{svg.name})" in text
        content = svg.read_text()
        assert "suite quick" in content and "2026-11-21" in content and "AMD EPYC" in content
    for png in (path for path in written if path.suffix == ".png"):
        assert png.read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob("*.partial"))
