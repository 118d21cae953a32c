"""The shipped networks: a workload may name one as those of its own suite, and `--network NAME` puts
one between the hosts of every workload. A workload of one host is dealt out to two, since a network
lies between hosts: what only reads is at the base, everything else on the robot. So a chain of
relays, which are one board, crosses it once.

Done in the tree of the suite's file, as candidates are: everything behind knows networks only.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.errors import UserError, not_one_of
from rmwbench.suite.fault import Fault
from rmwbench.suite.file.lines import put
from rmwbench.suite.file.places import NETWORKS_FILE, read, shown, suites_directory
from rmwbench.suite.file.tree import mapping_of, tree_of

NETWORKS, NETWORK, HOST, HOSTS, NODES = "networks", "network", "host", "hosts", "nodes"
ROBOT, BASE = "robot", "base"
RELAYS, RELAYS_HOST = "relays", "relays_host"
OPTION = "--network"
SENDS = ("publishers", "services", "clients")
"""What a node has that does not only read."""


@cache
def shipped_networks() -> CommentedMap:
    """Maps each name to its network, as the file has it. It is not to be changed."""
    path = suites_directory() / NETWORKS_FILE
    where = shown(path)
    tree = mapping_of(tree_of(read(path), where), where, "a file of networks", NETWORKS)
    return mapping_of(tree[NETWORKS], where, "networks", "wifi")


def complete(tree: CommentedMap, everywhere: str | None) -> None:
    """Gives a suite's tree the shipped networks that it names and does not have. `everywhere`: the
    network of every workload, in place of its own. Raises UserError where there is none of that
    name, Fault where a workload cannot be dealt out."""
    own_networks = tree.get(NETWORKS)
    own_networks = own_networks if isinstance(own_networks, CommentedMap) else CommentedMap()
    if everywhere is not None:
        _check(everywhere, tree, [*dict.fromkeys((*own_networks, *shipped_networks()))])
        workloads, chains = tree.get("workloads"), RELAYS in (tree.get("factors") or ())
        for index, workload in enumerate(workloads if isinstance(workloads, CommentedSeq) else ()):
            if isinstance(workload, CommentedMap):
                _put_over(workload, index, everywhere, chains=chains or RELAYS in workload)
    missing = {
        name
        for name in _network_names(tree)
        if name in shipped_networks() and name not in own_networks
    }
    for name in sorted(missing):
        _put(own_networks, name, shipped_networks()[name])
    if missing and NETWORKS not in tree:
        _put(tree, NETWORKS, own_networks)


def _check(name: str, tree: CommentedMap, known: list[str]) -> None:
    if name not in known:
        raise not_one_of(f"no network is called `{name}`", name, known, where=OPTION)
    if NETWORK in (tree.get("factors") or ()):
        raise UserError(
            "this suite compares networks: each level of its factor `network` is one",
            where=OPTION,
            actual=name,
            fix="`--at network=LEVEL` takes one of them",
        )


def _network_names(tree: CommentedMap) -> Iterator[str]:
    """The names of networks that workloads have, and those that are levels of the factor."""
    workloads, factors = tree.get("workloads"), tree.get("factors")
    for workload in workloads if isinstance(workloads, CommentedSeq) else ():
        if isinstance(workload, CommentedMap) and isinstance(workload.get(NETWORK), str):
            yield str(workload[NETWORK])
    levels = factors.get(NETWORK) if isinstance(factors, CommentedMap) else None
    yield from map(str, levels if isinstance(levels, CommentedSeq) else ())


def _put_over(workload: CommentedMap, index: int, network: str, *, chains: bool) -> None:
    _put(workload, NETWORK, network)
    name = workload.get("title") or workload.get("name")
    _put(workload, "title", f"{name}, over {network}")
    nodes = workload.get(NODES)
    if not isinstance(nodes, CommentedSeq):
        if HOSTS not in workload:
            _put(workload, HOSTS, CommentedSeq([ROBOT, BASE]))
            if chains:
                _put(workload, RELAYS_HOST, ROBOT)
        return
    written_nodes = [node for node in nodes if isinstance(node, CommentedMap)]
    if any(HOST in node and node[HOST] not in (ROBOT, BASE) for node in written_nodes):
        return  # hosts of the suite's own
    sending = {_process(node) for node in written_nodes if any(node.get(key) for key in SENDS)}
    placed = {
        _process(node): ROBOT if _process(node) in sending else BASE for node in written_nodes
    }
    placed |= {_process(node): node[HOST] for node in written_nodes if HOST in node}
    if len(set(placed.values())) < 2:
        raise Fault(
            f"which nodes of `{workload.get('name')}` are at the other end of {network}?",
            expected="a node that only reads, or nodes with a `host`",
            actual=f"every process is on {next(iter(placed.values()), ROBOT)}",
            fix=f"write `host: {ROBOT}` or `host: {BASE}` into each node",
            at=("workloads", index, NODES),
        )
    for node in written_nodes:
        if HOST not in node:
            _put(node, HOST, placed[_process(node)])


def _process(node: CommentedMap) -> Any:
    return node.get("process") or node.get("name")


def _put(tree: CommentedMap, key: str, value: Any) -> None:
    """A key that the file has not takes the line of what it is put into."""
    put(tree, key, value, (tree.lc.line or 0, 0))
