"""ddsperf's output: counts and seconds instead of rounded rates, pings instead of percentiles of
nine of them."""

import shutil
import subprocess
import time

import pytest

from rmwbench.bundle import Bundle
from rmwbench.bundle.sql import ask
from rmwbench.errors import UserError
from rmwbench.published.importers import import_published
from tests.published.importers.samples import SAMPLES, put


@pytest.fixture
def bundle(tmp_path):
    import_published(put(tmp_path / "in", SAMPLES["ddsperf"][1]), tmp_path / "out")
    return Bundle(tmp_path / "out")


def test_what_a_subscriber_printed(bundle):
    figures = {(r["figure"], r["x"]): r for r in bundle.rows("figures") if r["series"] == "sub.txt"}
    assert figures["ddsperf_rate", ""]["as_published"] == 1.0
    assert figures["ddsperf_rate", ""]["as_corrected"] == pytest.approx(1999 / 2 / 1e3)
    young = figures["ddsperf_rate_10s", "2 (2 s)"]
    assert (young["as_published"], young["as_corrected"]) == (0.2, pytest.approx(0.9995))
    assert figures["ddsperf_lost", ""]["as_published"] == 2
    assert figures["ddsperf_received", ""]["as_published"] == 1999


def test_what_a_pinging_publisher_printed(bundle):
    figures = {r["figure"]: r for r in bundle.rows("figures") if r["series"].startswith("pub.txt")}
    mean = figures["ddsperf_latency_mean"]
    assert mean["as_published"] == pytest.approx((59.157 + 72.348) / 2)
    assert mean["as_corrected"] == pytest.approx((59.157 * 9 + 72.348 * 110) / 119)
    assert mean["count"] == 119
    least, most = (figures[f"ddsperf_latency_{end}"]["as_corrected"] for end in ("min", "max"))
    assert (least, most) == (34.366, 99.049)
    assert figures["ddsperf_latency_p99"]["as_corrected"] is None


def test_a_percentile_needs_ten_beyond_it(bundle):
    """Nine pings have none; 110 have a 90th percentile and no 99th."""
    rows = ask(
        bundle,
        "select metric, value from windows where metric like 'half_round_trip_p%' order by metric, "
        "end_ns",
    ).rows
    assert [(m[-3:], v is not None) for m, v in rows] == [
        ("p50", False),
        ("p50", True),
        ("p90", False),
        ("p90", True),
        ("p99", False),
        ("p99", False),
    ]


def test_output_without_results_is_refused(tmp_path):
    (tmp_path / "x").write_text("[1] participant vm:1: new (self)\n")
    with pytest.raises(UserError, match="no second of results"):
        import_published(tmp_path / "x", tmp_path / "out", "ddsperf")


@pytest.mark.timing
@pytest.mark.skipif(
    shutil.which("ddsperf") is None, reason="ddsperf is not installed: its real output is not read"
)
def test_the_real_programs_output_is_read(tmp_path):
    configuration = tmp_path / "lo.xml"
    configuration.write_text(
        "<CycloneDDS><Domain id='any'><General><Interfaces><NetworkInterface name='lo' "
        "multicast='true'/></Interfaces></General></Domain></CycloneDDS>"
    )
    environment = {"CYCLONEDDS_URI": f"file://{configuration}", "PATH": "/usr/bin:/bin"}
    (tmp_path / "in").mkdir()
    with open(tmp_path / "in/sub", "w") as sub, open(tmp_path / "in/pub", "w") as pub:
        reader = subprocess.Popen(
            ["ddsperf", "-i", "97", "-D", "4", "sub"], stdout=sub, env=environment
        )
        time.sleep(0.2)
        subprocess.run(
            ["ddsperf", "-i", "97", "-D", "3", "pub", "1000Hz", "size", "1k", "ping", "10Hz"],
            stdout=pub,
            env=environment,
            timeout=300,
            check=False,
        )
        reader.wait(timeout=300)
    if "kS/s" not in (tmp_path / "in/sub").read_text():
        pytest.skip("ddsperf found no peer on the loopback here")
    import_published(tmp_path / "in", tmp_path / "out")
    figures = {r["figure"] for r in Bundle(tmp_path / "out").rows("figures")}
    assert {"ddsperf_rate", "ddsperf_received", "ddsperf_sent_rate"} <= figures
