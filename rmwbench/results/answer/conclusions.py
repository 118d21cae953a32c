"""What to conclude and what not, in plain words, read off the show document and nothing else: it
cannot say more than the tables do.

A `conclude` line states what the verdicts decided; a `caution` names what somebody would wrongly
conclude from the same tables.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rmwbench.analysis.verdicts.ordered_by import is_cost, words
from rmwbench.analysis.verdicts.wording import percent
from rmwbench.results.answer import done, facts
from rmwbench.results.answer.headline import headline, is_untimed
from rmwbench.results.losses import losses_of, slow
from rmwbench.results.own_cost import LARGE
from rmwbench.words import numbers as fmt

Line = dict[str, Any]


def conclusions(
    document: dict[str, Any], *, calibrated: bool, margin: float, one_host: bool
) -> list[Line]:
    """The `conclusions` of docs/formats/show.md, workloads in order, the campaign's own cautions
    last."""
    out: list[Line] = []
    for workload in document["workloads"]:
        out += _workload(workload, margin)
    return out + _campaign(document, calibrated=calibrated, margin=margin, one_host=one_host)


def said_once(
    document: dict[str, Any], kind: str, titles: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """(where, text) of the lines of a kind, in their order: what is said of several workloads in
    the same words is said once. `where`: the names of the workloads, or what `titles` call them;
    empty for a line about the whole campaign."""
    found: dict[tuple[bool, str], list[str]] = {}
    for line in document.get("conclusions", []):
        if line["kind"] == kind:
            name = line["workload"]
            of = found.setdefault((name is None, line["text"]), [])
            if name is not None:
                of.append(titles[name] if titles else name)
    everywhere = len(document["workloads"])
    return [
        ("every workload" if len(of) == everywhere > 3 else _list(of) if of else "", text)
        for (_, text), of in found.items()
    ]


def _workload(w: dict[str, Any], margin: float) -> list[Line]:
    """The facts of the workload, or of each of its topics where these are judged one by one; then
    what somebody would wrongly conclude from them."""
    topics = [topic for topic in w.get("topics", ()) if topic["judged"]]
    lines: list[tuple[str, str]] = []
    if topics:
        said = headline(w)
        lines.append(("conclude", f"{said.answer} {said.detail}".rstrip()))
    for part in topics or [w]:
        name = f"{part['topic']}: " if topics else ""
        lines += [(kind, name + text) for kind, text in _decided(part, margin)]
    lines += _tuning(w)
    arms = facts.contenders(w)
    for a in w["arms"]:
        t = a["trials"]
        if bad := done.told_one_by_one(a):
            counts = Counter(one["status"] for one in bad)
            kinds = " and ".join(f"{counts[k]} {k}" for k in ("failed", "void") if counts[k])
            first = str(bad[0]["reason"] or "no reason recorded").splitlines()[0]
            of = t["done"] + t["failed"] + t["void"]
            lines.append(("caution", f"{a['arm']}: {kinds} of {of} trials; the first: {first}"))
    lines += [("caution", text) for text in done.voids_per_arm(w)]
    if (own := w.get("own_cost")) and (
        own["largest_share"] is None or own["largest_share"] >= LARGE
    ):
        lines.append(("caution", own["text"]))
    if count := len(w.get("machine_bound_blocks") or ()):
        lines.append(
            (
                "caution",
                f"{fmt.counted(count, 'block')} in no verdict here, for any arm: the processors "
                "were busy to more than 90 % in one of its trials, and a verdict about a network "
                "may not rest on that.",
            )
        )
    lines += [("caution", f"{a['arm']}: {text}.") for a in arms if (text := slow(losses_of(a)))]
    if any(a.get("unlike") for a in arms):
        lines.append(
            (
                "caution",
                f"{_list([a['arm'] for a in arms if a.get('unlike')])}: compared, but unlike the "
                "others in more than the middleware; see the notes below its table.",
            )
        )
    return [{"kind": kind, "workload": w["workload"], "text": text} for kind, text in lines]


def _decided(part: dict[str, Any], margin: float) -> list[tuple[str, str]]:
    """A sentence for each fact of a workload or topic; open ones, and what was lost without
    deciding, as cautions."""
    order = words(part["primary_metric"])
    found = facts.of_workload(part)
    not_said = (
        facts.Open | facts.Between | facts.Alone | facts.NoData | facts.Unable | facts.LosesMore
    )
    lines = []
    if decided := [fact for fact in found if not isinstance(fact, not_said)]:
        text = facts.sentence(decided, order)
        if any(isinstance(fact, facts.Equal) for fact in decided):
            text = f"{text.removesuffix('.')} (the margin is {margin * 100:.2g} %)."
        lines.append(("conclude", text))
    for fact in found:
        if isinstance(fact, facts.LosesMore):
            why = f"{fact.clause(order)}, more than {fact.against}"
            lines.append(
                ("conclude", f"As configured, do not use {fact.arm} for this traffic: {why}.")
            )
        elif isinstance(fact, facts.Open | facts.Between):
            what = "between them" if len(fact.arms) > 1 else "it or reject it"
            lines.append(
                ("caution", f"{facts.sentence([fact], order)} Do not choose {what} by {order.by}.")
            )
        elif isinstance(fact, facts.Alone | facts.NoData):
            lines.append(("caution", facts.sentence([fact], order)))
    return lines + _losses([a for a in facts.contenders(part) if not facts.is_by_loss(a)])


def _losses(arms: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What was lost without deciding a verdict, best effort apart from what was asked to be
    reliable."""
    reliable: list[str] = []
    best_effort: list[str] = []
    for a in arms:
        undelivered = fmt.finite(a["metrics"].get("undelivered", {}).get("value"))
        if undelivered:
            group = reliable if str(a.get("qos")).startswith("reliable") else best_effort
            group.append(f"{a['arm']} {percent(undelivered)}")
    lines = []
    if reliable:
        text = f"Asked to be reliable, and yet not everything was delivered: {'; '.join(reliable)}."
        if any("keep_last" in str(a.get("qos")) for a in arms):
            text += (
                " With keep last, a reader that pauses for longer than its history may have "
                "messages overwritten."
            )
        lines.append(
            ("caution", f"{text} Their verdicts rest on latency: look at the loss before choosing.")
        )
    if best_effort:
        lines.append(("caution", f"Lost, as best effort may: {'; '.join(best_effort)}."))
    return lines


def _tuning(w: dict[str, Any]) -> list[tuple[str, str]]:
    """Tuned against untouched of the same middleware: what is decided over the whole report, and
    what is open."""
    out: list[tuple[str, str]] = []
    no_effect = []
    for pair in w.get("tuning", []):
        r = pair["ratio"]
        if "value" not in r:
            continue
        text = f"[{fmt.significant(r['low'])}, {fmt.significant(r['high'])}]"
        value = fmt.significant(r["value"])
        where = f"in {pair['topic']}" if pair.get("topic") else "here"
        if r["answer"] == "smaller":
            effect = (
                f"Tuning {pair['middleware']} makes it {fmt.significant(1 / r['value'])}× as "
                f"fast {where} as untouched"
            )
            out.append(("conclude", f"{effect} (ratio {value} {text})."))
        elif r["answer"] == "larger":
            effect = (
                f"The tuned {pair['middleware']} is slower {where} than untouched: {value}× {text}"
            )
            out.append(("conclude", f"{effect}. The profile does not suit this workload."))
        else:
            no_effect.append(f"{pair['middleware']} {where} {value}× {text}")
    if no_effect:
        out.append(("caution", f"No effect of tuning is shown: {'; '.join(no_effect)}."))
    return out


def _campaign(d: dict[str, Any], *, calibrated: bool, margin: float, one_host: bool) -> list[Line]:
    c = d["campaign"]
    texts = []
    if not c["finished"]:
        texts.append(
            f"The campaign is not finished: {c['trials']['done']} of {c['trials']['planned']} "
            "trials are done. `rmwbench resume` continues it."
        )
    if not d["workloads"]:
        pass  # nothing was compared, so no number of blocks would decide more
    elif c["blocks_complete"] < 5:
        counted = fmt.counted(c["blocks_complete"], "block is", "blocks are")
        texts.append(f"Only {counted} complete: with fewer than 5 nothing is decided.")
    elif c["blocks_complete"] < 10:
        texts.append(
            f"{c['blocks_complete']} blocks are few: a difference that is not decided may well be "
            "there; each workload says what could have been seen."
        )
    alike = d.get("block_correlation") or {}
    if alike.get("inflates"):
        texts.append(
            "Neighbouring blocks resemble each other in the same arm (correlation "
            f"{alike['value']:.2f}; chance alone gives ± {alike['error']:.2f}): intervals are "
            "wider for it, and errors may still be above 5 %."
        )
    texts += _small_own_cost(d)
    if any(
        str(flag).startswith("traced:")
        for w in d["workloads"]
        for a in w["arms"]
        for flag in a.get("flags", [])
    ):
        texts.append(
            "This campaign was traced: recording every thread's schedule costs time, so its "
            "latencies compare with those of other traced campaigns only."
        )
    if any(is_untimed(arm) for workload in d["workloads"] for arm in workload["arms"]):
        texts.append(
            "This campaign counted allocations, which costs time: its latencies and processor "
            "times are not results, and no verdict rests on them."
        )
    texts.append(
        "This holds for this machine, on this day, with these versions and configurations; another "
        "machine may order them differently."
    )
    if one_host:
        texts.append("All processes ran on one host: nothing here is about a network.")
    if not calibrated:
        texts.append(
            "This machine's own noise (the same arm against itself, A/A) was not measured: no "
            f"difference below {margin * 100:.2g} % is claimed, but a biased machine could still "
            "show one."
        )
    if not all(is_cost(w["primary_metric"]) for w in d["workloads"]):
        texts.append(
            "Percentiles from p99 on contain the machine's own pauses (scheduler, hypervisor): "
            "compare them between arms with care, and not at all with numbers from elsewhere."
        )
    if c["trials"]["void"]:
        texts.append(
            f"{fmt.counted(c['trials']['void'], 'trial')} void, by rules that look at the machine "
            "or the path only, never at the result; no number contains them."
        )
    return [{"kind": "caution", "workload": None, "text": t} for t in texts]


def _small_own_cost(d: dict[str, Any]) -> Iterator[str]:
    """Where the instrument's own part is small it is one line for all those workloads, with the
    largest."""
    known = [
        (w["own_cost"].get("largest_share"), w["workload"])
        for w in d["workloads"]
        if w.get("own_cost")
    ]
    small = [(share, name) for share, name in known if share is not None and share < LARGE]
    if small:
        share, name = max(small)
        others = "elsewhere " if len(small) < len(known) else ""
        at = f", in {name}" if len(small) > 1 else ""
        yield (
            f"What the instrument itself adds, measured with no middleware at all, is {others}at "
            f"most {fmt.quantity(share, 'fraction')} of the least latency or processor time of any "
            f"arm{at}: nothing is subtracted."
        )


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
