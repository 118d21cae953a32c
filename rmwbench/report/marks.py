"""Marks behind an arm's name: `*` where isolation forced a setting of its profile, `†` where it is unlike the others in
more than the middleware, `‡` where the machine disturbed most of its trials. One place, so that terminal and Markdown
mark alike."""

from typing import Any

FORCED, UNLIKE, DISTURBED = "*", "†", "‡"


def marks(arm: dict[str, Any]) -> str:
    """The marks of one arm, empty where it has none."""
    return "".join(dict.fromkeys(_mark(arm, flag) for flag in arm.get("flags", [])))


def notes(workload: dict[str, Any]) -> list[tuple[str, str]]:
    """(mark, `ARMS: TEXT`) for each different flag of a workload, in the order of the arms."""
    arms: dict[tuple[str, str], list[str]] = {}
    for arm in workload.get("arms", []):
        for flag in arm.get("flags", []):
            arms.setdefault((_mark(arm, flag), str(flag)), []).append(arm["arm"])
    return [(mark, f"{', '.join(names)}: {flag}") for (mark, flag), names in arms.items()]


def _mark(arm: dict[str, Any], flag: str) -> str:
    if flag in arm.get("disturbed", []):
        return DISTURBED
    return UNLIKE if flag in arm.get("unlike", []) else FORCED
