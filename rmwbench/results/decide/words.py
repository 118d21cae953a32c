"""The sentences of a decision, each made from the codes and numbers of the document and from
nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.results.answer.facts import names
from rmwbench.results.outcomes import amount as amount  # a page says `words.amount`
from rmwbench.words import numbers as fmt

Document = Mapping[str, Any]


def answer(doc: Document) -> str:
    """The whole answer: whom to take, or why nobody can say."""
    title = doc["limits"]["title"] or doc["limits"]["name"]
    parts = []
    for machine in doc["machines"]:
        where = f"On {machine['summary']}: " if len(doc["machines"]) > 1 else ""
        parts.append(f"{where}{_on_machine(machine)}")
    return f"{title[:1].upper()}{title[1:]}. {' '.join(parts)}"


def _on_machine(machine: Document) -> str:
    by: dict[str, list[str]] = {}
    for one in machine["candidates"]:
        by.setdefault(one["outcome"], []).append(one["arm"])
    said = []
    if by.get("meets"):
        one = len(by["meets"]) == 1
        said.append(
            f"Take {names(by['meets'], 'or')}: {'it meets' if one else 'they meet'} all limits."
        )
    elif set(by) == {"misses"}:
        said.append("No candidate meets the limits.")
    else:
        said.append("No candidate is shown to meet all limits yet.")
    if by.get("misses") and set(by) != {"misses"}:
        said.append(f"{names(by['misses'])} {_verb(by['misses'], 'misses', 'miss')} one.")
    if by.get("open"):
        said.append(f"{names(by['open'])} {_verb(by['open'], 'is', 'are')} open.")
    if by.get("unknown"):
        said.append(f"Of {names(by['unknown'])} something that is limited was not measured.")
    return " ".join(said)


def _verb(found: Sequence[str], one: str, several: str) -> str:
    return one if len(found) == 1 else several


def reason(candidate: Document) -> str:
    """Why a candidate's outcome is what it is: which limit binds, by how much, with its
    interval."""
    why, binding = candidate["why"], candidate["binding"]
    failed = candidate["failed"]
    if why == "not_supported":
        return str(candidate["limits"][0]["no_data"]) if candidate["limits"] else "not supported"
    if why == "no_data" and binding is None:
        return "no trial ended, so nobody knows the topics that are limited"
    if why == "no_data":
        return f"{limit_name(binding)} is unknown: {binding['no_data']}"
    if why == "too_few_blocks":
        return (
            f"{fmt.counted(binding['blocks'], 'block')} of {limit_name(binding)}: fewer than "
            "five decide nothing"
        )
    if why == "failed":
        return f"within every limit, but {failed['trials']} of {failed['of']} trials failed"
    if binding is None:
        return f"within every limit; nearest: {nearest(candidate)}"
    told = measured(binding)
    if why == "machine_bound":
        return f"{told}, but the machine had no time left, which may be the cause"
    if candidate["outcome"] == "open" and failed["trials"]:
        told += f"; {failed['trials']} of {failed['of']} trials failed"
    if binding["campaigns_differ"]:
        told += "; the campaigns differ by more than chance"
    return told


def nearest(candidate: Document) -> str:
    """The limit that has the least room."""
    found = [one for one in candidate["limits"] if one["measured"]]
    if not found:
        return "none was measured"
    return measured(max(found, key=lambda one: times(one) or 0.0))


def measured(met: Document) -> str:
    """`p99 response 7.2 ms [6.1–8.4], limit 5 ms: 1.44× [1.22–1.68]`."""
    found = met["measured"]
    if not found:
        return f"{limit_name(met)} was not measured"
    shown = fmt.metric({"unit": met["unit"], **found}).full
    told = f"{limit_name(met)} {shown}, limit {amount(met['at_most'], met['metric'])}"
    ratio = times(met)
    if ratio is None or not met["at_most"]:
        return told
    ends = [fmt.finite(found[key]) for key in ("low", "high")]
    interval = "–".join(
        "∞" if end is None else fmt.significant(end / met["at_most"]) for end in ends
    )
    return f"{told}: {fmt.significant(ratio)}× [{interval}]"


def times(met: Document) -> float | None:
    value = fmt.finite((met["measured"] or {}).get("value"))
    return None if value is None or not met["at_most"] else value / met["at_most"]


def limit_name(met: Document) -> str:
    where = f"{met['topic']}: " if met.get("topic") else ""
    return f"{where}{GLOSSARY[met['metric']].title}"


def probability(value: float | None) -> str:
    """Two digits, and never 0 or 1: nothing measured is certain."""
    if value is None:
        return "unknown"
    if value < 0.01:
        return "< 0.01"
    return "> 0.99" if value > 0.99 else f"{value:.2f}"


def flip(found: Document, along: Document) -> str:
    """`zenoh meets the limits up to cameras=4 and misses them from cameras=8`."""
    factor, ordered = (
        along["factor"],
        all(isinstance(x["level"], int | float) for x in along["levels"]),
    )
    before, after = (
        ("meets" if found[key] == "meets" else "misses") for key in ("before", "after")
    )
    low, high = f"{factor}={found['from']}", f"{factor}={found['to']}"
    if ordered:
        return f"{found['arm']} {before} the limits up to {low} and {after} them from {high} on"
    return f"{found['arm']} {before} the limits at {low} and {after} them at {high}"


def only(along: Document) -> list[str]:
    """`only fastdds meets them at cameras=8`, for levels at which the answer is one candidate's."""
    out = []
    for one in along["levels"]:
        if len(one["meets"]) == 1 and not one["open"]:
            out.append(f"only {one['meets'][0]} meets them at {along['factor']}={one['level']}")
    return out


def worth(found: Document | None) -> str:
    """What another hour of measuring would be worth."""
    if found is None:
        return (
            "What more measuring is worth cannot be said yet: no candidate has five blocks of "
            "every limit. That is the first thing to measure."
        )
    spent = fmt.duration(found["hours"] * 3600)
    gain = found["after"] - found["now"]
    if found["decided_now"]:
        return (
            f"Another {spent} of measuring ({fmt.counted(found['blocks'], 'block')}) would change "
            f"the choice with probability {probability(found['changes'])}: the answer is decided."
        )
    more = fmt.counted(found["blocks"], "block")
    return (
        f"Another {spent} of measuring ({more}) decides the answer with probability "
        f"{probability(found['decided'])} and changes the choice ({found['choice']} now) with "
        f"probability {probability(found['changes'])}. The chance that the choice meets all limits "
        f"is {found['now']:.2f} now, on average {found['after']:.2f} then (a gain of "
        f"{max(gain, 0.0):.2f}), and {found['perfect']:.2f} were everything known."
    )


NO_FLIP = "no candidate is decided to meet the limits at one level and to miss them at another"
