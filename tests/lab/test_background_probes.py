"""What is said of the loads of several machines: each by itself, of its own processors. Nothing is
started: the load processes are stand-ins with accounts that a test states."""

from types import SimpleNamespace

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.sampling import loads
from rmwbench.lab.sampling.loads import Background

SECOND_NS = 1_000_000_000
TRAFFIC = {"processors": 0, "datagrams_per_s": 1000, "datagram_bytes": 100}


class _Hosts(dict):
    remote = ("far",)


def loads_of(monkeypatch, kind, host_idle="as_found", hosts=None, refused=()):
    """A load on each of `robot`, on this machine, and `far`, but where it is `refused`."""

    def spawn(name, executable, file, host):
        if host in refused:
            raise UserError("no room for it")
        return SimpleNamespace()

    monkeypatch.setattr(
        loads.tool, "find", lambda name: SimpleNamespace(executable="rmwbench-load")
    )
    monkeypatch.setattr(loads.os, "sched_getaffinity", lambda pid: set(range(64)))
    processes = SimpleNamespace(hosts=_Hosts.fromkeys(("robot", "far")), spawn_tool=spawn)
    return Background(processes, {"background": kind, "host_idle": host_idle}, hosts)


def account(load, in_force, **grown):
    """Its window was a second long, in which these counters grew."""
    load.in_force = in_force
    begin = {"time_ns": 0, **dict.fromkeys(grown, 0)}
    load.edges = begin, {"time_ns": SECOND_NS, **grown}


def probes(loads):
    return {row["probe"]: row["value"] for row in loads.probes()}


def test_the_load_of_another_machine_is_a_share_of_its_own_processors(monkeypatch):
    """It was divided by the 64 of this one."""
    loads = loads_of(monkeypatch, "cpu100")
    for load, processors in zip(loads._loads.values(), (64, 4), strict=True):
        in_force = {"processors": processors, "share": 1.0}
        account(load, in_force, cpu_ns=processors * SECOND_NS, wait_ns=0)
    assert probes(loads) == {
        "background_achieved": 1,
        "background_cpu": 1,
        "background_achieved@far": 1,
        "background_cpu@far": 1,
    }


def test_no_share_of_processors_that_nobody_has_counted(monkeypatch):
    loads = loads_of(monkeypatch, "traffic")
    for load in loads._loads.values():
        account(load, TRAFFIC, cpu_ns=SECOND_NS, datagrams_sent=1000)
    said = probes(loads)
    assert said["background_cpu"] == 1 / 64 and "background_cpu@far" not in said
    assert said["background_rate"] == said["background_rate@far"] == 100_000


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        ("background@far", {"background_achieved": 1, "background_achieved@far": 0}),
        ("background", {"background_achieved": 0, "background_achieved@far": 1}),
    ],
)
def test_a_load_that_failed_is_said_of_its_own_machine(monkeypatch, failed, said):
    """Both machines were said to be without it."""
    loads = loads_of(monkeypatch, "traffic")
    for load in loads._loads.values():
        account(load, TRAFFIC, cpu_ns=0, datagrams_sent=1000)
    loads.problems[failed] = "the load is gone"
    assert {name: value for name, value in probes(loads).items() if "achieved" in name} == said


def test_a_load_that_could_not_be_started_is_said_of_its_own_machine(monkeypatch):
    loads = loads_of(monkeypatch, "traffic", refused=["far"])
    account(loads._loads["background"], TRAFFIC, cpu_ns=0, datagrams_sent=1000)
    said = probes(loads)
    assert (said["background_achieved"], said["background_achieved@far"]) == (1, 0)


def test_a_machine_without_a_load_of_a_kind_is_not_said_to_lack_it(monkeypatch):
    """The background is on the other machine alone, processors are kept awake on both: the trial
    was void because this one had no background."""
    loads = loads_of(monkeypatch, "traffic", host_idle="awake", hosts=["far"])
    account(loads._loads["background"], TRAFFIC, cpu_ns=0, datagrams_sent=1000)
    assert {name: value for name, value in probes(loads).items() if "rate" not in name} == {
        "background_achieved@far": 1,
        "host_awake": 1,
        "host_awake@far": 1,
    }
