"""The places of the Rust workspace and of its products. Python knows the workspace's root and
nothing below it but what Cargo.toml files say."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

from rmwbench import home
from rmwbench.errors import UserError


def root() -> Path | None:
    """The workspace beside the package in a checkout; None for an installed package, whose workers
    are in it (`brought`)."""
    candidate = Path(__file__).resolve().parents[3] / "native"
    return candidate if (candidate / "Cargo.toml").is_file() else None


def build_command(*names: str) -> str:
    """The command that builds these workers, or the tools, in a checkout; elsewhere the way to get
    them."""
    return " ".join(["rmwbench middlewares build", *names]) if root() else NOT_THERE


def target_directory() -> Path:
    """The directory in which cargo builds, as `native/target-dir` prints it. Raises UserError
    without a workspace or a Rust toolchain."""
    workspace = root()
    if workspace is None:
        raise UserError(
            "there is no Rust workspace beside this installation",
            fix=NOT_THERE,
        )
    return _printed(workspace / "target-dir", tuple(sorted(os.environ.items())))


@functools.cache
def _printed(script: Path, environment: tuple[tuple[str, str], ...]) -> Path:
    """Asked once in a process and environment: it starts the compiler to know its version."""
    completed = subprocess.run([script], env=dict(environment), capture_output=True, text=True)
    if completed.returncode:
        raise UserError(
            "cannot tell where cargo builds",
            where=str(script),
            actual=completed.stderr.strip(),
            fix=RUST_FIX,
        )
    return Path(completed.stdout.strip())


def newest_directory() -> Path:
    """The directory in which cargo builds the workers of versions that are newer than the system's.
    Raises UserError as `target_directory`."""
    return target_directory() / "newest"


def cargo_environment() -> dict[str, str]:
    """The environment of cargo. Raises UserError as `target_directory`."""
    return {**os.environ, **_own_rust(), "CARGO_TARGET_DIR": str(target_directory())}


def cargo() -> str | None:
    """The path of cargo; None where there is no Rust."""
    return shutil.which("cargo", path=_own_rust().get("PATH"))


def _own_rust() -> dict[str, str]:
    """The variables of a Rust that setup/rust put into the project's own place; empty where it did
    not. The same as setup/rust-here."""
    own_rust = home.cache() / "rust"
    if not os.access(own_rust / "cargo" / "bin" / "cargo", os.X_OK):
        return {}
    path = f"{own_rust}/cargo/bin:{os.environ.get('PATH', os.defpath)}"
    return {
        "CARGO_HOME": str(own_rust / "cargo"),
        "RUSTUP_HOME": str(own_rust / "rustup"),
        "PATH": path,
    }


NOT_THERE = (
    "install a wheel with workers (`make wheel` in a checkout makes it), or let "
    "RMWBENCH_WORKERS name some"
)
RUST_FIX = str(Path(__file__).resolve().parents[3] / "setup" / "rust")
"""Gets one, in a checkout."""
