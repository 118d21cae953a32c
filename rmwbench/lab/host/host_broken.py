"""The failure of a host, and the advice that its user gets."""

import errno
import os

from rmwbench.errors import UserError
from rmwbench.lab.kernel_files import file_text


class HostBroken(Exception):
    """A host could not be made, or its init ended by itself, at `step`."""

    def __init__(self, step: str, error_number: int | None = None):
        self.step, self.errno = step, error_number
        super().__init__(f"{step}: {os.strerror(error_number)}" if error_number else step)


def advice(broken: HostBroken) -> UserError:
    """The error that tells what is missing on this machine, and what to do."""
    step, _, target = broken.step.partition(" ")
    if step == "mount" and broken.errno in (errno.ENOENT, errno.ENOTDIR):
        return UserError(
            f"there is no directory {target} for a host to put its own over",
            where=target,
            expected="a directory",
            actual=os.strerror(broken.errno),
            fix=f"as root: mkdir -m 1777 {target}",
        )
    if step == "open" or broken.step.endswith("a TAP device"):
        return _no_tap(broken)
    switches = ["kernel.unprivileged_userns_clone=1", "user.max_user_namespaces=10000"]
    if file_text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        switches = ["kernel.apparmor_restrict_unprivileged_userns=0"]
    container = "--cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined"
    container += " --security-opt apparmor=unconfined"
    denied = broken.errno in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS)
    fix = (
        f"run as root, or as root once `sysctl -w {' '.join(switches)}`; in a container add "
        f"{container}"
    )
    return UserError(
        "cannot make the isolated host that every trial runs in",
        where=broken.step,
        expected="CAP_SYS_ADMIN and CAP_NET_ADMIN, or user namespaces for this user",
        actual=os.strerror(broken.errno) if broken.errno else str(broken),
        fix=fix if denied else None,
    )


def _no_tap(broken: HostBroken) -> UserError:
    """The error for a machine on which hosts can be made, but no network between them."""
    device = "/dev/net/tun"
    if broken.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        fix = f"as root: modprobe tun; in a container add --device {device}"
    elif broken.errno in (errno.EACCES, errno.EPERM):
        fix = f"as root: chmod 0666 {device}, as most distributions have it, or run as root"
    else:
        fix = None
    return UserError(
        "workloads over several hosts need TAP devices, which cannot be made here; workloads on "
        "one host still run",
        where=broken.step,
        expected=f"{device}, open to this user",
        actual=os.strerror(broken.errno) if broken.errno else str(broken),
        fix=fix,
    )
