"""A worker in Python for tests of our own side of the protocol: a datagram socket per reader as its
middleware, and on demand one fault.

`install(directory, fault)` writes a program that behaves well until the stage that the fault names.
It measures nothing, and sends its whole schedule however late a busy machine lets it: only the
fault `block` makes messages that are never sent. Its interpreter starts without the packages of the
site (`-IS`), in half of the time: a campaign starts dozens.
"""

# ruff: noqa: E501 (the program in the string is compact on purpose)

import os
import sys
from pathlib import Path

INTERPRETER = os.path.realpath(sys.executable)
"""Past the links of the environment: a checkout may lie below /tmp, which a host has of its own."""

FAULTS = {
    # stage: what happens when that command (or moment) comes
    "segfault": "os.kill(os.getpid(), 11)",
    "exit": "os._exit(3)",
    "hang": "time.sleep(1000)",
    "garbage": "control.sendall(b'this is not JSON\\n')",
    "no_object": "control.sendall(b'[1]\\n')",
    "long_line": "control.sendall(b'x' * (2 << 20))",
    "flood": '[control.sendall(b\'{"event": "log", "level": "info", "message": "x"}\\n\' * 1000) '
    "for _ in range(10**6)]",
    "unknown_reply": "say(id=999, ok={})",
    "half_reply": "control.sendall(b'{\"id\": %d}\\n' % request['id'])",
    "bare_event": "say(event='finished')",
    "empty_reply": "say(id=request['id'], ok={'endpoints': {'x': 1}, 'usage': 3, 'sent': 3})",
    "refuse": "say(id=request['id'], error={'kind': 'unsupported', 'object': 'this', 'message': "
    "'not here'}); return",
    "empty_error": "say(id=request['id'], error={}); return",
    "cannot": "say(id=request['id'], error={'kind': 'unsupported', 'object': 'mode transport', "
    "'message': 'udp only'}); return",
    "late_cannot": "if request['at']['kind'] == 'service': say(id=request['id'], error={'kind': "
    "'unsupported', 'object': 'mode transport', 'message': 'udp only'}); return",
    "apart": "say(id=request['id'], error={'kind': 'failed', 'object': 'endpoint 1', 'message': "
    "'expected 1, found 0'}); return",
    "no_node": "if 'lifecycle_nodes' in request['options']: say(id=request['id'], error={'kind': "
    "'failed', 'object': 'session', 'message': 'no participant'}); return",
    "nobody": "if 'endpoints' in request: say(id=request['id'], error={'kind': 'failed', 'object': "
    "'it', 'message': '0'}); return",
    "late_segfault": "if running: os.kill(os.getpid(), 11)",
    "close": "control.close(); time.sleep(1000)",
    "orphan": "os.fork() and os._exit(4); time.sleep(1000)",
    "scribble": "records[64 + 24:64 + 32] = struct.pack('<Q', 1 << 40)",
    "damage": "records[0:8] = b'not ours'",
    "downgrade": "granted['qos'] = {**granted['qos'], 'reliability': 'best_effort'}",
    "forever": "finishing = False",
    "block": "late_by_s = 10 if late_by_s == 0 else -1",
    "mute": "writers.clear()",
    "deaf": "[reader.update(gone=True) for reader in readers.values()]",
    "one_deaf": "readers.get(2, {}).update(gone=True)",
    "one_of_two_probes": "[send(w, 0, now(), 0) for w in writers.values()]; "
    "say(id=request['id'], ok={'sent': {str(n): 2 for n in writers}}); return",
    "deafened": "[reader.update(deaf=True) for reader in readers.values()]",  # to all but probes
}

SOURCE = r"""#!{python} -IS
import json, mmap, os, select, socket, struct, sys, threading, time, zlib
FAULT, STAGE = {fault!r}, {stage!r}
# a shared host has ports of its own
PORT = int(os.environ.get("RMWBENCH_FIRST_PORT", 20000))
if "--describe" in sys.argv:
    print(json.dumps({describe!r}))
    sys.exit(0)
control = socket.socket(fileno=int(sys.argv[sys.argv.index("--control-fd") + 1]))
daemon = sys.argv[sys.argv.index("--daemon") + 1] if "--daemon" in sys.argv else None
records_fd = None if daemon else int(sys.argv[sys.argv.index("--records-fd") + 1])
records = None if daemon else mmap.mmap(records_fd, os.fstat(records_fd).st_size)
writers, readers, snapshots, nodes, started, senders, edges = {{}}, {{}}, [], {{}}, set(), {{}}, []
finishing, late_by_s, running, said = True, 0.0, False, set()

def now(): return time.monotonic_ns()
lock = threading.Lock()
def say(**line):
    said.add(line.get("id"))
    with lock: control.sendall(json.dumps(line).encode() + b"\n")

def record(kind, endpoint, *fields, size, flags=0):
    with lock:
        for i in range(struct.unpack_from("<I", records, 12)[0]):
            k, e, offset, capacity, claimed = struct.unpack_from("<IIQQQ", records, 64 + 64 * i)
            if (k, e) == (kind, endpoint):
                struct.pack_into("<Q", records, 64 + 64 * i + 24, claimed + 1)
                if claimed < capacity:
                    struct.pack_into("<Qqqqqq" if kind == 2 else "<QqqqqQ", records, offset + 64 * claimed, *fields[:6])
                    struct.pack_into("<IIII", records, offset + 64 * claimed + 48, fields[6], endpoint, size, kind | flags << 8)

def usage(at):
    lines = open("/proc/net/dev").read().splitlines()[2:]
    interfaces = {{l.split(":")[0].strip(): l.split(":")[1].split() for l in lines}}
    interfaces = {{n: {{"rx_bytes": int(v[0]), "tx_bytes": int(v[8])}} for n, v in interfaces.items()}}
    snapshots.append({{"at": at, "time_ns": now(), "cpu_ns": time.process_time_ns(), "interfaces": interfaces}})

def channel(e, writes):
    prefix = {{"publisher": "rt", "subscription": "rt", "client": "rq" if writes else "rr", "service": "rr" if writes else "rq"}}[e["kind"]]
    return zlib.crc32(f"{{prefix}}/{{e['topic']}}".encode())

HEADER, OVER = "<IQqIIIQ", 3
def send(writer, seq, intended, phase, cause=(0, 0)):
    begun = now()
    size = (writer["reply_type"] if writer["kind"] == "service" else writer["type"])["payload_bytes"]
    payload = struct.pack(HEADER, writer["endpoint"], seq, intended, phase, channel(writer, True), *cause).ljust(min(size, 60000), b"x")
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    call = now()
    for port in range(PORT, PORT + 64):
        try: out.sendto(payload, ("127.0.0.1", port))
        except OSError: pass
    if phase: record(1, writer["endpoint"], seq, intended, begun, call, now(), cause[1], cause[0], size=len(payload), flags=4 if phase == 1 else 0)

def tell_over(writer):
    # a service has as many requests as its clients have sent, however late a busy machine lets them send
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for port in range(PORT, PORT + 64):
        try: out.sendto(struct.pack(HEADER, writer["endpoint"], 0, 0, OVER, channel(writer, True), 0, 0), ("127.0.0.1", port))
        except OSError: pass

def schedule(writer, start):
    global finishing, late_by_s
    period, seq, never = writer["arrival"]["period_ns"], 0, 0
    due = start["at_ns"] + writer["arrival"].get("phase_ns", 0)
    while due < start["end_ns"] and not writer.get("gone"):
        time.sleep(max(0, (due - now()) / 1e9))
        if STAGE == "window" and due >= start["steady_ns"]:
            fault({{"id": 0}})
            if late_by_s > 0: time.sleep(max(0, (start["end_ns"] - now()) / 1e9 + 0.2)); late_by_s = -1
        if late_by_s < 0 and now() > start["end_ns"] + start["grace_ns"]: never += 1
        else:
            send(writer, seq, due, 1 if due < start["steady_ns"] else 2)
            seq += 1
        due += period
    tell_over(writer)
    if finishing:
        say(event="finished", endpoint=writer["endpoint"], scheduled=seq + never, sent=seq, failed=0, never_sent=never, time_ns=now(),
            **({{"last_seq": seq - 1}} if seq else {{}}))

def read(reader):
    while True:
        data = reader["socket"].recv(1 << 16)
        if reader.get("gone"): return
        notified = now()
        writer, seq, intended, phase, to, *cause = struct.unpack_from(HEADER, data)
        if to != channel(reader, False) or (reader["kind"] == "client" and cause[0] != reader["endpoint"]): continue
        if phase and reader.get("deaf"): continue
        if phase == OVER:
            reader["over"] += 1
            continue
        if writer not in reader["peers"]:
            reader["peers"].add(writer)
            say(event="first_message", endpoint=reader["endpoint"], writer=writer, time_ns=notified)
        if not phase:
            source, number = (reader["endpoint"], cause[1]) if reader["kind"] == "client" else (writer, seq)
            reader["probes"].setdefault(str(source), set()).add(number)
        if phase:
            record(2, reader["endpoint"], seq, notified, now(), now(), now(), intended, writer, size=len(data), flags=4 if phase == 1 else 0)
            reader["last"][str(reader["endpoint"] if reader["kind"] == "client" else writer)] = cause[1] if reader["kind"] == "client" else seq
        if reader["kind"] == "service":
            send(reader, reader["next"], now(), phase, (writer, seq))
            reader["next"] += 1 if phase else 0

def served(service, start):
    clients, latest_ns = service["matches"], start["end_ns"] + start["grace_ns"] + 1_000_000_000
    over = lambda: service["over"] >= clients if now() < latest_ns else True
    while not (now() > start["end_ns"] + start["grace_ns"] and over()) and not service.get("gone"): time.sleep(0.002)
    n = service["next"]
    say(event="finished", endpoint=service["endpoint"], scheduled=n, sent=n, failed=0, never_sent=0, time_ns=now(), **({{"last_seq": n - 1}} if n else {{}}))

def at(time_ns, *names):
    for when, name in zip(time_ns, names):
        time.sleep(max(0, (when - now()) / 1e9))
        usage(name)

def serve():
    # a daemon that is always somewhat busy, and says so in its log
    print("serving", request["profile"]["name"], flush=True)
    while True:
        until = time.thread_time() + 0.001
        while time.thread_time() < until: pass
        time.sleep(0.003)

granted = {{}}
def fault(request):
    globals()["request"] = request
    exec(FAULT.replace("; return", ""), globals())

def handle(request_):
    global granted, request
    request = request_
    cmd, reply = request["cmd"], {{}}
    if cmd == "create":
        reply["endpoints"] = {{}}
        for e in (e for node in request["nodes"] for e in node["endpoints"]):
            granted = {{"qos": e["qos"], "publish_mode": "sync", "wait": e.get("wait", "block"), "notes": []}}
            if STAGE == "create":
                fault(request | {{"at": e}})
                if "return" in FAULT and request["id"] in said: return
            reply["endpoints"][str(e["endpoint"])] = granted
            if e["kind"] in ("publisher", "client"): writers[e["endpoint"]] = e
            if e["kind"] != "publisher":
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", PORT + e["endpoint"]))
                readers[e["endpoint"]] = e | {{"socket": s, "peers": set(), "last": {{}}, "next": 0, "over": 0, "probes": {{}}}}
                threading.Thread(target=read, args=(readers[e["endpoint"]],), daemon=True).start()
    elif cmd == STAGE or (daemon and STAGE == "daemon"):
        fault(request)
        if "return" in FAULT and request["id"] in said: return
    if daemon and cmd == "open": threading.Thread(target=serve, daemon=True).start()
    for node in request["nodes"] if cmd == "create" else ():
        nodes[node["name"]] = [e["endpoint"] for e in node["endpoints"]]
    if cmd == "open" and request.get("modes"):
        reply["configuration"] = {{"format": "json", "text": json.dumps(request["modes"])}}
    elif cmd == "match":
        reply["endpoints"] = {{str(n): {{"matched": 1, "time_ns": now()}} for n in request.get("endpoints", [*writers, *readers])}}
    elif cmd == "destroy":
        for n in (n for name in request["nodes"] for n in nodes.pop(name)):
            for e in (found.pop(n, {{}}) for found in (writers, readers)): e["gone"] = True
            if n in senders: senders.pop(n).join()  # it sends nothing once this is answered
    elif cmd == "probe":
        for n, w in writers.items():
            if n not in request.get("endpoints", [n]): continue
            send(w, w.get("probes", 0), now(), 0)
            w["probes"] = w.get("probes", 0) + 1
        reply = {{"sent": {{str(n): w.get("probes", 0) for n, w in writers.items()}}}}
    elif cmd == "settle":
        deadline, quiet, heard, since = now() + request["timeout_ns"], request["quiet_ns"], None, now()
        numbers = lambda: {{(r, w): set(readers[int(r)]["probes"].get(w, ())) for r, ws in request["expect"].items() for w in ws}}
        done = lambda: all(len(numbers()[r, w]) >= n for r, ws in request["expect"].items() for w, n in ws.items())
        while not done() and now() < deadline and now() - since < quiet:
            time.sleep(0.002)
            if numbers() != heard: heard, since = numbers(), now()
        told = {{r: {{w: {{"count": len(numbers()[r, w]), "seen": max(numbers()[r, w], default=-1) + 1}} for w in ws}} for r, ws in request["expect"].items()}}
        reply = {{"complete": done(), "quiet": now() < deadline and not done(), "time_ns": now(), "heard": told}}
    elif cmd == "start":
        globals()["running"], reply = True, {{"schedule": request.get("schedule", "own")}}
        for e in [*writers.values(), *(r for r in readers.values() if r["kind"] == "service")]:
            if e["endpoint"] in started or e["endpoint"] not in request.get("endpoints", [e["endpoint"]]): continue
            started.add(e["endpoint"])
            senders[e["endpoint"]] = threading.Thread(target=served if e["kind"] == "service" else schedule, args=(e, request), daemon=True)
            senders[e["endpoint"]].start()
        if "endpoints" not in request:
            edges.append(threading.Thread(target=at, args=([request["steady_ns"], request["end_ns"]], "steady_begin", "steady_end"), daemon=True))
            edges[-1].start()
    elif cmd == "drain":
        deadline, quiet, heard, since = now() + request["timeout_ns"], request.get("quiet_ns"), None, now()
        latest = lambda: [dict(readers[int(r)]["last"]) for r in request["expect"]]
        done = lambda: all(readers[int(r)]["last"].get(w, -1) >= n for r, ws in request["expect"].items() for w, n in ws.items())
        while not done() and now() < deadline and not (quiet and now() - since >= quiet):
            time.sleep(0.002)
            if latest() != heard: heard, since = latest(), now()
        reply = {{"complete": done(), "time_ns": now()}}
    elif cmd == "clock":
        reply = {{"received_ns": now(), "sent_ns": now()}}
    elif cmd == "collect":
        for edge in edges: edge.join()  # on a busy machine the end may be asked for before it was read
        usage("now")
        reply = {{"usage": snapshots, "memory": {{"rss_bytes": 1000, "threads": 3, "shared_segments": []}},
                 "endpoints": {{str(n): {{"matched": 1, "counters": {{"mine": 5}}}} for n in [*writers, *readers]}}}}
    say(id=request["id"], ok=reply)
    if cmd == "exit": os._exit(0)

print("a line on stdout, where no protocol belongs", flush=True)
print("the last words", file=sys.stderr, flush=True)
if STAGE == "hello" or (daemon and STAGE == "daemon_hello"): fault({{"id": 0}})
hello = {{"protocol": 1, "worker": "fake", "middleware": "fake", "version": "1", "build": "test", "pid": os.getpid(), "clock": "CLOCK_MONOTONIC"}}
if daemon: hello["daemon"] = daemon
hello |= {hello!r}
say(hello=hello)
buffer = b""
while True:
    data = control.recv(1 << 16)
    if not data: os._exit(0)
    buffer += data
    *lines, buffer = buffer.split(b"\n")
    for line in lines: handle(json.loads(line))
"""

DESCRIBE = {
    "protocol": 1,
    "middleware": "fake",
    "layer": "native",
    "version": "1.0",
    "release_date": "2026-01-01",
    "build": {},
    "capabilities": {"loan": "no: it always copies"},
    "shared_host": {"forced": "nothing: it is a fake"},
    "profiles": [{"name": "untouched", "format": "none", "text": "", "summary": "as it is"}],
}


def install(
    directory: Path,
    fault: str = "",
    stage: str = "",
    *,
    hello: dict | None = None,
    describe: dict | None = None,
) -> Path:
    """The program `rmwbench-fake` in `directory`, or of the middleware that it is told to describe,
    with this fault at this stage: `hello`, `window`, or the name of a command."""
    described = DESCRIBE | (describe or {})
    path = directory / f"rmwbench-{described['middleware']}"
    body = FAULTS[fault] if fault else "pass"
    path.write_text(
        SOURCE.format(
            python=INTERPRETER, fault=body, stage=stage, hello=hello or {}, describe=described
        )
    )
    path.chmod(0o755)
    return path
