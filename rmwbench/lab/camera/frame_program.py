"""A program that fills a ring of frames (docs/formats/frames.md) with the output of another program,
which writes them to its standard output one after the other. It runs in a host's init
(`Host.interpret`), so it uses modules in C only, and none of rmwbench.

Its arguments are the numbers of the ring, then the other program with its arguments. Descriptor 4
is the ring. The number of a frame is cleared before its slot is written and set after its last
byte, so that a reader can recognise a torn frame; the time of completion is stored too. The frames
are read as fast as possible, since the other program paces itself. At its end, its wait status is
stored in the ring.
"""
# ruff: noqa: SIM105 (contextlib is not in C)

import fcntl
import mmap
import os
import time
from _struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:  # the host's init gives them
    ARGUMENTS: list[str] = []

RING = 4
FINISHED, PID, ENDED, NUMBERS, NUMBER_BYTES, TIMES = 40, 48, 56, 64, 64, 4096
F_SETPIPE_SZ, PIPE_BYTES = 1031, 1 << 20

slots, frame_bytes, slot_bytes, first_slot, times = (int(text) for text in ARGUMENTS[:5])
program = ARGUMENTS[5:]

word = Struct("<q").pack_into
ring = memoryview(mmap.mmap(RING, first_slot + slots * slot_bytes))
incoming, outgoing = os.pipe()
try:
    fcntl.fcntl(incoming, F_SETPIPE_SZ, PIPE_BYTES)
except OSError:
    pass  # an unprivileged user may have no more memory for pipes; a small one costs more switches
child = os.fork()
if child == 0:
    try:
        os.dup2(outgoing, 1)
        nothing = os.open("/dev/null", os.O_RDONLY)
        os.dup2(nothing, 0)
        for fd in (incoming, outgoing, nothing, RING):
            os.close(fd)
        environment = {"PATH": os.defpath, "HOME": "/tmp", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}
        os.execve(program[0], program, environment)
    finally:
        os._exit(127)
os.close(outgoing)
word(ring, PID, child)

frame, whole = 0, True
while whole:
    slot = frame % slots
    word(ring, NUMBERS + NUMBER_BYTES * slot, 0)
    begin, offset = first_slot + slot * slot_bytes, 0
    while offset < frame_bytes:
        count = os.readv(incoming, [ring[begin + offset : begin + frame_bytes]])
        if not count:
            whole = False
            break
        offset += count
    if whole:
        word(ring, TIMES + 8 * (frame % times), time.monotonic_ns())
        frame += 1
        word(ring, NUMBERS + NUMBER_BYTES * slot, frame)
        word(ring, FINISHED, frame)
word(ring, ENDED, os.waitpid(child, 0)[1] + 1)
