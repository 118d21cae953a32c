"""Whether a worker stamps with the clock that its host is known to have: stamps of two clocks are
subtracted only where both are known.

The last command of a trial tells. The time that a worker notes while it answers `collect` lies
between asking and having the answer, once it is told on our clock; one that is off by more than the
answer takes (a millisecond or two) and by more than its clock is known to is of another clock, and
the trial is void.
"""

from collections.abc import Iterator

from rmwbench.campaign.trial.outcome import Outcome


def strange_clocks(outcome: Outcome) -> Iterator[str]:
    """A reason for each process whose clock is not its host's."""
    if outcome.sampling.collecting_ns is None:
        return
    asked_ns, answered_ns = outcome.sampling.collecting_ns
    for process, reply in outcome.sampling.collected.items():
        for usage in reply.get("usage", []):
            if usage.get("at") != "now":
                continue
            clock = outcome.clock_of(process)
            time_ns, bound_ns = (
                int(clock.to_reference(usage["time_ns"])),
                int(clock.bound([answered_ns])[0]),
            )
            if asked_ns - bound_ns <= time_ns <= answered_ns + bound_ns:
                continue
            off_ns = time_ns - (answered_ns if time_ns > answered_ns else asked_ns)
            way = "ahead of" if off_ns > 0 else "behind"
            yield (
                f"clock: process {process} stamps with another clock, at least "
                f"{abs(off_ns) / 1e6:.3f} ms {way} its host's; stamps of two clocks are not "
                "subtracted"
            )
