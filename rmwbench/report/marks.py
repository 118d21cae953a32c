"""Marks behind an arm's name: `*` where isolation forced a setting of its profile, or its middleware
did something badly in most of its trials (which is in its numbers), `†` where it is
unlike the others in more than the middleware, `‡` where the machine disturbed most of its trials.
One place, so that terminal and Markdown mark alike."""

from rmwbench.results.shown import Arm, Workload

FORCED, UNLIKE, DISTURBED = "*", "†", "‡"


def marks(arm: Arm) -> str:
    """The marks of one arm, empty where it has none."""
    return "".join(dict.fromkeys(_mark(arm, flag) for flag in arm.flags))


Told = dict[tuple[str, str], set[str]]
"""(mark, what) → the arms of which a report has told it."""


def notes(workload: Workload, told: Told | None = None) -> list[tuple[str, str]]:
    """(mark, `ARMS: TEXT`) for each different flag of a workload, in the order of the arms. What
    the machine did is one note for all arms that it did it to, in the words of the first.

    `told` is what other workloads of the same report have said: a note is there once, for each arm
    once.
    """
    told = {} if told is None else told
    arms: dict[tuple[str, str], list[str]] = {}
    texts: dict[tuple[str, str], str] = {}
    for arm in workload.arms:
        codes = dict(zip(arm.disturbed, arm.disturbed_by, strict=False))
        for flag in arm.flags:
            key = _mark(arm, flag), codes.get(flag, flag)
            if arm.arm not in told.setdefault(key, set()):
                arms.setdefault(key, []).append(arm.arm)
                texts.setdefault(key, flag)
    found = []
    for key, names in arms.items():
        told[key].update(names)
        alike = key[0] == DISTURBED and len(names) > 1
        who = "every arm" if 1 < len(names) == len(workload.arms) else ", ".join(names)
        who += f", of which {names[0]}" if alike else ""
        found.append((key[0], f"{who}: {texts[key]}"))
    return found


def _mark(arm: Arm, flag: str) -> str:
    if flag in arm.disturbed:
        return DISTURBED
    return UNLIKE if flag in arm.unlike else FORCED
