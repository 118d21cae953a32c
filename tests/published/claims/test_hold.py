"""Between blocks: decided claims are dropped, those that no further block decides are given up, and
time ends the rest. And which claims fit into a budget."""

import dataclasses

import numpy as np
import pytest

from rmwbench.campaign.blocks import DroppedCells, Hold
from rmwbench.published.claims.claim_campaigns import ClaimCells, ClaimStopping
from rmwbench.published.claims.claims_plan import (
    OVERHEAD_S,
    Offer,
    choose_claims,
    shares_s,
)
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS, MOST_BLOCKS, CellPlace, Need
from rmwbench.published.claims.judging.decision_rules import LOOKS
from tests.campaign.test_course import plan
from tests.campaign.test_sequential import Virtual
from tests.published.claims.asking import today
from tests.published.claims.test_predicates import (
    FAST,
    NOISY,
    SLOW,
    arm,
    campaign,
    claims_with,
    metric,
    renamed,
)

EACH_S = {1: 2.0, 2: 2.0, 3: 2.0}


def hold(*claims_and_cells, doc, share_s=1000.0):
    wanted = [
        ClaimCells(claims, claims.items[0], frozenset(cells)) for claims, cells in claims_and_cells
    ]
    return ClaimStopping(wanted, lambda: doc, share_s)


def with_id(claims, name):
    only = claims.items[0].model_copy(update={"id": name})
    return claims.model_copy(update={"items": (only,)})


DOC = campaign(
    ("w", arm("rclcpp/a", FAST[:5]), arm("rclcpp/b", SLOW[:5])), ("v", arm("rclcpp/a", NOISY[:5]))
)
CLEAR = with_id(claims_with(right="b", workload="w"), "clear")
OPEN = with_id(claims_with(level=12.0, workload="v"), "open")


def test_only_cells_of_open_claims_run_on():
    held = hold((CLEAR, {1, 2}), (OPEN, {3}), doc=DOC)
    assert held(LEAST_BLOCKS - 1, 1.0, EACH_S).cells == {}, "too early to look"
    dropped = held(LOOKS[0], 1.0, EACH_S)
    assert dropped.cells == {1: "not needed", 2: "not needed"}
    assert (held.decided, held.given_up) == ({"clear": "holds"}, {})
    assert "1 of 2 decided; 2 of 3 cells are not needed" in dropped.text


def test_a_cell_that_an_open_claim_needs_too_stays():
    assert hold((CLEAR, {1, 2}), (OPEN, {2, 3}), doc=DOC)(5, 1.0, EACH_S).cells == {1: "not needed"}


def test_what_the_whole_of_the_error_decides_is_not_dropped_for_that():
    doc = campaign(
        (
            "w",
            arm("rclcpp/a", [10.0, 11.0, 12.0, 11.0, 10.0]),
            arm("rclcpp/b", [11.8, 13.0, 12.4, 12.6, 11.9]),
        )
    )
    held = hold((CLEAR, {1, 2}), doc=doc)
    assert held(5, 1.0, {1: 1.0, 2: 1.0}).cells == {}
    (under_way,) = today(CLEAR, doc, earlier=0)
    (over,) = today(CLEAR, doc)
    assert (under_way.answer, over.answer) == ("undecided", "holds"), (
        "a campaign that ended for time has what is left"
    )
    assert under_way.cells[0].high > over.cells[0].high


def test_a_claim_is_judged_at_the_looks_only():
    held = hold((CLEAR, {1, 2}), doc=DOC)
    assert held(LOOKS[0] + 1, 1.0, {1: 1.0, 2: 1.0}).cells == {} and held.decided == {}


def test_a_level_on_the_bar_is_decided_by_no_more_campaigns_than_the_error_allows():
    """The truth lies on the bar, and campaigns are looked at after 5, 8 and 12 blocks and ended by
    time: at most 5 % decide. With 95 % after each block it was 18 %."""
    rng, wrong, campaigns = np.random.default_rng(4), 0, 400
    claims = claims_with(level=10.0, workload="w")
    for _ in range(campaigns):
        values = list(10 * np.exp(rng.normal(0, 0.1, LOOKS[-1])))
        judged = [
            today(claims, campaign(("w", arm("rclcpp/a", values[:n]))), earlier=0) for n in LOOKS
        ]
        judged.append(today(claims, campaign(("w", arm("rclcpp/a", values)))))
        wrong += any(one[0].answer in ("holds", "does not hold") for one in judged)
    assert wrong <= 0.06 * campaigns


def test_time_ends_what_the_next_block_would_exceed():
    held = hold((CLEAR, {1, 2}), (OPEN, {3}), doc=DOC, share_s=10.0)
    assert held(5, 7.9, EACH_S).cells == {1: "not needed", 2: "not needed"}, (
        "only cell 3 would run, for 2 s"
    )
    assert held(6, 8.1, {3: 2.0}).cells == {3: "time"}


@pytest.mark.parametrize(
    ("value", "high", "given_up"),
    [(0.0, 0.1, True), (0.0, 0.001 * MOST_BLOCKS / 6, False), (0.001, 0.1, False)],
)
def test_no_loss_at_all_needs_more_messages_than_there_will_be(value, high, given_up):
    claims = claims_with(level=0.001, workload="w", metric="loss")
    lost = metric(value, 0.0, high, unit="fraction", count=500, trials=5)
    held = hold((claims, {1}), doc=campaign(("w", renamed(arm("rclcpp/a", metric=lost), "loss"))))
    dropped = held(5, 1.0, {1: 1.0})
    assert ("c" in held.given_up, dropped.cells) == (
        given_up,
        {1: "not needed"} if given_up else {},
    )


def test_a_claim_without_data_is_not_waited_for():
    empty = arm("rclcpp/a", metric={"unit": "ns", "no_data": "no trial of this arm was completed"})
    held = hold((claims_with(level=1.0, workload="w"), {1}), doc=campaign(("w", empty)))
    assert held(5, 1.0, {1: 1.0}).cells == {1: "not needed"} and held.given_up == {"c": "no data"}


def offer(suite, needs, cost_s=1.0):
    places = {
        name: frozenset(CellPlace("w", (), cell) for cell in cells) for name, cells in needs.items()
    }
    needed = {name: Need("native", cells) for name, cells in places.items()}
    costs_s = {place: cost_s for cells in places.values() for place in cells}
    return Offer(suite, None, {}, needed, costs_s, {})


def test_the_cheapest_claims_come_first_and_shared_cells_cost_once():
    offers = [
        offer("s", {"two": "ab", "shared": "b", "three": "cde"}),
        offer("t", {"far": "a"}, cost_s=100.0),
    ]
    least = OVERHEAD_S + LEAST_BLOCKS
    assert choose_claims(offers, least) == {"s": ["shared"]}
    assert choose_claims(offers, least + LEAST_BLOCKS) == {"s": ["two", "shared"]}
    assert choose_claims(offers, least - 0.1) == {}
    assert choose_claims(offers, 10_000) == {"s": ["two", "shared", "three"], "t": ["far"]}
    assert choose_claims(offers, least + LEAST_BLOCKS, slower=2.0) == {"s": ["shared"]}


def test_shares_keep_everybodys_least():
    shares = shares_s({"s": 1.0, "t": 9.0}, left_s=100.0)
    assert sum(shares.values()) == pytest.approx(100.0)
    assert all(
        shares[s] >= OVERHEAD_S + LEAST_BLOCKS * block for s, block in {"s": 1.0, "t": 9.0}.items()
    )
    tight = shares_s({"s": 1.0, "t": 9.0}, left_s=10.0)
    assert tight["t"] == OVERHEAD_S + LEAST_BLOCKS * 9.0, (
        "promised, also where it is over the budget"
    )


class Dropping:
    """Drops a cell after each of these numbers of blocks."""

    def __init__(self, after):
        self.after, self.asked = after, []

    def __call__(self, blocks, elapsed_s, next_s):
        self.asked.append((blocks, sorted(next_s)))
        return DroppedCells(self.after.get(blocks, {}), f"seen {blocks}")


def test_a_campaign_runs_dropped_cells_no_more_and_neither_does_a_resumed_one(
    tmp_path, monkeypatch
):
    made = plan("{planned: 4, minimum: 2}")
    held = Dropping(
        {1: {1: "decided", 2: "decided"}, 3: {3: "time", 4: "time", 5: "time", 6: "time"}}
    )

    def campaign(**options):
        virtual = Virtual(tmp_path / "v", monkeypatch, hold=Hold(held, 5.0), **options)
        return virtual, virtual.run(made)

    first, text = campaign(stop_after=8)
    cell = {trial.trial: trial.cell for trial in made.trials}
    assert not {1, 2} & {cell[t] for t in first.ran[6:]}
    assert held.asked[1][0] == 1 and held.asked[1][1] == [1, 2, 3, 4, 5, 6]
    assert "seen 1" in text
    second, _ = campaign()
    ran = [cell[t] for t in first.ran + second.ran]
    assert [ran.count(n) for n in range(1, 7)] == [1, 1, 3, 3, 3, 3]
    assert [(x["why"], x["blocks"], x["cells"]) for x in second.lines("dropped")] == [
        ("decided", 1, [1, 2]),
        ("time", 3, [3, 4, 5, 6]),
    ]
    assert second.lines("finished")


def test_a_ratio_of_nothing_to_nothing_is_not_waited_for():
    none = metric(0, 0, 0, unit="fraction", count=500, trials=5)
    sides = (arm(name, metric=none) for name in ("rclcpp/a", "rclcpp/b"))
    held = hold((claims_with(right="b"), {1, 2}), doc=campaign(("w", *sides)))
    assert held(5, 1.0, {1: 1.0, 2: 1.0}).cells == {1: "not needed", 2: "not needed"}
    assert "0 on both sides" in held.given_up["c"]


def with_right_metric(value):
    """Return an arm whose metric m was 0 in five blocks, and whose metric n had this value."""
    made = arm("rclcpp/a", [0.0] * 5)
    if value is None:
        return made
    other = renamed(arm("rclcpp/a", [value] * 5), "n")
    return dataclasses.replace(
        made, metrics=made.metrics | other.metrics, per_trial=made.per_trial | other.per_trial
    )


@pytest.mark.parametrize(
    ("right", "given_up"), [(0.6, {}), (0.0, {"c": "m, n: 0 on both sides"}), (None, {})]
)
def test_the_right_side_is_read_with_its_own_metric(right, given_up):
    """One arm against itself, in two metrics: shares of two layers. A value that is not there is
    not 0."""
    claims = claims_with(right="a", right_metric="n", relation="greater")
    doc = campaign(("w", with_right_metric(right)), ("v", with_right_metric(0.0)))
    held = hold((claims, {1}), doc=doc)
    held(5, 1.0, {1: 1.0})
    assert held.decided == {}
    assert held.given_up == {id_: f"{reason}, in every block" for id_, reason in given_up.items()}
