"""Cyclone DDS from Python: the package cyclonedds with the library inside it, under ROS 2's topic
and type names.

Messages are written and taken as CDR that is already serialised, as rclpy has them: the package's
own serialiser builds Python objects byte by byte, and 1 MB would take it a second. What remains is
the binding, Python's lock and the copies. One thread waits for all subscriptions of a session.
"""

import os
import threading
import time
from functools import cache
from importlib.metadata import version
from typing import Any

from rmwbench_workers.harness import run
from rmwbench_workers.middleware import (
    FAILED,
    TURN,
    UNSUPPORTED,
    Account,
    Deliver,
    Description,
    EndpointConfig,
    Full,
    Granted,
    Handle,
    Profile,
    Qos,
    SessionConfig,
    WorkerError,
    known_options,
    payload_of,
)

TUNED = """<CycloneDDS><Domain>
  <General><MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize></General>
  <Internal><SocketReceiveBufferSize min="default" max="8MiB"/></Internal>
</Domain></CycloneDDS>
"""
PROFILES = [
    Profile("untouched", "xml", "", "as installed: UDP, fragments of 1344 bytes"),
    Profile(
        "tuned", "xml", TUNED, "UDP with fragments of 64 KiB, which the loopback carries whole"
    ),
]
WAKE_NS = 50_000_000
"""How long the waiting thread sleeps at most: a closed session is noticed by then."""
KEEP_ALL_BLOCKING_S = 1


class Middleware:
    def describe(self) -> Description:
        found = version("cyclonedds")
        return Description(
            middleware="cyclonedds-python",
            layer="python",
            version=found,
            release_date="2026-03-20",
            build={"source": f"package cyclonedds {found}"},
            capabilities={
                "reliable": "yes",
                "best_effort": "yes",
                "keep_last": "yes",
                "keep_all": "yes",
                "transient_local": "yes",
                "block": "yes",
                "publish_sync": "yes",
                "inter_process": "yes",
                "inter_host": "yes",
            },
            profiles=PROFILES,
        )

    def open(self, config: SessionConfig) -> "Session":
        known_options(config, {})
        return Session(config)


class Session:
    def __init__(self, config: SessionConfig):
        self.text = config.profile_text
        if self.text:
            os.environ["CYCLONEDDS_URI"] = self.text
        # Imported here: the library reads its configuration at the first participant, and
        # `--describe` needs none.
        from cyclonedds.core import DDSException, GuardCondition, WaitSet
        from cyclonedds.domain import DomainParticipant

        try:
            self.participant = DomainParticipant(config.domain_id)
        except DDSException as error:
            raise WorkerError(FAILED, f"profile {config.profile_name}", str(error)) from None
        self.waitset = WaitSet(self.participant)
        self.changed = GuardCondition(self.participant)
        self.waitset.attach(self.changed)
        self.lock = threading.Lock()
        self.subscriptions: dict[int, Subscription] = {}
        self.open = True
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()

    def _wait(self) -> None:
        while self.open:
            self.waitset.wait(WAKE_NS)
            notified_ns = time.monotonic_ns()
            self.changed.set(False)  # or the set would wake for ever
            with self.lock:
                subscriptions = list(self.subscriptions.values())
            for subscription in subscriptions:
                subscription.take(notified_ns)

    def node(self, name: str) -> "Node":
        return Node(self)

    def configuration(self) -> tuple[str, str] | None:
        return ("xml", self.text) if self.text else None

    def close(self) -> None:
        self.open = False
        self.thread.join()


class Node:
    def __init__(self, session: Session):
        self.session = session

    def publisher(self, config: EndpointConfig) -> "Publisher":
        return Publisher(self.session, config)

    def subscription(self, config: EndpointConfig, deliver: Deliver) -> "Subscription":
        return Subscription(self.session, config, deliver)

    def client(self, config: EndpointConfig, deliver: Deliver) -> Any:
        raise WorkerError(
            UNSUPPORTED, f"endpoint {config.endpoint}", "the package has topics and no services"
        )

    def service(self, config: EndpointConfig, handle: Handle) -> Any:
        raise WorkerError(
            UNSUPPORTED, f"endpoint {config.endpoint}", "the package has topics and no services"
        )

    def close(self) -> None:
        pass


@cache
def data_type(dds_type: str) -> type:
    """A class that Cyclone takes for a message type and that carries CDR as it is."""
    from cyclonedds.idl import IdlStruct, make_idl_struct, types

    made: Any = make_idl_struct("Raw", dds_type, {"data": types.sequence[types.uint8]})
    assert issubclass(made, IdlStruct)
    made.serialize = lambda self, **_: self.data
    made.deserialize = classmethod(lambda cls, data, **_: cls(data=data))
    return made


def quality(config: EndpointConfig) -> Any:
    from cyclonedds.core import Policy
    from cyclonedds.core import Qos as DdsQos
    from cyclonedds.util import duration

    asked = config.qos
    blocking = duration(seconds=KEEP_ALL_BLOCKING_S)
    depth = max(asked.depth, 1)
    policies = [
        Policy.Reliability.Reliable(blocking) if asked.reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if asked.transient_local else Policy.Durability.Volatile,
        Policy.History.KeepAll if asked.keep_all else Policy.History.KeepLast(depth),
        Policy.DataRepresentation(use_cdrv0_representation=True),
    ]
    if asked.transient_local:
        # A late joiner gets what the durability service keeps, and that is one message unless it is
        # told otherwise.
        history = Policy.History.KeepAll if asked.keep_all else Policy.History.KeepLast(depth)
        policies.append(Policy.DurabilityService(duration(seconds=0), history, -1, -1, -1))
    return DdsQos(*policies)


class Endpoint:
    def __init__(self, session: Session, config: EndpointConfig):
        from cyclonedds.topic import Topic

        self.session, self.config, self.layout = session, config, config.type
        self.topic = Topic(session.participant, config.dds_topic, data_type(config.type.dds_type))

    def granted(self) -> Granted:
        asked = self.config.qos
        qos = Qos(asked.reliable, asked.transient_local, asked.keep_all, asked.depth)
        note = "the CDR is passed through Python as bytes; the package's own serialiser is left out"
        return Granted(qos, "block", "sync", [note])

    def account(self) -> Account:
        return Account()


class Publisher(Endpoint):
    def __init__(self, session: Session, config: EndpointConfig):
        from cyclonedds.pub import DataWriter

        super().__init__(session, config)
        self.writer = DataWriter(session.participant, self.topic, quality(config))
        self.raw = data_type(config.type.dds_type)

    def publish(self, payload: memoryview) -> None:
        from cyclonedds.core import DDSException

        try:
            self.writer.write(
                self.raw(data=b"".join((self.layout.cdr_prefix, payload, self.layout.cdr_suffix)))
            )
        except DDSException as error:
            if error.code == DDSException.DDS_RETCODE_TIMEOUT:
                raise Full from None
            raise

    def matched(self) -> int:
        return len(self.writer.get_matched_subscriptions())

    def close(self) -> None:
        del self.writer, self.topic


class Subscription(Endpoint):
    def __init__(self, session: Session, config: EndpointConfig, deliver: Deliver):
        from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState
        from cyclonedds.sub import DataReader

        if config.wait != "block":
            reason = f"{config.wait}: this worker waits in a WaitSet"
            raise WorkerError(UNSUPPORTED, f"endpoint {config.endpoint}", reason)
        super().__init__(session, config)
        self.deliver = deliver
        self.open = True
        self.reader = DataReader(session.participant, self.topic, quality(config))
        self.condition = ReadCondition(
            self.reader, SampleState.Any | ViewState.Any | InstanceState.Any
        )
        with session.lock:
            session.waitset.attach(self.condition)
            session.subscriptions[config.endpoint] = self
        session.changed.set(True)

    def take(self, notified_ns: int) -> None:
        """Hands over a turn's messages, one by one: several at a time would give a reader the room
        of its depth and of what it took. What is left announces itself again. The session's lock is
        held while it takes, never while it delivers: no reader's end waits for another's."""
        for _ in range(TURN):
            with self.session.lock:
                samples = self.reader.take(1) if self.open else ()
            taken_ns = time.monotonic_ns()
            if not samples:
                return
            data = getattr(samples[0], "data", None)
            if data is not None:
                self.deliver(payload_of(memoryview(data), self.layout), notified_ns, taken_ns)
            notified_ns = time.monotonic_ns()

    def matched(self) -> int:
        return len(self.reader.get_matched_publications())

    def close(self) -> None:
        with self.session.lock:
            self.open = False
            self.session.waitset.detach(self.condition)
            del self.session.subscriptions[self.config.endpoint]
        del self.condition, self.reader, self.topic


def main() -> int:
    return run(Middleware())
