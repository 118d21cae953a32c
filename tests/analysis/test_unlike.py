"""Into whose memory a message is taken, and what a full queue does, are never compared silently."""

from dataclasses import replace

import pytest

from rmwbench.analysis.verdicts.unlike_arms import ArmFacts, between, flags, outdated

TYPED = ArmFacts(
    "a", take="typed", when_full="publisher overwrites at writer, subscription drops at reader"
)


def test_an_arm_that_takes_in_another_way_than_most_is_flagged():
    arms = [TYPED, replace(TYPED, arm="b"), replace(TYPED, arm="c", take="raw")]
    flagged = flags(arms)
    assert flagged["a"] == flagged["b"] == []
    assert flagged["c"] == [
        "messages taken in the receive buffer, serialised, those of most others into the reader's "
        "own memory"
    ]


def test_where_nothing_has_a_majority_every_arm_says_its_own():
    flagged = flags([TYPED, replace(TYPED, arm="b", take="lent")])
    assert flagged["a"] == [
        "messages taken into the reader's own memory, those of others in lent memory"
    ]
    assert flagged["b"] == [
        "messages taken in lent memory, those of others into the reader's own memory"
    ]


def test_where_two_arms_of_four_took_another_path_the_others_are_not_said_not_to_have():
    arms = [ArmFacts(name, path="udp" if name in "ab" else "shm") for name in "abcd"]
    assert flags(arms)["a"] == ["its bytes went through UDP, those of others through shared memory"]


def test_who_writes_into_lent_memory_is_unlike_nobody_of_its_own_family():
    copies = replace(TYPED, written="copy")
    loans = replace(copies, arm="c", written="loan", take="lent")
    other = replace(loans, arm="d", path="shm", take="typed")
    assert flags([copies, replace(copies, arm="b"), loans]) == {"a": [], "b": [], "c": []}
    flagged = flags([copies, replace(copies, arm="b"), loans, other])
    assert flagged["a"] == flagged["b"] == [] and len(flagged["c"]) == len(flagged["d"]) == 1
    assert between(copies, replace(loans, take="typed")) == [
        "publishers write: into memory of its own, which is copied in A, into memory that its "
        "middleware lends in B"
    ]


def test_taken_in_both_ways_is_told_as_both():
    flagged = flags([TYPED, replace(TYPED, arm="b"), replace(TYPED, arm="c", take="lent / typed")])
    assert flagged["c"] == [
        "messages taken in lent memory and into the reader's own memory, those of most others into "
        "the reader's own memory"
    ]


def test_two_arms_whose_full_queues_differ_are_unlike():
    blocks = replace(TYPED, arm="b", when_full="publisher blocks, subscription blocks")
    assert between(TYPED, blocks) == [
        "when a queue is full: publisher overwrites at writer, subscription drops at reader in A, "
        "publisher blocks, subscription blocks in B"
    ]


def test_what_was_measured_before_it_was_granted_is_not_compared():
    assert between(TYPED, ArmFacts("old")) == []
    assert flags([TYPED, replace(TYPED, arm="b"), ArmFacts("old")])["old"] == []


def test_versions_of_one_middleware_beside_each_other_are_told():
    old = ArmFacts("dds-2.9", library="dds", version="2.9.1", release_date="2023-01-19")
    new = ArmFacts("dds", library="dds", version="3.3.0", release_date="2025-07-10")
    other = ArmFacts("other", library="other", version="1.0", release_date="2025-08-01")
    flagged = flags([old, new, other])
    assert flagged["dds"] == ["version 3.3.0, others of it here 2.9.1"]
    assert flagged["dds-2.9"] == [
        "version 2.9.1, others of it here 3.3.0",
        "released 2023-01-19, 31 months before the newest here (other, 2025-08-01)",
    ]
    assert flags([old, other])["dds-2.9"] == [
        "version 2.9.1, released 2023-01-19, 31 months before the newest here (other, 2025-08-01)"
    ]
    assert flagged["other"] == []
    assert outdated([old, new, other]) == {"dds-2.9"}
    assert outdated([old, replace(new, floor=True)]) == set()
    assert outdated([ArmFacts("unknown"), new]) == set()
    assert flags([new, replace(new, arm="tuned"), other])["dds"] == []


def test_a_version_without_its_vendors_support_says_so_beside_whatever_else():
    ended = ArmFacts("dds", library="dds", version="3.3.0", support_ended="2026-01")
    told = ["version 3.3.0, without its vendor's support since 2026-01"]
    assert flags([ended])["dds"] == told and outdated([ended]) == {"dds"}
    assert outdated([replace(ended, floor=True)]) == set()


@pytest.mark.parametrize(
    ("newest", "months"), [("2024-07-01", None), ("2024-07-02", 19), ("2024-07-31", 19)]
)
def test_more_than_18_months_are_counted_to_the_day(newest, months):
    old = ArmFacts("old", release_date="2023-01-01")
    new = ArmFacts("new", release_date=newest)
    assert outdated([old, new]) == (set() if months is None else {"old"})
    flag = [f"released {months} months apart: 2023-01-01 in A, {newest} in B"] if months else []
    assert between(old, new) == flag
