"""What a machine lacks before the first build: setup/preflight says it and changes nothing, setup/apt
and setup/rust install it, or say how and go on."""

import hashlib
import platform
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.program import run_program, script

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "setup"


@pytest.fixture
def without_packages(tmp_path):
    """A PATH on which no package is installed and nobody is root."""
    for name in ("sh", "dirname", "grep", "env", "echo", "cat", "awk"):
        (tmp_path / name).symlink_to(Path("/usr/bin", name))
    script(tmp_path / "dpkg-query", "exit 1")
    script(tmp_path / "id", "echo 1000")
    script(tmp_path / "cc")
    return tmp_path


def apt(without_packages: Path):
    return run_program(SETUP / "apt", "run", env={"PATH": str(without_packages)})


def test_without_sudo_the_rest_goes_on(without_packages):
    script(without_packages / "apt-get", "echo called; exit 0")
    done = apt(without_packages)
    assert done.returncode == 0 and "called" not in done.stdout
    assert "no sudo" in done.stderr and "do: " in done.stderr and "cmake" in done.stderr


def test_a_sudo_that_refuses_does_not_end_the_demo(without_packages):
    script(without_packages / "apt-get")
    script(without_packages / "sudo", "echo 'a password is required' >&2; exit 1")
    done = apt(without_packages)
    assert done.returncode == 0 and "Not installed:" in done.stderr


def test_without_a_compiler_it_ends_here(without_packages):
    (without_packages / "cc").unlink()
    done = apt(without_packages)
    assert done.returncode == 2 and "C compiler" in done.stderr


def test_with_sudo_it_is_shown_and_done(without_packages):
    script(without_packages / "apt-get", f"echo $DEBIAN_FRONTEND $@ >>{without_packages}/calls")
    script(without_packages / "sudo", 'exec "$@"')
    done = apt(without_packages)
    assert done.returncode == 0 and "+ sudo apt-get update && sudo apt-get install" in done.stdout
    update, install = (without_packages / "calls").read_text().splitlines()
    assert update == "update -qq" and install.startswith("noninteractive install -y -qq")
    assert " cmake " in install


INIT = """#!/bin/sh
echo "$@" >"$CARGO_HOME.arguments" || { mkdir -p "${CARGO_HOME%/*}" && echo "$@" >"$CARGO_HOME.arguments"; }
mkdir -p "$CARGO_HOME/bin"
for name in cargo rustc; do
    printf '#!/bin/sh\\necho "%s 1.95.0 (stand-in)"\\n' $name >"$CARGO_HOME/bin/$name"
    chmod +x "$CARGO_HOME/bin/$name"
done
"""


@pytest.fixture
def server(tmp_path):
    """A server's files, a PATH without Rust, and a cache."""
    files = tmp_path / "served" / "dist" / f"{platform.machine()}-unknown-linux-gnu"
    files.mkdir(parents=True)
    (files / "rustup-init").write_text(INIT)
    (files / "rustup-init.sha256").write_text(
        f"{hashlib.sha256(INIT.encode()).hexdigest()} *./rustup-init\n"
    )
    programs = tmp_path / "bin"
    programs.mkdir()
    for directory in ("/usr/local/bin", "/usr/bin", "/bin"):
        for path in Path(directory).glob("*"):
            if (
                path.name not in ("cargo", "rustc", "rustup")
                and not (programs / path.name).exists()
            ):
                (programs / path.name).symlink_to(path)

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Silent, directory=tmp_path / "served")
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            "PATH": str(programs),
            "HOME": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }
        yield files, environment | {"RUSTUP_UPDATE_ROOT": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


def run(program: str, environment: dict[str, str]):
    return run_program(ROOT / program, env=environment)


def test_rust_is_fetched_into_a_place_of_its_own_and_found_there(server):
    _, environment = server
    done = run("setup/rust", environment)
    assert done.returncode == 0, done.stderr
    own = Path(environment["XDG_CACHE_HOME"], "rmwbench", "rust")
    assert str(own) in done.stdout and "+ rustup-init" in done.stdout and "has none" in done.stdout
    arguments = (own / "cargo.arguments").read_text()
    assert "--no-modify-path" in arguments and "--profile minimal" in arguments
    again = run("setup/rust", environment)
    assert (again.returncode, again.stdout) == (0, "")
    target = run("native/target-dir", environment)
    assert target.returncode == 0 and "/rmwbench/target-" in target.stdout


@pytest.mark.parametrize("broken", ["checksum", "absent"])
def test_what_does_not_arrive_whole_is_not_run(server, broken):
    files, environment = server
    if broken == "checksum":
        (files / "rustup-init.sha256").write_text("0" * 64)
    else:
        (files / "rustup-init").unlink()
    done = run("setup/rust", environment)
    assert done.returncode == 2 and "do: " in done.stderr and "Traceback" not in done.stderr
    assert not any(Path(environment["XDG_CACHE_HOME"]).rglob("cargo*"))


TOOLS = (
    "sh",
    "dirname",
    "awk",
    "head",
    "cut",
    "find",
    "sed",
    "env",
    "cat",
    "ls",
    "mkdir",
    "rm",
    "grep",
    "sort",
    "tr",
)


def with_free_mb(machine: Path, amount: int) -> None:
    script(machine / "df", f"echo heading; echo disk 1 1 {amount} 1% /")


def preflight(machine: Path):
    environment = {"PATH": str(machine), "HOME": str(machine / "home")}
    return run_program(SETUP / "preflight", env=environment, timeout=60)


def line(machine: Path, name: str) -> str:
    return next(x for x in preflight(machine).stdout.splitlines() if x.split()[:1] == [name])


@pytest.fixture
def machine(tmp_path):
    """A machine made of stand-ins: all packages, Rust, namespaces and much disk."""
    (tmp_path / "home").mkdir()
    for name in TOOLS:
        (tmp_path / name).symlink_to(shutil.which(name))
    script(tmp_path / "id", "echo 1000")
    script(tmp_path / "unshare")
    script(tmp_path / "dpkg-query", "echo install ok installed")
    script(tmp_path / "rustc", "echo rustc 1.95.0")
    script(tmp_path / "cargo", "echo cargo 1.95.0")
    with_free_mb(tmp_path, 90_000)
    return tmp_path


def test_a_machine_that_has_everything_is_said_to_and_nothing_is_changed(machine):
    done = preflight(machine)
    assert done.returncode == 0 and not done.stderr
    for part in ("host of its own", "all are here", "rustc 1.95.0", "90000 MB free"):
        assert part in done.stdout
    assert not any((machine / "home").iterdir())


def test_missing_packages_are_named_and_who_cannot_install_them_hears_that_it_goes_on_without(
    machine,
):
    script(
        machine / "dpkg-query", 'case "$*" in *cmake*) exit 1 ;; esac; echo install ok installed'
    )
    assert line(machine, "packages").endswith("this user cannot install them: cmake")
    script(machine / "sudo", "exit 1")
    script(machine / "apt-get")
    assert line(machine, "packages").endswith("to be installed: cmake")


def test_a_package_of_two_architectures_is_installed(machine):
    """It was to be installed, after `make wheel TARGET=…` had brought the second."""
    script(machine / "dpkg-query", "echo install ok installed; echo install ok installed")
    assert line(machine, "packages").endswith("all are here")


def test_too_little_disk_is_refused_before_the_build(machine):
    with_free_mb(machine, 5000)
    done = preflight(machine)
    assert done.returncode == 2 and "RMWBENCH_TARGET_DIR" in done.stderr
    assert "5000 MB free" in done.stdout


@pytest.mark.parametrize(
    ("granted", "warns"), [("4194304", True), ("16777216", False), ("", False)]
)
def test_a_receive_buffer_that_tuned_is_not_granted_is_said_before_the_build(
    machine, granted, warns
):
    script(machine / "cat", f"case $1 in */rmem_max) echo {granted};; esac")
    done = preflight(machine)
    assert done.returncode == 0 and not done.stderr
    assert ("sysctl -w net.core.rmem_max=33554432" in done.stdout) == warns


@pytest.mark.parametrize(
    ("place", "tries", "words"),
    [("trixie-rot", "demo", "place trixie-rot"), ("trixie-root", "dmo", "try dmo")],
)
def test_trees_refuses_a_word_before_it_makes_a_tree(tmp_path, place, tries, words):
    """A wrong place ended it without a word after half an hour."""
    environment = {"PATH": "/usr/bin:/bin", "TRIES": tries}
    done = run_program(SETUP / "trees", tmp_path / "trees", place, env=environment)
    assert done.returncode == 2 and f"there is no {words}, but: " in done.stderr
    assert not (tmp_path / "trees").exists()
