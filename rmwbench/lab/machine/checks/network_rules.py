"""Buffers, queues, fragments, multicast: what decides whether large messages over UDP arrive."""

from collections.abc import Mapping
from typing import Any

from rmwbench.lab.machine.finding import Finding, FixChange, Level, bytes_text, fact

Facts = Mapping[str, Any]

LARGEST_MESSAGE_BYTES = 6_220_800
"""One uncompressed 1080p image: the message that small socket buffers drop."""
MOST_ASKED_BYTES = 1 << 24
"""The largest receive buffer that a profile of ours asks for: where the kernel grants less, its arm
is not what it says (rmwbench/campaign/plan/buffers.py)."""
SMALL_BUFFER_BYTES = 1 << 20
WANTED_BUFFER_BYTES = 1 << 25
BACKLOG = 1000
FRAGMENTS_WANTED_BYTES = 1 << 28

IMAGES_LOST = (
    "1080p images at 30 Hz over loopback UDP: 45 to 48 % of the datagrams lost with a 208 KiB "
    "buffer, 15 to 19 % with 4 MB, none with 8 MB"
)
FRAGMENTS_LOST = (
    "datagrams of 64 KB at 1 % frame loss: 96 to 100 % lost with 4 MiB and 30 s, 34 to 37 % with "
    "256 MiB and 1 s (36 % is what arithmetic says)"
)


def sysctl(name: str, value: object) -> dict[str, str]:
    """The command for now and the one that lasts."""
    return {
        "fix": f"sysctl -w {name}={value}",
        "permanent": f"echo '{name}={value}' > "
        f"/etc/sysctl.d/60-rmwbench-{name.rsplit('.', 1)[-1]}.conf",
    }


def setting(name: str, value: object) -> FixChange:
    """The same for `rmwbench doctor --fix`."""
    return FixChange("file", "/proc/sys/" + name.replace(".", "/"), str(value))


def receive_buffer(facts: Facts) -> Finding:
    return _buffer(
        facts,
        "net.core.rmem_max",
        "receive buffer",
        "a UDP middleware drops what does not fit in it",
    )


def send_buffer(facts: Facts) -> Finding:
    return _buffer(
        facts, "net.core.wmem_max", "send buffer", "a UDP publisher blocks or fails when it is full"
    )


def _buffer(facts: Facts, name: str, what: str, why: str) -> Finding:
    value = fact(facts, "sysctls", name)
    receives = name == "net.core.rmem_max"
    enough = MOST_ASKED_BYTES if receives else LARGEST_MESSAGE_BYTES
    whose = "what the most demanding profile asks for" if receives else "one 1080p image"
    expected = f"{name} of at least {enough} ({whose})"
    if value is None:
        return Finding(what, "unknown", f"{name} cannot be read", expected, why)
    worth = IMAGES_LOST if receives else None
    if int(value) >= enough:
        return Finding(what, "green", f"{name} = {value}", expected, why)
    level: Level = "red" if int(value) < SMALL_BUFFER_BYTES and receives else "yellow"
    found = f"{name} = {value} ({bytes_text(int(value))})"
    fix, change = sysctl(name, WANTED_BUFFER_BYTES), setting(name, WANTED_BUFFER_BYTES)
    return Finding(
        what, level, found, expected, why, worth=worth, spoils=True, changes=(change,), **fix
    )


def default_buffer(facts: Facts) -> Finding:
    """Only for those who never ask: raising it costs every socket memory, so it is told and not
    blamed."""
    value, most = (
        fact(facts, "sysctls", "net.core.rmem_default"),
        fact(facts, "sysctls", "net.core.rmem_max"),
    )
    why = "a middleware that does not set its socket's buffer, as some do untouched, gets this one"
    expected = "any; a middleware should ask for what it needs"
    if value is None:
        return Finding(
            "default receive buffer",
            "unknown",
            "net.core.rmem_default cannot be read",
            expected,
            why,
        )
    found = f"net.core.rmem_default = {value}" + (f", of at most {most}" if most else "")
    return Finding("default receive buffer", "green", found, expected, why)


def backlog(facts: Facts) -> Finding:
    name = "net.core.netdev_max_backlog"
    value = fact(facts, "sysctls", name)
    why = (
        "frames between virtual interfaces wait here, and bursts beyond it are dropped without "
        "a word"
    )
    expected = f"{name} of at least {BACKLOG}"
    if value is None:
        return Finding("receive backlog", "unknown", f"{name} cannot be read", expected, why)
    if int(value) >= BACKLOG:
        return Finding("receive backlog", "green", f"{name} = {value}", expected, why)
    found = f"{name} = {value}"
    return Finding(
        "receive backlog",
        "yellow",
        found,
        expected,
        why,
        spoils=True,
        changes=(setting(name, 5 * BACKLOG),),
        **sysctl(name, 5 * BACKLOG),
    )


def fragments(facts: Facts) -> Finding:
    """Per network namespace and never inherited: what is set here holds for the robot's own
    processes, not for trials, which run with the kernel's defaults. Hence no warning in reports."""
    memory, time_s = (
        fact(facts, "sysctls", f"net.ipv4.ipfrag_{name}") for name in ("high_thresh", "time")
    )
    why = (
        "incomplete datagrams hold this memory this long; when it is full, large UDP messages "
        "stop arriving"
    )
    expected = (
        f"at least {FRAGMENTS_WANTED_BYTES} bytes and at most a few seconds, where frames are lost"
    )
    if memory is None or time_s is None:
        return Finding(
            "IP reassembly", "unknown", "net.ipv4.ipfrag_* cannot be read", expected, why
        )
    found = f"net.ipv4.ipfrag_high_thresh = {memory}, ipfrag_time = {time_s}"
    if int(memory) >= FRAGMENTS_WANTED_BYTES:
        return Finding("IP reassembly", "green", found, expected, why)
    found += (
        "; trials run in namespaces of their own with the kernel's defaults, whatever is set here"
    )
    wanted = {
        "net.ipv4.ipfrag_high_thresh": FRAGMENTS_WANTED_BYTES,
        "net.ipv4.ipfrag_time": 1,
    }
    settings = " ".join(f"{name}={value}" for name, value in wanted.items())
    lines = settings.replace(" ", "\\n")
    permanent = f"printf '{lines}\\n' > /etc/sysctl.d/60-rmwbench-ipfrag.conf"
    return Finding(
        "IP reassembly",
        "yellow",
        found,
        expected,
        why,
        f"sysctl -w {settings}",
        permanent,
        worth=FRAGMENTS_LOST,
        changes=tuple(setting(name, value) for name, value in wanted.items()),
    )


def congestion_control(facts: Facts) -> Finding:
    name = "net.ipv4.tcp_congestion_control"
    value = fact(facts, "sysctls", name)
    why = (
        "TCP middlewares behave differently on a lossy link under another algorithm, so results "
        "travel badly"
    )
    if value is None:
        return Finding("TCP congestion control", "unknown", f"{name} cannot be read", "cubic", why)
    if value == "cubic":
        return Finding("TCP congestion control", "green", f"{name} = cubic", "cubic", why)
    found = f"{name} = {value}; without loss, as on one machine, it changes nothing"
    return Finding(
        "TCP congestion control",
        "yellow",
        found,
        "cubic, the kernel's default",
        why,
        **sysctl(name, "cubic"),
    )


def queue_discipline(facts: Facts) -> Finding:
    value = fact(facts, "sysctls", "net.core.default_qdisc")
    why = (
        "it decides what waits and what is dropped on a physical interface; trials on one "
        "machine do not use it"
    )
    level: Level = "unknown" if value is None else "green"
    return Finding(
        "queue discipline", level, f"net.core.default_qdisc = {value}", "any, but known", why
    )


def bridge_filter(facts: Facts) -> Finding:
    value = fact(facts, "network", "bridge_nf_call_iptables")
    why = (
        "frames on a bridge pass iptables, connection tracking and IP reassembly, which costs "
        "time and may drop them"
    )
    name = "net.bridge.bridge-nf-call-iptables"
    if value in (None, "0"):
        found = "no bridge filter is loaded" if value is None else f"{name} = 0"
        return Finding("bridge filter", "green", found, "0", why)
    found = f"{name} = {value}; trials on one host use no bridge"
    return Finding("bridge filter", "yellow", found, "0", why, **sysctl(name, 0))


def multicast_on_loopback(facts: Facts) -> Finding:
    problem = fact(facts, "network", "multicast_lo")
    why = "middlewares find each other by multicast; on a robot without network that means on lo"
    expected = "a datagram to a multicast group on lo comes back"
    if problem == "":
        return Finding("multicast on lo", "green", "it came back", expected, why)
    found = f"{problem}; trials do not use this lo"
    fix = "ip link set lo multicast on && ip route replace 239.0.0.0/8 dev lo"
    return Finding("multicast on lo", "yellow", found, expected, why, fix)


def multicast_route(facts: Facts) -> Finding:
    problem = fact(facts, "network", "multicast_route")
    why = (
        "a middleware that is told no interface sends where the route points, and without one "
        "it finds no peer"
    )
    expected = "a route for 239.255.0.1"
    if problem == "":
        return Finding("multicast route", "green", "there is one", expected, why)
    fix = "ip route add 239.0.0.0/8 dev lo"
    return Finding(
        "multicast route", "yellow", f"{problem}; trials have one of their own", expected, why, fix
    )


def multicast_in_host(facts: Facts) -> Finding:
    problem = fact(facts, "network", "multicast_host")
    why = "without it the middlewares of a trial cannot find each other as they do in the field"
    expected = "a datagram to a multicast group comes back on lo and on eth0 of a host"
    if problem is None:
        return Finding(
            "multicast in trials", "unknown", "no host could be made to try it in", expected, why
        )
    if problem == "":
        return Finding("multicast in trials", "green", "it came back on both", expected, why)
    return Finding("multicast in trials", "red", problem, expected, why, spoils=True)


def kernel_backend(facts: Facts) -> Finding:
    """Not needed by any suite that does not ask for it: told, and blamed only where nothing of it
    works."""
    works = fact(facts, "network", "kernel_backend")
    why = (
        "`backend: kernel` is for links above 1 Gbit/s, and checks the switch, which needs none "
        "of this"
    )
    expected = "hosts can be joined by a bridge, with rates, losses and delays of the kernel's"
    what = "kernel backend of networks"
    if works is None:
        return Finding(what, "unknown", "no host could be made to try it in", expected, why)
    able = [name for name, problem in works.items() if not problem]
    problems = dict.fromkeys(problem for problem in works.values() if problem)
    missing = ", ".join(name for name, problem in works.items() if problem)
    if not able:
        fix = "run as root: its devices lie in several hosts at once"
        return Finding(what, "yellow", f"nothing of it: {'; '.join(problems)}", expected, why, fix)
    found = f"{', '.join(able)}" + (
        f"; without {missing}: {'; '.join(problems)}" if problems else ""
    )
    return Finding(what, "green", found, expected, why)


def interfaces(facts: Facts) -> Finding:
    found = fact(facts, "network", "interfaces")
    why = (
        "discovery announces every address, and peers may choose one that leads through a VPN "
        "or a container's bridge"
    )
    expected = "lo and one interface, or a middleware that is told which one"
    if found is None:
        return Finding("interfaces", "unknown", "the kernel does not list them", expected, why)
    others = [name for name in found if name != "lo"]
    virtual = [name for name in others if name.startswith(VIRTUAL)]
    text = ", ".join(others) or "none but lo"
    if len(others) < 2:
        return Finding("interfaces", "green", text, expected, why)
    text += f" ({', '.join(virtual)} virtual)" if virtual else ""
    return Finding(
        "interfaces", "yellow", f"{text}; trials see lo and their own eth0 only", expected, why
    )


VIRTUAL = (
    "docker",
    "br-",
    "veth",
    "virbr",
    "tun",
    "tap",
    "wg",
    "tailscale",
    "zt",
    "vmnet",
    "vboxnet",
    "cni",
    "flannel",
)

RULES = (
    receive_buffer,
    send_buffer,
    default_buffer,
    backlog,
    fragments,
    multicast_in_host,
    multicast_on_loopback,
    multicast_route,
    bridge_filter,
    congestion_control,
    queue_discipline,
    interfaces,
    kernel_backend,
)
