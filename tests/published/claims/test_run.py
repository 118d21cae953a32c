"""`rmwbench published claims run` from the plan to the ledger, over synthetic arms of known truth;
stopped, and resumed."""

import json
from pathlib import Path

import pytest

from rmwbench.bundle import Bundle
from rmwbench.bundle.journal import CellsDropped
from rmwbench.campaign import trial_lab
from rmwbench.campaign.trial_lab import StopSignal
from rmwbench.lab import machine
from rmwbench.published.claims import claims_session as session
from rmwbench.results.show_document import summarise
from tests.lab import tools
from tests.support.command import captured

SUITE = """
suite: planted
title: a difference of known size
blocks: {planned: 30, minimum: 20}
timeline: {warmup_s: 0.05, drain_s: 0.05, steady_s: 9.0}
arms:
  - {name: here, middleware: synthetic, options: {latency: constant ns=300000}}
  - {name: there, middleware: synthetic, options: {latency: constant ns=1200000}}
  - {name: unneeded, middleware: synthetic, options: {latency: constant ns=5}}
  - {name: absent, middleware: rclcpp/rmw_nowhere, optional: true}
workloads:
  - {name: w, message: Bytes(100), rate_hz: 200}
factors: {subscribers: [1, 2]}
short: {factors: {subscribers: [1]}, timeline: {steady_s: 0.15}}
"""
CLAIMS = """
claims: mine
title: Mine
published: "2026"
text: mine.txt
layer: native
sides: {here: [here], there: [there], absent: [absent]}
items:
  - id: planted
    heading: H
    says: There takes longer than twice as long as here.
    kind: ratio
    published: {verdict: supported, why: it was planted}
    test: &test {suite: SUITE, metric: service_latency_p50, left: there, relation: greater, right: here, factor: 2}
  - id: reversed
    heading: H
    says: There takes no longer than here.
    kind: comparison
    place: paragraph 1
    published: {verdict: contradicted, why: it was planted}
    test: {<<: *test, relation: less, factor: 1.0}
  - id: elsewhere
    heading: H
    says: What is not here is slow.
    kind: comparison
    published: {verdict: supported, why: it was planted}
    test: {suite: SUITE, metric: service_latency_p50, left: absent, relation: greater, right: here}
"""


@pytest.fixture
def claims(tmp_path, monkeypatch):
    tools.worker("synthetic")
    # where others leave no processor idle, a claim has no data: that is not what is tested here
    monkeypatch.setattr(machine, "flags", lambda probes: [])
    suite = tmp_path / "planted.yaml"
    suite.write_text(SUITE)
    path = tmp_path / "mine.yaml"
    path.write_text(CLAIMS.replace("SUITE", str(suite)))
    return path


def test_the_plan_says_what_would_run_and_what_cannot_be_decided(claims, capsys):
    code, out, _ = captured(
        capsys, "published", "claims", "plan", claims, "--budget", "1m", "--json"
    )
    document = json.loads(out)
    assert (code, document["schema"]) == (0, "rmwbench/claims-plan")
    (suite,) = document["suites"]
    assert (suite["claims"], suite["cells"]) == (["planted", "reversed"], 2)
    assert suite["layers"] == {"native": 2}
    assert document["refused"][0]["claim"] == "elsewhere"
    assert "no ROS 2 is sourced" in document["refused"][0]["reason"]
    assert suite["share_s"] == pytest.approx(60.0, abs=0.1)
    code, out, _ = captured(
        capsys, "published", "claims", "plan", claims, "--budget", "2s", "--json"
    )
    assert {one["claim"] for one in json.loads(out)["left_out"]} == {"planted", "reversed"}
    code, out, _ = captured(capsys, "published", "claims", "plan", claims)
    assert "2 claims in 1 suite, 2 cells" in out and "elsewhere: " in out


@pytest.mark.long
def test_only_what_was_asked_for_would_run(capsys, whole):
    undecided = {judged.claim.id for judged in whole.claims if judged.state == "undecided"}
    code, out, _ = captured(
        capsys, "published", "claims", "plan", "--verdict", "undecided", "--budget", "10h", "--json"
    )
    document = json.loads(out)
    planned = {one for suite in document["suites"] for one in suite["claims"]}
    told = {one["claim"] for key in ("refused", "settled") for one in document[key]}
    assert code == 0 and planned <= undecided <= planned | told
    code, out, _ = captured(capsys, "published", "claims", "plan", "fd-qt-fast", "--json")
    assert [suite["claims"] for suite in json.loads(out)["suites"]] == [["fd-qt-fast"]]
    for wrong in (["--verdict", "opinion"], ["no-such"]):
        code, out, err = captured(capsys, "published", "claims", "plan", *wrong)
        assert code == 2 and out == "" and "do: " in err


@pytest.mark.traffic
def test_a_session_that_was_asked_for_some_claims_keeps_to_them_when_it_is_resumed(
    claims, capsys, tmp_path
):
    out = tmp_path / "out"
    session.begin(out, [str(claims)], seed=0, budget_s=60.0, settled={}, only=["reversed"])
    code, _, err = captured(capsys, "resume", out)
    assert code == 0 and session.load(out).only == ["reversed"], err
    assert [one["claims"] for one in session.load(out).campaigns.values()] == [["reversed"]]


@pytest.mark.traffic
def test_claims_are_measured_and_resumed_after_a_stop(claims, capsys, tmp_path, monkeypatch):
    out = tmp_path / "out"
    original, ran = trial_lab.run_trial, []

    def stopping(order, workers, host):
        if len(ran) == 3:
            raise StopSignal("SIGINT")
        ran.append(order.trial)
        return original(order, workers, host)

    monkeypatch.setattr(trial_lab, "run_trial", stopping)
    code, _, err = captured(
        capsys, "published", "claims", "run", claims, "--budget", "2m", "--out", out
    )
    assert code == 130 and f"rmwbench resume {out}" in err
    begun = Bundle(out / "planted").trials()
    assert len(begun) == 3 and {trial.status for trial in begun} <= {"done", "void"}
    monkeypatch.setattr(trial_lab, "run_trial", original)
    code, text, err = captured(capsys, "resume", out)
    assert code == 0, err
    bundle = Bundle(out / "planted")
    assert bundle.journal.finished
    lines = [line for line in bundle.journal.lines if isinstance(line, CellsDropped)]
    assert [(line.why, line.cells) for line in lines] == [("not needed", (1, 2))], (
        "a factor of four needs few blocks"
    )
    assert "claims after block" in err and "2 of 2 decided" in err
    assert "holds" in text and "does not hold" in text and "does not hold 1" in text
    page = (out / "claims.html").read_text()
    assert (
        "There takes longer than twice as long as here." in page
        and 'href="planted/report.html#m-0-' in page
    )
    shown = summarise(bundle)
    assert shown.campaign.blocks_complete == shown.campaign.blocks_planned == lines[0].blocks
    assert shown.campaign.trials.planned == 2 * lines[0].blocks
    code, text, _ = captured(
        capsys,
        "published",
        "figures",
        "rclcpp-intraprocess-2019",
        "--no-shipped",
        "--campaign",
        out,
    )
    assert code == 0 and "measured none" in text, (
        "the directory is read, and no figure asks for its cells"
    )
    code, _, err = captured(capsys, "resume", out, "--cluster", "auto")
    assert code == 2 and "--cluster does not go with this" in err
    assert "  do: leave --cluster out" in err
    _what_is_settled_runs_no_more(capsys, out)


def _what_is_settled_runs_no_more(capsys, out):
    _, _, err = captured(capsys, "resume", out, "--budget", "30s", "--no-report")
    assert "nothing is open that can be decided here" in err
    state = json.loads((out / "claims.json").read_text())
    assert set(state["settled"]) == {"planted", "reversed"} and state["round"] == 2
    assert sorted(path.name for path in Path(out).iterdir() if path.is_dir()) == ["planted"]


def test_a_suite_that_cannot_run_costs_itself_only(claims, capsys, tmp_path):
    suite = tmp_path / "planted.yaml"
    suite.write_text(SUITE.replace("latency: constant ns=300000", "latency: no such law"))
    code, _, err = captured(
        capsys, "published", "claims", "run", claims, "--budget", "1m", "--out", tmp_path / "out"
    )
    assert code == 2 and "planted cannot be run here: " in err and "latency" in err
    assert json.loads((tmp_path / "out" / "claims.json").read_text())["campaigns"] == {}


def test_a_directory_that_is_taken_is_refused(claims, capsys, tmp_path):
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "x").write_text("mine")
    code, _, err = captured(capsys, "published", "claims", "run", claims, "--out", taken)
    assert code == 2 and "not empty" in err and (taken / "x").read_text() == "mine"
    code, _, err = captured(capsys, "published", "claims", "run", "nobody")
    assert code == 2 and "no source and no claim is called `nobody`" in err
