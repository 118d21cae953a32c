"""iRobot: the totals from the subscriptions."""

import pytest

from rmwbench.bundle.sql import run
from tests.published.importers.original import figures

SOURCE = ("eprosima-benchmarking", "irobot_tests")


@pytest.mark.parametrize(
    ("name", "received", "mean", "late", "too_late", "subscriptions"),
    [("mont_blanc_log", 75812, 352, 19, 1, 35), ("eprosima_log", 46866, 199, 6, 0, 23)],
)
def test_totals(name, received, mean, late, too_late, subscriptions):
    f, series = figures(*SOURCE), f"fastrtps {name}"
    for figure, wanted in (
        ("received", received),
        ("late", late),
        ("too_late", too_late),
        ("lost", 0),
    ):
        point = f[f"irobot_{figure}", series, ""]
        assert (point["as_published"], point["as_corrected"]) == (wanted, wanted)
    point = f["irobot_latency_mean", series, ""]
    assert point["as_published"] == mean == round(point["as_corrected"])
    share = f["irobot_late_share", series, ""]
    assert float(f"{share['as_corrected']:.4g}") == share["as_published"]
    _, rows = run(f.bundle, "select count(*) from endpoints group by trial order by 1")
    assert (subscriptions,) in rows


def test_the_row_of_zeros_is_absent():
    f = figures(*SOURCE)
    for name in ("mont_blanc_log", "eprosima_log"):
        point = f["irobot_cpu", f"fastrtps {name}", ""]
        assert point["as_corrected"] > point["as_published"]
    _, rows = run(f.bundle, "select value from windows where metric = 'rss' and end_ns = 0")
    assert rows == [(None,), (None,)]


def test_all_late_messages_are_of_the_start():
    assert {p["as_corrected"] for p in figures(*SOURCE).of("irobot_late_events")} == {0.0}
