"""Cores, clocks, sleep states, and who else takes processor time."""

from collections.abc import Mapping
from typing import Any

from rmwbench.lab.machine.finding import Finding, FixChange, Level, fact
from rmwbench.lab.machine.timekeeping import keeper
from rmwbench.lab.machine.void_rules import violations
from rmwbench.words.numbers import counted

Facts = Mapping[str, Any]

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


def cores(facts: Facts) -> Finding:
    online, usable = (
        fact(facts, "hardware", "cores_online") or 1,
        fact(facts, "hardware", "cores_usable"),
    )
    why = (
        "publisher, subscriber and the middleware's own threads share them, so nothing here "
        "says how middlewares scale"
    )
    expected = f"at least {FEW_CORES} usable cores, all that there are"
    found = f"{usable} of {online} cores usable" if usable < online else f"{usable} cores"
    if usable < online:
        fix = "start rmwbench without taskset or a container's cpuset"
        level: Level = "yellow"
        return Finding("cores", level, found, expected, why, fix, spoils=True)
    return Finding(
        "cores", "yellow" if usable < FEW_CORES else "green", found, expected, why, spoils=True
    )


def quota(facts: Facts) -> Finding:
    limits = fact(facts, "hardware", "container")
    usable = fact(facts, "hardware", "cores_usable")
    value = limits.get("cpu_quota_cores")
    why = (
        "when it is used up everything stops for the rest of the period: tails show the quota, "
        "not the middleware"
    )
    if value is None:
        return Finding("CPU quota", "green", "none", "none", why)
    found = f"{value:g} cores of {usable}"
    level: Level = "red" if value < usable else "green"
    return Finding(
        "CPU quota", level, found, "none", why, "start the container without --cpus", spoils=True
    )


def virtualization(facts: Facts) -> Finding:
    signs = fact(facts, "hardware", "virtualization")
    why = (
        "neighbours on the same hardware disturb tails; medians and ratios within a block are safer"
    )
    if not signs:
        return Finding("virtual machine", "green", "no sign of one", "bare metal", why)
    if fact(facts, "kernel", "boot_options") and "isolcpus" in " ".join(
        facts["kernel"]["boot_options"]
    ):
        return Finding(
            "virtual machine",
            "yellow",
            f"{signs}, with isolated cores",
            "bare metal",
            why,
            spoils=True,
        )
    return Finding("virtual machine", "yellow", str(signs), "bare metal", why, spoils=True)


def steal_since_boot(facts: Facts) -> Finding:
    value = fact(facts, "state", "steal_fraction_since_boot")
    why = "what the hypervisor takes is missing in every latency, most of all in tails"
    expected = f"less than {100 * STEAL_YELLOW:.0f} % of all processor time"
    if value is None:
        return Finding("steal since boot", "unknown", "the kernel does not count it", expected, why)
    level: Level = "yellow" if value >= STEAL_YELLOW else "green"
    return Finding(
        "steal since boot",
        level,
        f"{100 * value:.2f} %",
        expected,
        why,
        worth=STEAL_WORTH,
        spoils=True,
    )


def steal_now(facts: Facts) -> Finding:
    """By the rule of trials, as if the time of looking had been a window: steal is a share of what
    was asked for, which is little while nothing runs."""
    probes, seconds = fact(facts, "sampled", "probes"), fact(facts, "sampled", "seconds")
    value = {row["probe"]: row["value"] for row in probes}
    why = (
        "red: a trial that met as much would be void, so a campaign now would only collect void "
        "trials; yellow: its tails would be this machine's"
    )
    expected = f"less than {100 * STEAL_YELLOW:.0f} % of the processor time that is asked for"
    if "steal" not in value:
        return Finding(
            "steal now", "unknown", "no processor time passed while looking", expected, why
        )
    kinds = [one.kind for one in violations(probes) if one.rule == "steal"]
    level: Level = "green" if not kinds else "red" if kinds[0] == "void" else "yellow"
    found = (
        f"{100 * value['steal']:.1f} % of what was asked for, "
        f"{counted(int(value['stolen_ticks']), 'tick')} of 10 ms in {seconds:.1f} s"
    )
    fix = "wait, or use a machine with processors of its own" if level != "green" else None
    return Finding("steal now", level, found, expected, why, fix, worth=STEAL_WORTH, spoils=True)


def load_now(facts: Facts) -> Finding:
    """Sampled where somebody waited for it, else from the load average."""
    why = "whatever else runs takes turns with the middleware on the same cores"
    usable = fact(facts, "hardware", "cores_usable")
    if "sampled" in facts and fact(facts, "sampled", "busy") is not None:
        share = fact(facts, "sampled", "busy")
        top = [
            f"{name} ({pid}) {100 * part:.0f} % of a core"
            for pid, name, part in fact(facts, "sampled", "top")
        ]
        users = ": " + ", ".join(top) if top and share > 0.02 else ""
        found = f"{100 * share:.0f} % of the processor time is in use{users}"
        level: Level = (
            "red" if share > OTHERS_RED else "yellow" if share > OTHERS_YELLOW else "green"
        )
    else:
        load = fact(facts, "state", "load_1min")
        found = f"load average {load:.1f} on {usable} cores"
        level = "red" if load > 2 * usable else "yellow" if load > 0.5 * usable else "green"
    fix = "end these programs, or wait until they are done" if level != "green" else None
    return Finding(
        "load", level, found, f"less than {100 * OTHERS_YELLOW:.0f} % in use", why, fix, spoils=True
    )


def governor(facts: Facts) -> Finding:
    value = fact(facts, "hardware", "governor")
    why = "a middleware that works in short bursts may run at a low clock, and another one not"
    if value is None:
        found = "the kernel exposes no frequency control" + (
            "; in a virtual machine the hypervisor has it"
            if facts["hardware"].get("virtualization")
            else ""
        )
        level: Level = "green" if facts["hardware"].get("virtualization") else "unknown"
        return Finding("frequency governor", level, found, "performance", why)
    if value == "performance":
        return Finding("frequency governor", "green", value, "performance", why)
    fix = "cpupower frequency-set -g performance"
    permanent = "echo 'GOVERNOR=performance' > /etc/default/cpufrequtils"
    return Finding(
        "frequency governor",
        "yellow",
        value,
        "performance",
        why,
        fix,
        permanent,
        spoils=True,
        changes=(FixChange("file", GOVERNORS, "performance"),),
    )


def turbo(facts: Facts) -> Finding:
    value = fact(facts, "hardware", "turbo")
    why = "the clock falls when the machine warms up, so early and late blocks differ"
    expected = "off for the smallest noise; on is how a robot runs"
    if value is None:
        return Finding("turbo", "green", "not exposed", expected, why)
    return Finding("turbo", "green", value, expected, why)


def idle_states(facts: Facts) -> Finding:
    states = fact(facts, "hardware", "idle_states")
    why = (
        "waking from a deep state is paid by the message that arrives then: latency rises when "
        "the rate falls"
    )
    expected = (
        f"none that needs more than {SLOW_WAKE_UP_US} µs to wake from, for the lowest latency"
    )
    deep = [s for s in states if (s["latency_us"] or 0) > SLOW_WAKE_UP_US and not s["disabled"]]
    names = ", ".join(f"{s['name']} {s['latency_us']} µs" for s in states) or "not exposed"
    if not deep:
        return Finding(
            "idle states", "green", names, expected, why, worth=AWAKE_WORTH if states else None
        )
    fix = (
        f"cpupower idle-set -D {SLOW_WAKE_UP_US}, or `host_idle: awake` in the suite to measure "
        "both"
    )
    permanent = "add processor.max_cstate=1 intel_idle.max_cstate=1 to the kernel's command line"
    return Finding(
        "idle states", "yellow", names, expected, why, fix, permanent, AWAKE_WORTH, spoils=True
    )


def siblings(facts: Facts) -> Finding:
    value = fact(facts, "hardware", "smt_active")
    why = (
        "two threads of one core share it: where publisher and subscriber land there, both are "
        "slower"
    )
    expected = "off, or known"
    if value is None:
        return Finding("SMT siblings", "green", "not exposed", expected, why)
    if not value:
        return Finding("SMT siblings", "green", "off", expected, why)
    fix, permanent = (
        "echo off > /sys/devices/system/cpu/smt/control",
        "add nosmt to the kernel's command line",
    )
    return Finding("SMT siblings", "yellow", "on", expected, why, fix, permanent, spoils=True)


def clock_source(facts: Facts) -> Finding:
    value = fact(facts, "kernel", "clocksource")
    why = "every stamp reads it; a slow one adds a microsecond or more to each, and may step"
    expected = "tsc, arch_sys_counter or kvm-clock"
    if value is None:
        return Finding("clock source", "unknown", "the kernel does not name it", expected, why)
    if value in GOOD_CLOCKS:
        return Finding("clock source", "green", value, expected, why)
    fix = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Finding(
        "clock source",
        "red",
        value,
        expected,
        why,
        fix,
        "add tsc=reliable to the command line",
        spoils=True,
    )


def timekeeping(facts: Facts) -> Finding:
    told = fact(facts, "state", "timekeeping")
    why = (
        "it matters over several machines only, whose clocks are compared in each trial "
        "whatever is claimed here"
    )
    expected = (
        f"no service steers it by more than {MOST_STEERED_PPM} ppm, or a second of it "
        "would not be a second"
    )
    if told is None:
        return Finding("clock", "unknown", "it is not known which service keeps it", expected, why)
    found, kernel = keeper(told), told["kernel"]
    steered_ppm = abs(kernel["frequency_ppm"]) + abs(kernel["tick_ppm"]) if kernel else 0.0
    if steered_ppm <= MOST_STEERED_PPM:
        return Finding("clock", "green", found, expected, why)
    found = f"{found}; it is steered by {steered_ppm:.0f} ppm right now"
    fix = "wait until it is set (chronyc waitsync), or set it at once: chronyc makestep"
    return Finding("clock", "yellow", found, expected, why, fix)


def timer_slack(facts: Facts) -> Finding:
    value = fact(facts, "limits", "timer_slack_ns")
    why = (
        "every sleep ends this much later; it is inherited, so a middleware started from here "
        "has it too"
    )
    expected = "50000 ns, the kernel's default, as in the field"
    if value is None:
        return Finding("timer slack", "unknown", "the kernel does not say", expected, why)
    if value == 50_000:
        found = "50000 ns; rmwbench's schedule is exact without another"
        return Finding("timer slack", "green", found, expected, why, worth=SLACK_WORTH)
    fix = "start rmwbench from a shell that a service manager has not given another slack"
    return Finding(
        "timer slack", "yellow", f"{value} ns", expected, why, fix, None, SLACK_WORTH, spoils=True
    )


def robot(facts: Facts) -> Finding:
    """Trials cannot reach it (they have a network of their own), but they take its processor and
    memory."""
    found = fact(facts, "programs")
    why = "a campaign cannot reach them, but it takes the processor from them, and they from it"
    expected = "no ROS 2, ROS 1 or DDS process"
    if found is None:
        return Finding("running robots", "unknown", "processes cannot be listed", expected, why)
    nodes = [p for p in found if p["what"] != "daemon"]
    text = ", ".join(
        f"{p['name']} ({p['pid']}, {p['why']})"
        for p in [*nodes, *(p for p in found if p not in nodes)][:6]
    )
    text += f" and {len(found) - 6} more" if len(found) > 6 else ""
    if not found:
        return Finding("running robots", "green", "none", expected, why)
    if nodes:
        fix = "if this is a live robot, do not benchmark on it; otherwise end these processes"
        return Finding("running robots", "red", text, expected, why, fix, spoils=True)
    fix = "ros2 daemon stop, or end them"
    return Finding("running robots", "yellow", text, expected, why, fix, spoils=True)


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
)
