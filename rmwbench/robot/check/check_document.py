"""A campaign and the one of the last check -> the answer of `rmwbench check`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from scipy.special import stdtrit

from rmwbench.analysis.decide.chances import Met
from rmwbench.analysis.metrics.comparisons import is_compared, is_floor
from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError, did_you_mean
from rmwbench.results.compare.compare_document import compare
from rmwbench.results.compare.compare_model import Compared
from rmwbench.results.decide import decide_document
from rmwbench.results.decide.decide_model import Contender, Decided
from rmwbench.results.decide.decide_words import nearest_limit, times
from rmwbench.results.selection import select
from rmwbench.robot.check.check_model import Checked, MoreTime
from rmwbench.suite.limits import LimitsFile

EXIT_CODES: Mapping[Outcome, Literal[0, 1, 2]] = {Outcome.MEETS: 0, Outcome.MISSES: 1}
ORDER = (Outcome.MEETS, Outcome.OPEN, Outcome.UNKNOWN, Outcome.MISSES)
"""Best first."""
SETTLED_BY_TIME = (Why.INTERVAL, Why.TOO_FEW_BLOCKS)
MOST_BLOCKS = 1_000


def checked(bundle: Bundle, earlier: Bundle | None, use: Sequence[str] = ()) -> Checked:
    """`earlier`: the campaign of the last check, None where there was none. `use`: the candidates
    that the exit code is about, the suite's first where none is named. Raises UserError for a
    broken bundle, and for a candidate that it has not."""
    in_use = candidates_in_use(_candidates(bundle), use)
    limits = limits_of(bundle)
    decided = None if limits is None else _best_first(decide_document.summarise([bundle], limits))
    since, not_compared = _since(bundle, earlier, limits)
    outcome = None if decided is None else _together(decided, in_use)
    return Checked(
        suite=bundle.campaign.suite.name or "",
        directory=str(bundle.directory),
        created_utc=bundle.campaign.created_utc,
        in_use=in_use,
        outcome=outcome,
        decided=decided,
        more_time=() if decided is None else tuple(_more_time(decided, bundle)),
        since=since,
        not_compared=not_compared,
        exit_code=_exit_code(outcome, since),
    )


def candidates_in_use(known: Sequence[str], use: Sequence[str]) -> tuple[str, ...]:
    """Those named, else the first. Raises UserError for one that there is not."""
    for name in use:
        if name not in known:
            raise UserError(
                f"the suite has no candidate `{name}`",
                where="--use",
                expected="one of " + ", ".join(known),
                actual=name,
                fix=did_you_mean(name, known),
            )
    return tuple(dict.fromkeys(use)) or tuple(known[:1])


def limits_of(bundle: Bundle) -> LimitsFile | None:
    """What the campaign's suite calls acceptable; None where it does not say it."""
    suite, outcomes = bundle.campaign.suite, bundle.campaign.plan.outcomes
    if outcomes is None:
        return None
    keys = LimitsFile.keys_of_document(outcomes.document())
    return LimitsFile.model_validate({"limits": suite.name or "outcomes", **keys})


def _candidates(bundle: Bundle) -> list[str]:
    cells = [row for row in bundle.rows("cells") if is_compared(row) and not is_floor(row)]
    return list(dict.fromkeys(row["arm"] for row in cells))


def _best_first(decided: Decided) -> Decided:
    """Of equal outcomes the one with most room below its nearest limit; what cannot run is last."""
    machine = decided.machines[0]
    found = sorted(machine.candidates, key=_rank)
    return replace(decided, machines=(replace(machine, candidates=tuple(found)),))


def _rank(one: Contender) -> tuple[bool, int, float]:
    near = nearest_limit(one)
    ratio = None if near is None else times(near)
    room = math.inf if ratio is None else ratio
    return one.why is Why.NOT_SUPPORTED, ORDER.index(one.outcome), room


def _together(decided: Decided, in_use: Sequence[str]) -> Outcome:
    """`meets` where all of them do, `misses` where one does not, else `open`."""
    found = {one.outcome for one in decided.machines[0].candidates if one.arm in in_use}
    if Outcome.MISSES in found:
        return Outcome.MISSES
    return Outcome.MEETS if found == {Outcome.MEETS} else Outcome.OPEN


def _exit_code(outcome: Outcome | None, since: Compared | None) -> Literal[0, 1, 2]:
    """Without limits that of the comparison with the last check."""
    if outcome is not None:
        return EXIT_CODES.get(outcome, 2)
    return 2 if since is None else since.exit_code


def _since(
    bundle: Bundle, earlier: Bundle | None, limits: LimitsFile | None
) -> tuple[Compared | None, str | None]:
    """The comparison by the limited metrics, or why there is none; neither at the first check."""
    if earlier is None:
        return None, None
    try:
        sides = [select(str(one.directory)) for one in (earlier, bundle)]
        return compare(*sides, metrics=() if limits is None else _metrics(limits)), None
    except UserError as error:
        return None, error.what


def _metrics(limits: LimitsFile) -> list[str]:
    found = limits.document()
    each = [*found["acceptable"], *(one for own in found.get("topics", {}).values() for one in own)]
    return list(dict.fromkeys(one["metric"] for one in each))


def _more_time(decided: Decided, bundle: Bundle) -> Iterator[MoreTime]:
    block_s = bundle.campaign.plan.block_s
    candidates = decided.machines[0].candidates
    able = sum(one.why is not Why.NOT_SUPPORTED for one in candidates)
    for one in candidates:
        if one.outcome is Outcome.OPEN and one.why in SETTLED_BY_TIME:
            blocks = _blocks_of(one.limits, decided.rules.alpha / able)
            minutes = None if blocks is None or block_s is None else blocks * block_s / 60
            yield MoreTime(arm=one.arm, blocks=blocks, minutes=minutes)


def _blocks_of(limits: Sequence[Met], level: float) -> int | None:
    """A candidate misses where one limit is missed, and meets where all are met."""
    beyond = [met for met in limits if met.measured and met.measured.value > met.at_most]
    if beyond:
        known = [blocks_needed(met, level / len(limits)) for met in beyond]
        return min((blocks for blocks in known if blocks is not None), default=None)
    needed = [blocks_needed(met, level) for met in limits]
    return None if None in needed else max(blocks for blocks in needed if blocks is not None)


def blocks_needed(met: Met, level: float) -> int | None:
    """So many blocks make the interval of a value end at its limit, false with a probability of
    `level`: its width goes with 1/√n and with Student's quantile of the level. More than there are,
    and no fewer than decide anything. None where too many would be needed."""
    found, least = met.measured, Rules().min_blocks
    if found is None:
        return None
    if met.blocks < 2:
        return least
    end = found.high if found.value <= met.at_most else found.low
    apart = abs(met.at_most - found.value)
    wider = float(stdtrit(met.blocks - 1, 1 - level) / stdtrit(met.blocks - 1, 0.975))
    half = abs(end - found.value) * wider
    if not math.isfinite(half) or half >= apart * math.sqrt(MOST_BLOCKS / met.blocks):
        return None
    return max(least, met.blocks + 1, math.ceil(met.blocks * (half / apart) ** 2))
