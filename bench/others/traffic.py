"""One trial: our publishers and our reader as workers, with the harness's schedule and records, and
processes of another tool on the same topic, all in a host of their own: nothing is heard outside,
nothing stays.

The other tool starts first and is matched before the schedule begins; it is ended only when it has
printed a line later than the last message, so that what it says is what it knows.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.others.evidence import RecordColumns, Seen
from rmwbench.analysis.records.columns import Endpoint, Window
from rmwbench.lab.host import Exited, Host, Spawned
from rmwbench.lab.process import records
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.records import RECEIVED, SENT, SectionPlan
from rmwbench.lab.process.worker import WorkerFailed

NONCE = 0x07E25
LISTENER = 100
LEAD_NS = 50_000_000
# Matched on our side says nothing of the other's: its reader learns of our writer a moment later.
SETTLE_S = 0.4
TIMEOUT_S = 10.0
DRAIN_NS = 500_000_000


@dataclass(frozen=True)
class Stream:
    """A publisher in a process of its own. `options` are the worker's: faults on purpose, say."""

    endpoint: int
    payload_bytes: int
    rate_hz: float
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """A process of another tool; `pauses` says whether it stands still when our reader does."""

    name: str
    executable: Path
    arguments: Sequence[str]
    pauses: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """`matches`: peers that each publisher and our reader expect, the other tool's among them.
    `pauses`: (begin, length) in seconds from the start, in which our reader (with
    `paused="talkers"` our publishers) and the tools that pause are stopped by SIGSTOP. `depth`: of
    keep last; 0 keeps all. `ready` and `done` look at what the first tool printed so far (and at
    the time of the last message, in seconds of the clock); `done` is asked for until it is true or
    `late_s` is over.
    """

    worker: Path
    profile: Mapping[str, Any]
    streams: Sequence[Stream]
    seconds: float
    matches: tuple[int, int]
    tools: Sequence[Tool] = ()
    reliability: str = "reliable"
    topic: str = "others"
    pauses: Sequence[tuple[float, float]] = ()
    paused: str = "listener"
    depth: int = 0
    ready: Callable[[str], bool] = lambda text: True
    done: Callable[[str, float], bool] = lambda text, last_s: True
    late_s: float = 2.6  # a tool that prints once a second has then printed behind the last message
    type: Mapping[str, Any] | None = None


def run(trial: Trial) -> Seen:
    """Raises WorkerFailed or HostBroken where a process of ours fails, ToolFailed where one of the
    other's does."""
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(Host("others"))
        host.wait_ready()
        tools = [_start(stack, host, tool) for tool in trial.tools]
        crew = stack.enter_context(Crew(host))
        files = {}
        for stream in trial.streams:
            capacity = round(stream.rate_hz * trial.seconds) + 10
            plan = [SectionPlan(SENT, stream.endpoint, capacity)]
            files[f"talker{stream.endpoint}"] = stack.enter_context(records.made(plan, NONCE))
        wanted = sum(round(stream.rate_hz * trial.seconds) for stream in trial.streams)
        plan = [SectionPlan(RECEIVED, LISTENER, 2 * wanted + 100)]
        files["listener"] = stack.enter_context(records.made(plan, NONCE))
        for name, fd in files.items():
            crew.spawn(name, trial.worker, fd)
        crew.wait_hello(TIMEOUT_S)
        try:
            window, warnings = _live(trial, host, crew, tools)
        except WorkerFailed as failed:
            # A peer that is gone shows first as a match that never comes.
            for tool in tools:
                if not Path(f"/proc/{tool.pid}").exists():
                    raise ToolFailed(
                        tool.tool.name, f"ended early ({failed.reason()})", tool.text()
                    ) from None
            raise
        for tool in tools:
            tool.end(host)
        sections = [section for fd in files.values() for section in records.read(fd, NONCE)]
        printed = tools[0].text() if tools else ""
    endpoints = [Endpoint(stream.endpoint, "publisher", trial.topic) for stream in trial.streams]
    endpoints.append(Endpoint(LISTENER, "subscription", trial.topic))
    return Seen(RecordColumns(sections), endpoints, window, wanted, printed, warnings)


def _live(
    trial: Trial, host: Host, crew: Crew, tools: "Sequence[Running]"
) -> tuple[Window, list[str]]:
    for stream in trial.streams:
        fields = {
            "trial_nonce": f"{NONCE:016x}",
            "domain_id": 0,
            "profile": trial.profile,
            "options": stream.options,
        }
        crew.ask({f"talker{stream.endpoint}": ("open", fields)}, TIMEOUT_S)
    crew.ask({"listener": ("open", {**fields, "options": {}})}, TIMEOUT_S)
    peers, writers = trial.matches
    for stream in trial.streams:
        arrival = {"kind": "periodic", "period_ns": round(1e9 / stream.rate_hz), "phase_ns": 0}
        endpoint = _endpoint(trial, stream.endpoint, "publisher", stream.payload_bytes, peers) | {
            "arrival": arrival
        }
        nodes = {"nodes": [{"name": f"talker{stream.endpoint}", "endpoints": [endpoint]}]}
        crew.ask({f"talker{stream.endpoint}": ("create", nodes)}, TIMEOUT_S)
    largest = max(stream.payload_bytes for stream in trial.streams)
    endpoint = _endpoint(trial, LISTENER, "subscription", largest, writers)
    crew.ask(
        {"listener": ("create", {"nodes": [{"name": "listener", "endpoints": [endpoint]}]})},
        TIMEOUT_S,
    )
    crew.ask_all("match", {"timeout_ns": round(TIMEOUT_S * 1e9)}, TIMEOUT_S + 1)
    settled = time.monotonic() + SETTLE_S
    while (rest := settled - time.monotonic()) > 0:
        crew.turn(rest)
    deadline = time.monotonic() + TIMEOUT_S
    while tools and not trial.ready(tools[0].text()):
        if time.monotonic() > deadline:
            raise ToolFailed(tools[0].tool.name, "is not ready", tools[0].text())
        crew.turn(0.05)
    begin_ns = time.monotonic_ns() + LEAD_NS
    end_ns = begin_ns + round(trial.seconds * 1e9)
    times = {"at_ns": begin_ns, "steady_ns": begin_ns, "end_ns": end_ns, "grace_ns": 2_000_000_000}
    crew.ask_all("start", times, TIMEOUT_S)
    ours = [name for name in crew.workers if (name == "listener") == (trial.paused == "listener")]
    pausing = [tool.inner_pid for tool in tools if tool.tool.pauses]
    for at_s, length_s in trial.pauses:
        pids = [*(crew.workers[name].inner_pid for name in ours), *pausing]
        crew.watch_until(begin_ns + round(at_s * 1e9))
        for pid in pids:
            host.signal(pid, int(signal.SIGSTOP))
        crew.watch_until(begin_ns + round((at_s + length_s) * 1e9))
        for pid in pids:
            host.signal(pid, int(signal.SIGCONT))
    crew.watch_until(end_ns)
    finished: dict[int, dict[str, Any]] = {}

    def all_finished() -> bool:
        for process in crew.workers.values():
            finished.update({e["endpoint"]: e for e in process.events if e["event"] == "finished"})
        return len(finished) == len(trial.streams)

    crew.wait(all_finished, TIMEOUT_S, "end of the schedule")
    never = sum(event["never_sent"] for event in finished.values())
    expect = {
        str(LISTENER): {
            str(w): event["last_seq"] for w, event in finished.items() if "last_seq" in event
        }
    }
    # What was lost on purpose never comes, so an incomplete drain is not a failure.
    crew.ask({"listener": ("drain", {"expect": expect, "timeout_ns": DRAIN_NS})}, TIMEOUT_S)
    last_s = time.monotonic()
    while (
        tools
        and not trial.done(tools[0].text(), last_s)
        and time.monotonic() < last_s + trial.late_s
    ):
        crew.turn(0.05)
    warnings = [f"{never} messages of the schedule were never sent"] if never else []
    if tools and not trial.done(tools[0].text(), last_s):
        warnings.append(f"{tools[0].tool.name} printed nothing after the last message")
    crew.ask_all("exit", {}, TIMEOUT_S)
    return Window(begin_ns, end_ns), warnings


def _endpoint(
    trial: Trial, number: int, kind: str, payload_bytes: int, matches: int
) -> dict[str, Any]:
    from rmwbench.suite.workload.message_type import message_type

    history = {"history": "keep_last" if trial.depth else "keep_all", "depth": trial.depth}
    return {
        "endpoint": number,
        "kind": kind,
        "topic": trial.topic,
        "type": trial.type or message_type(f"Bytes({payload_bytes})").wire(),
        "qos": {"reliability": trial.reliability, "durability": "volatile", **history},
        "touch": "header",
        "loan": False,
        "publish_mode": "default",
        "wait": "block",
        "matches": matches,
    }


class ToolFailed(Exception):
    """A process of the other tool did not do its part; `text` is what it printed."""

    def __init__(self, name: str, what: str, text: str):
        super().__init__(f"{name} {what}; it printed: {text.strip()[-300:] or 'nothing'}")


@dataclass
class Running:
    tool: Tool
    inner_pid: int
    pid: int
    output: int

    def text(self) -> str:
        return os.pread(self.output, os.fstat(self.output).st_size, 0).decode(errors="replace")

    def end(self, host: Host) -> None:
        """Asks it to end and waits, so that a last line is not cut."""
        host.signal(self.inner_pid, int(signal.SIGTERM))
        deadline = time.monotonic() + 5.0
        while (rest := deadline - time.monotonic()) > 0:
            report = host.receive(rest)
            if isinstance(report, Exited) and report.inner_pid == self.inner_pid:
                return
        host.signal(self.inner_pid, int(signal.SIGKILL))


def _start(stack: contextlib.ExitStack, host: Host, tool: Tool) -> Running:
    output = os.memfd_create("rmwbench-other-tool", os.MFD_CLOEXEC)
    stack.callback(os.close, output)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        **tool.environment,
    }
    host.spawn(
        f"other {tool.name}", tool.executable, tool.arguments, {1: output, 2: output}, environment
    )
    report = host.receive(TIMEOUT_S)
    if not isinstance(report, Spawned):
        raise ToolFailed(tool.name, f"cannot be started ({report})", "")
    return Running(tool, report.inner_pid, report.pid, output)
