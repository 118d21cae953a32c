//! `rmwbench-sampler`: under the orchestrator's control, or by hand with `--watch`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::thread::JoinHandle;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::control::{complain, inherited, print, Control};
use rmwbench_harness::tool::{self, Request};
use rmwbench_sampler::allocations::LIBRARY;
use rmwbench_sampler::neighbours::find;
use rmwbench_sampler::protocol::{
    hello, Command, Start, Watched, COMMANDS, PROTOCOL, TOOL, VERSION,
};
use rmwbench_sampler::window::{measure, Measured};
use rmwbench_sampler::{energy::Sensors, processes::WORKER, schedule, sockets};
use serde_json::{json, Value};

const USAGE: &str = "usage: rmwbench-sampler --describe
       rmwbench-sampler --allocations-library           the library that counts allocations, to be preloaded, on stdout
       rmwbench-sampler --watch PID... --for SECONDS    what these processes use in that time, as JSON
       rmwbench-sampler --control-fd N --document-fd M  under rmwbench's control (docs/formats/sampler.md)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--describe"] => print(&describe()),
        ["--allocations-library"] => match std::io::stdout().write_all(LIBRARY) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&format!("stdout: {error}")),
        },
        ["--control-fd", control, "--document-fd", document] => match (inherited(control), inherited(document)) {
            (Some(control), Some(document)) => serve(control, File::from(document)),
            _ => complain(&format!("expected the numbers of two inherited descriptors, found {control} and {document}\n{USAGE}")),
        },
        ["--watch", ref pids @ .., "--for", seconds] if !pids.is_empty() => watch(pids, seconds),
        _ => complain(USAGE),
    }
}

fn serve(control: OwnedFd, mut document: File) -> ExitCode {
    let mut control = match Control::for_life(control) {
        Ok(control) => control,
        Err(error) => return complain(&format!("control socket: {error}")),
    };
    control.send(&hello());
    let mut watched: Vec<Watched> = Vec::new();
    let mut window: Option<JoinHandle<Measured>> = None;
    loop {
        let Request { id, command } = tool::next(&mut control, &COMMANDS);
        let answer = match command {
            Command::Watch { processes } => {
                watched.extend(processes);
                tool::ok(id, json!({}))
            }
            Command::Start(plan) => start(&watched, plan, &mut window).map_or_else(
                |(kind, why)| tool::error(id, kind, "cmd start", &why),
                |()| tool::ok(id, json!({})),
            ),
            Command::Collect {} => match window.take() {
                None => tool::error(id, "invalid", "cmd collect", "expected a start before it"),
                Some(running) => collect(running, &mut document).map_or_else(
                    |why| tool::error(id, "failed", "cmd collect", &why),
                    |bytes| tool::ok(id, json!({"bytes": bytes})),
                ),
            },
            Command::Exit {} => {
                control.send(&tool::ok(id, json!({})));
                return ExitCode::SUCCESS;
            }
        };
        control.send(&answer);
    }
}

/// The window has a thread of its own: this thread stays at the socket, whose end of file ends the
/// process.
fn start(
    watched: &[Watched],
    plan: Start,
    window: &mut Option<JoinHandle<Measured>>,
) -> Result<(), (&'static str, String)> {
    if window.is_some() {
        return Err(("invalid", "expected collect before the next start".into()));
    }
    if let Some(problem) = plan.problem() {
        return Err(("invalid", problem));
    }
    let watched = watched.to_vec();
    let running = std::thread::Builder::new()
        .name("window".into())
        .spawn(move || measure(&watched, &plan, false));
    *window = Some(running.map_err(|e| ("failed", format!("no thread for the window: {e}")))?);
    Ok(())
}

/// Waits for the window's end and writes the document; returns its size.
fn collect(running: JoinHandle<Measured>, document: &mut File) -> Result<u64, String> {
    use std::os::unix::fs::FileExt;
    let measured = running.join().map_err(|_| "the window's thread died".to_string())?;
    let bytes = serde_json::to_vec(&measured.document()).map_err(|e| e.to_string())?;
    document
        .set_len(bytes.len() as u64)
        .and_then(|()| document.write_all_at(&bytes, 0))
        .map_err(|e| format!("the document file: {e}"))?;
    Ok(bytes.len() as u64)
}

/// Describes what can be read here, and why the rest cannot. It is written for people who want to
/// know what a report will contain.
fn describe() -> Value {
    let sensors = Sensors::find(Path::new("/sys/class"));
    let answer = |reason: Option<String>| {
        Value::String(reason.map_or("yes".into(), |reason| format!("no: {reason}")))
    };
    let problem = |name: &str, all_sockets: &sockets::Sockets| {
        all_sockets.problems.iter().find(|(what, _)| *what == name).map(|(_, why)| why.clone())
    };
    let all_sockets = sockets::read();
    let scheduled = rmwbench_sampler::threads::read(Path::new("/proc/self"))
        .values()
        .any(|task| task.scheduled.is_some());
    let me = find(std::process::id() as i32)
        .and_then(|me| rmwbench_sampler::processes::Process::open("me", WORKER, &me).ok());
    let mut unseen = BTreeMap::new();
    let recorded = match me {
        None => Err("/proc does not show this process".to_string()),
        Some(me) => schedule::start(&[me], now_ns())
            .and_then(|recorder| recorder.finish(&mut unseen))
            .map(drop),
    };
    json!({
        "protocol": PROTOCOL, "tool": TOOL, "version": VERSION,
        "reads": {
            "cpu": answer(rmwbench_sampler::cpu_clock::cpu_ns(std::process::id() as i32).is_none().then(|| "no CPU clocks of processes".into())),
            "run_delay": answer((!scheduled).then(|| "this kernel does not account for it (CONFIG_SCHED_INFO)".into())),
            "udp_buffers": answer(problem("sockets.udp.receive_buffer_bytes", &all_sockets)),
            "tcp_bytes": answer(problem("sockets.tcp", &all_sockets)),
            "unix_peers": answer(problem("sockets.unix", &all_sockets)),
            "energy": answer(sensors.reason.clone()),
            "schedule": answer(recorded.clone().err()),
            "schedule_woken": answer(recorded.err().or(unseen.remove("schedule.woken"))),
        },
        "energy_sensors": sensors.names().collect::<Vec<_>>(),
    })
}

/// Prints, for people, the CPU, memory and wait of some processes over a few seconds from now.
fn watch(pids: &[&str], seconds: &str) -> ExitCode {
    let Some(seconds) =
        seconds.parse::<f64>().ok().filter(|s| s.is_finite() && *s > 0.0 && *s <= 86_400.0)
    else {
        return complain(&format!(
            "expected --for and a number of seconds, found {seconds}\n{USAGE}"
        ));
    };
    let mut watched = Vec::new();
    for text in pids {
        match text.parse::<i32>() {
            Ok(pid) if find(pid).is_some() => {
                watched.push(Watched { process: text.to_string(), pid, role: "other".into() })
            }
            Ok(pid) => return complain(&format!("there is no process {pid}")),
            Err(_) => {
                return complain(&format!(
                    "expected the number of a process, found {text}\n{USAGE}"
                ))
            }
        }
    }
    let steady_ns = now_ns() + 10_000_000;
    let end_ns = steady_ns + (seconds * 1e9) as i64;
    let plan = Start {
        steady_ns,
        end_ns,
        interval_ns: 0,
        canary_ns: 10_000_000,
        threads: true,
        schedule: false,
        memory: false,
    };
    let document = measure(&watched, &plan, true).document();
    let [begin, end] = &document.snapshots[..] else { return complain("no two snapshots") };
    let window_ns = (end.time_ns - begin.time_ns) as f64;
    let mut processes = serde_json::Map::new();
    for Watched { process, .. } in &watched {
        let (Some(first), Some(last)) = (begin.processes.get(process), end.processes.get(process))
        else {
            continue;
        };
        let delay =
            first.run_delay_ns.zip(last.run_delay_ns).map(|(a, b)| (b - a) as f64 / window_ns);
        let command = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        let row = json!({
            "command": command.trim(), "cpu_cores": (last.cpu_ns - first.cpu_ns) as f64 / window_ns, "waited_cores": delay, "threads": last.threads,
            "rss_bytes": last.rss_bytes, "pss_bytes": document.memory.get(process).map(|m| m.pss_bytes),
            "minor_faults": last.minor_faults.zip(first.minor_faults).map(|(a, b)| a - b),
            "context_switches": last.voluntary_switches.zip(first.voluntary_switches).map(|(a, b)| a - b),
            "busiest_threads": busiest(document.threads.as_ref().and_then(|t| t.get(process)), window_ns),
        });
        processes.insert(process.clone(), row);
    }
    let asked: Vec<_> = document.no_data.iter().filter(|(_, why)| *why != "not asked").collect();
    print(&json!({
        "seconds": window_ns / 1e9, "processes": processes, "wake_up_lateness_ns": document.canary, "energy": document.energy,
        "sampler_cpu_ns": document.own.window_cpu_ns, "no_data": asked.into_iter().collect::<BTreeMap<_, _>>(),
    }))
}

fn busiest(
    threads: Option<&Vec<rmwbench_sampler::document::Thread>>,
    window_ns: f64,
) -> Vec<Value> {
    let mut sorted: Vec<_> = threads.into_iter().flatten().filter(|t| t.cpu_ns > 0).collect();
    sorted.sort_by_key(|t| std::cmp::Reverse(t.cpu_ns));
    sorted
        .into_iter()
        .take(5)
        .map(|t| json!({"tid": t.tid, "name": t.name, "cpu_cores": t.cpu_ns as f64 / window_ns}))
        .collect()
}
