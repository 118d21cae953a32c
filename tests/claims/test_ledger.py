"""The shipped ledger: every heading of the sources is accounted for, and every experiment exists."""

import functools
import re
from pathlib import Path

import pytest

from rmwbench.analysis.glossary import GLOSSARY
from rmwbench.importers.kinds import KINDS
from rmwbench.suite.load import load as load_suite
from rmwbench.suite.load import shipped_suites
from tests.claims.headings import headings, named
from tests.claims.shipped import FILES

SOURCES = Path(__file__).parents[2].parent / "shared" / "sources"
TESTS = [(name, claim) for name, file in FILES.items() for claim in file.items if claim.test]


def test_all_five_sources_and_well_over_120_claims():
    assert set(FILES) == {"fastdds-2021", "galactic-2020", "gscam-2025", "pipeline-2021", "rclcpp-intraprocess-2019"}
    judged = [claim for file in FILES.values() for claim in file.items if claim.kind != "opinion"]
    assert len(judged) > 200
    ids = [claim.id for file in FILES.values() for claim in file.items]
    assert len(ids) == len(set(ids)), "an id is one of the whole ledger"


@pytest.mark.parametrize("name", FILES)
def test_every_heading_of_the_source_has_claims_or_a_reason(name):
    file = FILES[name]
    path = SOURCES / file.text
    if not path.exists():
        pytest.skip(f"the source's text is not here ({path}): its headings cannot be compared")
    found = headings(file.text, path.read_text(encoding="utf-8"))
    claimed = {claim.heading for claim in file.items}
    excused = {entry.heading for entry in file.headings}
    without = [h for h in found if not any(named(x, h) for x in claimed | excused)]
    assert without == [], "headings without claims and without a reason"
    unknown = [x for x in claimed | excused if sum(named(x, h) for h in found) != 1]
    assert unknown == [], "no heading of the source, or more than one"
    assert claimed & excused == set(), "claims and a reason for none"


def test_the_texts_of_all_sources_are_claimed():
    if not SOURCES.exists():
        pytest.skip(f"the sources' texts are not here ({SOURCES})")
    assert {path.name for path in SOURCES.glob("*.txt")} == {file.text for file in FILES.values()}


def test_claims_are_no_suites():
    assert [name for name in shipped_suites() if "claims" in name] == []


@functools.cache
def suite_of(name):
    return load_suite(name)


@pytest.mark.parametrize(("name", "claim"), [pytest.param(*x, id=x[1].id) for x in TESTS])
def test_an_experiment_exists(name, claim):
    test, sides, suite = claim.test, FILES[name].sides, suite_of(claim.test.suite)
    assert suite.suite in (test.suite, test.suite.replace("/", "-"), test.suite.rpartition("/")[2])
    assert test.metric in GLOSSARY
    left = (test.left, test.workload, {**test.at, **test.left_at})
    right = (test.right, test.right_workload or test.workload, {**test.at, **test.right_at})
    for side, workload, levels in (left, right):
        if side is None:
            continue
        arms = {arm.name for arm in suite.arms} & set(sides[side])
        assert arms, f"no arm of {side} in {test.suite}"
        assert workload in {None, *(w.name for w in suite.workloads)}
        assert [key for key, level in levels.items() if level not in suite.factors.get(key, ())] == []
        # What a suite leaves out has no cell, whoever asks.
        here = [{**levels, "arm": arm} | ({"workload": workload} if workload else {}) for arm in arms]
        assert not all(any(rule.items() <= cell.items() for rule in suite.exclude) for cell in here)


@pytest.mark.parametrize("name", FILES)
def test_data_is_of_a_kind_that_can_be_imported(name):
    assert {claim.data.kind for claim in FILES[name].items if claim.data} <= set(KINDS)


@pytest.mark.parametrize("name", FILES)
def test_sides_are_used(name):
    used = {side for claim in FILES[name].items if claim.test for side in (claim.test.left, claim.test.right)}
    assert set(FILES[name].sides) - used == set()


@pytest.mark.parametrize("name", FILES)
def test_claims_are_in_our_own_words(name):
    file, several = FILES[name], 7
    path = SOURCES / file.text
    if not path.exists():
        pytest.skip(f"the source's text is not here ({path}): its sentences cannot be compared")

    def runs(text):
        words = re.findall(r"[a-z0-9]+", text.casefold())
        return {tuple(words[n : n + several]) for n in range(len(words) - several + 1)}

    theirs = runs(path.read_text(encoding="utf-8"))
    assert [claim.id for claim in file.items if runs(claim.says) & theirs] == []
