"""setup/rust, where there is no Rust or an old one: from a stand-in of the distribution server,
into the project's own place."""

import hashlib
import platform
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.program import run_program

ROOT = Path(__file__).resolve().parents[2]
INIT = """#!/bin/sh
echo "$@" >"$CARGO_HOME.arguments" || { mkdir -p "${CARGO_HOME%/*}" && echo "$@" >"$CARGO_HOME.arguments"; }
mkdir -p "$CARGO_HOME/bin"
for name in cargo rustc; do
    printf '#!/bin/sh\\necho "%s 1.95.0 (stand-in)"\\n' $name >"$CARGO_HOME/bin/$name"
    chmod +x "$CARGO_HOME/bin/$name"
done
"""


@pytest.fixture
def place(tmp_path):
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


def test_rust_is_fetched_into_a_place_of_its_own_and_found_there(place):
    _, environment = place
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
def test_what_does_not_arrive_whole_is_not_run(place, broken):
    files, environment = place
    if broken == "checksum":
        (files / "rustup-init.sha256").write_text("0" * 64)
    else:
        (files / "rustup-init").unlink()
    done = run("setup/rust", environment)
    assert done.returncode == 2 and "do: " in done.stderr and "Traceback" not in done.stderr
    assert not any(Path(environment["XDG_CACHE_HOME"]).rglob("cargo*"))
