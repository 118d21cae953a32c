"""The rule that voids a trial for the machine's sake, in one place and fixed in advance.

It looks at machine signals only, never at a result: a rule that sees results can be made to say anything. On small
virtual machines some steal is always there, so it is recorded from the first tick and voids a trial only where the
hypervisor plainly took the processor away. Below the threshold, blocks and their randomised order carry the noise.
"""

from collections.abc import Iterable, Mapping

STEAL_VOID_FRACTION = 0.05
"""Share of all processor time in the window that the hypervisor gave to somebody else."""


def void_reason(probes: Iterable[Mapping[str, object]]) -> str | None:
    """Why a trial with these rows of the table `probes` is void, or None."""
    for row in probes:
        if row["probe"] == "steal" and row["at"] == "window" and float(row["value"]) > STEAL_VOID_FRACTION:
            share, limit = f"{row['value']:.1%}", f"{STEAL_VOID_FRACTION:.0%}"
            return f"machine: the hypervisor took {share} of the processor time during the window (limit {limit})"
    return None
