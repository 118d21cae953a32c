"""The files and sockets in /dev/shm and /tmp that a trial's processes left in their hosts.

Every host has a fresh /dev/shm and /tmp of its own, so all files there at the end are from this
trial, except the visible ones of the machine (`rmwbench.lab.trial_view`). All running processes exit
in order first, so the remaining files are those that nobody removes, such as those of a killed
process.
"""

import json
import marshal
import time
from collections import Counter
from collections.abc import Sequence

from rmwbench.campaign.trial.outcome import TrialOutcome, note
from rmwbench.lab import trial_view
from rmwbench.lab.host import Host, RemoteHost, SharedHost
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed, WorkerProcess

EVENT = "leftovers"
EXIT_TIMEOUT_S = 5.0
LISTING_TIMEOUT_S = 5.0
PLACES = ("/dev/shm", "/tmp")
MOST_ROWS = 1000
"""The most rows of the table per host; the event counts all files."""

# It runs in the host, in a fork of its init: only modules that the init has imported cost nothing.
PROGRAM = """
import marshal, os, stat
KINDS = ((stat.S_ISREG, "file"), (stat.S_ISSOCK, "socket"), (stat.S_ISDIR, "directory"), (stat.S_ISFIFO, "fifo"))
end = ARGUMENTS.index("")
entries, folders, excluded = [], ARGUMENTS[:end], ARGUMENTS[end + 1:]
while folders:
    for entry in os.scandir(folders.pop(0)):
        if entry.path in excluded:
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        kind = next((name for test, name in KINDS if test(status.st_mode)), "other")
        if kind == "directory":
            folders.append(entry.path)
            if any(path.startswith(entry.path + "/") for path in excluded):
                continue
        entries.append((entry.path, kind, status.st_blocks * 512))
os.write(4, marshal.dumps(entries))
"""


def take_leftovers(outcome: TrialOutcome, processes: TrialProcesses) -> None:
    """End every worker and daemon in order, then list the files: rows of the table `leftovers`, and
    an event per host with all bytes and, as text, the number of each kind."""
    _end(outcome, processes, processes.living)
    _end(
        outcome,
        processes,
        {name: daemon for name, daemon in processes.daemons.items() if not daemon.ended},
    )
    if outcome.network.shared_host:
        text = f"leftovers: the shared host's {PLACES[0]} is not listed: others use it, too"
        note(outcome, processes.hosts.first.name, "problem", text=text)
    for host in processes.hosts.remote:
        note(outcome, host, "problem", text="leftovers: not listed, the host is on another machine")
    local_hosts = [host for host in processes.hosts if host not in processes.hosts.remote]
    programs = {
        host: (PROGRAM, (*places(processes.hosts[host]), "", *trial_view.roots()))
        for host in local_hosts
    }
    for host, (status, output) in processes.run_programs(programs, LISTING_TIMEOUT_S).items():
        if status != 0:
            text = f"leftovers: the listing ended with status {status}"
            note(outcome, host, "problem", text=text)
            continue
        entries = marshal.loads(output)
        outcome.beside.leftovers += [
            {"host": host, "path": path, "kind": kind, "bytes": size}
            for path, kind, size in sorted(entries)[:MOST_ROWS]
        ]
        kinds = dict(sorted(Counter(kind for _, kind, _ in entries).items()))
        total_bytes = sum(size for *_, size in entries)
        note(outcome, host, EVENT, value=total_bytes, text=json.dumps(kinds))


def places(host: Host | RemoteHost) -> Sequence[str]:
    """Return the folders of a host that only this trial uses."""
    return (host.directory,) if isinstance(host, SharedHost) else PLACES


def _end(
    outcome: TrialOutcome, processes: TrialProcesses, workers: dict[str, WorkerProcess]
) -> None:
    """Ask processes to exit. If one does not exit in time, or crashes, this is a noted problem and
    no failure of the trial: its messages have been collected."""
    for process in workers.values():
        if not process.ended:
            process.request("exit", {})
    deadline = time.monotonic() + EXIT_TIMEOUT_S
    while [p for p in workers.values() if p.wait_status is None] and (
        rest := deadline - time.monotonic()
    ) > 0:
        try:
            processes.turn(rest)
        except WorkerFailed as failed:
            note(outcome, failed.process, "problem", text=f"exit: {failed.reason()}")
    for name, process in workers.items():
        if process.wait_status is None:
            text = f"exit: it still ran {EXIT_TIMEOUT_S:g} s after the request"
            note(outcome, name, "problem", text=text)
