"""The configuration of an arm as files for the robot: the middleware's own file, `env.sh` with the
variables that make a process read it, and `sysctl.conf` with the kernel settings that it needs.
Each line gives its source, or its measured effect.

With modes, which replace settings of the profile, the file is the configuration that a session
opened with, as its middleware reports it. `--profile MIDDLEWARE=DIR` with the directory is the same
arm again: the file has the profile's name, since a worker may depend on that name.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rmwbench.campaign.plan.profile import daemons, resolved_profile
from rmwbench.campaign.plan.rehearsal import in_force
from rmwbench.campaign.plan.socket_buffers import LIMITS, asked_bytes
from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.machine.network_rules import IMAGES_LOST
from rmwbench.lab.middleware import Worker
from rmwbench.lab.profile_file.readers import READERS, family
from rmwbench.robot.live.live_model import ROUTER
from rmwbench.suite.arm import Arm
from rmwbench.suite.file.candidates_file import known_candidates
from rmwbench.whole_file import make_directory, write_whole

ENV, SYSCTL = "env.sh", "sysctl.conf"
HERE = '$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)'
_WORD = re.compile(r"\{(peers|unix|tcp|udp|tls)\}")
PUBLICATION_MODES = {"sync": "SYNCHRONOUS", "async": "ASYNCHRONOUS"}


def write(middleware: str, name: str, worker: Worker, directory: Path) -> list[Path]:
    """Writes the files and returns their paths. Raises UserError for an unknown arm, for an arm
    without a file form, and for a directory with other files."""
    arm = _arm(middleware, name, worker)
    native, text = _native(arm, worker)
    files = {
        native: text,
        ENV: _lines(_environment(arm, native, worker)),
        SYSCTL: _lines(_kernel(text, native)),
    }
    file_names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    if other_files := sorted(file_names - files.keys()):
        raise UserError(
            "this directory has other files",
            where=str(directory),
            expected="a new or an empty directory",
            actual=", ".join(other_files[:3]),
        )
    make_directory(directory)
    for file, content in files.items():
        write_whole(directory / file, content)
    return [directory / file for file in files]


def _lines(lines: Iterable[str]) -> str:
    """Each line in one line: the value of an option may have several, and only the first would be a
    comment."""
    return "".join(" ".join(line.splitlines()) + "\n" for line in lines)


def _arm(middleware: str, name: str, worker: Worker) -> Arm:
    """The arm of the profile or the candidate of that name."""
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
    """The name and the content of the middleware's own file."""
    profile = resolved_profile(arm.profile, worker)
    text, form = str(profile["text"]), str(profile["format"])
    kind = family(arm.middleware)
    if form not in ("xml", "json5", "toml", "yaml", "json"):
        form = READERS[kind][0] if kind else "xml"
    if kind == "zenoh":
        text = text.replace("{router}", ROUTER)
        if arm.modes or _WORD.search(text):
            raise UserError(
                f"`{arm.name}` has endpoints of the trial, which a robot does not have",
                where=arm.middleware,
                expected="a profile with its own endpoints to listen and connect",
                fix="use untouched, tuned, rmw_zenoh or router",
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
    description = worker.description or {}
    version = description.get("version", "")
    yield f"# {arm.middleware} {version}, {arm.name}: source this file in every shell that starts a node."
    yield f'here="{HERE}"'
    rmw = arm.middleware.partition("/")[2]
    if rmw:
        yield "# The RMW that was measured."
        yield f"export RMW_IMPLEMENTATION={rmw}"
    worker_variable = description.get("build", {}).get("profile_variable")
    variable, uri, why = _variable(arm.middleware, worker_variable, old=version.startswith("2."))
    yield f"# {why}"
    quoted = re.sub(r'([\\"$`])', r"\\\1", native)  # between double quotes
    if variable is None:
        yield f'# install -D "$here/{quoted}" ~/.config/iceoryx2/iceoryx2.toml'
    else:
        yield f'export {variable}="{uri}$here/{quoted}"'
    if "fastrtps" in rmw and arm.publish_mode in PUBLICATION_MODES:
        yield "# Which thread sends: docs/middlewares/fastdds.md."
        yield f"export RMW_FASTRTPS_PUBLICATION_MODE={PUBLICATION_MODES[arm.publish_mode]}"
    if not rmw and arm.publish_mode != "default":
        yield f"# Publish mode {arm.publish_mode}: a setting of each writer, which the nodes set."
    for daemon in daemons(arm, worker):
        yield f"# Before any node: {_DAEMONS.get(daemon, daemon)}"
    if arm.loan:
        yield "# It was measured with loaned messages, which the nodes themselves must request."
    for name, value in arm.options.items():
        yield f"# Set by the worker, without a variable: {name} = {value}"


_DAEMONS = {
    "router": "ros2 run rmw_zenoh_cpp rmw_zenohd, or zenohd, on this host",
    "server": "fastdds discovery -i 0, on this host",
    "roudi": "iox-roudi, on every host",
}


def _variable(
    middleware: str, worker_variable: str | None, *, old: bool
) -> tuple[str | None, str, str]:
    """The variable, the prefix of the path, and the reason. `worker_variable` is the name that the
    worker of an RMW gives; `old`: the library is older than the renaming of its variable."""
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
        return None, "", "iceoryx2 has no variable for its file; it reads that of the user:"
    raise UserError(
        f"{middleware} reads no file of its own",
        expected="cyclonedds, fastdds, zenoh or iceoryx2, or an RMW on one",
        actual=middleware,
    )


def _kernel(text: str, native: str) -> Iterator[str]:
    """The lines of sysctl.conf, with comments in lines of their own (sysctl.d(5))."""
    yield f"# sysctl -p {SYSCTL}, or permanently as /etc/sysctl.d/60-rmwbench.conf."
    buffer_bytes = {side: asked_bytes(text, side) for side in LIMITS}
    for side, size in buffer_bytes.items():
        if size is None:
            continue
        if side == "receive":
            yield f"# Measured: {IMAGES_LOST}."
        yield f"# {native} requests a {side} buffer of {size} bytes; the kernel grants at most:"
        yield f"{LIMITS[side]}={size}"
    if not any(buffer_bytes.values()):
        yield f"# {native} needs no kernel settings."
