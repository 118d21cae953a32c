"""The command line as a process of its own, without the second that its imports take.

A test process starts one server, `python -m tests.support.command`, which imports what verbs need
and does nothing else. `rmwbench(...)` has it forked: the child takes the directory, the
environment, the streams and the words of the command, runs `main`, and ends as a process does
(`_run`). So a test sees a real process: its exit code, its streams, its signals, its limits. What a
start itself decides (the encoding of the streams, imports, a shell around the command) is tested by
`COMMAND`, which is a new interpreter. What a test replaces in the program, or reads by `capsys`,
needs the test's own process: `exit_code(...)`.
"""

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import random
import resource
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import kept

COMMAND = [sys.executable, "-c", "from rmwbench.cli.main import main; main()"]

LIBRARIES = (
    "altair",
    "pyarrow.parquet",
    "rich.table",
    "scipy.special",
    "scipy.stats",
    "vl_convert",
)
"""What verbs import in their functions."""

NOT_IMPORTED = (
    "rmwbench.cluster",
    "rmwbench.lab.camera.frame_program",
    "rmwbench.lab.camera.paced_program",
    "rmwbench.bundle.sql",
)
"""What needs Ray, what is a program of another process, and DuckDB, which complains where a fork of
it ends."""

MOST_REQUEST_BYTES = 1024 * 1024


def rmwbench(
    *words: object,
    cwd: Path | str | None = None,
    env: dict[str, str] | None = None,
    text: bool = True,
    timeout: float = 300,
    stdout: int | None = None,
    most_file_bytes: int | None = None,
) -> subprocess.CompletedProcess[Any]:
    """Runs `rmwbench WORDS` and returns what it wrote, and its exit code, as subprocess.run does.

    `stdout` is a descriptor that takes the output instead; `most_file_bytes` is the limit of
    RLIMIT_FSIZE. The result's `pid` is that of the process. TimeoutExpired after `timeout` seconds;
    then the process is killed.
    """
    arguments = [
        os.fsdecode(word) if isinstance(word, bytes | os.PathLike) else str(word) for word in words
    ]
    request = {
        "arguments": arguments,
        "cwd": os.path.abspath(cwd or os.getcwd()),
        "env": dict(os.environ if env is None else env),
        "most_file_bytes": most_file_bytes,
    }
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(_server())
        given = [0, out_end if stdout is None else stdout, err_end]
        socket.send_fds(connection, [json.dumps(request).encode()], given)
        os.close(out_end)
        os.close(err_end)
        pid = int(connection.recv(64))
        read = {out: b"", err: b""}
        readers = [threading.Thread(target=_read_all, args=(end, read)) for end in read]
        for reader in readers:
            reader.start()
        connection.settimeout(timeout)
        try:
            code = int(connection.recv(64))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(["rmwbench", *arguments], timeout) from None
        finally:
            for reader in readers:
                reader.join()
    written = [_decoded(read[end]) if text else read[end] for end in (out, err)]
    done = subprocess.CompletedProcess(["rmwbench", *arguments], code, *written)
    done.pid = pid
    return done


def exit_code(*words: object) -> int:
    """Runs `rmwbench WORDS` in the test's own process."""
    from rmwbench.cli.main import main

    try:
        main([str(word) for word in words])
    except SystemExit as ended:
        return int(ended.code or 0)
    raise AssertionError("the command did not end the process")


def run_suite(directory: Path, text: str) -> int:
    """Runs a suite with this text in the test's own process, into `directory`/out."""
    (directory / "suite.yaml").write_text(text)
    return exit_code("run", directory / "suite.yaml", "--out", directory / "out", "--no-report")


def captured(capsys: Any, *words: object) -> tuple[int, str, str]:
    """Runs `rmwbench WORDS` in the test's own process: exit code, output and errors."""
    code = exit_code(*words)
    written = capsys.readouterr()
    return code, written.out, written.err


def _read_all(end: int, read: dict[int, bytes]) -> None:
    with open(end, "rb") as file:
        read[end] = file.read()


def _decoded(written: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(written)).read()


@cache
def _server() -> str:
    """The address of this test process's server, which is started at the first call and ends with
    this process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.command"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    atexit.register(process.communicate)  # the end of its stdin is its end
    assert process.stdout is not None
    if not (name := process.stdout.readline().decode().strip()):
        raise RuntimeError(
            f"the server of commands ended with {process.wait()}: what it imports is broken "
            "(stderr)"
        )
    return f"\0{name}"


def _serve() -> None:
    """Waits for commands. Returns in the process of each, which has all of the command but its
    `main`."""
    _import_everything()
    gc.collect()
    kept.flush_nothing()
    gc.freeze()  # what is never collected is not copied, nor taken apart at the end of each command
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind("")  # an abstract address that the kernel chooses
    listening.listen(64)
    print(os.fsdecode(listening.getsockname()[1:]), flush=True)
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ)
    selector.register(0, selectors.EVENT_READ)
    children: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for key, _ in selector.select():
            if key.fd == 0:
                os._exit(0)
            if key.fd in children:
                pid, connection = children.pop(key.fd)
                selector.unregister(key.fd)
                os.close(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                connection.send(str(code).encode())
                connection.close()
                continue
            connection, _ = listening.accept()
            message, streams, _, _ = socket.recv_fds(connection, MOST_REQUEST_BYTES, 3)
            pid = os.fork()
            if pid == 0:
                # By their objects: those that a circle keeps would close the numbers again later.
                selector.close()
                listening.close()
                connection.close()
                for pidfd, (_, other) in children.items():
                    os.close(pidfd)
                    other.close()
                _become(json.loads(message), streams)
                return
            for stream in streams:
                os.close(stream)
            connection.send(str(pid).encode())
            pidfd = os.pidfd_open(pid)
            children[pidfd] = (pid, connection)
            selector.register(pidfd, selectors.EVENT_READ)


def _import_everything() -> None:
    import rmwbench

    for name in LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(rmwbench.__path__, "rmwbench."):
        if not module.name.startswith(NOT_IMPORTED):
            importlib.import_module(module.name)


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Makes this process that of a command."""
    for place, (stream, name) in enumerate(
        zip(streams, ("stdin", "stdout", "stderr"), strict=True)
    ):
        os.dup2(stream, place)
        os.close(stream)
        _open_anew(name, place)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv[1:] = request["arguments"]
    if request["most_file_bytes"] is not None:
        # Python leaves a module's cached bytecode cut off at the limit, and then nobody can import it.
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["most_file_bytes"],) * 2)
    random.seed()


def _open_anew(name: str, place: int) -> None:
    """A stream of Python remembers what its file could do: the new one may be a pipe where the old
    one was none."""
    old = getattr(sys, name)
    file = open(place, "rb" if place == 0 else "wb", closefd=False)  # noqa: SIM115 (as long as the process lives)
    line_buffering = name == "stderr" or os.isatty(place)
    made = io.TextIOWrapper(file, old.encoding, old.errors, line_buffering=line_buffering)
    setattr(sys, name, made)
    setattr(sys, f"__{name}__", made)


def _run(main: Callable[[], None]) -> None:
    """The command, and the end of its process but for the longest part: to take apart all modules,
    which are the server's, took three times as long as a short command. Threads, what was
    registered for the exit and the streams have their end as ever; so has whatever is no plain
    exit."""
    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(code)  # the interpreter's own flush says what it is that fails
    os._exit(code)


if __name__ == "__main__":
    _serve()
    from rmwbench.cli.main import main

    _run(main)
