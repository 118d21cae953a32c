"""The criteria for a report: without evidence a criterion is not stated, and tiers are read from
REP-2000's own tables."""

import json

import pytest

from rmwbench.errors import UserError
from rmwbench.published.community.admission import OURS, judge, permissive, tiers, view
from tests.support.command import captured

REP = """\
Target Platforms
================

Older Release (May 2020 - May 2021)
-----------------------------------

+--------------------+----------+---------------+
| Middleware Library | Provider | Support Level |
+====================+==========+===============+
| rmw_one_cpp*       | One      | Tier 1        |
+--------------------+----------+---------------+

Newer Release (May 2022 - May 2027)
-----------------------------------

+--------------------+----------+---------------+
| Middleware Library | Provider | Support Level |
+====================+==========+===============+
| rmw_two_cpp*       | Two      | Tier 1        |
+--------------------+----------+---------------+
| rmw_one_cpp        | One      | Tier 2        |
+--------------------+----------+---------------+

" * " means default.

+---------+-----+--------+
| Package | x   | Tier 1 |
+=========+=====+========+
| CMake   | 3   | Tier 1 |
+---------+-----+--------+

Rolling Thing (June 2020 - Ongoing)
-----------------------------------

As above.
"""

YAML = """\
candidates:
  - name: One
    package: rmw_one_cpp
    tier: {tier: 1, evidence: "https://example.org/rep", date: 2025-01-02}
    licence: {spdx: EPL-2.0 OR BSD-3-Clause, evidence: "https://example.org/licence"}
    protocol: {name: DDS/RTPS, evidence: "https://example.org/wire"}
  - name: Word
    tier: {tier: 1}
    licence: {spdx: EPL-2.0, evidence: "https://example.org/licence"}
  - name: Nothing
"""


@pytest.fixture
def candidates(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(YAML)
    return path


def statuses(admission):
    return {
        c.name: ([x.status for x in c.criteria.values()], c.admitted) for c in admission.candidates
    }


def test_the_bar(candidates):
    assert statuses(judge(candidates)) == {
        "One": (["met", "met", "met"], "yes"),
        "Word": (["not stated", "not met", "not stated"], "no"),  # said without evidence
        "Nothing": (["not stated"] * 3, "could not tell"),
    }


def test_tiers_from_the_reps_text(candidates, tmp_path):
    rep = tmp_path / "rep-2000.rst"
    rep.write_text(REP)
    name, by_package = tiers(rep)
    assert name == "Newer Release" and by_package == {
        "rmw_two_cpp": (1, 19),
        "rmw_one_cpp": (2, 21),
    }
    admission = judge(candidates, rep)
    assert statuses(admission)["One"] == (["not met", "met", "met"], "no")
    assert admission.candidates[0].criteria["tier"].evidence == "rep-2000.rst:21"
    assert statuses(judge(candidates, rep, "older"))["One"][1] == "yes"
    candidates.write_text(YAML.replace("rmw_one_cpp", "rmw_three_cpp"))
    tier = judge(candidates, rep).candidates[0].criteria["tier"]
    assert tier.status == "not stated" and "not in the table" in tier.note
    with pytest.raises(UserError, match="no table for this distribution"):
        tiers(rep, "rolling")
    rep.write_text("nothing")
    with pytest.raises(UserError, match="no table of middleware support"):
        tiers(rep)


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("Apache-2.0", True),
        ("EPL-2.0", False),
        ("EPL-2.0 OR Apache-2.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND (EPL-2.0 OR BSD-3-Clause)", True),
        ("LicenseRef-Own", None),
        ("LicenseRef-Own OR MIT", True),
        ("LicenseRef-Own AND EPL-2.0", False),
        ("Apache 2.0", None),
        ("MIT OR", None),
        ("(MIT", None),
        ("", None),
    ],
)
def test_licence_expressions(expression, allowed):
    assert permissive(expression) is allowed


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: One", "nam: One", "unknown key `nam`"),
        ("licence: {spdx: EPL-2.0 OR", "licence: {spd: EPL-2.0 OR", "unknown key `spd`"),
        ("tier: {tier: 1, e", "tier: {tier: one, e", "`tier` is not a whole number"),
        ("date: 2025-01-02", "date: soon", "`date`: Input should be a valid date"),
        (
            'protocol: {name: DDS/RTPS, evidence: "https://example.org/wire"}',
            "protocol: DDS",
            "is not a mapping",
        ),
        ("candidates:", "candidate:", "unknown key `candidate`"),
        ("- name: Word", "- name: [Word", "not YAML"),
    ],
)
def test_bad_files_say_where(candidates, old, new, words):
    assert old in YAML
    candidates.write_text(YAML.replace(old, new, 1))
    with pytest.raises(UserError) as raised:
        judge(candidates)
    assert words in raised.value.render() and str(candidates) in raised.value.render()


def test_ours_has_evidence_for_whatever_it_says(capsys):
    code, out, _ = captured(capsys, "published", "community", "admission", "--json")
    doc = json.loads(out)
    assert code == 0 and doc["source"] == str(OURS) and len(doc["candidates"]) >= 5
    assert [one.title for one in view(judge(OURS)).sections] == ["Candidates"]
    for candidate in doc["candidates"]:
        for criterion in candidate["criteria"].values():
            assert criterion["status"] == "not stated" or (
                criterion["evidence"].startswith("https://") and criterion["date"]
            )
    assert not any(
        (c["note"] or "").startswith("said without")
        for x in doc["candidates"]
        for c in x["criteria"].values()
    )
