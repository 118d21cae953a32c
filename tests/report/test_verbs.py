"""`rmwbench show` and `rmwbench report` on a bundle, as a user types them."""

import json

import pytest

from tests.support import synthetic_bundle
from tests.support.command import captured


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    directory = tmp_path_factory.mktemp("campaigns") / "fixture"
    synthetic_bundle.write(directory, workloads=("imu",), merged=True)
    return directory


def test_show_json(bundle, capsys):
    code, out, _ = captured(capsys, "show", bundle, "--json")
    assert code == 0
    assert json.loads(out)["schema"] == "rmwbench/show"


def test_the_newest_campaign_is_shown(bundle, capsys, monkeypatch, tmp_path):
    (tmp_path / "campaigns").symlink_to(bundle.parent)
    monkeypatch.chdir(tmp_path)
    code, out, _ = captured(capsys, "show")
    assert code == 0 and "imu" in out


@pytest.mark.long
def test_report_markdown(bundle, capsys, tmp_path):
    code, _, _ = captured(
        capsys, "report", bundle, "--format", "markdown", "--out", tmp_path / "r.md"
    )
    assert code == 0
    assert (tmp_path / "r.md").read_text().startswith("# ") and list(
        (tmp_path / "r-charts").glob("*.svg")
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "nowhere"), "nowhere"),
        (("report", "nowhere"), "nowhere"),
        (("report", "{bundle}", "--out", "missing/r.html"), "mkdir"),
        (("report", "{bundle}", "--out", "."), "directory"),
        (("report", "{bundle}", "--format", "pdf"), "pdf"),
    ],
)
def test_bad_input_is_one_clear_error(bundle, capsys, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    code, _, err = captured(capsys, *(a.format(bundle=bundle) for a in arguments))
    assert code == 2
    assert told in err and "Traceback" not in err


def test_report(bundle, capsys, tmp_path):
    code, out, _ = captured(capsys, "report", bundle, "--out", tmp_path / "r.html")
    assert code == 0 and out.strip() == str(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
