"""One middleware's state for people and scripts: built, or why not and the command that changes
it."""

from typing import Any

from rmwbench.lab.middleware import ros2, workspace
from rmwbench.lab.middleware.catalogue import Recipe, apt_command
from rmwbench.lab.middleware.find import Worker


def status(name: str, recipe: Recipe | None, worker: Worker | None) -> dict[str, Any]:
    """An entry of docs/formats/middlewares.md; what is unknown is null."""
    described = worker.description if worker else None
    reason, command = (None, None) if described else _why_not(name, recipe, worker)
    fields = ("layer", "version", "release_date", "build", "capabilities", "profiles")
    entry = {
        "middleware": name,
        "summary": recipe.summary if recipe else "",
        "first_set": recipe.first_set if recipe else False,
    }
    entry |= {
        "built": described is not None,
        "executable": str(worker.executable) if worker else None,
    }
    entry |= {field: described[field] if described else None for field in fields}
    entry["modes"] = described.get("modes") if described else None
    if described:
        entry["profiles"] = [{"summary": "", **profile} for profile in described["profiles"]]
    return entry | {"reason": reason, "command": command}


def _why_not(name: str, recipe: Recipe | None, worker: Worker | None) -> tuple[str, str | None]:
    build = f"rmwbench middlewares build {name}"
    if recipe is None:
        problem, command = (worker.problem or "", worker.fix) if worker else ("", None)
        return problem or "it does not answer", command
    if workspace.cargo() is None:
        return "there is no Rust toolchain", workspace.RUST_FIX
    if recipe.middleware == ros2.NAME and (reason := ros2.why_not()):
        return reason, ros2.SOURCE_FIX if reason == ros2.NOT_SOURCED else None
    if missing := recipe.missing_packages():
        return f"packages are missing: {', '.join(missing)}", f"{apt_command(missing)} && {build}"
    if worker is not None:
        return worker.problem or "it does not answer", worker.fix or build
    return "not built yet", build
