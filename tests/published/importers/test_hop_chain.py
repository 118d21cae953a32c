"""The six-hop comparison of 2026: its own formulas, and what they leave out. Its data is not kept
here (it has no licence), so the formulas are held against invented runs of its format."""

from collections import Counter

import numpy as np
import pytest

from rmwbench.bundle import Bundle
from rmwbench.bundle.sql import ask
from rmwbench.errors import UserError
from rmwbench.published.importers.formats.hop_chain import HOPS, WARM_UP
from rmwbench.published.importers.imported_bundle import import_published
from tests.published.importers.samples import SAMPLES, put

FILES = SAMPLES["hop-chain-2026"][1]


def points(tmp_path, files=FILES):
    done = import_published(put(tmp_path / "data", files), tmp_path / "bundle")
    rows = Bundle(done.directory).rows("figures")
    return done, {(row["figure"], row["series"], row["x"]): row for row in rows}


def test_the_published_mean_is_theirs_and_a_hop_is_not_a_sixth_of_it(tmp_path):
    """The published mean is the sum of all latencies per session ÷ their mean number ÷ 6, from the
    51st message on."""
    done, figures = points(tmp_path)
    assert (done.kind.name, done.trials, done.files) == ("hop-chain-2026", 12, 14)
    kept = [
        [float(line) / 1e6 for line in text.split()[WARM_UP:]]
        for name, text in FILES.items()
        if "imu_cpp_results_rmw_zenoh" in name
    ]
    hop = figures["hop_chain_hop_mean", "imu", "rmw_zenoh_cpp"]
    assert hop["as_published"] == pytest.approx(np.mean(kept) / HOPS)
    assert hop["as_corrected"] is None and "not the latency of a hop" in hop["note"]
    chain = figures["hop_chain_mean", "imu", "rmw_zenoh_cpp"]
    assert (
        chain["as_published"]
        == pytest.approx(chain["as_corrected"])
        == pytest.approx(np.mean(kept))
    )


def test_a_run_is_a_trial_of_its_version(tmp_path):
    done, _ = points(tmp_path)
    cells = {
        (row["arm"], row["workload"]): row["version"]
        for row in Bundle(done.directory).rows("cells")
    }
    assert cells["rmw_zenoh_cpp", "imu, 6 hops"] == "0.10.6"
    assert cells["rmw_connextdds", "imu, 6 hops"] is None
    rows = ask(
        Bundle(done.directory),
        "select count(*) from windows where metric = 'end_to_end_latency_mean'",
    ).rows
    assert rows == [(12,)]


def test_sessions_of_two_versions_are_two_cells(tmp_path):
    """Both sessions stood under the version of the first one."""
    newer = FILES["s2/metadata.yaml"].replace("0.10.6", "0.11.0")
    done, _ = points(tmp_path, {**FILES, "s2/metadata.yaml": newer})
    bundle = Bundle(done.directory)
    zenoh = [row for row in bundle.rows("cells") if row["arm"] == "rmw_zenoh_cpp"]
    assert sorted((row["workload"], row["version"]) for row in zenoh) == [
        (f"{sensor}, 6 hops", version)
        for sensor in ("camera", "imu")
        for version in ("0.10.6", "0.11.0")
    ]
    trials = Counter(row["cell"] for row in bundle.rows("trials"))
    assert {trials[row["cell"]] for row in zenoh} == {2}
    assert "rmw_zenoh_cpp (0.10.6, 0.11.0)" in str(bundle.campaign)


def test_a_run_whose_first_and_last_messages_are_the_same_says_nothing_of_settling(tmp_path):
    """60 messages without the 50 of the warm-up are 10, and 10 ÷ the same 10 was 1."""
    settling = points(tmp_path)[1]["hop_chain_settling", "imu", "rmw_zenoh_cpp"]
    assert settling["as_corrected"] is None and settling["note"].startswith("no data")


def test_settling_is_of_the_runs_that_are_long_enough(tmp_path):
    plan = FILES["s1/metadata.yaml"].replace("measurement_count: 60", "measurement_count: 200")
    long = "9\n" * WARM_UP + "400\n" * 50 + "300\n" * 10 + "200\n" * 50
    files = {**FILES, "s1/metadata.yaml": plan, FIRST: long}
    settling = points(tmp_path, files)[1]["hop_chain_settling", "imu", "rmw_zenoh_cpp"]
    assert settling["as_corrected"] == 0.5 and settling["note"].startswith("of 1 run:")


def test_one_session_has_no_spread_and_says_so(tmp_path):
    files = {name: text for name, text in FILES.items() if name.startswith("s1/")}
    spread = points(tmp_path, files)[1]["hop_chain_spread", "imu", "rmw_zenoh_cpp"]
    assert spread["as_corrected"] is None and spread["note"].startswith("no data: one session")


FIRST = "s1/imu_cpp_results_rmw_zenoh_cpp_nr_1.txt"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({FIRST: FILES[FIRST].replace("7200000", "fast", 1)}, "zenoh_cpp_nr_1.txt:1"),
        ({FIRST: FILES[FIRST].replace("7200000", "-5", 1)}, "impossible"),
        ({FIRST: "1000000\n" * 50}, "too few messages"),
        ({FIRST: "1000000\n" * 61}, "more messages than were asked for"),
        ({"s1/imu_cpp_results_rmw_zenoh_cpp_nr_3.txt": "9\n" * 55}, "metadata does not have"),
        ({"s1/imu_cpp_results_rmw_zenoh_cpp_nr_2.txt": FILES[FIRST]}, "the same run twice"),
        ({"s1/radar_cpp_results_rmw_zenoh_cpp_nr_1.txt": "9\n" * 55}, "a sensor that"),
        ({"s1/notes.txt": "words\n"}, "neither a run nor its metadata"),
        (
            {
                "s1/metadata.yaml": FILES["s1/metadata.yaml"].replace(
                    "node_count: 5", "node_count: 10"
                )
            },
            "another chain",
        ),
        ({"s1/metadata.yaml": "benchmark_metadata: 5\n"}, "without its parameters"),
        *(
            ({"s1/metadata.yaml": FILES["s1/metadata.yaml"].replace("num_runs: 2", runs)}, words)
            for runs, words in (
                ("num_runs: 1e400", "num_runs is missing or of another kind"),
                ("num_runs: 2.5", "num_runs is missing or of another kind"),
                ("num_runs: many", "num_runs is missing or of another kind"),
            )
        ),
    ],
)
def test_what_is_not_as_its_format_says_is_one_error(tmp_path, change, words):
    with pytest.raises(UserError) as caught:
        points(tmp_path, {**FILES, **change})
    assert words in str(caught.value)
    assert not (tmp_path / "bundle").exists()


def test_sessions_of_one_name_in_two_folders_are_not_taken_for_one(tmp_path):
    """The later session silently replaced the runs of the earlier one."""
    first, other = "a/s1/imu_cpp_results_rmw_zenoh_cpp_nr_1.txt", "b/s1/metadata.yaml"
    files = {first: FILES[FIRST], first.replace("a/", "b/"): FILES[FIRST].replace("7", "8")}
    with pytest.raises(UserError, match="the same run twice"):
        points(tmp_path, files)
    described = {f"{folder}/s1/metadata.yaml": FILES["s1/metadata.yaml"] for folder in "ab"}
    with pytest.raises(UserError, match="the metadata of a session twice") as caught:
        points(tmp_path / "described", {first: FILES[FIRST], **described})
    assert other in str(caught.value)
