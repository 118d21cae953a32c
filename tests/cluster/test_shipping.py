"""Programs by their content, and rmwbench itself as an archive that runs elsewhere."""

import hashlib
import io
import os
import subprocess
import sys
import zipfile

import pytest

from rmwbench.cluster.machine_actor import actor_class
from rmwbench.cluster.shipping import ShippedProgram, Store, package, programs
from rmwbench.lab.middleware import Worker

CODE = b"\x7fELF and what follows"


def program(name="rmwbench-x", content=CODE) -> ShippedProgram:
    return ShippedProgram(name, hashlib.sha256(content).hexdigest())


def test_machine_code_is_shipped_and_what_is_bound_to_its_installation_is_not(tmp_path):
    code, script, of_ros, tool = (tmp_path / f"rmwbench-{name}" for name in ("a", "b", "c", "d"))
    for path in (code, of_ros, tool):
        path.write_bytes(CODE)
    script.write_text("#!/usr/bin/python3\n")
    workers = [
        Worker(name, path, None, None)
        for name, path in (
            ("a", code),
            ("b", script),
            ("rclcpp/rmw_zenoh_cpp", of_ros),
            ("a", code),
        )
    ]
    assert programs(workers, [tool]) == {program("rmwbench-a"): code, program("rmwbench-d"): tool}


def test_a_store_keeps_what_it_has_and_wants_again_what_was_changed(tmp_path):
    store, wanted = Store(tmp_path), [program(), program("rmwbench-y", CODE + b"2")]
    assert store.lacks(wanted) == wanted
    store.put(wanted[0], CODE)
    assert store.lacks(wanted) == wanted[1:]
    links = store.link_directory(wanted[:1])
    assert [path.name for path in links.iterdir()] == ["rmwbench-x"] and (
        links / "rmwbench-x"
    ).read_bytes() == CODE
    assert (links / "rmwbench-x").stat().st_mode & 0o111
    # what an earlier process of this id left behind
    (links / f".rmwbench-x.{os.getpid()}").symlink_to("gone")
    assert store.link_directory(wanted[:1]) == links  # a second campaign
    (tmp_path / wanted[0].sha256 / "rmwbench-x").write_bytes(CODE[:-1])
    assert store.lacks(wanted) == wanted


def test_a_program_that_arrives_damaged_is_refused(tmp_path):
    with pytest.raises(ValueError, match="damaged"):
        Store(tmp_path).put(program(), CODE + b"!")
    assert list(tmp_path.rglob("rmwbench*")) == []


def test_the_archive_is_the_whole_package_and_its_hash_is_that_of_its_files():
    digest, archive = package()
    again, _ = package()
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    assert (
        digest == again
        and "rmwbench/lab/host/init.py" in names
        and "rmwbench/cluster/cluster_machine.py" in names
    )
    assert not [name for name in names if "__pycache__" in name]


def test_the_actor_runs_the_shipped_package_and_not_the_one_that_is_installed(
    tmp_path, monkeypatch
):
    """In a process of its own, as on a machine: what answers must come out of the cache."""
    code = (
        "import os, sys; from pathlib import Path; source, archive = map(Path, sys.argv[1:]); "
        "code = Path(os.environ['XDG_CACHE_HOME'], 'rmwbench/cluster/code'); "
        "(code / f'abc.{os.getpid()}.partial').mkdir(parents=True); "  # an earlier process left it
        "space = {}; exec(source.read_text(), space); "
        "actor = space['actor_class']()('abc', archive.read_bytes()); import rmwbench; "
        "print(rmwbench.__file__); print(sorted(actor.call('card')))"
    )
    (tmp_path / "archive").write_bytes(package()[1])
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    source = sys.modules[actor_class.__module__].__file__
    for _ in range(2):  # unpacked, then found
        command = [sys.executable, "-c", code, source, tmp_path / "archive"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        file, card = done.stdout.splitlines()
        assert (
            file.startswith(str(tmp_path))
            and card == "['boot', 'calibration', 'machine', 'problem']"
        )
    names = {path.name for path in (tmp_path / "rmwbench" / "cluster" / "code").iterdir()}
    assert {name for name in names if not name.endswith(".partial")} == {"abc"}


def test_an_archive_that_cannot_be_unpacked_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(zipfile.BadZipFile):
        actor_class()("abc", b"half an archive")
    assert list((tmp_path / "rmwbench" / "cluster" / "code").iterdir()) == []
