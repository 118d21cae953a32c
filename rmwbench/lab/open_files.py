"""How many files a process may open. A user's limit is often 1 024, though the kernel lets every
process raise its own to a hard limit far above. Twenty nodes of iceoryx2 in one process need more
than 1 024, and a campaign holds some of each worker.
"""

import resource

ENOUGH = 65_536
"""Some programs close, one by one, all files that they might have: a million would take them a
while."""


def attainable() -> int:
    """What a process gets that is started for a trial."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ENOUGH if resource.RLIM_INFINITY in (soft, hard) else max(soft, min(hard, ENOUGH))


def raise_limit() -> None:
    """Raises the limit of open files for this process and those that it starts from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = attainable()
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
