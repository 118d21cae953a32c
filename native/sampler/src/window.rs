//! One measuring window: what is read before it, at its edges, in it (only if requested) and after
//! it, and the document of all values.
//!
//! At an edge only clocks and small open files are read, and nothing is parsed. Lists of threads
//! and of sockets are read just before the first edge and just after the last one, so their
//! counters cover a little more than the window.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;

use rmwbench_harness::clock::{now_ns, process_cpu_ns, remove_timer_slack, sleep_until};

use crate::canary;
use crate::document::{
    Canary, Document, Machine, Sample, SamplerUsage, Schedule, SeriesInterface, SeriesProcess,
    Snapshot, Thread,
};
use crate::energy::{Readings, Sensors};
use crate::kept::Kept;
use crate::machine::{parse_softnet, parse_stat};
use crate::memory;
use crate::neighbours::{find, init_pid, neighbours, parent, Neighbour};
use crate::network::{add_netstat, parse_interfaces, parse_losses, parse_snmp};
use crate::owners::{self, Owners};
use crate::processes::{Process, Stat, DAEMON, HARNESS, OTHER, WORKER};
use crate::protocol::{Start, Watched, TOOL};
use crate::schedule;
use crate::sockets::{self, Sockets};
use crate::threads::{self, Last, Sums, Tasks};

/// How much earlier than in a rehearsal the reading begins before the window, in case the machine
/// is busier by then.
const LEAD_FACTOR: i64 = 2;
const LEAD_NS: i64 = 500_000;
/// The last reading of threads begins this long before the window's end.
const LAST_LOOK_NS: i64 = 200_000;
const LAST_LOOK_PER_THREAD_NS: i64 = 3_000;

/// The raw data of a window; `document` converts them.
#[derive(Debug)]
pub struct Measured {
    processes: Vec<Process>,
    begin: Edge,
    end: Edge,
    tasks: [BTreeMap<String, Tasks>; 2],
    sockets: [Sockets; 2],
    series: Option<Vec<Sample>>,
    canary: Option<Canary>,
    schedule: Option<Schedule>,
    owners: Owners,
    sensors: Sensors,
    readings: Vec<Readings>,
    with_threads: bool,
    no_data: BTreeMap<String, String>,
}

/// All data that are read at one edge, not yet parsed. `processes` are by name.
#[derive(Debug, Default)]
struct Edge {
    time_ns: i64,
    took_ns: i64,
    own_cpu_ns: i64,
    processes: BTreeMap<String, (i64, Stat)>,
    files: BTreeMap<&'static str, String>,
}

/// Files that are read at each edge.
const FILES: [(&str, &str); 6] = [
    ("stat", "/proc/stat"),
    ("dev", "/proc/net/dev"),
    ("snmp", "/proc/net/snmp"),
    ("snmp6", "/proc/net/snmp6"),
    ("netstat", "/proc/net/netstat"),
    ("softnet", "/proc/net/softnet_stat"),
];

type Files = BTreeMap<&'static str, Kept>;

/// Waits for the window and measures it. `alone`: processes of others are not searched for, as
/// outside a host.
pub fn measure(watched: &[Watched], plan: &Start, alone: bool) -> Measured {
    remove_timer_slack();
    let mut no_data = BTreeMap::new();
    let mut files = open_files(&mut no_data);
    let mut processes = open_processes(watched, &mut no_data);
    if !alone {
        add_neighbours(&mut processes);
    }
    let mut sensors = Sensors::find(Path::new("/sys/class"));
    if let Some(reason) = &sensors.reason {
        no_data.insert("energy".into(), reason.clone());
    }
    let mut found_owners = Owners::new();
    add_owners(&mut found_owners, &processes, &mut no_data);

    let rehearsal_ns = now_ns();
    read_tasks(&processes);
    sockets::read();
    let lead_ns = LEAD_FACTOR * (now_ns() - rehearsal_ns) + LEAD_NS;

    let canary = start_canary(plan, &mut no_data);
    let recorder = plan.schedule.then(|| schedule::start(&processes, plan.end_ns));

    sleep_until(plan.steady_ns - lead_ns);
    if !alone {
        add_neighbours(&mut processes);
    }
    let (tasks_before, sockets_before) = (read_tasks(&processes), sockets::read());
    let mut last = Last::open(&named(&processes, &tasks_before));
    let mut readings = Vec::new();

    sleep_until(plan.steady_ns);
    let begin = read_edge(&mut processes, &mut files);
    readings.push(sensors.read(begin.time_ns));
    let series = read_series(plan, &mut processes, &mut files, &mut sensors, &mut readings);
    sleep_until(plan.end_ns - LAST_LOOK_NS - LAST_LOOK_PER_THREAD_NS * last.len() as i64);
    let last_seen: BTreeMap<(String, i32), (u64, u64)> = last
        .read()
        .into_iter()
        .map(|(name, tid, scheduled)| ((name.to_string(), tid), scheduled))
        .collect();
    sleep_until(plan.end_ns);
    let mut end = read_edge(&mut processes, &mut files);
    readings.push(sensors.read(end.time_ns));

    let known = processes.len();
    if !alone {
        add_neighbours(&mut processes);
    }
    for process in &mut processes[known..] {
        read_process(process, &mut end.processes);
    }
    let (mut tasks_after, sockets_after) = (read_tasks(&processes), sockets::read());
    for (name, earlier) in &tasks_before {
        let later = tasks_after.entry(name.clone()).or_default();
        let of_this = last_seen.iter().filter(|((process, _), _)| process == name);
        threads::add_ended(later, earlier, of_this.map(|((_, tid), scheduled)| (*tid, *scheduled)));
    }
    add_owners(&mut found_owners, &processes, &mut no_data);
    for process in &processes {
        match (
            begin.processes.contains_key(&process.name),
            end.processes.contains_key(&process.name),
        ) {
            (true, false) => no_data
                .insert(format!("processes.{}", process.name), "it ended within the window".into()),
            (false, false) => no_data
                .insert(format!("processes.{}", process.name), "it ended before the window".into()),
            _ => None,
        };
    }
    for (what, why) in sockets_after.problems.iter().chain(&sockets_before.problems) {
        no_data.insert((*what).into(), why.clone());
    }
    let schedule = match recorder {
        None => Err("not asked".to_string()),
        Some(Err(reason)) => Err(reason),
        Some(Ok(recorder)) => recorder.finish(&mut no_data),
    };
    let schedule = keep(schedule, "schedule", &mut no_data);
    if series.is_none() {
        no_data.insert("series".into(), "not asked".into());
    }
    let canary = canary.map(canary::Canaries::finish);
    Measured {
        processes,
        begin,
        end,
        tasks: [tasks_before, tasks_after],
        sockets: [sockets_before, sockets_after],
        series,
        canary,
        schedule,
        owners: found_owners,
        sensors,
        readings,
        with_threads: plan.threads,
        no_data,
    }
}

impl Measured {
    /// Reads what is read only afterwards, the memory maps, and makes the document.
    pub fn document(self) -> Document {
        let Measured {
            processes,
            begin,
            end,
            tasks: [before, after],
            sockets,
            sensors,
            readings,
            mut no_data,
            ..
        } = self;
        let mut memories = BTreeMap::new();
        for process in processes.iter().filter(|p| {
            p.role != WORKER && p.role != HARNESS && end.processes.contains_key(&p.name)
        }) {
            match memory::read(&process.directory) {
                Ok(memory) => drop(memories.insert(process.name.clone(), memory)),
                Err(e) => drop(no_data.insert(
                    format!("memory.{}", process.name),
                    format!("its memory map cannot be read: {e}"),
                )),
            }
        }
        let energy = sensors.energy(&readings);
        for name in sensors.names().filter(|&name| !energy.contains_key(name)) {
            no_data.insert(
                format!("energy.{name}"),
                "it could not be read at both edges, or ran over".into(),
            );
        }
        let per_thread = self.with_threads.then(|| used_by_thread(&before, &after, &mut no_data));
        if !self.with_threads {
            no_data.insert("threads".into(), "not asked".into());
        }
        let sums_before: BTreeMap<&String, Sums> =
            before.iter().map(|(name, tasks)| (name, threads::sums(tasks))).collect();
        let none = Tasks::new();
        let sums_after: BTreeMap<&String, Sums> = after
            .iter()
            .map(|(name, later)| {
                let earlier = sums_before.get(name).copied().unwrap_or_default();
                (name, threads::advanced(earlier, before.get(name).unwrap_or(&none), later))
            })
            .collect();
        if sums_before.values().any(|s| s.run_delay_ns.is_none()) {
            no_data.insert(
                "run_delay_ns".into(),
                "this kernel does not account for it (CONFIG_SCHED_INFO)".into(),
            );
        }
        let [first, last] = sockets.map(|s| s.owned(&self.owners));
        let own = SamplerUsage {
            cpu_ns: process_cpu_ns(),
            window_cpu_ns: end.own_cpu_ns - begin.own_cpu_ns,
            rss_bytes: find(std::process::id() as i32)
                .and_then(|me| Process::open("me", HARNESS, &me).ok()?.rss_bytes())
                .unwrap_or_default(),
        };
        let snapshots = vec![
            snapshot("steady_begin", begin, &processes, &sums_before, first, &mut no_data),
            snapshot("steady_end", end, &processes, &sums_after, last, &mut no_data),
        ];
        Document {
            snapshots,
            series: self.series,
            canary: self.canary,
            threads: per_thread,
            schedule: self.schedule,
            memory: memories,
            energy: (!energy.is_empty()).then_some(energy),
            no_data,
            own,
        }
    }
}

fn keep<T>(
    result: Result<T, String>,
    what: &str,
    no_data: &mut BTreeMap<String, String>,
) -> Option<T> {
    result.map_err(|reason| no_data.insert(what.into(), reason)).ok()
}

fn start_canary(plan: &Start, no_data: &mut BTreeMap<String, String>) -> Option<canary::Canaries> {
    let started = match plan.canary_ns {
        0 => Err("not asked".to_string()),
        period_ns => canary::start(plan.steady_ns, plan.end_ns, period_ns)
            .map_err(|e| format!("no thread for it: {e}")),
    };
    keep(started, "canary", no_data)
}

fn open_files(no_data: &mut BTreeMap<String, String>) -> Files {
    let mut files = Files::new();
    for (name, path) in FILES {
        match Kept::open(path) {
            Ok(file) => drop(files.insert(name, file)),
            // A kernel without IPv6 has no counters for it: nothing is missing.
            Err(e) if name == "snmp6" && e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => drop(no_data.insert(path.into(), e.to_string())),
        }
    }
    files
}

fn open_processes(watched: &[Watched], no_data: &mut BTreeMap<String, String>) -> Vec<Process> {
    let mut processes: Vec<Process> = Vec::new();
    for Watched { process, pid, role } in watched {
        let opened = match find(*pid) {
            None => Err(format!("there is no process {pid}")),
            Some(_) if processes.iter().any(|p| p.name == *process) => {
                Err(format!("two processes are called {process}"))
            }
            Some(neighbour) => Process::open(process, role, &neighbour)
                .map_err(|e| format!("process {pid} cannot be read: {e}")),
        };
        processes.extend(keep(opened, &format!("processes.{process}"), no_data));
    }
    processes
}

/// Adds the processes of this host that are not watched yet. The init and this sampler are ours, a
/// process that a daemon started is a daemon, and any other was started by a middleware.
fn add_neighbours(processes: &mut Vec<Process>) {
    let known: HashSet<i32> =
        processes.iter().filter(|p| p.cpu_ns().is_some()).map(|p| p.pid).collect();
    let (own_pid, init_pid) = (std::process::id() as i32, init_pid());
    for neighbour in neighbours().into_iter().filter(|n| !known.contains(&n.pid)) {
        let (role, command) = match neighbour.pid {
            pid if pid == init_pid => (HARNESS, "init".into()),
            pid if pid == own_pid => (HARNESS, TOOL.into()),
            _ if of_a_daemon(processes, &neighbour) => (DAEMON, command(&neighbour)),
            _ => (OTHER, command(&neighbour)),
        };
        let name = unused(&command, |candidate| processes.iter().any(|p| p.name == candidate));
        // A process that ended meanwhile is no loss: it did not exist at the edge either.
        processes.extend(Process::open(&name, role, &neighbour));
    }
}

/// Whether a watched daemon started it, as for workers that only start a daemon's program.
fn of_a_daemon(processes: &[Process], neighbour: &Neighbour) -> bool {
    processes.iter().any(|p| p.role == DAEMON && parent(neighbour) == Some(p.pid))
}

fn command(neighbour: &Neighbour) -> String {
    let bytes = fs::read(neighbour.directory.join("comm")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_string()
}

/// The name, or the first of `name#2`, `name#3` … that is not `taken`.
pub fn unused(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}#{number}"));
    std::iter::once(name.to_string())
        .chain(numbered)
        .find(|candidate| !taken(candidate))
        .expect("numbers do not end")
}

fn add_owners(owners: &mut Owners, processes: &[Process], no_data: &mut BTreeMap<String, String>) {
    for process in processes {
        if !owners::add(owners, &process.name, &process.directory) && process.cpu_ns().is_some() {
            no_data.insert(
                format!("sockets.{}", process.name),
                "its descriptors may not be seen: it belongs to another user".into(),
            );
        }
    }
}

fn read_tasks(processes: &[Process]) -> BTreeMap<String, Tasks> {
    processes
        .iter()
        .map(|p| (p.name.clone(), threads::read(&p.directory)))
        .filter(|(_, tasks)| !tasks.is_empty())
        .collect()
}

fn named<'a>(
    processes: &'a [Process],
    tasks: &'a BTreeMap<String, Tasks>,
) -> Vec<(&'a str, &'a Path, &'a Tasks)> {
    processes
        .iter()
        .filter_map(|p| Some((p.name.as_str(), p.directory.as_path(), tasks.get(&p.name)?)))
        .collect()
}

fn read_edge(processes: &mut [Process], files: &mut Files) -> Edge {
    let mut edge = Edge { time_ns: now_ns(), ..Edge::default() };
    // Clocks come first, so that their times are close to each other.
    let clocks: Vec<Option<i64>> = processes.iter().map(Process::cpu_ns).collect();
    edge.own_cpu_ns = process_cpu_ns();
    edge.files = files
        .iter_mut()
        .filter_map(|(&name, file)| Some((name, file.read().ok()?.to_string())))
        .collect();
    for (process, clock) in processes.iter_mut().zip(clocks) {
        if let (Some(cpu_ns), Some(stat)) = (clock, process.stat()) {
            edge.processes.insert(process.name.clone(), (cpu_ns, stat));
        }
    }
    edge.took_ns = now_ns() - edge.time_ns;
    edge
}

fn read_process(process: &mut Process, into: &mut BTreeMap<String, (i64, Stat)>) {
    if let (Some(cpu_ns), Some(stat)) = (process.cpu_ns(), process.stat()) {
        into.insert(process.name.clone(), (cpu_ns, stat));
    }
}

/// Resident memory is read with every n-th sample: it changes slowly and costs as much as all other
/// values of a process.
const MEMORY_EVERY: usize = 5;

/// A sample with processes by their place; names are added later.
struct Taken {
    sample: Sample,
    processes: Vec<Option<SeriesProcess>>,
}

/// Takes a sample every interval, the first one at the window's begin; None if no series is
/// requested.
fn read_series(
    plan: &Start,
    processes: &mut [Process],
    files: &mut Files,
    sensors: &mut Sensors,
    readings: &mut Vec<Readings>,
) -> Option<Vec<Sample>> {
    if plan.interval_ns == 0 {
        return None;
    }
    let mut taken: Vec<Taken> = Vec::with_capacity(
        ((plan.end_ns - plan.steady_ns) / plan.interval_ns).clamp(0, 1 << 16) as usize + 1,
    );
    let mut due_ns = plan.steady_ns;
    while due_ns < plan.end_ns {
        sleep_until(due_ns);
        taken.push(take_sample(processes, files, plan, taken.len().is_multiple_of(MEMORY_EVERY)));
        if due_ns > plan.steady_ns && !sensors.is_empty() {
            readings.push(sensors.read(now_ns()));
        }
        // A missed sample stays missed: a burst of late ones would give no information and cost
        // much.
        due_ns += plan.interval_ns * (1 + (now_ns() - due_ns).max(0) / plan.interval_ns);
    }
    let named = |Taken { mut sample, processes: values }: Taken| {
        let names = processes.iter().map(|process| process.name.clone());
        sample.processes =
            names.zip(values).filter_map(|(name, value)| Some((name, value?))).collect();
        sample
    };
    Some(taken.into_iter().map(named).collect())
}

fn take_sample(
    processes: &mut [Process],
    files: &mut Files,
    plan: &Start,
    with_memory: bool,
) -> Taken {
    let mut sample = Sample { time_ns: now_ns(), ..Sample::default() };
    let of_process = |process: &mut Process| {
        let cpu_ns = process.cpu_ns()?;
        let rss_bytes = if with_memory { process.rss_bytes() } else { None };
        let pss = if with_memory && plan.memory { process.pss_bytes() } else { None };
        let run_delay_ns = if plan.threads {
            threads::sums(&threads::read(&process.directory)).run_delay_ns
        } else {
            None
        };
        Some(SeriesProcess {
            cpu_ns,
            rss_bytes,
            pss_bytes: pss.map(|p| p.0),
            file_pss_bytes: pss.and_then(|p| p.1),
            run_delay_ns,
        })
    };
    let values = processes.iter_mut().map(of_process).collect();
    sample.machine = files.get_mut("stat").and_then(|file| parse_stat(file.read().ok()?));
    let interfaces =
        files.get_mut("dev").and_then(|file| Some(parse_interfaces(file.read().ok()?)));
    for (name, i) in interfaces.unwrap_or_default() {
        let kept = SeriesInterface {
            rx_bytes: i.rx_bytes,
            tx_bytes: i.tx_bytes,
            rx_packets: i.rx_packets,
            tx_packets: i.tx_packets,
        };
        sample.interfaces.insert(name, kept);
    }
    if let Some((udp, ip, tcp)) =
        files.get_mut("snmp").and_then(|file| parse_losses(file.read().ok()?))
    {
        (sample.udp, sample.ip, sample.tcp) = (Some(udp), Some(ip), Some(tcp));
    }
    Taken { sample, processes: values }
}

fn used_by_thread(
    before: &BTreeMap<String, Tasks>,
    after: &BTreeMap<String, Tasks>,
    no_data: &mut BTreeMap<String, String>,
) -> BTreeMap<String, Vec<Thread>> {
    let none = Tasks::new();
    let mut totals = BTreeMap::new();
    for (name, later) in after {
        let used = threads::used(before.get(name).unwrap_or(&none), later);
        if used.is_empty() {
            no_data.insert(
                format!("threads.{name}"),
                "this kernel does not account per thread (CONFIG_SCHED_INFO)".into(),
            );
        } else {
            totals.insert(name.clone(), used);
        }
    }
    totals
}

fn snapshot(
    at: &str,
    edge: Edge,
    processes: &[Process],
    sums: &BTreeMap<&String, Sums>,
    sockets: Vec<crate::document::Socket>,
    no_data: &mut BTreeMap<String, String>,
) -> Snapshot {
    let text = |name: &str| edge.files.get(name).map_or("", String::as_str);
    let network = parse_snmp(text("snmp"), text("snmp6"));
    let machine: Option<Machine> = parse_stat(text("stat"));
    let softnet = parse_softnet(text("softnet")).filter(|_| edge.files.contains_key("softnet"));
    for (name, missing) in
        [("machine", machine.is_none()), ("udp", network.is_none()), ("softnet", softnet.is_none())]
    {
        if missing {
            no_data.entry(name.into()).or_insert_with(|| {
                "the kernel's file is missing or says something else than expected".into()
            });
        }
    }
    let (udp, ip, tcp) =
        network.map_or((None, None, None), |(udp, ip, tcp)| (Some(udp), Some(ip), Some(tcp)));
    let tcp = tcp.map(|mut tcp| {
        add_netstat(&mut tcp, text("netstat"));
        tcp
    });
    let of_processes = processes.iter().filter_map(|process| {
        let (cpu_ns, stat) = edge.processes.get(&process.name)?;
        let sums = sums.get(&process.name);
        let kept = crate::document::Process {
            role: process.role.clone(),
            pid: process.pid,
            cpu_ns: *cpu_ns,
            voluntary_switches: sums.map(|s| s.voluntary_switches),
            involuntary_switches: sums.map(|s| s.involuntary_switches),
            minor_faults: Some(stat.minor_faults),
            major_faults: Some(stat.major_faults),
            run_delay_ns: sums.and_then(|s| s.run_delay_ns),
            rss_bytes: Some(stat.rss_bytes),
            threads: Some(stat.threads),
        };
        Some((process.name.clone(), kept))
    });
    Snapshot {
        at: at.into(),
        time_ns: edge.time_ns,
        took_ns: edge.took_ns,
        machine,
        processes: of_processes.collect(),
        interfaces: parse_interfaces(text("dev")),
        udp,
        ip,
        tcp,
        softnet,
        sockets,
    }
}
