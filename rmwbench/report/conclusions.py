"""What to conclude and what not, in plain words, read off the show document and nothing else: it cannot say more than
the tables do.

A `conclude` line states what the verdicts decided; a `caution` names what somebody would wrongly conclude from the same
tables.
"""

from typing import Any

from rmwbench.analysis.wording import percent
from rmwbench.report import format as fmt
from rmwbench.report.headline import is_endless, is_untimed
from rmwbench.report.ordered_by import is_cost, words

Line = dict[str, Any]


def conclusions(document: dict[str, Any], *, calibrated: bool, margin: float, one_host: bool) -> list[Line]:
    """The `conclusions` of docs/formats/show.md, workloads in order, the campaign's own cautions last."""
    out: list[Line] = []
    for workload in document["workloads"]:
        out += _workload(workload, margin)
    return out + _campaign(document, calibrated=calibrated, margin=margin, one_host=one_host)


def _workload(w: dict[str, Any], margin: float) -> list[Line]:
    arms = {a["arm"]: a for a in w["arms"] if a["role"] != "floor"}
    by = {
        v: [a for a in arms.values() if a["verdict"]["verdict"] == v]
        for v in ("best", "equivalent", "worse", "undecided", "no data")
    }
    order = words(w["primary_metric"])
    lines: list[tuple[str, str]] = []
    for best in by["best"]:
        if len(arms) > 1:
            others = len(by["worse"])
            behind = f", and {_list([a['arm'] for a in by['no data']])} had no usable trial" if by["no data"] else ""
            lines.append(
                (
                    "conclude",
                    f"{best['arm']} loses least of those compared, and is not fast for it: its primary metric is "
                    f"infinite; {others} others are decided to be worse{behind}."
                    if is_endless(best, w)
                    else f"{best['arm']} is the {order.best} of those compared: {_primary(best, w)}; {others} others "
                    f"are decided to be worse{behind}.",
                )
            )
    if by["equivalent"]:
        names = [a["arm"] for a in by["equivalent"]]
        within = f"{margin * 100:.2g} %"
        lines.append(
            (
                "conclude",
                f"{names[0]} is not {order.than} any other arm by more than {within}."
                if len(names) == 1
                else f"{_list(names)} are equally {order.alike} within {within}: choose between them by other things.",
            )
        )
    slower = [a for a in by["worse"] if not _by_loss(a)]
    if slower:
        ratios = [
            f"{a['arm']} {fmt.ratio(a['verdict']['ratio']).text} {a['verdict']['against']}"
            if "value" in (a["verdict"]["ratio"] or {})
            else f"{a['arm']} (by sign)"
            for a in slower
        ]
        lines.append(("conclude", f"{order.more}, decided: {'; '.join(ratios)}."))
    for a in by["worse"]:
        if _by_loss(a):
            lines.append(
                ("conclude", f"As configured, do not use {a['arm']} for this traffic: it {a['verdict']['reason']}.")
            )
    lines += _losses([a for a in arms.values() if not _by_loss(a)])
    lines += _tuning(w)
    if by["undecided"]:
        names = [a["arm"] for a in by["undecided"]]
        waits = [a["verdict"]["minutes_to_decide"] for a in by["undecided"]]
        if None in waits:
            wait = (
                "no realistic campaign would decide all of it"
                if len(waits) > 1
                else "no realistic campaign would decide it"
            )
        else:
            wait = f"a campaign of about {fmt.minutes(max(waits))} would decide it"
        lines.append(
            (
                "caution",
                f"Not decided: {_list(names)}. Do not choose "
                f"{'between them' if len(names) > 1 else 'it or reject it'} by {order.by}; {wait}.",
            )
        )
    for a in w["arms"]:
        t = a["trials"]
        bad = t["failed"] + t["void"]
        if bad:
            kinds = " and ".join(f"{t[k]} {k}" for k in ("failed", "void") if t[k])
            first = str(t["failures"][0]["reason"] or "no reason recorded").splitlines()[0]
            lines.append(("caution", f"{a['arm']}: {kinds} of {t['done'] + bad} trials; the first: {first}"))
    if any(a.get("unlike") for a in arms.values()):
        lines.append(
            (
                "caution",
                f"{_list([a['arm'] for a in arms.values() if a.get('unlike')])}: compared, but unlike the "
                "others in more than the middleware; see the notes below its table.",
            )
        )
    return [{"kind": kind, "workload": w["workload"], "text": text} for kind, text in lines]


def _losses(arms: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What was lost without deciding a verdict, best effort apart from what was asked to be reliable."""
    reliable, best_effort = [], []
    for a in arms:
        undelivered = fmt.finite(a["metrics"].get("undelivered", {}).get("value"))
        if undelivered:
            group = reliable if str(a.get("qos")).startswith("reliable") else best_effort
            group.append(f"{a['arm']} {percent(undelivered)}")
    lines = []
    if reliable:
        text = f"Asked to be reliable, and yet not everything was delivered: {'; '.join(reliable)}."
        if any("keep_last" in str(a.get("qos")) for a in arms):
            text += " With keep last, a reader that pauses for longer than its history may have messages overwritten."
        lines.append(("caution", f"{text} Their verdicts rest on latency: look at the loss before choosing."))
    if best_effort:
        lines.append(("caution", f"Lost, as best effort may: {'; '.join(best_effort)}."))
    return lines


def _tuning(w: dict[str, Any]) -> list[tuple[str, str]]:
    """Tuned against untouched of the same middleware: a comparison of its own, planned, with its own 95 % interval."""
    out: list[tuple[str, str]] = []
    no_effect = []
    for pair in w.get("tuning", []):
        r = pair["ratio"]
        if "value" not in r:
            continue
        text = f"[{fmt.significant(r['low'])}, {fmt.significant(r['high'])}]" if r["low"] != "-inf" else ""
        if r["high"] < 1:
            effect = (
                f"Tuning {pair['middleware']} makes it {fmt.significant(1 / r['value'])}× as fast here as untouched"
            )
            out.append(("conclude", f"{effect} (ratio {fmt.significant(r['value'])} {text}, this pair alone)."))
        elif r["low"] > 1:
            effect = (
                f"The tuned {pair['middleware']} is slower here than untouched: {fmt.significant(r['value'])}× {text}"
            )
            out.append(("conclude", f"{effect}, this pair alone. The profile does not suit this workload."))
        else:
            no_effect.append(f"{pair['middleware']} {fmt.significant(r['value'])}× {text}")
    if no_effect:
        out.append(("caution", f"No effect of tuning is shown here: {'; '.join(no_effect)}."))
    return out


def _campaign(d: dict[str, Any], *, calibrated: bool, margin: float, one_host: bool) -> list[Line]:
    c = d["campaign"]
    texts = []
    if not c["finished"]:
        texts.append(
            f"The campaign is not finished: {c['trials']['done']} of {c['trials']['planned']} trials are "
            "done. `rmwbench run --resume` continues it."
        )
    if c["blocks_complete"] < 5:
        texts.append(f"Only {c['blocks_complete']} blocks are complete: below 5 nothing is decided.")
    elif c["blocks_complete"] < 10:
        texts.append(
            f"{c['blocks_complete']} blocks are few: a difference that is not decided may well be there; each "
            "workload says what could have been seen."
        )
    if any(str(flag).startswith("traced:") for w in d["workloads"] for a in w["arms"] for flag in a.get("flags", [])):
        texts.append(
            "This campaign was traced: recording every thread's schedule costs time, so its latencies compare with "
            "those of other traced campaigns only."
        )
    if any(is_untimed(arm) for workload in d["workloads"] for arm in workload["arms"]):
        texts.append(
            "This campaign counted allocations, which costs time: its latencies and processor times are no results, "
            "and no verdict is given by them."
        )
    texts.append(
        "This holds for this machine, on this day, with these versions and configurations; another machine "
        "may order them differently."
    )
    if one_host:
        texts.append("All processes ran on one host: nothing here is about a network.")
    if not calibrated:
        texts.append(
            "This machine's own noise (the same arm against itself, A/A) was not measured: no difference "
            f"below {margin * 100:.2g} % is claimed, but a biased machine could still show one."
        )
    if not all(is_cost(w["primary_metric"]) for w in d["workloads"]):
        texts.append(
            "Percentiles from p99 on contain the machine's own pauses (scheduler, hypervisor): compare them "
            "between arms with care, and not at all with numbers from elsewhere."
        )
    if c["trials"]["void"]:
        texts.append(
            f"{fmt.counted(c['trials']['void'], 'trial')} void, by rules that look at the machine or the path only, "
            "never at the result; no number contains them."
        )
    return [{"kind": "caution", "workload": None, "text": t} for t in texts]


def _by_loss(arm: dict[str, Any]) -> bool:
    return arm["verdict"]["verdict"] == "worse" and "loss is judged" in arm["verdict"]["reason"]


def _primary(arm: dict[str, Any], w: dict[str, Any]) -> str:
    title = (
        "median response latency"
        if w["primary_metric"] == "response_latency_p50"
        else w["primary_metric"].replace("_", " ")
    )
    return f"{title} {fmt.metric(arm['metrics'].get(w['primary_metric'])).full}"


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
