"""The limit of open files of a process. A user's limit is often 1 024, though the kernel lets every
process raise its own to a far higher hard limit. Twenty nodes of iceoryx2 in one process need more
than 1 024, and a campaign holds some files of each worker.
"""

import resource

ENOUGH = 65_536
"""It is no higher, because some programs close all possible descriptors one by one."""


def attainable_limit() -> int:
    """The limit that a process of a trial gets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ENOUGH if resource.RLIM_INFINITY in (soft, hard) else max(soft, min(hard, ENOUGH))


def raise_limit() -> None:
    """Raises the limit of open files for this process and those that it starts from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = attainable_limit()
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
