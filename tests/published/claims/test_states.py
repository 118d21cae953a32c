"""Every claim is in one state, the terminal, the page and Markdown count the same, and each can be
asked for."""

import re

import pytest

from rmwbench.errors import UserError
from rmwbench.published.claims.claims_ledger import (
    NAMES,
    STATES,
    counts_text,
    has_verdict_in,
    ledger,
    verdict_names,
)
from tests.published.claims.asking import html, judged, page
from tests.published.claims.shipped import FILES
from tests.published.claims.test_cli import run
from tests.published.claims.test_predicates import arm, campaign, claims_with, metric, renamed


def test_the_states_add_up_and_each_claim_has_its_own(whole):
    states = whole.summary.states
    assert list(states) == list(STATES)
    items = sum(len(file.items) for file in FILES.values())
    assert sum(states.values()) == whole.summary.claims == items
    assert all(
        claim.claim.test and not claim.measured for claim in whole.claims if claim.state == "open"
    )
    assert all(
        claim.claim.not_testable for claim in whole.claims if claim.state == "not testable here"
    )
    assert states["opinion"] == whole.summary.opinions and states["not testable here"] > 50
    decided = [claim for claim in whole.claims if claim.state in ("holds", "does not hold")]
    assert sum(whole.summary.proxies.values()) == sum(
        c.measured[0].verdict == "proxy" for c in decided
    )


def test_all_three_forms_have_the_same_complete_counts(whole, capsys):
    told = counts_text(whole.summary)
    assert [name in told for name in STATES] == [True] * 9
    _, out, _ = run(capsys)
    assert told in " ".join(out.split()) and f"{whole.summary.claims} statements" in out
    assert told in page(whole)
    made = html(whole)
    listed = [f"{name} {n}" for name, n in whole.summary.states.items()]
    assert [text for text in listed if f"<dt>{text}" not in made] == []
    proxies = [f"({n} by proxy)" for n in whole.summary.proxies.values() if n]
    assert proxies and [text for text in proxies if text not in made] == []


@pytest.mark.parametrize(
    ("other", "state"),
    [
        ([0.02, 0.01, 0.002, 0.06, 0.01], "machines differ"),  # on the other side, and far away
        ([0.02, 0.3, 0.9, 0.06, 0.01], "does not hold"),  # an interval that has the answer in it
        ([0.30, 0.31, 0.30, 0.32, 0.31], "does not hold"),  # the same
    ],
)
def test_an_answer_that_another_machine_denies_is_none(other, state):
    """Of two answers from as many blocks, the newer one stands first: the day alone decides."""

    def of(values, day, machine):
        lost = metric(0.1, 0, 1, unit="fraction", count=5000, trials=5)
        made = renamed(arm("rclcpp/a", values, metric=lost), "loss")
        at = f"2026-11-{day}T00:00:00Z"
        return campaign(("w", made), machine=machine, created_utc=at)

    first = of([0.40, 0.41, 0.39, 0.42, 0.40], 27, "one")
    file = claims_with(level=0.05, workload="w", metric="loss")
    claim = judged(file, first, of(other, 26, "two"))
    assert claim.measured[0].answer == "does not hold" and claim.state == state


def test_single_claims_of_several_sources(capsys):
    code, out, _ = run(capsys, "ga-34-stall", "pa-similar", "gs-zenoh-uhd60")
    assert code == 0 and "3 statements" in out
    assert {"ga-34-stall", "pa-similar", "gs-zenoh-uhd60"} == set(
        re.findall(r"^  ((?:ga|pa|gs)-\S+)", out, re.M)
    )
    code, out, _ = run(capsys, "gscam-2025", "ga-34-stall")
    assert f"{len(FILES['gscam-2025'].items) + 1} statements" in out, (
        "a source without ids is shown in whole"
    )
    code, out, _ = run(capsys, "galactic-2020", "ga-34-stall")
    assert "1 statement:" in out


def test_a_word_that_is_neither_source_nor_claim(capsys):
    code, out, err = run(capsys, "ga-34-stal")
    assert (code, out) == (2, "") and "did you mean `ga-34-stall`?" in err


@pytest.mark.long
@pytest.mark.parametrize("name", [name.replace(" ", "-") for name in NAMES])
def test_every_verdict_can_be_asked_for(name, whole, campaigns):
    (wanted,) = verdict_names([name], "--verdict")
    expected = {claim.claim.id for claim in whole.claims if has_verdict_in(claim, {wanted})}
    if wanted in STATES:
        assert len(expected) == whole.summary.states[wanted]
    made = ledger(list(FILES.values()), shipped=campaigns, verdicts={wanted})
    assert {claim.claim.id for claim in made.claims} == expected
    assert all(source.claims for source in made.sources)


def test_a_verdict_as_people_write_it(capsys):
    assert verdict_names(["Not testable", "not-testable", "DOES_NOT_HOLD"], "x") == {
        "not testable here",
        "does not hold",
    }
    code, out, err = run(capsys, "--verdict", "contradictd")
    assert (code, out) == (2, "") and "no verdict is called `contradictd`" in err
    assert "did you mean `contradicted`?" in err and "does-not-hold" in err
    with pytest.raises(UserError, match="no verdict"):
        verdict_names(["n"], "--verdict")
    code, out, _ = run(capsys, "galactic-2020", "--verdict", "contradicted", "--no-shipped")
    judged = [
        c
        for c in FILES["galactic-2020"].items
        if "contradicted" in {x.verdict for x in (c.published, c.corrected) if x}
    ]
    assert code == 0 and f"{len(judged)} statements" in out


def test_the_whole_ledger_is_brief_and_no_line_is_said_twice(capsys, monkeypatch, whole):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys)
    lines = out.splitlines()
    assert len(lines) < 4.25 * whole.summary.claims and max(map(len, lines)) <= 80
    monkeypatch.delenv("COLUMNS")
    _, out, _ = run(capsys, "fastdds-2021")
    claim = out[out.index("  fd-qp-latency ") :].split("\n\n")[0].split("\n  fd-")[0]
    assert claim.count("service latency, median") == 1 and claim.count("[message=Array2m") == 1
    assert "service_latency_p50" not in out
