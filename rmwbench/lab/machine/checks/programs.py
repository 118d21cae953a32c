"""Who else is here: a robot at work, above all."""

from collections.abc import Mapping
from typing import Any

from rmwbench.lab.machine.finding import Finding, fact

Facts = Mapping[str, Any]


def robot(facts: Facts) -> Finding:
    """Trials cannot reach it (they have a network of their own), but they take its processor and
    memory."""
    found = fact(facts, "programs")
    why = "a campaign cannot reach them, but it takes the processor from them, and they from it"
    expected = "no ROS 2, ROS 1 or DDS process"
    if found is None:
        return Finding("running robots", "unknown", "processes cannot be listed", expected, why)
    nodes = [p for p in found if p["what"] != "daemon"]
    text = ", ".join(
        f"{p['name']} ({p['pid']}, {p['why']})"
        for p in [*nodes, *(p for p in found if p not in nodes)][:6]
    )
    text += f" and {len(found) - 6} more" if len(found) > 6 else ""
    if not found:
        return Finding("running robots", "green", "none", expected, why)
    if nodes:
        fix = "if this is a live robot, do not benchmark on it; otherwise end these processes"
        return Finding("running robots", "red", text, expected, why, fix, spoils=True)
    fix = "ros2 daemon stop, or end them"
    return Finding("running robots", "yellow", text, expected, why, fix, spoils=True)


RULES = (robot,)
