"""Says in plain words what may be concluded and what may not. The lines are read off the show
document and from nothing else, so they cannot say more than the tables do.

A `conclude` line states what the verdicts decided; a `caution` names a wrong conclusion that the
same tables suggest."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from rmwbench.analysis.metrics.fates import HELD, Fates
from rmwbench.analysis.verdicts.ranking_words import is_resource, words
from rmwbench.results.answer import facts, progress
from rmwbench.results.answer.headline import headline, is_untimed
from rmwbench.results.model import Conclusion
from rmwbench.results.show_model import AnyArm, Part, SuiteAnswer, TopicAnswer, WorkloadAnswer
from rmwbench.results.workload.arm_own_cost import LARGE
from rmwbench.results.workload.lost_messages import slow_of
from rmwbench.results.workload.spread_words import unlike
from rmwbench.words import numbers as fmt

Kind = Literal["conclude", "caution"]
Line = tuple[Kind, str]


def conclusions(
    suite: SuiteAnswer, *, calibrated: bool, margin: float, one_host: bool
) -> tuple[Conclusion, ...]:
    """Return the `conclusions` of docs/formats/show.md: the workloads in their order, the cautions
    about the campaign last."""
    out: list[Conclusion] = []
    along = {name for ladder in suite.levels for name in ladder.comparisons}
    for workload in suite.workloads:
        out += _workload(workload, margin, along=workload.workload in along)
    of_campaign = (
        *_amount(suite),
        *_small_own_cost(suite),
        *_slowed(suite),
        *_scope(suite, calibrated=calibrated, margin=margin, one_host=one_host),
    )
    out += (Conclusion(kind="caution", workload=None, text=text) for text in of_campaign)
    return tuple(out)


def merged_lines(
    suite: SuiteAnswer, kind: Kind, titles: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Return (place, text) of the lines of a kind, in their order; a line that several workloads
    share is returned once. The place is the names of the workloads, or their `titles`; it is empty
    for a line about the whole campaign."""
    workloads_of: dict[tuple[bool, str], list[str]] = {}
    for line in suite.conclusions:
        if line.kind == kind:
            name = line.workload
            names = workloads_of.setdefault((name is None, line.text), [])
            if name is not None:
                names.append(titles[name] if titles else name)
    everywhere = len(suite.workloads)
    return [
        ("every workload" if len(names) == everywhere > 3 else _list(names) if names else "", text)
        for (_, text), names in workloads_of.items()
    ]


def _workload(w: WorkloadAnswer, margin: float, *, along: bool) -> list[Conclusion]:
    """Return the facts of the workload, or of each of its topics if these are judged by themselves,
    then the wrong conclusions that they suggest. `along`: whether its arms are compared with
    themselves at other levels, so that an arm alone is no lack."""
    topics = [topic for topic in w.topics if topic.judged]
    lines: list[Line] = []
    if topics:
        whole = headline(w)
        lines.append(("conclude", f"{whole.answer} {whole.detail}".rstrip()))
    for part in topics or (w,):
        lines += _part(part, margin, along=along)
    lines += _tuning(w)
    lines += [("caution", text) for text in (*_undone(w), *progress.voids_per_arm(w), *_doubts(w))]
    return [Conclusion(kind=kind, workload=w.workload, text=text) for kind, text in lines]


def _part(part: Part, margin: float, *, along: bool) -> Iterator[Line]:
    """Yield the lines of a topic, or of a workload without topics that are judged."""
    where = f"{part.topic}: " if isinstance(part, TopicAnswer) else ""
    for a in facts.contenders(part):
        if text := unlike(a.spread):
            yield "caution", f"{where}{a.arm}: {text}."
    if all(map(is_untimed, facts.contenders(part))):
        return
    for opening, of_family in facts.families(part):
        lines = (*_decided(of_family, margin, along=along), *_beyond_floor(of_family, margin))
        for kind, text in lines:
            yield kind, f"{where}{facts.with_opening(opening, text)}"


def _undone(w: WorkloadAnswer) -> Iterator[str]:
    for a in w.arms:
        t = a.trials
        if bad := progress.undone_trials(a):
            trials = fmt.counted(t.done + t.failed + t.void, "trial")
            yield f"{a.arm}: {progress.why_none(bad, f' of {trials}')}"


def _doubts(w: WorkloadAnswer) -> Iterator[str]:
    """Yield doubts about the numbers of the workload that decide no verdict."""
    if (own := w.own_cost) and (own.largest_share is None or own.largest_share >= LARGE):
        yield own.text
    if count := len(w.machine_bound_blocks):
        yield (
            f"{fmt.counted(count, 'block')} in no verdict here, for any arm: the processors were "
            "busy to more than 90 % in one of its trials, and a verdict about a network may not "
            "rest on that."
        )
    arms = facts.contenders(w)
    for a in arms:
        if text := slow_of(a.losses):
            yield f"{a.arm}: {text}."
    if unlike_arms := [a.arm for a in arms if a.unlike]:
        ran = [a for a in arms if a.trials.done]
        all_are = len(unlike_arms) > 2 and all(a.unlike for a in ran)
        yield (
            f"{'every arm' if all_are else _list(unlike_arms)}: compared, but unlike the others in "
            "more than the middleware; see the notes below its table."
        )


def _decided(part: Part, margin: float, *, along: bool) -> list[Line]:
    """Return a line for each fact of a workload or topic; open facts, and losses that decide
    nothing, are cautions."""
    part, order = facts.with_labels(part), words(part.primary_metric)
    part_facts = facts.of_workload(part)
    lines: list[Line] = []
    if decided := [fact for fact in part_facts if fact.concludes]:
        text = facts.sentence(decided, order)
        if any(isinstance(fact, facts.Equal) for fact in decided):
            text = f"{text.removesuffix('.')} (the margin is {fmt.percent(margin)})."
        lines.append(("conclude", text))
    for fact in part_facts:
        if isinstance(fact, facts.DeliversLess):
            why = f"{fact.clause(order)}: less is delivered than by {fact.against}"
            lines.append(
                ("conclude", f"As configured, do not use {fact.arm} for this traffic: {why}.")
            )
        elif isinstance(fact, facts.Open | facts.Between):
            choice = "between them" if len(fact.arms) > 1 else "it or reject it"
            text = f"{facts.sentence([fact], order)} Do not choose {choice} by {order.by}."
            lines.append(("caution", text))
        elif isinstance(fact, facts.Alone | facts.NoDataFact):
            if along and isinstance(fact, facts.Alone) and not (fact.absent or fact.failing):
                continue
            lines.append(("caution", facts.sentence([fact], order)))
    others = [a for a in facts.contenders(part) if not facts.is_by_delivery(a)]
    return lines + _undelivered([(a, facts.fates_of(a, part)) for a in others], order.by)


def _beyond_floor(part: Part, margin: float) -> list[Line]:
    """Return a caution if an arm is better than the floor of its family by more than the margin, in
    value and interval: then the floor is not the best that the machine allows. The rule of a
    verdict keeps noise from being named."""
    order = words(part.primary_metric)
    arms = [
        a
        for a in facts.contenders(part)
        if a.times_floor.value is not None
        and (end := a.times_floor.low if order.higher else a.times_floor.high) is not None
        and order.as_lower_is_better(end) < 1
        and order.as_lower_is_better(a.times_floor.value) * (1 + margin) < 1
    ]
    families = {a.family for a in arms}
    floor = next((a.arm for a in part.arms if a.role == "floor" and a.family in families), None)
    if floor is None:
        return []
    better = [f"{a.arm} ({fmt.ratio(a.times_floor).full})" for a in arms]
    bound, side = ("upper", "above") if order.higher else ("lower", "below")
    return [
        (
            "caution",
            f"{floor} is no {bound} bound here: {side} it {facts.verb_of(better, 'is', 'are')} "
            f"{_list(better)}. Read × floor as the ratio to one more arm, not to what the machine "
            "allows.",
        )
    ]


def _undelivered(arms: Sequence[tuple[AnyArm, Fates]], by: str) -> list[Line]:
    """Return the losses, late and never sent messages that decide no verdict; best effort apart
    from reliable. A reliable stream's messages that were under way have a line of the whole
    workload (`slow`)."""
    reliable: list[str] = []
    best_effort: list[str] = []
    for a, fates in arms:
        if fates.lost:
            qos = str(a.qos)  # a stream with one best-effort end is allowed to lose messages
            is_reliable = qos.startswith("reliable") and "best_effort" not in qos
            group = reliable if is_reliable else best_effort
            group.append(f"{a.arm} {fmt.percent(fates.lost)}")
    lines: list[Line] = []
    if unsent := [(a.arm, fates) for a, fates in arms if fates.never_sent]:
        unsent_shares = [
            f"{arm} {fmt.percent(fates.never_sent)}"
            + (f" ({HELD[fates.held_by]})" if fates.held_by else "")
            for arm, fates in unsent
        ]
        lines.append(("caution", f"Due and never sent: {'; '.join(unsent_shares)}."))
    if reliable:
        text = f"Asked to be reliable, and yet messages were lost: {'; '.join(reliable)}."
        verdicts = "Its verdict rests" if len(reliable) == 1 else "Their verdicts rest"
        if any("keep_last" in str(a.qos) for a, _ in arms):
            text += (
                " With keep last, a reader that pauses for longer than its history may have "
                "messages overwritten."
            )
        lines.append(("caution", f"{text} {verdicts} on {by}: look at the loss before choosing."))
    if best_effort:
        lines.append(("caution", f"Lost, as best effort may: {'; '.join(best_effort)}."))
    if late := [f"{a.arm} {fmt.percent(fates.overdue)}" for a, fates in arms if fates.overdue]:
        lines.append(("caution", f"Late, which best effort may be: {'; '.join(late)}."))
    return lines


def _tuning(w: WorkloadAnswer) -> list[Line]:
    """Return the effects of tuning against the untouched profile of the same middleware: the
    decided ones of the whole report, then the open ones."""
    out: list[Line] = []
    no_effect = []
    order = words(w.primary_metric)
    for pair in w.tuning:
        ratio, answer = fmt.ratio(pair.ratio), pair.ratio.answer
        if ratio.state != "measured":
            continue
        where = f"in {pair.topic}" if pair.topic else "here"
        effect = f"it {order.amount(1, ratio.text)} as untouched {ratio.interval}"
        if answer == "better":
            out.append(("conclude", f"Tuning {pair.middleware} helps {where}: {effect}."))
        elif answer == "worse":
            harm = f"Tuning {pair.middleware} harms {where}: {effect}."
            out.append(("conclude", f"{harm} The profile does not suit this workload."))
        else:
            no_effect.append(f"{pair.middleware} {where} {ratio.full}")
    if no_effect:
        out.append(("caution", f"No effect of tuning is shown: {'; '.join(no_effect)}."))
    return out


def _amount(suite: SuiteAnswer) -> Iterator[str]:
    campaign = suite.campaign
    if not campaign.finished:
        yield (
            f"The campaign is not finished: {campaign.trials.done} of {campaign.trials.planned} "
            "trials are done. `rmwbench resume` continues it."
        )
    if not suite.workloads:
        pass  # nothing was compared, so no number of blocks would decide more
    elif campaign.blocks_complete < 5:
        counted = fmt.counted(campaign.blocks_complete, "block is", "blocks are")
        yield f"Only {counted} complete: with fewer than 5 nothing is decided."
    elif campaign.blocks_complete < 10:
        yield (
            f"{campaign.blocks_complete} blocks are few: a difference that is not decided may well be "
            "there; each workload says what could have been seen."
        )
    alike = suite.block_correlation
    if alike is not None and alike.inflates:
        yield (
            "Neighbouring blocks resemble each other in the same arm (correlation "
            f"{alike.value:.2f}; chance alone gives ± {alike.error:.2f}): intervals are "
            "wider for it, and errors may still be above 5 %."
        )


def _slowed(suite: SuiteAnswer) -> Iterator[str]:
    arms = [arm for workload in suite.workloads for arm in workload.arms]
    if any(arm.traced for arm in arms):
        yield (
            "This campaign was traced: recording every thread's schedule costs time, so its "
            "latencies compare with those of other traced campaigns only."
        )
    if any(map(is_untimed, arms)):
        yield (
            "This campaign counted allocations, which costs time: its latencies and processor "
            "times are not results, and no verdict rests on them."
        )


def _scope(suite: SuiteAnswer, *, calibrated: bool, margin: float, one_host: bool) -> Iterator[str]:
    yield (
        "This holds for this machine, on this day, with these versions and configurations; another "
        "machine may order them differently."
    )
    if one_host:
        yield "All processes ran on one host: nothing here is about a network."
    if not calibrated:
        yield (
            "This machine's own noise (the same arm against itself, A/A) was not measured: no "
            f"difference below {fmt.percent(margin)} is claimed, but a biased machine could still "
            "show one."
        )
    if not all(is_resource(w.primary_metric) for w in suite.workloads):
        yield (
            "Percentiles from p99 on contain the machine's own pauses (scheduler, hypervisor): "
            "compare them between arms with care, and not at all with numbers from elsewhere."
        )
    if count := suite.campaign.trials.void:
        are, them = ("is", "it") if count == 1 else ("are", "them")
        yield (
            f"{fmt.counted(count, 'trial')} {are} void, by rules that look at the machine "
            f"or the path only, never at the result; no number contains {them}."
        )


def _small_own_cost(suite: SuiteAnswer) -> Iterator[str]:
    """Yield one line for all workloads in which the instrument's own part is small, with the
    largest share."""
    shares = [
        (w.own_cost.largest_share, w.workload) for w in suite.workloads if w.own_cost is not None
    ]
    small = [(share, name) for share, name in shares if share is not None and share < LARGE]
    if small:
        share, name = max(small)
        others = "elsewhere " if len(small) < len(shares) else ""
        at = f", in {name}" if len(small) > 1 else ""
        yield (
            f"What the instrument itself adds, measured with no middleware at all, is {others}at "
            f"most {fmt.quantity(share, 'fraction')} of the least latency or processor time of any "
            f"arm{at}: nothing is subtracted."
        )


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
