"""Says where an arm's messages were lost, over its done trials."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

from rmwbench.analysis.causes.loss_places import Losses, LossPlace, drops, locate
from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.bundle.evidence import SmallTables
from rmwbench.results.workload.groups import VERDICTS
from rmwbench.words import numbers as fmt


def losses(
    trials: Sequence[MeasuredTrial], small: SmallTables, *, reliable: bool, keep_last: bool
) -> Losses | None:
    """Return the places at which messages were lost; None if all messages had arrived when the
    trials ended, or no trial is done. Messages that were under way then are slow and not lost: they
    are counted apart, at no place."""
    if not trials:
        return None
    ledger = reduce(add, (t.messages.ledger for t in trials))
    if not ledger.undelivered and not ledger.under_way:
        return None
    drops_of_trials = reduce(
        add, (replace(drops(small.counters[t.trial]), links=_links(t)) for t in trials)
    )
    return locate(ledger, drops_of_trials, reliable=reliable, keep_last=keep_last)


def _links(trial: MeasuredTrial) -> dict[str, int]:
    """Return the number of frames with data that each link lost, by link and reason in words."""
    frames = trial.network.wire.lost_data if trial.network.wire else {}
    return {f"{host} {way}: {VERDICTS.get(v, v)}": n for (host, way, v), n in frames.items()}


def measure(place: LossPlace) -> str:
    """Return `at most 32 messages (40 datagrams counted there)`, or `32 messages, inferred`."""
    text = "at most " if place.label == "at most" else ""
    text += fmt.counted(place.messages, "message")
    if place.unit != "messages":
        text += f" ({fmt.counted(place.count, place.unit.removesuffix('s'))} counted there)"
    return text + (", inferred" if place.label == "inferred" else "")


def slow(under_way: int, wanted: int) -> str | None:
    """Return `7 messages (23 %) were still under way when the trials ended: late, not lost`; None
    if none was."""
    if not under_way:
        return None
    verb = "was" if under_way == 1 else "were"
    share = fmt.quantity(under_way / wanted, "fraction")
    return (
        f"{fmt.counted(under_way, 'message')} ({share}) {verb} still under way when the trials "
        "ended: late, not lost"
    )


def slow_of(losses_of_arm: Losses | None) -> str | None:
    """Return the sentence of `slow` for these losses; None if no message was under way."""
    return None if losses_of_arm is None else slow(losses_of_arm.under_way, losses_of_arm.wanted)
