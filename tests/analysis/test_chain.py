"""Messages followed through relays: the parts add up to the whole, and whatever a hop loses is lost
there and end to end. A simulation that follows each message by hand is the second opinion.
"""

import json

import numpy as np
import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, counts_of, judged_loss, under_way_of
from rmwbench.analysis.metrics.chain import trace as chain_trace
from rmwbench.analysis.metrics.chain.chain import NO_CHAIN, RELAY, SOURCE, TRANSPORT, measure_chains
from rmwbench.analysis.metrics.chain.layers import (
    NOT_TRACED,
    NOTHING_ARRIVED,
    REMAINDER,
    WORDS,
    layers,
)
from rmwbench.analysis.metrics.chain.trace import MOST_PATHS, paths, traces
from rmwbench.analysis.metrics.latency import Messages, measure
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.records.columns import EndpointRow, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife
from rmwbench.analysis.records.ledger import ABSENT, Ledger
from rmwbench.analysis.verdicts.interim import BlockFacts
from rmwbench.codes import FAILED, LATE, LOANED, WARMUP
from tests.analysis.test_one_clock import Evidence, a_trial
from tests.support.columns import Records

WINDOW = SteadyWindow(0, 10_000)


def endpoint(number, kind, topic, node, relays=None, reliability=None):
    arrival = {"kind": "periodic"} if relays is None else {"kind": "relay", "from": relays}
    return {
        "endpoint": number,
        "kind": kind,
        "topic": topic,
        "node": node,
        "host": "local",
        "asked": json.dumps({"arrival": arrival}),
        "granted": json.dumps({"qos": {"reliability": reliability}}),
    }


def relay(number, hop, node):
    """Its subscription of that number, and its publisher, which has the next."""
    return [
        endpoint(number, "subscription", f"t{hop}", node),
        endpoint(number + 1, "publisher", f"t{hop + 1}", node, relays=number),
    ]


def chain(relays):
    """talker 1 → (subscription, publisher) of each relay → listener; numbers as they come."""
    rows = [endpoint(1, "publisher", "t0", "talker")]
    for hop in range(relays):
        rows += relay(len(rows) + 1, hop, f"relay_{hop + 1}")
    return [*rows, endpoint(len(rows) + 1, "subscription", f"t{relays}", "listener")]


def sent(writer, seq, intended, call, cause=None, **more):
    caused = {} if cause is None else {"cause_endpoint": cause[0], "cause_seq": cause[1]}
    stamps = {"intended_ns": intended, "call_ns": call, "return_ns": call}
    return {"endpoint": writer, "seq": seq} | stamps | caused | more


def got(reader, writer, seq, taken, **more):
    return {"endpoint": reader, "writer": writer, "seq": seq, "taken_ns": taken} | more


ROWS = chain(1)  # 1 talker, 2 and 3 of the relay, 4 the listener


def chained(sends, receipts, rows=ROWS, lives=None):
    return measure_chains(Records(sends, receipts), rows, WINDOW, lives or {})


def test_the_parts_of_a_message_add_up_to_its_end_to_end_latency():
    chains = chained(
        [sent(1, 0, 100, 110), sent(3, 0, 165, 170, (1, 0))], [got(2, 1, 0, 160), got(4, 3, 0, 230)]
    )
    assert chains.samples["end_to_end_latency"].values.tolist() == [130]
    assert chains.samples["end_to_end_service_latency"].values.tolist() == [120]
    assert chains.samples["hop_transport"].values.tolist() == [50, 60]
    assert chains.samples["hop_relay"].values.tolist() == [10]
    assert chains.samples["chain_transport"].values.tolist() == [110]
    assert [(p.kind, p.name, p.typical_ns) for p in chains.chain.parts] == [
        (SOURCE, "talker", 10),
        (TRANSPORT, "talker → relay_1", 50),
        (RELAY, "relay_1", 10),
        (TRANSPORT, "relay_1 → listener", 60),
    ]
    assert sum(p.typical_ns for p in chains.chain.parts) == 130
    assert chains.chain.nodes == (3, 3) and chains.values["end_to_end_latency_max"] == 130


def test_writing_into_a_loan_is_the_nodes_time_as_writing_a_message_to_copy_is():
    """Either node needs 40 to write, and what follows takes 50 from there."""
    arrived = [got(2, 1, 0, 200), got(4, 3, 0, 300)]
    copied = [sent(1, 0, 100, 150), sent(3, 0, 205, 250, (1, 0))]
    lent = {"flags": LOANED, "fill_ns": 40}
    loaned = [sent(1, 0, 100, 110, **lent), sent(3, 0, 205, 210, (1, 0), **lent)]
    both = [chained(s, arrived) for s in (copied, loaned)]
    assert both[0].chain == both[1].chain
    for name in both[0].samples:
        assert both[0].samples[name].values.tolist() == both[1].samples[name].values.tolist()
    assert both[1].samples["hop_transport"].values.tolist() == [50, 50]
    assert both[1].samples["hop_relay"].values.tolist() == [50]
    spent = [layers(one.traces, None).spent_ns for one in both]
    assert spent[0] == spent[1]


LOST = {
    "never sent": ([sent(1, 0, 100, ABSENT)], [], SOURCE),
    "failed": ([sent(1, 0, 100, 110, flags=FAILED)], [], SOURCE),
    "first transport": ([sent(1, 0, 100, 110)], [], TRANSPORT),
    "corrupt on the way": ([sent(1, 0, 100, 110)], [got(2, 1, 0, 160, flags=1)], TRANSPORT),
    "relay kept it": ([sent(1, 0, 100, 110)], [got(2, 1, 0, 160)], RELAY),
    "relay failed": (
        [sent(1, 0, 100, 110), sent(3, 0, 165, 170, (1, 0), flags=FAILED)],
        [got(2, 1, 0, 160)],
        RELAY,
    ),
    "last transport": (
        [sent(1, 0, 100, 110), sent(3, 0, 165, 170, (1, 0))],
        [got(2, 1, 0, 160)],
        TRANSPORT,
    ),
}


@pytest.mark.parametrize("what", LOST)
def test_what_any_hop_loses_never_arrives_and_is_told_where(what):
    sends, receipts, kind = LOST[what]
    chains = chained(sends, receipts)
    assert chains.samples["end_to_end_latency"].values.tolist() == [np.inf]
    lost = [part for part in chains.chain.parts if part.lost]
    assert [part.kind for part in lost] == [kind] and sum(part.lost for part in lost) == 1
    assert chains.fractions["end_to_end_undelivered"] == (1, 1)
    assert chains.fractions["end_to_end_loss"] == ((0, 0) if kind == SOURCE else (1, 1))
    counts = chains.values["lost_in_transport"], chains.values["lost_in_relays"]
    assert counts == (float(kind == TRANSPORT), float(kind == RELAY))


SECOND, MS = 1_000_000_000, 1_000_000
STREAM = SteadyWindow(0, SECOND, drain_end_ns=6 * SECOND)


def granted(rows, *reliable):
    """With each topic reliable or best effort."""
    qos = [{"reliability": "reliable" if one else "best_effort"} for one in reliable]
    return [row | {"granted": json.dumps({"qos": qos[int(row["topic"][1:])]})} for row in rows]


def stream(first=(), last=(), *, relayed=20, transport_ns=MS):
    """20 messages in a second through one relay. `first`, `last`: place -> what is otherwise about
    its arrival at the relay and at the listener (None: it never came); the relay publishes the
    first `relayed`."""
    sends, receipts, first, last = [], [], dict(first), dict(last)
    for n in range(20):
        due = n * SECOND // 20
        at_relay = due + transport_ns
        sends.append(sent(1, n, due, due))
        if first.get(n, {}) is not None:
            receipts.append(got(2, 1, n, at_relay) | first.get(n, {}))
        if n < relayed:
            sends.append(sent(3, n, at_relay, at_relay, (1, n)))
            if last.get(n, {}) is not None:
                receipts.append(got(4, 3, n, at_relay + transport_ns) | last.get(n, {}))
    return Records(sends, receipts)


def lost_and_late(records, rows, window=STREAM):
    """(lost in transport, lost in relays, late, undelivered) of one path."""
    chains = measure_chains(records, rows, window, {})
    undelivered, loss, late = (
        chains.fractions[f"end_to_end_{name}"][0] for name in ("undelivered", "loss", "late_share")
    )
    counts = tuple(chains.values[f"lost_in_{name}"] for name in ("transport", "relays"))
    chain = chains.chain
    assert sum(counts) == sum(part.lost for part in chain.parts) == loss
    assert chain.wanted == chain.arrived + late + loss
    assert chain.wanted == chain.arrived + chain.under_way + undelivered
    trial = MeasuredTrial(0, 0, Messages(), SECOND, fractions=chains.fractions, chain=chain)
    fates = counts_of("end_to_end_latency_p50", trial).fates(trials=1)
    assert fates.undelivered == undelivered / chain.wanted
    assert np.isinf(chains.samples["end_to_end_latency"].values).sum() == 20 - chain.arrived
    return (*counts, late, undelivered)


TOO_LATE = {"taken_ns": 7 * SECOND, "flags": LATE}


def test_what_comes_after_the_drain_of_a_chain_is_slow_and_not_lost():
    """Over best effort it is undelivered, as it is without a relay."""
    records = stream(last={18: TOO_LATE, 19: TOO_LATE})
    rows = granted(ROWS, True, True)
    assert lost_and_late(records, rows) == (0, 0, 2, 0)
    ends = [EndpointRow(row["endpoint"], row["kind"], row["topic"], True) for row in rows]
    ledger = measure(records, ends, STREAM).ledger
    assert (ledger.under_way, ledger.undelivered) == (2, 0)
    assert lost_and_late(records, granted(ROWS, True, False)) == (0, 0, 2, 2)


def test_a_link_in_the_middle_has_its_own_ledger():
    """Best effort behind it has lost nothing of what never came so far."""
    records = stream(first={18: TOO_LATE, 19: TOO_LATE}, relayed=18)
    for last in (True, False):
        assert lost_and_late(records, granted(ROWS, True, last)) == (0, 0, 2, 0)
        assert lost_and_late(records, granted(ROWS, False, last)) == (0, 0, 2, 2)


def test_of_a_stream_that_still_moves_what_is_behind_is_under_way_and_what_was_overtaken_is_lost():
    missing = {7: None, 18: None, 19: None}
    moving = SteadyWindow(0, SECOND, drain_end_ns=int(1.2 * SECOND))
    records = stream(last=missing)
    assert lost_and_late(records, granted(ROWS, True, True), moving) == (1, 0, 2, 1)
    assert lost_and_late(records, granted(ROWS, True, True)) == (3, 0, 0, 3)


def test_what_comes_to_a_relay_that_has_stopped_is_late():
    """Relays stop a grace after the window, so with 400 ms per link the last have nowhere to go."""
    records = stream(relayed=15, transport_ns=400 * MS)
    assert lost_and_late(records, granted(ROWS, True, True)) == (0, 0, 5, 0)
    assert lost_and_late(records, granted(ROWS, True, False)) == (0, 0, 5, 0)
    assert lost_and_late(records, granted(ROWS, False, True)) == (0, 0, 5, 5)
    in_time = stream(relayed=15)
    assert lost_and_late(in_time, granted(ROWS, True, True)) == (0, 5, 0, 5)


def test_what_arrives_in_spite_of_an_error_of_its_call_was_sent():
    sends = [sent(1, 0, 100, 110, flags=FAILED), sent(3, 0, 165, 170, (1, 0))]
    chains = chained(sends, [got(2, 1, 0, 160), got(4, 3, 0, 230)])
    assert chains.samples["end_to_end_latency"].values.tolist() == [130]
    assert chains.fractions["end_to_end_undelivered"] == (0, 1)
    assert chains.fractions["end_to_end_never_sent_share"] == (0, 1)


def test_of_a_fork_each_way_has_what_is_under_way_on_it():
    """A message that is under way before the fork is so on both ways, and so a limit has it twice."""
    rows = [*granted(ROWS, True, True), endpoint(5, "subscription", "t1", "second", None, "best")]
    records = stream(first={19: TOO_LATE}, last={18: TOO_LATE}, relayed=19)
    receipts = [row | {"endpoint": 5} for row in records._received if row["endpoint"] == 4]
    chains = measure_chains(
        Records(records._sent, [*records._received, *receipts]), rows, STREAM, {}
    )
    assert chains.chain.under_way == 3 and chains.fractions["end_to_end_undelivered"] == (1, 40)
    trial = MeasuredTrial(0, 0, Messages(), SECOND, fractions=chains.fractions, chain=chains.chain)
    for name in ("end_to_end_undelivered", "end_to_end_loss"):
        assert under_way_of(name, trial) == (3, 40)


def test_a_verdict_on_a_chain_judges_the_loss_along_it():
    """The second of two hops lost a half: of what all hops wanted together that is a quarter."""
    messages = Messages(ledger=Ledger(wanted=40, delivered=30, vanished_middle=10))
    trial = MeasuredTrial(0, 0, messages, SECOND, fractions={"end_to_end_undelivered": (10, 20)})
    for primary, loss, lost in (
        ("end_to_end_latency_p95", "end_to_end_undelivered", (10, 20)),
        ("response_latency_p50", "undelivered", (10, 40)),
        ("pss", "undelivered", (10, 40)),
    ):
        assert judged_loss(primary) == loss and BlockFacts.of(trial, primary).undelivered == lost


def test_warm_up_is_not_in_it_and_a_relay_of_nothing_is_not_a_chain():
    warm = Records([sent(1, 0, 100, 110, flags=WARMUP)], [])
    assert measure_chains(warm, ROWS, WINDOW, {}).chain.wanted == 0
    alone = [endpoint(1, "publisher", "t", "talker"), endpoint(2, "subscription", "t", "listener")]
    assert chained([], [], alone).reason == NO_CHAIN


def test_of_copies_the_first_to_arrive_counts_and_a_message_counts_once():
    """A relay that hears a message twice publishes it twice."""
    sends = [sent(1, 0, 0, 10), sent(3, 0, 50, 60, (1, 0)), sent(3, 1, 80, 90, (1, 0))]
    receipts = [got(2, 1, 0, 40), got(2, 1, 0, 70), got(4, 3, 1, 120), got(4, 3, 1, 500)]
    chains = chained(sends, receipts)
    assert chains.samples["end_to_end_latency"].values.tolist() == [120]
    assert chains.samples["hop_transport"].values.tolist() == [30, 30]
    assert chains.fractions["end_to_end_undelivered"] == (0, 1)


def test_a_fork_counts_each_last_reader_and_a_join_each_way_in():
    rows = [*ROWS, endpoint(5, "subscription", "t1", "listener_2")]
    sends = [sent(1, 0, 0, 10), sent(3, 0, 50, 60, (1, 0))]
    receipts = [got(2, 1, 0, 40), got(4, 3, 0, 100)]
    fork = chained(sends, receipts, rows)
    assert fork.samples["end_to_end_latency"].values.tolist() == [100, np.inf]
    assert fork.chain.paths == 2 and fork.fractions["end_to_end_undelivered"] == (1, 2)
    # Two talkers on topics of their own, both relayed by one node onto one topic: each message
    # names its cause.
    rows = [
        endpoint(1, "publisher", "a", "left"),
        endpoint(2, "publisher", "b", "right"),
        endpoint(3, "subscription", "a", "relay"),
        endpoint(4, "subscription", "b", "relay"),
        endpoint(5, "publisher", "c", "relay", relays=3),
        endpoint(6, "publisher", "c", "relay", relays=4),
        endpoint(7, "subscription", "c", "listener"),
    ]
    sends = [sent(1, 0, 0, 0), sent(2, 0, 5, 5)]
    sends += [sent(5, 0, 20, 20, (1, 0)), sent(6, 0, 30, 30, (2, 0))]
    receipts = [got(3, 1, 0, 10), got(4, 2, 0, 15), got(7, 5, 0, 50), got(7, 6, 0, 60)]
    join = chained(sends, receipts, rows)
    assert join.samples["end_to_end_latency"].values.tolist() == [50, 55]


def test_a_request_and_its_reply_are_a_chain_of_two():
    rows = [
        endpoint(1, "client", "s", "caller"),
        endpoint(2, "service", "s", "server"),
        endpoint(3, "client", "s", "x"),
    ]
    sends = [sent(1, 0, 0, 5), sent(3, 0, 0, 6)]
    sends += [sent(2, 0, 40, 45, (3, 0)), sent(2, 1, 50, 55, (1, 0))]
    receipts = [got(2, 1, 0, 30), got(2, 3, 0, 20), got(1, 2, 1, 90)]
    chains = chained(sends, receipts, rows)
    assert sorted(chains.samples["end_to_end_latency"].values.tolist()) == [90, np.inf]
    assert [part.kind for part in chains.chain.parts] == [SOURCE, TRANSPORT, RELAY, TRANSPORT]


@pytest.mark.parametrize("heard", [False, True])
def test_a_reply_that_was_being_written_when_its_service_was_killed_left_no_record(heard):
    """Another thread had recorded a later one. Whether it came to its client or not, nobody knows
    whose request it answered."""
    rows = [endpoint(1, "client", "s", "caller"), endpoint(2, "service", "s", "server")]
    sends = [sent(1, seq, 100 * seq, 100 * seq + 5) for seq in range(4)]
    sends += [sent(2, 2, 240, 245, (1, 2)), sent(2, 0, 40, 45, (1, 0))]
    receipts = [got(2, 1, seq, 100 * seq + 30) for seq in range(4)]
    receipts += [got(1, 2, 0, 90), got(1, 2, 2, 290)]
    receipts += [got(1, 2, 1, 195)] if heard else []
    records = Records(sends, receipts)
    chains = measure_chains(records, rows, WINDOW, {})
    assert chains.samples["end_to_end_latency"].values.tolist() == [90, 90, np.inf, np.inf]
    assert (chains.chain.wanted, chains.chain.arrived) == (4, 2)
    with pytest.raises(ValueError, match="not dense"):  # of a publisher records are missing
        chained([sent(1, 0, 0, 5), sent(1, 2, 200, 205)], [])


def test_who_joins_late_or_filters_is_not_asked_for_more_than_it_may_expect():
    sends = [sent(1, 0, 100, 110), sent(1, 1, 900, 910), sent(3, 0, 960, 970, (1, 1))]
    receipts = [got(2, 1, 1, 950), got(4, 3, 0, 1000)]
    late = chained(sends, receipts, lives={4: ReaderLife(500, np.inf)})
    assert late.samples["end_to_end_latency"].values.tolist() == [100]
    assert chained(sends, receipts, lives={2: ReaderLife(percent=50)}).chain is None


def test_diamonds_without_end_are_refused_and_not_walked():
    rows = [endpoint(1, "publisher", "t0", "talker")]
    for hop in range(12):
        for side in ("a", "b"):
            rows += relay(len(rows) + 1, hop, f"{side}{hop}")
    rows.append(endpoint(len(rows) + 1, "subscription", "t12", "listener"))
    with pytest.raises(ValueError, match=str(MOST_PATHS)):
        paths(rows)
    assert "ways" in chained([], [], rows).reason


@pytest.mark.parametrize("relays", [1, 5, 21])
def test_it_agrees_with_following_each_message_by_hand(relays):
    rng = np.random.default_rng(relays)
    rows, n = chain(relays), 200
    sends, receipts, truth, lost = [], [], [], {TRANSPORT: 0, RELAY: 0}
    numbers = [0] * (2 * relays + 3)
    for k in range(n):
        at, cause = 1000 * k + int(rng.integers(0, 50)), None
        for hop in range(relays + 1):
            writer, reader = 2 * hop + 1, 2 * hop + 2
            seq, numbers[writer] = numbers[writer], numbers[writer] + 1
            sends.append(sent(writer, seq, 1000 * k if hop == 0 else at, at, cause))
            if rng.random() < 0.01:
                lost[TRANSPORT] += 1
                truth.append(np.inf)
                break
            at += int(rng.integers(1, 400))
            receipts.append(got(reader, writer, seq, at))
            cause = writer, seq
            if hop == relays:
                truth.append(at - 1000 * k)
            elif rng.random() < 0.01:
                lost[RELAY] += 1
                truth.append(np.inf)
                break
            else:
                at += int(rng.integers(1, 100))
    order = rng.permutation(len(sends)), rng.permutation(len(receipts))
    records = Records([sends[i] for i in order[0]], [receipts[i] for i in order[1]])
    chains = measure_chains(records, rows, SteadyWindow(0, 1000 * n), {})
    assert chains.samples["end_to_end_latency"].values.tolist() == sorted(truth)
    assert chains.values["lost_in_transport"] == lost[TRANSPORT]
    assert chains.values["lost_in_relays"] == lost[RELAY]
    assert chains.chain.nodes == (relays + 2, relays + 2)
    assert len(chains.chain.parts) == 2 * (relays + 1)
    assert sum(part.lost for part in chains.chain.parts) == n - chains.chain.arrived


def stamped(reader, writer, seq, notified, taken, callback):
    return got(reader, writer, seq, taken, notified_ns=notified, callback_ns=callback)


def test_layers_add_up_and_what_is_out_of_order_is_the_remainder():
    sends = [sent(1, 0, 100, 110), sent(3, 0, 180, 190, (1, 0))]
    receipts = [stamped(2, 1, 0, 150, 160, 170), stamped(4, 3, 0, 240, 250, 270)]
    (trace,) = traces(Records(sends, receipts), paths(ROWS), WINDOW, {})
    spent = layers([trace], None)
    assert spent.spent_ns == {
        "waiting at the source": 10,
        "publish to notify": 40 + 50,
        "take": 10 + 10,
        "hand over": 10 + 20,
        "relays": 20,
        REMAINDER: 0,
    }
    assert sum(spent.spent_ns.values()) == spent.end_to_end_ns == 170
    assert not spent.traced and not spent.shares
    # The second reader was busy and needed no wake-up for this message: its notification is from
    # before the publish.
    receipts[1]["notified_ns"] = 120
    (trace,) = traces(Records(sends, receipts), paths(ROWS), WINDOW, {})
    odd = layers([trace], None)
    assert odd.spent_ns["publish to notify"] == 40 and odd.spent_ns["take"] == 10
    assert odd.spent_ns[REMAINDER] == 60 and sum(odd.spent_ns.values()) == 170


def test_traced_layers_are_cut_at_the_public_functions_of_rcl_and_rmw():
    rows = [endpoint(1, "publisher", "t", "talker"), endpoint(2, "subscription", "t", "listener")]
    noted = [(1, 2, 120), (1, 3, 130), (2, 7, 200), (2, 9, 215)]
    noted += [(2, 10, 220), (2, 11, 250), (2, 12, 255)]
    spans = dict(zip(("endpoint", "layer", "time_ns"), np.array(noted).T, strict=True))
    spans |= {"writer": np.ones(len(noted), np.int64), "seq": np.zeros(len(noted), np.int64)}
    records = Records([sent(1, 0, 100, 110)], [stamped(2, 1, 0, 257, 257, 260)])
    (trace,) = traces(records, paths(rows, least=1), WINDOW, {})
    spent = layers([trace], spans)
    assert spent.spent_ns == {
        "waiting at the source": 10,
        "publish: rclcpp and rcl": 10,
        "publish: rmw": 10,
        "middleware: write to notify": 70,
        "notification to take": 15,
        "take: rcl": 10,
        "take: rmw": 30,
        "hand over": 5,
        REMAINDER: 0,
    }
    # Of the 150 ns since the publish call: the schedule is not a layer.
    shares = dict(spent.shares)
    assert shares["layer_share_middleware"] == pytest.approx(70 / 150)
    assert shares.pop("layer_share_ros2_largest") == pytest.approx(30 / 150), "take: rmw"
    assert sum(shares.values()) == pytest.approx(1)
    assert set(spent.spent_ns) <= set(WORDS)
    without = {name: values[spans["layer"] != 7] for name, values in spans.items()}
    lacking = layers([trace], without)
    assert lacking.spent_ns[REMAINDER] == 85
    assert sum(lacking.spent_ns.values()) == lacking.end_to_end_ns


class Traced(Evidence):
    """A trial of an arm that traces its layers."""

    def spans(self):
        one = np.ones(1, np.int64)
        return dict.fromkeys(("endpoint", "writer", "seq", "layer", "time_ns"), one)


def test_why_layers_have_no_shares_is_what_kept_them(monkeypatch):
    """All were told that their layers are not traced."""

    def reason(evidence):
        return measure_trial(evidence).reasons["layer_share_middleware"]

    assert reason(a_trial()) == NOT_TRACED
    traced = Traced(**vars(a_trial()))
    monkeypatch.setattr(chain_trace, "MOST_PATHS", 0)
    assert "more than 0 ways" in reason(traced)
    monkeypatch.undo()
    records = traced.records
    records._received = {name: column[:0] for name, column in records._received.items()}
    assert reason(traced) == NOTHING_ARRIVED
