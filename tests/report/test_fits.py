"""`rmwbench show --fit`: the same fit for a person, as JSON and as CSV."""

import csv
import io
import json

import pytest

from rmwbench.bundle import Bundle
from rmwbench.report.fits import CSV_COLUMNS
from rmwbench.results.fits import fits
from tests.support import synthetic_bundle
from tests.support.command import exit_code

ARMS = tuple(
    arm for arm in synthetic_bundle.ARMS if arm.arm in ("zenoh tuned", "cyclonedds untouched")
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return synthetic_bundle.write(
        tmp_path_factory.mktemp("fits") / "out", blocks=2, arms=ARMS, workloads=("imu",)
    )


@pytest.fixture
def run(capsys):
    def show(*arguments):
        return exit_code("show", *arguments), capsys.readouterr().out

    return show


def test_every_arm_has_its_messages_in_some_family_or_a_reason(directory):
    found = fits(Bundle(directory))
    assert {one.arm for one in found} == {arm.arm for arm in ARMS}
    for one in found:
        assert one.metric == "response_latency" and one.messages + one.lost == 2 * 1100
        assert [f.aic for f in one.families] == sorted(f.aic for f in one.families) and one.text


def test_json_csv_and_text_say_the_same(directory, run):
    document = json.loads(run(directory, "--fit", "--json")[1])
    rows = list(csv.DictReader(io.StringIO(run(directory, "--fit", "--csv")[1])))
    assert tuple(rows[0]) == CSV_COLUMNS
    wanted = [
        (one["arm"], family["family"], name, value)
        for one in document
        for family in one["families"]
        for name, value in family["parameters"].items()
    ]
    assert [(r["arm"], r["family"], r["parameter"], float(r["value"])) for r in rows] == wanted
    assert {r["unit"] for r in rows if r["parameter"].endswith("_ns")} == {"ns"}
    text = run(directory, "--fit")[1]
    assert all(one["arm"] in text for one in document) and "distance" in text


def test_csv_is_for_fits_alone(directory, run):
    assert run(directory, "--csv")[0] == 2
    assert run(directory, "--fit", "--csv", "--json")[0] == 2
