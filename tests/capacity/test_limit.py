"""Limits in words, how many messages they need, and what a trial says."""

import numpy as np
import pytest

from rmwbench.analysis.capacity.limit import judge, parse_limit
from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.analysis.metrics.sample import make_sample
from rmwbench.analysis.metrics.stability import Stability
from rmwbench.analysis.records.ledger import Ledger
from rmwbench.errors import UserError

STEADY = Stability(0.0, 0.0, 0, 1000, 1.0)


def trial(latencies_ns, *, never_sent=0, under_way=0, after_drain=0, failed=0):
    latencies = np.asarray(latencies_ns, float)
    lost = int(np.isinf(latencies).sum()) - never_sent - under_way - after_drain - failed
    ledger = Ledger(
        wanted=len(latencies),
        delivered=int(np.isfinite(latencies).sum()),
        vanished_middle=lost,
        not_attempted=never_sent,
        under_way=under_way,
        after_drain=after_drain,
        failed=failed,
    )
    messages = Messages(ledger=ledger, samples={"response_latency": make_sample([latencies])})
    messages.longest_stall_ns = 5e6
    return MeasuredTrial(1, 0, messages, 10**9)


def arriving(count):
    """The latencies of a thousand messages, of which `count` arrive, each after 1 ms."""
    return np.where(np.arange(1000) < count, 1e6, np.inf)


@pytest.mark.parametrize(
    "text, shown, messages",
    [
        ("p99 response < 5 ms, loss < 0.1 %", "p99 response < 5 ms, loss < 0.1 %", 3000),
        ("p99 < 5ms", "p99 response < 5 ms", 1000),
        ("response p99.9 latency < 0.5 s", "p99.9 response < 500 ms", 10_000),
        ("median < 300us and loss<=5%", "p50 response < 300 µs, loss ≤ 5 %", 60),
        ("p90 service < 20 µs; stall < 1 s", "p90 service < 20 µs, longest stall < 1 s", 100),
        ("publish call p99 < 100ns", "p99 publish < 100 ns", 1000),
        ("undelivered < 0.02", "undelivered < 2 %", 150),
        ("loss < 0.00005 %", "loss < 0.00005 %", 6_000_000),
        ("loss < 99.99999 %", "loss < 99.99999 %", 3),
        ("p99 < 1.2345678 ms", "p99 response < 1.2345678 ms", 1000),
        ("p99 < 123456789 ns, loss < 12.345678912345 %", None, 1000),
        ("p99 < 5 \u03bcs", "p99 response < 5 µs", 1000),
    ],
)
def test_words_are_read_and_said_back(text, shown, messages):
    limit = parse_limit(text)
    assert shown in (None, limit.text)
    assert limit.messages == messages
    assert parse_limit(limit.text) == limit


@pytest.mark.parametrize(
    "text, part",
    [
        ("", "without a condition"),
        ("p99", "is not a limit"),
        ("p99 < 5", "needs a unit"),
        ("p99 < 5 mss", "unknown unit"),
        ("p98 < 5 ms", "not measured"),
        ("p99 reponse < 5 ms", "did you mean `response`?"),
        ("p99 callback < 5 ms", "unknown latency `callback`"),
        ("los < 1 %", "did you mean `loss`?"),
        ("loss < 1 ms", "unknown unit"),
        ("loss < 300 %", "always true"),
        ("loss < 0 %", "nothing is below"),
        ("p99 < -1 ms", "nothing is below"),
        ("p99 > 5 ms", "upper one"),
        ("p99 < 5 ms, response p99 < 6 ms", "limited twice"),
        ("p99 < 1e400 ms", "nothing is below"),
        ("p99 < 1.2.3 ms", "not a number"),
        ("p99 response < 1,5 ms", "write 1.5, or 15"),
    ],
)
def test_what_is_not_understood_says_what_to_write(text, part):
    with pytest.raises(UserError) as error:
        parse_limit(text)
    assert part in str(error.value) and "--limit" in str(error.value)


def test_a_trial_holds_or_says_how_not():
    limit = parse_limit("p99 < 5 ms, loss < 1 %")
    assert judge(limit, trial(arriving(1000)), STEADY).holds
    slow = np.where(np.arange(1000) < 900, 1e6, 7.2e6)
    judged = judge(limit, trial(slow), STEADY)
    assert (judged.kind, judged.causes) == ("slow", ("p99 response 7.2 ms",))
    for latency_ns, cause in ((5.002e6, "5.002 ms"), (1.5e12, "1\N{NARROW NO-BREAK SPACE}500 s")):
        judged = judge(limit, trial(np.full(1000, latency_ns)), STEADY)
        assert judged.causes == (f"p99 response {cause}",)
    judged = judge(limit, trial(arriving(970)), STEADY)
    assert judged.kind == "lossy" and judged.causes == ("loss 3 %", "p99 response never arrived")


@pytest.mark.parametrize(("sign", "kind"), [("<", "lossy"), ("<=", "holds"), ("≤", "holds")])
def test_a_trial_that_is_exactly_at_its_limit_holds_it_where_the_limit_is_at_most(sign, kind):
    limit = parse_limit(f"loss {sign} 0.7 %")
    assert judge(limit, trial(arriving(993)), STEADY).kind == kind


def test_a_percentile_that_never_arrives_names_its_loss_also_without_a_limit_on_it():
    judged = judge(parse_limit("p99 < 5 ms"), trial(arriving(970)), STEADY)
    assert judged.kind == "lossy" and "3 % of the messages did not arrive" in judged.causes


@pytest.mark.parametrize(
    ("limits", "fates", "kind"),
    [
        ("late < 1 %", {"under_way": 50}, "slow"),
        ("late < 1 %", {"after_drain": 50}, "slow"),
        ("late < 1 %, loss < 1 %", {"under_way": 50}, "slow"),
        ("late < 1 %, loss < 1 %", {"under_way": 20}, "lossy"),
        ("never sent < 1 %", {"failed": 50}, "never_sent"),
        ("undelivered < 1 %", {"failed": 50}, "never_sent"),
        ("undelivered < 1 %", {"after_drain": 50}, "slow"),
        ("undelivered < 1 %", {"after_drain": 20}, "lossy"),
        ("undelivered < 1 %", {}, "lossy"),
        ("p99 < 5 ms", {"after_drain": 50}, "slow"),
        ("p99 < 5 ms", {"failed": 50}, "never_sent"),
        ("p99 < 5 ms", {"under_way": 49}, "slow"),
    ],
)
def test_what_became_of_fifty_messages_in_a_thousand_says_how_the_limit_broke(limits, fates, kind):
    missing = trial(arriving(950), **fates)
    assert judge(parse_limit(limits), missing, STEADY).kind == kind


UNDER_WAY = "40 % of the messages were still under way at the end"


@pytest.mark.parametrize("metric", ["loss", "undelivered"])
def test_what_was_still_under_way_holds_no_limit_on_what_does_not_arrive(metric):
    slow = trial(arriving(600), under_way=400)
    judged = judge(parse_limit(f"{metric} < 1 %"), slow, STEADY)
    assert (judged.kind, judged.causes) == ("slow", (UNDER_WAY,))
    assert judge(parse_limit(f"{metric} < 50 %"), slow, STEADY).holds


def test_a_percentile_that_is_still_under_way_is_slow_and_not_lost():
    judged = judge(parse_limit("p99 < 5 ms"), trial(arriving(600), under_way=400), STEADY)
    assert judged.kind == "slow" and UNDER_WAY in judged.causes


def test_an_unstable_trial_never_quotes_a_latency_even_where_it_is_below_the_limit():
    growing = Stability(40.0, 0.0, 0, 1000, 1.0)
    judged = judge(parse_limit("p99 < 5 s"), trial(arriving(1000)), growing)
    assert judged.kind == "unstable"
    assert judged.causes == ("unstable: the queue grew by 40 messages/s",)


def test_too_few_messages_say_nothing_rather_than_something():
    assert judge(parse_limit("p99 < 5 ms"), trial(np.full(999, 1e6)), STEADY) is None
