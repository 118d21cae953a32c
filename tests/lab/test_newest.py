"""A version that is newer than the system's: what apt is asked and told, what would be built, what
keeps it from being built, and how the two workers are found beside each other. No test asks a
network: apt and the compilers are scripts."""

import json
import os
import shutil
from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.middleware import build, debian_archive, find, source_build, workspace
from rmwbench.lab.middleware.catalogue import Newest, Recipe
from rmwbench.lab.middleware.debian_archive import SourcePackage, package_needs, plan_build
from tests.lab import fake_worker
from tests.support.command import exit_code
from tests.support.program import script

TARGETS = """\
http://mirror.example/debian/|main|Packages|Debian|Debian
http://mirror.example/debian/|main|DEP-11|Debian|Debian
http://mirror.example/debian/|main|Packages|Debian|Debian
http://mirror.example/debian/|contrib|Packages|Debian|Debian
http://mirror.example/debian-security/|main|Packages|Debian|Debian-Security
http://robots.example/ubuntu/|main|Packages|ROS|ROS
"""
SHOWSRC = """\
Package: dds
Binary: libdds-dev, libdds3
Version: 3.1.2-1
Build-Depends: libcdr-dev (>= 2.0)

Package: dds
Version: 3.10.0-1
Build-Depends: debhelper-compat (= 13), dpkg-dev (>= 1.22.5), cmake,
 doxygen <!nodoc>, libasio-dev, libcdr-dev:any (>= 2.2) | libother-dev, libgtest-dev <!nocheck>,
 json-dev
"""
CDR = "Package: cdr\nVersion: 2.3.6-1\nBuild-Depends: cmake, ninja-build\n"
NEWEST = Newest("dds", "3", 20, 1, ("-DSECURITY=ON",))
SYSTEM = {
    "libasio-dev": ("1.22", "1.22"),
    "libcdr-dev": ("1.0.26-1", "1.0.26-1"),
    "json-dev": (None, "3.11"),
}


def recipe(**changes: object) -> Recipe:
    fields = {
        "middleware": "fastdds", "crate": "rmwbench-fastdds", "summary": "",
        "prefix_env": "FASTDDS_PREFIX", "first_set": True, "build_minutes": None, "newest": NEWEST,
    }  # fmt: skip
    return Recipe(**(fields | changes))


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with these programs alone in front of its own; `log` has a line for each call."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", str(tmp_path / "target"))
    monkeypatch.delenv("RMWBENCH_WORKERS", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.setattr(find, "python_programs", lambda: ())
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    for module in (debian_archive, source_build):
        monkeypatch.setattr(module, "KEYRING", keyring)
    return Machine(tmp_path)


class Machine:
    def __init__(self, directory: Path):
        self.directory, self.log = directory, directory / "log"
        (directory / "targets").write_text(TARGETS)
        (directory / "dds").write_text(SHOWSRC)
        (directory / "libcdr-dev").write_text(CDR)
        self.program("apt-get", f'case "$*" in indextargets*) cat {directory}/targets;; esac')
        self.program(
            "apt-cache",
            f'for last; do :; done\ncase "$*" in *showsrc*) cat {directory}/$last;;\n'
            "*) case $last in libcdr-dev) v=1.0.26-1;; *) v=9;; esac\n"
            'printf "$last:\\n  Installed: $v\\n  Candidate: $v\\n";; esac',
        )
        self.program(
            "dpkg-source",
            'mkdir -p "$4/debian"; printf "export DEB_BUILD_MAINT_OPTIONS = hardening=+all\\n" '
            '> "$4/debian/rules"',
        )
        self.program(
            "cmake",
            'case $1 in -S) mkdir -p "$4"; for a; do case $a in -DCMAKE_INSTALL_PREFIX=*)\n'
            'echo "${a#*=}" > "$4/prefix";; esac; done;;\n'
            '--build) mkdir -p "$(cat "$2/prefix")/lib";; esac',
        )
        self.program("dpkg-buildflags", 'echo "-O2 of $2 $DEB_BUILD_MAINT_OPTIONS"')

    def program(self, name: str, text: str) -> None:
        script(self.directory / "bin" / name, f'echo "{name} $*" >> {self.log}\n{text}')

    def calls(self, program: str) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.startswith(f"{program} ")]


def test_the_archive_is_the_machines_own_debian_one_and_no_others(machine):
    assert debian_archive.archives() == ["http://mirror.example/debian/"]
    (machine.directory / "targets").write_text(TARGETS.replace("|Debian|Debian\n", "|R|R\n"))
    with pytest.raises(UserError, match="no archive of Debian's here") as error:
        debian_archive.archives()
    assert "apt-get update" in error.value.fix


def test_the_configuration_is_of_the_project_alone(tmp_path):
    text_of = debian_archive.files(tmp_path, ["http://mirror.example/debian/", "file:/srv/debian"])
    assert all(path.parent == tmp_path for path in text_of)
    assert text_of[tmp_path / "sources.list"] == (
        f"deb-src [signed-by={debian_archive.KEYRING}] http://mirror.example/debian/ unstable main\n"
        f"deb-src [signed-by={debian_archive.KEYRING}] file:/srv/debian unstable main\n"
    )
    text = text_of[tmp_path / "apt.conf"]
    for key in ("Etc::sourcelist", "Etc::sourceparts", "State", "State::status", "Cache"):
        assert f'Dir::{key} "{tmp_path}' in text
    assert "/etc/apt" not in text
    assert 'APT::Get::AllowUnauthenticated "false"' in text


def test_what_is_compiled_with_is_told_from_what_packages_and_tests(machine):
    [_, newer] = debian_archive.paragraphs(SHOWSRC)
    assert [str(need) for need in package_needs(newer["Build-Depends"])] == [
        "libasio-dev",
        "libcdr-dev >= 2.2",
        "json-dev",
    ]


class Archive:
    def source(self, package: str) -> SourcePackage:
        [*_, last] = debian_archive.paragraphs({"dds": SHOWSRC, "libcdr-dev": CDR}[package])
        return SourcePackage(last["Package"], last["Version"], last["Build-Depends"])


def test_what_the_system_has_too_old_is_built_first_and_what_it_lacks_is_installed():
    if shutil.which("dpkg") is None:
        pytest.skip("no dpkg here, which orders versions")
    made = plan_build(NEWEST, Archive(), SYSTEM.__getitem__)
    assert [(one.name, one.version) for one, _ in made.build] == [
        ("cdr", "2.3.6-1"),
        ("dds", "3.10.0-1"),
    ]
    assert made.build[0][1] == "dds needs libcdr-dev >= 2.2; the system has 1.0.26-1"
    assert made.system == {"libasio-dev": "1.22"}
    assert made.missing == ["json-dev"]
    # a system that has them all builds nothing else
    newer = SYSTEM | {"libcdr-dev": ("2.3", "2.3"), "json-dev": ("3.11", "3.11")}
    made = plan_build(NEWEST, Archive(), newer.__getitem__)
    assert len(made.build) == 1 and not made.missing
    # and one that could install a new one is asked to
    could = SYSTEM | {"libcdr-dev": ("1.0", "2.3")}
    assert plan_build(NEWEST, Archive(), could.__getitem__).missing == ["libcdr-dev", "json-dev"]


def test_it_is_built_from_its_sources_in_order_into_one_prefix(machine):
    said: list[str] = []
    made = source_build.prepare(recipe(), said.append)
    assert any("cdr 2.3.6-1: dds needs libcdr-dev >= 2.2" in line for line in said)
    assert "min on" in said[-1] and "1 GB" in said[-1]
    assert source_build.newest_prefix(recipe()) is None
    assert source_build.build(recipe(), made, said.append).problem is None
    at = source_build.newest_prefix(recipe())
    assert at.version == "3.10.0-1" and at.prefix == source_build.prefix_of(recipe(), "3.10.0-1")
    origin = (at.prefix / source_build.ORIGIN).read_text().splitlines()
    assert origin == ["Debian 3.10.0-1 of unstable, built here", "cdr 2.3.6-1"]
    configured = [call for call in machine.calls("cmake") if " -S " in call]
    assert ["-DSECURITY=ON" in call for call in configured] == [False, True]
    assert all(f"-DCMAKE_PREFIX_PATH={at.prefix}" in call for call in configured)
    fetched = [call for call in machine.calls("apt-get") if " source " in call]
    assert [call.rsplit(" ", 1)[1] for call in fetched] == ["cdr=2.3.6-1", "dds=3.10.0-1"]
    # every call of apt that changes something has our configuration, never the machine's alone
    conf = source_build.home_of(recipe()) / "apt" / "apt.conf"
    assert all(
        f"-c {conf} " in call for call in machine.calls("apt-get") if "indextargets" not in call
    )
    assert not (source_build.home_of(recipe()) / "work").exists()
    # asked again, nothing is compiled twice
    assert source_build.build(recipe(), made, said.append).problem is None
    assert len([call for call in machine.calls("cmake") if " -S " in call]) == 2


def test_one_that_does_not_compile_is_told_and_is_not_there(machine):
    made = source_build.prepare(recipe(), lambda text: None)
    machine.program("cmake", "exit 2")
    built = source_build.build(recipe(), made, lambda text: None)
    assert "cdr: `cmake -S" in built.problem and "status 2" in built.problem
    assert source_build.newest_prefix(recipe()) is None


def no_network(machine):
    machine.program(
        "apt-get",
        f'case "$*" in indextargets*) cat {machine.directory}/targets;;\n'
        "*update*) echo 'W: ignored' >&2; echo 'E: Temporary failure resolving mirror.example' >&2; "
        "exit 100;; esac",
    )


def no_archive(machine):
    (machine.directory / "targets").write_text("")


def no_source_package(machine):
    (machine.directory / "dds").write_text("")


def no_keyring(machine):
    debian_archive.KEYRING.unlink()


def no_sources_to_get(machine):
    machine.program(
        "apt-get",
        f'case "$*" in indextargets*) cat {machine.directory}/targets;;\n'
        "*source*) echo 'E: Failed to fetch cdr_2.3.6-1.dsc 404 Not Found' >&2; exit 100;; esac",
    )


def no_space(machine):
    (machine.directory / "full").touch()


@pytest.mark.parametrize(
    ("lack", "words"),
    [
        (no_network, ["cannot get the list", "Temporary failure", "leave out --newest"]),
        (no_archive, ["no archive of Debian's", "apt-get update"]),
        (no_source_package, ["no source package dds"]),
        (no_keyring, ["keyring", "debian-archive-keyring"]),
        (
            no_sources_to_get,
            ["cannot get Debian's source package cdr 2.3.6-1", "404", "leave out --newest"],
        ),
        (no_space, ["not enough space", "1 GB free", "XDG_CACHE_HOME"]),
    ],
)
def test_what_keeps_it_from_being_built_is_one_error(machine, monkeypatch, capsys, lack, words):
    lack(machine)
    usage = shutil.disk_usage(machine.directory)
    if lack is no_space:
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    monkeypatch.setattr(build, "choose", lambda names: [recipe()])
    monkeypatch.setattr(build, "check", lambda chosen: None)
    assert exit_code("middlewares", "build", "fastdds", "--newest") == 2
    told = capsys.readouterr().err
    assert all(word in told for word in words) and told.count("error:") == 1
    assert not machine.calls("cmake")


def test_only_what_has_a_newer_version_can_be_asked_for_it(machine, capsys):
    with pytest.raises(UserError, match="one of fastdds"):
        source_build.with_newest_source([recipe(newest=None)])
    assert source_build.with_newest_source([recipe(), recipe(newest=None)]) == [recipe()]


def installed(version: str) -> source_build.NewestPrefix:
    prefix = source_build.prefix_of(recipe(), version)
    (prefix / source_build.ORIGIN).parent.mkdir(parents=True)
    (prefix / source_build.ORIGIN).write_text("Debian\n")
    return source_build.NewestPrefix(prefix, version)


def worker_in(directory: Path, version: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return fake_worker.install(directory, describe={"middleware": "fastdds", "version": version})


def test_once_there_its_worker_is_built_with_the_systems_in_a_place_of_its_own(machine):
    assert build.with_newest([recipe()]) == [recipe()]
    at = installed("3.3.0-1")
    [system, newest] = build.with_newest([recipe()])
    assert system == recipe() and newest.middleware == "fastdds 3.3.0-1"
    assert newest.target == machine.directory / "target" / "newest"
    # also where the system's cannot be built
    assert build.with_newest([], [recipe()]) == [newest]
    built = {
        "reason": "compiler-artifact",
        "package_id": "path+file:///there/fastdds#rmwbench-fastdds@0.1.0",
        "target": {"kind": ["bin"]},
    }
    machine.program(
        "cargo",
        "[ $1 = tree ] && exit 1\n"
        f'echo "$FASTDDS_PREFIX $CARGO_TARGET_DIR" >> {machine.directory}/env\n'
        f"echo '{json.dumps(built)}'",
    )
    results = build.build([system, newest], lambda text: None)
    assert [result.problem for result in results] == [None, None]
    assert (machine.directory / "env").read_text().splitlines() == [
        f" {machine.directory / 'target'}",
        f"{at.prefix} {newest.target}",
    ]


def test_what_a_newer_one_replaced_goes_when_that_has_a_worker(machine):
    old, new = installed("3.3.0-1"), installed("3.4.0-1")
    os.utime(old.prefix / source_build.ORIGIN, ns=(1, 1))
    chosen = build.with_newest([recipe()])
    assert chosen[1].prefix == new.prefix
    source_build.remove_replaced(chosen, {"fastdds"})
    assert old.prefix.exists()
    source_build.remove_replaced(chosen, {"fastdds", "fastdds 3.4.0-1"})
    assert not old.prefix.exists() and new.prefix.exists()


def versions(worker_of: dict[str, find.Worker]) -> dict[str, str]:
    return {name: worker.description["version"] for name, worker in worker_of.items()}


def test_the_newest_has_the_name_and_the_systems_one_with_its_series(machine):
    release, newest = (machine.directory / "target" / part for part in ("", "newest"))
    worker_in(release / "release", "2.9.1")
    assert versions(find.find_workers()) == {"fastdds": "2.9.1"}
    # a suite that asks for the series gets it here too
    assert versions(find.find_workers(["fastdds-2.9"]))["fastdds-2.9"] == "2.9.1"
    worker_in(newest / "release", "3.3.0")
    both = find.find_workers()
    assert versions(both) == {"fastdds": "3.3.0", "fastdds-2.9": "2.9.1"}
    assert both["fastdds-2.9"].description["middleware"] == "fastdds-2.9"
    assert both["fastdds-2.9"].executable == release / "release" / "rmwbench-fastdds"
    assert versions(find.require_workers(["fastdds-3.3", "fastdds-2.9"])) == {
        "fastdds-3.3": "3.3.0",
        "fastdds-2.9": "2.9.1",
    }
    assert find.why_not_ready("fastdds-7.1", both) == "fastdds-7.1: fastdds is 3.3.0 here"
    with pytest.raises(UserError, match=r"fastdds-7\.1: fastdds is 3\.3\.0 here"):
        find.require_workers(["fastdds-7.1"])


def test_a_worker_whose_libraries_are_gone_no_longer_hides_the_systems(machine):
    program = worker_in(workspace.newest_directory() / "release", "3.3.0")
    worker_in(machine.directory / "target" / "release", "2.9.1")
    assert source_build.remove_orphan(recipe(newest=None)) is None
    assert source_build.remove_orphan(recipe()) == program
    assert versions(find.find_workers()) == {"fastdds": "2.9.1"}
    installed("3.3.0-1")
    worker_in(workspace.newest_directory() / "release", "3.3.0")
    assert source_build.remove_orphan(recipe()) is None


def test_a_build_on_many_processors_takes_a_minute_and_not_none(monkeypatch):
    monkeypatch.setattr(source_build, "_jobs", lambda: 128)
    assert source_build.minutes(NEWEST) == 1.0


def test_it_is_offered_where_the_systems_is_old_and_only_there(machine):
    def worker(version: str) -> find.Worker:
        described = fake_worker.DESCRIBE | {"version": version, "release_date": "2023-01-19"}
        return find.Worker("fastdds", Path("x"), described, None)

    text = source_build.offer(recipe(), worker("2.9.1"))
    assert text.startswith("fastdds: this is 2.9.1 of 2023-01, which the system has.")
    for word in ("source package `dds`", " min on ", "1 GB", "build fastdds --newest"):
        assert word in text
    assert source_build.offer(recipe(), worker("3.1.2")) is None
    assert source_build.offer(recipe(newest=None), worker("2.9.1")) is None
    assert source_build.offer(recipe(), None) is None
    installed("3.3.0-1")
    assert source_build.offer(recipe(), worker("2.9.1")) is None


def test_what_is_not_signed_is_refused_by_the_real_apt(tmp_path, monkeypatch):
    if shutil.which("apt-get") is None:
        pytest.skip("no apt here, which checks signatures")
    sources = tmp_path / "debian" / "dists" / "unstable" / "main" / "source"
    sources.mkdir(parents=True)
    (sources / "Sources").write_text(SHOWSRC)
    (sources.parents[1] / "Release").write_text("Origin: Debian\nSuite: unstable\n")
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(debian_archive, "KEYRING", keyring)
    monkeypatch.setattr(debian_archive, "archives", lambda: [f"file:{tmp_path}/debian"])
    with pytest.raises(UserError, match="is not signed"):
        debian_archive.AptArchive(tmp_path / "home").update()


def test_the_list_has_both_versions(machine, capsys):
    worker_in(machine.directory / "target" / "release", "2.9.1")
    worker_in(workspace.newest_directory() / "release", "3.3.0")
    assert exit_code("middlewares", "--json") == 0
    entries = json.loads(capsys.readouterr().out)["middlewares"]
    built = {entry["middleware"]: entry for entry in entries if entry["built"]}
    assert {name: entry["version"] for name, entry in built.items()} == {
        "fastdds": "3.3.0",
        "fastdds-2.9": "2.9.1",
    }
    assert built["fastdds-2.9"]["summary"] == built["fastdds"]["summary"] != ""


@pytest.mark.parametrize("lack", [no_network, no_keyring, no_sources_to_get])
def test_in_part_what_keeps_it_from_being_built_is_told_and_the_systems_is_built(
    machine, monkeypatch, capsys, lack
):
    lack(machine)
    asked = []
    monkeypatch.setattr(build, "choose", lambda names: [recipe()])
    monkeypatch.setattr(build, "check", lambda chosen: None)
    monkeypatch.setattr(build, "build", lambda chosen, say: asked.extend(chosen) or [])
    exit_code("middlewares", "build", "fastdds", "--newest", "--partly")
    assert asked == [recipe()]
    assert "fastdds: without its newest version: " in capsys.readouterr().out
