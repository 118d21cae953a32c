"""What the kernel says of this machine in its files: their text, and this process's control
groups."""

from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")


def file_text(path: str | Path) -> str | None:
    """The text of a file without the blanks around it; None where it is empty or cannot be
    read."""
    try:
        return Path(path).read_text(errors="replace").strip() or None
    except OSError:
        return None


def kernel_value(path: str | Path) -> str | None:
    """The value of a setting's file: of several words the one in brackets, as in `always [madvise]
    never`; None where there is none."""
    words = (file_text(path) or "").split()
    marked = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    return marked[0] if len(marked) == 1 else " ".join(words) or None


def own_groups(controller: str) -> dict[Path, Path]:
    """Root of a hierarchy → the directory of this process's group below it: version 1's hierarchy
    of that controller, whose root has its name, and version 2's, which lies at either of two
    roots."""
    directories: dict[Path, Path] = {}
    for line in (file_text("/proc/self/cgroup") or "").splitlines():
        _, controllers, group = line.split(":", 2)
        if not controllers:
            roots = [CONTROL_GROUPS, CONTROL_GROUPS / "unified"]
        else:
            roots = [CONTROL_GROUPS / controller] if controller in controllers.split(",") else []
        directories |= {root: root / group.lstrip("/") for root in roots}
    return directories
