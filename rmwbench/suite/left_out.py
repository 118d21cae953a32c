"""Arms that cannot be run on a machine, in words: the plan, the run and the report say the same."""

from collections.abc import Mapping

from rmwbench.typed import as_typed


def told_left_out(absent: Mapping[str, str]) -> list[str]:
    """`ARMS: REASON`, each reason once, with all of its arms. `absent`: arm -> why not, with the
    command that changes it."""
    arms: dict[str, list[str]] = {}
    for arm, reason in absent.items():
        arms.setdefault(reason, []).append(arm)
    return [as_typed(f"{', '.join(found)}: {reason}") for reason, found in arms.items()]
