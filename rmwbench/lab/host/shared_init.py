"""The init of a shared host: it starts processes on request in the namespaces of the machine, and
ends them all when it ends.

Run as `python -I -S -E shared_init.py FD FIRST_FREE_FD DIRECTORY`; FD and the messages are those of
init.py, whose code this uses. In place of namespaces:

* every process that is started stays a descendant of this one (PR_SET_CHILD_SUBREAPER), so that at
  the end of file on FD, to which a SIGKILL of the orchestrator leads too, all are found and killed;
* a SIGKILL of this process kills those that it started (PR_SET_PDEATHSIG, init.py); with the
  orchestrator gone too, each worker ends at the end of file on its control descriptor;
* it keeps the orchestrator's ends of the control sockets open, so that no worker ends before its
  files were looked up;
* files are in DIRECTORY, and files that a middleware must have in /dev/shm are looked up in the
  memory maps of a process before it is killed.
"""

import os
import signal
import sys
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import init
import shared_files

PR_SET_CHILD_SUBREAPER = 36
GONE_TIMEOUT_S = 4.0
"""The time in which all processes must be gone; the orchestrator waits longer for this one."""


def end_all(segments: set[str]) -> None:
    """Kills every descendant until there is none, and adds their segments to `segments`."""
    own_pid = os.getpid()
    deadline = time.monotonic() + GONE_TIMEOUT_S
    while time.monotonic() < deadline:
        for pid in shared_files.descendants(own_pid):
            segments |= shared_files.held_by(pid)
            shared_files.kill(pid, lambda pid: shared_files.is_descendant(pid, own_pid))
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def main() -> int:
    fd, first_free_fd, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    sock = init.inherited_socket(fd)
    init.leave_room(first_free_fd)
    init.run_before_the_orchestrator()
    init._libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    segments: set[str] = set()

    def note(pid: int, number: int) -> None:
        if number == signal.SIGKILL:
            segments.update(shared_files.held_by(pid))

    try:
        ready = {"ready": True, "user_namespace": False, "device": None}
        sock.send(init.marshal.dumps(ready))
        init.serve(sock, note)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the orchestrator is gone already
    finally:
        end_all(segments)
        shared_files.remove(directory, segments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
