"""The figures document: which imported and measured points go where, and the reason if there are
none."""

import json
from dataclasses import replace

import pytest

from rmwbench.cli.published.figures_verb import ImportedRows, _points
from rmwbench.errors import UserError
from rmwbench.published.campaign import CampaignArm, CampaignWorkload, MeasuredCampaign, seconds_of
from rmwbench.published.figures import figure_charts
from rmwbench.published.figures import figures_view as beside
from rmwbench.published.figures.drawn_figures import FigurePoint
from rmwbench.published.figures.figure_points import draw
from rmwbench.published.figures.figures_file import (
    HEADER,
    FigurePart,
    Figures,
    fill,
    load,
    points_in,
    points_text,
)
from rmwbench.published.figures.figures_view import notes, summary_line, view, write_pictures
from rmwbench.published.importers import import_published
from rmwbench.published.importers.imported_bundle import collect
from rmwbench.report.render.html import render_html
from rmwbench.results.model import Estimate, Fact
from rmwbench.results.show_model import Delivered, Series
from tests.published.importers.samples import SAMPLES, put
from tests.support.command import captured

FILE = """
figures: s
title: A source
published: "2020"
text: t.txt
kinds: [k]
names: {raw a: A, raw b: B}
items:
  - id: "1"
    place: here
    title: Bars
    images: [a.png]
    parts:
      - chart: bars
        x: {title: loss, unit: "%", scale: category, order: ["0", "10"]}
        y: {title: latency, unit: ms, limits: [0, 10]}
        series: [B, A]
        points: [{figure: f, match: "(?P<who>raw .), (?P<bw>\\\\d+) Mb/s", series: "{who}", low: f_min, high: f_max}]
        measured: [{suite: s/one, at: {rate_hz: 30}, metric: service_latency_p50, factor: 1.0e-6, x: "{loss%}"}]
  - id: "2 (<n>)"
    place: there
    title: "Two of <n>"
    each: {n: [1, 2]}
    parts:
      - chart: lines
        columns: 2
        x: {title: second}
        y: {title: rate, unit: messages/s}
        points: [{figure: g, match: "run (?P<run>\\\\d), <n>", series: one, panel: "{run}"}]
        not_measured: for a reason
  - {id: "3", place: nowhere, title: A drawing, not_drawn: no data}
"""


def row(figure, series, x, published, corrected, note=None):
    return {
        "figure": figure,
        "series": series,
        "x": str(x),
        "unit": "ms",
        "as_published": published,
        "as_corrected": corrected,
        "count": 10,
        "note": note,
    }


ROWS = [
    row("f", "raw a, 54 Mb/s", 0, 1.0, 1.0),
    row("f", "raw a, 54 Mb/s", 10, 0.0, None, "no data: nothing came"),
    row("f", "raw b, 54 Mb/s", 0, 2.0, 3.0),
    row("f", "raw b, 54 Mb/s", 20, 9.0, 9.0),
    row("f", "raw c, 54 Mb/s", 0, 9.0, 9.0),
    row("f_min", "raw b, 54 Mb/s", 0, 1.5, 2.5),
    row("f_max", "raw b, 54 Mb/s", 0, 2.5, 3.5),
    row("g", "run 1, 1", 1, 30.0, 30.5),
    row("g", "run 1, 2", 1, 29.0, 29.0),
]


@pytest.fixture
def file(tmp_path) -> Figures:
    path = tmp_path / "figures.yaml"
    path.write_text(FILE)
    return load(str(path))


@pytest.fixture
def answer(file):
    return draw([(file, {"k": ROWS}, "a test")])


def part(answer, number=0):
    return answer.sources[0].figures[number].parts[0]


def test_points_are_chosen_named_and_put_beside_each_other(answer):
    of_part = part(answer)
    shown = {(p.series, p.x): p for p in of_part.published.points}
    assert set(shown) == {("A", "0"), ("A", "10"), ("B", "0")}, (
        "C is not drawn there, and 20 % is not on the axis"
    )
    right = {(p.series, p.x): p for p in of_part.corrected.points}
    assert shown["B", "0"] == FigurePoint(series="B", x="0", y=2.0, low=1.5, high=2.5)
    assert right["B", "0"] == FigurePoint(series="B", x="0", y=3.0, low=2.5, high=3.5)
    assert right["A", "10"].y is None
    assert right["A", "10"].note == "no data: nothing came"
    assert of_part.corrected.changed == 1


def test_what_is_absent_says_why(file, answer):
    texts = dict(notes(part(answer)))
    assert texts["corrected"] == "1 of 3 points changes, 1 has no value (no data: nothing came)"
    assert texts["measured"].startswith("not yet: `rmwbench run s/one --short`")
    nothing = draw([(file, {}, "nothing")])
    assert "--data" in part(nothing).published.absent
    assert answer.sources[0].figures[3].original.not_drawn == "no data"


def measured(*arms, suite="s-one", **more):
    """Return a campaign with the cells that are read of it here."""
    workloads = (CampaignWorkload(workload="w [loss=0.1]", name="w", arms=arms),)
    return MeasuredCampaign(**{"name": "c", "suite": suite, "workloads": workloads, **more})


def cell(name, metric, layer="native", **factors):
    return CampaignArm(
        arm=name,
        middleware="zenoh",
        layer=layer,
        version="1",
        factors=factors,
        metrics={"service_latency_p50": Estimate(**{"unit": "ns", **metric})},
        per_trial={},
    )


def with_cores(told):
    """Return what is known of a machine with so many processors."""
    return (Fact(name="cores", value=told, note=None),)


VALUE = {"value": 2e6, "low": 1e6, "high": 3e6}


def drawn(file, *campaigns, **asked):
    """Return the measured points of the first part, with another `measured`."""
    tree = file.model_dump(exclude_none=True)
    tree["items"][0]["parts"][0]["measured"][0].update(asked)
    file = Figures.model_validate(tree)
    return part(draw([(file, {"k": ROWS}, "")], campaigns)).measured


def test_measured_are_the_cells_that_have_the_levels(file):
    arms = [cell("fast", VALUE, rate_hz=30, loss=0.1), cell("slow", VALUE, rate_hz=100, loss=0.1)]
    of_part = drawn(file, measured(*arms))
    assert of_part.absent is None
    assert [(p.series, p.x, p.y, p.low, p.high) for p in of_part.points] == [
        ("fast", "10", 2.0, 1.0, 3.0)
    ]


@pytest.mark.parametrize(("arms", "end"), [("abcd", "d at 10: died"), ("abcdef", "; and 2 more")])
def test_reasons_that_are_not_named_are_counted(file, arms, end):
    absent = [cell(arm, {"no_data": "died"}, rate_hz=30, loss=0.1) for arm in arms]
    answer = draw([(file, {"k": ROWS}, "")], [measured(*absent)])
    text = dict(notes(part(answer)))["measured"]
    assert text.count("died") == 4 and text.endswith(end)


def test_reasons_of_the_corrected_version_that_are_not_named_are_counted(answer):
    points = tuple(FigurePoint(series="A", x=str(n), y=None, note=f"reason {n}") for n in range(6))
    shown = tuple(replace(point, y=1.0, note=None) for point in points)
    assert corrected_text(answer, shown, points).endswith("reason 3; and 2 more)")


def corrected_text(answer, published, corrected, **more):
    """Return the note on the corrected version of a part with these points."""
    of_part = part(answer)
    versions_of_part = {
        "published": replace(of_part.published, points=published),
        "corrected": replace(of_part.corrected, points=corrected, **more),
    }
    return dict(notes(replace(of_part, **versions_of_part)))["corrected"]


def test_a_value_that_is_corrected_alone_does_not_stand_for_one_that_is_published_alone(answer):
    def points(*values):
        return tuple(FigurePoint(series="A", x=str(n), y=y) for n, y in enumerate(values))

    text = corrected_text(answer, points(None, 1.0), points(2.0, None), changed=0)
    assert text == "0 of 1 point change, 1 has no value"


def test_a_campaign_without_the_cells_says_which_are_missing(file):
    arms = [cell("slow", VALUE, rate_hz=100, loss=0.1)]
    of_part = drawn(file, measured(*arms))
    assert of_part.points == ()
    assert of_part.absent == "the campaign has no cell for it (rate_hz 30)"
    assert drawn(file, measured(*arms, suite="other")).absent.startswith("not yet")


def test_a_period_is_the_inverse_of_a_rate(file):
    one = cell("fast", {"value": 50.0, "low": 40.0, "high": 100.0}, rate_hz=30, loss=0.1)
    (point,) = drawn(file, measured(one), factor=1.0, inverse=1000).points
    assert (point.y, point.low, point.high) == (20.0, 10.0, 25.0), "the ends change places"
    (none,) = drawn(
        file, measured(cell("fast", {"value": 0}, rate_hz=30, loss=0.1)), factor=1.0, inverse=1000
    ).points
    assert (none.y, none.note) == (None, "nothing arrived")


def test_a_value_is_divided_by_a_factor_that_is_a_number(file):
    one = measured(cell_of("a", 6e6, factors={"rate_hz": 30, "loss": 0.1, "n": 3, "word": "x"}))
    (point,) = drawn(file, one, per="n").points
    assert (point.y, point.low, point.high) == pytest.approx((2.0, 1.0, 4.0))
    assert drawn(file, one, per="no_such_factor").points == ()
    with pytest.raises(UserError, match="nothing can be divided by `word`"):
        drawn(file, one, per="word")


def test_cpu_per_message_and_messages_per_second_are_a_share_of_the_machine(file):
    one = cell("fast", {"value": 1e6}, rate_hz=30, loss=0.1)
    rate = {"achieved_rate": Estimate(unit="hz", value=200.0, low=100.0, high=300.0)}
    one = replace(one, metrics={**one.metrics, **rate})
    asked = {"times": "achieved_rate", "factor": 1e-7, "of_machine": True}
    (point,) = drawn(file, measured(one, facts=with_cores("2 of 4")), **asked).points
    assert point.y == pytest.approx(5.0), (
        "1 ms 200 times a second is a fifth of a core, 5 % of four"
    )
    assert point.low is None
    (unknown,) = drawn(file, measured(one), **asked).points
    assert (unknown.y, unknown.note) == (None, "the machine's hardware threads are not known")


def shipped(*arms, date="2026-11-22", name="s"):
    """Return a summary as `shipped_summaries` gives it."""
    return measured(
        *arms,
        shipped=True,
        machine="2 × Some CPU, Linux, 8 GB",
        facts=with_cores("2 of 2"),
        name=name,
        created_utc=f"{date}T00:00:00Z",
    )


def cell_of(name, value, trials=3, layer="rclcpp", **more):
    metric = {"value": value, "low": value / 2, "high": value * 2, "trials": trials}
    return replace(cell(name, metric, layer, rate_hz=30, loss=0.1), **more)


def test_of_a_cell_the_campaign_stands_and_then_the_newest_summary_with_a_value(file):
    new, old = (
        shipped(cell_of("a", 1e6), cell("b", {"no_data": "died"}, rate_hz=30, loss=0.1)),
        shipped(cell_of("a", 2e6), cell_of("b", 3e6)),
    )
    points = drawn(file, new, old).points
    assert [(p.arm, p.y) for p in points] == [("a", 1.0), ("b", 3.0)]
    with_campaign = drawn(file, measured(cell_of("a", 9e6)), new, old)
    assert [(p.arm, p.y) for p in with_campaign.points] == [("a", 9.0), ("b", 3.0)]
    assert [one.shipped for one in with_campaign.from_] == [False, True]


def test_machine_date_layer_and_blocks_stand_beside_what_is_shipped(file):
    arms = [cell_of("a", 1e6), cell_of("b", 1e6, 5, layer="native")]
    answer = draw([(file, {"k": ROWS}, "")], [shipped(*arms)])
    assert dict(notes(part(answer)))["measured"] == (
        "2 × Some CPU, Linux, 8 GB, 2026-11-22, shipped, layer rclcpp and native, 3 to 5 blocks"
    )
    assert answer.shipped == [("2 × Some CPU, Linux, 8 GB", "2026-11-22")]
    assert answer.campaigns == []
    page = render_html(view(answer, draw=True))
    assert "measured on 2 × Some CPU" in page
    assert "layer rclcpp and native" in page
    assert (
        summary_line(answer.sources[0].figures[0])
        == "published 3; corrected 2 (1 differ); measured 2"
    )


RATES = Delivered(
    arm="a",
    bin_s=0.5,
    time_s=(0.25, 0.75, 1.25, 1.75),
    rate_hz=(10.0, 30.0, 0.0, 4.0),
    wanted_hz=(30.0, 30.0, 30.0, 30.0),
    sent_hz=(20.0, 30.0, 30.0, 30.0),
    trials=(),
    outages=(),
)
LATENCIES = Series(arm="a", trial=1, time_s=(0.1, 0.9, 1.5, 2.5), latency_ns=(1e6, 3e6, None, 5e6))


@pytest.mark.parametrize(
    ("metric", "factor", "expected"),
    [
        ("delivered", 1.0, [("1", 20.0), ("2", 2.0)]),
        ("sent", 1.0, [("1", 25.0), ("2", 30.0)]),
        # a second without any message has no value
        ("latency_by_second", 1e-6, [("1", 2.0), ("3", 5.0)]),
        ("latency_variance_by_second", 1e-12, [("1", 1.0), ("3", 0.0)]),
    ],
)
def test_what_happened_is_told_by_the_second(file, metric, factor, expected):
    tree = file.model_dump(exclude_none=True)
    asked = {"suite": "s/one", "metric": metric, "factor": factor, "x": "second"}
    tree["items"][0]["parts"][0].update(measured=[asked], x={"title": "second"})
    one = measured(replace(cell("a", VALUE), by_second=seconds_of(RATES, LATENCIES)))
    changed = Figures.model_validate(tree)
    of_part = part(draw([(changed, {"k": ROWS}, "")], [one])).measured
    assert [(p.x, pytest.approx(p.y)) for p in of_part.points] == expected


def test_the_page_and_the_pictures(answer, tmp_path):
    page = render_html(view(answer, draw=True))
    for text in ("Not drawn: no data.", "1 of 3 points change", "as published", "for a reason"):
        assert text in page
    files = write_pictures(answer, tmp_path)
    # The bars, and of small multiples both versions of the one that changes and the one that does
    # not.
    assert [f.name for f in files if f.suffix == ".svg"] == [
        "s-1-1.svg",
        "s-2-1-1-as-published.svg",
        "s-2-1-1-as-corrected.svg",
        "s-2-2-1-published-and-as-corrected-the-same.svg",
    ]
    assert all(f.read_bytes().startswith(b"\x89PNG") for f in files if f.suffix == ".png")
    assert "A source (2020), here" in files[0].read_text()


# --- files
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("not_measured: for a reason", "note: x", "a figure is measured or has a reason"),
        ("columns: 2", "columns: 0", "columns"),
        (
            "columns: 2",
            'printed: {read_from: text, points: [[a, "0", 1]]}',
            "a figure has points or a reason",
        ),
        (
            "not_measured: for a reason",
            'measured: [{suite: s/one, metric: loss, x: "{loss%}"}]',
            "small multiples without panels",
        ),
        ('match: "run (?P<run>\\\\d), <n>"', 'match: "run (("', "not a regular expression"),
        ("chart: bars", "chart: pie", "chart"),
        ("factor: 1.0e-6, x:", "factor: 1.0e-6, inverse: 10, x:", "an inverse stands alone"),
        ("factor: 1.0e-6, x:", "inverse: 10, per: loss, x:", "an inverse stands alone"),
        (
            "metric: service_latency_p50",
            "metric: delivered, times: loss",
            "what arrives over time is not a metric",
        ),
        ('id: "3"', 'id: "2 (1)"', "two figures have the id"),
        ("not_drawn: no data", "note: x", "a figure is drawn or has a reason"),
        ("images: [a.png]", "picture: [a.png]", "unknown key `picture`"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, old, new, says):
    assert old in FILE
    path = tmp_path / "figures.yaml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(UserError) as error:
        load(str(path))
    assert says in error.value.render()
    assert "figures.yaml:" in error.value.render()


def test_a_level_that_is_filled_in_keeps_its_type_in_a_list_of_levels_too(file):
    tree = file.model_dump(exclude_none=True)
    item = tree["items"][0] | {"each": {"level": [0.1]}}
    item["parts"][0]["measured"][0]["at"] = {"loss": ["<level>"]}
    (figure,) = Figures.model_validate(tree | {"items": [item]}).all()
    assert figure.parts[0].measured[0].at == {"loss": (0.1,)}


def test_an_unknown_name_in_a_template_is_told():
    assert fill("{who}, {loss%} %", {"who": "a", "loss%": 10}) == "a, 10 %"
    with pytest.raises(UserError, match="nothing is called `whom`"):
        fill("{whom}", {"who": "a"})


def test_extracted_points_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(points_text({"k": [*ROWS, row("other", "s", 1, 1.0, 1.0)]}, {"f", "g"}))
    rows = points_in(path)["k"]
    assert {r["figure"] for r in rows} == {"f", "g"}
    wanted = [r for r in ROWS if r["figure"] in "fg"]
    key = ("figure", "series", "x")
    for one in wanted:
        same = next(r for r in rows if all(r[k] == one[k] for k in key))
        assert same["as_published"] == one["as_published"]
        assert same["as_corrected"] == one["as_corrected"]
        assert (same["count"], same["note"]) == (10, one["note"])


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a,b\n", 1, "not a file of figures"),
        (",".join(HEADER) + "\nk,f,s,ms,1|2,1,=,,\n", 2, "of x differ in number"),
        (",".join(HEADER) + "\nk,f,s,ms,1|2|3,1|2|3,=,3|4,\n", 2, "of x differ in number"),
        (",".join(HEADER) + "\nk,f,s,ms,1|2,1|2,=,,a|b|c\n", 2, "of x differ in number"),
        (",".join(HEADER) + "\nk,f,s,ms,1|2,1|2,=,many,\n", 2, "not a number"),
        (",".join(HEADER) + "\nk,f,s,ms,1,one,=,,\n", 2, "not a number"),
        (",".join(HEADER) + "\nk,f\n", 2, "a line of another length"),
    ],
)
def test_a_damaged_file_of_points_is_told_with_its_line(tmp_path, text, line, says):
    path = tmp_path / "published.csv"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        points_in(path)
    assert says in error.value.render()
    assert f"published.csv:{line}" in error.value.render()


@pytest.mark.long
def test_data_is_found_below_a_folder_and_nothing_else_is(tmp_path):
    put(tmp_path / "deep" / "er", SAMPLES["survey"][1])
    assert set(collect(tmp_path)) == {"survey"}
    with pytest.raises(UserError):
        collect(tmp_path, ["gscam"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError):
        collect(tmp_path / "empty")


# --- the verb
# --------------------------------------------------------------------------------------------------


def run(capsys, *words):
    return captured(capsys, "published", "figures", *words)


def test_the_verb_prints_the_document_and_the_table(capsys):
    code, out, _ = run(capsys, "gscam-2025", "--figure", "paradox", "--json")
    document = json.loads(out)
    assert (code, document["schema"], document["version"]) == (0, "rmwbench/figures", 1)
    ((figure,),) = [source["figures"] for source in document["sources"]]
    assert len(figure["parts"][0]["published"]["points"]) == 6
    code, out, _ = run(capsys, "gscam-2025")
    assert code == 0
    (line,) = [one for one in " ".join(out.split()).split(" summary.csv ")[1:]]
    assert line.startswith(
        "The 14 camera formats: published 280; corrected 224 (169 differ); measured "
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gscam-2026"], "no source is called `gscam-2026`"),
        (["gscam-2025", "--figure", "no such thing"], "no figure has that text"),
        (["gscam-2025", "--extract", "x.csv"], "extracted for one source from its data"),
        (["gscam-2025", "--extract", "x.csv", "--json"], "one form at a time"),
        (["gscam-2025", "--data", "no-such-place"], "no such file or directory"),
        (["gscam-2025", "-o", "no/such/place.html"], "the directory of this output does not exist"),
    ],
)
def test_the_verb_says_what_is_wrong(capsys, arguments, says):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert says in err


@pytest.mark.long
def test_an_imported_bundle_is_data(capsys, tmp_path):
    import_published(put(tmp_path / "data", SAMPLES["survey"][1]), tmp_path / "bundle")
    given = [
        json.loads(
            run(
                capsys, "galactic-2020", "--figure", "6.2.3", "--data", str(tmp_path / p), "--json"
            )[1]
        )
        for p in ("data", "bundle")
    ]
    points = [one["sources"][0]["figures"][0]["parts"][0]["published"]["points"] for one in given]
    assert points[0] == points[1] != []


def test_data_that_no_figure_draws_is_refused(capsys, tmp_path):
    """A bundle of another source was left out without a word."""
    import_published(put(tmp_path / "data", SAMPLES["survey"][1]), tmp_path / "bundle")
    code, _, err = run(capsys, "gscam-2025", "--data", str(tmp_path / "bundle"))
    assert code == 2 and "expected: gscam" in err and "actual: survey" in err


def test_the_origin_of_points_names_their_own_data():
    """Each source was said to be imported from the data of all."""
    file = load("gscam-2025")
    imported = {"gscam": ImportedRows(names=["cameras"]), "survey": ImportedRows(names=["people"])}
    assert _points("gscam-2025", file, imported) == ({"gscam": []}, "imported from cameras")


# --- beside a report
# ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_campaign_of_a_published_evaluation_has_its_figures_beside_the_report(tmp_path):
    cores = Estimate(unit="cores", value=0.0004, low=0.0003, high=0.0005)
    one = replace(cell("cyclonedds", VALUE), metrics={"cpu_cores": cores})
    campaign = measured(one, suite="galactic-2020-spin", machine="m", facts=with_cores("2 of 2"))
    sources = beside.measured_by(campaign).sources
    assert [source.file.figures for source in sources] == ["fastdds-2021", "galactic-2020"]
    figures = sources[1].figures
    assert [figure.original.id for figure in figures] == ["1.2.1", "A.1"], (
        "the memory was not measured"
    )
    of_part = figures[0].parts[0]
    points = {p.x: p.y for p in of_part.measured.points}
    assert points == {"95 %": None, "median": None, "mean": pytest.approx(0.02)}, (
        "percent of two hardware threads"
    )
    assert len(of_part.published.points) == 9, "from the shipped points"
    assert beside.write_beside(campaign, tmp_path / "report.html") == "report-figures.html"
    assert "measured here" in (tmp_path / "report-figures.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("positions", "labels"),
    [
        ({"it's": 1.0}, """datum.value == 1.0 ? "it's" : ''"""),
        ({"a": 1.0, "b": 2.0}, """datum.value == 1.0 ? "a" : ''"""),
    ],
)
def test_the_labels_of_places_on_an_axis_are_an_expression(positions, labels):
    axes = {"x": {"title": "t", "positions": positions}, "y": {"title": "y"}}
    reasons = {"not_published": "x", "not_measured": "y"}
    axis = figure_charts._x(FigurePart.model_validate({"chart": "lines", **axes, **reasons}), [])
    assert axis["axis"]["labelExpr"] == labels and axis["axis"]["values"] == [1.0]
