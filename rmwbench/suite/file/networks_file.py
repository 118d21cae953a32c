"""The shipped networks. A workload may name one as it names those of its own suite, and
`--network NAME` puts one between the hosts of every workload. A workload with one host is then
distributed over two: processes that only read are at the base, all others on the robot. So a chain
of relays, which are on one board, crosses the network once.

The tree of the suite's file is changed before it is validated, so that all other modules know only
networks.
"""

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.errors import UserError, not_one_of
from rmwbench.suite.fault import Fault
from rmwbench.suite.file.suite_files import NETWORKS_FILE, path_text, read, suites_directory
from rmwbench.suite.file.tree import (
    Place,
    key_place,
    mapping_at,
    mapping_of,
    mappings_of,
    put,
    tree_of,
    values_of,
)

NETWORKS, NETWORK, HOST, HOSTS, NODES = "networks", "network", "host", "hosts", "nodes"
ROBOT, BASE = "robot", "base"
RELAYS, RELAYS_HOST = "relays", "relays_host"
BRING_UP = "bring_up"
OPTION = "--network"
SENDS = ("publishers", "services", "clients")
"""Keys of a node that does not only read."""


@cache
def shipped_networks() -> CommentedMap:
    """Name -> network, as the file has it. Callers must not change it."""
    path = suites_directory() / NETWORKS_FILE
    where = path_text(path)
    tree = mapping_of(tree_of(read(path), where), where, "a file of networks", NETWORKS)
    return mapping_of(tree[NETWORKS], where, "networks", "wifi")


def complete(tree: CommentedMap, everywhere: str | None) -> None:
    """Adds the shipped networks that a suite's tree names and does not have. `everywhere` is the
    network of every workload in place of its own. Raises UserError for an unknown name, Fault for a
    workload that cannot be distributed."""
    own_networks = tree.get(NETWORKS)
    own_networks = own_networks if isinstance(own_networks, CommentedMap) else CommentedMap()
    if everywhere is not None:
        known = dict.fromkeys(map(str, (*own_networks, *shipped_networks())))
        _check(everywhere, tree, known)
        has_chains = RELAYS in _factors(tree)
        for index, workload in mappings_of(tree, "workloads"):
            is_chain = has_chains or RELAYS in workload
            _put_over(workload, index, everywhere, is_chain=is_chain)
    missing = {
        name: place
        for name, place in _named_networks(tree)
        if name in shipped_networks() and name not in own_networks
    }
    for name, place in sorted(missing.items()):
        network = values_of(shipped_networks()[name], NETWORKS_FILE)
        put(own_networks, name, mapping_at(network, place), place)
    if missing and NETWORKS not in tree:
        _put(tree, NETWORKS, own_networks)


def _check(name: str, tree: CommentedMap, known: Collection[str]) -> None:
    if name not in known:
        raise not_one_of(f"no network is called `{name}`", name, known, where=OPTION)
    if NETWORK in _factors(tree):
        raise UserError(
            "this suite compares networks: each level of its factor `network` is one",
            where=OPTION,
            actual=name,
            fix="`--at network=LEVEL` selects one of them",
        )


def _factors(tree: CommentedMap) -> CommentedMap:
    """The factors; empty where there are none, or the model will refuse them."""
    factors = tree.get("factors")
    return factors if isinstance(factors, CommentedMap) else CommentedMap()


def _named_networks(tree: CommentedMap) -> Iterator[tuple[str, Place]]:
    """The names of networks in workloads, and in the levels of the factor, with their places."""
    for _, workload in mappings_of(tree, "workloads"):
        if isinstance(workload.get(NETWORK), str):
            yield str(workload[NETWORK]), key_place(workload, NETWORK)
    factors = _factors(tree)
    if isinstance(factors.get(NETWORK), CommentedSeq):
        for name in factors[NETWORK]:
            yield str(name), key_place(factors, NETWORK)


def _put_over(workload: CommentedMap, index: int, network: str, *, is_chain: bool) -> None:
    """Puts a workload over a network, and distributes it over the robot and the base unless it has
    hosts of its own. Raises Fault for one that cannot be distributed."""
    if BRING_UP in workload:
        raise Fault(
            f"workload `{workload.get('name')}` brings up lifecycle nodes, which are on one host",
            expected="workloads that send messages",
            actual=f"{OPTION} {network}",
            fix=f"leave {OPTION} out",
            at=("workloads", index, BRING_UP),
        )
    _put(workload, NETWORK, network)
    name = workload.get("title") or workload.get("name")
    _put(workload, "title", f"{name}, over {network}")
    nodes = workload.get(NODES)
    if not isinstance(nodes, CommentedSeq):
        if HOSTS not in workload:
            _put(workload, HOSTS, CommentedSeq([ROBOT, BASE]))
            if is_chain:
                _put(workload, RELAYS_HOST, ROBOT)
        return
    node_maps = [node for _, node in mappings_of(workload, NODES)]
    if any(HOST in node and node[HOST] not in (ROBOT, BASE) for node in node_maps):
        return  # hosts of the suite's own
    sending = {_process(node) for node in node_maps if any(node.get(key) for key in SENDS)}
    host_of = {_process(node): ROBOT if _process(node) in sending else BASE for node in node_maps}
    host_of |= {_process(node): node[HOST] for node in node_maps if HOST in node}
    if len(set(host_of.values())) < 2:
        raise Fault(
            f"which nodes of `{workload.get('name')}` are at the other end of {network}?",
            expected="a node that only reads, or nodes with a `host`",
            actual=f"every process is on {next(iter(host_of.values()), ROBOT)}",
            fix=f"write `host: {ROBOT}` or `host: {BASE}` into each node",
            at=("workloads", index, NODES),
        )
    for node in node_maps:
        if HOST not in node:
            _put(node, HOST, host_of[_process(node)])


def _process(node: CommentedMap) -> str:
    return str(node.get("process") or node.get("name"))


def _put(tree: CommentedMap, key: str, value: Any) -> None:
    """Sets a key; a new one gets the line of the mapping."""
    put(tree, key, value, (tree.lc.line or 0, 0))
