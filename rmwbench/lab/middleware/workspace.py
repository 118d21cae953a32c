"""Where the Rust workspace and its products are. Python knows the workspace's root and nothing below it but what
Cargo.toml files say."""

import os
import subprocess
from pathlib import Path

from rmwbench.errors import UserError


def root() -> Path | None:
    """The workspace beside the package in a checkout; None for an installed package, whose workers are in it
    (`brought`)."""
    candidate = Path(__file__).resolve().parents[3] / "native"
    return candidate if (candidate / "Cargo.toml").is_file() else None


def build_command(*names: str) -> str:
    """What brings these workers, or the tools: a command in a checkout, and else what there is instead."""
    return " ".join(["rmwbench middlewares build", *names]) if root() else NOT_THERE


def target_directory() -> Path:
    """What `native/target-dir` prints. Raises UserError without a workspace or a Rust toolchain."""
    workspace = root()
    if workspace is None:
        raise UserError(
            "there is no Rust workspace beside this installation",
            fix=NOT_THERE,
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


NOT_THERE = "install a wheel with workers (`make wheel` in a checkout makes it), or let RMWBENCH_WORKERS name some"
RUST_FIX = "install Rust: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
