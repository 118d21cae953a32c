"""How wrong others are: what their output says, what an error is, and what each habit makes of
records whose truth is known. One trial of real traffic holds that ddsperf and our ledger count the
same messages."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from bench.others import ddsperf, ddsperf_text, fastdds, habits, ros2, table
from bench.others.__main__ import Work, main
from bench.others.errors import Reading, line
from bench.others.traffic import Stream
from bench.programs import Crashed
from rmwbench.analysis.records.columns import Endpoint, Window
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.lab.middleware import workspace

MS = 1_000_000

DDSPERF = """\
[2] participant vm:2: new (self)
[2] 15136.745  size 0 total 0 lost 0 delta 0 lost 0 rate 0.00 kS/s 0.00 Mb/s (0.00 kS/s 0.00 Mb/s)
[2] 15138.750  size 1012 total 975 lost 4294967295 delta 501 lost 7 rate 0.50 kS/s 4.05 Mb/s (0.10 kS/s 0.79 Mb/s)
[2] 15138.750  sublat 730fb07dc56a2720 size 1012 mean 281.484us min 55.333us 50% 114.470us 90% 510.189us \
99% 3197.959us max 6583.686us cnt 474
[2] 15138.750  rss:7.3MB vcsw:672 ivcsw:77 recv:1%+0%
[2] ping timed out (total 204 times) ... sending new ping
[2] 15156.149  vm:3 size 12 mean 41.745us min 9.854us 50% 11.101us 90% 43.875us 99% 670.490us max 4295.673us cnt 11944
[2] error: 4294967295 samples lost
"""


def test_ddsperfs_lines_are_read_and_all_others_left_alone():
    first, second = ddsperf_text.counts(DDSPERF)
    assert (first.total, first.delta) == (0, 0)
    assert (second.time_s, second.size_bytes, second.total, second.lost) == (
        15138.75,
        1012,
        975,
        4294967295,
    )
    assert (second.delta, second.delta_lost, second.mbit_per_s, second.mbit10_per_s) == (
        501,
        7,
        4.05,
        0.79,
    )
    assert (second.rate_hz, second.rate10_hz) == pytest.approx((500.0, 100.0))
    one_way, half = ddsperf_text.latencies(DDSPERF)
    assert (one_way.one_way, one_way.peer, one_way.count) == (True, "730fb07dc56a2720", 474)
    assert (one_way.p50_ns, one_way.p99_ns, one_way.max_ns) == pytest.approx(
        (114_470, 3_197_959, 6_583_686)
    )
    assert (half.one_way, half.peer, half.count, half.min_ns) == (
        False,
        "vm:3",
        11944,
        pytest.approx(9_854),
    )


def readings(*pairs):
    return [Reading("latency", "ns", says, ledger) for says, ledger in pairs]


def test_an_error_has_an_interval_from_six_repetitions_on():
    found = line("t", "s", readings(*[(10.0 + n, 20.0) for n in range(6)]))
    assert (found["error"], found["low"], found["high"]) == (-7.5, -10.0, -5.0)
    assert found["relative"] == pytest.approx([-0.375, -0.5, -0.25]) and found["repetitions"] == 6
    five = line("t", "s", readings(*[(10.0, 20.0)] * 5))
    assert (five["error"], five["low"], five["high"], five["relative"][1]) == (
        -10.0,
        None,
        None,
        None,
    )


def test_an_error_relative_to_nothing_is_none():
    found = line("t", "s", readings(*[(4.0, 0.0)] * 6))
    assert (found["error"], found["relative"]) == (4.0, None)
    assert table.error({**found, "unit": "messages"}) == "4 [4 … 4]"


def test_what_one_side_does_not_say_is_not_an_error_but_a_reason():
    mixed = line("t", "s", readings((1.0, math.inf), (1.0, None), (None, 1.0), (3.0, 1.0)))
    assert (mixed["error"], mixed["repetitions"]) == (2.0, 1)
    assert [word in mixed["note"] for word in ("never", "so few", "nothing")] == [True] * 3
    none = line("t", "s", readings((1.0, math.inf)))
    assert (none["error"], none["says"], none["ledger"]) == (None, 1.0, None)
    json.dumps(none, allow_nan=False)


def a_flow(n=2000, period_ns=2 * MS, *, lost=(), late=None, twice=(), swap=(), latency_ns=100_000):
    """A writer at a steady rate; `late`: seq → how much later than due it was called."""
    late = late or {}
    intended = np.arange(n, dtype=np.int64) * period_ns + 7 * period_ns
    call = intended + np.array([late.get(seq, 0) for seq in range(n)], np.int64)
    # Not one value: a quantile of equal values would hide what is wrong with it.
    jitter = np.array([random.Random(seq).randrange(50_000) for seq in range(n)], np.int64)
    taken = call + latency_ns + jitter
    for seq in swap:
        taken[seq], taken[seq + 1] = taken[seq + 1], taken[seq]
    taken[list(lost)] = ABSENT
    seqs = [seq for seq in range(n) if seq not in set(lost)]
    arrivals = sorted(
        [(int(taken[seq]), seq) for seq in seqs] + [(int(taken[seq]) + 1000, seq) for seq in twice]
    )
    arrived_ns, arrived_seq = (np.array(column, np.int64) for column in zip(*arrivals, strict=True))
    begin = int(intended[0])
    return habits.Flow(intended, call, taken, arrived_seq, arrived_ns, begin, begin + n * period_ns)


def wrong(habit, flow):
    found = habit(flow)
    return found.says, found.ledger


LOST = [*range(25), *range(900, 940), *range(1900, 2000)]
# A thread that stands still for 300 ms: what was due meanwhile is called late, one after the other.
STALL = {seq: (150 - k) * 2 * MS for k, seq in enumerate(range(600, 750))}


def test_losses_at_the_ends_are_not_gaps():
    assert wrong(habits.between_first_and_last, a_flow(lost=LOST)) == (40, 165)
    assert wrong(habits.between_first_and_last, a_flow()) == (0, 0)
    assert wrong(habits.survivors, a_flow(lost=LOST))[1] == math.inf
    assert wrong(habits.fence_posts, a_flow(lost=LOST)) == pytest.approx(
        (1835 / 3.748, 1835 / 4.0), rel=1e-3
    )


def test_order_and_copies_are_not_losses():
    assert wrong(habits.fresh_gaps, a_flow(swap=[1200])) == (2, 0)
    assert wrong(habits.unsigned_gaps, a_flow(swap=[1200])) == (2**32, 0)
    assert wrong(habits.unsigned_gaps, a_flow(twice=[700])) == (2**32 - 1, 0)
    assert (
        wrong(habits.fresh_gaps, a_flow(lost=[5]))
        == wrong(habits.unsigned_gaps, a_flow(lost=[5]))
        == (1, 1)
    )


def test_a_stall_of_the_publisher_is_not_in_what_is_stamped_at_the_call():
    flow = a_flow(late=STALL)
    for habit in (habits.from_the_call, habits.of_means, habits.mean_of_quantiles):
        says, ledger = wrong(habit, flow)
        assert says < 0.2 * MS and ledger > 50 * MS, habit
        says, ledger = wrong(habit, a_flow())
        assert says == pytest.approx(ledger, rel=0.3), habit
    says, ledger = wrong(habits.too_late_removed, flow)
    assert says < 0.2 * MS and ledger > 10 * MS
    assert (
        wrong(habits.too_late_removed, a_flow())[0] == wrong(habits.too_late_removed, a_flow())[1]
    )


def test_the_mean_of_rates_is_not_a_rate():
    flow = a_flow()
    assert wrong(habits.mean_of_rates, flow) == pytest.approx((500, 500), rel=0.01)
    clumped = np.sort(np.concatenate([flow.arrived_ns[::2], flow.arrived_ns[::2] + 1000]))
    says, ledger = wrong(
        habits.mean_of_rates,
        habits.Flow(*[*vars(flow).values()][:4], clumped, *[*vars(flow).values()][5:]),
    )
    assert says > 100 * ledger


def test_a_square_of_sums_overflows_where_latencies_are_long():
    says, ledger = wrong(habits.overflowing, a_flow())
    assert says == pytest.approx(ledger, rel=1e-6)
    says, ledger = wrong(habits.overflowing, a_flow(latency_ns=40 * MS))  # Σx = 20 s in a second
    assert says is None or abs(says - ledger) > ledger


def test_a_deep_quantile_of_few_is_their_maximum():
    flow = a_flow()
    assert wrong(habits.deep_quantile, flow) == (flow.service_ns.max(), None)


def test_seconds_of_one_run_do_not_know_of_the_next():
    apart = [a_flow(latency_ns=latency) for latency in (100_000, 200_000, 300_000)]
    assert habits.seconds_as_samples(apart) == (1, 3)  # the one in the middle
    assert habits.seconds_as_samples([a_flow()] * 4) == (4, 4)
    assert habits.seconds_as_samples([a_flow()]) is None


class Columns:
    def __init__(self, sent, received):
        self._sent, self._received = sent, received

    def sent(self, column):
        return np.array([row[column] for row in self._sent])

    def received(self, column):
        return np.array([row[column] for row in self._received])


def test_a_flow_is_the_steady_messages_of_a_pair():
    sent = [
        {
            "endpoint": 1,
            "seq": seq,
            "intended_ns": 100 * seq,
            "call_ns": 100 * seq + 1,
            "flags": 4 if seq < 2 else 0,
        }
        for seq in range(6)
    ]
    # warm-up, swapped, twice, of no writer, foreign
    got = [(0, 0), (3, 0), (2, 0), (3, 0), (9, 0), (4, 16)]
    received = [
        {
            "endpoint": 2,
            "writer": 1,
            "seq": seq,
            "taken_ns": 1000 + place,
            "bytes": 8,
            "flags": flags,
        }
        for place, (seq, flags) in enumerate(got)
    ]
    endpoints = [Endpoint(1, "publisher", "t"), Endpoint(2, "subscription", "t")]
    flow = habits.flow(Columns(sent, received), endpoints, Window(200, 600))
    assert flow.intended_ns.tolist() == [200, 300, 400, 500]
    assert flow.taken_ns.tolist() == [1002, 1001, ABSENT, ABSENT]
    assert flow.arrived_seq.tolist() == [3, 2, 3]
    assert habits.flow(Columns(sent, received), endpoints, None) is None


def test_every_habit_is_shown_by_scenarios_that_exist_and_one_without_faults():
    names = {scenario.name for scenario in ddsperf.SCENARIOS}
    for habit in habits.HABITS:
        assert set(habit.shown_by) <= names and "clean" in habit.shown_by


STATISTICS = """\
{"library": "2.9.1", "enable_statistics_datawriter": 0}
{"matched": "history_latency_ns", "writers": 1}
\x1b[37;1m2026-11-21 [DDS_QOS_CHECK Error] something
{"time_ns": 5, "statistic": "history_latency_ns", "guid": "010f0000000000000000000000000103", "value": 99366}
{"time_ns": 6, "statistic": "data_count", "guid": "010f0000000000000000000000000103", "value": 7}
{"time_ns": 7, "statistic": "data_count", "guid": "010f00000000000000000000000003c2", "value": 9}
{"time_ns": 8, "statistic": "data_count", "guid": "010f00000000000000"""


def test_fast_dds_statistics_are_read_and_a_cut_line_is_left():
    told = fastdds.told(STATISTICS)
    assert [(one.statistic, one.value) for one in told] == [
        ("history_latency_ns", 99366),
        ("data_count", 7),
        ("data_count", 9),
    ]
    assert [fastdds._of_user(one.guid) for one in told] == [True, True, False]
    assert fastdds.absent(STATISTICS) is None
    assert fastdds.absent('{"absent": "built without"}\n') == "built without"


# As ros2cli's verb/hz.py and verb/bw.py print.
HZ = (
    "average rate: 499.102\n\tmin: 0.001s max: 0.003s std dev: 0.00011s window: 500\naverage "
    "rate: 500.3\n"
)
BW = (
    "Subscribed to [/others]\n508.21 KB/s from 100 messages\n\tMessage size mean: 1.02 KB min: "
    "1.02 KB max: 1.02 KB\n"
)


def test_ros2_prints_are_read():
    assert (ros2.rate_hz(HZ), ros2.rate_hz("WARNING: nothing")) == (500.3, None)
    assert (ros2.bytes_per_s(BW), ros2.bytes_per_s("")) == (pytest.approx(508_210), None)
    assert ros2.bytes_per_s("1.5 MB/s from 3 messages") == 1.5e6


def test_without_ros2_the_table_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    work = Work(1)
    work.run(["ros2"])
    document = work.document()
    assert document["not_here"] == [
        {"tool": "ros2 topic hz, ros2 topic bw", "reason": ros2.NOT_HERE}
    ]
    assert not document["tools"] and not document["failed"]


def test_the_table_shows_errors_absences_and_failures():
    from rich.console import Console

    work = Work(6)
    work.tools["tool", "gaps", "messages lost"] = [
        Reading("messages lost", "messages", 40, 165)
    ] * 6
    work.tools["tool", "stall", "latency p99"] = [Reading("latency p99", "ns", 1e6, 300e6)] * 6
    work.habits["habit (whose)", "gaps", "latency p99"] = [
        Reading("latency p99", "ns", 1e6, math.inf)
    ] * 6
    work.not_here.append({"tool": "another", "reason": "it is not installed"})
    work.failed.append({"what": "a third", "problem": "it crashed"})
    document = json.loads(json.dumps(work.document(), allow_nan=False))
    console = Console(width=220, record=True)
    table.render(document, console)
    shown = console.export_text()
    for text in (
        "-125 [-125 … -125]",
        "1 ms",
        "300 ms",
        "-99.67 %",
        "never",
        "not here: another",
        "it crashed",
    ):
        assert text in shown, text


def test_every_key_is_documented():
    text = (Path(__file__).resolve().parents[1] / "docs/other-tools.md").read_text()
    keys = [*line("t", "s", readings((1.0, 2.0))), *Work(1).document()]
    assert [key for key in keys if f"`{key}`" not in text] == []
    assert [habit.name for habit in habits.HABITS if habit.name not in text] == []
    names = {scenario.name for scenario in (*ddsperf.SCENARIOS, *fastdds.SCENARIOS)}
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("wrong", [["dds"], ["--repetitions", "0"], ["--bundle", "/nowhere"]])
def test_a_wrong_argument_is_exit_code_2(wrong, capsys):
    try:
        code = main(wrong)
    except SystemExit as left:
        code = left.code
    assert code == 2 and wrong[-1] in capsys.readouterr().err


@pytest.mark.timing
@pytest.mark.own_host
def test_ddsperf_and_our_ledger_count_the_same_messages():
    release = workspace.target_directory() / "release"
    if not (release / "rmwbench-bench-ddsperf-peer").exists() or not list(
        release.glob("ddsperf-*/bin/ddsperf")
    ):
        pytest.skip(
            "ddsperf is not built here: `python -m bench others ddsperf` builds it, in about a "
            "minute"
        )
    try:
        programs = ddsperf.found(release)
    except Crashed as crash:
        pytest.fail(str(crash))
    faults = {"lose": "0-9 200-219 590-599", "twice": "300"}
    scenario = ddsperf.Scenario(
        "test", "", ddsperf._subscriber([Stream(1, 1000, 500.0, faults)]), lambda seen: []
    )
    seen = ddsperf.trial(scenario, programs, seconds=1.2)
    ledger = seen.messages().ledger
    assert ledger.wanted == seen.scheduled == 600
    assert (ledger.lost_start, ledger.lost_middle, ledger.lost_end) == (10, 20, 10)
    assert (ledger.delivered, ledger.duplicates, ledger.corrupt, ledger.foreign) == (560, 1, 0, 0)
    last = ddsperf_text.counts(seen.printed)[-1]
    assert last.total == 561
    # The gap in the middle it finds; the ends it cannot see; the copy turns its sum over.
    assert last.lost == 20 + 2**32 - 1
    latencies = ddsperf_text.latencies(seen.printed)
    assert sum(second.count for second in latencies) == 561 and all(
        second.one_way for second in latencies
    )
