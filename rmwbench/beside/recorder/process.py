"""rosbag2's recorder in a trial's host: the program `recorder` of the sourced ROS 2's
rosbag2_transport, which `ros2 bag record` uses, too.

It gets the domain, the RMW and the profile of a worker beside it, in the variables that this worker
reports, and is ended as by a user, with SIGINT; after that it writes the rest of its cache.

    process = RecorderProcess(processes, cell, directory)   # nothing runs yet
    process.start(environment); process.wait()         # subscribed to every topic
    …the window…
    process.stop(timeout_s)
    process.bag()                                      # where to read, while the host lives
    process.close()
"""

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from rmwbench.beside import Broken
from rmwbench.beside.recorder.cell import host_of, recorded_topics, recorder_of
from rmwbench.beside.recorder.keys import NAME
from rmwbench.beside.recorder.recording import RecorderLog, ending_text, parse_log
from rmwbench.codes import Code
from rmwbench.lab.host import Host
from rmwbench.lab.kernel_files import file_text
from rmwbench.lab.middleware import ros2
from rmwbench.lab.process.trial_processes import Program, TrialProcesses
from rmwbench.suite.cells import Cell

PACKAGE, PROGRAM, STORAGE = "rosbag2_transport", "recorder", "rosbag2_storage_mcap"
LAYERS = ("rclcpp", "rclpy")
"""The layers of the workers whose messages rosbag2 can take."""
NODE = "rmwbench_recorder"
IN_DIRECTORY = "rmwbench-bag"
"""The name of the bag's directory, which rosbag2 makes itself, in the host's /tmp or in the
campaign's directory."""
DIRECTORY_FD = 5
"""The recorder's descriptor of the directory for a bag on a disk: the path may be another directory
in the host."""
PARTIAL = ".partial"
"""The suffix of a directory whose bag is being written, or is not to be kept."""
START_TIMEOUT_S, KILL_TIMEOUT_S, TURN_S = 20.0, 5.0, 0.02


class RecorderBroken(Broken):
    code = Code.RECORDER


@dataclass(frozen=True)
class Rosbag2:
    """The recorder of the sourced ROS 2; `version` is empty if its package has none."""

    executable: Path
    version: tuple[int, ...]


def find() -> Rosbag2 | None:
    """Return rosbag2 of the sourced ROS 2, None if it has none."""
    for prefix in ros2.prefixes():
        program = prefix / "lib" / PACKAGE / PROGRAM
        if program.is_file() and os.access(program, os.X_OK):
            return Rosbag2(program, version_of(prefix, PACKAGE))
    return None


def version_of(prefix: Path, package: str) -> tuple[int, ...]:
    """Return the version in a package's manifest, empty if it has none."""
    text = file_text(prefix / "share" / package / "package.xml") or ""
    number = text.partition("<version")[2].partition(">")[2].partition("</version>")[0].strip()
    parts = number.split(".")
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()


def why_not(cell: Cell) -> str | None:
    """Return why the cell's recorder cannot run here, None if it can or there is none."""
    if recorder_of(cell) is None:
        return None
    if cell.real is not None:
        return (
            "recorder: over real machines a bag would lie on another machine, where nobody reads it"
        )
    for name in cell.middlewares:
        if name.partition("/")[0] not in LAYERS:
            return (
                f"recorder: rosbag2 records what ROS 2's RMWs carry, and {name} is not one of them"
            )
    if find() is None:
        return f"recorder: the sourced ROS 2 has no {PACKAGE} ({ros2.install_command(PACKAGE)})"
    if not any((prefix / "share" / STORAGE).is_dir() for prefix in ros2.prefixes()):
        return (
            f"recorder: the sourced ROS 2 has no storage for MCAP ({ros2.install_command(STORAGE)})"
        )
    return None


def variables(configuration: str) -> dict[str, str]:
    """Return the variables in a worker's report: the lines NAME=VALUE before the first other line.
    A name in small letters is a setting of the worker."""
    lines = takewhile(lambda line: "=" in line, configuration.splitlines())
    pairs = (line.split("=", 1) for line in lines)
    return {name: value for name, value in pairs if name.isupper()}


def parameters(cell: Cell, bag: str) -> list[str]:
    """Return the arguments of the recorder: its topics, its directory and the size of its cache."""
    recorder = recorder_of(cell)
    assert recorder is not None
    topics = ", ".join(f'"/{topic}"' for topic in recorded_topics(cell))
    values = {
        "record.topics": f"[{topics}]",
        "record.disable_keyboard_controls": "true",
        "storage.uri": bag,
        "storage.storage_id": recorder.storage,
        "storage.max_cache_size": str(recorder.cache_mib << 20),
    }
    words = ["--ros-args", "-r", f"__node:={NODE}"]
    for name, value in values.items():
        words += ["-p", f"{name}:={value}"]
    return words


class RecorderProcess:
    """The recorder of one trial, in `host`. `directory`: an existing directory for a bag on a disk.
    `killed`: whether it still wrote when its time was over; `stopped_s`: the time from SIGINT to
    its end."""

    def __init__(self, processes: TrialProcesses, cell: Cell, directory: Path | None):
        self._processes, self._cell, self._directory = processes, cell, directory
        self.host = host_of(cell)
        self._logs = {
            number: os.memfd_create(f"rmwbench-recorder-{number}", os.MFD_CLOEXEC)
            for number in (1, 2)
        }
        self._directory_fd: int | None = None
        self._rosbag2 = find()
        self.program: Program | None = None
        self.stopped_s: float | None = None
        self.killed = False

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the recorder without waiting. Raises RecorderBroken if it was removed."""
        if self._rosbag2 is None:
            raise RecorderBroken(why_not(self._cell) or f"recorder: {PROGRAM} is gone")
        files = {1: self._logs[1], 2: self._logs[2]}
        bag = f"{self._processes.hosts[self.host].directory}/{IN_DIRECTORY}"
        if self._directory is not None:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            self._directory_fd = files[DIRECTORY_FD] = os.open(self._directory, flags)
            bag = f"/proc/self/fd/{DIRECTORY_FD}/{IN_DIRECTORY}"
        words, executable = parameters(self._cell, bag), self._rosbag2.executable
        self.program = self._processes.start_executable(
            NAME, executable, words, files, environment, self.host
        )

    def wait(self) -> None:
        """Wait until the recorder has subscribed to every topic. Raises RecorderBroken, and
        WorkerFailed if a worker ends."""
        topics = {f"/{topic}" for topic in recorded_topics(self._cell)}
        deadline = time.monotonic() + START_TIMEOUT_S
        while absent := topics - self.log.subscribed:
            if (self.program and self.program.ended) or time.monotonic() > deadline:
                raise RecorderBroken(self._complaint(absent))
            self._processes.turn(TURN_S)

    def _complaint(self, absent: set[str]) -> str:
        """Return why the recorder has not subscribed to these topics, in words."""
        last = self._text.strip().splitlines()[-1:]
        if not (self.program and self.program.ended):
            names = ", ".join(sorted(absent))
            problem = f"it has not subscribed to {names} within {START_TIMEOUT_S:g} s"
        elif (status := self.program.wait_status) is None:
            problem = "it cannot be executed"
        else:
            problem = f"it {ending_text(os.waitstatus_to_exitcode(status))}"
        return f"recorder: {problem}" + (f"; it said: {last[0][:300]}" if last else "")

    def stop(self, timeout_s: float) -> None:
        """Send SIGINT, and SIGKILL if the recorder still writes after this time. Raises as
        TrialProcesses.turn does."""
        program = self.program
        if program is None or program.inner_pid is None or program.ended:
            return
        start_s = time.monotonic()
        self._signal(program, signal.SIGINT, timeout_s)
        if not program.ended:
            self.killed = True
            self._signal(program, signal.SIGKILL, KILL_TIMEOUT_S)
        self.stopped_s = time.monotonic() - start_s

    def _signal(self, program: Program, number: signal.Signals, timeout_s: float) -> None:
        """Send a signal, and wait until the recorder ends or the time is over."""
        assert program.inner_pid is not None
        self._processes.hosts[self.host].signal(program.inner_pid, number)
        deadline = time.monotonic() + timeout_s
        while not program.ended and (rest := deadline - time.monotonic()) > 0:
            self._processes.turn(min(rest, TURN_S))

    @property
    def inner_pid(self) -> int | None:
        return self.program.inner_pid if self.program else None

    @property
    def version(self) -> str:
        return ".".join(map(str, self._rosbag2.version)) if self._rosbag2 else ""

    @property
    def log(self) -> RecorderLog:
        return parse_log(self._text, self._rosbag2.version if self._rosbag2 else ())

    @property
    def _text(self) -> str:
        """All that the recorder printed; rosbag2 logs on stderr by default."""
        return "\n".join(self._log(number).decode(errors="replace") for number in self._logs)

    def logs(self) -> dict[str, bytes]:
        """Return the name → content of each log that is not empty."""
        logs = {f"{NAME}.stdout": self._log(1), f"{NAME}.stderr": self._log(2)}
        return {name: content for name, content in logs.items() if content}

    def _log(self, number: int) -> bytes:
        return os.pread(self._logs[number], os.fstat(self._logs[number]).st_size, 0)

    def bag(self) -> Path:
        """Return the bag's directory for this process. Raises OSError if the host's files cannot be
        reached."""
        if self._directory is not None:
            return self._directory / IN_DIRECTORY
        host = self._processes.hosts[self.host]
        assert isinstance(host, Host), "a plan has no recorders on other machines"
        return host.outside_path(f"{host.directory}/{IN_DIRECTORY}")

    def close(self) -> None:
        """Close the descriptors; the process ends with its host."""
        for descriptor in (*self._logs.values(), self._directory_fd):
            if descriptor is not None:
                os.close(descriptor)
