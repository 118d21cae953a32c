"""Ships programs to a machine, each once, into a cache directory that is named by their hash.

A program of machine code is shipped; it uses the dynamic libraries of the machine, and is started
there to see whether they suffice. A worker in Python, or in a ROS 2 package (the worker on rclcpp
has libraries of its own beside it), is bound to its installation, so the machine must have one.
"""

import hashlib
import io
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rmwbench import home
from rmwbench.lab.middleware import Worker
from rmwbench.suite.arm import INSTALLED

ELF = b"\x7fELF"
PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class ShippedProgram:
    """`sha256`: the hash of its content, in hexadecimal."""

    name: str
    sha256: str


def programs(workers: Iterable[Worker], tools: Iterable[Path] = ()) -> dict[ShippedProgram, Path]:
    """Return the programs that can be shipped, with their paths."""
    paths = [worker.executable for worker in workers if not worker.middleware.startswith(INSTALLED)]
    shipped: dict[ShippedProgram, Path] = {}
    for path in dict.fromkeys([*paths, *tools]):
        content = path.read_bytes()
        if content.startswith(ELF):
            shipped[ShippedProgram(path.name, hashlib.sha256(content).hexdigest())] = path
    return shipped


def package() -> tuple[str, bytes]:
    """Return rmwbench itself, as the hash of its files and a zip archive: the driver and the
    machines must have one version."""
    digest, archive = hashlib.sha256(), io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(PACKAGE.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name, content = str(path.relative_to(PACKAGE.parent)), path.read_bytes()
                digest.update(f"{name}\0{len(content)}\0".encode() + content)
                file.writestr(name, content)
    return digest.hexdigest(), archive.getvalue()


def cache() -> Path:
    return home.cache() / "cluster"


class Store:
    """The programs on a machine, as `HASH/NAME`, and for each set of them a directory of links, for
    RMWBENCH_WORKERS."""

    def __init__(self, directory: Path):
        self.directory = directory

    def lacks(self, programs: Iterable[ShippedProgram]) -> list[ShippedProgram]:
        """Return the programs that are missing or were changed."""
        return [program for program in programs if not self._is_whole(program)]

    def put(self, program: ShippedProgram, content: bytes) -> None:
        """Store a program. Raises ValueError if its content has another hash."""
        if hashlib.sha256(content).hexdigest() != program.sha256:
            raise ValueError(f"{program.name} arrived damaged")
        path = self._path(program)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            partial = Path(scratch) / path.name
            partial.write_bytes(content)
            partial.chmod(0o755)
            partial.rename(path)

    def link_directory(self, programs: Iterable[ShippedProgram]) -> Path:
        """Make a directory with a link to each program, and return it."""
        programs = sorted(programs, key=lambda program: program.name)
        listing = "\n".join(f"{program.name} {program.sha256}" for program in programs)
        path = self.directory / "sets" / hashlib.sha256(listing.encode()).hexdigest()
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            for program in programs:
                link = Path(scratch) / program.name
                link.symlink_to(self._path(program))
                link.rename(path / program.name)
        return path

    def _path(self, program: ShippedProgram) -> Path:
        return self.directory / program.sha256 / program.name

    def _is_whole(self, program: ShippedProgram) -> bool:
        try:
            content = self._path(program).read_bytes()
        except OSError:
            return False
        return hashlib.sha256(content).hexdigest() == program.sha256
