"""The actor that Ray starts on a machine: it unpacks this rmwbench and hands all calls to it.

Its class is made in a function, so that Ray sends its code along instead of importing it: the
machine needs no rmwbench of its own, only its dependencies. Hence the class uses the standard
library alone.
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

            cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
            directory = cache / "rmwbench" / "cluster" / "code" / digest
            if not directory.exists():
                directory.parent.mkdir(parents=True, exist_ok=True)
                partial = Path(tempfile.mkdtemp(prefix=f"{digest}.", dir=directory.parent))
                try:
                    zipfile.ZipFile(io.BytesIO(archive)).extractall(partial)
                    partial.rename(directory)
                except OSError:
                    if not directory.exists():  # else another actor was first
                        raise
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
            sys.path.insert(0, str(directory))
            from rmwbench.cluster.cluster_machine import ClusterMachine

            self._machine = ClusterMachine()

        def call(self, method: str, *arguments: Any) -> Any:
            return getattr(self._machine, method)(*arguments)

    return MachineActor
