"""Whose clock a worker stamps with: all stamps of a trial are subtracted from each other, so they must be of one clock.

The last command of a trial tells. The time that a worker notes while it answers `collect` lies between asking and
having the answer, if its clock is ours; a clock that is off by more than the answer takes (a millisecond or two) is
another one, and the trial is void.
"""

from collections.abc import Iterator

from rmwbench.campaign.outcome import Outcome


def strange_clocks(outcome: Outcome) -> Iterator[str]:
    """A reason for each process whose clock is not the orchestrator's."""
    if outcome.collecting_ns is None:
        return
    asked_ns, answered_ns = outcome.collecting_ns
    for process, reply in outcome.collected.items():
        for usage in reply.get("usage", []):
            if usage.get("at") != "now" or asked_ns <= usage["time_ns"] <= answered_ns:
                continue
            off_ns = usage["time_ns"] - (answered_ns if usage["time_ns"] > answered_ns else asked_ns)
            way = "ahead of" if off_ns > 0 else "behind"
            yield (
                f"clock: process {process} stamps with another clock, at least {abs(off_ns) / 1e6:.3f} ms {way} the "
                "orchestrator's; stamps of two clocks are not subtracted"
            )
