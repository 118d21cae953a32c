"""One trial's records to numbers: what is lost is infinite, what was never stamped is no data, and
large samples agree with small ones.
"""

import numpy as np
import pytest

from rmwbench.analysis.metrics import latency
from rmwbench.analysis.metrics.aggregate import (
    MeasuredTrial,
    aggregate,
    over_trials,
    trial_value,
)
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.latency import Messages, longest_gap, measure, thin_series
from rmwbench.analysis.metrics.sample import KEEP, make_sample
from rmwbench.analysis.metrics.trial_metrics import drop_whole_window_metrics
from rmwbench.analysis.records.columns import EndpointRow, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife, passes
from rmwbench.analysis.records.ledger import ABSENT, Ledger
from rmwbench.analysis.stats.estimate import rank
from rmwbench.codes import FAILED
from tests.support.columns import PAIR, Records, message

MS = 1_000_000


def test_latencies_are_from_the_intended_time_and_loss_is_infinite():
    sent = [message(0, 0), message(1, 100, call=160), message(2, 200), message(3, 300, call=ABSENT)]
    received = [
        {"seq": 0, "taken_ns": 50, "consumed_ns": 70},
        {"seq": 1, "taken_ns": 190, "consumed_ns": ABSENT},
    ]
    m = measure(Records(sent, received), PAIR, SteadyWindow(0, 400))
    assert m.samples["response_latency"].values.tolist() == [50, 90, np.inf, np.inf]
    # never sent: no call, so no service
    assert m.samples["service_latency"].values.tolist() == [30, 40, np.inf]
    assert m.samples["consumed_latency"].values.tolist() == [70, np.inf, np.inf, np.inf]
    assert m.samples["publish_call"].values.tolist() == [20, 20, 20]
    assert m.samples["arrival_jitter"].values.tolist() == [40]
    assert (m.ledger.vanished, m.ledger.not_attempted) == (1, 1)
    assert (m.calls_in_window, m.scheduled) == (3, 4)


def test_a_publish_call_that_failed_or_never_returned_keeps_its_duration():
    sent = [message(0, 0, flags=1, back=510), message(1, 100, back=ABSENT)]
    m = measure(Records(sent, []), PAIR, SteadyWindow(0, 200))
    assert m.samples["publish_call"].values.tolist() == [500, np.inf]
    assert (m.ledger.failed, m.ledger.vanished_start) == (1, 1)


def test_a_message_that_its_publish_call_refused_is_in_no_service_latency():
    """It was never sent, as one that no call was made for; one that arrived all the same was."""
    sent = [message(0, 0), message(1, 100, flags=FAILED), message(2, 200, flags=FAILED)]
    received = [{"seq": 0, "taken_ns": 50}, {"seq": 2, "taken_ns": 260}]
    m = measure(Records(sent, received), PAIR, SteadyWindow(0, 300))
    assert m.samples["service_latency"].values.tolist() == [40, 50]
    assert m.samples["response_latency"].values.tolist() == [50, 60, np.inf]
    assert m.ledger.never_sent == m.ledger.failed == 1


def test_latencies_stay_exact_on_a_machine_that_has_been_up_for_years():
    up = 2**57 + 1
    m = measure(
        Records([message(0, up)], [{"seq": 0, "taken_ns": up + 51}]),
        PAIR,
        SteadyWindow(up, up + 100),
    )
    assert m.samples["response_latency"].values.tolist() == [51]


def test_unstamped_consumption_is_no_data():
    m = measure(Records([message(0, 0)], [{"seq": 0, "taken_ns": 50}]), PAIR, SteadyWindow(0, 100))
    assert "consumed_latency" not in m.samples


def test_two_readers_double_the_deliveries_that_are_wanted():
    endpoints = [
        *PAIR,
        EndpointRow(3, "subscription", "t"),
        EndpointRow(4, "subscription", "other"),
    ]
    received = [
        {"seq": 0, "taken_ns": 50},
        {"seq": 0, "taken_ns": 60, "endpoint": 3},
        {"seq": 1, "taken_ns": 150},
    ]
    m = measure(
        Records([message(0, 0), message(1, 100)], received), endpoints, SteadyWindow(0, 200)
    )
    assert (m.ledger.wanted, m.ledger.delivered, m.ledger.vanished_end) == (4, 3, 1)
    assert m.pairs == m.readers == 2
    assert m.samples["response_latency"].values.tolist() == [50, 50, 60, np.inf]
    assert (m.arrived_in_window, m.bytes_in_window, m.scheduled) == (3, 300, 2)


def test_calls_that_failed_and_messages_never_sent_are_counted_once_however_many_read():
    """The first call failed and its message came to one reader all the same; the second was never
    made."""
    sent = [
        message(0, 0, flags=FAILED),
        message(1, 100, ABSENT, ABSENT),
        message(2, 200),
    ]
    received = [{"endpoint": 2, "seq": 0, "taken_ns": 50}]
    for readers in (0, 1, 3):
        ends = [PAIR[0], *(EndpointRow(2 + n, "subscription", "t") for n in range(readers))]
        values = MeasuredTrial(
            1, 0, measure(Records(sent, received), ends, SteadyWindow(0, 300)), 300
        ).values
        assert (values["publish_failures"], values["never_sent"]) == (1, 1), readers


def test_two_writers_on_one_topic_are_told_apart_by_the_payloads_writer():
    endpoints = [*PAIR, EndpointRow(7, "publisher", "t")]
    sent = [message(0, 0), message(0, 5, endpoint=7), message(1, 100, endpoint=7)]
    received = [
        {"seq": 0, "taken_ns": 20, "writer": 7},
        {"seq": 0, "taken_ns": 50},
        {"seq": 0, "writer": 0, "taken_ns": 60, "flags": 16},
    ]
    m = measure(Records(sent, received), endpoints, SteadyWindow(0, 200))
    assert (m.ledger.delivered, m.ledger.vanished, m.ledger.foreign) == (2, 1, 1)
    assert m.samples["response_latency"].values.tolist() == [15, 50, np.inf]


def test_records_in_any_order_give_the_same():
    rng = np.random.default_rng(3)
    sent = [message(i, i * 10) for i in range(40)]
    received = [
        {"seq": i, "taken_ns": i * 10 + int(rng.integers(5, 60)), "consumed_ns": i * 10 + 70}
        for i in range(0, 40, 1)
        if i % 7
    ]
    window = SteadyWindow(50, 400)
    reference = measure(Records(sent, sorted(received, key=lambda r: r["taken_ns"])), PAIR, window)
    shuffled = measure(
        Records(
            [sent[i] for i in rng.permutation(40)],
            [received[i] for i in rng.permutation(len(received))],
        ),
        PAIR,
        window,
    )
    assert shuffled.ledger == reference.ledger
    assert shuffled.longest_stall_ns == reference.longest_stall_ns
    for name, sample in reference.samples.items():
        assert shuffled.samples[name].values.tolist() == sample.values.tolist(), name


def test_the_longest_stall_includes_the_windows_edges():
    window = SteadyWindow(0, 100)
    assert longest_gap(np.array([10, 20, 55]), window) == 45
    assert longest_gap(np.array([40, 50, 90]), window) == 40
    assert longest_gap(np.array([], np.int64), window) == 100


def test_the_longest_run_of_undelivered_messages_is_of_one_writer_and_one_reader():
    endpoints = [*PAIR, EndpointRow(3, "subscription", "t")]
    sent = [message(i, 10 * i) for i in range(8)]
    got = {2: (0, 1, 3, 4, 6, 7), 3: (0, 4, 6)}  # 3 does without 1 to 3, 2 twice without one
    received = [
        {"endpoint": reader, "seq": i, "taken_ns": 10 * i + 50}
        for reader, seqs in got.items()
        for i in seqs
    ]
    m = measure(Records(sent, received), endpoints, SteadyWindow(0, 80))
    assert m.undelivered_in_a_row == 3
    assert MeasuredTrial(1, 0, m, 80).values["undelivered_in_a_row"] == 3
    assert measure(Records(sent, []), endpoints, SteadyWindow(0, 80)).undelivered_in_a_row == 8
    alone = MeasuredTrial(1, 0, measure(Records(sent, []), PAIR[:1], SteadyWindow(0, 80)), 80)
    assert alone.reasons["undelivered_in_a_row"] == "the trial has no reader"


def test_a_share_that_is_one_minus_another_has_its_interval():
    """Nothing lost is a bound and no certainty, and no share is more than all."""
    trials = [
        MeasuredTrial(
            n, n, Messages(ledger=Ledger(wanted=100, delivered=100 - lost, vanished_end=lost)), 1
        )
        for n, lost in enumerate((0, 0, 0, 0, 10))
    ]
    for some in (trials, trials[:4]):
        delivered, rest = (aggregate(GLOSSARY[name], some) for name in ("delivery", "undelivered"))
        assert delivered.value == 1 - rest.value
        assert (delivered.low, delivered.high) == (1 - rest.high, 1 - rest.low)
    assert [trial_value(GLOSSARY["delivery"], t) for t in trials] == [1, 1, 1, 1, 0.9]
    assert delivered.value == delivered.high == 1 and delivered.low < 0.99


def test_a_trial_without_the_value_is_in_no_count_and_no_bound():
    """The count of messages said that more were measured, and the bound of a rate was too low."""
    trials = [
        MeasuredTrial(n, n, Messages(arrived_in_window=100), 10**9, {"cpu_per_message": 5.0 + n})
        for n in range(3)
    ]
    unread = MeasuredTrial(3, 3, Messages(arrived_in_window=10_000), 10**9)
    cpu = aggregate(GLOSSARY["cpu_per_message"], [*trials, unread])
    assert (cpu.count, cpu.trials) == (300, 3)
    silent = Messages(ledger=Ledger(wanted=10, vanished_start=10), scheduled=10)
    trials = [MeasuredTrial(n, n, silent, 10**9) for n in range(5)]
    for trial in trials[3:]:
        drop_whole_window_metrics(trial, "its limit was reached")
    rate = GLOSSARY["achieved_rate"]
    assert aggregate(rate, trials) == aggregate(rate, trials[:3])


def test_the_interval_of_a_fraction_ends_at_one():
    shares = np.array([0.8, 0.9, 0.99])
    share, factor = (over_trials(unit, "amount", shares, 3, "values") for unit in ("fraction", "1"))
    assert (share.low, share.high) == (factor.low, 1.0)
    assert factor.high > 1.1


def test_what_a_content_filter_withholds_ends_no_run():
    """A reader that gets none of what passes does without all of that."""
    sent = [message(i, i) for i in range(200)]
    lives = {2: ReaderLife(percent=50)}
    m = measure(Records(sent, []), PAIR, SteadyWindow(0, 200), lives)
    assert m.undelivered_in_a_row == m.ledger.wanted == np.count_nonzero(passes(np.arange(200), 50))


def test_messages_under_way_are_in_no_run():
    """The last three were coming when the drain ended; the reader did without 1 and 2 alone."""
    reliable = [EndpointRow(1, "publisher", "t", True), EndpointRow(2, "subscription", "t", True)]
    sent = [message(i, 100 * MS * i) for i in range(8)]
    received = [{"seq": i, "taken_ns": 100 * MS * (i + 3)} for i in (0, 3, 4)]
    window = SteadyWindow(0, 700 * MS, drain_end_ns=750 * MS)
    assert measure(Records(sent, received), reliable, window).undelivered_in_a_row == 2
    assert measure(Records(sent, received), PAIR, window).undelivered_in_a_row == 3


def test_a_trial_without_window_has_no_rates_and_no_stall():
    m = measure(Records([message(0, 0)], [{"seq": 0, "taken_ns": 50}]), PAIR, None)
    assert m.longest_stall_ns is None
    assert m.series is None
    assert m.ledger.delivered == 1


@pytest.mark.parametrize("ahead", [0, 1, 5_000, 300_001])
@pytest.mark.parametrize("losses", [0, 1, 500, 150_000])
def test_a_large_sample_has_exact_percentiles_and_a_close_shape(losses, ahead):
    """`ahead` of them arrive before they are due, by clocks that are wrong."""
    rng = np.random.default_rng(5)
    n = 3 * KEEP + 1
    values = np.rint(np.exp(11 + rng.standard_normal(n)))
    values[rng.permutation(n)[:ahead]] *= -1
    values[rng.permutation(n)[:losses]] = np.inf
    ordered = np.sort(values)
    sample = make_sample([values[: n // 3], values[n // 3 :]])
    assert sample.count == n
    assert sample.weight.sum() == n
    assert (sample.values[1:] >= sample.values[:-1]).all()
    assert sample.largest_finite == ordered[n - losses - 1]
    for q, value in sample.exact.items():
        assert value == ordered[rank(n, q)]
    for place in (0, n // 10, n // 3, n - 200, n - losses - 1, n - 1):
        assert sample.at(place) == pytest.approx(ordered[place], rel=0.004)
    for place in range(n - losses - KEEP // 10, n, 1_000):
        assert sample.at(place) == ordered[place]


@pytest.mark.parametrize("n", [1_000, 2 * KEEP])
def test_of_one_trial_a_percentile_has_an_interval_of_its_own_messages(n):
    values = np.random.default_rng(5).permutation(np.arange(1.0, n + 1))
    messages = Messages(samples={"response_latency": make_sample([values])})
    median = aggregate(GLOSSARY["response_latency_p50"], [MeasuredTrial(1, 0, messages, 1)])
    assert (median.value, median.trials, median.count) == (n / 2, 1, n)
    beside = 0.98 * n**0.5
    assert (median.low, median.high) == pytest.approx(
        (n / 2 - beside, n / 2 + beside), abs=0.05 * beside + 0.004 * n
    )
    assert "of one trial" in median.interval


def test_thinning_a_series_keeps_spikes_and_the_shares_of_what_is_slow_or_lost():
    rng = np.random.default_rng(5)
    response = rng.lognormal(10, 0.5, 60_000)
    response[rng.random(60_000) < 0.01], response[777] = np.inf, 9e6
    time_s, thin = thin_series(np.arange(60_000) / 1e3, response)
    assert len(thin) == len(time_s) == latency.SERIES_POINTS
    assert (thin == response[np.rint(time_s * 1e3).astype(int)]).all() and 9e6 in thin
    assert 0.005 < np.isinf(thin).mean() < 0.015
    assert np.quantile(response, 0.47) < np.median(thin) < np.quantile(response, 0.58)
    lost = thin_series(np.arange(9_000) / 1e3, np.full(9_000, np.inf))[1]
    assert len(lost) == latency.SERIES_POINTS and np.isinf(lost).all()
