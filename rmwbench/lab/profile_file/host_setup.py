"""Gives a host of ours the devices, addresses and folders that a user's file names; and reads the
files that were written there.

A lone host gets a device for each name in the file, beside its `eth0`. One of several hosts has one
device that leads to the others, which gets the first name; its other devices are unconnected. A
device is renamed before it is up, which every kernel allows.
"""

import marshal
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmwbench.lab.host import HostBroken
from rmwbench.lab.host.host import Host
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.trial_view import PRIVATE

DEVICE = "eth0"
OWN_DEVICES = ("lo", DEVICE)
TIMEOUT_S = 5.0
MOST_FILES = 16
"""The largest number of files that are read for a path of the setup."""
_PROGRAM = (Path(__file__).parent / "setup_program.py").read_text()
_NEVER = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/proc", "/sys", "/dev", "/run")
"""Folders that every process of a trial needs."""


@dataclass(frozen=True)
class HostSetup:
    """The setup of a host. `addresses` have their prefix, such as `192.168.50.7/24`; they belong to
    the first of `interfaces`, or to `eth0` where there are none. `leads`: `eth0` leads to other
    hosts. `writes` are paths of files as in the user's file."""

    interfaces: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    leads: bool = False

    @property
    def device(self) -> str:
        """The device that leads to the other hosts; on a lone host it is unconnected."""
        return self.interfaces[0] if self.interfaces else DEVICE

    def steps(self) -> list[str]:
        """The arguments of the setup program."""
        first, *further = self.interfaces or (None,)
        steps = []
        if first is not None:
            steps.append(f"rename {DEVICE} {first}" if self.leads else f"pair {first}")
        steps += [f"pair {name}" for name in further]
        steps += [
            f"address {name} 10.78.{number}.1/24"
            for number, name in enumerate(self.interfaces)
            if number or not (self.leads or any("." in address for address in self.addresses))
        ]
        steps += [f"address {self.device} {address}" for address in self.addresses]
        return [*steps, *_folder_steps(self.all_folders)]

    @property
    def all_folders(self) -> tuple[str, ...]:
        """The folders of the files and the other folders, each once."""
        file_folders = map(folder_of, self.writes)
        return tuple(dict.fromkeys((*file_folders, *map(os.path.normpath, self.folders))))


def _folder_steps(folders: Sequence[str]) -> Iterator[str]:
    """Yields the steps that make these folders. Each mount point is mounted once, the highest first,
    since a second mount would hide the folders in the first."""
    mounted: list[str] = []
    for path in sorted(folders, key=lambda path: len(mount_point(path) or "")):
        point = mount_point(path)
        if point is None or any(f"{point}/".startswith(f"{other}/") for other in mounted):
            yield f"folder 0 {path}"
        else:
            mounted.append(point)
            yield f"folder {len(point)} {path}"


def folder_of(path: str) -> str:
    """The folder of a file, relative to the working directory of the trial's processes."""
    return os.path.dirname(os.path.normpath(os.path.join("/tmp", path)))


def mount_point(folder: str) -> str | None:
    """The folder on which a file system in memory is mounted so that `folder` can be made: the
    folder itself, or the nearest above it that exists. None where the host has a file system of its
    own there."""
    if any(f"{folder}/".startswith(f"{private_path}/") for private_path in PRIVATE):
        return None
    existing = folder
    while not os.path.isdir(existing):
        existing = os.path.dirname(existing)
    return existing


def may_hide(hidden: str | None, needed: tuple[str, ...]) -> bool:
    """Whether a mount may hide a folder: nothing that a trial needs is below it."""
    if hidden is None:
        return True
    below = [os.path.realpath(path) for path in needed if path]
    return hidden != "/" and not any(
        f"{path}/".startswith(f"{hidden}/") or f"{hidden}/".startswith(f"{path}/")
        for path in (*_NEVER, *below)
    )


def set_up(processes: TrialProcesses, setups: Mapping[str, HostSetup]) -> None:
    """Gives each host its setup. Raises HostBroken where that fails."""
    steps_of_host = {host: steps for host, setup in setups.items() if (steps := setup.steps())}
    programs = {host: (_PROGRAM, steps) for host, steps in steps_of_host.items()}
    for host, (_, answer) in processes.run_programs(programs, TIMEOUT_S).items():
        failed = marshal.loads(answer) if answer else "no answer"
        if failed is not None:
            raise HostBroken(f"what the profile's file names cannot be made here: {failed}")
        if setups[host].leads:
            processes.hosts[host].device_name = setups[host].device


def written_files(host: Host, setup: HostSetup, most_bytes: int) -> dict[str, bytes]:
    """Name → the last bytes of each file that was written to the paths of the setup."""
    content_of_name: dict[str, bytes] = {}
    for path in setup.writes:
        fixed_parts = re.split(r"\$\{[^}]*\}", os.path.basename(path))
        pattern = re.compile(".*".join(map(re.escape, fixed_parts)))
        try:
            files = sorted(host.outside_path(folder_of(path)).iterdir())
            matching = [file for file in files if pattern.fullmatch(file.name) and file.is_file()]
            for file in matching[:MOST_FILES]:
                content_of_name[file.name] = file.read_bytes()[-most_bytes:]
        except OSError:
            continue  # no such file was written
    return content_of_name
