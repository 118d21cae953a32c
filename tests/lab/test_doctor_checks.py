"""The doctor's rules on facts that were made up: each fires for its cause and for nothing else."""

import copy
import re

import pytest

from rmwbench.lab.machine import machine_card, machine_facts
from rmwbench.lab.machine.checkup import RULES, checks, warnings
from rmwbench.lab.machine.probe import EdgeReading, Ticks, edge_probes


def sampled(busy, steal, processors=8):
    """The probes of a second with so many ticks that the hypervisor gave and took."""
    ticks = Ticks(busy, 100 * processors - busy - steal, 0, steal)
    begun = EdgeReading(Ticks(0, 0, 0, 0), 0, 0, None, 2)
    return edge_probes(begun, EdgeReading(ticks, 10**9, 10**9, None, 2))


GOOD = {
    "hardware": {
        "architecture": "x86_64", "cpu_model": "A", "cores_online": 8, "cores_usable": 8, "smt_active": False,
        "governor": "performance", "turbo": "off", "virtualization": None, "container": {}, "swap_bytes": 1 << 30,
        "idle_states": [{"name": "C1", "latency_us": 2, "disabled": False}], "memory_bytes": 32 << 30,
    },
    "kernel": {"clocksource": "tsc", "boot_options": [], "transparent_hugepages": "madvise"},
    "sysctls": {
        "net.core.rmem_max": str(1 << 26), "net.core.wmem_max": str(1 << 26), "net.core.rmem_default": "212992",
        "net.core.netdev_max_backlog": "5000", "net.core.default_qdisc": "fq_codel",
        "net.ipv4.ipfrag_high_thresh": str(1 << 28), "net.ipv4.ipfrag_time": "1",
        "net.ipv4.tcp_congestion_control": "cubic",
    },
    "state": {
        "load_1min": 0.1, "steal_fraction_since_boot": 0.0, "memory_available_bytes": 16 << 30,
        "timekeeping": {
            "kernel": {
                "synchronised": True, "frequency_ppm": -12.5, "tick_ppm": 0.0, "estimated_error_ns": 2000,
                "maximum_error_ns": 900_000,
            },
            "chrony": None, "ptp": None, "ptp_devices": None,
        },
    },
    "limits": {
        "files": 65536, "memlock_bytes": None, "processes": None, "may_lock_any": False, "timer_slack_ns": 50_000,
    },
    "programs": [],
    "sampled": {"seconds": 1.0, "probes": sampled(8, 0), "busy": 0.01, "top": []},
    "shm": {"bytes": 8 << 30, "used_bytes": 0, "leftovers": [], "middleware_files": 0, "unseen_processes": 0},
    "network": {
        "bridge_nf_call_iptables": None, "multicast_lo": "", "multicast_route": "", "multicast_host": "",
        "interfaces": ["eth0", "lo"], "kernel_backend": {"loss": "", "delay": ""},
    },
    "abilities": {
        "host": "", "host_fix": None, "user_namespace": "", "tun": "", "perf": "", "dma_latency": "",
        "real_time": "",
    },
    "tools": {"middlewares": {"floor": ""}, "commands": {}, "tools": {"sampler": "", "load": ""}},
    "calibration": {"summary": "recovered 40 of 40 injected truths", "age_days": 1.0},
}  # fmt: skip


def changed(path: str, value) -> dict:
    facts = copy.deepcopy(GOOD)
    *parents, last = path.split("/")
    place = facts
    for key in parents:
        place = place[key]
    assert last in place or parents[-1:] == ["container"], path
    place[last] = value
    return facts


def test_on_a_good_machine_everything_is_green():
    findings = checks(GOOD)
    assert [f.check for f in findings if f.level != "green"] == []
    assert len(findings) == len(RULES) == len({f.check for f in findings})
    assert warnings(GOOD) == []


DEEP = [{"name": "C6", "latency_us": 133, "disabled": False}]
LEFT = {"path": "/dev/shm/fastrtps_1", "middleware": "Fast DDS", "bytes": 4096}
NODE = {"pid": 7, "name": "talker", "what": "node", "why": "a ROS 2 node"}
DAEMON = {"pid": 8, "name": "iox-roudi", "what": "daemon", "why": "a daemon"}


@pytest.mark.parametrize(
    ("path", "value", "check", "level", "word"),
    [
        ("sysctls/net.core.rmem_max", "212992", "receive buffer", "red", "208 KiB"),
        ("sysctls/net.core.rmem_max", "4194304", "receive buffer", "yellow", "4 MiB"),
        ("sysctls/net.core.rmem_max", None, "receive buffer", "unknown", "cannot be read"),
        ("sysctls/net.core.wmem_max", "212992", "send buffer", "yellow", "212992"),
        ("sysctls/net.core.netdev_max_backlog", "300", "receive backlog", "yellow", "300"),
        ("sysctls/net.ipv4.ipfrag_high_thresh", "4194304", "IP reassembly", "yellow", "whatever is "
            "set here"),
        ("sysctls/net.ipv4.tcp_congestion_control", "bbr", "TCP congestion "
                                                           "control", "yellow", "bbr"),
        ("network/bridge_nf_call_iptables", "1", "bridge filter", "yellow", "= 1"),
        ("network/multicast_lo", "nothing came "
                                 "back", "multicast on lo", "yellow", "nothing came back"),
        ("network/multicast_route", "no route", "multicast route", "yellow", "no route"),
        ("network/multicast_host", "eth0: nothing came back", "multicast in trials", "red", "eth0"),
        ("network/multicast_host", None, "multicast in trials", "unknown", "no host"),
        ("network/kernel_backend", {"loss": "veth: denied"}, "kernel backend of "
                                                             "networks", "yellow", "veth: denied"),
        ("network/kernel_backend", None, "kernel backend of networks", "unknown", "no host"),
        ("network/interfaces", ["docker0", "eth0", "lo", "tailscale0"], "interfaces", "yellow", "docker0, tailscale0"),
        ("hardware/cores_usable", 2, "cores", "yellow", "2 of 8 cores"),
        ("hardware/container", {"cpu_quota_cores": 1.5}, "CPU quota", "red", "1.5 cores of 8"),
        ("hardware/virtualization", "hypervisor", "virtual machine", "yellow", "hypervisor"),
        ("hardware/virtualization", "docker", "virtual machine", "green", "a container (docker)"),
        ("sysctls/net.core.default_qdisc", None, "queue discipline", "unknown", "cannot be read"),
        ("calibration", {"summary": "s", "age_days": 1.2}, "calibration", "green", "s, 1 day ago"),
        ("hardware/governor", "powersave", "frequency governor", "yellow", "powersave"),
        ("hardware/governor", None, "frequency governor", "unknown", "no frequency control"),
        ("hardware/smt_active", True, "SMT siblings", "yellow", "on"),
        ("hardware/idle_states", DEEP, "idle states", "yellow", "C6 133 µs"),
        ("state/steal_fraction_since_boot", 0.2, "steal since boot", "yellow", "20.00 %"),
        ("sampled/probes", sampled(98, 2), "steal now", "yellow", "2.0 % of what was asked for"),
        ("sampled/probes", sampled(9, 1), "steal now", "yellow", "10.0 % of what was asked for, 1 tick of"),
        ("sampled/probes", sampled(40, 10), "steal now", "red", "20.0 % of what was asked for, 10 ticks"),
        ("sampled/probes", [], "steal now", "unknown", "no processor time"),
        ("sampled/busy", 0.3, "load", "yellow", "30 %"),
        ("sampled/busy", 0.9, "load", "red", "90 %"),
        ("kernel/clocksource", "hpet", "clock source", "red", "hpet"),
        ("state/timekeeping", None, "clock", "unknown", "is unknown"),
        ("state/timekeeping/kernel/tick_ppm", 1000.0, "clock", "yellow", "steered by 1012 ppm"),
        ("kernel/transparent_hugepages", "always", "transparent huge pages", "yellow", "always"),
        ("limits/timer_slack_ns", 1000, "timer slack", "yellow", "1000 ns"),
        ("limits/files", 1024, "process limits", "yellow", "ulimit -n"),
        ("limits/files", 128, "process limits", "red", "128 open files"),
        ("limits/memlock_bytes", 65536, "process limits", "yellow", "64 KiB of locked memory"),
        ("limits/processes", 100, "process limits", "yellow", "--pids-limit"),
        ("shm/bytes", None, "/dev/shm", "red", "there is none"),
        ("shm/bytes", 64 << 20, "/dev/shm", "red", "64 MiB"),
        ("shm/used_bytes", 7 << 30, "/dev/shm", "yellow", "7 GiB used"),
        ("shm/leftovers", [LEFT], "leftover segments", "yellow", "Fast DDS"),
        ("state/memory_available_bytes", 1 << 28, "memory", "red", "256 MiB"),
        ("state/memory_available_bytes", 1010 << 20, "memory", "yellow", "1010 MiB"),
        ("hardware/container", {"memory_bytes": 1 << 30}, "memory", "yellow", "limited to 1 GiB"),
        ("programs", [NODE, DAEMON], "running robots", "red", "talker (7, a ROS 2 node)"),
        ("programs", [DAEMON], "running robots", "yellow", "iox-roudi"),
        ("abilities/host", "unshare: Operation not "
                           "permitted", "isolated hosts", "red", "not permitted"),
        ("abilities/perf", "Permission denied", "scheduler tracing", "yellow", "Permission denied"),
        ("abilities/tun", "No such file or "
                          "directory", "network emulation", "yellow", "No such file"),
        ("abilities/user_namespace", "Operation not "
                                     "permitted", "user namespaces", "yellow", "not permitted"),
        ("abilities/dma_latency", "Permission denied", "processors kept awake", "yellow", "denied"),
        ("abilities/real_time", "Operation not "
                                "permitted", "real-time priority", "yellow", "not permitted"),
        ("tools/middlewares", {"floor": "", "zenoh": "not built yet"}, "middlewares", "yellow", "not built: zenoh"),
        ("tools/middlewares", {"floor": "not built yet"}, "middlewares", "red", "none is built"),
        ("tools/tools", {"sampler": "", "load": "the load is not "
                                                "built"}, "tools", "yellow", "not built"),
        ("tools/tools", {"sampler": "the sampler is not "
                                    "built", "load": ""}, "tools", "red", "sampler: the sampler"),
        ("calibration", None, "calibration", "yellow", "none of this machine"),
        ("calibration", {"summary": "s", "age_days": 40.0}, "calibration", "yellow", "40 days ago"),
    ],
)  # fmt: skip
def test_each_rule_has_its_cause(path, value, check, level, word):
    findings = checks(changed(path, value))
    (finding,) = [f for f in findings if f.check == check]
    assert finding.level == level and word in finding.found
    others = [f.check for f in findings if f.level != "green" and f.check != check]
    # Fewer usable cores than there are is one fact that two rules may see; everything else stays
    # one finding.
    assert others == []
    assert finding.why and finding.expected


@pytest.mark.parametrize(
    ("path", "value", "check"),
    [
        ("sysctls/net.core.rmem_max", "212992", "receive buffer"),
        ("sysctls/net.core.netdev_max_backlog", "300", "receive backlog"),
        ("sysctls/net.ipv4.ipfrag_high_thresh", "4194304", "IP reassembly"),
        ("sysctls/net.ipv4.tcp_congestion_control", "bbr", "TCP congestion control"),
        ("network/bridge_nf_call_iptables", "1", "bridge filter"),
    ],
)
def test_a_sysctl_has_a_command_for_now_and_one_for_good(path, value, check):
    (finding,) = [f for f in checks(changed(path, value)) if f.check == check]
    settings = re.fullmatch(r"sysctl -w ((?:[a-z0-9_.-]+=[a-z0-9]+ ?)+)", finding.fix)[1].split()
    assert settings and all(setting in finding.permanent for setting in settings)
    assert "/etc/sysctl.d/60-rmwbench-" in finding.permanent


def test_what_the_doctor_samples_are_the_probes_of_a_trial(monkeypatch):
    """As a share of all time, most of which is idle while it looks, a tenth of what was asked for
    was half a percent, and green."""
    readings = [Ticks(50, 500, 5, 0), Ticks(58, 690, 6, 1)]
    edges = iter(
        EdgeReading(ticks, at, at, None, 2) for at, ticks in zip((0, 10**9), readings, strict=True)
    )
    monkeypatch.setattr(machine_facts, "read_edge", lambda: next(edges))
    sample = machine_facts.sample(0.0)
    probes = {row["probe"]: row["value"] for row in sample["probes"]}
    assert probes["steal"] == pytest.approx(0.1) and probes["stolen_ticks"] == 1
    assert sample["busy"] == pytest.approx(9 / 200)


def test_what_nobody_looked_for_is_not_judged():
    facts = {key: GOOD[key] for key in ("hardware", "kernel", "sysctls", "state")}
    names = {f.check for f in checks(facts)}
    assert "load" in names and not names & {
        "steal now",
        "leftover segments",
        "isolated hosts",
        "running robots",
    }
    assert checks({}) == []


def test_leftovers_are_removed_by_name_and_not_by_guess():
    facts = changed("shm/leftovers", [{**LEFT, "path": f"/dev/shm/fastrtps_{n}"} for n in range(5)])
    facts["shm"]["unseen_processes"] = 3
    (finding,) = [f for f in checks(facts) if f.check == "leftover segments"]
    assert finding.fix == "rm -r -- " + " ".join(f"/dev/shm/fastrtps_{n}" for n in range(5))
    assert "and 2 more" in finding.found and "3 processes of other users" in finding.found
    facts["shm"] |= {"leftovers": [], "middleware_files": 4}
    (finding,) = [f for f in checks(facts) if f.check == "leftover segments"]
    # there are files, and some processes could not be looked into
    assert finding.level == "unknown"


def test_the_facts_of_this_machine_satisfy_every_rule():
    """Whatever this machine is like: no rule trips over what is really found."""
    assert len(checks(machine_facts.report_facts(machine_card.describe()))) > 15


def test_a_better_clock_is_one_that_the_kernel_offers():
    def finding(architecture, *available):
        facts = changed("hardware/architecture", architecture)
        facts["kernel"] |= {"clocksource": "slow", "clocksources_available": list(available)}
        (only,) = [one for one in checks(facts) if one.check == "clock source"]
        return only

    assert finding("aarch64", "arch_sys_counter", "slow").fix.startswith("echo arch_sys_counter > ")
    none = finding("aarch64", "slow")
    assert (none.level, none.fix, none.permanent) == ("red", None, None)
    assert "tsc=reliable" in finding("x86_64", "hpet", "slow").permanent


def finding_of(facts: dict, check: str):
    (finding,) = [finding for finding in checks(facts) if finding.check == check]
    return finding


def test_a_container_alone_hides_no_frequency_control():
    facts = changed("hardware/governor", None)
    facts["hardware"]["virtualization"] = "docker"
    assert finding_of(facts, "frequency governor").level == "unknown"
    facts["hardware"]["virtualization"] = "hypervisor (xen), docker"
    assert finding_of(facts, "frequency governor").level == "green"


def test_a_quota_of_all_cores_needs_no_fix():
    finding = finding_of(changed("hardware/container", {"cpu_quota_cores": 8.0}), "CPU quota")
    assert (finding.level, finding.fix) == ("green", None)


def test_one_is_no_plural():
    facts = changed("hardware/cores_usable", 1)
    facts["hardware"]["cores_online"] = 1
    assert finding_of(facts, "cores").found == "1 core"
    facts["shm"] |= {"unseen_processes": 1, "middleware_files": 1}
    assert "1 process of other users" in finding_of(facts, "leftover segments").found


def test_a_command_names_files_as_they_are_and_never_shrinks_shared_memory():
    facts = changed("shm/leftovers", [{**LEFT, "path": "/dev/shm/my data.zenoh"}])
    assert finding_of(facts, "leftover segments").fix == "rm -r -- '/dev/shm/my data.zenoh'"
    assert "size=16g" in finding_of(changed("shm/used_bytes", 7 << 30), "/dev/shm").fix
    assert "size=2g" in finding_of(changed("shm/bytes", 64 << 20), "/dev/shm").fix


def test_an_idle_state_of_unknown_latency_is_named_without_it():
    unknown = [{"name": "C1", "latency_us": None, "disabled": None}]
    (only,) = [
        one
        for one in checks(changed("hardware/idle_states", unknown))
        if one.check == "idle states"
    ]
    assert only.found == "C1"


def test_no_advice_overwrites_the_file_of_another():
    texts = (
        finding_of(changed("abilities/real_time", "denied"), "real-time priority").fix,
        finding_of(changed("limits/files", 1024), "process limits").permanent,
    )
    files = {re.search(r"/etc/security/limits\.d/\S+\.conf", text)[0] for text in texts}
    assert len(files) == len(texts)


def test_multicast_on_loopback_is_not_had_by_taking_it_from_the_network():
    """A route for 239.0.0.0/8 would send discovery nowhere else, and no lo that is down takes one."""
    fix = finding_of(changed("network/multicast_lo", "lo: unreachable"), "multicast on lo").fix
    assert "lo up" in fix and "route" not in fix


@pytest.mark.parametrize(
    ("interfaces", "device"),
    [(["eth0", "lo"], "eth0"), (["docker0", "lo"], "lo"), (["lo"], "lo"), (None, "lo")],
)
def test_the_route_of_multicast_leads_to_the_network_where_there_is_one(interfaces, device):
    facts = changed("network/multicast_route", "no route for 239.255.0.1: unreachable")
    facts["network"]["interfaces"] = interfaces
    assert finding_of(facts, "multicast route").fix == f"ip route add 239.0.0.0/8 dev {device}"
