"""The directories of the Rust workspace and of its products. Python knows the root of the workspace;
all else comes from the Cargo.toml files."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

from rmwbench import home
from rmwbench.errors import UserError


def root() -> Path | None:
    """The workspace of a checkout; None for an installed package."""
    candidate = Path(__file__).resolve().parents[3] / "native"
    return candidate if (candidate / "Cargo.toml").is_file() else None


def build_command(*names: str) -> str:
    """The command that builds workers or tools; elsewhere a sentence on how to get them."""
    return " ".join(["rmwbench middlewares build", *names]) if root() else NOT_THERE


def target_directory() -> Path:
    """The directory in which cargo builds (`native/target-dir`). Raises UserError."""
    workspace = root()
    if workspace is None:
        raise UserError(
            "there is no Rust workspace beside this installation",
            fix=NOT_THERE,
        )
    return _target_directory(workspace / "target-dir", tuple(sorted(os.environ.items())))


@functools.cache
def _target_directory(script: Path, environment: tuple[tuple[str, str], ...]) -> Path:
    """Runs the script, once per environment, since it starts the compiler."""
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
    """The directory of workers with newer libraries. Raises UserError."""
    return target_directory() / "newest"


def cargo_environment() -> dict[str, str]:
    """The environment of cargo. Raises UserError as `target_directory`."""
    return {**os.environ, **_own_rust(), "CARGO_TARGET_DIR": str(target_directory())}


def cargo() -> str | None:
    """The path of cargo; None where there is no Rust."""
    return shutil.which("cargo", path=_own_rust().get("PATH"))


def _own_rust() -> dict[str, str]:
    """The variables of the Rust that setup/rust installed, as in setup/rust-here."""
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
"""The script that installs a Rust toolchain, in a checkout."""
