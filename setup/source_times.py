"""Spares a fresh clone what an older one in the same place has compiled.

    python3 setup/source_times.py keep     after a build: writes down each source and its time
    python3 setup/source_times.py restore  before one: gives that time to what is the same again

Cargo takes a source that is newer than what was built from it for a changed one, and in a fresh
clone all are new. Nothing is restored where cargo built anything after `keep`, since nobody knows
from which sources, or where the list is another place's, whose programs know that place.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
READ_BY_CARGO = ("native", "docs/formats")


def target() -> Path:
    asked = subprocess.run([ROOT / "native" / "target-dir"], stdout=subprocess.PIPE, text=True)
    return Path(asked.stdout.strip()) if asked.returncode == 0 else Path("/nowhere")


def sources() -> dict[str, str]:
    """Path below the checkout → digest: of a file's content, of a directory's names."""
    found = {}
    for top in READ_BY_CARGO:
        for directory, folders, files in os.walk(ROOT / top):
            here = Path(directory)
            names = "\n".join(sorted(folders + files))
            found[str(here.relative_to(ROOT))] = digest(names.encode())
            for name in files:
                found[str((here / name).relative_to(ROOT))] = digest((here / name).read_bytes())
    return found


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def keep(listed: Path) -> None:
    if not listed.parent.is_dir():
        return
    kept = {path: [what, (ROOT / path).stat().st_mtime_ns] for path, what in sources().items()}
    whole = listed.with_suffix(".new")
    whole.write_text(json.dumps({"place": str(ROOT), "sources": kept}), encoding="utf-8")
    whole.replace(listed)


def restore(listed: Path) -> None:
    if not listed.is_file() or was_built_after(listed):
        return
    kept = json.loads(listed.read_text(encoding="utf-8"))
    if kept["place"] != str(ROOT):
        return
    for path, what in sources().items():
        then, time_ns = kept["sources"].get(path, (None, 0))
        if then == what:
            os.utime(ROOT / path, ns=(time_ns, time_ns))


def was_built_after(listed: Path) -> bool:
    """Cargo writes a fingerprint of all that it builds."""
    listed_ns = listed.stat().st_mtime_ns
    profiles = [*listed.parent.glob("*/.fingerprint"), *listed.parent.glob("*/*/.fingerprint")]
    fingerprints = (file for profile in profiles for file in profile.glob("*/*"))
    return any(file.stat().st_mtime_ns >= listed_ns for file in fingerprints)


if __name__ == "__main__":
    verbs = {"keep": keep, "restore": restore}
    if len(sys.argv) != 2 or sys.argv[1] not in verbs:
        sys.exit(f"source_times.py: one of {', '.join(verbs)} is expected")
    verbs[sys.argv[1]](target() / "source-times.json")
