"""A trial over two hosts, one of whose clocks is a quarter of an hour ahead and drifts: its
latencies are the true ones within the bound they carry, and nonsense without the map."""

import json
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from rmwbench.analysis.capacity.limit import LimitCondition
from rmwbench.analysis.metrics.aggregate import aggregate, clock_bound, over_trials, trial_value
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.records.clocks import fit, on_one_clock, trial_clocks
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.stats.estimate import Measured, NoData
from rmwbench.analysis.verdicts.verdict import JudgedArm
from rmwbench.errors import UserError
from tests.support.columns import Columns
from tests.support.judging import judged

AHEAD_NS, DRIFT = 1_000 * 10**9, 4e-5
BEGIN_NS, LENGTH_NS, PERIOD_NS = 5 * 10**15, 4 * 10**9, 4 * 10**6
LATENCY_NS = 80_000
BOUND_NS = 9_000
MEDIAN = GLOSSARY["response_latency_p50"]


def base_ns(t_ns):
    """What the clock of the host `base` shows at a time of the reference."""
    return (
        np.asarray(t_ns)
        + AHEAD_NS
        + np.rint((np.asarray(t_ns) - BEGIN_NS) * DRIFT).astype(np.int64)
    )


@dataclass
class Evidence:
    clock_map: list[dict[str, Any]]
    endpoints: list[dict[str, Any]]
    records: Columns
    events: list[dict[str, Any]] = field(default_factory=list)
    counters: tuple = ()
    row: dict[str, Any] = field(default_factory=dict)
    trial: int = 1
    cell: int = 1
    block: int = 0
    where: str = "a test"
    definition: str | None = None

    def samples(self):
        return []

    def frames(self):
        return None

    def spans(self):
        return None


def clock_map(error_ns=0):
    """Readings before, in and after the window, each off by as much as its bound allows at most."""
    readings = [{"host": "robot", "t_ns": BEGIN_NS, "offset_ns": 0, "bound_ns": 0}]
    for at_s in (-1, -0.1, 1, 2, 3, 5):
        t = BEGIN_NS + int(at_s * 10**9)
        offset = int(base_ns(t)) - t + error_ns
        readings.append({"host": "base", "t_ns": t, "offset_ns": offset, "bound_ns": BOUND_NS})
    return readings


def a_trial(latency_ns=LATENCY_NS, rows=None, reader_host="base", told_early_ns=0) -> Evidence:
    """A publisher on `robot`, one subscription on `reader_host`, and a client there whose service
    is on `robot`."""
    n = LENGTH_NS // PERIOD_NS
    seq = np.arange(n, dtype=np.uint64)
    due = BEGIN_NS + np.arange(n) * PERIOD_NS
    on_reader = base_ns if reader_host == "base" else np.asarray
    taken = due + latency_ns + np.random.default_rng(1).integers(0, 2_000, n)
    asked = due + 1_000_000
    got, replied = asked + latency_ns, asked + latency_ns + 30_000
    answered = replied + latency_ns
    absent = np.full(n, np.iinfo(np.int64).min)

    def stacked(*columns):
        return np.concatenate(columns)

    def ids(*numbers):
        return stacked(*(np.full(n, number, np.int64) for number in numbers))

    # What starts a steady state on `base` is the map of that moment, which later readings correct.
    base_due = on_reader(asked) - told_early_ns
    sent = {
        "endpoint": ids(1, 3, 4),
        "seq": stacked(seq, seq, seq),
        "intended_ns": stacked(due, base_due, got),
        "begun_ns": stacked(due, base_due, got),
        "call_ns": stacked(due + 500, on_reader(asked), replied),
        "return_ns": stacked(due + 900, on_reader(asked) + 400, replied + 400),
        "bytes": ids(64, 64, 64),
        "flags": ids(0, 0, 0),
        "cause_endpoint": ids(0, 0, 3),
        "cause_seq": stacked(seq, seq, seq).astype(np.int64),
    }
    received = {
        "endpoint": ids(2, 4, 3),
        "writer": ids(1, 3, 4),
        "seq": stacked(seq, seq, seq),
        "notified_ns": stacked(absent, absent, absent),
        "taken_ns": stacked(on_reader(taken), got, on_reader(answered)),
        "callback_ns": stacked(absent, absent, absent),
        "consumed_ns": stacked(on_reader(taken + 500), got + 500, on_reader(answered + 500)),
        "intended_ns": stacked(due, base_due, got),
        "bytes": ids(64, 64, 64),
        "flags": ids(0, 0, 0),
    }
    kinds = (("publisher", "t", "robot"), ("subscription", "t", reader_host))
    kinds += (("client", "s", reader_host), ("service", "s", "robot"))
    plain = {"asked": "{}", "granted": "{}", "joins_ns": None, "leaves_ns": None}
    endpoints = [
        {"endpoint": n, "kind": kind, "topic": topic, "host": host}
        | {"process": f"p{n}", "node": f"n{n}", **plain}
        for n, (kind, topic, host) in enumerate(kinds, start=1)
    ]
    events = [
        {"event": event, "process": f"p{number}", "endpoint": number}
        | {"time_ns": int(on_reader(t) if number in (2, 3) else t)}
        | dict.fromkeys(("writer", "value", "text"))
        for number in (1, 2, 3, 4)
        for event, t in (
            ("created", BEGIN_NS - 90_000_000),
            ("matched", BEGIN_NS - 80_000_000 + number),
        )
    ]
    row = {"start_ns": BEGIN_NS, "steady_begin_ns": BEGIN_NS, "steady_end_ns": BEGIN_NS + LENGTH_NS}
    rows = clock_map() if rows is None else rows
    return Evidence(rows, endpoints, Columns(sent, received), events, row=row)


def latencies(trial, stem="response_latency"):
    return trial.messages.samples[stem].values


def test_one_way_latency_over_two_clocks_is_the_true_one_within_the_bound_it_carries():
    for error_ns in (0, BOUND_NS, -BOUND_NS):
        trial = measure_trial(a_trial(rows=clock_map(error_ns)))
        stems = ("response_latency", "service_latency", "request_leg")
        (bound,) = {trial.clock_bounds[stem] for stem in stems}
        assert BOUND_NS <= bound < 2 * BOUND_NS
        legs = latencies(trial, "request_leg")
        assert np.abs(legs - LATENCY_NS).max() <= bound
        assert trial.messages.ledger.delivered == trial.messages.ledger.wanted == 2_000
        median = aggregate(GLOSSARY["request_leg_p50"], [trial])
        assert isinstance(median, Measured) and median.low <= LATENCY_NS <= median.high
        assert "clocks of two hosts" in median.interval


def test_without_the_map_the_same_trial_is_nonsense():
    """What a naive analysis gives: so the test above can fail."""
    naive = a_trial(rows=[])
    trial = measure_trial(naive)
    assert not trial.clock_bounds
    off_ns = 900 * 10**9
    assert latencies(trial, "request_leg").max() < -off_ns
    assert off_ns < latencies(trial, "reply_leg").min()
    assert trial.values["achieved_rate"] == 0


def test_that_nothing_arrived_in_a_few_trials_leaves_room_for_a_rate():
    trial = measure_trial(a_trial(rows=[]))
    few, many = (aggregate(GLOSSARY["achieved_rate"], [trial] * n) for n in (3, 12))
    assert isinstance(few, Measured) and isinstance(many, Measured)
    assert few.value == few.low == 0 < many.high < few.high < math.inf
    assert "rule of three" in few.interval
    assert few.high == pytest.approx(4 * many.high)
    carried = aggregate(GLOSSARY["achieved_throughput"], [trial] * 3)
    assert carried.value == carried.low == 0
    assert carried.high == pytest.approx(few.high * trial.messages.longest_bytes)
    assert trial.messages.longest_bytes > 0


def test_a_rate_that_is_the_same_in_all_trials_is_known_to_a_part_of_a_message():
    """`100 [100–100]` said that no trial can have one message more."""
    trial = measure_trial(a_trial())
    rate, carried = (GLOSSARY[name] for name in ("achieved_rate", "achieved_throughput"))
    few, many = (aggregate(rate, [trial] * n) for n in (5, 20))
    assert isinstance(few, Measured) and isinstance(many, Measured)
    message_hz = 1e9 / trial.window_ns
    for rated, n in ((few, 5), (many, 20)):
        share = 1 - 0.05 ** (1 / n)
        assert rated.high - rated.value == pytest.approx(share * message_hz)
        assert rated.value - rated.low == pytest.approx(share * message_hz)
    assert "the same in all 5 trials: up to 45 % of trials may differ" in few.interval
    throughput = aggregate(carried, [trial] * 5)
    room = (few.high - few.value) * trial.messages.longest_bytes
    assert throughput.high - throughput.value == pytest.approx(room)


def test_equal_values_without_a_resolution_say_how_many_trials_may_differ():
    entry = GLOSSARY["shared_memory"]
    shown = over_trials(entry.unit, entry.kind, np.full(5, 8e6), 5, "values")
    assert (shown.value, shown.low, shown.high) == (8e6, 8e6, 8e6)
    assert shown.interval == "the same in all 5 trials: up to 45 % of trials may differ"


def test_what_one_host_stamped_at_both_ends_is_exact():
    """A client's answers: its own clock took both stamps, and its drift is parts per million of the
    time between."""
    trial = measure_trial(a_trial())
    client = [v for v in latencies(trial) if v > 2 * LATENCY_NS]
    assert len(client) == 1_000
    whole = 2 * LATENCY_NS + 30_000
    assert np.abs(np.array(client) - whole).max() <= whole * DRIFT + 2
    alone = a_trial(reader_host="robot")
    same = measure_trial(replace(alone, clock_map=[]))
    assert (latencies(measure_trial(alone)) == latencies(same)).all()


def test_hosts_on_one_clock_go_through_untouched():
    rows = [
        {"host": host, "t_ns": BEGIN_NS, "offset_ns": 0, "bound_ns": 0}
        for host in ("robot", "base")
    ]
    evidence = a_trial(rows=rows, reader_host="robot")
    told, known = on_one_clock(evidence)
    assert told is evidence and known.is_single and not measure_trial(evidence).clock_bounds


def test_a_steady_state_that_began_by_an_earlier_reading_loses_no_message():
    """The first message was due at a begin that is known better now, and lies microseconds before
    it."""
    trial = measure_trial(a_trial(told_early_ns=1_000_000 + BOUND_NS // 2))
    assert trial.messages.ledger.wanted == 2_000


def test_times_to_match_are_of_one_clock():
    trial = measure_trial(a_trial())
    assert trial.values["graph_time"] == pytest.approx(10_000_004, abs=BOUND_NS + 2)
    for metric in ("graph_time", "recovery_time"):
        assert trial.clock_bounds[metric] >= BOUND_NS
    # One worker took both stamps of an endpoint's own.
    assert np.abs(latencies(trial, "endpoint_match") - 10_000_002).max() <= 4 + 10_000_000 * DRIFT


def test_a_latency_below_the_bound_is_refused():
    shown = aggregate(GLOSSARY["request_leg_p50"], [measure_trial(a_trial(latency_ns=5_000))])
    assert isinstance(shown, NoData) and "clocks are known to ±9" in shown.no_data


def arms(fast_ns, slow_ns, bound_ns):
    def primary(value):
        return {block: value * (1 + 0.001 * (block % 3)) for block in range(8)}

    bounds = dict.fromkeys(range(8), bound_ns)
    return [
        JudgedArm("fast", primary(fast_ns), bounds=bounds),
        JudgedArm("slow", primary(slow_ns), bounds=bounds),
    ]


def test_a_difference_below_the_bound_is_not_claimed_and_one_above_is():
    def verdict(*args):
        return judged(arms(*args))["slow"]

    clear = verdict(50_000.0, 60_000.0, 0.0)
    assert clear.verdict == "worse" and clear.ratio.high < 1.21
    blurred = verdict(50_000.0, 60_000.0, 9_000.0)
    assert blurred.verdict == "undecided" and "10.0 µs apart" in blurred.reason
    assert "±18.0 µs" in blurred.reason
    assert blurred.ratio.low < 1 < 1.2 < blurred.ratio.high and blurred.minutes_to_decide is None
    assert verdict(50_000.0, 90_000.0, 9_000.0).verdict == "worse"
    # Equivalent is a claim as well: what the clocks could hide is not within the margin.
    assert verdict(50_000.0, 50_500.0, 0.0).verdict == "equivalent"
    assert verdict(50_000.0, 50_500.0, 9_000.0).verdict == "undecided"
    assert verdict(5_000.0, 50_000.0, 9_000.0).verdict == "worse"
    assert verdict(5_000.0, 8_000.0, 9_000.0).verdict == "undecided"


def test_the_bound_of_a_trial_reaches_its_verdict():
    trial = measure_trial(a_trial())
    assert clock_bound(MEDIAN, trial) == trial.clock_bounds["response_latency"]
    assert trial_value(MEDIAN, trial) is not None
    assert clock_bound(GLOSSARY["cpu_cores"], trial) == 0


def test_a_clock_that_was_stepped_is_refused_with_the_trial_named():
    rows = clock_map()
    rows[3] = {**rows[3], "offset_ns": rows[3]["offset_ns"] + 50_000_000}
    with pytest.raises(UserError, match="clock_map of trial 1 contradicts itself"):
        measure_trial(a_trial(rows=rows))


def test_a_sampler_stamps_on_its_hosts_clock():
    evidence = a_trial()
    known = trial_clocks(evidence.clock_map, evidence.endpoints)
    t = BEGIN_NS + 10**9
    base = ("sampler@base", "p2", "router base", "router base again")
    rows = [{"process": name, "time_ns": int(base_ns(t))} for name in base]
    assert all(abs(row["time_ns"] - t) <= BOUND_NS for row in known.samples(rows))
    rows = [
        {"process": name, "time_ns": t} for name in ("sampler@robot", "sampler", "p1", "router")
    ]
    assert known.samples(rows) == rows
    assert known.widest_ns(SteadyWindow(BEGIN_NS, BEGIN_NS + LENGTH_NS)) >= BOUND_NS
    assert fit(known.hosts["base"].readings) == known.hosts["base"]


def test_the_steps_of_a_manager_are_on_the_clock_of_its_host():
    """It has no endpoint. Its nodes were active a quarter of an hour after the window, or before it."""
    trial = a_trial()
    places = [{"name": "manager", "host": "base", "nodes": ["manager"]}]
    trial.definition = json.dumps({"bring_up": {"nodes": ["n2"]}, "processes": places})

    def event(name, time_ns, **more):
        row = {"event": name, "process": "manager", "endpoint": None, "time_ns": int(time_ns)}
        return row | {"text": "n2", "value": None, "code": None} | more

    def step(name, asked_s, done_s):
        asked_ns, done_ns = (base_ns(BEGIN_NS + round(s * 1e9)) for s in (asked_s, done_s))
        return event("step", done_ns, value=float(asked_ns), code=f"{name}.done")

    steps = [step("service", 0.5, 1.0), step("configure", 1.0, 1.2), step("activate", 1.2, 1.5)]
    trial.events += [event("joining", BEGIN_NS), *steps]
    measured = measure_trial(trial)
    assert measured.bring_up.up_ns == (pytest.approx(1.5e9, abs=2 * BOUND_NS),)
    assert measured.bring_up.longest_change_ns == pytest.approx(3e8, abs=2 * BOUND_NS)
    assert measured.clock_bounds["bring_up_time"] >= BOUND_NS


def test_a_host_may_have_the_name_of_a_daemon():
    rows = [row | {"host": row["host"].replace("base", "router")} for row in clock_map()]
    known = trial_clocks(rows, a_trial().endpoints)
    for process, host in (("router robot", "robot"), ("router router again", "router")):
        assert known.of_process(process) is known.hosts[host]


def test_a_bound_is_looked_up_between_readings_where_it_is_largest():
    """Of a clock that somebody slews, with and without a window, also where the window has as many
    readings as the bound has points."""
    offsets = [0, 400_000, 0, 400_000] * 5
    readings = [
        {"host": "base", "t_ns": BEGIN_NS + n * 10**9, "offset_ns": offset, "bound_ns": BOUND_NS}
        for n, offset in enumerate(offsets[:17])
    ]
    own = [{"host": "robot", "t_ns": BEGIN_NS, "offset_ns": 0, "bound_ns": 0}]
    known = trial_clocks([*own, *readings], a_trial().endpoints)
    base = known.hosts["base"]
    assert base.corners is None
    half_way = base.bound([BEGIN_NS + 5 * 10**8]).max()
    assert half_way > 10 * base.bound([r["t_ns"] for r in readings]).max()
    for window in (None, SteadyWindow(BEGIN_NS, BEGIN_NS + 16 * 10**9)):
        assert known.bound_ns(1, 2, window) >= half_way
        assert known.widest_ns(window) >= half_way


def test_a_call_that_never_returned_is_infinite_for_its_own_topic_alone():
    """The publisher 1 of `t` hangs; the client 3 calls `s`."""
    hangs = {"time_ns": BEGIN_NS, "event": "unfinished", "process": "p1", "endpoint": 1}
    longest = {}
    for focus in ((), ("t",), ("s",)):
        trial = a_trial()
        trial.events.append(hangs)
        trial.definition = json.dumps({"workload": {"focus": focus}})
        measured = measure_trial(trial)
        longest[focus] = measured.values["publish_call_max"]
        of_parts = {name: part.values["publish_call_max"] for name, part in measured.topics.items()}
        assert of_parts == ({} if focus else {"t": math.inf, "s": pytest.approx(400, abs=1)})
    assert longest == {(): math.inf, ("t",): math.inf, ("s",): pytest.approx(400, abs=1)}


def test_a_limit_is_held_only_where_it_is_held_at_the_far_end_of_the_bound():
    trial = measure_trial(a_trial())
    held = [
        LimitCondition("request_leg_p50", below).value(trial) < below for below in (85_000, 95_000)
    ]
    assert held == [False, True]
