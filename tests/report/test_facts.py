"""No sentence that its own table contradicts: reports are generated, every fact behind a sentence
is read back, and checked against the numbers of the document; the words of a fact are checked to
hold its names and numbers.
"""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rmwbench.analysis.metrics.fates import FateCounts, Fates
from rmwbench.analysis.records.ledger import UnsentBy
from rmwbench.analysis.verdicts import best
from rmwbench.analysis.verdicts.best import MOST_LOST, decisive, over_topics
from rmwbench.analysis.verdicts.ranking_words import TIME, words
from rmwbench.analysis.verdicts.verdict import By, Family, JudgedArm, Rules
from rmwbench.results.answer import facts as said
from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.answer.headline import headline
from rmwbench.results.model import document as written
from rmwbench.results.show_model import SuiteAnswer, TopicAnswer, TopicArm, WorkloadAnswer
from rmwbench.words import numbers as fmt
from tests.support.typed import exact, typed

PRIMARY, ALONG = "response_latency_p50", "end_to_end_latency_p50"
NAMES = ("ape", "bee", "cat", "dog", "elk", "fox", "gnu")
BLOCKS = 6


@st.composite
def arms(draw, few=1):
    """Invented arms: medians that differ by anything, spread, messages lost, blocks missing, none
    arriving."""
    drawn = []
    for name in NAMES[: draw(st.integers(few, len(NAMES)))]:
        level = draw(st.sampled_from((1.0, 1.02, 1.3, 2.0, 5.0, 730.0))) * 1e5
        spread = draw(st.sampled_from((0.0, 0.02, 0.3)))
        noise = draw(st.lists(st.floats(-2, 2), min_size=BLOCKS, max_size=BLOCKS))
        kept = draw(st.sampled_from((BLOCKS, BLOCKS, BLOCKS, 5, 2, 0)))
        lost = draw(st.sampled_from((0, 0, 0, 3, 120, 600, 1000)))
        primary = {
            b: math.inf if lost >= 500 else level * math.exp(spread * noise[b])
            for b in range(BLOCKS - kept, BLOCKS)
        }
        missing = {b: lost + b % 2 if 0 < lost < 1000 else lost for b in primary}
        kind = draw(st.sampled_from((0, 1, 2, 3)))
        drawn.append(
            JudgedArm(
                name,
                primary,
                {b: (count, 1000) for b, count in missing.items()},
                reliable=False,
                fates={b: split(kind, count) for b, count in missing.items()},
                family=draw(st.sampled_from((*[Family.COPY] * 3, Family.LOAN))),
            )
        )
    return drawn


def split(kind, missing):
    """Of a thousand messages the missing ones: lost, never sent, half of each, or lost with some
    more that were late."""
    unsent = {1: missing, 2: missing // 2}.get(kind, 0)
    by = {UnsentBy.CALL: unsent} if unsent else {}
    late = 20 if kind == 3 and 0 < missing < 900 else 0
    return FateCounts(1000, missing - unsent, late, unsent, by)


def document(arm, verdict):
    """As the show document has the arm: its metric over all blocks, whatever blocks the others
    have."""
    values, unsent_by = list(arm.primary.values()), {}
    metrics = {
        PRIMARY: {"unit": "ns", "no_data": "none"},
        "undelivered": {"unit": "fraction", "no_data": "none"},
    }
    if values:
        value = (
            math.inf if math.inf in values else math.exp(sum(map(math.log, values)) / len(values))
        )
        shown = "inf" if math.isinf(value) else value
        lost = sum(k for k, _ in arm.undelivered.values()) / sum(
            n for _, n in arm.undelivered.values()
        )
        whole = sum(arm.fates.values(), FateCounts())
        fates = whole.fates()
        fractions = {
            "undelivered": lost,
            "loss": fates.lost,
            "late_share": fates.late,
            "never_sent_share": fates.never_sent,
        }
        metrics = {PRIMARY: exact(shown, "ns")}
        metrics |= {name: exact(value) for name, value in fractions.items()}
        unsent_by = dict(whole.unsent_by)
    return {
        "arm": arm.name,
        "role": "contender",
        "family": arm.family,
        "qos": "best_effort",
        "metrics": metrics,
        "unsent_by": unsent_by,
        "times_floor": {"no_data": "none"},
        "trials": {"done": len(values)},
        "per_trial": {
            "undelivered": [
                {"trial": block, "block": block, "value": count / of}
                for block, (count, of) in arm.undelivered.items()
            ]
        },
        "verdict": verdict,
    }


def part(judged, verdicts):
    shown = [document(arm, written(verdicts[arm.name])) for arm in judged]
    return {"primary_metric": PRIMARY, "arms": shown}


def test_what_is_said_beside_arms_that_fail_in_every_trial_holds():
    """Of the two arms of a workload the one was said to have been `measured alone`."""
    works = JudgedArm(
        "works", {b: 1e5 * 1.01**b for b in range(6)}, {b: (0, 1000) for b in range(6)}
    )
    for blocks, kinds in (
        (6, [said.OnlyOne, said.DoesNotWork]),
        (3, [said.Alone]),
    ):
        judged = [works, JudgedArm("dead", {}, failed=frozenset(range(blocks)))]
        table = part(judged, best.judge({"w": judged}, Rules())["w"])
        by = [{"block": b, "status": "failed", "failed_by": "worker"} for b in range(blocks)]
        table["arms"][1]["trials"] |= {"failed": blocks, "failures": by}
        assert [type(fact) for fact in read_back(typed(WorkloadAnswer, table))] == kinds


def workload(judged, verdicts):
    return typed(WorkloadAnswer, part(judged, verdicts) | {"workload": "w"})


def robot(by_topic):
    """A workload with topics, judged with one budget over all of them."""
    families = {arm.name: arm.family for arm in next(iter(by_topic.values()))}
    by_topic = {
        topic: [replace(arm, family=families[arm.name]) for arm in of_topic]
        for topic, of_topic in by_topic.items()
    }
    verdicts = best.judge(by_topic, Rules(minutes_per_block=1.0))
    parts = [
        part(of_topic, verdicts[name]) | {"topic": name, "judged": True}
        for name, of_topic in by_topic.items()
    ]
    topics = [typed(TopicAnswer, one) for one in parts]
    lost = {t.topic: {arm.arm: said.fates_of(arm, t).undelivered for arm in t.arms} for t in topics}
    overall = over_topics(decisive(verdicts, lost, PRIMARY), families=families)
    arms = [
        arm
        | {
            "verdict": written(overall[arm["arm"]].verdict) | {"topic": overall[arm["arm"]].topic},
            "metrics": {PRIMARY: {"unit": "ns", "no_data": "unlike topics"}},
        }
        for arm in parts[0]["arms"]
    ]
    whole = {"workload": "robot", "primary_metric": PRIMARY, "arms": arms, "topics": parts}
    return typed(WorkloadAnswer, whole)


def check(fact, part):
    """What the fact says, against the numbers of its workload or topic."""
    of = {arm.arm: arm for arm in said.contenders(part)}
    verdict = {name: arm.verdict.verdict for name, arm in of.items()}
    primary = {name: said.primary(arm, part) for name, arm in of.items()}
    lost = {name: fmt.finite(arm.value("undelivered")) for name, arm in of.items()}
    fates = {name: said.fates_of(arm, part) for name, arm in of.items()}
    with_data = {name for name in of if verdict[name] != "no data"}
    match fact:
        case said.Best(arm, own):
            assert tells_its_fates(own, fates[arm])
            assert all(primary[arm] <= primary[other] for other in with_data)
            assert all(verdict[other] == "worse" for other in with_data - {arm})
            assert len(with_data) > 1
        case said.BestByDelivery(arm, faster, own):
            assert tells_its_fates(own, fates[arm])
            assert all(
                primary[other] < primary[arm] and lost[other] > lost[arm] for other in faster
            )
            assert all(verdict[other] == "worse" for other in with_data - {arm})
        case said.BestByBlocks(arm, smaller):
            assert all(
                primary[other] < primary[arm] and verdict[other] == "worse" for other in smaller
            )
        case said.DeliversMost(arm, _, own):
            assert own == fates[arm]
            assert math.isinf(primary[arm])
            assert all(verdict[other] == "worse" for other in with_data - {arm})
        case said.Alone(arm, absent, failing):
            assert with_data == {arm, *failing} and set(absent) == of.keys() - with_data
            assert verdict[arm] == "alone" and all(verdict[one] == "undecided" for one in failing)
        case said.OnlyOne(arm, own):
            assert tells_its_fates(own, fates[arm]) and verdict[arm] == "alone"
            assert any(v == "worse" for v in verdict.values())
        case said.Equal(equals, faster, told):
            assert equals and all(verdict[arm] == "equivalent" for arm in equals)
            assert all(
                verdict[arm] == "worse" and of[arm].verdict.by == By.DELIVERY for arm in faster
            )
            for arm in equals:
                assert tells_its_fates(dict(told).get(arm), fates[arm])
        case said.DeliverAll(sound, others):
            losing = dict(others)
            assert sound and losing and all(verdict[arm] != "worse" for arm in (*sound, *losing))
            assert not any(fates[arm].undelivered or fates[arm].late for arm in sound)
            for arm, own in losing.items():
                every = [one.value for one in of[arm].per_trial["undelivered"]]
                assert own == fates[arm] and len(every) >= 5 and min(every) > 0
            assert all(verdict[arm] == "worse" for arm in with_data - {*sound, *losing})
        case said.TradeOff(whole, lossy, ratio, own):
            assert verdict[whole] == "worse" and of[whole].verdict.by == By.PRIMARY
            assert verdict[lossy] == "best" and own == fates[lossy] and lost[lossy] > 0
            assert not fates[whole].undelivered and not fates[whole].late
            assert ratio is None or ratio == of[whole].verdict.ratio.value
        case said.Between(undecided, all_arms, told):
            for arm in undecided:
                assert tells_its_fates(dict(told).get(arm), fates[arm])
            assert all(verdict[arm] == "undecided" for arm in undecided)
            assert all_arms == (not any(v == "worse" for v in verdict.values()))
        case said.Slower(against, slower, _):
            for arm, ratio in slower:
                assert verdict[arm] == "worse" and of[arm].verdict.against == against
                assert of[arm].verdict.by == "primary"
                assert ratio is None or 1.05 < ratio == of[arm].verdict.ratio.value
        case said.DeliversLess(arm, against, own):
            assert verdict[arm] == "worse" and own == fates[arm] and lost[arm] > lost[against]
            assert own.undelivered == pytest.approx(lost[arm])
        case said.PairsFact(deliver, count, others):
            cells = {cell.arm: cell.outcome for cell in part.matrix.cells}
            assert deliver + sum(len(pairs) for _, pairs in others) == count == len(cells)
            assert all(
                cells[pair] == outcome != "delivers" for outcome, pairs in others for pair in pairs
            )
        case said.DoesNotWork(dead, trials):
            for arm in dead:
                assert verdict[arm] == "worse" and of[arm].verdict.by == "failure"
                assert trials == said.own_failures(of[arm]) > 0 == of[arm].trials.done
        case said.Open(undecided):
            assert undecided and all(verdict[arm] == "undecided" for arm in undecided)
        case said.NoDataFact(silent):
            assert silent and all(
                verdict[arm] == "no data" and not getattr(of[arm], "not_supported", None)
                for arm in silent
            )
        case said.Unable(unable):
            assert unable
            assert all(verdict[arm] == "no data" and of[arm].not_supported for arm in unable)
        case _:
            check_over_topics(fact, part, verdict)


def tells_its_fates(told, fates):
    """Whether what a sentence tells of the arm that it praises is what became of its messages, and
    is told where any did not arrive."""
    worth = max(fates.undelivered, fates.late) > 0
    return told == (fates if worth else None)


def check_over_topics(fact, part, verdict):
    in_topic = {topic.topic: {arm.arm: arm.verdict for arm in topic.arms} for topic in part.topics}
    match fact:
        case said.OverTopics(arm, open_in, _, least):
            carried = [topic for topic in part.topics if not said.none_carries(topic)]
            own = [a for topic in carried for a in topic.arms if a.arm == arm]
            lost = [fmt.finite(a.value("undelivered")) or 0.0 for a in own]
            assert (least is not None) >= any(lost)
            assert least is None or least[1].undelivered == pytest.approx(max(lost))
            assert all(verdicts[arm].verdict != "worse" for verdicts in in_topic.values())
            others = [name for name, v in verdict.items() if name != arm and v != "no data"]
            assert others and all(
                any(t[name].verdict == "worse" for t in in_topic.values()) for name in others
            )
            assert all(
                in_topic[topic][arm].verdict in ("undecided", "no data") for topic in open_in
            )
        case said.NoneCarries(shares, where):
            (topic,) = [one for one in part.topics if where.endswith(f" {one.topic}")]
            own = {a.arm: said.fates_of(a, topic) for a in topic.arms}
            assert shares and all(own[arm] == fates for arm, fates in shares)
            assert all(fates.undelivered > MOST_LOST for _, fates in shares)
        case said.NoneInAll(best_in):
            assert all(v in ("worse", "no data") for v in verdict.values())
            assert all(
                in_topic[topic][arm].verdict == "best"
                for arm, topics in best_in
                for topic in topics
            )
        case said.AtWorst(arm, topic, ratio, fates):
            there = in_topic[topic][arm]
            assert there.verdict == "worse" and (fates is not None) == (there.by == By.DELIVERY)
            assert ratio is None or ratio == there.ratio.value
            assert fates is not None or not any(
                t[arm].verdict == "worse" and t[arm].by == By.DELIVERY for t in in_topic.values()
            )
        case _:
            raise AssertionError(f"a fact that no test reads back: {fact}")


NUMBER = re.compile(r"(?<![\w.])\d[\d\u202f]*(?:\.\d+)?(?=×)")


def check_words(text, part):
    """What can be said of any sentence: no exponent, no `1 others`, no plain `not decided`, names
    whole."""
    assert "e+" not in text and "1 others" not in text and "nan" not in text and "None" not in text
    assert "Not decided" not in text
    allowed = {
        fmt.significant(value)
        for one in (part, *getattr(part, "topics", ()))
        for arm in one.arms
        if arm.verdict.ratio and (value := fmt.finite(arm.verdict.ratio.value)) is not None
    }
    assert set(NUMBER.findall(text)) <= allowed, (text, allowed)
    lone = said.by_verdict(part)
    if len(lone.get("alone", [])) == len(said.families(part)) == 1:
        assert "the best" not in text and "fastest" not in text


def read_back(part):
    return [fact for _, family in said.families(part) for fact in read_back_family(family)]


def read_back_family(part):
    facts = said.of_workload(part)
    for fact in facts:
        check(fact, part)
        clause = fact.clause(TIME)
        for name in (getattr(fact, "arm", None), *getattr(fact, "arms", ())[:2]):
            assert name is None or (name[0] if isinstance(name, tuple) else name) in clause
    answer = headline(part)
    for text in (answer.answer, answer.detail):
        check_words(text, part)
    if any(said.verdict_of(arm) in ("worse", "equivalent", "best") for arm in part.arms):
        assert "nothing is decided" not in answer.answer.lower()
    named = " ".join(fact.clause(TIME) for fact in facts)
    assert all(arm.arm in named or "others" in named for arm in said.contenders(part)) or not facts
    return facts


SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(arms())
def test_every_sentence_of_a_workload_holds_in_its_table(judged):
    verdicts = best.judge({"w": judged}, Rules(minutes_per_block=1.0))["w"]
    part = workload(judged, verdicts)
    assume(any(arm.primary for arm in judged))
    assert read_back(part)
    shown = typed(SuiteAnswer, {"campaign": {"finished": True, "blocks_complete": 20}})
    shown = replace(shown, workloads=(part,))
    for line in conclusions(shown, calibrated=True, margin=0.05, one_host=False):
        if line.workload:
            check_words(line.text, part)


@pytest.mark.long
@SETTINGS
@given(st.integers(2, 3).flatmap(lambda n: st.tuples(*[arms(few=len(NAMES)) for _ in range(n)])))
def test_every_sentence_over_topics_holds_in_their_tables(parts):
    whole = robot({f"topic {n}": part for n, part in enumerate(parts)})
    assume(any(arm.primary for part in parts for arm in part))
    read_back(whole)
    for part in whole.topics:
        if any(said.verdict_of(arm) != "no data" for arm in part.arms):
            read_back(part)
    carried = [t for t in whole.topics if not said.none_carries(t)] or whole.topics
    for arm in whole.arms:
        every = [said.verdict_of(a) for t in whole.topics for a in t.arms if a.arm == arm.arm]
        kinds = [said.verdict_of(a) for t in carried for a in t.arms if a.arm == arm.arm]
        assert ("worse" in every) == (said.verdict_of(arm) == "worse")
        assert "undecided" not in kinds or said.verdict_of(arm) in ("worse", "undecided")


def test_what_is_worse_for_the_trials_that_it_lost_does_not_lose_nothing():
    """It said `As configured, do not use flaky: it loses 0 % of its messages`, of seven blocks out
    of twelve."""
    lost = frozenset(range(2, 9))
    done = [b for b in range(12) if b not in lost]
    flaky = JudgedArm(
        "flaky", {b: 1e6 * 1.01**b for b in done}, {b: (0, 1000) for b in done}, failed=lost
    )
    steady = JudgedArm(
        "steady", {b: 1.4e6 * 1.01**b for b in range(12)}, {b: (0, 1000) for b in range(12)}
    )
    table = part([flaky, steady], best.judge({"w": [flaky, steady]})["w"])
    for shown, failed in zip(table["arms"], (7, 0), strict=True):
        by = [{"trial": n, "block": n, "status": "failed", "failed_by": "worker"} for n in lost][
            :failed
        ]
        by.append({"trial": 99, "block": 11, "status": "failed", "failed_by": "host"})
        shown["trials"] |= {"failed": failed + 1, "failures": by}
        shown["trials"]["done"] = 12 - failed
    (fact,) = [
        one
        for one in said.of_workload(typed(WorkloadAnswer, table))
        if isinstance(one, said.DeliversLess)
    ]
    assert (fact.arm, fact.fates) == ("flaky", Fates(failed=7, trials=12))
    assert fact.fates.undelivered == pytest.approx(7 / 12)
    assert fact.clause(TIME) == "flaky fails in 7 of 12 trials"


def test_what_the_host_broke_is_no_loss_of_an_arm_in_a_topic():
    """It said `loses 51 % of its messages (all of those of 5 failed trials)`."""
    loss = {"unit": "fraction", "value": 0.02, "low": 0.01, "high": 0.03}
    document_of_arm = {"trials": {"done": 5, "failed": 5}, "metrics": {"loss": loss}}
    arm = typed(TopicArm, document_of_arm)
    part = typed(TopicAnswer, {"primary_metric": PRIMARY})
    assert said.fates_of(arm, part) == Fates(lost=0.02, trials=5)
    document_of_arm["trials"]["lost"] = 5
    both = said.fates_of(typed(TopicArm, document_of_arm), part)
    assert both == Fates(lost=0.02, failed=5, trials=10)
    assert both.undelivered == pytest.approx(0.51)


@pytest.mark.parametrize(("undelivered", "carried"), [(0.2, False), (0.0, True)])
def test_an_arm_whose_best_effort_messages_come_late_does_not_carry_them(undelivered, carried):
    """As its verdict judges them; what a reliable stream had under way is not undelivered."""
    shares = {"undelivered": undelivered, "loss": 0.0, "late_share": 0.2, "never_sent_share": 0.0}
    metrics = {name: {"unit": "fraction", "value": value} for name, value in shares.items()}
    arm = typed(TopicArm, {"trials": {"done": 5}, "metrics": metrics})
    part = typed(TopicAnswer, {"primary_metric": PRIMARY})
    assert said.fates_of(arm, part).undelivered == undelivered
    assert said.carries(arm, part) is carried


def test_of_a_chain_the_loss_along_it_is_told():
    """`loses 10 %` was said of a chain of two hops that lost a fifth of all messages in the second:
    of what each hop wanted, together."""

    def arm(name, median, lost, verdict):
        metrics = {ALONG: exact(median, "ns"), "loss": exact(lost / 2)}
        metrics["end_to_end_loss"] = exact(lost)
        shown = {"arm": name, "qos": "reliable, keep_all, volatile", "metrics": metrics}
        return shown | {"trials": {"done": BLOCKS}, "verdict": verdict}

    worse = {"verdict": "worse", "by": "delivery", "against": "sound"}
    arms = [arm("sound", 2e6, 0.0, {"verdict": "best"}), arm("lossy", 1e6, 0.2, worse)]
    part = {"workload": "chain", "primary_metric": ALONG, "arms": arms}
    *_, fact = said.of_workload(typed(WorkloadAnswer, part))
    assert fact == said.DeliversLess("lossy", "sound", Fates(lost=0.2, trials=BLOCKS))
    undecided = {"verdict": "undecided", "against": "sound"}
    arms[:] = [arm("sound", 2e6, 0.0, undecided), arm("lossy", 1e6, 0.2, undecided)]
    shown = typed(SuiteAnswer, {"workloads": [part]})
    lines = conclusions(shown, calibrated=True, margin=0.05, one_host=False)
    assert any("reliable, and yet messages were lost: lossy 20 %." in line.text for line in lines)


def test_an_arm_that_is_worse_in_the_one_topic_that_it_has_is_told_by_that_topic():
    """The other arm is alone in the other topic: `dog delivers less than cat` was said of the whole,
    which has no share of its own."""

    def arm(name, lost, value=1e5):
        blocks = range(BLOCKS) if value else ()
        counts = FateCounts(wanted=1000, lost=lost, late=0, never_sent=0, unsent_by={}, overdue=0)
        primary, fates = dict.fromkeys(blocks, value), dict.fromkeys(blocks, counts)
        return JudgedArm(name, primary, dict.fromkeys(blocks, (lost, 1000)), fates=fates)

    part = robot(
        {"a": [arm("cat", 0), arm("dog", 0, None)], "b": [arm("cat", 120), arm("dog", 600)]}
    )
    kinds = [type(fact) for fact in said.of_workload(part)]
    assert kinds == [said.NoneCarries, said.OverTopics, said.AtWorst]


def test_of_readers_that_are_not_judged_one_by_one_the_worst_is_told():
    """`loses 31 %` was said of a late joiner that lost 75 %, beside a reader that lost nothing."""

    def reader(name, lost):
        metrics = {"response_latency_p50": exact(1e6, "ns"), "loss": exact(lost)}
        arm = {"arm": "lossy", "qos": "reliable", "metrics": metrics, "trials": {"done": BLOCKS}}
        shown = {"topic": name, "judged": False, "primary_metric": "response_latency_p50"}
        return shown | {"arms": [arm], "readers": {"nodes": [name]}}

    def arm(name, lost, verdict):
        metrics = {"late_match_time": exact(1e6, "ns"), "loss": exact(lost)}
        shown = {"arm": name, "qos": "reliable", "metrics": metrics, "verdict": verdict}
        return shown | {"trials": {"done": BLOCKS}}

    worse = {"verdict": "worse", "by": "delivery", "against": "sound"}
    part = {
        "workload": "map",
        "primary_metric": "late_match_time",
        "arms": [arm("sound", 0.0, {"verdict": "best"}), arm("lossy", 0.3, worse)],
        "topics": [reader("listener", 0.0), reader("latecomer", 0.75)],
    }
    *_, fact = said.of_workload(typed(WorkloadAnswer, part))
    assert fact.at_worst == ("for latecomer", Fates(lost=0.75, trials=BLOCKS))
    assert fact.clause(TIME).endswith(
        "loses 30 % of its messages (for latecomer it loses 75 % of its messages)"
    )
    both = said.sentence([replace(fact, at_worst=None), fact, replace(fact, at_worst=None)], TIME)
    assert both == (
        "lossy loses 30 % of its messages; lossy loses 30 % of its messages (for latecomer it loses "
        "75 % of its messages); lossy loses 30 % of its messages."
    ), "the worst reader of the second arm was left out"


def test_an_arm_that_uses_less_and_delivers_less_is_not_called_faster():
    fact = said.BestByDelivery("a", ("b",))
    assert fact.clause(TIME) == "a is the best: b may be faster, but delivers less"
    assert fact.advice(words("cpu_per_message")) == (
        "take a: b may be better by CPU per message, but delivers less"
    )


def test_tuning_is_told_by_what_the_workload_is_judged_by():
    """Of an idle node tuning was said to make it `1.25× as fast`."""
    ratio = {"value": 0.8, "low": 0.75, "high": 0.85, "blocks": 6, "answer": "better"}
    worse = {"value": 1.3, "low": 1.2, "high": 1.4, "blocks": 6, "answer": "worse"}
    # where the clocks of two hosts are known to less than a latency, nothing bounds its ratio
    open_ended = {"value": 0.9, "low": 0.0, "high": math.inf, "blocks": 6, "answer": "undecided"}
    tuned = [
        {"middleware": name, "tuned": "t", "untouched": "u", "ratio": compared}
        for name, compared in (("x", ratio), ("y", worse), ("z", open_ended))
    ]
    for primary, as_much in (("pss", "needs {} as much"), (PRIMARY, "takes {} as long")):
        part = {"workload": "w", "primary_metric": primary, "tuning": tuned, "arms": []}
        shown = typed(SuiteAnswer, {"workloads": [part]})
        lines = conclusions(shown, calibrated=True, margin=0.05, one_host=False)
        told = [line.text for line in lines if line.kind == "conclude"]
        assert told == [
            f"Tuning x helps here: it {as_much.format('0.800×')} as untouched [0.750–0.850].",
            f"Tuning y harms here: it {as_much.format('1.30×')} as untouched [1.20–1.40]. The "
            "profile does not suit this workload.",
        ]
        (open_,) = [line.text for line in lines if "No effect of tuning" in line.text]
        assert open_ == (
            "No effect of tuning is shown: z here 0.900× [<0.001–>1\N{NARROW NO-BREAK SPACE}000]."
        )
