"""From a middleware in Python to the harness's function table, and `main`.

Each function of the C header is one function here, found by its name; those that this worker does
not write are NULL. Nothing is raised across the boundary: an exception becomes the header's error
or status.
"""

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from rmwbench_workers.header import LIBRARY_VARIABLE, ffi, library, library_path
from rmwbench_workers.middleware import (
    FAILED,
    EndpointConfig,
    Full,
    Layout,
    Middleware,
    Qos,
    SessionConfig,
    WorkerError,
)

OK, STATUS_FULL, STATUS_FAILED = 0, 1, 4
WAITS = ("block", "poll", "callback")
PUBLISH_MODES = ("default", "sync", "async")
TAKES = ("typed", "raw", "lent")
WHEN_FULL = (
    "",
    "blocks",
    "overwrites_at_writer",
    "drops_at_writer",
    "drops_at_reader",
    "never_full",
)


def run(middleware: Middleware) -> int:
    """The whole main of a worker; returns the process's exit code."""
    try:
        harness = library()
    except OSError as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        return 2
    bridge = Bridge(middleware)
    arguments = [ffi.new("char[]", argument.encode()) for argument in sys.argv]
    vector = ffi.new("char *[]", [*arguments, ffi.NULL])
    serve = lambda: harness.rmwbench_worker_main(bridge.table, len(arguments), vector)  # noqa: E731
    if sys.argv[1:] != ["--describe"]:
        return serve()
    printed, code = _printed(serve)
    if code == 0:
        print(json.dumps(_described(json.loads(printed), middleware)))
    return code


def _described(document: dict[str, Any], middleware: Middleware) -> dict[str, Any]:
    """What the harness says of this worker, with the variables that make its program run inside a
    trial; one document for each of its variants, where it has some."""
    found = middleware.describe()
    document |= {"inherit": list(found.inherit), "environment": {LIBRARY_VARIABLE: library_path()}}
    if found.daemons_each_host:
        document["daemons_each_host"] = list(found.daemons_each_host)
    if not found.variants:
        return document
    variants = []
    for name, environment in found.variants.items():
        profiles = [
            profile | {"daemons": list(found.daemons.get(name, ()))}
            for profile in document["profiles"]
        ]
        own = {
            "middleware": name,
            "profiles": profiles,
            "environment": document["environment"] | environment,
        }
        variants.append(document | own)
    return {"protocol": document["protocol"], "middlewares": variants}


def _printed(run: Callable[[], int]) -> tuple[str, int]:
    """What a function of the library writes on stdout, and what it returns."""
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            code = run()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return file.read().decode(), code


class Bridge:
    """The table, and whatever must live as long as the harness may ask for it."""

    def __init__(self, middleware: Middleware):
        self.middleware = middleware
        self.kept: list[Any] = []
        self.alive: dict[Any, Any] = {}
        self.gates: dict[Any, Gate] = {}
        self.messages: dict[Any, Any] = {}
        """Publisher → the memory of its own message that the harness writes into."""
        # first: it reads the header, and with it the types below
        version = library().RMWBENCH_ABI_VERSION
        self.table = ffi.new("rmwbench_middleware *")
        self.table.abi_version = ffi.cast("uint32_t", version)
        self.table.struct_bytes = ffi.sizeof("rmwbench_middleware")
        absent = (
            ()
            if hasattr(middleware, "daemon")
            else ("profile_daemons", "daemon_open", "daemon_close")
        )
        for name, field in ffi.typeof("rmwbench_middleware").fields:
            function = getattr(self, f"_{name}", None)
            if function is not None and name not in absent:
                setattr(self.table, name, self.keep(ffi.callback(field.type, function)))

    def keep(self, thing: Any) -> Any:
        self.kept.append(thing)
        return thing

    def text(self, value: str) -> Any:
        """Text that lives as long as the process."""
        return self.keep(ffi.new("char[]", value.encode()))

    def create(self, kind: str, make: Callable[[], Any], error: Any) -> Any:
        """The handle of what `make` returns, or NULL with `error` filled."""
        try:
            made = make()
        except WorkerError as problem:
            return _fill(error, problem.kind, problem.about, str(problem))
        except Exception as problem:
            return _fill(error, FAILED, kind, f"{type(problem).__name__}: {problem}")
        handle = ffi.new_handle(made)
        pointer = ffi.cast(f"rmwbench_{kind} *", handle)
        self.alive[pointer] = handle
        return pointer

    def create_reader(self, kind: str, make: Callable[[], Any], error: Any, gate: "Gate") -> Any:
        """The same for what calls the harness through `gate`, which closes where it could not be
        created, and before it is destroyed."""
        pointer = self.create(kind, make, error)
        if pointer:
            self.gates[pointer] = gate
        else:
            gate.close()
        return pointer

    def destroy(self, pointer: Any) -> None:
        gate = self.gates.pop(pointer, None)
        if gate is not None:
            gate.close()
        _of(pointer).close()
        del self.alive[pointer]

    # ---- description ----

    def _describe(self) -> Any:
        found = self.middleware.describe()
        out = self.keep(ffi.new("rmwbench_description *"))
        for name in ("middleware", "layer", "version", "release_date"):
            setattr(out, name, self.text(getattr(found, name)))
        out.build, out.build_count = self.pairs(found.build), len(found.build)
        out.capabilities, out.capability_count = (
            self.pairs(found.capabilities),
            len(found.capabilities),
        )
        out.modes, out.mode_count = self.pairs(found.modes), len(found.modes)
        profiles = self.keep(ffi.new("rmwbench_profile[]", len(found.profiles)))
        for place, profile in enumerate(found.profiles):
            for name in ("name", "format", "text", "summary"):
                setattr(profiles[place], name, self.text(getattr(profile, name)))
        out.profiles, out.profile_count = profiles, len(found.profiles)
        return out

    def pairs(self, values: dict[str, str]) -> Any:
        out = self.keep(ffi.new("rmwbench_pair[]", len(values)))
        for place, (name, value) in enumerate(values.items()):
            out[place].name, out[place].value = self.text(name), self.text(value)
        return out

    # ---- session and nodes ----

    def _session_open(self, config: Any, error: Any) -> Any:
        asked = SessionConfig(
            profile_name=_text(config.profile.name),
            profile_text=_text(config.profile.text),
            options={
                _text(config.options[i].name): _text(config.options[i].value)
                for i in range(config.option_count)
            },
            modes={
                _text(config.modes[i].name): _text(config.modes[i].value)
                for i in range(config.mode_count)
            },
            domain_id=config.domain_id,
        )
        return self.create("session", lambda: self.middleware.open(asked), error)

    def _session_close(self, session: Any) -> None:
        self.destroy(session)

    def _session_configuration(self, session: Any, out: Any) -> None:
        found = _of(session).configuration()
        if found is not None:
            out.tell(out.context, *(ffi.new("char[]", part.encode()) for part in found))

    def _profile_daemons(self, _: Any) -> Any:
        found = self.middleware.describe()
        names = [self.text(name) for name in found.daemons.get(found.middleware, ())]
        return self.keep(ffi.new("char *[]", [*names, ffi.NULL]))

    def _daemon_open(self, name: Any, config: Any, error: Any) -> Any:
        return self.create("daemon", lambda: self.middleware.daemon(_text(name)), error)

    def _daemon_close(self, daemon: Any) -> None:
        self.destroy(daemon)

    def _node_create(self, session: Any, name: Any, error: Any) -> Any:
        return self.create("node", lambda: _of(session).node(_text(name)), error)

    def _node_destroy(self, node: Any) -> None:
        self.destroy(node)

    # ---- publishers and clients ----

    def _publisher_create(self, node: Any, config: Any, error: Any) -> Any:
        return self.create("publisher", lambda: _of(node).publisher(_endpoint(config)), error)

    def _publisher_destroy(self, publisher: Any) -> None:
        self.messages.pop(publisher, None)
        self.destroy(publisher)

    def _publisher_message(self, publisher: Any, size: int) -> Any:
        memory = _own_memory(_of(publisher), size)
        if memory is None:
            self.messages.pop(publisher, None)
            return ffi.NULL
        own = self.messages[publisher] = ffi.from_buffer("uint8_t[]", memory)
        return ffi.cast("uint8_t *", own)

    def _publish(self, publisher: Any, payload: Any, size: int) -> int:
        try:
            own = self.messages.get(publisher)
            if own is not None and payload == own:
                _of(publisher).publish_own()
            else:
                _of(publisher).publish(memoryview(ffi.buffer(payload, size)))
        except Full:
            return STATUS_FULL
        except Exception as problem:
            print(f"publish: {type(problem).__name__}: {problem}", file=sys.stderr)
            return STATUS_FAILED
        return OK

    def _client_create(self, node: Any, config: Any, sink: Any, error: Any) -> Any:
        gate = Gate()
        deliver = _deliver(sink, gate)
        return self.create_reader(
            "client", lambda: _of(node).client(_endpoint(config), deliver), error, gate
        )

    # ---- subscriptions and services ----

    def _subscription_create(self, node: Any, config: Any, sink: Any, error: Any) -> Any:
        gate = Gate()
        deliver = _deliver(sink, gate)
        return self.create_reader(
            "subscription", lambda: _of(node).subscription(_endpoint(config), deliver), error, gate
        )

    def _service_create(self, node: Any, config: Any, handler: Any, error: Any) -> Any:
        gate = Gate()
        handle = _handle(handler, gate)
        return self.create_reader(
            "service", lambda: _of(node).service(_endpoint(config), handle), error, gate
        )

    # ---- what every endpoint tells ----

    def _publisher_matched(self, endpoint: Any) -> int:
        return _of(endpoint).matched()

    def _publisher_granted(self, endpoint: Any, out: Any) -> None:
        granted = _of(endpoint).granted()
        out.qos.reliability = 0 if granted.qos.reliable else 1
        out.qos.durability = 1 if granted.qos.transient_local else 0
        out.qos.history = 1 if granted.qos.keep_all else 0
        out.qos.depth = granted.qos.depth
        out.wait = WAITS.index(granted.wait)
        out.publish_mode = PUBLISH_MODES.index(granted.publish_mode)
        out.take = TAKES.index(granted.take)
        out.when_full = WHEN_FULL.index(granted.when_full)
        for note in granted.notes:
            out.note(out.context, ffi.new("char[]", note.encode()))

    def _publisher_account(self, endpoint: Any, out: Any) -> None:
        account = _of(endpoint).account()
        for name, value in account.counters.items():
            out.counter(out.context, ffi.new("char[]", name.encode()), value)
        for path, messages, note in account.evidence:
            words = (ffi.new("char[]", path.encode()), ffi.new("char[]", note.encode()))
            out.evidence(out.context, words[0], messages, words[1])

    _client_destroy = _subscription_destroy = _service_destroy = _publisher_destroy
    _client_request = _publish
    _client_matched = _subscription_matched = _service_matched = _publisher_matched
    _client_granted = _subscription_granted = _service_granted = _publisher_granted
    _client_account = _subscription_account = _service_account = _publisher_account


class Gate:
    """What a reader's callbacks pass on their way to the harness, which frees what they call once
    the reader is destroyed; gate.hpp is the same for rclcpp."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.closed = False
        self.inside: list[int] = []
        """The threads that deliver now."""

    def through(self, function: Callable[..., None], *arguments: Any) -> None:
        """Calls the function, unless the gate is closed."""
        own = threading.get_ident()
        with self.changed:
            if self.closed:
                return
            self.inside.append(own)
        try:
            function(*arguments)
        finally:
            with self.changed:
                self.inside.remove(own)
                if self.closed:
                    self.changed.notify_all()

    def close(self) -> None:
        """After it nothing is delivered, and nothing is being delivered; but a delivery that this
        is called from goes on, since waiting for it would never end."""
        own = {threading.get_ident()}
        with self.changed:
            self.closed = True
            self.changed.wait_for(lambda: own.issuperset(self.inside))


_SEND = "rmwbench_status (*)(void *, const uint8_t *, size_t)"


def _of(pointer: Any) -> Any:
    return ffi.from_handle(ffi.cast("void *", pointer))


def _own_memory(publisher: Any, size: int) -> memoryview | None:
    """Of a publisher that is a Composer, where it has it."""
    return publisher.own_memory(size) if hasattr(publisher, "own_memory") else None


def _text(pointer: Any) -> str:
    return ffi.string(pointer).decode() if pointer else ""


def _fill(error: Any, kind: int, about: str, message: str) -> Any:
    error.kind = kind
    # The header's sizes; a cut inside a character would not be UTF-8.
    for name, words, size in (("object", about, 128), ("message", message, 1920)):
        setattr(error, name, words.encode()[: size - 1].decode(errors="ignore").encode())
    return ffi.NULL


def _layout(found: Any) -> Layout:
    return Layout(
        name=_text(found.name),
        ros_type=_text(found.ros_type),
        dds_type=_text(found.dds_type),
        payload_bytes=found.payload_bytes,
        cdr_prefix=bytes(ffi.buffer(found.cdr_prefix, found.cdr_prefix_bytes))
        if found.cdr_prefix_bytes
        else b"",
        cdr_suffix=bytes(ffi.buffer(found.cdr_suffix, found.cdr_suffix_bytes))
        if found.cdr_suffix_bytes
        else b"",
    )


def _endpoint(config: Any) -> EndpointConfig:
    qos = config.qos
    if qos.content_filter or qos.instance_key:
        raise WorkerError(
            0,
            f"endpoint {config.endpoint}",
            "Python workers have no content filter and no instance key",
        )
    return EndpointConfig(
        endpoint=config.endpoint,
        topic=_text(config.topic),
        dds_topic=_text(config.dds_topic),
        type=_layout(config.type),
        reply_type=_layout(config.reply_type) if config.reply_type else None,
        dds_reply_topic=_text(config.dds_reply_topic),
        qos=Qos(qos.reliability == 0, qos.durability == 1, qos.history == 1, qos.depth),
        wait=WAITS[config.wait],
    )


def _delivery(payload: Any, notified_ns: int, taken_ns: int) -> tuple[Any, Any]:
    """The header's delivery, and the buffer that must outlive it."""
    buffer = ffi.from_buffer(payload)
    found = ffi.new("rmwbench_delivery *")
    found.notified_ns, found.taken_ns = notified_ns, taken_ns
    found.payload, found.bytes = ffi.cast("uint8_t *", buffer), len(payload)
    return found, buffer


def _deliver(sink: Any, gate: Gate) -> Callable[..., None]:
    # `sink` itself is the caller's for the call only
    context, function = sink.context, sink.deliver

    def deliver(payload: Any, notified_ns: int, taken_ns: int) -> None:
        found, buffer = _delivery(payload, notified_ns, taken_ns)
        gate.through(function, context, found)
        del buffer

    return deliver


def _handle(handler: Any, gate: Gate) -> Callable[..., None]:
    context, function = handler.context, handler.handle
    send = ffi.callback(_SEND, _send)  # once: a closure in C takes long to make

    def handle(
        payload: Any, notified_ns: int, taken_ns: int, reply: Callable[[memoryview], None]
    ) -> None:
        found, buffer = _delivery(payload, notified_ns, taken_ns)
        own = ffi.new_handle(reply)
        answer = ffi.new("rmwbench_reply *", (own, send))
        gate.through(function, context, found, answer)
        del buffer, own

    return handle


def _send(reply: Any, message: Any, size: int) -> int:
    """Sends a reply; `reply` is the handle of the function that does."""
    try:
        ffi.from_handle(reply)(memoryview(ffi.buffer(message, size)))
    except Exception as problem:
        print(f"reply: {type(problem).__name__}: {problem}", file=sys.stderr)
        return STATUS_FAILED
    return OK
