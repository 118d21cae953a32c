"""One walk over /proc finds the processes that belong to a middleware, and the shared files that a
living process uses. Both need the memory map of every process, which is the expensive part.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Programs that serve a middleware and move no robot.
DAEMONS = re.compile(
    r"^(_?ros2[-_]daemon|iox-roudi|iox2.*|rmw_zenohd|zenohd|fast-discovery-server.*|fastdds.*|rosmaster|roscore|rosout"
    r"|MicroXRCEAgent|micro_ros_agent|zenoh-bridge.*)$"
)
LIBRARIES = re.compile(
    r"/lib(rclcpp|rcl|roscpp|ddsc|fastrtps|fastdds|zenohc|zenoh|iceoryx\w*|lcm|nddsc|rticonnextdds\w*)\.so"
)
INTERPRETERS = re.compile(r"^(python|ruby|perl|node|nodejs|sh|bash|dash)[0-9.]*$")
OURS = "rmwbench-"

MIDDLEWARE_FILES = {
    "Fast DDS": re.compile(r"^(sem\.)?(fastrtps_|fastdds_|fast_datasharing)"),
    "iceoryx2": re.compile(r"^iox2_"),
    "iceoryx": re.compile(r"^(iceoryx_mgmt|iox_|iox1_|roudi)"),
    "zenoh": re.compile(r"\.zenoh$"),
}
ICEORYX2_SERVICES = Path("/tmp/iceoryx2")


@dataclass
class Walk:
    """The result of a walk. `programs` are those of middlewares; `mapped` are (device, inode) of
    every file that a process maps or has open; `unseen` is the number of processes of which only
    the command line could be read."""

    programs: list[dict[str, Any]] = field(default_factory=list)
    mapped: set[tuple[int, int]] = field(default_factory=set)
    unseen: int = 0


def walk() -> Walk:
    result = Walk()
    own_pid = os.getpid()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == own_pid:
            continue
        try:
            words = command_words((entry / "cmdline").read_bytes())
        except OSError:
            continue
        if not words[0]:
            continue  # a kernel thread, or gone
        try:
            maps = (entry / "maps").read_text(errors="replace")
        except PermissionError:  # another user's; a daemon or a node is known by its command line
            result.unseen += 1
            maps = ""
        except OSError:
            continue
        result.mapped.update(_mapped_files(maps))
        result.mapped.update(_open_files(entry))
        program = _program(words, maps)
        if program:
            result.programs.append({"pid": int(entry.name), **program})
    return result


def is_of_middleware(words: list[str], maps: str) -> bool:
    """Whether a process belongs to a middleware, by its command line and libraries."""
    return _program(words, maps) is not None


def display_name(pid: int, proc: Path = Path("/proc")) -> str | None:
    """A process's program and script; None where it is gone."""
    try:
        words = command_words((proc / str(pid) / "cmdline").read_bytes())
    except OSError:
        return None
    program, script = os.path.basename(words[0]), _script(words)
    return f"{program} {script}".rstrip() or None


def leftovers(mapped: set[tuple[int, int]]) -> tuple[list[dict[str, Any]], int]:
    """The files of middlewares in shared memory that no process maps or has open, and the number of
    all files of middlewares there. The directory of iceoryx2's services lies elsewhere; it is a
    leftover where none of its files is in use."""
    leftover_files, used_middlewares, count = [], set(), 0
    for path in sorted(Path("/dev/shm").glob("*")):
        middleware, status = middleware_of_file(path.name), _status(path)
        if middleware is None or status is None:
            continue
        count += 1
        if (status.st_dev, status.st_ino) in mapped:
            used_middlewares.add(middleware)
        else:
            size = status.st_blocks * 512
            leftover_files.append({"path": str(path), "middleware": middleware, "bytes": size})
    paths = [path for path in ICEORYX2_SERVICES.rglob("*") if not path.is_dir()]
    services = [status for path in paths if (status := _status(path))]
    count += len(services)
    in_use = any((status.st_dev, status.st_ino) in mapped for status in services)
    if services and not in_use and "iceoryx2" not in used_middlewares:
        size = sum(status.st_blocks * 512 for status in services)
        leftover_files.append(
            {"path": str(ICEORYX2_SERVICES), "middleware": "iceoryx2", "bytes": size}
        )
    return sorted(leftover_files, key=lambda file: file["path"]), count


def middleware_of_file(name: str) -> str | None:
    """The middleware whose files in shared memory have such a name; None for other names."""
    return next(
        (middleware for middleware, pattern in MIDDLEWARE_FILES.items() if pattern.search(name)),
        None,
    )


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _mapped_files(maps: str) -> Iterator[tuple[int, int]]:
    for line in maps.splitlines():
        words = line.split(None, 5)
        if len(words) > 4 and words[4] != "0":
            major, _, minor = words[3].partition(":")
            yield os.makedev(int(major, 16), int(minor, 16)), int(words[4])


def _open_files(entry: Path) -> Iterator[tuple[int, int]]:
    try:
        names = os.listdir(entry / "fd")
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):  # it was closed meanwhile
            if os.readlink(entry / "fd" / name).startswith(("/dev/shm/", "/tmp/")):
                status = os.stat(entry / "fd" / name)
                yield status.st_dev, status.st_ino


def command_words(command_line: bytes) -> list[str]:
    """The words of a command line. A browser may have rewritten its own as one string."""
    words = command_line.decode(errors="replace").split("\0")
    rewritten = not any(words[1:]) and " -" in words[0]
    return words[0].split() if rewritten else words


def _program(words: list[str], maps: str) -> dict[str, Any] | None:
    """The name, kind and reason of a middleware's process; None for any other and for ours."""
    name = os.path.basename(words[0])
    if name.startswith(OURS):
        return None
    script = _script(words)
    for candidate in (name, script, *(_module(words))):
        if DAEMONS.match(candidate):
            return {"name": candidate, "what": "daemon", "why": "a daemon"}
    if "--ros-args" in words:
        return {"name": script or name, "what": "node", "why": "a ROS 2 node"}
    library = LIBRARIES.search(maps)
    if library:
        reason = "a ROS 2 node" if library[1].startswith("rcl") else f"uses lib{library[1]}"
        return {"name": script or name, "what": "node", "why": reason}
    return None


def _script(words: list[str]) -> str:
    """The script or module that an interpreter runs; "" for a command (`-c`), and for any other
    program."""
    if not INTERPRETERS.match(os.path.basename(words[0])):
        return ""
    arguments = iter(words[1:])
    for word in arguments:
        if word and not word.startswith("-"):
            return os.path.basename(word)
        if word in ("-W", "-X"):
            next(arguments, None)  # its value
        elif re.match(r"-\w*c$", word):
            return ""
        elif re.match(r"-\w*m$", word):
            return next(arguments, "")
    return ""


def _module(words: list[str]) -> list[str]:
    """The name of ROS 2's daemon, if this is its command line (`… -c "from ros2cli.daemon …"`)."""
    return ["ros2-daemon"] if any("ros2cli.daemon" in word for word in words[1:]) else []
