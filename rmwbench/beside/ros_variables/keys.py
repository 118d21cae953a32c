"""The cases of ROS variables in the processes of a writer and a reader, each with the outcome that
ROS 2's documentation demands.

A level of the factor is a case of the table below. Its trial is judged by whether the reader heard
the writer, never by its latency, and its arms are not compared with each other. In the case `none`
the same arm has to be heard: this distinguishes silence that a case demands from a middleware that
does not work.
"""

from typing import Annotated, Any, NamedTuple

from rmwbench.suite.fault import Fault, one_of

KEY = "ros_variables"
HEARD, NOT_HEARD = "heard", "not heard"
LENT, NOT_LENT = "lent", "not lent"
"""How the reader takes a message: in the middleware's memory, or as a copy."""
CONTROL = "none"
"""The case without any variable."""
LOANS = "loans"
"""The case in which a reader may take loans: the control of the one in which it may not."""
PEER = "PEER"
"""Stands in a value for the address of the other process's host."""

_DISCOVERY = "https://docs.ros.org/en/jazzy/Tutorials/Advanced/Improved-Dynamic-Discovery.html"
_DOMAIN = "https://docs.ros.org/en/jazzy/Concepts/Intermediate/About-Domain-ID.html"
_ENVIRONMENT = (
    "https://docs.ros.org/en/jazzy/Tutorials/Beginner-CLI-Tools/Configuring-ROS2-Environment.html"
)
_LOANS = "https://docs.ros.org/en/jazzy/How-To-Guides/Configure-ZeroCopy-Messages.html"
_RCL = "https://github.com/ros2/rcl/blob/jazzy/rcl/src/rcl/init.c"


class VariablesCase(NamedTuple):
    """`writer` and `reader`: the variables of each process. `one_host`, `two_hosts`: the outcome
    there that `source` demands, None if it demands none."""

    text: str
    writer: dict[str, str]
    reader: dict[str, str]
    one_host: str | None
    two_hosts: str | None
    source: str = _DISCOVERY

    def expected(self, hosts: int) -> str | None:
        """Return the outcome on so many hosts that `source` demands, None if it demands none."""
        return self.one_host if hosts == 1 else self.two_hosts


def _range(level: str) -> dict[str, str]:
    return {"ROS_AUTOMATIC_DISCOVERY_RANGE": level}


_STATIC = {"ROS_STATIC_PEERS": PEER}
_OFF, _LOCALHOST = _range("OFF"), _range("LOCALHOST")
_SUBNET, _DEFAULT = _range("SUBNET"), _range("SYSTEM_DEFAULT")
_PEERS, _OFF_PEERS = _LOCALHOST | _STATIC, _OFF | _STATIC
_ONLY = {"ROS_LOCALHOST_ONLY": "1"}
_ONLY_PEERS = _ONLY | _STATIC
_FIRST, _SECOND = {"ROS_DOMAIN_ID": "41"}, {"ROS_DOMAIN_ID": "42"}
_LEND, _COPY = ({"ROS_DISABLE_LOANED_MESSAGES": value} for value in "01")

CASES: dict[str, VariablesCase] = {
    CONTROL: VariablesCase("no variable is set: the control of all others", {}, {}, HEARD, HEARD),
    "same_domain": VariablesCase("both in domain 41", _FIRST, _FIRST, HEARD, HEARD, _DOMAIN),
    "other_domain": VariablesCase(
        "writer in domain 41, reader in 42", _FIRST, _SECOND, NOT_HEARD, NOT_HEARD, _DOMAIN
    ),
    "off": VariablesCase("both OFF", _OFF, _OFF, NOT_HEARD, NOT_HEARD),
    "off_reader": VariablesCase("the reader OFF", {}, _OFF, NOT_HEARD, NOT_HEARD),
    "localhost": VariablesCase("both LOCALHOST", _LOCALHOST, _LOCALHOST, HEARD, NOT_HEARD),
    "localhost_reader": VariablesCase("the reader LOCALHOST", {}, _LOCALHOST, HEARD, NOT_HEARD),
    "subnet": VariablesCase("both SUBNET", _SUBNET, _SUBNET, HEARD, HEARD),
    "system_default": VariablesCase("both SYSTEM_DEFAULT", _DEFAULT, _DEFAULT, HEARD, HEARD),
    "static_peers": VariablesCase(
        "both LOCALHOST, each with the other as peer", _PEERS, _PEERS, None, HEARD
    ),
    "static_peers_reader": VariablesCase(
        "both LOCALHOST, the reader with the writer as peer", _LOCALHOST, _PEERS, None, HEARD
    ),
    "static_peers_off": VariablesCase(
        "both OFF, each with the other as peer", _OFF_PEERS, _OFF_PEERS, None, NOT_HEARD
    ),
    "localhost_only": VariablesCase(
        "both with ROS_LOCALHOST_ONLY=1", _ONLY, _ONLY, HEARD, NOT_HEARD, _ENVIRONMENT
    ),
    "localhost_only_peers": VariablesCase(
        "both with ROS_LOCALHOST_ONLY=1, which goes before peers",
        _ONLY_PEERS,
        _ONLY_PEERS,
        None,
        NOT_HEARD,
        _RCL,
    ),
    LOANS: VariablesCase(
        "the reader with ROS_DISABLE_LOANED_MESSAGES=0", {}, _LEND, LENT, None, _LOANS
    ),
    "no_loans": VariablesCase(
        "the reader with ROS_DISABLE_LOANED_MESSAGES=1", {}, _COPY, NOT_LENT, None, _LOANS
    ),
}
"""The domains are not 0, which other trials use, and below 102: higher ones have ports among
Linux's ephemeral ports."""


def check_hosts(name: str, hosts: int) -> None:
    """Raises Fault if the case has no expected outcome for this number of hosts."""
    if CASES[name].expected(hosts) is None:
        raise Fault(
            f"the case `{name}` of ros_variables says nothing of "
            f"{'one host' if hosts == 1 else 'several hosts'}",
            expected="`hosts: [robot, base]`, or another case"
            if hosts == 1
            else "one host, or another case",
            actual="one host" if hosts == 1 else f"{hosts} hosts",
            fix="exclude this combination under `exclude`",
            at=("ros_variables",),
        )


RosVariables = Annotated[str, one_of("ros_variables", CASES)]
KIND = RosVariables | None


def check(level: str | None, workload: Any) -> None:
    """Raises Fault unless each process of the workload only publishes or only subscribes: otherwise
    a trial cannot show whether a variable is obeyed."""
    if level is None:
        return
    check_hosts(level, len(workload.host_names))
    kinds_of_process: dict[str, set[str]] = {}
    for node in workload.all_nodes:
        kinds = kinds_of_process.setdefault(node.process_name, set())
        kinds |= {
            kind
            for kind in ("publishers", "subscriptions", "clients", "services")
            if getattr(node, kind)
        }
    for process, kinds in kinds_of_process.items():
        if kinds not in ({"publishers"}, {"subscriptions"}):
            raise Fault(
                "each process under `ros_variables` must only publish or only subscribe",
                expected="processes that publish, and others that subscribe",
                actual=f"{process} has {' and '.join(sorted(kinds)) or 'nothing'}",
                fix="put a talker and its listener into processes of their own, without relays "
                "and services",
                at=(KEY,),
            )
