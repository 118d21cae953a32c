"""What a fresh clone is spared of compiling, and when it is spared nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT_NS = 1_700_000_000_000_000_000
"""The time of every source of the old clone."""


def clone(place: Path, **changed: str) -> Path:
    """A checkout of three sources, all new."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "setup").mkdir(parents=True)
    for name in ("setup/source_times.py", "setup/rust-here"):
        shutil.copy(ROOT / name, place / name)
    (place / "native" / "shim").mkdir(parents=True)
    shutil.copy(ROOT / "native" / "target-dir", place / "native" / "target-dir")
    (place / "docs" / "formats").mkdir(parents=True)
    for name, text in ({"main": "fn main() {}", "other": "// other"} | changed).items():
        (place / "native" / "shim" / f"{name}.rs").write_text(text)
    return place


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A place whose clone was built, at `BUILT_NS`, and its list kept."""
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", str(tmp_path / "target"))
    (tmp_path / "target").mkdir()
    fingerprint(tmp_path, BUILT_NS)
    place = clone(tmp_path / "place")
    for directory, _, files in os.walk(place):
        for path in [Path(directory), *(Path(directory) / name for name in files)]:
            os.utime(path, ns=(BUILT_NS, BUILT_NS))
    run(place, "keep")
    return place


def fingerprint(tmp_path: Path, time_ns: int) -> None:
    path = tmp_path / "target" / "release" / ".fingerprint" / "main-0123" / "invoked.timestamp"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, ns=(time_ns, time_ns))


def run(place: Path, verb: str) -> None:
    subprocess.run(
        [sys.executable, place / "setup" / "source_times.py", verb], check=True, timeout=300
    )


def restored(place: Path) -> set[str]:
    run(place, "restore")
    sources = (place / "native").rglob("*")
    return {path.name for path in sources if path.stat().st_mtime_ns == BUILT_NS}


def test_a_source_that_is_the_same_again_gets_its_time(built):
    assert restored(clone(built)) == {"shim", "main.rs", "other.rs", "target-dir"}


def test_one_that_changed_is_new(built):
    assert restored(clone(built, main="fn main() { }")) == {"shim", "other.rs", "target-dir"}


def test_a_directory_with_one_more_is_new(built):
    # Cargo looks at the time of a directory that a build script names, too.
    assert restored(clone(built, more="")) == {"main.rs", "other.rs", "target-dir"}


def test_nothing_is_restored_after_a_build_that_nobody_wrote_down(built, tmp_path):
    fingerprint(tmp_path, (tmp_path / "target" / "source-times.json").stat().st_mtime_ns + 1)
    assert not restored(clone(built))
