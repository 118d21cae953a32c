"""The shipped ledger: every heading of the sources is accounted for, and every experiment
exists."""

import functools
import math
import re
from pathlib import Path

import pytest

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.published.importers.kinds import KINDS
from rmwbench.suite.file.load import load as load_suite
from rmwbench.suite.file.load import plain
from tests.published.claims.headings import headings, named, source_text
from tests.published.claims.shipped import FILES
from tests.published.claims.statements import sentences, statements

TESTS = [(name, claim) for name, file in FILES.items() for claim in file.items if claim.test]


ELSEWHERE = ("hop-chain-2026", "zenoh-wireless-2026")
"""Sources whose texts are not kept beside a checkout."""
KEPT = [name for name in FILES if name not in ELSEWHERE]


def test_all_seven_sources_and_well_over_120_claims():
    kept = {
        "fastdds-2021",
        "galactic-2020",
        "gscam-2025",
        "pipeline-2021",
        "rclcpp-intraprocess-2019",
    }
    assert set(FILES) == {*kept, *ELSEWHERE}
    judged = [claim for file in FILES.values() for claim in file.items if claim.kind != "opinion"]
    assert len(judged) > 200
    ids = [claim.id for file in FILES.values() for claim in file.items]
    assert len(ids) == len(set(ids)), "an id is one of the whole ledger"


@pytest.mark.parametrize("name", FILES)
def test_every_heading_of_the_source_has_claims_or_a_reason(name):
    file = FILES[name]
    of_source = headings(file.text, source_text(file.text))
    claimed = {claim.heading for claim in file.items}
    excused = {entry.heading for entry in file.headings}
    without = [h for h in of_source if not any(named(x, h) for x in claimed | excused)]
    assert without == [], "headings without claims and without a reason"
    unknown = [x for x in claimed | excused if sum(named(x, h) for h in of_source) != 1]
    assert unknown == [], "no heading of the source, or more than one"
    assert claimed & excused == set(), "claims and a reason for none"


@functools.cache
def claims_by_statement():
    """Return for each source and each digest of a statement its claims, or why it is in none."""
    return plain(
        (Path(__file__).parent / "statements.yaml").read_text(encoding="utf-8"),
        where="statements.yaml",
    )


@pytest.mark.parametrize("name", FILES)
def test_every_statement_of_the_source_has_claims_or_a_reason(name):
    """A heading that has claims may say more than its claims do."""
    file = FILES[name]
    stated = statements(file.text, source_text(file.text))
    known = claims_by_statement()[name]
    without = [one.text for one in stated if one.digest not in known]
    assert without == [], "statements without claims and without a reason"
    assert set(known) - {one.digest for one in stated} == set(), (
        "accounted for, and no statement of the source"
    )


@pytest.mark.parametrize("name", KEPT)
def test_what_accounts_for_a_statement_exists(name):
    ids = {claim.id for claim in FILES[name].items}
    named_ = {
        one
        for accounts in claims_by_statement()[name].values()
        if isinstance(accounts, list)
        for one in accounts
    }
    assert named_ - ids == set(), "no claim of this source"
    assert all(accounts for accounts in claims_by_statement()[name].values())


@pytest.mark.parametrize("name", KEPT)
def test_every_claim_has_its_place_or_is_ours(name):
    """A verdict on a source's own sentence needs that sentence."""
    of_source = [claim for claim in FILES[name].items if claim.inferred is None]
    assert [claim.id for claim in of_source if claim.place is None] == []
    by_kind = [claim.id for claim in of_source if not re.search(r"\d", claim.place)]
    assert by_kind == [], "its text is kept, so that its place can be counted"


@pytest.mark.parametrize("name", KEPT)
def test_a_place_exists_and_is_that_of_its_statements(name):
    file = FILES[name]
    text = source_text(file.text)
    every = {(one.heading, one.place) for one in sentences(file.text, text)}
    stated: dict[str, list[tuple[str, str]]] = {}
    for one in statements(file.text, text):
        ids = claims_by_statement()[name][one.digest]
        for id_ in ids if isinstance(ids, list) else ():
            stated.setdefault(id_, []).append((one.heading, one.place))
    for claim in file.items:
        places = (claim.place or "").split("; ") if claim.place else []
        below = {place for heading, place in every if named(claim.heading, heading)}
        assert set(places) <= below, f"{claim.id}: no such place below its heading"
        its = {p for heading, p in stated.get(claim.id, ()) if named(claim.heading, heading)}
        assert its <= set(places), f"{claim.id}: a statement that it is in, and no place of it"


@pytest.mark.parametrize(("name", "claim"), [pytest.param(*x, id=x[1].id) for x in TESTS])
def test_a_claim_about_several_cells_says_how_many(name, claim):
    """Without `cells`, a measurement of one of them would have tested the whole claim."""
    for test in claim.tests:
        suite = suite_of(test.suite)
        fixed = {**test.at, **test.left_at}
        several = {factor: len(level) for factor, level in fixed.items() if isinstance(level, list)}
        free = math.prod(
            several.get(name, 1 if name in fixed else len(x)) for name, x in suite.factors.items()
        )
        workloads = 1 if test.workload else len(suite.workloads)
        assert test.cells is None or test.cells.of <= free * workloads
        if test.cells is None:
            assert free * workloads == 1, f"{free * workloads} cells, and no `cells: {{of: …}}`"


@functools.cache
def suite_of(name):
    return load_suite(name)


@pytest.mark.parametrize(("name", "claim"), [pytest.param(*x, id=x[1].id) for x in TESTS])
def test_an_experiment_exists(name, claim):
    for test in claim.tests:
        _exists(name, test)


def _exists(name, test):
    sides, suite = FILES[name].sides, suite_of(test.suite)
    assert suite.suite in (test.suite, test.suite.replace("/", "-"), test.suite.rpartition("/")[2])
    assert set(test.metrics) <= set(GLOSSARY)
    left = (test.left, test.workload, {**test.at, **test.left_at})
    right = (test.right, test.right_workload or test.workload, {**test.at, **test.right_at})
    for side, workload, levels in (left, right):
        if side is None:
            continue
        arms = {arm.name for arm in suite.arms} & set(sides[side])
        assert arms, f"no arm of {side} in {test.suite}"
        assert workload in {None, *(w.name for w in suite.workloads)}
        meant = [
            (key, one)
            for key, level in levels.items()
            for one in (level if isinstance(level, list) else [level])
        ]
        assert [key for key, level in meant if level not in suite.factors.get(key, ())] == []
        # What a suite leaves out has no cell, whoever asks.
        single = {
            key: level[0] if isinstance(level, list) else level for key, level in levels.items()
        }
        here = [
            {**single, "arm": arm} | ({"workload": workload} if workload else {}) for arm in arms
        ]
        assert not all(any(rule.items() <= cell.items() for rule in suite.exclude) for cell in here)


@pytest.mark.parametrize("name", FILES)
def test_data_is_of_a_kind_that_can_be_imported(name):
    assert {claim.data.kind for claim in FILES[name].items if claim.data} <= set(KINDS)


@pytest.mark.parametrize("name", FILES)
def test_sides_are_used(name):
    used = {
        side
        for claim in FILES[name].items
        for test in claim.tests
        for side in (test.left, test.right)
    }
    assert set(FILES[name].sides) - used == set()


@pytest.mark.parametrize("name", FILES)
def test_claims_are_in_our_own_words(name):
    file, several = FILES[name], 7

    def runs(text):
        words = re.findall(r"[a-z0-9]+", text.casefold())
        return {tuple(words[n : n + several]) for n in range(len(words) - several + 1)}

    theirs = runs(source_text(file.text))
    assert [claim.id for claim in file.items if runs(claim.says) & theirs] == []
