"""Rules on processors, clocks and memory, and on the programs that use them: running robots, and
files of dead processes in shared memory."""

import shlex

from rmwbench.lab.machine.finding import (
    Diagnosis,
    FixChange,
    MachineFacts,
    Severity,
    bytes_text,
    fact,
    idle_state_text,
    rule,
)
from rmwbench.lab.machine.machine_card import CLOCK_SOURCES, is_virtual_machine
from rmwbench.lab.machine.timekeeping import keeper
from rmwbench.lab.machine.void_rules import violations
from rmwbench.words.numbers import counted

FEW_CORES = 4
STEAL_YELLOW = 0.01
OTHERS_YELLOW, OTHERS_RED = 0.1, 0.5
SLOW_WAKE_UP_US = 50
MOST_STEERED_PPM = 500
GOOD_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")

GOVERNORS = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"

STEAL_WORTH = "p99 of a real-time wake-up: 0.05 to 0.09 ms without steal, 4.9 ms with 15 %"
SLACK_WORTH = "median lateness of a 1 ms sleep: 81 µs with 50 µs of slack, 28 to 39 µs with 1 ns"
AWAKE_WORTH = "`host_idle: awake` cut the p99 of a futex round trip from 200-277 to 46-110 µs"


@rule(
    "cores",
    expected=f"at least {FEW_CORES} usable cores, all that there are",
    why="publisher, subscriber and the middleware's own threads share them, so nothing here "
    "says how middlewares scale",
)
def cores(facts: MachineFacts) -> Diagnosis:
    online = fact(facts, "hardware", "cores_online") or 1
    usable = fact(facts, "hardware", "cores_usable")
    if usable < online:
        fix = "start rmwbench without taskset or a container's cpuset"
        return Diagnosis("yellow", f"{usable} of {online} cores usable", fix, spoils=True)
    level: Severity = "yellow" if usable < FEW_CORES else "green"
    return Diagnosis(level, counted(usable, "core"), spoils=True)


@rule(
    "CPU quota",
    expected="none",
    why="when it is used up everything stops for the rest of the period: tails show the quota, "
    "not the middleware",
)
def quota(facts: MachineFacts) -> Diagnosis:
    limits = fact(facts, "hardware", "container")
    usable = fact(facts, "hardware", "cores_usable")
    value = limits.get("cpu_quota_cores")
    if value is None:
        return Diagnosis("green", "none")
    text = f"{value:g} cores of {usable}"
    if value >= usable:
        return Diagnosis("green", text)
    return Diagnosis("red", text, "start the container without --cpus", spoils=True)


@rule(
    "virtual machine",
    expected="bare metal",
    why="neighbours on the same hardware disturb tails; medians and ratios within a block are safer",
)
def virtualization(facts: MachineFacts) -> Diagnosis:
    signs = fact(facts, "hardware", "virtualization")
    if not is_virtual_machine(facts["hardware"]):
        container = f"; this is a container ({signs})" if signs else ""
        return Diagnosis("green", f"no sign of one{container}")
    options = " ".join(fact(facts, "kernel", "boot_options") or ())
    isolated = ", with isolated cores" if "isolcpus" in options else ""
    return Diagnosis("yellow", f"{signs}{isolated}", spoils=True)


@rule(
    "steal since boot",
    expected=f"less than {100 * STEAL_YELLOW:.0f} % of all processor time",
    why="the time that the hypervisor takes is in every latency, most of all in tails",
)
def steal_since_boot(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "state", "steal_fraction_since_boot")
    if value is None:
        return Diagnosis("unknown", "the kernel does not count it")
    level: Severity = "yellow" if value >= STEAL_YELLOW else "green"
    return Diagnosis(level, f"{100 * value:.2f} %", worth=STEAL_WORTH, spoils=True)


@rule(
    "steal now",
    expected=f"less than {100 * STEAL_YELLOW:.0f} % of the processor time that is asked for",
    why="red: a trial with as much steal would be void, and so would all of a campaign now; yellow: "
    "the tails of a trial would be this machine's",
)
def steal_now(facts: MachineFacts) -> Diagnosis:
    """Judges the sampled steal by the rule of trials, as if the sample were a window: steal is a
    share of the demanded time, which is small while nothing runs."""
    probes, seconds = fact(facts, "sampled", "probes"), fact(facts, "sampled", "seconds")
    value = {row["probe"]: row["value"] for row in probes}
    if "steal" not in value:
        return Diagnosis("unknown", "no processor time passed while looking")
    kinds = [violation.kind for violation in violations(probes) if violation.rule == "steal"]
    level: Severity = "green" if not kinds else "red" if kinds[0] == "void" else "yellow"
    text = (
        f"{100 * value['steal']:.1f} % of what was asked for, "
        f"{counted(int(value['stolen_ticks']), 'tick')} of 10 ms in {seconds:.1f} s"
    )
    fix = "wait, or use a machine with processors of its own" if level != "green" else None
    return Diagnosis(level, text, fix, worth=STEAL_WORTH, spoils=True)


@rule(
    "load",
    expected=f"less than {100 * OTHERS_YELLOW:.0f} % in use",
    why="other programs take turns with the middleware on the same cores",
)
def load_now(facts: MachineFacts) -> Diagnosis:
    """Judges the sampled share of busy time where there is one, and else the load average."""
    usable = fact(facts, "hardware", "cores_usable")
    if "sampled" in facts and fact(facts, "sampled", "busy") is not None:
        share = fact(facts, "sampled", "busy")
        top = [
            f"{name} ({pid}) {100 * part:.0f} % of a core"
            for pid, name, part in fact(facts, "sampled", "top")
        ]
        users = ": " + ", ".join(top) if top and share > 0.02 else ""
        text = f"{100 * share:.0f} % of the processor time is in use{users}"
        level: Severity = (
            "red" if share > OTHERS_RED else "yellow" if share > OTHERS_YELLOW else "green"
        )
    else:
        load = fact(facts, "state", "load_1min")
        text = f"load average {load:.1f} on {counted(usable, 'core')}"
        level = "red" if load > 2 * usable else "yellow" if load > 0.5 * usable else "green"
    fix = "end these programs, or wait until they are done" if level != "green" else None
    return Diagnosis(level, text, fix, spoils=True)


@rule(
    "frequency governor",
    expected="performance",
    why="a middleware that works in short bursts may run at a low clock, and another one not",
)
def governor(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "hardware", "governor")
    if value is None:
        text = "the kernel exposes no frequency control"
        if is_virtual_machine(facts["hardware"]):
            return Diagnosis("green", f"{text}; in a virtual machine the hypervisor has it")
        return Diagnosis("unknown", text)
    if value == "performance":
        return Diagnosis("green", value)
    fix = "cpupower frequency-set -g performance"
    permanent = "echo 'GOVERNOR=performance' > /etc/default/cpufrequtils"
    return Diagnosis(
        "yellow",
        value,
        fix,
        permanent,
        spoils=True,
        changes=(FixChange("file", GOVERNORS, "performance"),),
    )


@rule(
    "turbo",
    expected="off for the smallest noise, on as on a robot",
    why="the clock falls when the machine warms up, so early and late blocks differ",
)
def turbo(facts: MachineFacts) -> Diagnosis:
    return Diagnosis("green", fact(facts, "hardware", "turbo") or "not exposed")


@rule(
    "idle states",
    expected=f"none that needs more than {SLOW_WAKE_UP_US} µs to wake from, for the lowest latency",
    why="a message that wakes a core from a deep state is later, so latency rises when the rate "
    "falls",
)
def idle_states(facts: MachineFacts) -> Diagnosis:
    states = fact(facts, "hardware", "idle_states")
    deep = [
        state
        for state in states
        if (state["latency_us"] or 0) > SLOW_WAKE_UP_US and not state["disabled"]
    ]
    names = ", ".join(map(idle_state_text, states)) or "not exposed"
    if not deep:
        return Diagnosis("green", names, worth=AWAKE_WORTH if states else None)
    fix = (
        f"cpupower idle-set -D {SLOW_WAKE_UP_US}, or `host_idle: awake` in the suite to measure "
        "both"
    )
    permanent = "add processor.max_cstate=1 intel_idle.max_cstate=1 to the kernel's command line"
    return Diagnosis("yellow", names, fix, permanent, AWAKE_WORTH, spoils=True)


@rule(
    "SMT siblings",
    expected="off, or known",
    why="two threads of one core share it: a publisher and a subscriber on both are slower",
)
def siblings(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "hardware", "smt_active")
    if value is None:
        return Diagnosis("green", "not exposed")
    if not value:
        return Diagnosis("green", "off")
    fix = "echo off > /sys/devices/system/cpu/smt/control"
    permanent = "add nosmt to the kernel's command line"
    return Diagnosis("yellow", "on", fix, permanent, spoils=True)


@rule(
    "clock source",
    expected=f"one of {', '.join(GOOD_CLOCKS)}",
    why="every stamp reads it; a slow one adds a microsecond or more to each, and may step",
)
def clock_source(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "kernel", "clocksource")
    if value is None:
        return Diagnosis("unknown", "the kernel does not name it")
    if value in GOOD_CLOCKS:
        return Diagnosis("green", value)
    available = facts["kernel"].get("clocksources_available") or ()
    better = next((clock for clock in GOOD_CLOCKS if clock in available), None)
    fix: str | None = None
    permanent: str | None = None
    if better is not None:
        fix = f"echo {better} > {CLOCK_SOURCES}/current_clocksource"
        permanent = f"add clocksource={better} to the kernel's command line"
    elif fact(facts, "hardware", "architecture") == "x86_64":
        # the kernel has rejected the tsc
        permanent = "add tsc=reliable to the kernel's command line"
    return Diagnosis("red", value, fix, permanent, spoils=True)


@rule(
    "clock",
    expected=f"steered by at most {MOST_STEERED_PPM} ppm; more, and its seconds are visibly "
    "too long or short",
    why="it matters only over several machines, whose clocks each trial compares in any case",
)
def timekeeping(facts: MachineFacts) -> Diagnosis:
    state = fact(facts, "state", "timekeeping")
    if state is None:
        return Diagnosis("unknown", "the service that keeps it is unknown")
    text, kernel = keeper(state), state["kernel"]
    steered_ppm = abs(kernel["frequency_ppm"]) + abs(kernel["tick_ppm"]) if kernel else 0.0
    if steered_ppm <= MOST_STEERED_PPM:
        return Diagnosis("green", text)
    text = f"{text}; it is steered by {steered_ppm:.0f} ppm right now"
    fix = "wait until it is set (chronyc waitsync), or set it at once: chronyc makestep"
    return Diagnosis("yellow", text, fix)


@rule(
    "timer slack",
    expected="50000 ns, the kernel's default, as in the field",
    why="every sleep ends this much later; it is inherited, so a middleware started from here "
    "has it too",
)
def timer_slack(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "limits", "timer_slack_ns")
    if value is None:
        return Diagnosis("unknown", "the kernel does not say")
    if value == 50_000:
        text = "50000 ns; rmwbench's schedule is exact without another"
        return Diagnosis("green", text, worth=SLACK_WORTH)
    fix = "start rmwbench from a shell that a service manager has not given another slack"
    return Diagnosis("yellow", f"{value} ns", fix, None, SLACK_WORTH, spoils=True)


@rule(
    "running robots",
    expected="no ROS 2, ROS 1 or DDS process",
    why="a campaign cannot reach them, but it takes the processor from them, and they from it",
)
def robot(facts: MachineFacts) -> Diagnosis:
    """Judges running robots, which share processors and memory with trials."""
    programs = fact(facts, "programs")
    if programs is None:
        return Diagnosis("unknown", "processes cannot be listed")
    if not programs:
        return Diagnosis("green", "none")
    nodes = [program for program in programs if program["what"] != "daemon"]
    nodes_first = sorted(programs, key=lambda program: program["what"] == "daemon")
    text = ", ".join(
        f"{program['name']} ({program['pid']}, {program['why']})" for program in nodes_first[:6]
    )
    text += f" and {len(programs) - 6} more" if len(programs) > 6 else ""
    if nodes:
        fix = "if this is a live robot, do not benchmark on it; otherwise end these processes"
        return Diagnosis("red", text, fix, spoils=True)
    fix = "ros2 daemon stop, or end them"
    return Diagnosis("yellow", text, fix, spoils=True)


LITTLE_SHM_BYTES, FAIR_SHM_BYTES = 128 << 20, 512 << 20
LITTLE_MEMORY_BYTES, FAIR_MEMORY_BYTES = 512 << 20, 2 << 30


@rule(
    "/dev/shm",
    expected=f"at least {bytes_text(FAIR_SHM_BYTES)}; containers start with 64 MiB",
    why="shared-memory transports take their pools from it, and fall back to sockets or fail "
    "when it is too small",
)
def shared_memory(facts: MachineFacts) -> Diagnosis:
    """Judges the machine's own /dev/shm, which robots use, and trials do not."""
    size, used = fact(facts, "shm", "bytes"), fact(facts, "shm", "used_bytes")
    if size is None:
        fix = "mkdir -m 1777 /dev/shm && mount -t tmpfs shm /dev/shm"
        why = "no trial can run without it, nor any shared-memory transport"
        return Diagnosis("red", "there is none", fix, why=why, spoils=True)
    text = f"{bytes_text(size)}, {bytes_text(used)} used; trials have one of their own"
    level: Severity = (
        "red"
        if size < LITTLE_SHM_BYTES
        else "yellow"
        if size < FAIR_SHM_BYTES or used > size / 2
        else "green"
    )
    larger = max(2, -(-2 * size >> 30))
    fix = f"mount -o remount,size={larger}g /dev/shm (in a container: --shm-size={larger}g)"
    return Diagnosis(level, text, None if level == "green" else fix)


@rule(
    "leftover segments",
    expected="no file of a middleware without a living process",
    why="segments that no process maps occupy memory for ever, and may disturb the start of a "
    "middleware",
)
def leftovers(facts: MachineFacts) -> Diagnosis:
    files, unseen = fact(facts, "shm", "leftovers"), fact(facts, "shm", "unseen_processes")
    unseen_text = counted(unseen, "process", "processes")
    note = f" ({unseen_text} of other users could not be looked into)" if unseen else ""
    if not files:
        level: Severity = (
            "unknown" if unseen and fact(facts, "shm", "middleware_files") else "green"
        )
        text = "none" + note if level == "green" else f"cannot tell whose the files are{note}"
        return Diagnosis(level, text)
    size = sum(file["bytes"] for file in files)
    kinds = ", ".join(dict.fromkeys(file["middleware"] for file in files))
    names = [file["path"] for file in files]
    examples = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    text = f"{len(files)} of {kinds}, {bytes_text(size)}: {examples}{note}"
    if unseen:
        text += "; make sure that nobody uses them before you remove them"
    return Diagnosis("yellow", text, "rm -r -- " + shlex.join(names))


@rule(
    "memory",
    expected=f"at least {bytes_text(FAIR_MEMORY_BYTES)} available",
    why="records and message pools stay in memory; when it runs out the kernel swaps or kills",
)
def available_memory(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "state", "memory_available_bytes")
    swap = fact(facts, "hardware", "swap_bytes")
    limit = fact(facts, "hardware", "container").get("memory_bytes")
    if value is None:
        return Diagnosis("unknown", "the kernel does not say")
    least = min(value, limit) if limit else value
    text = f"{bytes_text(value)} available" + (
        f", limited to {bytes_text(limit)} by the container" if limit else ""
    )
    text += "" if swap is None else f", {bytes_text(swap)} of swap" if swap else ", no swap"
    level: Severity = (
        "red" if least < LITTLE_MEMORY_BYTES else "yellow" if least < FAIR_MEMORY_BYTES else "green"
    )
    fix = "end other programs, or give the container more memory" if level != "green" else None
    return Diagnosis(level, text, fix, spoils=True)


@rule(
    "transparent huge pages",
    expected="madvise or never",
    why="with `always` the kernel may stop a process for a millisecond to make a huge page",
)
def huge_pages(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "kernel", "transparent_hugepages")
    if value is None:
        return Diagnosis("green", "not in this kernel")
    if value != "always":
        return Diagnosis("green", value)
    switch = "/sys/kernel/mm/transparent_hugepage/enabled"
    permanent = "add transparent_hugepage=madvise to the kernel's command line"
    return Diagnosis(
        "yellow",
        value,
        f"echo madvise > {switch}",
        permanent,
        spoils=True,
        changes=(FixChange("file", switch, "madvise"),),
    )


RULES = (
    quota,
    steal_now,
    load_now,
    cores,
    virtualization,
    steal_since_boot,
    clock_source,
    timekeeping,
    governor,
    idle_states,
    siblings,
    turbo,
    timer_slack,
    shared_memory,
    available_memory,
    leftovers,
    huge_pages,
)
