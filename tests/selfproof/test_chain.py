"""Known hops come back as a known chain: the sum of what was injected is in the end-to-end latency
and in its interval, and each loss is found on the hop that it was injected on.

As in test_latency the machine only adds: the truth is a span from the draws alone to the draws and
what was measured beyond them. Losses are exact counts, whatever the machine does.
"""

import numpy as np
import pytest

from rmwbench.analysis.metrics.chain.trace import paths
from rmwbench.results.show_document import summarise
from tests.selfproof import proof
from tests.support.views import page as page_of

pytestmark = [pytest.mark.timing, pytest.mark.smoke]

HOPS = 3


class Followed:
    """A trial's steady messages of the source, each with its fate on every hop: arrays of shape
    (n,)."""

    def __init__(self, campaign, arm, line):
        rows = campaign.bundle.rows("sent", line.trial)
        (nonce,) = (row["nonce"] for row in campaign.bundle.rows("trials", line.trial))
        ((*way,),) = paths(campaign.bundle.rows("endpoints", line.trial))
        self.trial, writers = line.trial, [link.writer for link in way]
        by_cause = {
            (row["cause_endpoint"], row["cause_seq"]): row for row in rows if row["cause_endpoint"]
        }
        fates = {}
        for writer in writers:
            seqs = np.array(
                sorted(row["seq"] for row in rows if row["endpoint"] == writer), np.int64
            )
            fates_of_writer = campaign.truth(
                arm, proof.Sent(writer, nonce, seqs, seqs, seqs), "chain"
            )
            fates |= {
                (writer, int(seq)): fate for seq, fate in zip(seqs, fates_of_writer, strict=True)
            }
        arrived = {
            row["seq"]: row["taken_ns"]
            for row in campaign.bundle.rows("received", line.trial)
            if row["endpoint"] == way[-1].reader
        }
        self.injected_ns, self.measured_ns, self.lost_on = [], [], []
        for row in rows:
            if row["endpoint"] != writers[0] or row["flags"] & proof.WARMUP:
                continue
            injected, now, lost = 0, row, None
            for hop, writer in enumerate(writers):
                fate = fates[writer, now["seq"]]
                if fate["lost"]:
                    lost = hop
                    break
                injected += fate["latency_ns"] or 0  # absent where the arm has no law of latency
                if hop + 1 < HOPS:
                    now = by_cause[writer, now["seq"]]
            self.injected_ns.append(injected)
            self.lost_on.append(lost)
            self.measured_ns.append(
                np.inf if lost is not None else arrived[now["seq"]] - row["intended_ns"]
            )


def followed(campaign, arm, at_least=1):
    cell = campaign.arm(arm, "chain")["cell"]
    done = [line for line in campaign.bundle.trials("done") if line.cell == cell]
    if len(done) < at_least:
        pytest.skip(f"{arm}: the machine left {len(done)} trials")
    return [Followed(campaign, arm, line) for line in done]


@pytest.mark.parametrize("arm", ["constant", "normal"])
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_the_end_to_end_latency_holds_the_sum_of_what_was_injected(campaign, arm, q):
    metric = f"end_to_end_latency_p{q * 100:.0f}"
    values, spans = campaign.per_trial(metric, arm, "chain"), []
    for trial in followed(campaign, arm, at_least=2):
        injected, measured = np.array(trial.injected_ns, float), np.array(trial.measured_ns)
        assert (measured >= injected).all() and len(measured) == 120
        assert values[trial.trial] == pytest.approx(proof.quantile(measured, q), rel=proof.DIGITS)
        spans.append(
            (proof.quantile(injected, q), proof.latest(injected, (measured - injected).mean(), q))
        )
    truth, latest = (float(np.exp(np.log(ends).mean())) for ends in zip(*spans, strict=True))
    assert proof.inside(campaign.metric(metric, arm, "chain"), truth, below=latest - truth)


def test_each_hop_has_what_was_injected_on_it_and_the_parts_add_up(campaign):
    chain = campaign.arm("constant", "chain")["chain"]
    assert chain["nodes"] == [4, 4] and chain["wanted"] == chain["arrived"]
    transports = [part for part in chain["parts"] if part["kind"] == "transport"]
    assert len(transports) == HOPS
    for part in transports:
        assert part["typical"]["value"] >= 2_000_000 and part["lost"] == 0
    whole = sum(part["typical"]["value"] for part in chain["parts"])
    assert sum(
        x["time"]["value"] for x in campaign.arm("constant", "chain")["layers"]
    ) == pytest.approx(whole, rel=0.05)
    p50 = campaign.metric("end_to_end_latency_p50", "constant", "chain")
    assert 0.5 < whole / p50["value"] < 2


def test_every_loss_is_found_on_its_hop_and_the_message_never_arrives(campaign):
    trials = followed(campaign, "lossy")
    lost = [hop for trial in trials for hop in trial.lost_on if hop is not None]
    assert lost, "nothing was injected: the test proves nothing"
    arm = campaign.arm("lossy", "chain")
    lost_on_hop = [part["lost"] for part in arm["chain"]["parts"] if part["kind"] == "transport"]
    assert lost_on_hop == [lost.count(hop) for hop in range(HOPS)]
    assert arm["metrics"]["lost_in_relays"]["value"] == 0
    wanted = sum(len(trial.lost_on) for trial in trials)
    assert arm["metrics"]["end_to_end_undelivered"]["value"] == pytest.approx(
        len(lost) / wanted, rel=proof.DIGITS
    )
    per_trial = campaign.per_trial("end_to_end_undelivered", "lossy", "chain")
    for trial in trials:
        share = sum(hop is not None for hop in trial.lost_on) / len(trial.lost_on)
        assert per_trial[trial.trial] == pytest.approx(share, rel=proof.DIGITS)


def test_the_report_shows_where_the_time_went(campaign):
    page = page_of(summarise(campaign.bundle))
    for text in (
        "Where the time goes along the chain",
        "Which layer takes the time",
        "relay_1 → relay_2",
    ):
        assert text in page
