"""Who is within the namespaces of a process, also once it has ended: the kernel gives the number of
a namespace that nobody holds to the next one that is made, so a number alone names another's."""

import os
from collections.abc import Iterable
from pathlib import Path

Identity = tuple[int, int]


class Held:
    """The namespaces of one kind (`net`, `pid`, …) of processes, without our own one, held open
    until it is closed. It holds none of a process that has ended meanwhile."""

    def __init__(self, pids: Iterable[int], kind: str = "net"):
        self._kind = kind
        self._descriptors: dict[Identity, int] = {}
        own = _identity(os.stat(f"/proc/self/ns/{kind}"))
        for pid in pids:
            try:
                held = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            identity = _identity(os.fstat(held))
            if identity == own or identity in self._descriptors:
                os.close(held)
            else:
                self._descriptors[identity] = held

    def __enter__(self) -> "Held":
        return self

    def __exit__(self, *_exc: object) -> None:
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])

    def __len__(self) -> int:
        return len(self._descriptors)

    def processes(self) -> list[int]:
        """Process ids of all that are within now."""
        return [int(e.name) for e in Path("/proc").iterdir() if e.name.isdigit() and self._of(e)]

    def _of(self, process: Path) -> bool:
        try:
            return _identity(os.stat(process / "ns" / self._kind)) in self._descriptors
        except OSError:
            return False


def _identity(stat: os.stat_result) -> Identity:
    return stat.st_dev, stat.st_ino
