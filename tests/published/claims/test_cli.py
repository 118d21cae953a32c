"""`rmwbench published claims`: the ledger in each of its forms, and the page that it generates."""

import json
import re
from pathlib import Path

from rmwbench.published.claims.by_suite import by_suite
from rmwbench.published.claims.claims_ledger import document, ledger, versions_text
from tests.published.claims.asking import page
from tests.published.claims.shipped import FILES
from tests.published.claims.test_predicates import FAST, SLOW, arm, campaign, renamed
from tests.support.command import captured

ROOT = Path(__file__).parents[3]


def run(capsys, *words):
    return captured(capsys, "published", "claims", *words)


def test_the_page_has_every_statement(whole, campaigns):
    files = list(FILES.values())
    written = page(whole, suites=by_suite(files, whole, campaigns))
    assert [claim.id for file in files for claim in file.items if claim.id not in written] == []


def test_the_page_of_the_evaluations_has_the_ledgers_counts(whole):
    summary = whole.summary
    written = (ROOT / "docs/evaluations.md").read_text(encoding="utf-8")
    heads = ["statements", *summary.states]
    counts = [summary.claims, *summary.states.values()]
    rows = (" | ".join(heads), "|".join(["---"] * len(heads)), " | ".join(map(str, counts)))
    made = f"| {rows[0]} |\n|{rows[1]}|\n| {rows[2]} |"
    assert made in written, f"docs/evaluations.md is to have\n{made}"
    assert versions_text(summary).rstrip(".") in " ".join(written.split())


def test_only_one_form_at_a_time_and_nothing_is_saved_of_nothing(capsys, tmp_path):
    code, _, err = run(capsys, "gscam-2025", "--json", "--markdown")
    assert code == 2 and "one form at a time" in err
    code, _, err = run(capsys, "gscam-2025", "--save", str(tmp_path))
    assert code == 2 and "--campaign DIR" in err and not list(tmp_path.iterdir())
    for choice in (("--heading", "Latency"), ("--verdict", "holds")):
        code, _, err = run(capsys, "gscam-2025", "--save", str(tmp_path), *choice)
        assert code == 2 and f"leave {choice[0]} out" in err
    code, _, err = run(capsys, "gs-uhd60-cyclone", "gs-paradox", "--save", str(tmp_path))
    assert code == 2 and "leave gs-paradox, gs-uhd60-cyclone out" in err


def test_the_page_can_be_written_of_nothing_measured(capsys, tmp_path):
    code, out, _ = run(
        capsys, "gscam-2025", "--no-shipped", "--html", str(tmp_path / "claims.html")
    )
    assert (code, out.strip()) == (0, str(tmp_path / "claims.html"))
    assert "rmwbench published claims run" in (tmp_path / "claims.html").read_text()


def test_a_campaign_gives_todays_answer():
    file = FILES["rclcpp-intraprocess-2019"]
    values = {
        "rclcpp unique": FAST,
        "rclcpp copied": SLOW,
        "rclcpp inter as of 2019 unique": [v * 900 for v in SLOW],
    }
    arms = [renamed(arm(name, times), "service_latency_p50") for name, times in values.items()]
    made = ledger([file], [campaign(("one", *arms), suite="rclcpp-intraprocess-2019")])
    doc = document(made)
    answers = {claim["id"]: claim["today"] for claim in doc["sources"][0]["claims"]}
    (today,) = answers["pa-one-lat-unique"]
    assert (today["answer"], today["verdict"]) == ("holds", "proxy"), (
        "another version than that of 2019"
    )
    assert "holds with rclcpp unique 1.0" in today["text"]
    (absent,) = answers["pa-one-pub-intra"]
    assert absent["verdict"] == "no data", "this campaign has no such metric"
    assert answers["pa-similar"] == []
    assert doc["summary"]["today"]["proxy"] >= 2
    json.dumps(doc, allow_nan=False)


def test_names_are_those_of_show_and_the_other_verbs_are_listed(capsys):
    code, out, _ = run(capsys, "--help")
    listed = re.findall(r"^  (\w+)  ", out.partition("Commands:")[2], re.MULTILINE)
    assert code == 0 and listed == ["show", "plan", "run"]
    shown, named = (run(capsys, *verb, "fd-w1-address", "--no-shipped") for verb in ((), ("show",)))
    assert shown == named and "fd-w1-address" in shown[1]
    code, _, err = run(capsys, "nobody")
    assert code == 2 and "no source and no claim is called `nobody`" in err


def test_a_heading_that_is_not_there_is_no_ledger_without_claims(capsys):
    """Beside `--verdict` it printed an empty ledger and exited 0."""
    for more in ((), ("--verdict", "holds", "--json")):
        code, out, err = run(capsys, "--heading", "nowhere at all", *more)
        assert (code, out) == (2, "")
        assert "no heading has that text" in err
    code, out, _ = run(capsys, "gscam-2025", "--no-shipped", "--verdict", "holds", "--json")
    assert code == 0 and json.loads(out)["sources"] == []
