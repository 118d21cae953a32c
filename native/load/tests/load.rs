//! The program as the orchestrator sees it: a socket, lines, and the load as the machine reports
//! it.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{json, Value};

struct Load {
    child: Child,
    socket: BufReader<UnixStream>,
    id: u64,
}

impl Load {
    fn new() -> Load {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let fd = theirs.as_raw_fd();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rmwbench-load"));
        command.args(["--control-fd", "200"]).stdin(Stdio::null());
        // SAFETY: dup2 is safe between fork and exec, and clears close-on-exec; our end keeps that
        // flag.
        unsafe {
            command.pre_exec(move || {
                if libc::dup2(fd, 200) == 200 {
                    Ok(())
                } else {
                    Err(std::io::Error::last_os_error())
                }
            })
        };
        let child = command.spawn().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut load = Load { child, socket: BufReader::new(ours), id: 0 };
        let hello = load.read();
        assert_eq!(
            (&hello["hello"]["tool"], &hello["hello"]["protocol"]),
            (&json!("load"), &json!(1)),
            "{hello}"
        );
        load
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.socket.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, mut command: Value) -> Value {
        self.id += 1;
        command["id"] = json!(self.id);
        writeln!(self.socket.get_mut(), "{command}").unwrap();
        let reply = self.read();
        assert_eq!(reply["id"], json!(self.id));
        reply
    }

    /// Starts a kind, lets it run, and returns the requested load and the differences between the
    /// first and the last snapshot.
    fn run(&mut self, kind: &str, for_ms: u64) -> (Value, impl Fn(&str) -> f64) {
        let started = self.ask(json!({"cmd": "start", "kind": kind}));
        assert!(started["ok"].is_object(), "{started}");
        std::thread::sleep(Duration::from_millis(for_ms));
        let reply = self.ask(json!({"cmd": "collect"}));
        let all = reply["ok"]["snapshots"].as_array().unwrap().clone();
        let difference = move |name: &str| {
            all.last().unwrap()[name].as_f64().unwrap() - all[0][name].as_f64().unwrap()
        };
        (started["ok"]["asked"].clone(), difference)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_describes_itself_and_refuses_what_it_does_not_know() {
    let run = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_rmwbench-load")).args(words).output().unwrap()
    };
    let described: Value = serde_json::from_slice(&run(&["--describe"]).stdout).unwrap();
    assert_eq!(
        described["kinds"],
        json!(["cpu50", "cpu100", "membw", "traffic", "tcp_receive", "tcp_send", "awake"])
    );
    for words in [&["--control-fd", "77"][..], &["--control-fd", "soon"], &["--verbose"], &[]] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage"), "{words:?}");
    }
}

#[test]
fn end_of_file_ends_it_whatever_it_does() {
    for kind in ["cpu100", "traffic", "tcp_receive", "awake"] {
        let mut load = Load::new();
        assert!(load.ask(json!({"cmd": "start", "kind": kind}))["ok"].is_object());
        load.socket.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
        let begun = Instant::now();
        while load.child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(10), "{kind} outlives its orchestrator");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_line_that_is_no_text_ends_it_as_a_failure() {
    let mut load = Load::new();
    load.socket.get_mut().write_all(b"\xff\n").unwrap();
    assert_eq!(load.child.wait().unwrap().code(), Some(2));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let mut load = Load::new();
    assert_eq!(load.ask(json!({"cmd": "frobnicate"}))["error"]["kind"], "unsupported");
    let error = load.ask(json!({"cmd": "start", "kind": "gpu"}));
    assert!(error["error"]["message"].as_str().unwrap().contains("gpu"), "{error}");
    assert_eq!(load.ask(json!({"cmd": "start", "kind": "tcp_send"}))["error"]["kind"], "invalid");
    let with_tcp =
        json!({"cmd": "start", "kind": "cpu50", "tcp": {"to": "127.0.0.1:9", "flows": 1}});
    assert_eq!(load.ask(with_tcp)["error"]["kind"], "invalid");
    let without_flows =
        json!({"cmd": "start", "kind": "tcp_send", "tcp": {"to": "127.0.0.1:9", "flows": 0}});
    assert_eq!(load.ask(without_flows)["error"]["kind"], "invalid");
    assert_eq!(
        load.ask(json!({"cmd": "window", "steady_ns": "soon", "end_ns": 1}))["error"]["kind"],
        "invalid"
    );
    assert!(load.ask(json!({"cmd": "start", "kind": "traffic"}))["ok"].is_object());
    assert_eq!(load.ask(json!({"cmd": "start", "kind": "cpu50"}))["error"]["kind"], "invalid");
    writeln!(load.socket.get_mut(), "no command").unwrap(); // a line without an id gets no answer
    assert!(load.ask(json!({"cmd": "collect"}))["ok"]["snapshots"].is_array());
    assert_eq!(load.ask(json!({"cmd": "exit"}))["ok"], json!({}));
    assert!(load.child.wait().unwrap().success());
}

#[test]
fn a_window_has_a_snapshot_at_each_of_its_edges() {
    let mut load = Load::new();
    assert!(load.ask(json!({"cmd": "start", "kind": "traffic"}))["ok"].is_object());
    let now =
        load.ask(json!({"cmd": "collect"}))["ok"]["snapshots"][0]["time_ns"].as_i64().unwrap();
    let (steady, end) = (now + 100_000_000, now + 300_000_000);
    load.ask(json!({"cmd": "window", "steady_ns": steady, "end_ns": end}));
    std::thread::sleep(Duration::from_millis(500));
    let reply = load.ask(json!({"cmd": "collect"}));
    let all = reply["ok"]["snapshots"].as_array().unwrap();
    let bursts = reply["ok"]["bursts"].as_array().unwrap();
    assert!(
        bursts.len() > 100
            && bursts.windows(2).all(|pair| pair[1][1].as_u64() > pair[0][1].as_u64()),
        "{}",
        bursts.len()
    );
    assert_eq!(
        all.iter().map(|s| s["at"].as_str().unwrap()).collect::<Vec<_>>(),
        ["steady_begin", "steady_end", "end"]
    );
    assert!(
        all[0]["time_ns"].as_i64().unwrap() >= steady && all[1]["time_ns"].as_i64().unwrap() >= end
    );
}

/// Demand is processor time got plus time waited for it: on a busy machine a load gets less, but
/// its demand must be the requested one.
#[test]
fn shares_of_the_processors_are_those_asked_for() {
    for (kind, share) in [("cpu50", 0.5), ("cpu100", 1.0), ("membw", 0.5)] {
        let mut load = Load::new();
        let (asked, got) = load.run(kind, 1000);
        assert_eq!(asked["share"], share);
        let capacity = got("time_ns") * asked["processors"].as_f64().unwrap();
        let demand = (got("cpu_ns") + got("wait_ns")) / capacity;
        assert!(demand > 0.9 * share && got("cpu_ns") / capacity < 1.1 * share, "{kind}: {demand}");
        let copied = got("copied_bytes");
        assert!(if kind == "membw" { copied > 1e8 } else { copied == 0.0 }, "{kind}: {copied}");
    }
}

#[test]
fn traffic_is_sent_at_its_rate_and_arrives() {
    let mut load = Load::new();
    let (asked, got) = load.run("traffic", 1000);
    let due = asked["datagrams_per_s"].as_f64().unwrap() * got("time_ns") / 1e9;
    assert!((got("datagrams_sent") / due - 1.0).abs() < 0.1, "{} of {due}", got("datagrams_sent"));
    assert!(got("datagrams_received") > 0.5 * due);
}

#[test]
fn tcp_flows_carry_what_the_receiver_counts_second_by_second_and_end_with_their_sender() {
    let (mut receiver, mut sender) = (Load::new(), Load::new());
    let port = receiver.ask(json!({"cmd": "start", "kind": "tcp_receive"}))["ok"]["asked"]["port"]
        .as_u64()
        .unwrap();
    let to = format!("127.0.0.1:{port}");
    let pigeon = json!({"to": to, "flows": 1, "congestion_control": "carrier-pigeon"});
    let refused = sender.ask(json!({"cmd": "start", "kind": "tcp_send", "tcp": pigeon}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("carrier-pigeon"), "{refused}");
    // A piece of 100 kB in 100 ms from each of two flows: 2 MB/s.
    let piece = json!({"bytes": 100_000, "every_ns": 100_000_000});
    let flows = json!({"to": to, "flows": 2, "congestion_control": "reno", "piece": piece});
    let started = sender.ask(json!({"cmd": "start", "kind": "tcp_send", "tcp": flows}));
    assert_eq!(started["ok"]["asked"]["congestion_control"], "reno", "{started}");
    let now =
        sender.ask(json!({"cmd": "collect"}))["ok"]["snapshots"][0]["time_ns"].as_i64().unwrap();
    let (steady, end) = (now + 500_000_000, now + 3_000_000_000);
    receiver.ask(json!({"cmd": "window", "steady_ns": steady, "end_ns": end}));
    std::thread::sleep(Duration::from_millis(3200));
    let reply = receiver.ask(json!({"cmd": "collect"}));
    let all = reply["ok"]["snapshots"].as_array().unwrap();
    let at: Vec<&str> = all.iter().map(|s| s["at"].as_str().unwrap()).collect();
    assert_eq!(at, ["begin", "steady_begin", "second", "second", "steady_end", "end"]);
    assert_eq!(all[4]["tcp_flows_open"], 2);
    let bytes = |k: usize| all[k]["tcp_bytes_received"].as_u64().unwrap();
    // The bounds are wide: a busy machine makes a piece late, but does not change the number of
    // pieces.
    let carried = bytes(4) - bytes(1);
    assert!((3_000_000..=7_000_000).contains(&carried), "{carried}");
    sender.socket.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
    sender.child.wait().unwrap();
    let begun = Instant::now();
    while receiver.ask(json!({"cmd": "collect"}))["ok"]["snapshots"][0]["tcp_flows_open"] != 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "flows outlive their sender");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// If the kernel groups sessions, as in many distributions, the policy alone would not make a
/// spinner give way.
#[test]
fn spinners_are_in_a_nice_group_of_their_own_and_end_with_the_orchestrator() {
    let mut load = Load::new();
    let (asked, got) = load.run("awake", 200);
    assert!(got("cpu_ns") > 0.0);
    let pid = asked["pid"].as_i64().unwrap();
    let read = |who: &str| std::fs::read_to_string(format!("/proc/{who}/autogroup"));
    if let (Ok(spinners), Ok(ours)) = (read(&pid.to_string()), read("self")) {
        assert!(spinners.contains("nice 19"), "{spinners}");
        assert_ne!(spinners.split(' ').next(), ours.split(' ').next());
    }
    load.socket.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
    load.child.wait().unwrap();
    let begun = Instant::now();
    let ended = || {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .map_or(true, |stat| stat.contains(") Z "))
    };
    while !ended() {
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "the spinners outlive their orchestrator"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
