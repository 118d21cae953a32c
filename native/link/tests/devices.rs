//! The program itself between two network namespaces with TAP devices: real sockets, real carrier.
//! Counts and orders are asserted; times are asserted only if a busy machine makes them longer,
//! never shorter.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, Sender};
use std::time::{Duration, Instant};

use rmwbench_conformance::skipped;
use rmwbench_harness::clock::{now_ns, sleep_until};
use rmwbench_link::document::Document;
use rmwbench_link::tap::Tap;
use rustix::thread::{unshare_unsafe, UnshareFlags};
use serde_json::{json, Value};

const INSIDE: &str = "RMWBENCH_TEST_INSIDE";
const PROGRAM: &str = env!("CARGO_BIN_EXE_rmwbench-link");
const MS: i64 = 1_000_000;
const FIRST_FD: i32 = 200;

/// Runs `body` in a process of its own in new namespaces, in which it may change the network;
/// prints a message if that is impossible. Returns the output.
fn isolated(test: &str, body: impl FnOnce()) -> String {
    if std::env::var(INSIDE).is_ok_and(|name| name == test) {
        body();
        return String::new();
    }
    let described = Command::new(PROGRAM).arg("--describe").output().unwrap();
    let described: Value = serde_json::from_slice(&described.stdout).unwrap();
    if described["works"]["carrier"] != "yes" {
        skipped(test, &format!("this machine cannot make TAP devices: {}", described["works"]));
        return String::new();
    }
    let output = Command::new("unshare")
        .args(if rustix::process::getuid().is_root() {
            &[][..]
        } else {
            &["--user", "--map-root-user"]
        })
        .args(["--net", "--ipc", "--pid", "--fork", "--kill-child"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads", "1"])
        .env(INSIDE, test)
        .output()
        .expect("util-linux's unshare is needed");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "inside its namespaces {test} failed:\n{out}\n{err}");
    assert!(out.contains("1 passed"), "{test} is not the name of a test:\n{out}\n{err}");
    out.into_owned()
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace of its own with an `eth0`; its sockets belong there wherever
/// they are used.
struct Host {
    jobs: Sender<Job>,
    device: OwnedFd,
}

impl Host {
    fn new(number: u8, others: &[u8]) -> Host {
        let (jobs, inbox) = channel::<Job>();
        let (sender, device) = channel();
        let neighbours: Vec<u8> = others.to_vec();
        std::thread::spawn(move || {
            // SAFETY: a network namespace belongs to the thread alone.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
            sender.send(Tap::make("eth0").unwrap()).unwrap();
            ip(&format!("link set eth0 address 02:4d:00:00:00:{number:02x}"));
            ip(&format!("address add 10.77.0.{number}/24 dev eth0"));
            ip("link set eth0 txqueuelen 10000 up");
            ip("route add 224.0.0.0/4 dev eth0");
            for other in neighbours {
                ip(&format!("neighbour add 10.77.0.{other} lladdr 02:4d:00:00:00:{other:02x} dev eth0 nud permanent"));
            }
            for job in inbox {
                job();
            }
        });
        Host { jobs, device: device.recv().unwrap() }
    }

    fn run<T: Send + 'static>(&self, what: impl FnOnce() -> T + Send + 'static) -> T {
        let (answer, results) = channel();
        self.jobs.send(Box::new(move || drop(answer.send(what())))).unwrap();
        results.recv().expect("the host's thread died")
    }

    fn udp(&self, address: &'static str) -> UdpSocket {
        let socket = self.run(move || UdpSocket::bind(address).unwrap());
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    }

    fn has_carrier(&self) -> bool {
        // /sys shows the namespace of its mount; `ip` asks the kernel.
        let out =
            self.run(|| Command::new("ip").args(["link", "show", "eth0"]).output().unwrap().stdout);
        !String::from_utf8_lossy(&out).contains("NO-CARRIER")
    }
}

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().expect("iproute2 is needed");
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

fn pair() -> [Host; 2] {
    [Host::new(1, &[2]), Host::new(2, &[1])]
}

fn memory_file(bytes: u64) -> File {
    // SAFETY: a new descriptor that nobody else owns.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"test".as_ptr(), 0)) });
    file.set_len(bytes).unwrap();
    file
}

/// A process with a control socket.
struct Tool {
    child: Child,
    control: BufReader<UnixStream>,
    next_id: u64,
}

impl Tool {
    /// `more` become descriptors 201 and up.
    fn spawn(arguments: &[&str], more: &[i32]) -> Tool {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(arguments).stdin(Stdio::null());
        let descriptors: Vec<i32> =
            std::iter::once(theirs.as_raw_fd()).chain(more.iter().copied()).collect();
        assert!(descriptors.iter().all(|fd| *fd < FIRST_FD));
        // SAFETY: dup2 is safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                let copied = descriptors
                    .iter()
                    .enumerate()
                    .all(|(k, fd)| libc::dup2(*fd, FIRST_FD + k as i32) >= 0);
                copied.then_some(()).ok_or_else(std::io::Error::last_os_error)
            });
        }
        let child = command.spawn().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut tool = Tool { child, control: BufReader::new(ours), next_id: 0 };
        assert_eq!(tool.line()["hello"]["protocol"], 1);
        tool
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.control.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn write(&mut self, line: &str) {
        writeln!(self.control.get_mut(), "{line}").unwrap();
    }

    fn ask(&mut self, mut command: Value) -> Value {
        self.next_id += 1;
        command["id"] = json!(self.next_id);
        self.write(&command.to_string());
        let answer = self.line();
        assert_eq!(answer["id"], self.next_id);
        answer
    }

    fn ok(&mut self, command: Value) -> Value {
        let answer = self.ask(command);
        assert!(answer["error"].is_null(), "{answer}");
        answer["ok"].clone()
    }

    /// Waits for its end without killing it.
    fn ended(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Link {
    tool: Tool,
    document: File,
    log: File,
}

#[derive(Debug)]
struct Record {
    in_ns: i64,
    due_ns: i64,
    out_ns: i64,
    frame_bytes: u32,
    ports: (u16, u16),
    verdict: u8,
    class: u8,
}

impl Link {
    fn open(hosts: &[Host; 2], links: Value) -> Link {
        Link::open_with(hosts, links, json!({}))
    }

    fn open_with(hosts: &[Host; 2], links: Value, more: Value) -> Link {
        let (document, log) = (memory_file(0), memory_file(48 * 400_000));
        let fds = [
            document.as_raw_fd(),
            log.as_raw_fd(),
            hosts[0].device.as_raw_fd(),
            hosts[1].device.as_raw_fd(),
        ];
        let arguments = ["--control-fd", "200", "--document-fd", "201", "--log-fd", "202"];
        let mut tool = Tool::spawn(&arguments, &fds);
        let ports = json!([{"name": "a", "fd": 203, "mac": "02:4d:00:00:00:01"}, {"name": "b", "fd": 204, "mac": "02:4d:00:00:00:02"}]);
        let mut open = json!({"cmd": "open", "seed": 7, "ports": ports, "links": links});
        more.as_object().unwrap().iter().for_each(|(key, value)| open[key] = value.clone());
        assert_eq!(tool.ok(open)["ports"], 2);
        Link { tool, document, log }
    }

    fn collect(&mut self) -> (Document, Vec<Record>) {
        let answer = self.tool.ok(json!({"cmd": "collect"}));
        assert_eq!(answer["unlogged"], 0);
        let mut text = vec![0; answer["bytes"].as_u64().unwrap() as usize];
        self.document.read_exact_at(&mut text, 0).unwrap();
        let mut raw = vec![0; 48 * answer["frames"].as_u64().unwrap() as usize];
        self.log.read_exact_at(&mut raw, 0).unwrap();
        let word =
            |record: &[u8], at: usize| i64::from_le_bytes(record[at..at + 8].try_into().unwrap());
        let short =
            |record: &[u8], at: usize| u16::from_le_bytes(record[at..at + 2].try_into().unwrap());
        let record = |record: &[u8]| Record {
            in_ns: word(record, 8),
            due_ns: word(record, 16),
            out_ns: word(record, 24),
            frame_bytes: u32::from_le_bytes(record[32..36].try_into().unwrap()),
            ports: (short(record, 40), short(record, 42)),
            verdict: record[44],
            class: record[45],
        };
        (serde_json::from_slice(&text).unwrap(), raw.chunks_exact(48).map(record).collect())
    }

    fn change(&mut self, what: Value) {
        // This is so far ahead that a busy machine answers in time; the answer to `mark` comes
        // after the due events.
        let at_ns = now_ns() + 100 * MS;
        self.tool.ok(
            json!({"cmd": "schedule", "changes": [{"at_ns": at_ns, "link": "b", "change": what}]}),
        );
        sleep_until(at_ns + 1);
        self.tool.ok(json!({"cmd": "mark"}));
    }
}

#[test]
fn datagrams_meet_loss_and_delay_and_the_log_knows_each() {
    isolated("datagrams_meet_loss_and_delay_and_the_log_knows_each", || {
        let hosts = pair();
        let links =
            json!({"a": {"up": {"loss": {"kind": "bernoulli", "p": 0.2}, "delay_ns": 3 * MS}}});
        let mut link = Link::open(&hosts, links);
        let before = link.tool.ok(json!({"cmd": "mark"}));
        let took_ns = stamped(&hosts, 2000, 50_000);
        let lost = |mark: &Value| mark["links"]["a"]["up"]["lost"].as_u64().unwrap();
        let after = link.tool.ok(json!({"cmd": "mark"}));
        let (document, records) = link.collect();
        let probes: Vec<&Record> =
            records.iter().filter(|record| record.class == 1 && record.ports.0 == 0).collect();
        let delivered: Vec<&&Record> = probes.iter().filter(|record| record.verdict == 0).collect();
        assert_eq!((probes.len(), delivered.len()), (2000, took_ns.len()));
        // 400 ± 4 σ, and the seed gives exactly these.
        assert!((328..=472).contains(&(2000 - delivered.len())), "{}", delivered.len());
        assert!(probes.iter().all(
            |record| matches!(record.verdict, 0 | 1) && record.frame_bytes == 14 + 20 + 8 + 200
        ));
        assert!(
            delivered
                .iter()
                .all(|record| record.due_ns - record.in_ns == 3 * MS
                    && record.out_ns >= record.due_ns)
        );
        assert!(took_ns.iter().all(|ns| *ns >= 3 * MS));
        assert_eq!(lost(&after) - lost(&before), 2000 - delivered.len() as u64);
        assert!(after["index"].as_u64().unwrap() - before["index"].as_u64().unwrap() >= 2000);
        assert_eq!(
            (document.devices["b"].write_errors, document.lateness_ns.count >= 1500),
            (0, true)
        );
        assert!(document.own.cpu_ns > 0 && document.own.rss_bytes > 0);
        // With the same seed the same frames are lost.
        drop(link);
        let mut again =
            Link::open(&hosts, json!({"a": {"up": {"loss": {"kind": "bernoulli", "p": 0.2}}}}));
        stamped(&hosts, 500, 50_000);
        let fates = |records: &[Record]| -> Vec<u8> {
            let mut mine: Vec<&Record> =
                records.iter().filter(|record| record.ports.0 == 0).collect();
            mine.sort_by_key(|record| record.in_ns);
            mine.iter()
                .filter(|record| record.class == 1)
                .map(|record| record.verdict)
                .take(500)
                .collect()
        };
        // Frames that the hosts send by themselves (IPv6, group reports) use no draw.
        assert_eq!(fates(&records)[..500], fates(&again.collect().1)[..]);
    });
}

#[test]
fn tcp_fills_a_thin_link_and_loses_nothing() {
    isolated("tcp_fills_a_thin_link_and_loses_nothing", || {
        let hosts = pair();
        let spec = json!({"rate_bps": 20_000_000, "queue_ns": 50 * MS});
        let mut link = Link::open(&hosts, json!({"a": {"up": spec, "down": {"delay_ns": MS}}}));
        let listener = hosts[1].run(|| TcpListener::bind("10.77.0.2:9100").unwrap());
        let mut stream = hosts[0].run(|| TcpStream::connect("10.77.0.2:9100").unwrap());
        let (mut accepted, _) = listener.accept().unwrap();
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            accepted.read_to_end(&mut all).map(|_| all).unwrap()
        });
        let message: Vec<u8> = (0..1_000_000_u32).map(|k| (k % 251) as u8).collect();
        stream.write_all(&message).unwrap();
        drop(stream);
        assert!(reader.join().unwrap() == message, "it came damaged");
        let (document, records) = link.collect();
        let data: Vec<&Record> = records
            .iter()
            .filter(|record| record.verdict == 0 && record.class == 1 && record.ports == (0, 1))
            .collect();
        let bytes: i64 = data.iter().skip(1).map(|record| i64::from(record.frame_bytes)).sum();
        let mut dues: Vec<i64> = data.iter().map(|record| record.due_ns).collect();
        dues.sort_unstable();
        // Never faster than the rate: 8 bit per 400 ns.
        assert!(dues[dues.len() - 1] - dues[0] >= bytes * 400 * 9 / 10);
        let data = &document.classes["data"];
        assert!(
            data.payload_bytes - data.retransmitted_bytes <= 1_000_000
                && data.payload_bytes >= 1_000_000
        );
        assert!(document.classes["acknowledgement"].frames > 10);
        // Offloads are off: no frame is larger than the MTU allows.
        assert!(document
            .devices
            .values()
            .all(|device| device.largest_frame_bytes <= 1514 && device.write_errors == 0));
    });
}

#[test]
fn a_blackhole_is_silent_and_a_lost_carrier_is_seen() {
    isolated("a_blackhole_is_silent_and_a_lost_carrier_is_seen", || {
        let hosts = pair();
        let mut link = Link::open(&hosts, json!({}));
        let (from, to) = (hosts[0].udp("10.77.0.1:9200"), hosts[1].udp("10.77.0.2:9200"));
        let reaches = |word: &[u8]| {
            to.set_read_timeout(Some(Duration::from_millis(60))).unwrap();
            let mut buffer = [0; 64];
            let _ = from.send_to(word, "10.77.0.2:9200");
            match to.recv(&mut buffer) {
                Ok(count) => buffer[..count] == *word,
                Err(error) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                        "{error}"
                    );
                    false
                }
            }
        };
        // On a busy machine a datagram may take longer than the receiver waits: then it is sent
        // again.
        let comes = |word: &[u8]| (0..50).any(|_| reaches(word));
        assert!(comes(b"before"));
        link.change(json!("blackhole"));
        assert!(!reaches(b"into the hole") && hosts[1].has_carrier());
        link.change(json!("up"));
        assert!(comes(b"back"));
        link.change(json!("carrier_loss"));
        let deadline = Instant::now() + Duration::from_secs(5);
        while hosts[1].has_carrier() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!hosts[1].has_carrier() && !reaches(b"unplugged"));
        link.change(json!("up"));
        assert!(comes(b"plugged in"));
        link.change(json!({"down": {"loss": {"kind": "bernoulli", "p": 1.0}}}));
        assert!(!reaches(b"all lost"));
        link.change(json!({"down": {}}));
        // Administratively down: set in the host, and its device refuses frames.
        hosts[1].run(|| ip("link set eth0 down"));
        assert!(!reaches(b"down"));
        hosts[1].run(|| {
            ip("link set eth0 up");
            // The flush removed it.
            let _ = Command::new("ip")
                .args(
                    "neighbour replace 10.77.0.1 lladdr 02:4d:00:00:00:01 dev eth0 nud permanent"
                        .split(' '),
                )
                .status();
        });
        assert!(comes(b"up"));
        let (document, records) = link.collect();
        let count = |verdict: u8| {
            records.iter().filter(|record| record.verdict == verdict && record.class == 1).count()
        };
        assert!(count(5) == 1 && count(6) == 1 && count(2) == 1 && count(11) == 1, "{records:?}");
        assert_eq!(document.changes.len(), 6);
        assert!(document
            .changes
            .iter()
            .all(|done| done.done_ns >= done.asked_ns && done.error.is_none()));
        assert_eq!(
            (document.devices["b"].write_errors, document.devices["b"].refused_while_down >= 1),
            (0, true)
        );
    });
}

#[test]
fn a_snooping_switch_hears_the_kernels_own_reports() {
    isolated("a_snooping_switch_hears_the_kernels_own_reports", || {
        let hosts = pair();
        let mut link = Link::open_with(&hosts, json!({}), json!({"multicast": "snoop"}));
        let (from, to) = (hosts[0].udp("10.77.0.1:0"), hosts[1].udp("0.0.0.0:9400"));
        let unwanted = |link: &mut Link| {
            link.tool.ok(json!({"cmd": "mark"}))["links"]["b"]["down"]["unwanted"].as_u64().unwrap()
        };
        let (group, here) = ("239.1.2.3".parse().unwrap(), "10.77.0.2".parse().unwrap());
        let send = || assert_eq!(from.send_to(b"to all", "239.1.2.3:9400").unwrap(), 6);
        send();
        let deadline = Instant::now() + Duration::from_secs(10);
        while unwanted(&mut link) == 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(unwanted(&mut link), 1);
        // This is done in the host's thread: a group is joined on an interface of the thread's
        // namespace.
        let joining = to.try_clone().unwrap();
        hosts[1].run(move || joining.join_multicast_v4(&group, &here).unwrap());
        to.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut buffer = [0; 64];
        let got = (0..100).find_map(|_| {
            send();
            to.recv(&mut buffer).ok()
        });
        assert_eq!(got, Some(6));
        let (document, _) = link.collect();
        assert!(document.classes["resolution"].frames > 0 && document.links["a"].up.lost == 0);
    });
}

#[test]
fn manners() {
    isolated("manners", || {
        let hosts = pair();
        let (document, log) = (memory_file(0), memory_file(48 * 10));
        let trace = memory_file(0);
        trace.write_all_at(br#"{"opportunities_ns": [1000, 2000]}"#, 0).unwrap();
        let more = [
            document.as_raw_fd(),
            log.as_raw_fd(),
            hosts[0].device.as_raw_fd(),
            hosts[1].device.as_raw_fd(),
            trace.as_raw_fd(),
        ];
        let mut tool =
            Tool::spawn(&["--control-fd", "200", "--document-fd", "201", "--log-fd", "202"], &more);
        let kind = |answer: Value| {
            answer["error"]["kind"].as_str().map(str::to_string).unwrap_or_default()
        };
        let message =
            |answer: &Value| answer["error"]["message"].as_str().unwrap_or_default().to_string();
        tool.write("no JSON");
        tool.write(r#"{"cmd": "mark"}"#);
        assert_eq!(kind(tool.ask(json!({"cmd": "frobnicate"}))), "unsupported");
        assert_eq!(kind(tool.ask(json!({"cmd": "mark"}))), "invalid");
        assert_eq!(kind(tool.ask(json!({"cmd": "collect"}))), "invalid");
        let port = |name: &str, fd: i32, mac: u8| json!({"name": name, "fd": fd, "mac": format!("02:4d:00:00:00:{mac:02x}")});
        let open = |ports: Value, links: Value| json!({"cmd": "open", "seed": 1, "ports": ports, "links": links});
        let answer = tool.ask(open(json!([port("a", 201, 1)]), json!({})));
        assert!(message(&answer).contains("no TAP device"), "{answer}");
        let answer = tool.ask(open(json!([port("a", 199, 1)]), json!({})));
        assert!(message(&answer).contains("is not open"), "{answer}");
        let answer =
            tool.ask(open(json!([port("a", 203, 1)]), json!({"a": {"up": {"delay_ms": 5}}})));
        assert!(message(&answer).contains("delay_ms") && kind(answer) == "invalid");
        let answer = tool.ask(open(json!([port("a", 203, 1)]), json!({"z": {}})));
        assert!(message(&answer).contains("z is not a port"), "{answer}");
        let answer = tool
            .ask(open(json!([port("a", 203, 1)]), json!({"a": {"up": {"trace": {"fd": 201}}}})));
        assert!(message(&answer).contains("trace") && kind(answer) == "invalid");
        // A refused command changes nothing; a long trace comes in a file.
        let links =
            json!({"a": {"up": {"rate_bps": 1_000_000}}, "b": {"up": {"trace": {"fd": 205}}}});
        let opened = tool.ok(open(json!([port("a", 203, 1), port("b", 204, 2)]), links));
        assert_eq!(
            opened["specs"]["b"]["up"]["trace"],
            json!({"opportunities_ns": [1000, 2000], "bytes": 1504, "repeat": true})
        );
        assert_eq!(opened["specs"]["a"]["up"]["rate_bps"], 1_000_000);
        assert_eq!(kind(tool.ask(open(json!([port("a", 203, 1)]), json!({})))), "invalid");
        for (at_ns, link) in [(now_ns() - 1, "a"), (now_ns() + 1_000_000_000, "z")] {
            let changes = json!([{"at_ns": at_ns, "link": link, "change": "blackhole"}]);
            assert_eq!(kind(tool.ask(json!({"cmd": "schedule", "changes": changes}))), "invalid");
        }
        // More frames than the log has room for are forwarded and counted.
        let (from, to) = (hosts[0].udp("10.77.0.1:9300"), hosts[1].udp("10.77.0.2:9300"));
        for k in 0..40_u8 {
            from.send_to(&[k], "10.77.0.2:9300").unwrap();
            let mut buffer = [0; 4];
            assert_eq!((to.recv(&mut buffer).unwrap(), buffer[0]), (1, k));
        }
        let answer = tool.ok(json!({"cmd": "collect"}));
        assert!(answer["frames"] == 10 && answer["unlogged"].as_u64().unwrap() >= 30, "{answer}");
        assert_eq!(kind(tool.ask(json!({"cmd": "collect"}))), "invalid");
        // End of file: exit now.
        tool.control.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
        assert!(tool.ended());
    });
}

/// Sends `count` datagrams of 200 bytes from the first host to the second, at a pace. Returns the
/// times of those that arrived, in their order; fails if one arrived twice or after a later one.
fn stamped(hosts: &[Host; 2], count: u64, interval_ns: i64) -> Vec<i64> {
    let (from, to) = (hosts[0].udp("10.77.0.1:0"), hosts[1].udp("10.77.0.2:9000"));
    let room: libc::c_int = 4 << 20;
    // SAFETY: the kernel reads one int.
    let set = unsafe {
        libc::setsockopt(
            to.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUF,
            (&raw const room).cast(),
            4,
        )
    };
    assert_eq!(set, 0);
    to.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let (sent, done) = channel();
    let reader = std::thread::spawn(move || {
        let (mut found, mut last, mut buffer, mut over) = (Vec::new(), None, [0; 300], false);
        loop {
            match to.recv(&mut buffer) {
                Ok(size) => {
                    let word =
                        |at: usize| u64::from_le_bytes(buffer[at..at + 8].try_into().unwrap());
                    assert!(
                        size == 200 && last < Some(word(0)),
                        "{size} bytes, number {} behind {last:?}",
                        word(0)
                    );
                    last = Some(word(0));
                    found.push(now_ns() - word(8) as i64);
                }
                // Silence for the whole time after the last one was sent.
                Err(_) if over => return found,
                Err(_) => over = done.try_recv().is_ok(),
            }
        }
    });
    let begin_ns = now_ns();
    for k in 0..count {
        sleep_until(begin_ns + k as i64 * interval_ns);
        let mut bytes = [0; 200];
        bytes[..8].copy_from_slice(&k.to_le_bytes());
        bytes[8..16].copy_from_slice(&now_ns().to_le_bytes());
        assert_eq!(from.send_to(&bytes, "10.77.0.2:9000").unwrap(), 200);
    }
    sent.send(()).unwrap();
    reader.join().unwrap()
}

/// Goodput, lateness and CPU per frame, for docs/formats/link.md: `cargo test --release -p
/// rmwbench-link --test devices -- --ignored --nocapture`.
#[test]
#[ignore = "figures for people: half a minute, and nothing to assert on a busy machine"]
fn figures() {
    let printed = isolated("figures", || {
        let hosts = pair();
        for (mbps, quantum_us) in [(54, 0), (300, 0), (1000, 0), (1000, 50), (1000, 100)] {
            let found: Vec<Goodput> = (0..3).map(|_| goodput(&hosts, mbps, quantum_us)).collect();
            let mut sorted = found.clone();
            sorted.sort_by(|a, b| a.mbps.total_cmp(&b.mbps));
            let ideal = f64::from(mbps) * 1448.0 / 1514.0;
            let Goodput { mbps: median, cpu_us, busy, late } = &sorted[1];
            println!("TCP {mbps} Mbit/s, quantum {quantum_us} us: {median:.1} of {ideal:.1} Mbit/s ({:.1} to {:.1}), {cpu_us:.1} us of CPU per frame, {busy:.0} % of a core, late p50/p99/p999 us {late}", sorted[0].mbps, sorted[2].mbps);
        }
        for (delay_ms, spin_us) in [(1, 0), (10, 0), (10, 50)] {
            let links = json!({"a": {"up": {"delay_ns": delay_ms * MS}}});
            let mut link = Link::open_with(&hosts, links, json!({"spin_ns": spin_us * 1000}));
            let mut took_ns = stamped(&hosts, 3000, MS);
            took_ns.sort_unstable();
            let quantile = |q: f64| Some(took_ns[(q * took_ns.len() as f64) as usize]);
            let document = link.collect().0;
            let cpu_us = document.own.cpu_ns as f64 / 1e3 / document.lateness_ns.count as f64;
            println!(
                "1 kHz over {delay_ms} ms, spin {spin_us} us: one way {} {}, late p50/p99/p999 us {}, {cpu_us:.1} us of CPU per frame",
                us(quantile(0.5)),
                us(quantile(0.99)),
                late(&document)
            );
        }
    });
    printed.lines().filter(|line| line.contains(" us")).for_each(|line| println!("{line}"));
}

#[derive(Clone)]
struct Goodput {
    mbps: f64,
    cpu_us: f64,
    busy: f64,
    late: String,
}

/// TCP for two seconds over a link with that rate, without the first half second.
fn goodput(hosts: &[Host; 2], mbps: u32, quantum_us: i64) -> Goodput {
    let spec = json!({"rate_bps": u64::from(mbps) * 1_000_000});
    let mut link = Link::open_with(
        hosts,
        json!({"a": {"up": spec}}),
        json!({"quantum_ns": quantum_us * 1000}),
    );
    let listener = hosts[1].run(|| TcpListener::bind("10.77.0.2:0").unwrap());
    let to = listener.local_addr().unwrap();
    let mut stream = hosts[0].run(move || TcpStream::connect(to).unwrap());
    // The machine's default may be another, and a namespace may not be allowed every one.
    // SAFETY: the kernel reads five bytes.
    let cubic = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            c"cubic".as_ptr().cast(),
            5,
        )
    };
    assert_eq!(cubic, 0);
    let (mut accepted, _) = listener.accept().unwrap();
    let writer = std::thread::spawn(move || {
        let chunk = vec![7; 1 << 16];
        while stream.write_all(&chunk).is_ok() {}
    });
    let mut buffer = vec![0; 1 << 18];
    let (begin_ns, mut from_ns, mut bytes, mut last_ns) = (now_ns(), None, 0, 0);
    while now_ns() < begin_ns + 2000 * MS {
        let count = accepted.read(&mut buffer).unwrap();
        last_ns = now_ns();
        match from_ns {
            None if last_ns > begin_ns + 500 * MS => from_ns = Some(last_ns),
            None => {}
            Some(_) => bytes += count,
        }
    }
    let document = link.collect().0;
    drop(accepted);
    let _ = writer.join();
    let own = &document.own;
    Goodput {
        mbps: bytes as f64 * 8e3 / (last_ns - from_ns.unwrap()) as f64,
        cpu_us: own.cpu_ns as f64 / 1e3 / document.lateness_ns.count as f64,
        busy: 100.0 * own.cpu_ns as f64 / own.wall_ns as f64,
        late: late(&document),
    }
}

fn late(document: &Document) -> String {
    let found = &document.lateness_ns;
    [found.p50, found.p99, found.p999].map(us).join(" ")
}

fn us(ns: Option<i64>) -> String {
    ns.map_or("-".into(), |ns| format!("{:.1} us", ns as f64 / 1e3))
}
