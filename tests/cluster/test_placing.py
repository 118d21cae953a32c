"""Which machines hosts are: what the command line says, what a suite must be for it, and gangs that
are pretended."""

import copy

import pytest

from rmwbench.campaign.plan.plan import make_plan
from rmwbench.campaign.trial import machines
from rmwbench.cluster.fleet import NoAnswer
from rmwbench.cluster.placed_fleet import PlacedFleet, Placing, parse_place
from rmwbench.codes import Code
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse as parse_suite
from rmwbench.suite.placement import place_cells
from tests.cluster.test_fleet import remote

OTHER = """
  - {{name: other, message: Bytes(100), rate_hz: 100, hosts: [robot, base], network: {network},
     against: pair}}
"""

SUITE = """
suite: hosts
title: a test
blocks: {{planned: 4, minimum: 2}}
timeline: {{warmup_s: 0.1, steady_s: 1}}
{more}
arms:
  - {{name: a, middleware: cyclonedds}}
workloads:
  - {{name: pair, message: Bytes(100), rate_hz: 100, hosts: [robot, base], network: {network}}}
  - {{name: alone, message: Bytes(100), rate_hz: 100}}
"""


def suite_cells(network="{links: {all: {both: {delay_ms: 5}}}}", more=""):
    return cells(parse_suite(SUITE.format(network=network, more=more), where="hosts.yaml"))


def a_plan():
    placed_cells = place_cells(suite_cells(), "--gang")
    return make_plan(
        parse_suite(SUITE.format(network="{}", more=""), where="hosts.yaml"), placed_cells, seed=0
    )


def test_a_list_of_machines_is_read():
    placing = parse_place("robot=rover, base=desk@10.0.0.7")
    assert (
        placing.hosts == {"robot": ("rover", None), "base": ("desk", "10.0.0.7")}
        and placing.option == "--place"
    )
    assert Placing.of_document(placing.document()) == placing
    assert Placing().option == "--gang" and Placing.of_document(Placing().document()) == Placing()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("robot", "is not HOST=MACHINE"),
        ("robot=", "is not HOST=MACHINE"),
        ("robot=a=b,base=c", "is not HOST=MACHINE"),
        ("robot=a", "at least two hosts"),
        ("robot=a,robot=b", "host `robot` is placed twice"),
        ("robot=a,base=a@10.0.0.1", "machine `a` is placed twice"),
    ],
)
def test_what_is_not_a_list_of_machines_is_refused(words, problem):
    with pytest.raises(UserError, match=problem):
        parse_place(words)


def test_hosts_and_machines_must_be_those_of_the_suite():
    parse_place("robot=a,base=b").check(a_plan())
    with pytest.raises(UserError, match="host `base` of workload `pair` has no machine"):
        parse_place("robot=a,desk=b").check(a_plan())
    with pytest.raises(
        UserError, match="no workload over several hosts has a host `bse`"
    ) as raised:
        parse_place("robot=a,base=b,bse=c").check(a_plan())
    assert "base" in raised.value.fix


def test_between_machines_is_the_real_network_and_nothing_of_the_suites():
    emulated, (pair, alone) = suite_cells(), place_cells(suite_cells(), "--place")
    assert (
        emulated[0].links is not None
        and pair.links is None
        and pair.real.hosts == ("robot", "base")
    )
    assert (
        pair.definition()["network"]["kind"] == "real"
        and pair.definition()["network"]["not_emulated"]
    )
    assert (
        any("5 ms" in line for line in pair.real.lines())
        and "network: real" in pair.real.lines()[0]
    )
    assert alone == emulated[1]
    assert place_cells(suite_cells("{}"), "--place")[0].real.left_out == ()


@pytest.mark.parametrize(
    ("more", "network", "problem"),
    [
        ("factors: {network.loss: [0, 0.1]}", "{}", "factor `network.loss`"),
        (
            "",
            "{changes: [{at_s: 0.5, host: robot, change: blackhole}]}",
            "changes within the trial",
        ),
    ],
)
def test_what_must_be_emulated_is_refused(more, network, problem):
    suite = [
        cell
        for cell in suite_cells(
            network, more.replace("factors", "exclude: [{workload: alone}]\nfactors")
        )
    ]
    with pytest.raises(UserError, match=problem):
        place_cells(suite, "--place")


def test_a_suite_of_single_hosts_is_not_placed():
    with pytest.raises(UserError, match="no workload of this suite is over several hosts"):
        place_cells(suite_cells()[1:], "--gang")


def test_each_machine_is_judged_by_its_own_rows():
    row = {"unit": "fraction", "at": "window"}
    stolen = [
        {"probe": f"{name}@base", "value": value, **row}
        for name, value in (("stolen", 0.2), ("stolen_ticks", 9))
    ]
    rows = [
        {"probe": "steal", "value": 0.0, **row},
        {"probe": "steal@base", "value": 0.2, **row},
        *stolen,
    ]
    (reason,) = machines.reasons_by_machine(rows, machine.voids)
    assert reason.code is Code.STEAL and reason.text.endswith("(on the machine of host base)")
    assert list(machines.reasons_by_machine(rows[:1], machine.voids)) == []


@pytest.fixture
def fleet(monkeypatch):
    fleet = object.__new__(PlacedFleet)
    fleet.address, fleet.machines, fleet.left_out, fleet.copy = "head:6379", [], [], None
    fleet.placing, fleet._gangs, fleet._losses, fleet._size, fleet._token = (
        Placing(),
        [],
        0,
        2,
        "word",
    )
    fleet.ports, fleet._before = {}, {}
    monkeypatch.setattr("rmwbench.cluster.fleet.Remote.ask", lambda self, *a, **k: self.name)
    there = {"port": 7000, "certificate": "-----BEGIN CERTIFICATE-----"}
    monkeypatch.setattr(
        PlacedFleet,
        "answers",
        lambda self, references, *_: {n: self.ports.get(n, there) for n in references},
    )
    monkeypatch.setattr(PlacedFleet, "_reserve", lambda self, members: None)
    return fleet


def test_gangs_take_all_machines_that_there_are_and_each_has_a_domain_of_its_own(fleet):
    fleet.machines = [remote(name) for name in "abcde"]
    fleet._form()
    assert [gang.name for gang in fleet.runners] == ["a + b", "c + d"]
    assert [gang.domain_id for gang in fleet.runners] == [40, 41]


def test_a_gang_that_lost_a_machine_gets_one_that_is_spare(fleet):
    fleet.machines = [remote(name) for name in "abc"]
    fleet._form()
    fleet.ports = {"b": NoAnswer("it died")}
    outcome = fleet.lose(fleet.runners[0].name)
    assert [gang.name for gang in fleet.runners] == [
        "a + c"
    ] and "machine b is gone; a + c goes on" in outcome
    fleet.ports["c"] = NoAnswer("it died, too")
    assert "machine c is gone" in fleet.lose(fleet.runners[0].name) and fleet.runners == []


def test_a_gang_whose_machines_are_all_there_is_tried_again_but_not_for_ever(fleet):
    fleet.machines = [remote(name) for name in "ab"]
    fleet._form()
    for _ in range(4):
        assert "all of its machines are still there; a + b goes on" in fleet.lose(
            fleet.runners[0].name
        )
    assert "not used any more" in fleet.lose(fleet.runners[0].name) and fleet.runners == []


def test_a_machine_that_is_gone_after_many_losses_is_named(fleet):
    """It was told as one more loss though no machine is gone."""
    fleet.machines = [remote(name) for name in "abcd"]
    fleet._form()
    fleet._losses = 5
    fleet.ports = {"b": NoAnswer("it died")}
    assert fleet.lose("a + b") == "machine b is gone"
    assert [gang.name for gang in fleet.runners] == ["c + d"]


def test_a_spare_machine_that_can_run_no_agent_ends_no_campaign_of_other_gangs(fleet):
    fleet.machines = [remote(name) for name in "abcde"]
    fleet._form()
    fleet.ports = {"b": NoAnswer("it died"), "e": "openssl is not installed"}
    assert fleet.lose("a + b") == (
        "machine b is gone; machine e runs no agent: openssl is not installed"
    )
    assert [gang.name for gang in fleet.runners] == ["c + d"]


def test_there_are_no_more_gangs_than_domains(fleet):
    fleet.machines = [remote(f"m{n}") for n in range(124)]
    fleet._form()
    assert [gang.domain_id for gang in fleet.runners] == [*range(40, 100)]


def test_a_machine_that_can_run_no_agent_is_the_users_to_mend(fleet):
    """Its reason was taken for the agent's port: a TypeError."""
    fleet.machines = [remote(name) for name in "ab"]
    fleet.ports = {"b": "openssl is not installed"}
    with pytest.raises(UserError, match="machine b runs no agent") as raised:
        fleet._form()
    assert raised.value.actual == "openssl is not installed"


def test_named_machines_may_be_unlike_and_every_trial_says_so(fleet):
    fleet.placing = parse_place("robot=a,base=b")
    unlike = copy.deepcopy(remote("b", kernel="5.0"))
    fleet._choose([remote("a"), unlike], None)
    fleet._form()
    (gang,) = fleet.runners
    assert gang.notes and "b has kernel 5.0 instead of" in gang.notes[0]
    assert (
        "robot: " in fleet.describe()["summary"] and gang.notes[0] in fleet.describe()["warnings"]
    )
    placement = fleet.document()["cluster"]["placement"]
    assert (
        placement["hosts"]["base"]["machine"] == "b"
        and Placing.of_document(placement) == fleet.placing
    )
    # as a resumed campaign has it
    fleet._before = {host: machine["facts"] for host, machine in placement["hosts"].items()}
    fleet._choose([remote("a"), unlike], None)
    with pytest.raises(UserError, match="another machine than the campaign began on") as raised:
        fleet._choose([remote("a"), remote("b")], None)
    assert "host base" in raised.value.where and "kernel" in raised.value.actual
    fleet.left_out = [("b", "no library")]
    with pytest.raises(UserError, match="machine b cannot take part"):
        fleet._check_all_used()


def test_two_names_of_one_machine_place_it_twice(fleet):
    fleet.placing = parse_place("robot=rover,base=10.0.0.5")
    node = {"NodeName": "rover", "NodeManagerAddress": "10.0.0.5", "NodeID": "1a2b"}
    with pytest.raises(UserError, match="is placed twice") as raised:
        fleet._candidates([node])
    assert raised.value.what == "machine `10.0.0.5` is placed twice"


def test_what_a_kernel_grants_is_asked_of_the_machine_of_each_host(fleet):
    fleet.placing = parse_place("robot=a,base=b")
    small = copy.deepcopy(remote("b"))
    small.card["machine"]["sysctls"]["net.core.rmem_max"] = "1"
    fleet._choose([remote("a"), small], None)
    kernels = fleet.kernels()
    assert {host: kernel.machine for host, kernel in kernels.of_hosts.items()} == {
        "robot": "a",
        "base": "b",
    }
    assert kernels.of_hosts["base"].sysctls["net.core.rmem_max"] == "1"
    assert kernels.own.machine == "a"
    assert "net.core.rmem_max 1 instead of" in fleet._notes(fleet.machines)[0]
    fleet.placing = Placing()
    fleet._choose([small, remote("a"), remote("c")], None)  # unlike, and so it is left out
    assert [machine.name for machine in fleet.machines] == ["a", "c"]
    assert not fleet.kernels().of_hosts


def test_workloads_against_each_other_must_not_differ_in_what_is_emulated():
    def beside(network):
        text = SUITE.format(network="{links: {all: {both: {delay_ms: 5}}}}", more="")
        return cells(parse_suite(text + OTHER.format(network=network), where="hosts.yaml"))

    with pytest.raises(UserError, match="`other` and `pair` are compared and differ"):
        place_cells(beside("{links: {all: {both: {loss: 0.2}}}}"), "--place")
    assert place_cells(beside("{links: {all: {both: {delay_ms: 5}}}}"), "--place")[-1].real
    alone = [cell for cell in beside("{}") if cell.workload.name == "other"]
    assert place_cells(alone, "--place")[0].real  # nothing is held against it


def test_one_level_of_an_emulated_network_compares_nothing_and_is_left_out():
    text = SUITE.format(
        network="{}",
        more="factors: {network.loss: [0, 0.1]}\nexclude: [{workload: alone}]",
    )
    both = cells(parse_suite(text, where="hosts.yaml"))
    lossy = [cell for cell in both if cell.factors["network.loss"] == 0.1]
    (cell,) = place_cells(lossy, "--place")
    assert cell.real.left_out
    with pytest.raises(UserError, match="compares emulated networks") as raised:
        place_cells(both, "--place")
    assert "--at network.loss=0" in raised.value.fix
