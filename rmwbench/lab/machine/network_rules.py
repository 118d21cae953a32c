"""Rules on the network: they decide whether large messages over UDP arrive."""

from rmwbench.lab.machine.finding import (
    Diagnosis,
    DoctorRule,
    FixChange,
    MachineFacts,
    bytes_text,
    fact,
    rule,
)

LARGEST_MESSAGE_BYTES = 6_220_800
"""An uncompressed 1080p image, which small socket buffers drop."""
MOST_ASKED_BYTES = 1 << 24
"""The largest receive buffer that a profile of ours requests. Where the kernel grants less, its arm
is not as configured (rmwbench/campaign/plan/socket_buffers.py)."""
SMALL_BUFFER_BYTES = 1 << 20
WANTED_BUFFER_BYTES = 1 << 25
BACKLOG_NAME, BACKLOG = "net.core.netdev_max_backlog", 1000
FRAGMENTS_WANTED_BYTES = 1 << 28

IMAGES_LOST = (
    "1080p images at 30 Hz over loopback UDP: 45 to 48 % of the datagrams lost with a 208 KiB "
    "buffer, 15 to 19 % with 4 MB, none with 8 MB"
)
FRAGMENTS_LOST = (
    "datagrams of 64 KB at 1 % frame loss: 96 to 100 % lost with 4 MiB and 30 s, 34 to 37 % with "
    "256 MiB and 1 s (36 % is what arithmetic says)"
)


def sysctl(name: str, value: object) -> tuple[str, str]:
    """The command that sets a sysctl for now, and the command that sets it for good."""
    last_word = name.rsplit(".", 1)[-1]
    return (
        f"sysctl -w {name}={value}",
        f"echo '{name}={value}' > /etc/sysctl.d/60-rmwbench-{last_word}.conf",
    )


def setting(name: str, value: object) -> FixChange:
    """The change that sets a sysctl, for `rmwbench doctor --fix`."""
    return FixChange("file", "/proc/sys/" + name.replace(".", "/"), str(value))


def _buffer(
    name: str, check: str, enough: int, purpose: str, why: str, worth: str | None
) -> DoctorRule:
    """Makes the rule of a buffer. Only with a measured `worth` is a small buffer red."""

    @rule(check, expected=f"{name} of at least {enough} ({purpose})", why=why)
    def buffer(facts: MachineFacts) -> Diagnosis:
        value = fact(facts, "sysctls", name)
        if value is None:
            return Diagnosis("unknown", f"{name} cannot be read")
        if int(value) >= enough:
            return Diagnosis("green", f"{name} = {value}")
        return Diagnosis(
            "red" if int(value) < SMALL_BUFFER_BYTES and worth else "yellow",
            f"{name} = {value} ({bytes_text(int(value))})",
            *sysctl(name, WANTED_BUFFER_BYTES),
            worth=worth,
            spoils=True,
            changes=(setting(name, WANTED_BUFFER_BYTES),),
        )

    return buffer


receive_buffer = _buffer(
    "net.core.rmem_max",
    "receive buffer",
    MOST_ASKED_BYTES,
    "what the most demanding profile asks for",
    "a UDP middleware drops what does not fit in it",
    IMAGES_LOST,
)
send_buffer = _buffer(
    "net.core.wmem_max",
    "send buffer",
    LARGEST_MESSAGE_BYTES,
    "one 1080p image",
    "a UDP publisher blocks or fails when it is full",
    None,
)


@rule(
    "default receive buffer",
    expected="any; a middleware should ask for what it needs",
    why="a middleware that does not set its socket's buffer, as some do untouched, gets this one",
)
def default_buffer(facts: MachineFacts) -> Diagnosis:
    """Shows the buffer of sockets that request none; no value is a fault."""
    value = fact(facts, "sysctls", "net.core.rmem_default")
    most = fact(facts, "sysctls", "net.core.rmem_max")
    if value is None:
        return Diagnosis("unknown", "net.core.rmem_default cannot be read")
    text = f"net.core.rmem_default = {value}" + (f", of at most {most}" if most else "")
    return Diagnosis("green", text)


@rule(
    "receive backlog",
    expected=f"{BACKLOG_NAME} of at least {BACKLOG}",
    why="frames between virtual interfaces wait here, and bursts beyond it are dropped silently",
)
def backlog(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "sysctls", BACKLOG_NAME)
    if value is None:
        return Diagnosis("unknown", f"{BACKLOG_NAME} cannot be read")
    text = f"{BACKLOG_NAME} = {value}"
    if int(value) >= BACKLOG:
        return Diagnosis("green", text)
    return Diagnosis(
        "yellow",
        text,
        *sysctl(BACKLOG_NAME, 5 * BACKLOG),
        spoils=True,
        changes=(setting(BACKLOG_NAME, 5 * BACKLOG),),
    )


@rule(
    "IP reassembly",
    expected=f"at least {FRAGMENTS_WANTED_BYTES} bytes and at most a few seconds, where frames are lost",
    why="incomplete datagrams occupy this memory for this time; when it is full, large UDP "
    "messages stop arriving",
)
def fragments(facts: MachineFacts) -> Diagnosis:
    """Judges settings that belong to a network namespace and are never inherited: they hold for the
    robot's own processes, and trials run with the kernel's defaults. Hence no warning in
    reports."""
    memory, time_s = (
        fact(facts, "sysctls", f"net.ipv4.ipfrag_{name}") for name in ("high_thresh", "time")
    )
    if memory is None or time_s is None:
        return Diagnosis("unknown", "net.ipv4.ipfrag_* cannot be read")
    text = f"net.ipv4.ipfrag_high_thresh = {memory}, ipfrag_time = {time_s}"
    if int(memory) >= FRAGMENTS_WANTED_BYTES:
        return Diagnosis("green", text)
    text += (
        "; trials run in namespaces of their own with the kernel's defaults, whatever is set here"
    )
    values = {"net.ipv4.ipfrag_high_thresh": FRAGMENTS_WANTED_BYTES, "net.ipv4.ipfrag_time": 1}
    settings = " ".join(f"{name}={value}" for name, value in values.items())
    lines = settings.replace(" ", "\\n")
    permanent = f"printf '{lines}\\n' > /etc/sysctl.d/60-rmwbench-ipfrag.conf"
    return Diagnosis(
        "yellow",
        text,
        f"sysctl -w {settings}",
        permanent,
        worth=FRAGMENTS_LOST,
        changes=tuple(setting(name, value) for name, value in values.items()),
    )


@rule(
    "TCP congestion control",
    expected="cubic",
    why="TCP middlewares behave differently on a lossy link under another algorithm, so results "
    "travel badly",
)
def congestion_control(facts: MachineFacts) -> Diagnosis:
    name = "net.ipv4.tcp_congestion_control"
    value = fact(facts, "sysctls", name)
    if value is None:
        return Diagnosis("unknown", f"{name} cannot be read")
    if value == "cubic":
        return Diagnosis("green", f"{name} = cubic")
    return Diagnosis(
        "yellow",
        f"{name} = {value}; without loss, as on one machine, it changes nothing",
        *sysctl(name, "cubic"),
        expected="cubic, the kernel's default",
    )


@rule(
    "queue discipline",
    expected="any, but known",
    why="it decides which frames wait and which are dropped at a physical interface; trials on "
    "one machine do not use it",
)
def queue_discipline(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "sysctls", "net.core.default_qdisc")
    if value is None:
        return Diagnosis("unknown", "net.core.default_qdisc cannot be read")
    return Diagnosis("green", f"net.core.default_qdisc = {value}")


@rule(
    "bridge filter",
    expected="0",
    why="frames on a bridge pass iptables, connection tracking and IP reassembly, which costs "
    "time and may drop them",
)
def bridge_filter(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "network", "bridge_nf_call_iptables")
    name = "net.bridge.bridge-nf-call-iptables"
    if value in (None, "0"):
        text = "no bridge filter is loaded" if value is None else f"{name} = 0"
        return Diagnosis("green", text)
    text = f"{name} = {value}; trials on one host use no bridge"
    return Diagnosis("yellow", text, *sysctl(name, 0))


@rule(
    "multicast on lo",
    expected="a datagram to a multicast group on lo comes back",
    why="middlewares find each other by multicast, on a robot without a network by that on lo",
)
def multicast_on_loopback(facts: MachineFacts) -> Diagnosis:
    problem = fact(facts, "network", "multicast_lo")
    if problem == "":
        return Diagnosis("green", "a datagram came back")
    text = f"{problem}; trials do not use this lo"
    fix = "ip link set lo up multicast on"
    return Diagnosis("yellow", text, fix)


@rule(
    "multicast route",
    expected="a route for 239.255.0.1",
    why="a middleware without a configured interface sends by the route, and finds no peer "
    "without one",
)
def multicast_route(facts: MachineFacts) -> Diagnosis:
    problem = fact(facts, "network", "multicast_route")
    if problem == "":
        return Diagnosis("green", "a route exists")
    names = facts["network"].get("interfaces") or ()
    # a robot on a network without a gateway needs the route to its network
    physical = [name for name in names if name != "lo" and not name.startswith(VIRTUAL)]
    fix = f"ip route add 239.0.0.0/8 dev {physical[0] if physical else 'lo'}"
    return Diagnosis("yellow", f"{problem}; trials have one of their own", fix)


@rule(
    "multicast in trials",
    expected="a datagram to a multicast group comes back on lo and on eth0 of a host",
    why="without it the middlewares of a trial cannot find each other as they do in the field",
)
def multicast_in_host(facts: MachineFacts) -> Diagnosis:
    problem = fact(facts, "network", "multicast_host")
    if problem is None:
        return Diagnosis("unknown", "no host could be made for the test")
    if problem == "":
        return Diagnosis("green", "a datagram came back on both")
    return Diagnosis("red", problem, spoils=True)


@rule(
    "kernel backend of networks",
    expected="hosts can be joined by a bridge, with rates, losses and delays of the kernel's",
    why="`backend: kernel` is for links above 1 Gbit/s, and checks the switch, which needs none "
    "of this",
)
def kernel_backend(facts: MachineFacts) -> Diagnosis:
    """Tells which parts of the backend work. Few suites need it; no part is yellow."""
    works = fact(facts, "network", "kernel_backend")
    if works is None:
        return Diagnosis("unknown", "no host could be made for the test")
    working = [name for name, problem in works.items() if not problem]
    problems = dict.fromkeys(problem for problem in works.values() if problem)
    missing = ", ".join(name for name, problem in works.items() if problem)
    if not working:
        fix = "run as root: its devices lie in several hosts at once"
        return Diagnosis("yellow", f"no part of it works: {'; '.join(problems)}", fix)
    without = f"; without {missing}: {'; '.join(problems)}" if problems else ""
    return Diagnosis("green", ", ".join(working) + without)


@rule(
    "interfaces",
    expected="lo and one interface, or a middleware that is told which one",
    why="discovery announces every address, and peers may choose one that leads through a VPN "
    "or a container's bridge",
)
def interfaces(facts: MachineFacts) -> Diagnosis:
    names = fact(facts, "network", "interfaces")
    if names is None:
        return Diagnosis("unknown", "the kernel does not list them")
    other_names = [name for name in names if name != "lo"]
    virtual = [name for name in other_names if name.startswith(VIRTUAL)]
    text = ", ".join(other_names) or "none but lo"
    if len(other_names) < 2:
        return Diagnosis("green", text)
    text += f" ({', '.join(virtual)} virtual)" if virtual else ""
    return Diagnosis("yellow", f"{text}; trials see lo and their own eth0 only")


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
