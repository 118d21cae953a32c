"""A program that publishes the frames of a full ring one after the other, each at its time
(docs/formats/frames.md). It runs in a host's init (`Host.interpret`), so it uses modules in C only,
and none of rmwbench.

Frame n is the content that the orchestrator wrote into slot n mod slots, so no frame is copied: a
drawn frame costs the writing of three numbers. The arguments are the numbers of the ring and the
period in ns. Descriptor 4 is the ring.
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
