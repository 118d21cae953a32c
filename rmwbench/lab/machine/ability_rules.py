"""Rules on the abilities that rmwbench has here. They were tried, and not guessed from versions."""

from collections.abc import Mapping, Sequence

from rmwbench.lab.host.host import ENOUGH_FILES
from rmwbench.lab.machine.finding import (
    Diagnosis,
    DoctorRule,
    FixChange,
    MachineFacts,
    Severity,
    fact,
    rule,
)
from rmwbench.lab.middleware.workspace import build_command
from rmwbench.words.numbers import counted

WANTED_FILES, WANTED_PROCESSES = 4096, 512
WANTED_MEMLOCK_BYTES = 128 << 20
"""Zenoh locks the whole pool of a publisher that lends: 18 images of 6.2 MB with a depth of 10."""


@rule(
    "isolated hosts",
    expected="network, mount, PID and IPC namespaces can be made",
    why="a trial in namespaces of its own never touches a live robot, and sees nothing of the "
    "machine's network",
)
def hosts(facts: MachineFacts) -> Diagnosis:
    problem, fix = fact(facts, "abilities", "host"), facts["abilities"].get("host_fix")
    if problem == "":
        return Diagnosis("green", "a host was made and ended")
    if shared := facts["abilities"].get("shared_host"):
        return Diagnosis("yellow", f"{problem}; {shared}", fix, spoils=True)
    return Diagnosis("red", problem, fix, spoils=True)


@rule(
    "middlewares",
    expected="every middleware that you want to compare",
    why="only a middleware that is built can be measured",
)
def workers(facts: MachineFacts) -> Diagnosis:
    problem_of = fact(facts, "tools", "middlewares")
    ready = [name for name, problem in problem_of.items() if problem == ""]
    unbuilt = [name for name, problem in problem_of.items() if problem]
    fix = _build_fix(unbuilt, fact(facts, "tools", "commands"))
    if not ready:
        return Diagnosis("red", "none is built", fix or build_command())
    text = ", ".join(ready) + (f"; not built: {', '.join(unbuilt)}" if unbuilt else "")
    return Diagnosis("yellow" if unbuilt else "green", text, fix)


def _build_fix(unbuilt: Sequence[str], commands: Mapping[str, str]) -> str | None:
    """The command that builds the middlewares which need no other; else the first other."""
    known_commands = [commands[name] for name in unbuilt if name in commands]
    only_built = [name for name in unbuilt if commands.get(name) == build_command(name)]
    return build_command(*only_built) if only_built else next(iter(known_commands), None)


@rule(
    "tools",
    expected="all of them",
    why="no campaign starts without the sampler, and none with a background without the load "
    "generator",
)
def tools(facts: MachineFacts) -> Diagnosis:
    tools = fact(facts, "tools", "tools")
    expected = ", ".join(tools)
    missing = [name for name, problem in tools.items() if problem]
    if not missing:
        return Diagnosis("green", expected, expected=expected)
    text = "; ".join(f"{name}: {tools[name]}" for name in missing)
    level: Severity = "red" if "sampler" in missing else "yellow"
    return Diagnosis(level, text, build_command(), expected=expected)


@rule(
    "calibration",
    expected="one of this machine, not older than a month",
    why="it proves on this machine that known values are recovered and that equal arms are judged "
    "equal",
)
def calibration(facts: MachineFacts) -> Diagnosis:
    newest, fix = fact(facts, "calibration"), "rmwbench calibrate --quick"
    if newest is None:
        return Diagnosis("yellow", "none of this machine", fix)
    text = f"{newest['summary']}, {counted(max(0, round(newest['age_days'])), 'day')} ago"
    return Diagnosis("yellow", text, fix) if newest["age_days"] > 31 else Diagnosis("green", text)


def _ability(check: str, key: str, expected: str, why: str, fix: str | None = None) -> DoctorRule:
    def ability(facts: MachineFacts) -> Diagnosis:
        problem = fact(facts, "abilities", key)
        if problem == "":
            return Diagnosis("green", "yes")
        return Diagnosis("yellow", f"no: {problem}", fix)

    return DoctorRule(check, expected, why, ability)


tracing = _ability(
    "scheduler tracing",
    "perf",
    "perf events of our own threads, kernel included",
    "explains tails: who had the processor when a message was late",
    "sysctl -w kernel.perf_event_paranoid=1 (or run as root)",
)
emulator = _ability(
    "network emulation",
    "tun",
    "a TAP device can be made in a namespace",
    "links with delay, loss and limited rate are emulated over TAP devices",
    "run as root, or chmod 666 /dev/net/tun; in a container: --device /dev/net/tun",
)
user_namespaces = _ability(
    "user namespaces",
    "user_namespace",
    "one can be made",
    "without them only root can run trials",
    "sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1",
)
awake = _ability(
    "processors kept awake",
    "dma_latency",
    "/dev/cpu_dma_latency may be written",
    "`host_idle: awake` holds it at 0; without it only spinners keep the processors awake",
    "run as root, or chmod o+w /dev/cpu_dma_latency",
)
real_time = _ability(
    "real-time priority",
    "real_time",
    "a thread may become SCHED_FIFO",
    "the network emulator and arms that ask for it need it",
    'echo "$USER - rtprio 98" > /etc/security/limits.d/60-rmwbench-rtprio.conf, then log in again',
)


@rule(
    "process limits",
    expected=f"at least {WANTED_FILES} open files and {WANTED_PROCESSES} processes, locked "
    f"memory unlimited or {WANTED_MEMLOCK_BYTES >> 20} MiB",
    why="each worker costs descriptors and threads, and zenoh's shared memory must be lockable",
)
def limits(facts: MachineFacts) -> Diagnosis:
    files, memlock, processes = (
        fact(facts, "limits", name) for name in ("files", "memlock_bytes", "processes")
    )
    problems: list[tuple[str, str]] = []  # with what mends each
    changes = []
    if files < WANTED_FILES:
        problems.append((f"{files} open files", f"as root: ulimit -n {WANTED_FILES}"))
        changes.append(FixChange("limit", "nofile", f"{ENOUGH_FILES}:{ENOUGH_FILES}"))
    if processes is not None and processes < WANTED_PROCESSES:
        problems.append((f"{processes} processes", "ulimit -u, or the container's --pids-limit"))
    if (
        memlock is not None
        and memlock < WANTED_MEMLOCK_BYTES
        and not fact(facts, "limits", "may_lock_any")
    ):
        problems.append((f"{memlock >> 10} KiB of locked memory", "ulimit -l unlimited"))
        changes.append(FixChange("limit", "memlock", "unlimited:unlimited"))
    if not problems:
        return Diagnosis("green", f"{files} open files")
    permanent = (
        "lines in /etc/security/limits.d/60-rmwbench.conf: `* - nofile 65536` and `* - "
        "memlock unlimited`"
    )
    level: Severity = "red" if files < 256 else "yellow"
    text = "; ".join(f"{problem} ({remedy})" for problem, remedy in problems)
    fix = "; ".join(remedy for _, remedy in problems)
    return Diagnosis(level, text, fix, permanent, changes=tuple(changes))


RULES = (
    hosts,
    workers,
    tools,
    calibration,
    limits,
    tracing,
    emulator,
    user_namespaces,
    awake,
    real_time,
)
