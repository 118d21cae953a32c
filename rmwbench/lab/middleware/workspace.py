"""Where the Rust workspace and its products are. Python knows the workspace's root and nothing below it but what
Cargo.toml files say."""

import os
import subprocess
from pathlib import Path

from rmwbench.errors import UserError


def root() -> Path | None:
    """The workspace beside the package in a checkout; None for an installed package, which brings its workers along
    otherwise."""
    candidate = Path(__file__).resolve().parents[3] / "native"
    return candidate if (candidate / "Cargo.toml").is_file() else None


def target_directory() -> Path:
    """What `native/target-dir` prints. Raises UserError without a workspace or a Rust toolchain."""
    workspace = root()
    if workspace is None:
        raise UserError(
            "there is no Rust workspace beside this installation",
            fix="set RMWBENCH_WORKERS to a directory with built workers, or run from a checkout",
        )
    done = subprocess.run([workspace / "target-dir"], capture_output=True, text=True)
    if done.returncode:
        raise UserError(
            "cannot tell where cargo builds",
            where=str(workspace / "target-dir"),
            actual=done.stderr.strip(),
            fix=RUST_FIX,
        )
    return Path(done.stdout.strip())


def cargo_environment() -> dict[str, str]:
    return {**os.environ, "CARGO_TARGET_DIR": str(target_directory())}


RUST_FIX = "install Rust: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
