"""The actor that a machine's Ray starts for us: it unpacks this rmwbench and hands everything else
to it.

Its class is made in a function, which is what makes Ray send its code along instead of importing
it: the machine needs no rmwbench of its own, only what rmwbench depends on. Hence it uses the
standard library alone.
"""

from typing import Any


def actor_class() -> type:
    class MachineActor:
        def __init__(self, digest: str, archive: bytes):
            import io
            import os
            import shutil
            import sys
            import tempfile
            import zipfile
            from pathlib import Path

            cache = (
                Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
                / "rmwbench"
                / "cluster"
            )
            place = cache / "code" / digest
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                partial = Path(tempfile.mkdtemp(prefix=f"{digest}.", dir=place.parent))
                zipfile.ZipFile(io.BytesIO(archive)).extractall(partial)
                try:
                    partial.rename(place)
                except OSError:  # another actor was first
                    shutil.rmtree(partial)
            sys.path.insert(0, str(place))
            from rmwbench.cluster.cluster_machine import ClusterMachine

            self._machine = ClusterMachine()

        def call(self, method: str, *arguments: Any) -> Any:
            return getattr(self._machine, method)(*arguments)

    return MachineActor
