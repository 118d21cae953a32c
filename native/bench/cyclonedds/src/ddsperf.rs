//! Our worker against ddsperf, Cyclone's own benchmark: both have the same Cyclone, size, rate,
//! QoS, configuration and wait, and a process each for writer and reader; they take turns.
//!
//! Read the ratio with the work of each per message in mind. ddsperf stamps once before the write
//! (for small rates) and once after the take; its latency runs between these, ours from the publish
//! call to the take, the same stretch. ddsperf serialises a typed sequence (a copy more on the
//! writer's side) and deserialises it (a copy and an allocation more on the reader's), and neither
//! writes nor reads the payload; ours carries CDR as it is. So the load to compare with is `touch:
//! header`; the load with `touch: all` adds the cost of writing and reading every byte, which the
//! instrument requires of every middleware alike.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rmwbench_bench::{print, ratio, Limit, Line};
use rmwbench_cyclonedds::VERSION;
use rmwbench_harness::middleware::Profile;

use crate::{network, worker};

/// The time over which CPU and latency are measured, after half a second of warm-up.
pub const STEADY: Duration = Duration::from_millis(1200);
/// The fewest rounds for an interval.
const ROUNDS: usize = 8;

pub struct Load {
    pub payload_bytes: u32,
    pub rate_hz: i64,
    pub touch: &'static str,
}

const LOADS: [Load; 4] = [
    Load { payload_bytes: 320, rate_hz: 1000, touch: "header" },
    Load { payload_bytes: 320, rate_hz: 1000, touch: "all" },
    Load { payload_bytes: 524_288, rate_hz: 100, touch: "header" },
    Load { payload_bytes: 524_288, rate_hz: 100, touch: "all" },
];

pub struct Outcome {
    pub latency_p50_ns: f64,
    /// The processes of writer and reader together.
    pub cpu_per_message_ns: f64,
}

type Value = fn(&Outcome) -> f64;

const METRICS: [(&str, Value); 2] =
    [("cpu_per_message", |o| o.cpu_per_message_ns), ("latency_p50", |o| o.latency_p50_ns)];

fn values(outcomes: &[Outcome], value: Value) -> Vec<f64> {
    outcomes.iter().map(value).collect()
}

pub fn run(times: usize) -> Result<(), String> {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let directory = here.parent().ok_or("no directory of our own")?;
    let ours = directory.join("rmwbench-cyclonedds");
    if !ours.exists() {
        return Err(format!(
            "{} is missing: build it with cargo build --release -p rmwbench-cyclonedds",
            ours.display()
        ));
    }
    let theirs = build(directory)?;
    let profile = network::profile(None);
    for load in &LOADS {
        let name = &format!("our worker, touch {} / ddsperf", load.touch);
        // Within 5 % is not worse; ddsperf does not touch the payload, so nothing is promised where
        // we do.
        let limit = if load.touch == "header" { Limit::AtMost(1.05) } else { Limit::None };
        let lines = METRICS.map(|(metric, value)| {
            let (bench, message_bytes, unit) = ("ddsperf", load.payload_bytes, "ns");
            (Line { bench, name, message_bytes, metric, unit, limit }, value)
        });
        let mut outcomes = [Vec::new(), Vec::new()];
        ratio::until_decided(ROUNDS * times, |rounds| {
            for round in rounds {
                for which in [round % 2, 1 - round % 2] {
                    outcomes[which].push(if which == 0 {
                        worker::run(&ours, &profile, load)?
                    } else {
                        trial(&theirs, &profile, load)?
                    });
                }
            }
            Ok(lines.iter().all(|(line, value)| {
                let [ours, theirs] = outcomes.each_ref().map(|all| values(all, *value));
                line.is_decided_by(&ours, &theirs)
            }))
        })?;
        for (line, value) in &lines {
            let [ours, theirs] = outcomes.each_ref().map(|all| values(all, *value));
            print(&line.of_pairs(&ours, &theirs));
        }
    }
    Ok(())
}

/// Builds ddsperf once from the Cyclone source in cyclors' crate, with cyclors' own build type;
/// about a minute.
fn build(beside: &Path) -> Result<PathBuf, String> {
    let directory = beside.join(format!("ddsperf-{VERSION}"));
    let binary = directory.join("bin/ddsperf");
    if binary.exists() {
        return Ok(binary);
    }
    eprintln!("building ddsperf from the Cyclone source of crate cyclors (once, about a minute)");
    let source = source(beside)?;
    std::fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let off = [
        "ENABLE_SSL",
        "ENABLE_SECURITY",
        "ENABLE_ICEORYX",
        "ENABLE_ICEORYX2",
        "BUILD_TESTING",
        "BUILD_EXAMPLES",
    ];
    let mut configure = Command::new("cmake");
    configure.arg(&source).args([
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        "-DBUILD_SHARED_LIBS=ON",
        "-DBUILD_DDSPERF=ON",
    ]);
    configure.args(off.map(|name| format!("-D{name}=NO"))).current_dir(&directory);
    let mut make = Command::new("cmake");
    make.args(["--build", ".", "--target", "ddsperf", "--parallel", "2"]).current_dir(&directory);
    for command in [&mut configure, &mut make] {
        let output = command
            .output()
            .map_err(|e| format!("cmake: {e}: install cmake and a C and C++ compiler"))?;
        if !output.status.success() {
            return Err(format!(
                "building ddsperf failed:\n{}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
    }
    Ok(binary)
}

/// The Cyclone source that cyclors was built from, as its own CMake cache names it.
fn source(directory: &Path) -> Result<PathBuf, String> {
    let builds = std::fs::read_dir(directory.join("build"))
        .map_err(|e| format!("{}: {e}", directory.display()))?;
    builds
        .flatten()
        .filter(|build| build.file_name().to_string_lossy().starts_with("cyclors-"))
        .filter_map(|build| {
            std::fs::read_to_string(build.path().join("out/cyclonedds-build/build/CMakeCache.txt"))
                .ok()
        })
        .find_map(|cache| {
            let source = PathBuf::from(
                cache
                    .lines()
                    .find_map(|line| line.strip_prefix("CMAKE_HOME_DIRECTORY:INTERNAL="))?,
            );
            source.exists().then_some(source)
        })
        .ok_or_else(|| {
            format!("no build of crate cyclors below {}", directory.join("build").display())
        })
}

/// A process that dies with us.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn trial(ddsperf: &Path, profile: &Profile, load: &Load) -> Result<Outcome, String> {
    let seconds = STEADY.as_secs() + 3;
    let start = |arguments: &str, output: Stdio| {
        let mut command = Command::new(ddsperf);
        command.env("CYCLONEDDS_URI", &profile.text).stdin(Stdio::null()).stdout(output);
        command.args(["-k", "10", "-D", &seconds.to_string()]).args(arguments.split_whitespace());
        command.spawn().map_err(|e| format!("ddsperf: {e}"))
    };
    let mut reader = Running(start("-1 -l sub waitset", Stdio::piped())?);
    // ddsperf counts the sequence number, the key and the length as part of the size, as our header
    // is part of the payload.
    let writer = Running(start(
        &format!("pub {}Hz size {}", load.rate_hz, load.payload_bytes),
        Stdio::null(),
    )?);
    std::thread::sleep(Duration::from_millis(800));
    let watch = Watch::begin(&[reader.0.id(), writer.0.id()])?;
    std::thread::sleep(STEADY);
    let cpu_ns = watch.cpu_ns()?;
    drop(writer);
    // Ended by a signal, ddsperf still prints its last line.
    // SAFETY: the child is ours and not yet waited for.
    unsafe { libc::kill(reader.0.id() as i32, libc::SIGTERM) };
    let mut text = String::new();
    std::io::Read::read_to_string(reader.0.stdout.as_mut().expect("piped"), &mut text)
        .map_err(|e| format!("ddsperf: {e}"))?;
    let medians: Vec<f64> = text.lines().filter_map(second_median_ns).collect();
    if medians.is_empty() {
        return Err(format!("ddsperf printed no latency:\n{text}"));
    }
    // There is one line per second: the first includes discovery.
    let steady = if medians.len() > 1 { &medians[1..] } else { &medians };
    Ok(Outcome {
        latency_p50_ns: ratio::median(steady),
        cpu_per_message_ns: cpu_ns / (load.rate_hz as f64 * STEADY.as_secs_f64()),
    })
}

/// The median in a `sublat` line, `… 50% 58.678us 90% …`.
fn second_median_ns(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once(" sublat ")?.1.split_once(" 50% ")?;
    Some(rest.split("us").next()?.parse::<f64>().ok()? * 1000.0)
}

/// The CPU time of processes between two moments, from the scheduler's own nanosecond account of
/// each thread.
pub struct Watch {
    processes: Vec<u32>,
    begin_ns: f64,
}

impl Watch {
    pub fn begin(processes: &[u32]) -> Result<Self, String> {
        let mut watch = Watch { processes: processes.to_vec(), begin_ns: 0.0 };
        watch.begin_ns = watch.total_ns()?;
        Ok(watch)
    }

    /// The CPU time since `begin`.
    pub fn cpu_ns(&self) -> Result<f64, String> {
        Ok(self.total_ns()? - self.begin_ns)
    }

    fn total_ns(&self) -> Result<f64, String> {
        let mut total_ns = 0.0;
        for process in &self.processes {
            let tasks = std::fs::read_dir(format!("/proc/{process}/task"))
                .map_err(|e| format!("process {process}: {e}"))?;
            for task in tasks.flatten() {
                let text =
                    std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                total_ns += text
                    .split_whitespace()
                    .next()
                    .and_then(|ns| ns.parse::<f64>().ok())
                    .unwrap_or(0.0);
            }
        }
        Ok(total_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_read_from_ddsperfs_line() {
        let line =
            "[9] 2.001  sublat vm:19 size 320 mean 64.069us min 35.364us 50% 59.238us 90% 85.999us 99% 136.793us max 160.168us cnt 1002";
        assert_eq!(second_median_ns(line), Some(59_238.0));
        assert_eq!(second_median_ns("[9] 2.001  rss:3.3MB vcsw:2375"), None);
    }
}
