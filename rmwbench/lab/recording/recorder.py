"""rosbag2's recorder in a trial's host: the program `recorder` of the package rosbag2_transport, which `ros2 bag record`
is a face of, of the ROS 2 that is sourced.

It is told the domain, the RMW and the profile of a process of ours beside it, in the variables that that process's
worker says it set, and is ended as a user does it, with SIGINT, after which it writes what its cache still holds. What
it prints is kept as files of the trial.

    recorder = RecorderProcess(crew, cell, directory)   # nothing runs yet
    recorder.start(environment); recorder.wait()        # subscribed to every topic
    …the window…
    recorder.stop(timeout_s)
    recorder.bag                                        # where to read
    recorder.close()
"""

import os
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rmwbench.lab.host import Host, RemoteHost
from rmwbench.lab.middleware import ros2
from rmwbench.lab.process.crew import Crew, Program
from rmwbench.lab.recording import said
from rmwbench.lab.recording.account import NAME
from rmwbench.lab.recording.said import Said
from rmwbench.suite.cells import Cell

PACKAGE, PROGRAM = "rosbag2_transport", "recorder"
PLUGIN = "rosbag2_storage_mcap"
NODE = "rmwbench_recorder"
IN_HOST = "rmwbench-bag"
"""Directory of the bag in the host's /tmp, where it is in memory."""
DIRECTORY_FD = 5
"""In the recorder, where the bag is on a disk: the host may have something else over the campaign's path."""
START_TIMEOUT_S = 20.0
TURN_S = 0.02


class RecorderBroken(Exception):
    """A recorder that did not come up; the text says why."""


@dataclass(frozen=True)
class Rosbag2:
    """The one that is sourced."""

    executable: Path
    version: tuple[int, ...]
    prefix: Path


def find() -> Rosbag2 | None:
    """None where no sourced ROS 2 has it."""
    for prefix in ros2.prefixes():
        program = prefix / "lib" / PACKAGE / PROGRAM
        if program.is_file() and os.access(program, os.X_OK):
            return Rosbag2(program, version_of(prefix, PACKAGE), prefix)
    return None


def version_of(prefix: Path, package: str) -> tuple[int, ...]:
    """Of a package's manifest; empty where it says none."""
    try:
        text = (prefix / "share" / package / "package.xml").read_text()
    except OSError:
        return ()
    number = text.partition("<version")[2].partition(">")[2].partition("</version>")[0].strip()
    parts = number.split(".")
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()


def missing(cell: Cell) -> str | None:
    """Why this cell's recorder cannot run here; None where it can, or where the cell has none."""
    if cell.workload.recorder is None:
        return None
    if cell.real is not None:
        return "recorder: over real machines a bag would lie on another machine, where nobody reads it"
    for name in cell.middlewares:
        if name.partition("/")[0] not in (ros2.NAME, "rclpy"):
            return f"recorder: rosbag2 records what ROS 2's RMWs carry, and {name} is none"
    if find() is None:
        return f"recorder: the sourced ROS 2 has no {PACKAGE} ({ros2.install_command(PACKAGE)})"
    if not any((prefix / "share" / PLUGIN).is_dir() for prefix in ros2.prefixes()):
        return f"recorder: the sourced ROS 2 has no storage for MCAP ({ros2.install_command(PLUGIN)})"
    return None


def variables(configuration: str) -> dict[str, str]:
    """The variables that a worker says it set: NAME=VALUE in the lines before the first blank one."""
    found = {}
    for line in configuration.splitlines():
        name, equals, value = line.partition("=")
        if not equals:
            break
        found[name] = value
    return found


def parameters(cell: Cell, bag: str) -> list[str]:
    """The words that say what the recorder records, where, and how much it keeps in its cache."""
    asked = cell.workload.recorder
    assert asked is not None
    topics = ", ".join(f'"/{topic}"' for topic in cell.recorded_topics)
    values = {
        "record.topics": f"[{topics}]",
        "record.disable_keyboard_controls": "true",
        "storage.uri": bag,
        "storage.storage_id": asked.storage,
        "storage.max_cache_size": str(asked.cache_mib << 20),
    }
    words = ["--ros-args", "-r", f"__node:={NODE}"]
    for name, value in values.items():
        words += ["-p", f"{name}:={value}"]
    return words


class RecorderProcess:
    """The recorder of one trial. `directory` is where a bag on a disk is put; it has to be there."""

    def __init__(self, crew: Crew, cell: Cell, directory: Path | None):
        assert cell.workload.recorder is not None
        self._crew, self.cell, self._asked = crew, cell, cell.workload.recorder
        self.host_name = cell.recorder_host
        self._host: Host | RemoteHost = crew.hosts[self.host_name]
        self._logs = {name: os.memfd_create(f"rmwbench-recorder-{name}", os.MFD_CLOEXEC) for name in (1, 2)}
        self._directory = directory
        self._opened: int | None = None
        self.program: Program | None = None
        self.rosbag2 = find()
        self.stopped_s: float | None = None
        """How long it took from SIGINT to its end."""
        self.killed = False

    def start(self, environment: Mapping[str, str]) -> None:
        """Does not wait. Raises RecorderBroken."""
        if self.rosbag2 is None:
            raise RecorderBroken(missing(self.cell) or "recorder: it is not there any more")
        files = {1: self._logs[1], 2: self._logs[2]}
        if self._asked.place == "disk":
            assert self._directory is not None
            self._opened = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            files[DIRECTORY_FD] = self._opened
            bag = f"/proc/self/fd/{DIRECTORY_FD}/{IN_HOST}"
        else:
            bag = f"{self._host.directory}/{IN_HOST}"
        words = parameters(self.cell, bag)
        self.program = self._crew.start_executable(
            NAME, self.rosbag2.executable, words, files, environment, self.host_name
        )

    def wait(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Until it has subscribed to every topic. Raises RecorderBroken, and WorkerFailed where a worker ends."""
        wanted = {f"/{topic}" for topic in self.cell.recorded_topics}
        deadline = time.monotonic() + timeout_s
        while missing_topics := wanted - self.said.subscribed:
            assert self.program is not None
            if self.program.ended or time.monotonic() > deadline:
                raise RecorderBroken(self._complaint(missing_topics, timeout_s))
            self._crew.turn(TURN_S)

    def _complaint(self, topics: set[str], timeout_s: float) -> str:
        last = self.text.strip().splitlines()[-1:]
        status = self.program.wait_status if self.program else None
        how = (
            f"it ended with exit code {os.waitstatus_to_exitcode(status)}"
            if status is not None
            else f"it has not subscribed to {', '.join(sorted(topics))} within {timeout_s:g} s"
        )
        return f"recorder: {how}" + (f"; it said: {last[0][:300]}" if last else "")

    def stop(self, timeout_s: float) -> None:
        """SIGINT, then SIGKILL for one that still writes after that time. Raises as Crew.turn does."""
        program = self.program
        if program is None or program.inner_pid is None or program.ended:
            return
        begun = time.monotonic()
        self._host.signal(program.inner_pid, int(signal.SIGINT))
        while not program.ended and (rest := begun + timeout_s - time.monotonic()) > 0:
            self._crew.turn(min(rest, TURN_S))
        if not program.ended:
            self.killed = True
            self._host.signal(program.inner_pid, int(signal.SIGKILL))
            deadline = time.monotonic() + 5.0
            while not program.ended and (rest := deadline - time.monotonic()) > 0:
                self._crew.turn(min(rest, TURN_S))
        self.stopped_s = time.monotonic() - begun

    @property
    def inner_pid(self) -> int | None:
        return self.program.inner_pid if self.program else None

    @property
    def text(self) -> str:
        """All that it printed; rosbag2 logs on stderr."""
        return "\n".join(self._log(number).decode(errors="replace") for number in (1, 2))

    @property
    def said(self) -> Said:
        return said.parse(self.text, self.rosbag2.version if self.rosbag2 else ())

    def logs(self) -> dict[str, bytes]:
        """File → what it printed, where it printed anything."""
        found = {f"{NAME}.stdout": self._log(1), f"{NAME}.stderr": self._log(2)}
        return {name: text for name, text in found.items() if text}

    def _log(self, number: int) -> bytes:
        return os.pread(self._logs[number], os.fstat(self._logs[number]).st_size, 0)

    def bag(self) -> Path:
        """The bag's directory as this process can read it, while the host lives. Raises OSError where the host's files
        cannot be reached."""
        if self._opened is not None:
            return Path(f"/proc/self/fd/{self._opened}/{IN_HOST}")
        assert isinstance(self._host, Host)
        return self._host.outside(f"{self._host.directory}/{IN_HOST}")

    def close(self) -> None:
        """Removes a bag on disk that nobody asked to keep; one in memory ends with its host."""
        for fd in self._logs.values():
            os.close(fd)
        if self._opened is not None:
            if not self._asked.keep:
                shutil.rmtree(f"/proc/self/fd/{self._opened}/{IN_HOST}", ignore_errors=True)
            os.close(self._opened)
            self._opened = None

