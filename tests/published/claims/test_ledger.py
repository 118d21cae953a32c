"""The shipped ledger: every heading of the sources is accounted for, and every experiment
exists."""

import functools
import math
import re
import statistics
from pathlib import Path

import pytest

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.published.importers.kinds import KINDS
from rmwbench.suite.file.load import load as load_suite
from rmwbench.suite.file.load import plain
from rmwbench.suite.file.places import shipped_suites
from tests.published.claims.headings import headings, named
from tests.published.claims.shipped import FILES
from tests.published.claims.statements import sentences, statements

SOURCES = Path(__file__).parents[3].parent / "shared" / "sources"
TESTS = [(name, claim) for name, file in FILES.items() for claim in file.items if claim.test]


ELSEWHERE = ("hop-chain-2026", "zenoh-wireless-2026")
"""Sources whose texts are not kept beside a checkout."""


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


@functools.cache
def accounted():
    """Source -> digest of a statement -> its claims, or why it is in none."""
    return plain(
        (Path(__file__).parent / "statements.yaml").read_text(encoding="utf-8"),
        where="statements.yaml",
    )


@pytest.mark.parametrize("name", FILES)
def test_every_statement_of_the_source_has_claims_or_a_reason(name):
    """A heading that has claims may say more than they do."""
    file = FILES[name]
    path = SOURCES / file.text
    if not path.exists():
        pytest.skip(f"the source's text is not here ({path}): its statements cannot be compared")
    found = statements(file.text, path.read_text(encoding="utf-8"))
    known = accounted()[name]
    without = [one.text for one in found if one.digest not in known]
    assert without == [], "statements without claims and without a reason"
    assert set(known) - {one.digest for one in found} == set(), (
        "accounted for, and no statement of the source"
    )


@pytest.mark.parametrize("name", [name for name in FILES if name not in ELSEWHERE])
def test_what_accounts_for_a_statement_exists(name):
    ids = {claim.id for claim in FILES[name].items}
    named_ = {
        one for found in accounted()[name].values() if isinstance(found, list) for one in found
    }
    assert named_ - ids == set(), "no claim of this source"
    assert all(found for found in accounted()[name].values())


KEPT = [name for name in FILES if name not in ELSEWHERE]


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
    path = SOURCES / file.text
    if not path.exists():
        pytest.skip(f"the source's text is not here ({path}): its places cannot be looked up")
    text = path.read_text(encoding="utf-8")
    found = {(one.heading, one.place) for one in sentences(file.text, text)}
    stated: dict[str, list[tuple[str, str]]] = {}
    for one in statements(file.text, text):
        ids = accounted()[name][one.digest]
        for id_ in ids if isinstance(ids, list) else ():
            stated.setdefault(id_, []).append((one.heading, one.place))
    for claim in file.items:
        places = (claim.place or "").split("; ") if claim.place else []
        below = {place for heading, place in found if named(claim.heading, heading)}
        assert set(places) <= below, f"{claim.id}: no such place below its heading"
        its = {p for heading, p in stated.get(claim.id, ()) if named(claim.heading, heading)}
        assert its <= set(places), f"{claim.id}: a statement that it is in, and no place of it"


def test_a_claim_is_read_alone():
    """In a committee's table no other one stands before it."""
    told = [claim for file in FILES.values() for claim in file.items]
    leaning = (
        r"^(The same|So (do|does|is)|It |They |Those |Neither |This )|, too\.?$| too\.$|of them:"
    )
    assert [claim.id for claim in told if re.search(leaning, claim.says)] == []
    assert [claim.id for claim in told if "not said in the text" in claim.says] == []


def test_of_a_run_that_is_absent_nothing_is_contradicted():
    """Its numbers cannot be held against another run."""
    about = [claim for claim in FILES["gscam-2025"].items if claim.heading == "Key Findings"]
    judged = {claim.id: claim.published.verdict for claim in about if claim.published}
    assert {i for i, verdict in judged.items() if verdict.startswith("contradicted")} == {
        "gs-simplicity",  # by rmw_zenoh's documentation
    }


def test_a_whole_standard_is_not_tested_by_a_message_that_arrives():
    ids = {claim.id: claim for claim in FILES["fastdds-2021"].items}
    assert ids["fd-f5-rtps"].test is None and ids["fd-f6-security"].test is None


def test_one_statement_in_two_places_has_one_bar():
    ids = {claim.id: claim for claim in FILES["gscam-2025"].items}
    assert ids["gs-requires-cyclone"].tests == ids["gs-uhd60-cyclone"].tests


@pytest.mark.parametrize(
    ("name", "id_", "cells"),
    [
        ("fastdds-2021", "fd-insignificant", 54),
        ("fastdds-2021", "fd-f2-static", 3),
        ("galactic-2020", "ga-231-memory", 10),
        ("galactic-2020", "ga-231-cpu", 12),
    ],
)
def test_a_statement_about_many_conditions_asks_for_all_of_them(name, id_, cells):
    (claim,) = (claim for claim in FILES[name].items if claim.id == id_)
    assert {test.cells.of for test in claim.tests} == {cells}


def test_what_is_about_a_payload_that_nobody_touches_asks_for_it():
    ids = {claim.id: claim for _, claim in TESTS}
    for id_ in ("fd-qp-cpu-ds", "fd-qn-intra-fast"):
        assert all(test.of_touch for test in ids[id_].tests)


def test_a_statement_is_found_under_its_heading():
    first = "It is **faster** than the other. We thank all people here.\nHow nice it is today!"
    text = f"# A\n\n{first}\n## B\n- 5 % less is lost there\n"
    found = statements("x.txt", text)
    assert [(one.heading, one.text) for one in found] == [
        ("A", "It is faster than the other."),
        ("A", "We thank all people here."),
        ("B", "- 5 % less is lost there"),
    ]
    again = statements("x.txt", text.replace("**faster**", "faster"))
    assert [one.digest for one in again] == [one.digest for one in found], "marks are not words"


def test_no_claim_on_wifi_asks_how_much_its_air_carries():
    """That is fitted to the published logs: 92 to 99 messages per second in seven of ten runs, and
    what becomes of a stream beyond it is the answer."""
    tested = {claim.id for _, claim in TESTS if claim.test.suite == "galactic-2020/wifi"}
    assert tested == {
        "ga-sum-wifi-tie", "ga-33-120", "ga-33-120-fast", "ga-34-stall", "ga-34-stall-fast",
    }  # fmt: skip
    logs = sorted((SOURCES.parent / "data/tsc-galactic-2020/wifi").glob("c-s-100-*.txt"))
    if not logs:
        pytest.skip(
            f"the published logs are not here ({SOURCES.parent / 'data'}): their rates cannot be "
            "counted"
        )
    rates = []
    for log in logs:
        lines = log.read_text(encoding="utf-8").splitlines()
        rows = [line.split(",") for line in lines if re.match(r"\d", line)]
        rates.append(statistics.mean(int(row[2]) for row in rows))
    assert sum(rate > 90 for rate in rates) == 7 and sum(rate < 31 for rate in rates) == 3


@pytest.mark.parametrize(("name", "claim"), [pytest.param(*x, id=x[1].id) for x in TESTS])
def test_a_claim_about_several_cells_says_how_many(name, claim):
    """Without `cells`, whoever measured one of them would have tested the whole."""
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


def test_the_largest_categories_are_compared_with_the_others_and_not_with_a_half():
    """What the rest takes less than half of says nothing of which of the others is the largest."""
    (claim,) = (claim for _, claim in TESTS if claim.id == "kr-prof-small")
    assert {test.right_metric for test in claim.tests} == {"layer_share_ros2_largest"}
    assert all(test.level is None for test in claim.tests)


BOTH = ("fast sync", "fast async")
PARTS = {
    "ga-sum-spin": {(name, "cyclone", "less", "fast idle", None) for name in ("rss", "cpu_cores")},
    "kr-prof-small": {
        (f"layer_share_{part}", side, "greater", side, None)
        for part in ("middleware", "notification")
        for side in ("traced cyclone", "traced fast")
    },
    "kr-prof-large": {
        ("layer_share_middleware", side, "greater", 0.5, None)
        for side in ("traced cyclone", "traced fast")
    },
    "kr-frag-500k": {
        ("end_to_end_latency_p95", side, "greater", side, None) for side in ("cyclone", "fast")
    },
    "ga-2152-delivered": {
        ("loss", "fast async", "greater", 0.5, 0.0),
        ("loss", "fast sync", "less", 0.1, 0.0),
    },
    "ga-222-one-latency": {
        *(("achieved_rate", "cyclone", "greater", s, x) for x in (0.1, 0.2, 0.3) for s in BOTH),
        *(("service_latency_p50", "cyclone", "less", side, 0.1) for side in BOTH),
        *(("service_latency_p50", "cyclone", "greater", "fast sync", x) for x in (0.2, 0.3)),
    },
    "ga-223-better": {
        *(("achieved_rate", "cyclone", "greater", s, x) for x in (0.1, 0.2) for s in BOTH),
        *(("service_latency_p50", "cyclone", "less", s, x) for x in (0.1, 0.2) for s in BOTH),
    },
    "fd-th-be": {("achieved_throughput", "cyclone", "less", side, None) for side in BOTH},
    "fd-cp-be": {("cpu_per_message", "cyclone", "greater", side, None) for side in BOTH},
    "fd-me-be": {("rss", "cyclone", "less", side, None) for side in BOTH},
    "fd-ds-persist": {
        ("late_match_time", "backup server", "less", side, None)
        for side in ("one server", "two servers")
    },
}
"""Claim -> metric, left side, relation, right side or level, and loss of the network: of all that
its statement says."""


@pytest.mark.parametrize("name", PARTS)
def test_all_that_a_statement_says_is_tested(name):
    (claim,) = (claim for _, claim in TESTS if claim.id == name)
    tested = [
        (t.metric, t.left, t.relation, t.right or t.level, t.at.get("network.loss"))
        for t in claim.tests
    ]
    assert set(tested) == PARTS[name]
    assert len(tested) == len(PARTS[name]), "a part is tested twice"


def test_the_texts_of_all_sources_are_claimed():
    if not SOURCES.exists():
        pytest.skip(f"the sources' texts are not here ({SOURCES})")
    kept = {file.text for name, file in FILES.items() if name not in ELSEWHERE}
    assert {path.name for path in SOURCES.glob("*.txt")} == kept


def test_claims_are_not_suites():
    assert [name for name in shipped_suites() if "claims" in name] == []


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
    path = SOURCES / file.text
    if not path.exists():
        pytest.skip(f"the source's text is not here ({path}): its sentences cannot be compared")

    def runs(text):
        words = re.findall(r"[a-z0-9]+", text.casefold())
        return {tuple(words[n : n + several]) for n in range(len(words) - several + 1)}

    theirs = runs(path.read_text(encoding="utf-8"))
    assert [claim.id for claim in file.items if runs(claim.says) & theirs] == []
