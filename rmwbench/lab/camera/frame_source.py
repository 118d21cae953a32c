"""Sources of frames outside of the workers: GStreamer, or frames that are drawn here. The frames are
in a ring in memory, from which a publisher takes one for each message (docs/formats/frames.md).
GStreamer runs in the trial's host and fills the ring; drawn frames are in the ring from the start,
and a program in the host paces them.

No worker links GStreamer, and all workers get the same frames. The cost of a source is counted
separately (role `source`), and the times of its frames show whether it kept its rate: a slow source
is not loss in a middleware.

    sources = FrameSources(processes, cell)      # rings; nothing runs yet
    processes.spawn(…, additions=sources.additions_for("talker"))
    sources.start(); sources.wait()         # every ring has frames
    …the window…
    sources.accounts(lambda host: (steady_ns, end_ns))
    sources.close()

Drawn frames are those of a scene, with and without the noise of a sensor, the same on every machine.
The ratio of compression depends on the content of a frame alone: zeros and test pictures overstate
it by far, random bytes understate it. `photo` is the scene that a camera's sensor sees by day: a
sky that is partly overexposed, walls with fading light, edges, grass, and the noise of photons and
of the read-out (Poisson's law and a constant, EMVA 1288). `rendered` is the same scene from a
simulator's camera, without noise. The camera turns a little from frame to frame.

The ratios of real frames were measured once with LZ4 in blocks of 65 000 bytes, as Zenoh compresses
them: six colour photographs by day (scikit-image's and scikit-learn's) shrink by 1.01 to 1.29, with
a noise of two grey levels by 1.00 to 1.05; two that are mostly black shrink by 1.6 and 3.1. `photo`
is meant to shrink like the better of the six.
"""

import math
import mmap
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa

from rmwbench.lab import probe_row
from rmwbench.lab.host.host import TARGETS
from rmwbench.lab.process.trial_processes import Additions, Program, TrialProcesses
from rmwbench.lab.process.worker import STDERR_TAIL_BYTES, file_tail
from rmwbench.suite.cells import Cell
from rmwbench.suite.workload.camera import PHOTO, PixelFormat, element, frame_format, is_drawn
from rmwbench.suite.workload.endpoints import Endpoint
from rmwbench.words.numbers import counted

ROLE = "source"
LAUNCHER = "gst-launch-1.0"
PACKAGES = "gstreamer1.0-tools and gstreamer1.0-plugins-base"
MAGIC, VERSION = b"RMWBFRM1", 1
SLOTS = 6
"""Two slots of slack, one that is written, one that is read, and two for a late publisher."""
TIMES = 1 << 16
"""The number of newest frames whose times are stored: 18 minutes at 60 Hz."""
PAGE_BYTES = 4096
TIMES_OFFSET = PAGE_BYTES
FIRST_SLOT = TIMES_OFFSET + 8 * TIMES
FIRST_FD = 10
"""The first descriptor of a ring in a worker, above its other descriptors."""
ENOUGH = 4
"""The number of frames that a trial waits for: the first one sent lies two behind the newest."""
TIMEOUT_S = 15.0

_HEADER = Struct("<8sIIQQQqqq")
_PROGRAM = Path(__file__).with_name("frame_program.py")
_PACED_PROGRAM = Path(__file__).with_name("paced_program.py")


class SourceBroken(Exception):
    """A source gave no frames; the text tells why."""


@dataclass(frozen=True)
class Account:
    """The account of a source in the window: `due` frames by its rate, of which `made` were made in
    it, `late` of them more than a period after their time. That time counts from the source's
    earliest frame relative to its rate. `latest_ns` is the largest lateness, `ended` the wait
    status of a source that ended, and `lz4_ratio` that of a drawn frame."""

    endpoint: int
    due: int
    made: int
    late: int
    latest_ns: float
    ended: int | None
    lz4_ratio: float | None = None

    @property
    def made_share(self) -> float:
        """The share of the due frames that were made."""
        return self.made / self.due if self.due else 1.0


def senders(cell: Cell) -> list[Endpoint]:
    """The publishers that send frames of a source."""
    return [endpoint for endpoint in cell.endpoints if endpoint.frames is not None]


def unavailable_reason(cell: Cell) -> str | None:
    """The reason why the frames of this cell cannot be made here, else None."""
    if not senders(cell):
        return None
    if max(Counter(endpoint.process for endpoint in senders(cell)).values()) > TARGETS - FIRST_FD:
        return (
            f"frames: a process may have {TARGETS - FIRST_FD} publishers of a source's frames, "
            "and a process of this workload has more"
        )
    if cell.real is not None:
        return (
            "frames of a source are impossible over real machines: their ring is memory of this one"
        )
    if launcher() is not None or all(is_drawn(endpoint.frames or "") for endpoint in senders(cell)):
        return None
    return f"frames: gstreamer needs {LAUNCHER}, which is not installed (Debian: {PACKAGES})"


@cache
def launcher() -> str | None:
    return shutil.which(LAUNCHER)


def pipeline(source: str, format_: PixelFormat) -> list[str]:
    """The command line of a GStreamer that writes a paced source to standard output."""
    words = element(source).split()
    if words[0] == "videotestsrc":
        words += ["is-live=true", "do-timestamp=true"]
    caps = f"video/x-raw,format=RGB,width={format_.width},height={format_.height}"
    caps += f",framerate={format_.rate_hz.numerator}/{format_.rate_hz.denominator}"
    return [launcher() or LAUNCHER, "-q", *words, "!", caps, "!", "fdsink", "fd=1"]


def ring_bytes(frame_bytes: int) -> int:
    return FIRST_SLOT + SLOTS * _slot_bytes(frame_bytes)


def _slot_bytes(frame_bytes: int) -> int:
    return -(-frame_bytes // PAGE_BYTES) * PAGE_BYTES


class FrameSources:
    """The sources of one trial; empty for most."""

    def __init__(self, processes: TrialProcesses, cell: Cell):
        self._processes = processes
        self._rings = [_Ring(endpoint) for endpoint in senders(cell)]

    def __bool__(self) -> bool:
        return bool(self._rings)

    def additions_for(self, process: str) -> Additions:
        """The arguments and descriptors of a worker for its rings."""
        rings = [ring for ring in self._rings if ring.endpoint.process == process]
        ring_of_fd = dict(enumerate(rings, FIRST_FD))
        arguments: list[str] = []
        for fd, ring in ring_of_fd.items():
            arguments += ["--frames", f"{ring.endpoint.endpoint}={fd}"]
        return Additions(
            arguments=arguments, files={fd: ring.fd for fd, ring in ring_of_fd.items()}
        )

    def start(self) -> None:
        """Starts the processes; their first frames come some milliseconds later."""
        for ring in self._rings:
            name, files = f"frames {ring.endpoint.endpoint}", {2: ring.log, 4: ring.fd}
            program = _PACED_PROGRAM if ring.is_drawn else _PROGRAM
            ring.program = self._processes.start_program(
                name, program.read_text(), ring.arguments(), files, ring.endpoint.host
            )

    def wait(self, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until every ring has frames. Raises SourceBroken or WorkerFailed."""
        deadline = time.monotonic() + timeout_s
        while short := [ring for ring in self._rings if ring.finished < ENOUGH]:
            ring = short[0]
            if (
                ring.ended is not None
                or (ring.program and ring.program.ended)
                or time.monotonic() > deadline
            ):
                raise SourceBroken(ring.complaint(timeout_s))
            self._processes.turn(0.005)

    @property
    def pids(self) -> list[tuple[str, int | None, str, str]]:
        """The processes for the sampler, after `wait`: (process, PID in its host, role, host)."""
        sources = []
        for ring in self._rings:
            name, host = f"frames {ring.endpoint.endpoint}", ring.endpoint.host
            sources.append((name, ring.program.inner_pid if ring.program else None, ROLE, host))
            if not ring.is_drawn:
                sources.append((f"{name} gstreamer", ring.child, ROLE, host))
        return sources

    def accounts(self, window: Callable[[str], tuple[int, int]]) -> list[Account]:
        """The sources' accounts. `window`: host → begin and end, in ns of that host's clock."""
        return [ring.account(*window(ring.endpoint.host)) for ring in self._rings]

    def logs(self) -> dict[str, bytes]:
        """File → the end of GStreamer's error output, where there is any."""
        return {
            f"frames-{ring.endpoint.endpoint}.stderr": text
            for ring in self._rings
            if (text := ring.stderr_tail())
        }

    def close(self) -> None:
        """Frees the memory; the processes end with their host."""
        for ring in self._rings:
            ring.close()


class _Ring:
    """The ring of a publisher, and its source."""

    def __init__(self, endpoint: Endpoint):
        assert endpoint.frames is not None
        self.endpoint = endpoint
        self.format = frame_format(endpoint.frames, endpoint.type, endpoint.arrival)
        self.is_drawn = is_drawn(endpoint.frames)
        self.program: Program | None = None
        frame_bytes = self.format.frame_bytes
        self.fd = os.memfd_create("rmwbench-frames", os.MFD_CLOEXEC)
        self.log = os.memfd_create("rmwbench-frames-log", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, ring_bytes(frame_bytes))
        head = (MAGIC, VERSION, SLOTS, frame_bytes, _slot_bytes(frame_bytes), FIRST_SLOT, 0, 0, 0)
        os.pwrite(self.fd, _HEADER.pack(*head), 0)
        self._view = mmap.mmap(self.fd, FIRST_SLOT, prot=mmap.PROT_READ)
        self.lz4_ratio: float | None = None
        if self.is_drawn:
            pictures = drawn_frames(endpoint.frames, self.format)
            self.lz4_ratio = lz4_ratio(pictures[0])
            for slot in range(SLOTS):
                at = FIRST_SLOT + slot * _slot_bytes(frame_bytes)
                os.pwrite(self.fd, pictures[slot % len(pictures)], at)

    def arguments(self) -> list[str]:
        if self.is_drawn:
            return [*map(str, (SLOTS, FIRST_SLOT, TIMES, round(self.format.period_ns)))]
        frame_bytes = self.format.frame_bytes
        numbers = (SLOTS, frame_bytes, _slot_bytes(frame_bytes), FIRST_SLOT, TIMES)
        return [*map(str, numbers), *pipeline(self.endpoint.frames or "", self.format)]

    def _header(self) -> tuple[int, int, int]:
        """The number of finished frames, the PID of the source, and its wait status plus one."""
        return _HEADER.unpack_from(self._view, 0)[-3:]

    @property
    def finished(self) -> int:
        return self._header()[0]

    @property
    def child(self) -> int | None:
        return self._header()[1] or None

    @property
    def ended(self) -> int | None:
        """The wait status of a source that has ended by itself, else None."""
        status = self._header()[2]
        return status - 1 if status else None

    def stderr_tail(self) -> bytes:
        return file_tail(self.log, STDERR_TAIL_BYTES)

    def complaint(self, timeout_s: float) -> str:
        frames = counted(self.finished, "frame")
        if self.ended is not None:
            code = os.waitstatus_to_exitcode(self.ended)
            text = f"GStreamer ended with exit code {code} after {frames}"
        elif self.program and self.program.ended:
            text = f"its program ended after {frames}"
        else:
            text = f"{frames} within {timeout_s:g} s"
        first_line = self.stderr_tail().decode(errors="replace").strip().splitlines()[:1]
        text += f"; it said: {first_line[0][:300]}" if first_line else ""
        return f"source of endpoint {self.endpoint.endpoint}: {text}"

    def account(self, begin_ns: int, end_ns: int) -> Account:
        finished = self.finished
        numbers = np.arange(max(0, finished - TIMES), finished)
        ring = np.frombuffer(self._view, dtype="<i8", count=TIMES, offset=TIMES_OFFSET).copy()
        whole_ns = ring[numbers % TIMES]
        edges = (self.format.period_ns, begin_ns, end_ns)
        window_account = account(self.endpoint.endpoint, numbers, whole_ns, *edges, self.ended)
        return replace(window_account, lz4_ratio=self.lz4_ratio)

    def close(self) -> None:
        self._view.close()
        os.close(self.fd)
        os.close(self.log)


def account(
    endpoint: int,
    numbers: np.ndarray,
    whole_ns: np.ndarray,
    period_ns: float,
    begin_ns: int,
    end_ns: int,
    ended: int | None = None,
) -> Account:
    """The account from the numbers of the frames and the times at which each was whole; `ended` is
    the wait status of a source that ended. The frames of the window's last two periods are not
    counted, since they may still be on their way."""
    judged_ns = end_ns - 2 * period_ns
    in_window = (whole_ns >= begin_ns - 2 * period_ns) & (whole_ns < end_ns)
    if not in_window.any():
        return Account(
            endpoint, max(0, round((judged_ns - begin_ns) / period_ns)), 0, 0, math.inf, ended
        )
    line_ns = (whole_ns - numbers * period_ns)[in_window].min()
    first, last = (math.ceil((edge - line_ns) / period_ns) for edge in (begin_ns, judged_ns))
    due = max(0, last - first)
    # By number and not by time: a frame that came much later was due in the window too.
    is_due = (numbers >= first) & (numbers < last) & (whole_ns < end_ns)
    late_ns = (whole_ns - numbers * period_ns - line_ns)[is_due]
    made, late = len(late_ns), int((late_ns > period_ns).sum())
    return Account(endpoint, due, made, late, float(late_ns.max()) if made else math.inf, ended)


def probes(accounts: Sequence[Account]) -> list[dict[str, Any]]:
    """Rows of the table `probes`, those of the worst source."""
    if not accounts:
        return []
    late = max(
        (source.late + source.due - source.made) / source.due if source.due else 0.0
        for source in accounts
    )
    rows = [
        probe_row("source_kept", min(source.made_share for source in accounts)),
        probe_row("source_late", late),
    ]
    if ratios := [source.lz4_ratio for source in accounts if source.lz4_ratio is not None]:
        rows.append(probe_row("source_lz4_ratio", min(ratios), "ratio"))
    return rows


DRAWN_FRAMES = 6
"""The number of different frames; after them the first one comes again."""
TURN_PIXELS = 4
"""The turn of the camera from frame to frame."""
SEED = 20261123
BLOCK_BYTES = 65_000
"""It is less than a batch of Zenoh can hold (65 535 bytes)."""

READ_NOISE, PHOTON_NOISE = 1.2, 0.02
"""The standard deviation in the dark, in grey levels of 255, and the variance per grey level."""
HORIZON, GROUND = 0.45, 0.8
"""The upper edges of the walls and of the grass, as fractions of the height."""
OBJECTS = 24
"""The number of doors, boxes and people, which have edges."""


@lru_cache(maxsize=2)
def drawn_frames(kind: str, format_: PixelFormat) -> tuple[bytes, ...]:
    """Draws all frames of a kind, RGB without padding."""
    random = np.random.default_rng([SEED, format_.width, format_.height])
    scene = _scene(format_.width + TURN_PIXELS * (DRAWN_FRAMES - 1), format_.height, random)
    views = (scene[:, TURN_PIXELS * number :][:, : format_.width] for number in range(DRAWN_FRAMES))
    return tuple(_to_bytes(_with_noise(view, random) if kind == PHOTO else view) for view in views)


def lz4_ratio(frame: bytes) -> float:
    """The ratio of a frame's bytes to those after LZ4 in blocks, as Zenoh compresses."""
    blocks = [frame[at : at + BLOCK_BYTES] for at in range(0, len(frame), BLOCK_BYTES)]
    shrunk = sum(
        min(len(block), len(pa.compress(block, codec="lz4_raw", asbytes=True))) for block in blocks
    )
    return len(frame) / shrunk


def _scene(width: int, height: int, random: np.random.Generator) -> np.ndarray:
    """The brightness, shape (height, width, 3): 0 to 255, and more where overexposed."""
    y, x = np.linspace(0, 1, height)[:, None, None], np.linspace(0, 1, width)[None, :, None]
    horizon, ground = int(HORIZON * height), int(GROUND * height)
    sun = 420 * np.exp(-((x - 0.7) ** 2) / 0.06) * np.exp(-((y - 0.1) ** 2) / 0.035)
    scene: np.ndarray = (np.array([120, 150, 190]) + 60 * y + sun).astype(np.float32)
    scene[horizon:] = (np.array([150, 140, 125]) * (0.55 + 0.4 * x * (1.2 - y)))[horizon:]
    for _ in range(OBJECTS):
        across = slice(*(int(width * part) for part in _random_span(random, 0.0, 0.95, 0.02, 0.12)))
        down = slice(*(int(height * part) for part in _random_span(random, 0.3, 0.75, 0.05, 0.3)))
        scene[down, across] = random.uniform(15, 200, 3) * (0.8 + 0.3 * y[down])
    grass = 22 * random.standard_normal((height - ground, width, 1), np.float32)
    scene[ground:] = np.array([60, 95, 40], np.float32) + grass
    return scene


def _random_span(
    random: np.random.Generator, first: float, last: float, least: float, most: float
) -> tuple[float, float]:
    """A random begin and end, as fractions of the whole."""
    begin = random.uniform(first, last)
    return begin, begin + random.uniform(least, most)


def _with_noise(light: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The brightness with the noise of a sensor; overexposed parts stay overexposed."""
    deviation = np.sqrt(READ_NOISE**2 + PHOTON_NOISE * light.clip(0, 255))
    return light + deviation * random.standard_normal(light.shape, np.float32)


def _to_bytes(light: np.ndarray) -> bytes:
    return light.clip(0, 255).round().astype(np.uint8).tobytes()
