"""What travels to a machine: programs by their content, each once, into a cache directory named by
hash.

A program of machine code is shipped; its dynamic libraries are the machine's own, and whether they
will do is asked of the program there. A worker in Python, or one that is part of a ROS 2 package
(the one on rclcpp, which has libraries of its own beside it), is bound to its installation; of
these the machine's own is looked for.
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
from rmwbench.suite.side import INSTALLED

ELF = b"\x7fELF"
PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class ShippedProgram:
    """`sha256` of its content, in hexadecimal."""

    name: str
    sha256: str


def programs(workers: Iterable[Worker], tools: Iterable[Path] = ()) -> dict[ShippedProgram, Path]:
    """The programs that can be shipped, each once, with where they are."""
    own = [worker.executable for worker in workers if not worker.middleware.startswith(INSTALLED)]
    shipped: dict[ShippedProgram, Path] = {}
    for path in dict.fromkeys([*own, *tools]):
        content = path.read_bytes()
        if content.startswith(ELF):
            shipped[ShippedProgram(path.name, hashlib.sha256(content).hexdigest())] = path
    return shipped


def package() -> tuple[str, bytes]:
    """rmwbench itself, as the hash of its files and a zip archive: driver and machines must be of
    one version."""
    digest, archive = hashlib.sha256(), io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(PACKAGE.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name, content = str(path.relative_to(PACKAGE.parent)), path.read_bytes()
                digest.update(f"{name}\0{len(content)}\0".encode() + content)
                file.writestr(name, content)
    return digest.hexdigest(), archive.getvalue()


def cache() -> Path:
    """The cache of this user on this machine."""
    return home.cache() / "cluster"


class Store:
    """Programs on a machine: `HASH/NAME`, and per set of them a directory of links, which is what
    RMWBENCH_WORKERS can name."""

    def __init__(self, directory: Path):
        self.directory = directory

    def lacks(self, programs: Iterable[ShippedProgram]) -> list[ShippedProgram]:
        """The programs that are not there whole; a file that was changed is as good as none."""
        return [program for program in programs if not self._is_whole(program)]

    def put(self, program: ShippedProgram, content: bytes) -> None:
        """Stores a program. Raises ValueError where the content is another than its hash says."""
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
        """Makes and gives a directory with a link to each program."""
        ordered = sorted(programs, key=lambda program: program.name)
        name = hashlib.sha256(
            "\n".join(f"{p.name} {p.sha256}" for p in ordered).encode()
        ).hexdigest()
        path = self.directory / "sets" / name
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            for program in ordered:
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
