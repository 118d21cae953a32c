"""Networks by name: shipped ones in a suite's workloads, and `--network` over every workload."""

import pytest

from rmwbench.campaign.plan.request import Planner, Request
from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.candidate_list import Choice
from rmwbench.suite.file.load import parse
from rmwbench.suite.file.networks_file import shipped_networks
from rmwbench.suite.file.suite_files import suites_directory
from rmwbench.suite.network.network import Network
from rmwbench.suite.suite import Suite
from tests.support.command import rmwbench

ROBOT = """\
suite: mine
title: a robot
arms: [{name: zenoh, middleware: zenoh}]
workloads:
  - name: robot
    rate_hz: 10
    message: Bytes(1000)
    nodes:
      - {name: camera, publishers: [{topic: image}]}
      - {name: navigation, subscriptions: [{topic: image}], publishers: [{topic: commands}]}
      - {name: viewer, subscriptions: [{topic: image}, {topic: commands}]}
      - {name: logger, process: navigation, subscriptions: [{topic: image}]}
  - {name: flow, rate_hz: 10, message: Bytes(1000)}
"""


def over(text: str, network: str | None) -> Suite:
    return parse(text, where="mine.yaml", choice=Choice(network=network))


def hosts(suite: Suite, workload: int = 0) -> dict[str, str]:
    return {node.name: node.host for node in suite.workloads[workload].all_nodes}


@pytest.mark.parametrize("name", shipped_networks())
def test_a_shipped_network_plays_any_workload(name):
    suite_cells = cells(over(ROBOT, name))
    assert {cell.links.name for cell in suite_cells} == {name}
    assert isinstance(suite_cells[0].links.network, Network)
    assert name in (suites_directory().parent / "docs/network.md").read_text()


def test_what_only_reads_is_at_the_base():
    suite = over(ROBOT, "wifi")
    assert hosts(suite) == {
        "camera": "robot",
        "navigation": "robot",
        "viewer": "base",
        "logger": "robot",  # of a process that sends
    }
    assert set(hosts(suite, 1).values()) == {"robot", "base"}
    assert [workload.title for workload in suite.workloads] == [
        "robot, over wifi",
        "flow, over wifi",
    ]


def test_hosts_that_a_suite_names_stay_and_its_own_network_comes_first():
    text = ROBOT.replace("{name: camera,", "{name: camera, host: arm,").replace(
        "{name: viewer,", "{name: viewer, host: hand,"
    )
    text = text.replace("{name: navigation,", "{name: navigation, host: hand,").replace(
        "{name: logger,", "{name: logger, host: hand,"
    )
    text += "networks: {wifi: {links: {all: {both: {rate_mbps: 7}}}}}\n"
    suite = over(text, "wifi")
    assert set(hosts(suite).values()) == {"arm", "hand"}
    assert cells(suite)[0].links.spec("arm", "up").rate_bps == 7_000_000


def test_a_chain_of_relays_crosses_the_network_once():
    chain = "  - {name: chain, rate_hz: 10, message: Bytes(1000), relays: 2, subscribers: 2}\n"
    suite = over(ROBOT + chain, "wifi")
    assert [*hosts(suite, 2).values()] == ["robot", "robot", "robot", "base", "base"]
    alone = (
        ROBOT.partition("  - name: robot")[0]
        + "  - {name: flow, rate_hz: 10, message: Bytes(64)}\n"
    )
    longer = cells(over(alone + "factors: {relays: [0, 3]}\n", "wifi"))
    assert [[node.host for node in cell.workload.all_nodes] for cell in longer] == [
        ["robot", "base"],
        ["robot", "robot", "robot", "robot", "base"],
    ]


def test_a_host_that_one_node_says_leaves_the_others_where_they_would_be():
    text = ROBOT.replace(
        "      - {name: viewer,",
        "      - {name: screen, host: robot, subscriptions: [{topic: image}]}\n"
        "      - {name: viewer,",
    )
    assert hosts(over(text, "wifi")) == {
        "camera": "robot",
        "navigation": "robot",
        "screen": "robot",
        "viewer": "base",
        "logger": "robot",
    }


def test_relays_have_a_host_that_there_is():
    text = ROBOT.replace("{name: flow,", "{name: flow, relays: 1, hosts: [a, b], relays_host: c,")
    with pytest.raises(UserError, match="unknown host `c`"):
        over(text, None)


def test_a_workload_may_name_a_shipped_network():
    text = ROBOT.replace("{name: flow,", "{name: flow, hosts: [robot, base], network: vpn,")
    suite = over(text, None)
    assert list(suite.networks) == ["vpn"] and suite.workloads[1].network == "vpn"
    assert "networks" not in ROBOT and not over(ROBOT, None).networks


@pytest.mark.parametrize("own_networks", ["", "networks: {1: {}}\n"])
def test_a_network_that_there_is_not_is_refused_with_the_names(own_networks):
    with pytest.raises(UserError, match="no network is called") as caught:
        over(ROBOT + own_networks, "wify")
    assert "wifi" in caught.value.render() and caught.value.where == "--network"


def test_a_suite_that_compares_networks_has_none_over_it():
    with pytest.raises(UserError, match="compares networks"):
        over(ROBOT + "factors: {network: [wifi, vpn]}\n", "lossy")


def test_a_workload_whose_nodes_all_send_asks_for_hosts():
    text = ROBOT.replace(
        "{name: viewer, subscriptions", "{name: viewer, publishers: [{topic: v}], subscriptions"
    )
    with pytest.raises(UserError, match="other end") as caught:
        over(text, "wifi")
    assert caught.value.where.startswith("mine.yaml:") and "host: base" in caught.value.render()


def test_a_campaign_keeps_the_network_that_it_is_resumed_with():
    request = Request("robot", network="wifi")
    assert Request.of_document({**vars(request)}).network == "wifi"
    planner = Planner(ROBOT, "mine.yaml", Choice(network=request.network))
    assert {cell.links.name for cell in planner.select(request)[1]} == {"wifi"}


@pytest.mark.parametrize(
    ("bytes_", "code", "says"), [(1_000_000, 0, "is asked for"), (10_000_000, 2, "medium wifi")]
)
def test_the_plan_says_what_does_not_fit(tmp_path, bytes_, code, says):
    """What is more than the air carries is named, five times as much is not even tried."""
    suite = tmp_path / "mine.yaml"
    suite.write_text(ROBOT.replace("Bytes(1000)", f"Bytes({bytes_})"))
    plan = rmwbench("plan", suite, "--network", "wifi_edge", "--workload", "robot")
    assert plan.returncode == code and says in plan.stdout + plan.stderr


def test_a_bring_up_has_no_network_and_is_not_told_to_remove_hosts_that_it_has_not():
    text = ROBOT + "  - {name: up, bring_up: {nodes: 2}}\n"
    with pytest.raises(UserError, match="`up` brings up lifecycle nodes") as caught:
        over(text, "wifi")
    assert caught.value.where == "mine.yaml:14" and caught.value.fix == "leave --network out"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ROBOT + "factors: 5\n", "`factors` is not a mapping"),
        (ROBOT.replace("process: navigation", "process: [navigation]"), "`process` is not a text"),
    ],
)
def test_a_mistake_is_refused_as_without_a_network(text, words):
    for network in (None, "wifi"):
        with pytest.raises(UserError) as caught:
            over(text, network)
        assert words in caught.value.what


def test_a_graph_of_one_process_has_no_second_host():
    graph = "  - {name: g, rate_hz: 10, message: Bytes(1000), graph: {nodes: 4, processes: 1}}\n"
    with pytest.raises(UserError, match="host `base` has no node") as caught:
        over(ROBOT + graph, "wifi")
    assert caught.value.where == "mine.yaml:14"


def test_a_mistake_with_a_shipped_network_is_at_its_name_in_the_suite():
    """It had the line of the file of networks."""
    hosts = (
        "  - {name: own, rate_hz: 10, message: Bytes(1000), hosts: [arm, hand], network: wifi}\n"
    )
    with pytest.raises(UserError, match="unknown host `base`") as caught:
        over(ROBOT + hosts, None)
    assert caught.value.where == "mine.yaml:14"
