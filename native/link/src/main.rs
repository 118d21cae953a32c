//! `rmwbench-link`: the network between the hosts of a trial.

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::process::ExitCode;

use rmwbench_harness::clock::{now_ns, process_cpu_ns};
use rmwbench_harness::control::{complain, exit_now, inherited, print, Control};
use rmwbench_harness::tool::{self, Request};
use rmwbench_link::document::{Document, Own};
use rmwbench_link::engine::{Engine, Waiting};
use rmwbench_link::log::Log;
use rmwbench_link::network::{Network, Plan};
use rmwbench_link::protocol::{hello, Command, Open, Port, COMMANDS, PROTOCOL, TOOL, VERSION};
use rmwbench_link::spec::{LinkSpec, Trace};
use rmwbench_link::tap::Tap;
use rmwbench_link::tries;
use serde_json::{json, Value};

const USAGE: &str = "usage: rmwbench-link --describe
       rmwbench-link --control-fd N --document-fd M --log-fd L  under rmwbench's control (docs/formats/link.md)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--describe"] => print(&describe()),
        ["--control-fd", control, "--document-fd", document, "--log-fd", log] => {
            match (inherited(control), inherited(document), inherited(log)) {
                (Some(control), Some(document), Some(log)) => serve(control, File::from(document), File::from(log)),
                _ => complain(&format!(
                    "expected the numbers of three inherited descriptors, found {control}, {document} and {log}\n{USAGE}"
                )),
            }
        }
        _ => complain(USAGE),
    }
}

/// The switch while it runs.
struct Running {
    engine: Engine,
    opened_ns: i64,
    collected: bool,
}

fn serve(control: OwnedFd, document: File, log: File) -> ExitCode {
    let mut control = match Control::for_life(control) {
        Ok(control) => control,
        Err(error) => return complain(&format!("control socket: {error}")),
    };
    control.send(&hello(TOOL));
    let mut log = Some(log);
    let mut running: Option<Running> = None;
    loop {
        let Request { id, command } = tool::next(&mut control, &COMMANDS);
        let first = || ("invalid", "expected an open before it".to_string());
        let (name, answer) = match command {
            Command::Open(plan) => ("open", open(plan, &mut log, &mut running)),
            Command::Schedule { changes, edges_ns } => {
                let scheduled = running.as_ref().ok_or_else(first).and_then(|running| {
                    let count = changes.len();
                    let done = running.engine.ask(move |network| {
                        if !edges_ns.is_empty() {
                            network.totals.set_edges(edges_ns);
                        }
                        network.schedule(changes, now_ns())
                    });
                    done.map_err(failed)?
                        .map_err(|why| ("invalid", why))
                        .map(|()| json!({"changes": count}))
                });
                ("schedule", scheduled)
            }
            Command::Mark {} => ("mark", running.as_ref().ok_or_else(first).and_then(mark)),
            Command::Collect {} => (
                "collect",
                running.as_mut().ok_or_else(first).and_then(|running| collect(running, &document)),
            ),
            Command::Exit {} => {
                control.send(&tool::ok(id, json!({})));
                // The engine's thread owns nothing that outlives this process.
                exit_now();
            }
        };
        control.send(&match answer {
            Ok(value) => tool::ok(id, value),
            Err((kind, why)) => tool::error(id, kind, &format!("cmd {name}"), &why),
        });
    }
}

type Answer = Result<Value, (&'static str, String)>;

fn failed(why: String) -> (&'static str, String) {
    ("failed", why)
}

fn open(mut plan: Open, log: &mut Option<File>, running: &mut Option<Running>) -> Answer {
    let invalid = |why: String| ("invalid", why);
    if running.is_some() {
        return Err(invalid("the network is open already".into()));
    }
    for link in plan.links.values_mut() {
        load_traces(link).map_err(invalid)?;
    }
    if let Some(problem) = plan.problem() {
        return Err(invalid(problem));
    }
    let mut taps = Vec::new();
    for port in &plan.ports {
        let fd = duplicate(port.fd);
        let fd = fd.ok_or_else(|| {
            invalid(format!("port {}: descriptor {} is not open", port.name, port.fd))
        })?;
        taps.push(Tap::adopt(fd).map_err(|why| {
            invalid(format!("port {}: descriptor {}: {why}", port.name, port.fd))
        })?);
    }
    let log = log.take().ok_or_else(|| invalid("the log was taken by an open before".into()))?;
    let opened_ns = now_ns();
    let waiting = Waiting { quantum_ns: plan.quantum_ns, spin_ns: plan.spin_ns };
    let ports = plan.ports.len();
    let network_plan = Plan {
        seed: plan.seed,
        ports: plan.ports.into_iter().map(Port::planned).collect(),
        links: plan.links,
        media: plan.media,
        multicast: plan.multicast,
        priority: plan.priority.clone(),
    };
    let engine = Engine::start(taps, waiting, move || {
        Ok(Network::new(network_plan, Log::map(&log)?, opened_ns))
    })
    .map_err(failed)?;
    let (specs, media) =
        engine.ask(|network| (network.specs(), network.media_specs())).map_err(failed)?;
    let answer = json!({
        "ports": ports, "opened_ns": opened_ns, "specs": specs, "media": media, "multicast": plan.multicast, "priority": plan.priority,
        "scheduler": if engine.other_scheduler.is_none() { "fifo" } else { "other" }, "scheduler_reason": engine.other_scheduler,
        "quantum_ns": waiting.quantum_ns, "spin_ns": waiting.spin_ns,
    });
    *running = Some(Running { engine, opened_ns, collected: false });
    Ok(answer)
}

/// Reads the traces that came in memory files, because a trace may be longer than a line may be.
fn load_traces(link: &mut LinkSpec) -> Result<(), String> {
    for (way, spec) in [("up", &mut link.up), ("down", &mut link.down)] {
        let Some(fd) = spec.trace.as_ref().and_then(|trace| trace.fd) else { continue };
        let file = duplicate(fd)
            .map(File::from)
            .ok_or_else(|| format!("{way}.trace: descriptor {fd} is not open"))?;
        let mut text =
            vec![0; file.metadata().map_err(|e| format!("{way}.trace: {e}"))?.len() as usize];
        file.read_exact_at(&mut text, 0).map_err(|e| format!("{way}.trace: {e}"))?;
        spec.trace =
            Some(serde_json::from_slice::<Trace>(&text).map_err(|e| format!("{way}.trace: {e}"))?);
    }
    Ok(())
}

fn mark(running: &Running) -> Answer {
    let (index, links, media) = running
        .engine
        .ask(|network| (network.next_index(), network.links(), network.media()))
        .map_err(failed)?;
    Ok(json!({"index": index, "time_ns": now_ns(), "links": links, "media": media}))
}

fn collect(running: &mut Running, file: &File) -> Answer {
    if running.collected {
        return Err(("invalid", "it was collected already".into()));
    }
    let opened_ns = running.opened_ns;
    let (document, (frames, unlogged)) = running
        .engine
        .ask(move |network| {
            let closed_ns = now_ns();
            let log = network.close_log();
            let document = Document {
                opened_ns,
                closed_ns,
                links: network.links(),
                media: network.media(),
                classes: network.classes(),
                lateness_ns: network.lateness.quantiles(),
                wakes: network.watch.wakes.clone(),
                devices: network.devices(),
                changes: network.done.clone(),
                periods: (log.1 > 0).then(|| network.periods()),
                own: Own {
                    cpu_ns: process_cpu_ns(),
                    wall_ns: closed_ns - opened_ns,
                    rss_bytes: rss_bytes(),
                },
            };
            (document, log)
        })
        .map_err(failed)?;
    running.collected = true;
    let bytes = serde_json::to_vec(&document).map_err(|e| failed(e.to_string()))?;
    let written = file.set_len(bytes.len() as u64).and_then(|()| file.write_all_at(&bytes, 0));
    written.map_err(|e| failed(format!("the document file: {e}")))?;
    Ok(json!({"bytes": bytes.len(), "frames": frames, "unlogged": unlogged}))
}

fn rss_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// A description for people who want to know whether a trial of several hosts can run here.
fn describe() -> Value {
    json!({"protocol": PROTOCOL, "tool": TOOL, "version": VERSION, "works": tries::everything()})
}

/// A copy of a descriptor that a command names, which may be a wrong one: this process may use it,
/// and must not close it.
fn duplicate(fd: RawFd) -> Option<OwnedFd> {
    // SAFETY: fcntl makes a new descriptor, which nobody else owns, or fails.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    // SAFETY: as above.
    (copy >= 0).then(|| unsafe { OwnedFd::from_raw_fd(copy) })
}
