"""Notes on how an arm differs from the others of its table, and on its disturbances by the machine.
A note that holds for most arms is given once, in words; a note on a single arm is where the arm is
explained."""

from collections.abc import Sequence

from rmwbench.results.show_model import SuiteAnswer, WorkloadAnswer, WorkloadArm
from rmwbench.words.shell import command_line

MOST = 0.5
"""The share of the arms of a campaign above which a note holds for most of them."""


def of_most_arms(doc: SuiteAnswer) -> list[str]:
    """Each flag that more than half of the arms have, in the words of the first."""
    arms = [arm for workload in doc.workloads for arm in workload.arms]
    texts_by_code: dict[str, list[str]] = {}
    for arm in arms:
        for code, text in _flags(arm):
            texts_by_code.setdefault(code, []).append(text)
    notes = []
    for texts in texts_by_code.values():
        if len(arms) > 1 and len(texts) > MOST * len(arms):
            who = "Every arm" if len(texts) == len(arms) else "Most arms"
            alike = "" if len({*texts}) == 1 else ", for example"
            notes.append(f"{who}{alike}: {texts[0]}")
    return notes


def of_single_arms(doc: SuiteAnswer) -> str:
    """A sentence that names the arms with notes of their own, and says where to read them; empty
    if there are none."""
    arms = [arm for workload in doc.workloads for arm in workload.arms]
    flagged = list(dict.fromkeys(arm.arm for arm in arms if set(arm.flags) - set(arm.disturbed)))
    if not flagged:
        return ""
    explain = command_line("explain", doc.campaign.directory)
    return f"What is special about {', '.join(flagged)}: `{explain}` and the report say it."


def by_text(workload: WorkloadAnswer) -> dict[str, list[str]]:
    """Each note of a workload -> its arms."""
    arms_by_text: dict[str, list[str]] = {}
    for arm in workload.arms:
        for flag in arm.flags:
            arms_by_text.setdefault(flag, []).append(arm.arm)
    return arms_by_text


def letter(keys: Sequence[str], key: str) -> str:
    """`a` to `z`, then `aa`, `ab`: the letter of a note by its place."""
    place, text = keys.index(key), ""
    while place >= 0:
        place, last = divmod(place, 26)
        text, place = chr(ord("a") + last) + text, place - 1
    return text


def _flags(arm: WorkloadArm) -> list[tuple[str, str]]:
    """(key, text) of each flag: equal notes of all arms have the same key; for flags of the machine
    the key is the code."""
    codes = dict(zip(arm.disturbed, arm.disturbed_by, strict=False))
    return [(codes.get(flag, flag), flag) for flag in arm.flags]
