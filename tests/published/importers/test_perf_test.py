"""Any log of perf_test: three formats of one truth, and what each of them can tell of it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmwbench.bundle import Bundle
from rmwbench.bundle.sql import ask
from rmwbench.errors import UserError
from rmwbench.published.importers import import_published
from rmwbench.published.importers.data_source import SourceFile
from rmwbench.published.importers.formats import perf_log
from tests.published.importers import PATIENT
from tests.published.importers.logs import SIZE, Second, as_json, csv_new, text_2020

SECONDS = [
    Second(30),
    Second(31, 0.7, 1.05),
    Second(29, 0.6),
    Second(0, None),
    Second(1, 2.0),
    Second(30, 0.4, 1.1),
    Second(33),
]
FORMATS = {"log": text_2020, "csv": csv_new, "json": as_json}


def imported(tmp_path, text: str) -> Bundle:
    (tmp_path / "sub_log").write_bytes(text.encode())
    import_published(tmp_path / "sub_log", tmp_path / "out")
    return Bundle(tmp_path / "out")


@pytest.mark.parametrize("form", FORMATS)
def test_counts_of_every_format_are_the_truth(tmp_path, form):
    bundle = imported(tmp_path, FORMATS[form](SECONDS))
    assert bundle.campaign.imported["kind"] == "perf-test"
    rows = ask(bundle, "select value from windows where metric = 'received' order by end_ns").rows
    assert [v for (v,) in rows] == [s.received for s in SECONDS]


@pytest.mark.parametrize("form", FORMATS)
def test_a_second_without_messages_has_no_latency(tmp_path, form):
    bundle = imported(tmp_path, FORMATS[form](SECONDS))
    rows = ask(
        bundle, "select value from windows where metric = 'latency_mean' order by end_ns"
    ).rows
    assert [v if v is None else pytest.approx(v / 1e6) for (v,) in rows] == [
        s.latency_ms for s in SECONDS
    ]


@pytest.mark.parametrize("metric", ["sent", "received", "lost"])
def test_a_log_with_exact_counts_has_messages_on_both_sides(tmp_path, metric):
    document = json.loads(as_json(SECONDS))
    document |= {"number_of_publishers": 1}
    for row in document["analysis_results"]:
        row["num_samples_sent"] = row["num_samples_received"]
    bundle = imported(tmp_path, json.dumps(document))
    rows = ask(
        bundle, f"select unit, value from windows where metric = '{metric}' order by end_ns"
    ).rows
    counts = [0 if metric == "lost" else s.received for s in SECONDS]
    assert rows == [("messages", count) for count in counts]


@pytest.mark.parametrize("form", FORMATS)
def test_figures_as_published_and_as_corrected(tmp_path, form):
    bundle = imported(tmp_path, FORMATS[form](SECONDS))
    figures = {row["figure"]: row for row in bundle.rows("figures")}
    rate = figures["received_rate"]
    total, length = sum(s.received for s in SECONDS), sum(s.length_s for s in SECONDS)
    if form == "log":
        assert rate["as_published"] == np.mean(
            [int(s.received / SECONDS[max(0, i - 1)].length_s) for i, s in enumerate(SECONDS)]
        )
    else:
        assert rate["as_corrected"] == pytest.approx(total / length)
    latency = figures["latency_mean"]
    weighted = sum(s.received * s.latency_ms for s in SECONDS if s.latency_ms) / total
    assert latency["as_corrected"] == pytest.approx(weighted)
    assert latency["as_published"] == pytest.approx(np.mean([s.latency_ms or 0.0 for s in SECONDS]))


def test_a_publishers_log_has_no_latency_and_no_restored_count(tmp_path):
    bundle = imported(tmp_path, text_2020(SECONDS, publishers=1, subscribers=0))
    rows = ask(bundle, "select distinct metric from windows").rows
    metrics = {m for (m,) in rows}
    assert "sent_rate_cut" in metrics
    assert not any(m.startswith(("latency", "received")) for m in metrics)
    (sent,) = [r for r in bundle.rows("figures") if r["figure"] == "sent_rate"]
    assert sent["as_corrected"] is None and sent["note"].startswith("no data")


@pytest.mark.parametrize(("rows", "corrected"), [(1, 0.1655), (len(SECONDS), None)])
def test_rows_without_a_share_of_the_processors_are_left_out_and_said(tmp_path, rows, corrected):
    bundle = imported(tmp_path, text_2020(SECONDS).replace("0.1655", "-nan", rows))
    (cpu,) = [row for row in bundle.rows("figures") if row["figure"] == "cpu"]
    assert cpu["as_published"] is None and cpu["as_corrected"] == (
        corrected and pytest.approx(corrected)
    )
    assert cpu["note"]


def test_an_unknown_type_has_no_restored_count(tmp_path):
    bundle = imported(tmp_path, text_2020(SECONDS).replace("Array1k", "MyOwn"))
    rows = ask(bundle, "select count(value) from windows where metric = 'received'").rows
    assert rows == [(0,)]
    (rate,) = [r for r in bundle.rows("figures") if r["figure"] == "received_rate"]
    assert rate["as_corrected"] is None


received = st.integers(0, 2000)
seconds = st.lists(
    st.builds(
        lambda n, length: Second(n, None if n == 0 else 0.5, length),
        received,
        st.sampled_from([1.0, 1.001, 1.0336, 1.1]),
    ),
    min_size=1,
    max_size=20,
)


@given(seconds)
@settings(max_examples=60, **PATIENT)
def test_any_count_below_2000_a_second_is_restored_exactly(truth):
    (log,) = perf_log.read_logs([SourceFile("x", "x", text_2020(truth).encode())])
    assert perf_log.counts(log, SIZE).tolist() == [s.received for s in truth]


@given(st.lists(st.text("0123456789.-+einfa,_ \t\"'", max_size=40), min_size=1, max_size=5))
@settings(max_examples=150, **PATIENT)
def test_arrow_and_the_strict_parser_read_the_same(rows):
    """For any rows, either both give the same numbers, or the strict one names a line."""
    head, _, good = text_2020(SECONDS).partition("cpu_usage (%),\t\n")
    item = SourceFile(
        "x", "x", (head + "cpu_usage (%),\t\n" + good + "\n".join(rows) + "\n").encode()
    )
    try:
        raw = perf_log._split(item)
    except UserError:
        return
    try:
        strict = perf_log._strict(raw)
    except UserError:
        strict = None
    fast = perf_log._arrow([raw], raw.names, raw.rows.count(b"\n") + 1)
    if fast is not None:
        assert strict is not None
        for name in raw.names:
            np.testing.assert_array_equal(fast[name], strict[name])


def test_a_blocked_second_counts_in_what_was_received_and_in_its_latency(tmp_path):
    """1000 messages come within a second, then one of which 700.4 are left: nobody knows how many
    came."""
    text = text_2020([Second(1000, 0.5), Second(700, 90.0)])
    head, _, row = text.rstrip("\n").rpartition("\n")
    cells = row.split(",\t\t")
    cells[4], cells[6] = "50", str(round(700.4 * SIZE))
    row = ",\t\t".join(cells)
    bundle = imported(tmp_path, f"{head}\n{row}\n")
    rows = ask(bundle, "select value from windows where metric = 'received' order by end_ns").rows
    assert rows == [(1000,), (None,)]
    figures = {row["figure"]: row for row in bundle.rows("figures")}
    assert figures["lost_share"]["as_corrected"] == pytest.approx(50 / 1750.4, rel=1e-3)
    whole = (1000 * 0.5 + 700.4 * 90) / 1700.4
    assert figures["latency_mean"]["as_corrected"] == pytest.approx(whole, rel=1e-3)
    assert figures["latency_mean"]["count"] == 2


@pytest.mark.parametrize(
    ("mean", "layer"),
    [("ROS2PollingSubscription", "rclcpp"), ("rclcpp-waitset", "rclcpp"), ("CycloneDDS", "native")],
)
def test_the_layer_is_told_by_the_means_of_communication_also_without_an_rmw(tmp_path, mean, layer):
    text = text_2020(SECONDS).replace("Communication mean: ROS2", f"Communication mean: {mean}")
    text = text.replace("RMW Implementation: rmw_cyclonedds_cpp\n", "")
    (cell,) = imported(tmp_path, text).rows("cells")
    assert (cell["middleware"], cell["layer"]) == (mean, layer)
