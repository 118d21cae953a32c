"""Lets the frames of a ring that is full already be seen one after the other, each at its time
(docs/formats/frames.md). Runs in a host's init (`Host.interpret`): modules in C only, and nothing
of rmwbench.

Frame n is what the orchestrator wrote into slot n mod slots, so nothing is copied here: what drawn
frames cost is the turn of a number. Its arguments are the ring's numbers and the period in ns.
Descriptor 4 is the ring.
"""
# ruff: noqa: F821 (ARGUMENTS is given)

import mmap
import time
from _struct import Struct

RING = 4
FINISHED, NUMBERS, NUMBER_BYTES, TIMES = 40, 64, 64, 4096

slots, first_slot, times, period_ns = (int(text) for text in ARGUMENTS)  # type: ignore[name-defined]

word = Struct("<q").pack_into
ring = memoryview(mmap.mmap(RING, first_slot))
begin_ns = time.monotonic_ns()
frame = 0
while True:
    ahead_ns = begin_ns + frame * period_ns - time.monotonic_ns()
    if ahead_ns > 0:
        time.sleep(ahead_ns / 1e9)
    word(ring, NUMBERS + NUMBER_BYTES * (frame % slots), frame + 1)
    word(ring, TIMES + 8 * (frame % times), time.monotonic_ns())
    frame += 1
    word(ring, FINISHED, frame)
