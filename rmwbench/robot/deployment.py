"""What an arm ran with, as files for the robot: the middleware's own file, `env.sh` with the
variables that make a process read it, and `sysctl.conf` with what it asks of the kernel. Each line
says where it comes from, or what it was measured to be worth.

Where modes change what the profile says, the file is the configuration that a session opened with
here, as its middleware tells it. The directory given back by `--profile MIDDLEWARE=DIR` is the same
arm again: the file has the profile's name, since a worker may know what to do by that.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from rmwbench.campaign.plan.profile import daemons, resolved_profile
from rmwbench.campaign.plan.rehearse import in_force
from rmwbench.campaign.plan.socket_buffers import LIMITS, asked_bytes
from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.machine.checks.network_rules import IMAGES_LOST
from rmwbench.lab.middleware import Worker
from rmwbench.lab.profile_file.formats import READERS, family
from rmwbench.robot.live.live_model import ROUTER
from rmwbench.suite.arm import Arm
from rmwbench.suite.file.candidates_file import known_candidates
from rmwbench.whole_file import make_directory, write_whole

ENV, SYSCTL = "env.sh", "sysctl.conf"
HERE = '$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)'
_WORD = re.compile(r"\{(peers|unix|tcp|udp|tls)\}")
PUBLICATION_MODES = {"sync": "SYNCHRONOUS", "async": "ASYNCHRONOUS"}


def write(middleware: str, name: str, worker: Worker, directory: Path) -> list[Path]:
    """The files written. Raises UserError for an arm that there is not, one that no file can say,
    and a directory that holds something else."""
    arm = _arm(middleware, name, worker)
    native, text = _native(arm, worker)
    files = {
        native: text,
        ENV: "\n".join(_environment(arm, native, worker)) + "\n",
        SYSCTL: "\n".join(_kernel(text, native)) + "\n",
    }
    existing = [path.name for path in directory.iterdir()] if directory.is_dir() else []
    if foreign := [file_name for file_name in existing if file_name not in files]:
        raise UserError(
            "this directory holds something else",
            where=str(directory),
            expected="a new or an empty directory",
            actual=", ".join(sorted(foreign)[:3]),
        )
    make_directory(directory)
    for file, content in files.items():
        write_whole(directory / file, content)
    return [directory / file for file in files]


def _arm(middleware: str, name: str, worker: Worker) -> Arm:
    """The profile of that name, or the candidate."""
    if worker.has_profile(name):
        definition: dict[str, object] = {"name": name, "middleware": middleware, "profile": name}
        return Arm.model_validate(definition)
    arms = {
        candidate.name: dict(candidate.arm)
        for candidate in known_candidates().by_name.values()
        if candidate.arm.get("middleware") == middleware
    }
    if name not in arms:
        profiles = [profile["name"] for profile in (worker.description or {}).get("profiles", [])]
        names = [*profiles, *arms]
        raise not_one_of(f"{middleware} has no profile and no candidate `{name}`", name, names)
    return Arm.model_validate(arms[name])


def _native(arm: Arm, worker: Worker) -> tuple[str, str]:
    """The name of the middleware's own file, and what stands in it."""
    profile = resolved_profile(arm.profile, worker)
    text, form = str(profile["text"]), str(profile["format"])
    kind = family(arm.middleware)
    if form not in ("xml", "json5", "toml", "yaml", "json"):
        form = READERS[kind][0] if kind else "xml"
    if kind == "zenoh":
        text = text.replace("{router}", ROUTER)
        if arm.modes or _WORD.search(text):
            raise UserError(
                f"`{arm.name}` is made of endpoints of the trial's own, which no robot has",
                where=arm.middleware,
                expected="a profile that names where it listens and connects itself",
                fix="take untouched, tuned, rmw_zenoh or router",
            )
    elif arm.modes and (configuration := in_force(arm, worker)) is not None:
        text = configuration
    if not text.strip() and form == "xml":
        text = _EMPTY_FASTDDS if kind in ("fastdds", "fastrtps") else "<CycloneDDS/>\n"
    return f"{arm.profile.name}.{form}", text if text.endswith("\n") else text + "\n"


_EMPTY_FASTDDS = (
    "<!-- As installed: nothing is set. -->\n"
    '<profiles xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"/>\n'
)


def _environment(arm: Arm, native: str, worker: Worker) -> Iterator[str]:
    described = worker.description or {}
    version = described.get("version", "")
    yield f"# {arm.middleware} {version}, {arm.name}: source this file in every shell that starts a node."
    yield f'here="{HERE}"'
    rmw = arm.middleware.partition("/")[2]
    if rmw:
        yield "# The RMW that was measured."
        yield f"export RMW_IMPLEMENTATION={rmw}"
    worker_variable = described.get("build", {}).get("profile_variable")
    variable, uri, why = _variable(arm.middleware, worker_variable, old=version.startswith("2."))
    yield f"# {why}"
    if variable is None:
        yield f'# install -D "$here/{native}" ~/.config/iceoryx2/iceoryx2.toml'
    else:
        yield f'export {variable}="{uri}$here/{native}"'
    if "fastrtps" in rmw and arm.publish_mode in PUBLICATION_MODES:
        yield "# Which thread sends: docs/middlewares/fastdds.md."
        yield f"export RMW_FASTRTPS_PUBLICATION_MODE={PUBLICATION_MODES[arm.publish_mode]}"
    if not rmw and arm.publish_mode != "default":
        yield f"# Publish mode {arm.publish_mode}: a writer's own, which the nodes set."
    for daemon in daemons(arm, worker):
        yield f"# Before any node: {_DAEMONS.get(daemon, daemon)}"
    if arm.loan:
        yield "# It was measured with loaned messages, which the nodes themselves ask for."
    for name, value in arm.options.items():
        yield f"# Set by the worker and by no variable: {name} = {value}"


_DAEMONS = {
    "router": "ros2 run rmw_zenoh_cpp rmw_zenohd, or zenohd, on this host",
    "server": "fastdds discovery -i 0, on this host",
    "roudi": "iox-roudi, on every host",
}


def _variable(
    middleware: str, worker_variable: str | None, *, old: bool
) -> tuple[str | None, str, str]:
    """The variable, what stands before the path, and the reason. `worker_variable`: the
    name that the worker of an RMW gives; `old`: of a library whose variable was renamed since."""
    kind = family(middleware)
    if kind == "cyclonedds":
        return "CYCLONEDDS_URI", "file://", "Cyclone DDS reads its file from here."
    if kind in ("fastdds", "fastrtps"):
        name = f"{'FASTRTPS' if old else 'FASTDDS'}_DEFAULT_PROFILES_FILE"
        return worker_variable or name, "", "This version of Fast DDS reads its file from here."
    if kind == "zenoh":
        reader = "rmw_zenoh" if worker_variable else "Zenoh's Config::from_env"
        return worker_variable or "ZENOH_CONFIG", "", f"{reader} reads its file from here."
    if kind == "iceoryx2":
        return None, "", "iceoryx2 has no variable for it; it reads the file of its user:"
    raise UserError(
        f"{middleware} reads no file of its own",
        expected="cyclonedds, fastdds, zenoh or iceoryx2, or an RMW on one",
        actual=middleware,
    )


def _kernel(text: str, native: str) -> Iterator[str]:
    """sysctl.d(5): comments have lines of their own."""
    yield f"# sysctl -p {SYSCTL}, or as /etc/sysctl.d/60-rmwbench.conf for good."
    buffer_bytes = {side: asked_bytes(text, side) for side in LIMITS}
    for side, size in buffer_bytes.items():
        if size is None:
            continue
        if side == "receive":
            yield f"# Measured: {IMAGES_LOST}."
        yield f"# {native} asks for a {side} buffer of {size} bytes; the kernel grants no more than:"
        yield f"{LIMITS[side]}={size}"
    if not any(buffer_bytes.values()):
        yield f"# {native} asks nothing of the kernel."
