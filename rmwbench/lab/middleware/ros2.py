"""Builds the worker on rclcpp with plain cmake in the sourced ROS 2. The build lies outside of it,
and each installation of a ROS 2 has its own.

Neither colcon nor a workspace of the user's is needed: two packages of ours (ros2/) are configured,
built and installed one after the other. The build of another ROS 2 is never used, since the name of
the directory follows from the installation. The packages and the harness are those of the checkout,
or those of a wheel, for which no cargo is needed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rmwbench import home
from rmwbench.errors import UserError
from rmwbench.lab.middleware import catalogue, workspace
from rmwbench.lab.middleware.catalogue import Recipe

NAME = "rclcpp"
HARNESS = "rmwbench-worker"
PACKAGES = ("rmwbench_msgs", "rmwbench_rclcpp")
VARIABLE = "AMENT_PREFIX_PATH"
NOT_SOURCED, NO_CMAKE = "no ROS 2 is sourced", "cmake is missing"
SOURCE_FIX = "source your ROS 2 first, for example `. /opt/ros/jazzy/setup.sh`"
_BUILD_MINUTES = 5.0

GENERATORS_NEED = {
    "numpy": "python3-numpy",
    "em": "python3-empy",
    "lark": "python3-lark",
    "catkin_pkg": "python3-catkin-pkg",
}
"""The modules that ROS 2's generators import, and the packages of Debian and Ubuntu that have them,
by package.xml of rosidl_generator_py, rosidl_adapter, rosidl_parser and ament_cmake_core."""


def sources() -> Path | None:
    """The directory of PACKAGES, in the checkout or from a wheel; None without either."""
    root = workspace.root()
    return root.parent / "ros2" if root else catalogue.ros2_packages()


def recipes() -> dict[str, Recipe]:
    """The recipe of the worker, by its name; empty without its sources."""
    if sources() is None:
        return {}
    recipe = Recipe(
        middleware=NAME,
        crate=HARNESS,
        summary="ROS 2's C++ client library over every RMW of the sourced ROS 2",
        first_set=False,
        build_minutes=_BUILD_MINUTES,
    )
    return {NAME: recipe}


def prefixes() -> list[Path]:
    """The prefixes of the sourced ROS 2 and of its overlays, the topmost first."""
    return [Path(part) for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]


def install_command(rmw: str) -> str:
    """The command that installs an RMW, whose package has its name."""
    distribution = os.environ.get("ROS_DISTRO")
    if distribution is None:
        return f"install {rmw} and source that ROS 2 again"
    package = f"ros-{distribution}-{rmw.replace('_', '-')}"
    return f"{_apt_command(package)}, then source that ROS 2 again"


def _apt_command(*packages: str) -> str:
    return f"{catalogue.sudo()}apt-get install -y {' '.join(packages)}"


def why_not() -> str | None:
    """The reason why the worker cannot be built; None where it can."""
    if not prefixes():
        return NOT_SOURCED
    if _rclcpp() is None:
        return "the sourced ROS 2 has no rclcpp"
    return None if shutil.which("cmake") else NO_CMAKE


def check() -> None:
    """Checks that the worker can be built. Raises UserError where it cannot."""
    reason = why_not()
    if reason is not None:
        raise UserError(
            f"the worker on rclcpp is built in a ROS 2: {reason}",
            expected=f"{VARIABLE} with an install that has rclcpp",
            actual=os.environ.get(VARIABLE) or "not set",
            fix=_apt_command("cmake", "g++") if reason == NO_CMAKE else SOURCE_FIX,
        )
    environment = _environment(dict(os.environ))
    missing_of = {path: _lacks(path, environment) for path in _pythons(environment)}
    if [] in missing_of.values():
        return
    # The last Python on PATH is the system's, to which these packages belong.
    missing = list(missing_of.values())[-1] if missing_of else list(GENERATORS_NEED)
    raise UserError(
        "the worker on rclcpp needs ROS 2's generators, and no Python here has all their imports",
        expected=f"a python3 on PATH that can import {', '.join(GENERATORS_NEED)}",
        actual="; ".join(f"{path} lacks {', '.join(names)}" for path, names in missing_of.items())
        or "no python3 on PATH",
        fix=_apt_command(*(GENERATORS_NEED[name] for name in missing)),
    )


def python(environment: Mapping[str, str]) -> Path | None:
    """The first python3 of that PATH with all imports of the generators; None without one. CMake
    would take the first of all and fail, for example where that of a version manager stands before
    the system's, or the system's before that of the environment for which ROS 2 was built."""
    return next((path for path in _pythons(environment) if not _lacks(path, environment)), None)


def worker_directory() -> Path | None:
    """The directory of the worker for the sourced ROS 2, whether built or not; None without a
    ROS 2. Raises UserError in a checkout without a Rust toolchain."""
    directory = _build_directory()
    return directory / "install" / "lib" / PACKAGES[1] if directory else None


def build() -> str | None:
    """Builds harness, messages and worker, in the terminal. Returns the problem, or None."""
    root, packages, directory = workspace.root(), sources(), _build_directory()
    assert packages is not None and directory is not None, "check() comes first"
    environment = _environment(workspace.cargo_environment() if root else dict(os.environ))
    python3 = python(environment)
    install = directory / "install"
    # A ROS 2 has a hundred prefixes; as an argument they would hide the rest of a failed command.
    # The earlier value names packages without ament, for example Fast CDR in a workspace.
    earlier_prefixes = environment.get("CMAKE_PREFIX_PATH", "").split(os.pathsep)
    places = dict.fromkeys(map(str, [install, *prefixes(), *filter(None, earlier_prefixes)]))
    environment["CMAKE_PREFIX_PATH"] = os.pathsep.join(places)
    if root is None:
        native, library = packages / catalogue.NATIVE, catalogue.BROUGHT / catalogue.LIBRARY
        steps = []
    else:
        native = root
        library = workspace.target_directory() / "release" / "librmwbench_worker.a"
        steps = [(["cargo", "build", "--release", "--locked", "-p", HARNESS], root)]
    for package in PACKAGES:
        source, tree = packages / package, directory / package
        if not is_configured_from(source, tree):
            shutil.rmtree(tree, ignore_errors=True)
        configure = ["cmake", "-S", str(source), "-B", str(tree), "-DBUILD_TESTING=OFF"]
        configure += ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_INSTALL_PREFIX={install}"]
        configure += [f"-DPython3_EXECUTABLE={python3}"]
        if package == PACKAGES[1]:
            configure += [f"-DRMWBENCH_NATIVE={native}", f"-DRMWBENCH_HARNESS={library}"]
        if shutil.which("ninja") and not (tree / "CMakeCache.txt").exists():
            configure += ["-G", "Ninja"]
        parallel = ["--parallel", str(os.cpu_count() or 1)]
        make = ["cmake", "--build", str(tree), *parallel, "--target", "install"]
        steps += [(configure, packages), (make, packages)]
    for command, at in steps:
        code = subprocess.run(command, cwd=at, env=environment, stdin=subprocess.DEVNULL).returncode
        if code:
            return f"`{' '.join(command)}` in {at} ended with status {code}"
    return None


def is_configured_from(source: Path, tree: Path) -> bool:
    """Whether CMake configured `tree` from `source` at the present paths of both."""
    cache = tree / "CMakeCache.txt"
    if not cache.is_file():
        return False
    cache_lines = {
        f"CMAKE_HOME_DIRECTORY:INTERNAL={source}",
        f"CMAKE_CACHEFILE_DIR:INTERNAL={tree}",
    }
    return cache_lines <= set(cache.read_text(errors="replace").splitlines())


def _rclcpp() -> Path | None:
    """The package.xml of the sourced rclcpp; None without one."""
    return next(
        (
            path
            for prefix in prefixes()
            if (path := prefix / "share" / "rclcpp" / "package.xml").is_file()
        ),
        None,
    )


def _build_directory() -> Path | None:
    """The directory of the build for the sourced ROS 2; None without one. Its name follows from the
    path and the content of rclcpp's package.xml, which has the version."""
    package_file = _rclcpp()
    if package_file is None:
        return None
    key = hashlib.sha256(str(package_file).encode() + package_file.read_bytes()).hexdigest()[:12]
    target = workspace.target_directory() if workspace.root() else home.cache()
    return target / "ros2" / key


def _pythons(environment: Mapping[str, str]) -> list[Path]:
    directories = environment.get("PATH", "").split(os.pathsep)
    return [
        path
        for directory in directories
        if directory and os.access(path := Path(directory, "python3"), os.X_OK)
    ]


def _lacks(python3: Path, environment: Mapping[str, str]) -> list[str]:
    """The generators' modules that a Python cannot import; all where it does not run."""
    code = (
        "import sys\n"
        "for name in sys.argv[1:]:\n"
        "    try: __import__(name)\n"
        "    except Exception: print(name)\n"
    )
    try:
        completed = subprocess.run(
            [str(python3), "-c", code, *GENERATORS_NEED],
            env=dict(environment),
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return list(GENERATORS_NEED)
    return completed.stdout.split()


def _environment(base: dict[str, str]) -> dict[str, str]:
    """The variables without rmwbench's virtual environment, which ROS 2 does not know."""
    own_directory = str(Path(sys.prefix) / "bin")
    path = os.pathsep.join(
        part for part in base.get("PATH", "").split(os.pathsep) if part != own_directory
    )
    environment = base | {"PATH": path}
    if environment.get("VIRTUAL_ENV") == sys.prefix:
        del environment["VIRTUAL_ENV"]
    return environment
