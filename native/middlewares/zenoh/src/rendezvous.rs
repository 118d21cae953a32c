//! Fixed endpoints without a fixed order: who starts a trial's processes knows neither their
//! sockets nor which is first.
//!
//! Each session takes the next number in a directory that the trial's processes share (the host's
//! own /tmp), listens on an endpoint of its own and connects to all that have lower numbers. Of any
//! two sessions exactly one connects, so the mesh is full, whatever the order, and a session that
//! leaves takes nothing of the others' connections with it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rmwbench_harness::shared_host;

/// What a session listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Tcp,
    Udp,
    Unix,
    Tls,
}

impl Link {
    /// The word of a profile that stands for an endpoint of this kind.
    const WORDS: [(&'static str, Link); 4] =
        [("{tcp}", Link::Tcp), ("{udp}", Link::Udp), ("{unix}", Link::Unix), ("{tls}", Link::Tls)];

    /// As Zenoh's endpoints begin.
    pub fn scheme(self) -> &'static str {
        match self {
            Link::Tcp => "tcp",
            Link::Udp => "udp",
            Link::Unix => "unixsock-stream",
            Link::Tls => "tls",
        }
    }

    /// The kind of endpoint that a profile's text asks for by a word.
    pub fn in_text(text: &str) -> Option<Link> {
        Link::WORDS.into_iter().find(|(word, _)| text.contains(word)).map(|(_, link)| link)
    }

    /// Where the router of a host listens. There is one router to a host, so this needs no trial in
    /// its name.
    pub fn router(self) -> String {
        match self {
            Link::Unix => format!(
                "unixsock-stream/{}",
                std::env::temp_dir().join("rmwbench-zenoh-router.sock").display()
            ),
            ip => format!(
                "{}/{}:{}",
                ip.scheme(),
                named("RMWBENCH_DAEMON_ADDRESS").unwrap_or(LOOPBACK.into()),
                port()
            ),
        }
    }
}

pub struct Rendezvous {
    directory: PathBuf,
    number: u32,
    /// The endpoint that others connect to.
    pub own: Option<String>,
    /// Those of the sessions that came before.
    pub peers: Vec<String>,
}

impl Rendezvous {
    /// Whether a profile's text has words that only this can fill in.
    pub fn is_asked_for(text: &str) -> bool {
        Link::in_text(text).is_some() || text.contains("{peers}")
    }

    /// Registers this process; without a link it listens nowhere that the others should know of.
    pub fn join(link: Option<Link>, trial_nonce: u64, domain_id: u32) -> io::Result<Rendezvous> {
        let directory =
            std::env::temp_dir().join(format!("rmwbench-zenoh-{trial_nonce:x}-{domain_id}"));
        fs::create_dir_all(&directory)?;
        let number = take_number(&directory)?;
        let own = link.map(|link| match link {
            Link::Unix => {
                format!("unixsock-stream/{}", directory.join(format!("{number}.sock")).display())
            }
            ip if named("RMWBENCH_ADDRESS").is_some() => {
                format!("{}/{}:{}", ip.scheme(), own_address(), PORT + number as u16)
            }
            ip => {
                // Every address of 127.0.0.0/8 is this machine: one per session needs no search for
                // a free port.
                let [a, b, c] = host(&directory, number);
                format!("{}/127.{a}.{b}.{c}:{}", ip.scheme(), port())
            }
        });
        // Written aside and moved: nobody reads half an entry.
        let aside = directory.join(format!("{number}.new"));
        fs::write(&aside, format!("{} {}", std::process::id(), own.as_deref().unwrap_or(NOWHERE)))?;
        fs::rename(&aside, directory.join(format!("{number}.peer")))?;
        let mut peers = earlier(&directory, number)?;
        peers.extend(link.into_iter().flat_map(elsewhere));
        Ok(Rendezvous { directory, number, own, peers })
    }

    /// The profile's text with its words filled in.
    pub fn fill(&self, text: &str) -> String {
        let peers = self.peers.iter().map(|p| format!("\"{p}\"")).collect::<Vec<_>>().join(", ");
        let own = self.own.as_deref().unwrap_or("tcp/127.0.0.1:0"); // only a router has none, which listens elsewhere
        Link::WORDS
            .into_iter()
            .fold(text.replace("\"{peers}\"", &peers), |text, (word, _)| text.replace(word, own))
    }

    /// Shared by the trial's processes, removed by the last of them.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

const PORT: u16 = 7447;
const LOOPBACK: &str = "127.0.0.1";

/// [`PORT`], which a robot's own router or peers may have on a shared host: there, the host's.
pub fn port() -> u16 {
    shared_host::port(PORT, 0)
}

fn named(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|text| !text.is_empty())
}

/// This host's address, where a trial has several; else the loopback's.
pub fn own_address() -> String {
    named("RMWBENCH_ADDRESS").unwrap_or(LOOPBACK.into())
}

/// Sessions on hosts with higher addresses: the orchestrator names each host once per process
/// there, and those count up from [`PORT`]. Of two sessions on two hosts exactly one connects here
/// too.
fn elsewhere(link: Link) -> Vec<String> {
    let (own, all) = (own_address(), named("RMWBENCH_PEERS").unwrap_or_default());
    let order = |address: &str| address.parse::<std::net::Ipv4Addr>().ok();
    let mut found: Vec<String> = Vec::new();
    let mut before: Vec<&str> = Vec::new();
    for address in all.split_whitespace() {
        let number = before.iter().filter(|other| **other == address).count() as u16;
        before.push(address);
        if link != Link::Unix && order(address) > order(&own) {
            found.push(format!("{}/{address}:{}", link.scheme(), PORT + number));
        }
    }
    found
}

/// In place of an endpoint.
const NOWHERE: &str = "-";

impl Drop for Rendezvous {
    fn drop(&mut self) {
        let is_dead = |number: &u32| {
            let taken = fs::read_to_string(self.directory.join(format!("{number}.taken")));
            taken.is_ok_and(|pid| !pid.is_empty() && !is_alive(&pid))
        };
        let others = numbers(&self.directory, "taken").unwrap_or_default();
        for number in others.into_iter().filter(is_dead).chain([self.number]) {
            for extension in ["peer", "sock", "sock.lock", "taken"] {
                let _ = fs::remove_file(self.directory.join(format!("{number}.{extension}")));
            }
        }
        if numbers(&self.directory, "taken").is_ok_and(|others| others.is_empty()) {
            let _ = fs::remove_dir_all(&self.directory); // the last one; certificates are in it
        }
    }
}

/// The lowest number above all that were ever taken here; creating the file is what takes it.
fn take_number(directory: &Path) -> io::Result<u32> {
    let mut number = numbers(directory, "taken")?.into_iter().max().map_or(0, |n| n + 1);
    loop {
        match fs::File::create_new(directory.join(format!("{number}.taken"))) {
            Ok(mut file) => {
                write!(file, "{}", std::process::id())?;
                return Ok(number);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(e) => return Err(e),
        }
    }
}

/// Endpoints of the sessions with lower numbers. One that has taken its number and is still writing
/// its entry is waited for, since it will not look for us; one whose process is dead is left out.
fn earlier(directory: &Path, number: u32) -> io::Result<Vec<String>> {
    let mut endpoints = Vec::new();
    for other in numbers(directory, "taken")?.into_iter().filter(|n| *n < number) {
        for _ in 0..1000 {
            let taken = fs::read_to_string(directory.join(format!("{other}.taken")));
            if taken.is_err() {
                break; // it has left
            }
            if let Ok(entry) = fs::read_to_string(directory.join(format!("{other}.peer"))) {
                if let Some((pid, endpoint)) = entry.split_once(' ') {
                    if endpoint != NOWHERE && is_alive(pid) {
                        endpoints.push(endpoint.to_string());
                    }
                }
                break;
            }
            if taken.is_ok_and(|pid| !pid.is_empty() && !is_alive(&pid)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    Ok(endpoints)
}

fn numbers(directory: &Path, extension: &str) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == extension) {
            numbers.extend(
                path.file_stem().and_then(|s| s.to_str()).and_then(|s| s.parse::<u32>().ok()),
            );
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

/// The last three bytes of an address in 127.0.0.0/8 for session `number` of the trial in
/// `directory`: trials that share a host should not meet, hence the directory's hash.
fn host(directory: &Path, number: u32) -> [u8; 3] {
    let hash = directory
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xCBF2_9CE4_u32, |h, b| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193));
    let host = hash.wrapping_add(number) % 0x00FE_FFFE + 0x0001_0000; // 127.1.0.0 to 127.255.255.253
    [(host >> 16) as u8, (host >> 8) as u8, host as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_connects_to_all_earlier_ones_and_to_no_other() {
        let text = r#"{listen: {endpoints: ["{unix}"]}, connect: {endpoints: ["{peers}"]}}"#;
        let nonce = u64::from(std::process::id()) << 32 | 1;
        let join = |domain_id| {
            let joined = Rendezvous::join(Link::in_text(text), nonce, domain_id).unwrap();
            (joined.fill(text), joined)
        };
        let (first, one) = join(1);
        let (second, two) = join(1);
        let (other, _elsewhere) = join(2);
        let silent = Rendezvous::join(None, nonce, 1).unwrap();
        assert!(first.contains("0.sock") && first.contains("connect: {endpoints: []}"), "{first}");
        assert!(second.contains("1.sock") && second.contains("0.sock"), "{second}");
        assert!(other.contains("connect: {endpoints: []}"), "{other}");
        assert_eq!((silent.own.clone(), silent.peers.len()), (None, 2));
        drop(one);
        let (third, three) = join(1);
        assert!(
            third.contains("3.sock") && third.contains("1.sock") && !third.contains("0.sock"),
            "{third}"
        );
        assert_eq!(three.peers.len(), 1);
        let directory = three.directory().to_path_buf();
        fs::create_dir(directory.join("tls")).unwrap();
        drop((two, silent));
        assert!(directory.exists());
        drop(three);
        assert!(!directory.exists());
    }

    #[test]
    fn many_at_once_make_a_full_mesh() {
        let nonce = u64::from(std::process::id()) << 32 | 2;
        let joined: Vec<Rendezvous> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| Rendezvous::join(Some(Link::Tcp), nonce, 1).unwrap()))
                .collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(joined.iter().map(|r| r.peers.len()).sum::<usize>(), 16 * 15 / 2);
        let mut own: Vec<&str> = joined.iter().filter_map(|r| r.own.as_deref()).collect();
        own.sort_unstable();
        own.dedup();
        assert_eq!(own.len(), 16);
    }
}
