"""What the sampler brings into a trial: real numbers that agree with each other, daemons, and
nothing worse than missing numbers when it fails."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from rmwbench.analysis.metrics.cost import unread_reasons
from rmwbench.campaign.record import sampler_rows
from rmwbench.campaign.trial import machines
from rmwbench.campaign.trial.outcome import TrialWindow
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.lab import probe_row
from rmwbench.lab.middleware import Worker, tool
from rmwbench.lab.sampling import sampler
from rmwbench.suite.cells import Cell
from rmwbench.suite.placement import place_cells
from tests.campaign.cells import cell, cell_of_two_hosts, only_cell, order, outcome
from tests.campaign.ended import costs, grown, rows, well
from tests.lab import fake_worker, tools

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "sampler.md"

SUITE = """
timeline: {{warmup_s: 0.1, drain_s: 0.3, grace_s: 0.2, match_s: 5}}
sampling: {{{sampling}}}
arms:
  - {{name: floor, middleware: {middleware}, options: {{{options}}}}}
workloads:
  - {{name: w, message: Bytes({size}), rate_hz: 200, timeline: {{steady_s: 0.5}}}}
"""


def real(middleware="floor", options="transport: tcp", size=1000, sampling="") -> TrialResult:
    tools.built("sampler")
    text = SUITE.format(middleware=middleware, options=options, size=size, sampling=sampling)
    return run_trial(order(only_cell(text)), tools.worker(middleware))


def fake(
    tmp_path, fault="", stage="", made: Cell | None = None, daemons: tuple[str, ...] = ()
) -> TrialResult:
    tools.built("sampler")
    profile = fake_worker.DESCRIBE["profiles"][0] | ({"daemons": list(daemons)} if daemons else {})
    path = fake_worker.install(tmp_path, fault, stage, describe={"profiles": [profile]})
    return run_trial(
        order(made), Worker("fake", path, fake_worker.DESCRIBE | {"profiles": [profile]}, None)
    )


def reasons(result: TrialResult) -> str:
    return "\n".join(row["text"] for row in rows(result, "events", event="no_data"))


def test_the_document_of_the_page_is_read_here_too():
    block = PAGE.read_text().split("```json\n")[2].split("```")[0]
    document = sampler.parse(block.encode())
    assert document["snapshots"][0]["processes"]["talker"]["cpu_ns"] == 1
    columns = sampler_rows.samples(document)
    units = dict(
        zip(zip(columns["process"], columns["counter"], strict=True), columns["unit"], strict=True)
    )
    assert units["talker", "cpu"] == "ns" and units["talker", "rss"] == "bytes"
    assert units["machine", "interface.lo.tx_packets"] == "count"
    assert units["machine", "processor.steal"] == "ns"
    assert sampler_rows.schedule(document)["event"] == [
        "out_runnable",
        "in",
        "out_blocked",
        "woken",
    ]
    with pytest.raises(ValueError, match=r"snapshots\.0\.processes\.talker\.cpu_ns"):
        sampler.parse(
            block.replace('"cpu_ns": 1, "voluntary', '"cpu_ns": "one", "voluntary', 1).encode()
        )
    with pytest.raises(ValueError, match="own"):
        sampler.parse(b'{"snapshots": [], "memory": {}, "no_data": {}}')


@pytest.mark.timing
@pytest.mark.smoke
def test_what_is_counted_agrees_with_what_was_delivered_and_with_the_machine():
    result = real(size=4000)
    assert well(result)
    counters = rows(result, "counters")
    (trial,) = rows(result, "trials")
    window_ns = trial["steady_end_ns"] - trial["steady_begin_ns"]
    cpu = grown(counters, "cpu")
    assert {"talker", "listener", "sampler", "init", "orchestrator"} <= cpu.keys()
    assert all(value >= 0 for value in cpu.values()) and cpu["talker"] > 0
    # Ticks are 10 ms each, one more or less on either side and processor.
    machine = sum(
        grown(counters, f"processor.{what}")["machine"] for what in ("user", "system", "softirq")
    )
    processors = next(r["value"] for r in counters if r["counter"] == "processors")
    assert sum(cpu.values()) <= machine + 2 * processors * 10_000_000 + 0.1 * window_ns
    roles = {r["process"]: r["role"] for r in counters if r["counter"] == "run_delay"}
    assert roles["talker"] == "publisher" and roles["listener"] == "subscription"
    assert roles["sampler"] == "harness"

    inside = [
        r
        for r in rows(result, "received")
        if trial["steady_begin_ns"] <= r["taken_ns"] < trial["steady_end_ns"]
    ]
    payload = sum(r["bytes"] for r in inside)
    assert payload > 0
    document = json.loads(result.files["sampler.json"])
    begin, end = document["snapshots"]
    of = lambda edge: {  # noqa: E731
        s["inode"]: s for s in edge["sockets"] if s["kind"] == "tcp" and s["process"] == "talker"
    }
    sent = sum(
        s["sent_bytes"] - of(begin).get(n, {"sent_bytes": 0})["sent_bytes"]
        for n, s in of(end).items()
    )
    last = max(r["bytes"] for r in inside) * 2  # on its way at either edge
    assert sent >= payload - last
    assert {s["peer_process"] for s in of(end).values()} == {"listener"}
    # A snapshot reads one counter after the other: messages may pass between two of them.
    wire = grown(counters, "interface.lo.tx_bytes")["local"]
    assert wire >= 0.9 * sent - last
    no_data = unread_reasons(rows(result, "events"))
    values = costs(counters, len(inside), window_ns, delivered_bytes=payload, no_data=no_data)
    assert 0.9 <= values["wire_bytes_per_payload_byte_lo"] + last / payload < 3
    assert values["cpu_per_gigabyte"] == pytest.approx(values["cpu_per_message"] / 4000, rel=0.01)
    assert values["cpu_cores_other"] == 0
    assert 0 < values["cpu_cores_sampler"] <= values["cpu_cores_harness"]
    probes = {r["probe"]: r["value"] for r in rows(result, "probes") if r["at"] == "window"}
    assert probes["canary_max"] >= probes["canary_p50"] > 0 and 0 <= probes["canary_late"] <= 1
    assert 0 < probes["own"] <= 1 and probes["foreign"] >= 0


@pytest.mark.timing
def test_a_series_threads_and_schedule_come_only_where_asked_for():
    plain = real("floor", "transport: shm_ring")
    assert not rows(plain, "samples") and not rows(plain, "schedule")
    result = real(
        "floor", "transport: shm_ring", sampling="series_hz: 20, threads: true, schedule: true"
    )
    assert well(result)
    sampling = {"series_hz": 20, "threads": True, "schedule": True}
    assert result.order.cell.definition()["sampling"] == sampling
    series = [
        r for r in rows(result, "samples") if r["process"] == "talker" and r["counter"] == "cpu"
    ]
    assert len(series) >= 4 and [r["value"] for r in series] == sorted(r["value"] for r in series)
    (trial,) = rows(result, "trials")
    assert all(
        trial["steady_begin_ns"] <= r["time_ns"] < trial["steady_end_ns"] + 50_000_000
        for r in series
    )
    counters = rows(result, "counters")
    threads = [
        r for r in counters if r["counter"].startswith("thread.") and r["counter"].endswith(".cpu")
    ]
    assert {"talker", "listener"} <= {r["process"] for r in threads}
    assert {r["at"] for r in threads} == {"window"}
    switches = rows(result, "schedule")
    if not switches:
        assert "schedule: the kernel forbids it" in reasons(result)
    else:
        blocked = [
            r for r in switches if r["process"] == "listener" and r["event"] == "out_blocked"
        ]
        assert len(blocked) >= 50, "the listener slept before each of 100 messages"
        woken = [r for r in switches if r["process"] == "listener" and r["event"] == "woken"]
        assert len(woken) >= 50 or "schedule.woken: " in reasons(result)


@pytest.mark.timing
def test_burnt_processor_time_is_found_from_outside():
    """The truth is the synthetic worker's; here the sampler tells it, and not the worker's
    own account."""
    burnt_ns = 400_000
    result = real(
        "synthetic", f"latency: constant ns=1000, cpu_burn_ns: publisher={burnt_ns}", size=100
    )
    assert well(result)
    document = json.loads(result.files["sampler.json"])
    begin, end = (snapshot["processes"]["talker"]["cpu_ns"] for snapshot in document["snapshots"])
    own = grown(rows(result, "counters"), "cpu")["talker"]
    sent = [r for r in rows(result, "sent") if not r["flags"] & 4]
    assert end - begin >= 0.97 * len(sent) * burnt_ns
    assert end - begin == pytest.approx(own, rel=0.05)


def test_a_daemon_serves_before_the_workers_open_and_its_cost_is_its_middlewares(tmp_path):
    result = fake(tmp_path, daemons=("router", "keeper"), made=cell(steady_s=0.4))
    assert well(result)
    events = [(r["time_ns"], r["process"], r["event"]) for r in rows(result, "events")]
    created = min(time_ns for time_ns, _, event in events if event == "created")
    assert {process for _, process, event in events if event == "hello"} >= {"router", "keeper"}
    assert result.files["router.stdout"].startswith(b"a line on stdout")
    assert b"serving" in result.files["keeper.stdout"]
    assert created > 0 and result.steps_ns["daemon.router"] > 0
    counters = rows(result, "counters")
    cpu = grown(counters, "cpu")
    assert cpu["router"] > 1_000_000, "it burns a quarter of a core where it gets one"
    assert {r["role"] for r in counters if r["process"] == "router"} == {"daemon"}
    (pss, *_) = rows(result, "counters", process="router", counter="pss")
    assert pss["value"] > 1_000_000
    (trial,) = rows(result, "trials")
    window_ns = trial["steady_end_ns"] - trial["steady_begin_ns"]
    values = costs(counters, 80, window_ns)
    assert values["cpu_cores_daemon"] == pytest.approx((cpu["router"] + cpu["keeper"]) / window_ns)
    assert values["cpu_cores"] >= values["cpu_cores_daemon"] and values["pss_daemon"] > 2_000_000


@pytest.mark.parametrize(
    ("fault", "stage", "said"),
    [
        ("exit", "daemon_hello", "daemon router: ended before its hello (exit code 3)"),
        ("segfault", "daemon", "daemon router: ended (SIGSEGV)"),
    ],
)
def test_a_daemon_that_does_not_serve_fails_the_trial(tmp_path, fault, stage, said):
    result = fake(tmp_path, fault, stage, daemons=("router",))
    assert result.status == "failed" and said in result.reason


FAULTY = """#!{python}
import json, os, socket, sys, time
control = socket.socket(fileno=int(sys.argv[sys.argv.index("--control-fd") + 1]))
say = lambda line: control.sendall(json.dumps(line).encode() + b"\\n")
say({{"hello": {{"protocol": 1, "tool": "sampler", "pid": 1, "clock": "CLOCK_MONOTONIC"}}}})
buffer = b""
while data := control.recv(65536):
    buffer += data
    *lines, buffer = buffer.split(b"\\n")
    for line in map(json.loads, lines):
        {deed}
        say({{"id": line["id"], "ok": {{"bytes": 9}}}})
"""


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        ("os.abort()", "SIGABRT"),
        ("control.sendall(b'hoho\\n')", "not JSON"),
        ("if line['cmd'] == 'collect': time.sleep(100)", "did not answer within"),
        (
            "say({'id': line['id'], 'error': {'object': 'x', 'message': 'no mood'}}); continue",
            "no mood",
        ),
        ("pass", "document of the sampler is malformed"),
    ],
)
def test_a_sampler_that_fails_costs_the_trial_nothing_but_its_numbers(
    tmp_path, monkeypatch, deed, said
):
    path = tmp_path / "rmwbench-sampler"
    path.write_text(FAULTY.format(python=fake_worker.INTERPRETER, deed=deed))
    path.chmod(0o755)
    worker = fake_worker.install(tmp_path)
    monkeypatch.setattr(tool, "find", lambda name: path)
    if "sleep" in deed:
        monkeypatch.setattr("rmwbench.campaign.trial.timeouts.COMMAND_TIMEOUT_S", 2.0)
    result = run_trial(order(), Worker("fake", worker, fake_worker.DESCRIBE, None))
    assert well(result)
    assert said in reasons(result)
    counters = rows(result, "counters")
    assert any(r["process"] == "talker" and r["counter"] == "cpu" for r in counters), (
        "the worker's own account stays"
    )
    why = costs(counters, 1, 10, no_data=unread_reasons(rows(result, "events")))
    assert said in why["cpu_cores_other"] and said in why["softirq_cores"]


def test_without_a_sampler_the_trial_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("RMWBENCH_WORKERS", str(tmp_path))
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", str(tmp_path / "none"))
    worker = fake_worker.install(tmp_path)
    result = run_trial(order(), Worker("fake", worker, fake_worker.DESCRIBE, None))
    # A busy machine may void the trial; it does not fail because a sampler is missing.
    assert well(result)
    assert "the sampler is not built" in reasons(result)
    assert "sampler.json" not in result.files


def test_of_a_process_that_ended_within_the_window_its_beginning_is_kept_and_others_get_no_blame():
    made = outcome()
    usage = {"pid": 7, "cpu_ns": 5, "voluntary_switches": 2}
    edges = [
        {
            "at": where,
            "sockets": [],
            "interfaces": {},
            "processes": {name: usage | {"role": role} for name, role in roles.items()},
        }
        for where, roles in (
            ("steady_begin", {"talker": "worker", "listener": "worker"}),
            ("steady_end", {"listener": "worker"}),
        )
    ]
    made.sampling.sampled = {"snapshots": edges, "memory": {}}
    rows = [row for row in sampler_rows.counters(made) if row["process"] == "talker"]
    assert {(row["role"], row["counter"], row["at"]) for row in rows} == {
        ("publisher", "cpu", "steady_begin"),
        ("publisher", "voluntary_switches", "steady_begin"),
    }
    probes = [{"probe": "own", "value": 0.2}, {"probe": "foreign", "value": 0.7}]
    assert sampler_rows.valid_probes(made.sampling.sampled, probes) == probes[:1]
    edges[1]["processes"] = edges[0]["processes"]
    assert sampler_rows.valid_probes(made.sampling.sampled, probes) == probes


def test_a_worker_that_began_within_the_window_is_named_by_its_pid_and_counted_once():
    from rmwbench.lab.sampling.sampler import with_successor

    def snapshot(**processes):
        return {
            "processes": {
                name: {"pid": pid, "role": role, "cpu_ns": 1}
                for name, (pid, role) in processes.items()
            },
            "sockets": [{"process": name, "drops": 1} for name in processes],
        }

    document = {
        "snapshots": [
            snapshot(planner=(5, "worker")),
            snapshot(logger=(6, "worker"), rmwbench_floor=(9, "other")),
        ],
        "memory": {"rmwbench_floor": {"rss_bytes": 1}},
    }
    corrected = with_successor(document, "planner again", 9)
    begin, end = corrected["snapshots"]
    assert set(begin["processes"]) == {"planner"}
    roles = {name: process["role"] for name, process in end["processes"].items()}
    assert roles == {"logger": "worker", "planner again": "worker"}
    assert corrected["memory"] == {"planner again": {"rss_bytes": 1}}
    assert end["sockets"][1]["process"] == "planner again"
    # as it was read
    assert document["snapshots"][1]["processes"]["rmwbench_floor"]["role"] == "other"
    assert with_successor(document, "planner again", None)["snapshots"] == document["snapshots"]


def of_machine(softirq_ns: int, joules: float | None) -> dict:
    """Return the document of the sampler on a machine."""
    edges = [
        {
            "at": where,
            "machine": {"softirq_ns": ticks, "processors": 2},
            "processes": {},
            "sockets": [],
            "interfaces": {},
        }
        for where, ticks in (("steady_begin", 0), ("steady_end", softirq_ns))
    ]
    document = {"snapshots": edges, "memory": {}, "no_data": {}}
    if joules is None:
        return document | {"no_data": {"energy": "no RAPL counter"}}
    return document | {"energy": {"rapl:package-0": {"joules": joules}}}


@pytest.mark.parametrize(
    ("first", "second", "power", "reason"),
    [
        (1.5, 2.5, 4.0, None),
        (1.5, None, None, "the machine of base: no RAPL counter"),
        (None, 2.5, None, "the machine of the first host: no RAPL counter"),
    ],
)
def test_power_is_that_of_every_machine_of_the_trial_or_no_data(first, second, power, reason):
    made = outcome(place_cells([cell_of_two_hosts()], "--place")[0])
    sampled_at = {"robot": of_machine(10_000_000, first), "base": of_machine(20_000_000, second)}
    made.sampling.sampled_at, made.sampling.sampled = sampled_at, sampler.merge(sampled_at)
    no_data = unread_reasons(sampler_rows.events(made))
    values = costs(list(sampler_rows.counters(made)), 1, 10**9, no_data=no_data)
    assert values["power"] == (reason or power)
    assert values["softirq_cores"] == pytest.approx(0.03)


def test_spinners_of_a_real_machine_hide_no_other_program():
    """The first machine's `busy` is without them, that of another one is not."""
    made = outcome(place_cells([cell_of_two_hosts()], "--place")[0])
    made.times.window = TrialWindow(0, 0, 10**9)
    edges = [
        {"at": at, "processes": {"t": {"role": "worker", "cpu_ns": used_ns},
                                 "s": {"role": "awake", "cpu_ns": 2 * used_ns}}}
        for at, used_ns in (("steady_begin", 0), ("steady_end", 200_000_000))
    ]  # fmt: skip
    made.sampling.sampled_at = {name: {"snapshots": edges} for name in ("robot", "base")}
    made.probes = [
        probe_row("busy", 0.5),
        probe_row("processors_usable", 1, "count"),
        probe_row("busy@base", 0.9),
        probe_row("processors_usable@base", 1, "count"),
    ]
    processes = SimpleNamespace(hosts=SimpleNamespace(remote={"base": None}))
    shares = {row["probe"]: row["value"] for row in machines.sampled_probes(made, processes)}
    assert shares == pytest.approx(
        {"own": 0.2, "foreign": 0.3, "own@base": 0.6, "foreign@base": 0.3}
    )
