"""Explains the slowest messages of an arm, in its worst trial, because a cause belongs to a
moment."""

from collections.abc import Iterable, Mapping, Sequence

from rmwbench.analysis.causes.tail import (
    CAUSES,
    UNEXPLAINED,
    explain,
    pairs,
    trial_witnesses,
    with_network,
)
from rmwbench.analysis.causes.tail import Tail as Explained
from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.context import Context
from rmwbench.analysis.metrics.network.outage import outages
from rmwbench.analysis.records.frames import counts_of, frames_of
from rmwbench.analysis.records.joining import lives
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.evidence import SmallTables, TrialEvidence, evidence
from rmwbench.results.explain.explain_model import Cause, SlowMessage, TailAnswer

SOURCE = "response_latency"
EXAMPLES = 5
"""So many of the slowest messages of a tail are listed."""


def worst_trial(trials: Sequence[MeasuredTrial]) -> MeasuredTrial | None:
    """Return the trial with the slowest message that arrived; None if none did."""

    def slowest(trial: MeasuredTrial) -> float:
        sample = trial.messages.samples.get(SOURCE)
        return sample.largest_finite if sample is not None else 0.0

    worst = max(trials, key=slowest, default=None)
    return worst if worst is not None and slowest(worst) > 0 else None


def of_worst(
    bundle: Bundle,
    cells: Mapping[int, Sequence[MeasuredTrial]],
    lines: Iterable[TrialLine],
    small: SmallTables,
) -> dict[int, tuple[TailAnswer, ...]]:
    """Return the tails of the worst trial of each cell that has one. Trials are read in their
    order, in which they are stored."""
    worst_trials = {
        trial.trial for trials in cells.values() if (trial := worst_trial(trials)) is not None
    }
    return {
        x.cell: _of(bundle, x)
        for x in evidence(bundle, (x for x in lines if x.trial in worst_trials), small)
    }


def tails(bundle: Bundle, line: TrialLine, small: SmallTables) -> tuple[TailAnswer, ...]:
    """Return one tail per writer and reader of the trial, the longest first."""
    (trial,) = evidence(bundle, [line], small)
    return _of(bundle, trial)


def _of(bundle: Bundle, trial: TrialEvidence) -> tuple[TailAnswer, ...]:
    places = {e["endpoint"]: e["process"] for e in trial.endpoints}
    context = Context.of(trial)
    trial_evidence, clocks, window = context.evidence, context.clocks, context.window
    endpoints = context.endpoints
    samples, schedule = (
        clocks.samples(bundle.rows(name, trial.trial)) for name in ("samples", "schedule")
    )
    log = trial.frames()
    # a log that lacks frames does not show which message was lost
    is_whole = log is not None and counts_of(trial.counters) is None
    frames = frames_of(log) if log is not None and is_whole else None
    interruptions = (
        [] if window is None else outages(trial_evidence.events, trial.endpoints, window)
    )
    hosts = {e["endpoint"]: e["host"] for e in trial.endpoints}
    out = []
    lifetimes = lives(trial.endpoints, trial_evidence.events, window)
    for writer, reader, first_seq, pair in pairs(
        trial_evidence.records, endpoints, window, lifetimes
    ):
        observed = trial_witnesses(
            trial_evidence.events,
            samples,
            schedule,
            publisher=places[writer],
            receiver=places[reader],
            hosts=(hosts[writer], hosts[reader]),
        )
        observed = with_network(
            observed, frames, interruptions, writer=hosts[writer], reader=hosts[reader]
        )
        tail = explain(pair, observed)
        if tail is not None and tail.messages:
            out.append(_tail(tail, trial.trial, writer, reader, first_seq))
    return tuple(sorted(out, key=lambda tail: -tail.worst[0].latency_ns))


def _tail(tail: Explained, trial: int, writer: int, reader: int, first_seq: int) -> TailAnswer:
    total = len(tail.messages)
    return TailAnswer(
        trial=trial,
        writer=writer,
        reader=reader,
        median_ns=tail.median_ns,
        of=tail.of,
        messages=total,
        explained=total - dict(tail.causes).get(UNEXPLAINED, 0),
        causes=tuple(
            Cause(cause=cause, messages=count, share=count / total, text=CAUSES[cause])
            for cause, count in tail.causes
        ),
        worst=tuple(
            SlowMessage(
                seq=first_seq + slow.place,
                latency_ns=slow.latency_ns,
                cause=slow.cause,
                phases_ns=slow.phases_ns,
            )
            for slow in tail.messages[:EXAMPLES]
        ),
        unwatched=tuple(tail.unwatched),
    )
