"""Zenoh from Python: the package eclipse-zenoh, keys and liveliness tokens as the native worker has
them, so that the two also talk to each other.

With `callback` Zenoh's own thread calls into Python; with `block` a thread of ours, one to a
subscription, sleeps in the binding's `recv`, and a ring as long as the depth drops its oldest.
That, and a copy on each side, is what a Python program pays: the payload becomes `bytes` because
the binding has no other form.
"""

import threading
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version

import zenoh

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
    Profile,
    Qos,
    SessionConfig,
    WorkerError,
    known_options,
)

PROFILES = [
    Profile("untouched", "json5", "{}", "as installed: peers over TCP, found by multicast"),
    Profile(
        "tuned",
        "json5",
        "{transport: {unicast: {lowlatency: false}, link: {tx: {queue: {batching: {enabled: "
        "false}}}}}}",
        "no batching; the rest as installed",
    ),
]
OTHER = {"pub": "sub", "sub": "pub", "client": "service", "service": "client"}


class Middleware:
    def describe(self) -> Description:
        found = version("eclipse-zenoh")
        return Description(
            middleware="zenoh-python",
            layer="python",
            version=found,
            release_date="2026-10-28",
            build={"source": f"package eclipse-zenoh {found}"},
            capabilities={
                "reliable": "partly: ordered and kept on a link, but nothing is sent again after a "
                "link broke",
                "best_effort": "yes",
                "keep_last": "partly: with block a ring of this depth drops its oldest; with callback "
                "the receiving callback takes each message at once",
                "block": "yes",
                "callback": "yes",
                "publish_sync": "no: a put hands the message to the link's sending task",
                "publish_async": "yes",
                "inter_process": "yes",
                "inter_host": "yes",
                "services": "yes",
            },
            profiles=PROFILES,
        )

    def open(self, config: SessionConfig) -> "Session":
        known_options(config, {})
        try:
            configuration = zenoh.Config.from_json5(config.profile_text or "{}")
        except Exception as error:
            raise WorkerError(INVALID, f"profile {config.profile_name}", str(error)) from None
        return Session(configuration, config.domain_id)


class Session:
    """`tokens` counts who is there: (side, topic) → token keys."""

    def __init__(self, configuration: zenoh.Config, domain_id: int):
        self.text = str(configuration)
        self.domain_id = domain_id
        self.tokens: dict[tuple[str, str], set[str]] = {}
        self.lock = threading.Lock()
        try:
            self.zenoh = zenoh.open(configuration)
        except zenoh.ZError as error:
            raise WorkerError(FAILED, "session", str(error)) from None
        self.watch = self.zenoh.liveliness().declare_subscriber(
            f"@rmwbench/{domain_id}/**", self._note, history=True
        )

    def _note(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr)
        parts = key.split("/", 6)
        if len(parts) == 7:
            with self.lock:
                keys = self.tokens.setdefault((parts[2], parts[6]), set())
                (keys.add if sample.kind == zenoh.SampleKind.PUT else keys.discard)(key)

    def count(self, side: str, topic: str) -> int:
        with self.lock:
            return len(self.tokens.get((side, topic), ()))

    def node(self, name: str) -> "Node":
        return Node(self, name)

    def configuration(self) -> tuple[str, str]:
        return "json5", self.text

    def close(self) -> None:
        self.zenoh.close()


class Node:
    def __init__(self, session: Session, name: str):
        self.session, self.name = session, name

    def publisher(self, config: EndpointConfig) -> "Publisher":
        return Publisher(self, config, "pub")

    def subscription(self, config: EndpointConfig, deliver: Deliver) -> "Subscription":
        return Subscription(self, config, deliver)

    def client(self, config: EndpointConfig, deliver: Deliver) -> "Client":
        return Client(self, config, deliver)

    def service(self, config: EndpointConfig, handle: Handle) -> "Service":
        return Service(self, config, handle)

    def close(self) -> None:
        pass


class Endpoint:
    def __init__(self, node: Node, config: EndpointConfig, side: str):
        if config.qos.transient_local:
            raise WorkerError(
                UNSUPPORTED,
                f"endpoint {config.endpoint}",
                "transient_local: no history in this worker",
            )
        if config.qos.keep_all and side == "sub":
            raise WorkerError(
                UNSUPPORTED,
                f"endpoint {config.endpoint}",
                "keep_all: a subscriber keeps no history",
            )
        if config.wait == "poll" and side == "sub":
            reason = "poll: a spinning thread would hold Python's lock"
            raise WorkerError(UNSUPPORTED, f"endpoint {config.endpoint}", reason)
        if config.wait != "callback" and side in ("client", "service"):
            reason = (
                f"{config.wait}: queries and their replies come in callbacks here; write "
                "`wait: callback`"
            )
            raise WorkerError(UNSUPPORTED, f"endpoint {config.endpoint}", reason)
        self.session, self.config, self.side = node.session, config, side
        self.key = f"rmwbench/{self.session.domain_id}/{config.topic}"
        self.node_name = node.name
        self.token = None

    def announce(self) -> None:
        """After the endpoint is declared: who sees the token has the declaration already."""
        s = self.session
        place = f"{s.zenoh.zid()}/{self.node_name}/{self.config.endpoint}/{self.config.topic}"
        self.token = s.zenoh.liveliness().declare_token(
            f"@rmwbench/{s.domain_id}/{self.side}/{place}"
        )

    def matched(self) -> int:
        return self.session.count(OTHER[self.side], self.config.topic)

    def granted(self) -> Granted:
        asked = self.config.qos
        qos = Qos(asked.reliable, False, asked.keep_all, asked.depth)
        notes = ["each payload is copied into a Python object of its own"]
        wait = self.config.wait if self.side == "sub" else "callback"
        if self.side == "pub":
            full = "blocks" if asked.reliable else "drops_at_writer"
            return Granted(qos, wait, "async", notes, when_full=full)
        full = "blocks" if wait == "callback" else "drops_at_reader"
        return Granted(qos, wait, "default", notes, when_full=full)

    def account(self) -> Account:
        return Account()

    def close(self) -> None:
        if self.token is not None:
            self.token.undeclare()


class Publisher(Endpoint):
    def __init__(self, node: Node, config: EndpointConfig, side: str):
        super().__init__(node, config, side)
        blocks = (
            zenoh.CongestionControl.BLOCK if config.qos.reliable else zenoh.CongestionControl.DROP
        )
        self.publisher = self.session.zenoh.declare_publisher(self.key, congestion_control=blocks)
        self.announce()

    def publish(self, payload: memoryview) -> None:
        self.publisher.put(bytes(payload))

    def close(self) -> None:
        super().close()
        self.publisher.undeclare()


class Subscription(Endpoint):
    def __init__(self, node: Node, config: EndpointConfig, deliver: Deliver):
        super().__init__(node, config, "sub")

        def receive(sample: zenoh.Sample) -> None:
            notified_ns = time.monotonic_ns()
            payload = sample.payload.to_bytes()
            deliver(payload, notified_ns, time.monotonic_ns())

        self.thread: threading.Thread | None = None
        if config.wait == "callback":
            self.subscriber = self.session.zenoh.declare_subscriber(self.key, receive)
        else:
            # Not FifoChannel: full, it holds up Zenoh's receiving thread, and so its link.
            ring = zenoh.handlers.RingChannel(max(config.qos.depth, 1))
            self.subscriber = self.session.zenoh.declare_subscriber(self.key, ring)
            # The handler's: a `recv` of the subscriber's own that waits keeps it from being
            # undeclared.
            taking = (self.subscriber.handler, receive)
            self.thread = threading.Thread(target=self._take, args=taking, daemon=True)
            self.thread.start()
        self.announce()

    @staticmethod
    def _take(samples: Iterable[zenoh.Sample], receive: Callable[[zenoh.Sample], None]) -> None:
        for sample in samples:  # until the subscriber is undeclared
            receive(sample)

    def close(self) -> None:
        super().close()
        self.subscriber.undeclare()
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join()


class Client(Endpoint):
    def __init__(self, node: Node, config: EndpointConfig, deliver: Deliver):
        super().__init__(node, config, "client")
        self.deliver = deliver
        self.unanswered = 0
        self.querier = self.session.zenoh.declare_querier(
            self.key,
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.ConsolidationMode.NONE,
        )
        self.announce()

    def _reply(self, reply: zenoh.Reply) -> None:
        notified_ns = time.monotonic_ns()
        if reply.ok is None:
            self.unanswered += 1
            return
        payload = reply.ok.payload.to_bytes()
        self.deliver(payload, notified_ns, time.monotonic_ns())

    def publish(self, payload: memoryview) -> None:
        self.querier.get(self._reply, payload=bytes(payload))

    def account(self) -> Account:
        return Account(counters={"error_replies": self.unanswered})

    def close(self) -> None:
        super().close()
        self.querier.undeclare()


class Service(Endpoint):
    def __init__(self, node: Node, config: EndpointConfig, handle: Handle):
        super().__init__(node, config, "service")

        def answer(query: zenoh.Query) -> None:
            notified_ns = time.monotonic_ns()
            payload = query.payload.to_bytes() if query.payload is not None else b""
            reply = lambda message: query.reply(self.key, bytes(message))  # noqa: E731
            handle(payload, notified_ns, time.monotonic_ns(), reply)

        self.queryable = self.session.zenoh.declare_queryable(self.key, answer, complete=True)
        self.announce()

    def close(self) -> None:
        super().close()
        self.queryable.undeclare()


def main() -> int:
    return run(Middleware())
