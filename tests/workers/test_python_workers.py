"""Workers in Python: the header is read as it stands, and both packages carry messages through a
whole trial."""

import json
import queue
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rmwbench_workers import harness, header, zenoh_python
from rmwbench_workers.cyclonedds_python import Middleware, payload_of
from rmwbench_workers.middleware import EndpointConfig, Layout, Qos, SessionConfig, WorkerError

from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.lab import machine
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from tests.lab import tools
from tests.support.program import run_program

SUITE = """
suite: mini
title: a test
blocks: {{planned: 1, minimum: 1}}
timeline: {{warmup_s: 0.2, drain_s: 1.0, grace_s: 0.5, match_s: 10, steady_s: 0.6}}
arms: [{arm}]
workloads:
  - {workload}
"""
TOPIC = "{name: x, message: Bytes(20000), rate_hz: 50, qos: {history: keep_last, depth: 100}}"
LEAVES = """{name: x, message: Bytes(20000), rate_hz: 100, nodes: [
    {name: t, process: a, publishers: [{topic: x}]},
    {name: stays, process: b, subscriptions: [{topic: x}]},
    {name: leaves, process: b, subscriptions: [{topic: x}], leaves_s: 0.4, restarts_s: 0.5}],
    qos: {history: keep_last, depth: 100}}"""
CALLS = "{name: add, clients: 2, request: Bytes(64), reply: Bytes(1024), rate_hz: 50}"


def test_the_header_is_declared_whole():
    header.library()
    fields = dict(header.ffi.typeof("rmwbench_middleware").fields)
    assert {
        "describe",
        "session_open",
        "publish",
        "subscription_create",
        "client_request",
        "daemon_close",
    } <= set(fields)
    assert header.library().RMWBENCH_ABI_VERSION >= 2


def test_directives_and_comments_are_left_out_and_numbers_kept():
    text = (
        '/* a\n#define NO 1 */\n#define TWO 2u\n#ifdef __cplusplus\nextern "C" {\n#endif\nint '
        "f(void);\n"
    )
    assert header.declarations(text).split() == ["#define", "TWO", "2", "int", "f(void);"]


def test_a_missing_library_says_how_to_build_it(tmp_path):
    program = Path(sys.executable).parent / "rmwbench-zenoh-python"
    done = run_program(
        program, "--describe", env={header.LIBRARY_VARIABLE: str(tmp_path / "none.so")}
    )
    assert done.returncode == 2 and "rmwbench middlewares build" in done.stderr


@pytest.mark.parametrize(
    ("licence", "package", "words"),
    [
        (None, False, "RTI_LICENSE_FILE is not set"),
        ("none.dat", False, "which is not a file"),
        ("licence.dat", False, "pip install rti.connext"),
        ("licence.dat", True, "rmwbench has no worker"),
    ],
)
def test_connext_says_in_one_sentence_what_is_missing(tmp_path, licence, package, words):
    (tmp_path / "licence.dat").write_text("")
    if package:
        (tmp_path / "rti").mkdir()
    environment = {"PYTHONPATH": str(tmp_path)} | (
        {"RTI_LICENSE_FILE": str(tmp_path / licence)} if licence else {}
    )
    program = Path(sys.executable).parent / "rmwbench-connext"
    described = run_program(program, "--describe", env=environment)
    document = json.loads(described.stdout)
    assert (
        described.returncode == 0 and document["middlewares"] == [] and words in document["reason"]
    )
    started = run_program(program, env=environment)
    assert started.returncode == 2 and started.stderr == document["reason"] + "\n"
    assert started.stderr.startswith("not supported: ")


def test_a_cut_message_is_not_read_beyond_its_end():
    layout = Layout("Bytes(8)", "", "", 8, b"12345678", b"")
    assert bytes(payload_of(memoryview(b"12345678abcdefgh"), layout)) == b"abcdefgh"
    assert bytes(payload_of(memoryview(b"12345678abc"), layout)) == b"abc"


class Composing:
    """A publisher with a message of its own of five bytes."""

    def __init__(self):
        self.message = bytearray(5)
        self.copied, self.own = [], []

    def own_memory(self, size):
        return memoryview(self.message) if size == len(self.message) else None

    def publish(self, payload):
        self.copied.append(bytes(payload))

    def publish_own(self):
        self.own.append(bytes(self.message))

    def close(self): ...


class Plain:
    """One without."""

    def __init__(self):
        self.copied = []

    publish, close = Composing.publish, Composing.close


def test_what_is_written_into_the_apis_own_message_is_published_without_a_copy():
    bridge = harness.Bridge(Middleware())
    composing, plain = Composing(), Plain()
    first, second = (
        bridge.create("publisher", lambda one=one: one, header.ffi.NULL)
        for one in (composing, plain)
    )
    table = bridge.table
    memory = table.publisher_message(first, 5)
    header.ffi.buffer(memory, 5)[:] = b"image"
    assert table.publish(first, memory, 5) == harness.OK
    assert (composing.own, composing.copied) == ([b"image"], [])
    other = header.ffi.new("uint8_t[]", b"other")
    table.publish(first, other, 5)
    assert (len(composing.own), composing.copied) == (1, [b"other"])
    assert (
        table.publisher_message(first, 6) == header.ffi.NULL == table.publisher_message(second, 5)
    )
    table.publish(second, other, 5)
    assert plain.copied == [b"other"]
    table.publisher_destroy(first)
    assert not bridge.messages


class Delivering:
    """A node of one endpoint, which keeps what it was given to call; refuses to make it where it is
    asked to."""

    def __init__(self, refuses=False):
        self.refuses = refuses
        self.replies = []

    def subscription(self, config, deliver):
        self.deliver = deliver
        if self.refuses:
            raise WorkerError(harness.FAILED, "endpoint 1", "refused")
        return self

    client = subscription

    def service(self, config, handle):
        reply = lambda message: self.replies.append(bytes(message))  # noqa: E731
        return self.subscription(config, lambda *message: handle(*message, reply))

    def close(self): ...


class Reader:
    """An endpoint of `kind`, made through the table; `called` stands for the harness, which frees
    what is called once `destroy` returned."""

    def __init__(self, kind, called, refuses=False):
        self.bridge = harness.Bridge(Middleware())
        table, ffi = self.bridge.table, header.ffi
        self.delivering = Delivering(refuses)
        node = self.bridge.create("node", lambda: self.delivering, ffi.NULL)
        name = "handler" if kind == "service" else "sink"
        given = ffi.new(f"rmwbench_{name} *")
        field = "handle" if kind == "service" else "deliver"
        self.function = ffi.callback(dict(ffi.typeof(given).item.fields)[field].type, called)
        setattr(given, field, self.function)
        config, error = ffi.new("rmwbench_endpoint_config *"), ffi.new("rmwbench_error *")
        self.pointer = getattr(table, f"{kind}_create")(node, config, given, error)
        self.destroy = lambda: getattr(table, f"{kind}_destroy")(self.pointer)

    def deliver(self):
        self.delivering.deliver(b"message", 1, 2)


def begun(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


READERS = pytest.mark.parametrize("kind", ["subscription", "client", "service"])
PATIENCE_S = 60


@READERS
def test_the_end_of_a_reader_waits_for_its_delivery_and_nothing_comes_behind_it(kind):
    inside, leave, heard = threading.Event(), threading.Event(), []

    def called(*_):
        heard.append(len(heard))
        inside.set()
        leave.wait(PATIENCE_S)

    reader = Reader(kind, called)
    delivering = begun(reader.deliver)
    assert inside.wait(PATIENCE_S)
    ending = begun(reader.destroy)
    ending.join(0.2)
    assert ending.is_alive(), "the harness would free what is being called"
    leave.set()
    for thread in (ending, delivering):
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    reader.deliver()
    assert heard == [0]


@READERS
def test_a_reader_may_be_destroyed_from_within_its_own_delivery(kind):
    reader = Reader(kind, lambda *_: reader.destroy())
    delivering = begun(reader.deliver)
    delivering.join(PATIENCE_S)
    assert not delivering.is_alive()


@READERS
def test_a_reader_that_could_not_be_made_delivers_nothing(kind):
    heard = []
    reader = Reader(kind, lambda *_: heard.append(1), refuses=True)
    assert reader.pointer == header.ffi.NULL
    reader.deliver()
    assert heard == []


def test_requests_under_way_at_once_get_their_own_replies_through_one_callback():
    sends = []

    def called(_, request, answer):
        sends.append(answer.send)
        words = b"%d" % len(sends)
        if len(sends) == 1:
            reader.deliver()
        memory = header.ffi.new("uint8_t[]", words)
        assert answer.send(answer.context, memory, len(words)) == harness.OK

    reader = Reader("service", called)
    reader.deliver()
    assert reader.delivering.replies == [b"2", b"1"]
    assert sends[0] == sends[1], "a callback of its own for each request"


LOOPBACK = """<CycloneDDS><Domain><General><AllowMulticast>false</AllowMulticast>
<Interfaces><NetworkInterface name="lo"/></Interfaces></General></Domain></CycloneDDS>"""
ALONE = """{scouting: {multicast: {enabled: false}}, listen: {endpoints: []},
transport: {shared_memory: {enabled: false}}}"""  # which leaves a segment in /dev/shm


def session(middleware, profile):
    return middleware.open(SessionConfig("test", profile, {}, {}, domain_id=77))


def asked(endpoint, topic, wait="block"):
    """Bytes(16)."""
    ends, qos = b"\0\1\0\0\x10\0\0\0", Qos(True, False, False, 10)
    layout = Layout("Bytes(16)", "", "test::dds_::Bytes_", 16, ends, b"")
    return EndpointConfig(endpoint, topic, f"rt/{topic}", layout, None, "", qos, wait)


def test_a_cyclone_reader_ends_while_another_delivers_and_within_its_own_delivery(monkeypatch):
    monkeypatch.setenv("CYCLONEDDS_URI", "")  # which the session sets
    opened = session(Middleware(), LOOPBACK)
    node, ended = opened.node("n"), queue.Queue()

    def deliver(*_):
        ending = begun(other.close)
        ending.join(PATIENCE_S)
        ended.put(not ending.is_alive())
        reader.close()
        ended.put(True)

    other = node.subscription(asked(2, "other"), deliver)
    reader = node.subscription(asked(3, "topic"), deliver)
    publisher = node.publisher(asked(1, "topic"))
    publisher.publish(memoryview(bytes(16)))
    assert ended.get(timeout=2 * PATIENCE_S), "it waited for a delivery that is not its own"
    assert ended.get(timeout=PATIENCE_S)
    publisher.publish(memoryview(bytes(16)))
    publisher.close()
    opened.close()
    assert ended.empty() and not opened.subscriptions


def test_a_cyclone_reader_stamps_a_message_before_it_looks_for_its_payload(monkeypatch):
    monkeypatch.setenv("CYCLONEDDS_URI", "")  # which the session sets
    looked_ns, taken_ns = [], queue.Queue()

    def look(cdr, layout):
        looked_ns.append(time.monotonic_ns())
        return payload_of(cdr, layout)

    monkeypatch.setattr("rmwbench_workers.cyclonedds_python.payload_of", look)
    opened = session(Middleware(), LOOPBACK)
    node = opened.node("n")
    reader = node.subscription(asked(3, "topic"), lambda _, __, taken: taken_ns.put(taken))
    publisher = node.publisher(asked(1, "topic"))
    publisher.publish(memoryview(bytes(16)))
    assert taken_ns.get(timeout=PATIENCE_S) <= looked_ns[0]
    reader.close()
    publisher.close()
    opened.close()


def test_a_zenoh_subscription_that_blocks_ends_with_its_thread():
    opened = session(zenoh_python.Middleware(), ALONE)
    node, heard = opened.node("n"), queue.Queue()
    publisher = node.publisher(asked(1, "topic"))
    reader = node.subscription(asked(2, "topic"), lambda *message: heard.put(message))
    within = node.subscription(
        asked(3, "topic"), lambda *_: (within.close(), heard.put("closed within"))
    )
    publisher.publish(memoryview(bytes(16)))
    found = [heard.get(timeout=PATIENCE_S) for _ in range(2)]
    assert "closed within" in found
    reader.close()
    assert not reader.thread.is_alive()
    publisher.publish(memoryview(bytes(16)))
    publisher.close()
    opened.close()
    assert heard.empty()


def test_a_slow_zenoh_reader_loses_its_oldest_and_holds_nobody_up():
    opened = session(zenoh_python.Middleware(), ALONE)
    node, heard, gate, entered = (
        opened.node("n"),
        queue.Queue(),
        threading.Event(),
        threading.Event(),
    )

    def deliver(payload, *_):
        entered.set()
        gate.wait(PATIENCE_S)
        heard.put(payload[0])

    qos = Qos(False, False, False, 3)
    publisher = node.publisher(replace(asked(1, "topic"), qos=qos))
    reader = node.subscription(replace(asked(2, "topic"), qos=qos), deliver)
    assert reader.granted().when_full == "drops_at_reader"
    publisher.publish(memoryview(bytes(16)))
    assert entered.wait(PATIENCE_S)
    publishing = begun(
        lambda: [publisher.publish(memoryview(bytes([n]) * 16)) for n in range(1, 50)]
    )
    publishing.join(PATIENCE_S)
    assert not publishing.is_alive(), "the publisher waited for a reader that is slow"
    gate.set()
    assert [heard.get(timeout=PATIENCE_S) for _ in range(4)] == [0, 47, 48, 49]
    reader.close()
    publisher.close()
    opened.close()
    assert heard.empty()


def test_zenohs_publish_mode_is_described_as_it_is_granted():
    opened = session(zenoh_python.Middleware(), ALONE)
    publisher = opened.node("n").publisher(asked(1, "topic"))
    listed = zenoh_python.Middleware().describe().capabilities
    can = {mode for mode in ("sync", "async") if not listed[f"publish_{mode}"].startswith("no:")}
    assert can == {publisher.granted().publish_mode}
    publisher.close()
    opened.close()


@pytest.fixture
def any_machine(monkeypatch):
    monkeypatch.setattr(machine, "voids", lambda probes: [])


def run(arm: str, workload: str, name: str) -> TrialResult:
    (made,) = cells(parse(SUITE.format(arm=arm, workload=workload), where="mini.yaml"))
    return run_trial(Order(1, made, 0, 0, seed=3, nonce=0x0123_4567_89AB_CDEF), tools.worker(name))


@pytest.mark.traffic
@pytest.mark.own_host  # these workers do not keep to loopback by themselves
@pytest.mark.parametrize("name", ["cyclonedds-python", "zenoh-python"])
def test_messages_arrive_whole_and_in_order(name, any_machine):
    result = run(f"{{name: a, middleware: {name}, profile: untouched}}", TOPIC, name)
    assert (result.status, result.reason) == ("done", None)
    received = result.tables["received"].to_pylist()
    assert [row["seq"] for row in received] == list(range(40))
    assert {row["bytes"] for row in received} == {20000} and not any(
        row["flags"] & 0b10001 for row in received
    )
    usage = {
        r["at"]: r["value"]
        for r in result.tables["counters"].to_pylist()
        if r["counter"] == "cpu" and r["role"] == "subscription"
    }
    assert usage["steady_end"] - usage["steady_begin"] < 0.3 * 0.6e9, "the reader's thread spins"
    granted = [json.loads(row["granted"]) for row in result.tables["endpoints"].to_pylist()]
    assert granted[1]["wait"] == "block" and granted[0]["notes"] and granted[1]["take"] == "typed"


@pytest.mark.traffic
@pytest.mark.own_host  # these workers do not keep to loopback by themselves
@pytest.mark.parametrize("name", ["cyclonedds-python", "zenoh-python"])
def test_a_reader_that_leaves_disturbs_nobody(name, any_machine):
    result = run(f"{{name: a, middleware: {name}, profile: untouched}}", LEAVES, name)
    assert (result.status, result.reason) == ("done", None)
    received = result.tables["received"].to_pylist()
    by_reader = {e: [r["seq"] for r in received if r["endpoint"] == e] for e in (2, 3, 4)}
    assert by_reader[2] == list(range(80))
    assert by_reader[3] and by_reader[4] and by_reader[3][-1] < by_reader[4][0]


@pytest.mark.traffic
@pytest.mark.own_host  # these workers do not keep to loopback by themselves
def test_zenoh_answers_each_client_its_own_requests(any_machine):
    result = run("{name: a, middleware: zenoh-python, wait: callback}", CALLS, "zenoh-python")
    assert (result.status, result.reason) == ("done", None)
    sent = result.tables["sent"].to_pylist()
    replies = {
        (r["endpoint"], r["seq"]): (r["cause_endpoint"], r["cause_seq"])
        for r in sent
        if r["cause_endpoint"]
    }
    for client in (2, 3):
        heard = [
            replies[r["writer"], r["seq"]]
            for r in result.tables["received"].to_pylist()
            if r["endpoint"] == client
        ]
        assert sorted(heard) == [(client, seq) for seq in range(40)]
