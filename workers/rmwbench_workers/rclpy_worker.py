"""rclpy: what a ROS 2 node in Python pays, over whatever RMW the environment names. Needs a sourced
ROS 2.

Messages are Python objects, as nodes have them, where their bytes are one field `data` (Bytes,
Image, …): `array.array` on both sides, the fastest that rclpy takes. The payload is written into
the array of the message that is published, as by a node whose camera fills
`numpy.frombuffer(message.data)`; with the option `assign: true` it is assigned as most nodes do,
`message.data = frame.tobytes()`, which copies it twice within the publish call
(docs/middlewares/python.md). Other types travel serialised (`raw`), and the granted note says so;
option `raw: true` asks for that everywhere. Subscriptions are served by an executor in a thread of
its own.
"""

import ctypes
import importlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from rmwbench_workers.harness import run
from rmwbench_workers.middleware import (
    FAILED,
    INVALID,
    UNSUPPORTED,
    Account,
    Deliver,
    Description,
    EndpointConfig,
    Granted,
    Handle,
    Layout,
    Profile,
    Qos,
    SessionConfig,
    WorkerError,
    known_options,
    payload_of,
)

EXECUTORS = ("single_threaded", "multi_threaded")
SERVICE_TYPE = "rmwbench_msgs/srv/Bytes"
ZENOH, ROUTER = "rmw_zenoh_cpp", "router"
ROUTER_PORT, ROUTER_PATIENCE_S = 7447, 20.0


def prefixes() -> list[Path]:
    """Of the sourced ROS 2."""
    return [Path(part) for part in _parts("AMENT_PREFIX_PATH")]


def rmw() -> str:
    return os.environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")


def installed() -> list[str]:
    """The RMWs of the sourced ROS 2, by the marks that they leave in ament's index."""
    marks = (prefix / "share/ament_index/resource_index/rmw_typesupport" for prefix in prefixes())
    names = {mark.name for place in marks if place.is_dir() for mark in place.iterdir()}
    return sorted(names - {"rmw_implementation"})  # the loader of the others


def own_messages() -> dict[str, str]:
    """Variables with which rmwbench_msgs is found where `rmwbench middlewares build rclcpp` put it;
    none where it is sourced already, or was never built."""
    if importlib.util.find_spec("rmwbench_msgs") is not None:
        return {}
    from rmwbench.errors import UserError
    from rmwbench.lab.middleware import ros2

    try:
        directory = ros2.worker_directory()
    except UserError:  # no checkout, or no toolchain
        return {}
    if directory is None:
        return {}
    install = directory.parents[1]
    # Debian's Python installs below local/
    packages = sorted(install.glob("**/python3*/*-packages"))
    if not packages:
        return {}
    added = {
        "AMENT_PREFIX_PATH": install,
        "LD_LIBRARY_PATH": install / "lib",
        "PYTHONPATH": packages[0],
    }
    return {name: os.pathsep.join([str(path), *_parts(name)]) for name, path in added.items()}


def _parts(variable: str) -> list[str]:
    return [part for part in os.environ.get(variable, "").split(os.pathsep) if part]


class Middleware:
    def describe(self) -> Description:
        found = version("rclpy")
        return Description(
            middleware=f"rclpy/{rmw()}",
            layer="rclpy",
            version=found,
            release_date="",
            build={
                "source": f"rclpy {found} over {rmw()}",
                "ros_distro": os.environ.get("ROS_DISTRO", "unknown"),
            },
            capabilities={
                "reliable": "yes",
                "best_effort": "yes",
                "keep_last": "yes",
                "keep_all": "yes",
                "transient_local": "yes",
                "callback": "yes",
                "intra_process": "partly: nodes of one process talk through the RMW, rclpy has no "
                "path of its own",
                "inter_process": "yes",
                "inter_host": "yes",
                "services": "yes",
            },
            profiles=[Profile("untouched", "none", "", "as installed")],
            modes={"executor": "|".join(EXECUTORS)},
            inherit=("AMENT_PREFIX_PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "ROS_DISTRO"),
            variants={
                f"rclpy/{name}": {"RMW_IMPLEMENTATION": name} | own_messages()
                for name in installed()
            },
            daemons={f"rclpy/{ZENOH}": (ROUTER,)},
            daemons_each_host=(ROUTER,),
        )

    def daemon(self, name: str) -> "Router":
        if name != ROUTER:
            raise WorkerError(UNSUPPORTED, f"daemon {name}", f"expected {ROUTER}")
        return Router()

    def open(self, config: SessionConfig) -> "Session":
        known_options(config, {"raw": None, "assign": None})
        return Session(config)


class Router:
    """rmw_zenohd, without which sessions of rmw_zenoh do not find each other; or one that serves
    the host already.

    Each host of a trial has one, and it connects to those of lower addresses, as rclcpp's does.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None
        if router_serves():
            print("daemon router: another one serves already, and is used", file=sys.stderr)
            return
        found = [
            path
            for prefix in prefixes()
            if (path := prefix / "lib" / ZENOH / "rmw_zenohd").is_file()
        ]
        if not found:
            raise WorkerError(
                UNSUPPORTED, "daemon router", f"lib/{ZENOH}/rmw_zenohd is in no prefix of the ROS 2"
            )
        self.process = subprocess.Popen(
            [found[0]],
            stdin=subprocess.DEVNULL,
            env=os.environ | router_environment(),
            preexec_fn=_die_with_parent,
        )
        deadline = time.monotonic() + ROUTER_PATIENCE_S
        while not router_serves():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                words = (
                    f"rmw_zenohd did not serve port {ROUTER_PORT} within "
                    f"{ROUTER_PATIENCE_S:g} s, or ended"
                )
                raise WorkerError(FAILED, "daemon router", words)
            time.sleep(0.01)

    def close(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(2.0)
            except subprocess.TimeoutExpired:
                self.process.kill()


def router_environment() -> dict[str, str]:
    """What connects the routers of several hosts; nothing where there is one."""
    own = os.environ.get("RMWBENCH_ADDRESS")
    others = dict.fromkeys(os.environ.get("RMWBENCH_PEERS", "").split())
    if not own:
        return {}
    lower = [address for address in others if ip_address(address) < ip_address(own)]
    endpoints = [f"tcp/{address}:{ROUTER_PORT}" for address in lower]
    return (
        {"ZENOH_CONFIG_OVERRIDE": f"connect/endpoints={json.dumps(endpoints)}"} if endpoints else {}
    )


def router_serves() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", ROUTER_PORT)) == 0


def _die_with_parent() -> None:
    """Also where this process is killed: a router must not outlive its trial."""
    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


class Session:
    def __init__(self, config: SessionConfig):
        import rclpy
        from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor

        self.raw, self.assigns = switch(config, "raw"), switch(config, "assign")
        if self.raw and self.assigns:
            raise WorkerError(
                INVALID,
                "option assign",
                "what is published serialised (raw) has no field to assign to",
            )
        self.rclpy = rclpy
        rclpy.init(args=[], domain_id=config.domain_id)
        kind = config.modes.get("executor", "single_threaded")
        self.executor_kind = kind
        self.executor = (
            MultiThreadedExecutor() if kind == "multi_threaded" else SingleThreadedExecutor()
        )
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def node(self, name: str) -> "Node":
        return Node(self, name)

    def configuration(self) -> tuple[str, str] | None:
        return "none", f"RMW_IMPLEMENTATION={rmw()}\nexecutor={self.executor_kind}\n"

    def close(self) -> None:
        self.executor.shutdown()
        self.thread.join()
        self.rclpy.shutdown()


def switch(config: SessionConfig, name: str) -> bool:
    level = config.options.get(name, "false")
    if level not in ("true", "false"):
        raise WorkerError(INVALID, f"option {name}", f"expected true or false, found {level}")
    return level == "true"


class Node:
    def __init__(self, session: Session, name: str):
        self.session = session
        self.node = session.rclpy.create_node(name)
        session.executor.add_node(self.node)

    def publisher(self, config: EndpointConfig) -> "Publisher":
        return Publisher(self, config)

    def subscription(self, config: EndpointConfig, deliver: Deliver) -> "Subscription":
        return Subscription(self, config, deliver)

    def client(self, config: EndpointConfig, deliver: Deliver) -> "Client":
        return Client(self, config, deliver)

    def service(self, config: EndpointConfig, handle: Handle) -> "Service":
        return Service(self, config, handle)

    def close(self) -> None:
        self.session.executor.remove_node(self.node)
        self.node.destroy_node()


def interface(ros_type: str) -> Any:
    """The class of `package/msg/Name` or `package/srv/Name`."""
    package, kind, name = ros_type.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), name)
    except (ImportError, AttributeError):
        reason = f"{ros_type} is not in the sourced ROS 2: rmwbench middlewares build rclcpp"
        raise WorkerError(UNSUPPORTED, f"type {ros_type}", reason) from None


def service_type(config: EndpointConfig) -> Any:
    if config.type.ros_type != f"{SERVICE_TYPE}_Request":
        reason = f"type {config.type.ros_type}: services have {SERVICE_TYPE}"
        raise WorkerError(UNSUPPORTED, f"endpoint {config.endpoint}", reason)
    return interface(SERVICE_TYPE)


def is_object(session: Session, config: EndpointConfig, message: Any) -> bool:
    """Whether its messages are rclpy's objects; with the option `raw` they are serialised bytes.
    Raises for a type whose object this worker cannot fill: its bytes alone would leave out what
    rclpy costs."""
    if session.raw:
        return False
    if message.get_fields_and_field_types().get("data") == "sequence<uint8>":
        return True
    reason = (
        f"{config.type.ros_type}: this worker fills objects of types with a sequence of bytes "
        "`data`; with `options: {raw: true}` it publishes and takes any type serialised"
    )
    raise WorkerError(UNSUPPORTED, f"endpoint {config.endpoint}", reason)


def template(message: Any, layout: Layout) -> Any:
    """A message with every field but `data` as the layout says."""
    from rclpy.serialization import deserialize_message

    return deserialize_message(
        layout.cdr_prefix + bytes(layout.payload_bytes) + layout.cdr_suffix, message
    )


def quality(asked: Qos) -> Any:
    from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

    return QoSProfile(
        depth=max(asked.depth, 1),
        history=HistoryPolicy.KEEP_ALL if asked.keep_all else HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if asked.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL
        if asked.transient_local
        else DurabilityPolicy.VOLATILE,
    )


class Endpoint:
    def __init__(self, node: Node, config: EndpointConfig, *, reads: bool):
        from rclpy.callback_groups import MutuallyExclusiveCallbackGroup

        self.node, self.session, self.config = node.node, node.session, config
        self.layout = config.type
        # One for each, as in the worker on rclcpp: with the node's own, an executor with several
        # threads would run the node's endpoints one after the other.
        self.group = MutuallyExclusiveCallbackGroup()
        self.notes: list[str] = []
        if reads and config.wait != "callback":
            reason = f"{config.wait}: an executor calls back; write `wait: callback`"
            raise WorkerError(UNSUPPORTED, f"endpoint {config.endpoint}", reason)

    def granted(self) -> Granted:
        notes = [
            *self.notes,
            "QoS as asked: rclpy cannot read it back",
            "notified, taken and called back are one time: the executor takes before it calls",
        ]
        return Granted(self.config.qos, "callback", "default", notes)

    def account(self) -> Account:
        return Account()


class Publisher(Endpoint):
    def __init__(self, node: Node, config: EndpointConfig):
        super().__init__(node, config, reads=False)
        message = interface(config.type.ros_type)
        objects = is_object(self.session, config, message)
        self.message = template(message, config.type) if objects else None
        if self.message is None:
            self.notes.append("published serialised: rclpy's message objects are left out")
        elif self.session.assigns:
            self.notes.append(
                "assigned: message.data = bytes, two copies of the payload within the publish call"
            )
        self.publisher = self.node.create_publisher(message, config.topic, quality(config.qos))

    def own_memory(self, size: int) -> memoryview | None:
        """The array of the message that is published; None where the payload is to be assigned, or
        has no array."""
        if self.message is None or self.session.assigns or size != len(self.message.data):
            return None
        return memoryview(self.message.data)

    def publish(self, payload: memoryview) -> None:
        if self.message is None:
            self.publisher.publish(
                b"".join((self.layout.cdr_prefix, payload, self.layout.cdr_suffix))
            )
        else:
            self.message.data = bytes(payload)
            self.publisher.publish(self.message)

    def publish_own(self) -> None:
        self.publisher.publish(self.message)

    def matched(self) -> int:
        return self.publisher.get_subscription_count()

    def close(self) -> None:
        self.node.destroy_publisher(self.publisher)


class Subscription(Endpoint):
    def __init__(self, node: Node, config: EndpointConfig, deliver: Deliver):
        super().__init__(node, config, reads=True)
        message = interface(config.type.ros_type)
        raw = not is_object(self.session, config, message)
        if raw:
            self.notes.append("taken serialised: rclpy's message objects are left out")

        def receive_raw(cdr: bytes) -> None:
            now_ns = time.monotonic_ns()
            deliver(payload_of(memoryview(cdr), config.type), now_ns, now_ns)

        def receive(found: Any) -> None:
            now_ns = time.monotonic_ns()
            deliver(memoryview(found.data), now_ns, now_ns)

        function = receive_raw if raw else receive
        self.subscription = self.node.create_subscription(
            message,
            config.topic,
            function,
            quality(config.qos),
            callback_group=self.group,
            raw=raw,
        )

    def matched(self) -> int:
        return (
            self.subscription.get_publisher_count()
            if hasattr(self.subscription, "get_publisher_count")
            else (self.node.count_publishers(self.config.topic))
        )

    def close(self) -> None:
        self.node.destroy_subscription(self.subscription)


class Client(Endpoint):
    def __init__(self, node: Node, config: EndpointConfig, deliver: Deliver):
        super().__init__(node, config, reads=True)
        self.deliver = deliver
        self.type = service_type(config)
        self.client = self.node.create_client(
            self.type, config.topic, qos_profile=quality(config.qos), callback_group=self.group
        )

    def publish(self, payload: memoryview) -> None:
        request = self.type.Request()
        request.data.frombytes(payload)  # one copy; an assignment would be the second
        self.client.call_async(request).add_done_callback(self._reply)

    def _reply(self, future: Any) -> None:
        now_ns = time.monotonic_ns()
        self.deliver(memoryview(future.result().data), now_ns, now_ns)

    def matched(self) -> int:
        return int(self.client.service_is_ready())

    def close(self) -> None:
        self.node.destroy_client(self.client)


class Service(Endpoint):
    def __init__(self, node: Node, config: EndpointConfig, handle: Handle):
        from rclpy.exceptions import InvalidHandle

        super().__init__(node, config, reads=True)

        def answer(request: Any, response: Any) -> Any:
            now_ns = time.monotonic_ns()

            def reply(message: memoryview) -> None:
                response.data.frombytes(message)

            handle(memoryview(request.data), now_ns, now_ns, reply)
            return response

        self.notes.append(
            "the reply is sent after the callback returned: its publish time is not in the record"
        )
        self.service = self.node.create_service(
            service_type(config),
            config.topic,
            answer,
            qos_profile=quality(config.qos),
            callback_group=self.group,
        )
        send_response = self.service.send_response

        def send(response: Any, header: Any) -> None:
            """Instead of rclpy's own, which answers what the harness leaves unanswered, and whose
            error ends the executor where the service was destroyed since its callback."""
            if response.data:
                with suppress(InvalidHandle):
                    send_response(response, header)

        self.service.send_response = send

    def matched(self) -> int:
        return self.node.count_clients(self.config.topic)

    def close(self) -> None:
        self.node.destroy_service(self.service)


def main() -> int:
    try:
        importlib.import_module("rclpy")
    except ImportError as error:
        reason = f"rclpy is not to be imported by {sys.executable} ({error})"
        fix = (
            "source a ROS 2, and make this environment with its Python: "
            "UV_PYTHON=/usr/bin/python3 uv sync"
        )
        print(f"{reason}: {fix}", file=sys.stderr)
        return 2
    return run(Middleware())
