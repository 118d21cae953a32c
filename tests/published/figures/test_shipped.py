"""The shipped figures: every figure of the sources is drawn or has a reason, every experiment
exists, and the extracted points are the data's."""

import functools
import re
from fnmatch import fnmatch

import pytest

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.published.campaign import OVER_TIME
from rmwbench.published.figures.figure_charts import specs
from rmwbench.published.figures.figure_points import draw, shipped_summaries
from rmwbench.published.figures.figures_file import (
    load,
    points_text,
    published_file,
    published_points,
    sources,
)
from rmwbench.published.figures.figures_view import notes
from rmwbench.published.importers.imported_bundle import collect
from rmwbench.published.importers.kinds import KINDS
from rmwbench.published.summaries import shipped as summaries_of
from rmwbench.suite.file.load import load as load_suite
from tests.published.claims.headings import source_text
from tests.published.importers.original import path as original

FILES = {name: load(name) for name in sources()}
DATA = {
    "galactic-2020": "tsc-galactic-2020",
    "fastdds-2021": "tsc-humble-2021",
    "gscam-2025": "newslab-gscam-stress-2025",
}


suite_of = functools.cache(load_suite)


def images(name):
    return [image for figure in FILES[name].all() for image in figure.images]


def ids(name):
    return [figure.id for figure in FILES[name].all()]


@pytest.mark.parametrize("name", FILES)
def test_every_picture_that_the_text_links_has_an_entry(name):
    text = source_text(FILES[name].text)
    linked = re.findall(r"""(?:src="|!\[[^\]]*\]\()\s*([^"\s)]+\.(?:png|svg|jpe?g))""", text)
    known = images(name)
    assert [link for link in linked if not any(fnmatch(link, f"*{k}") for k in known)] == []
    captions = set(re.findall(r"(Figure \d+):", text))
    assert [
        c for c in sorted(captions) if not any(i == c or i.startswith(f"{c} (") for i in ids(name))
    ] == []


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_every_experiment_exists(name):
    for figure in FILES[name].all():
        for measured in (m for part in figure.parts for m in part.measured):
            suite = suite_of(measured.suite)
            where = f"{figure.id}: {measured.suite}"
            assert all(name in GLOSSARY or name in OVER_TIME for name in measured.metrics), where
            workloads = {w.name for w in suite.workloads}
            assert set(measured.workload or ()) <= workloads, where
            levels = dict(suite.factors)
            assert set(measured.at) <= set(levels), where
            for factor, level in measured.at.items():
                for one in level if isinstance(level, tuple) else (level,):
                    assert one in levels[factor], f"{where}: {factor} {one}"
            text = f"{measured.x} {measured.series} {measured.panel or ''}"
            names = {re.sub(r"(%|\+2)$", "", n) for n in re.findall(r"\{([^{}]+)\}", text)}
            names |= {measured.per} if measured.per else set()
            assert names <= {*levels, "arm", "workload", "talker", "listener"}, where


@pytest.mark.parametrize("name", FILES)
def test_every_part_has_points_or_says_why(name):
    file = FILES[name]
    assert set(file.kinds) <= set(KINDS)
    assert bool(file.kinds) == published_file(name).is_file()
    (source,) = draw([(file, published_points(name), "shipped")]).sources
    assert len(source.figures) >= 3
    for figure in source.figures:
        assert figure.parts or figure.original.not_drawn, figure.original.id
        for part in figure.parts:
            where = f"{figure.original.id} {part.original.title}"
            shown = [p for p in part.published.points if p.y is not None]
            assert bool(shown) != bool(part.published.absent), where
            assert "--data" not in (part.published.absent or ""), (
                f"{where}: the shipped points lack it"
            )
            assert part.measured.absent, where
            if part.original.series:
                drawn = {p.series for p in part.published.points}
                assert drawn >= set(part.original.series) or not shown, where


# --- measured
# --------------------------------------------------------------------------------------------------

MEBI = 2.0**-20
SCALES = {
    ("ns", "ms"): {1e-6},
    ("ns*hz", "% of the machine"): {1e-7},
    ("ns*hz", "%"): {1e-7},
    ("cores", "% of the machine"): {100},
    ("cores", "%"): {100},
    ("bytes", "MiB"): {MEBI},
    ("bytes", "KB"): {1 / 1024},
    ("bytes/s", "MB/s"): {1e-6},
    ("bytes/s", "MiB/s"): {MEBI},
    ("hz", "messages/s"): {1, 1 / 2},  # one of the two legs of a round trip
    ("hz", "frames/s"): {1},
    ("fraction", "%"): {100},
    ("fraction", "fraction"): {1},
}
BY_SECOND = {
    "sent": ("messages/s", 1),
    "delivered": ("messages/s", 1),
    "latency_by_second": ("ms", 1e-6),
    "latency_variance_by_second": ("ms²", 1e-12),
}


@functools.cache
def measured(name):
    """Return the source's figures with the shipped points of today's measurements."""
    source = (FILES[name], published_points(name), "shipped")
    return draw([source], shipped_summaries())


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in FILES if summaries_of(name)])
def test_what_is_shipped_is_drawn(name):
    drawn = measured(name)
    (source,) = drawn.sources
    with_value = [
        (figure.original.id, part)
        for figure in source.figures
        for part in figure.parts
        if part.counts["measured"]
    ]
    assert with_value, "no figure of a source that was measured has a measured panel"
    assert drawn.shipped
    for figure, part in with_value:
        titles = {title for chart in specs(part) for title in [chart[0], *_headings(chart[1])]}
        assert any(title.startswith("measured on ") for title in titles), figure
        text = dict(notes(part))["measured"]
        assert part.measured.from_[0].machine in text, figure
        assert re.search(r"\d{4}-\d\d-\d\d, shipped, layer .*\bblocks?\b", text), (
            f"{figure}: {text}"
        )
        cells = part.measured.cells
        assert 0 < cells.measured <= cells.total, figure
        assert (f"only {cells.measured} of" in text) == (cells.measured < cells.total), figure


def _headings(spec):
    return re.findall(r'"([^"]+)"', spec["facet"]["header"]["labelExpr"])


@pytest.mark.parametrize("name", FILES)
def test_measured_values_are_in_the_unit_of_the_original_s_axis(name):
    for figure in FILES[name].all():
        for part in figure.parts:
            for one in part.measured:
                where = f"{figure.id} {part.title}: {one.metric}"
                if one.metric in OVER_TIME:
                    unit, factor = BY_SECOND[one.metric]
                    assert part.y.unit.startswith(unit), where
                    assert one.factor == factor, where
                elif one.inverse is not None:
                    assert (GLOSSARY[one.metric].unit, part.y.unit) == ("hz", "ms"), where
                else:
                    unit = "*".join(GLOSSARY[metric].unit for metric in one.metrics)
                    assert any(
                        one.factor == pytest.approx(f, rel=1e-6) for f in SCALES[unit, part.y.unit]
                    ), where
                    assert one.of_machine == (unit in ("cores", "ns*hz")), where


@pytest.mark.parametrize("name", DATA)
def test_the_extracted_points_are_those_of_the_data(name):
    rows = collect(original(DATA[name]), FILES[name].kinds)
    made = points_text(rows, FILES[name].imported())
    fix = (
        f"run `rmwbench published figures {name} --data PATH --extract {published_file(name).name}`"
    )
    assert made == published_file(name).read_text(encoding="utf-8"), fix
