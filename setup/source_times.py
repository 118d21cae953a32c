"""Spares a fresh clone from compiling again what an older one in the same place has compiled.

    python3 setup/source_times.py keep     after a build: lists each source with its time
    python3 setup/source_times.py restore  before a build: gives that time to each unchanged source

Cargo builds again from a source that is newer than its program, and in a fresh clone all sources
are new. Nothing is restored if cargo has built anything since the list was made, since its sources
are not known, or if the list is of another place, whose path is in its programs.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
READ_BY_CARGO = ("native", "docs/formats")


def target_directory() -> Path:
    done = subprocess.run([ROOT / "native" / "target-dir"], stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip()) if done.returncode == 0 else Path("/nowhere")


def sources() -> dict[str, str]:
    """Return path below the checkout → digest of the file's content, or of the directory's names."""
    digests = {}
    for top in READ_BY_CARGO:
        for directory, folders, files in os.walk(ROOT / top):
            path = Path(directory)
            names = "\n".join(sorted(folders + files))
            digests[str(path.relative_to(ROOT))] = digest(names.encode())
            for name in files:
                digests[str((path / name).relative_to(ROOT))] = digest((path / name).read_bytes())
    return digests


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def keep(list_file: Path) -> None:
    if not list_file.parent.is_dir():
        return
    entries = {
        path: [content, (ROOT / path).stat().st_mtime_ns] for path, content in sources().items()
    }
    new_file = list_file.with_suffix(".new")
    new_file.write_text(json.dumps({"place": str(ROOT), "sources": entries}), encoding="utf-8")
    new_file.replace(list_file)


def restore(list_file: Path) -> None:
    if not list_file.is_file() or was_built_after(list_file):
        return
    document = json.loads(list_file.read_text(encoding="utf-8"))
    if document["place"] != str(ROOT):
        return
    for path, content in sources().items():
        old_content, time_ns = document["sources"].get(path, (None, 0))
        if old_content == content:
            os.utime(ROOT / path, ns=(time_ns, time_ns))


def was_built_after(list_file: Path) -> bool:
    """Whether cargo, which writes a fingerprint of everything that it builds, has built anything
    since the list was made."""
    listed_ns = list_file.stat().st_mtime_ns
    target = list_file.parent
    profiles = [*target.glob("*/.fingerprint"), *target.glob("*/*/.fingerprint")]
    fingerprints = (file for profile in profiles for file in profile.glob("*/*"))
    return any(file.stat().st_mtime_ns >= listed_ns for file in fingerprints)


if __name__ == "__main__":
    verbs = {"keep": keep, "restore": restore}
    if len(sys.argv) != 2 or sys.argv[1] not in verbs:
        sys.exit(f"source_times.py: one of {', '.join(verbs)} is expected")
    verbs[sys.argv[1]](target_directory() / "source-times.json")
