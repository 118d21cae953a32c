//! Fixed endpoints without a fixed order: the program that starts a trial's processes knows neither
//! their sockets nor which process is first.
//!
//! Each session takes the next number in a directory that the trial's processes share (the host's
//! own /tmp), listens on an endpoint of its own and connects to all that have lower numbers. Of any
//! two sessions exactly one connects, so the mesh is full, whatever the order, and a session that
//! leaves does not affect the connections of the others.
//!
//! Over several hosts the number is the lowest that no living process has: the other hosts know
//! only ports, and expect a session that comes back at its old one. It connects to all sessions
//! that it finds.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rmwbench_harness::shared_host;

/// The kind of endpoint on which a session listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Tcp,
    Udp,
    Unix,
    Tls,
}

impl Link {
    /// The words that stand for an endpoint of each kind in a profile.
    const WORDS: [(&'static str, Link); 4] =
        [("{tcp}", Link::Tcp), ("{udp}", Link::Udp), ("{unix}", Link::Unix), ("{tls}", Link::Tls)];

    /// The prefix of Zenoh's endpoints of this kind.
    pub fn scheme(self) -> &'static str {
        match self {
            Link::Tcp => "tcp",
            Link::Udp => "udp",
            Link::Unix => "unixsock-stream",
            Link::Tls => "tls",
        }
    }

    /// The kind of endpoint that a profile's text requests by a word.
    pub fn in_text(text: &str) -> Option<Link> {
        Link::WORDS.into_iter().find(|(word, _)| text.contains(word)).map(|(_, link)| link)
    }

    /// The address at which the router of a host listens. There is one router per host, so the name
    /// of the trial is not part of it.
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
    /// The trial's processes on this host share it, and the last one removes it.
    directory: PathBuf,
    number: u32,
    /// The endpoint to which others connect.
    pub own: Option<String>,
    /// The endpoints of the earlier sessions.
    pub peers: Vec<String>,
}

impl Rendezvous {
    /// Whether a profile's text has words that only this module can fill in.
    pub fn is_asked_for(text: &str) -> bool {
        Link::in_text(text).is_some() || text.contains("{peers}")
    }

    /// Registers this process; without a link it has no endpoint that others should know.
    pub fn join(link: Option<Link>, trial_nonce: u64, domain_id: u32) -> io::Result<Rendezvous> {
        Self::join_from(named("RMWBENCH_ADDRESS"), link, trial_nonce, domain_id)
    }

    /// `address`: this host's, if there are several hosts.
    fn join_from(
        address: Option<String>,
        link: Option<Link>,
        trial_nonce: u64,
        domain_id: u32,
    ) -> io::Result<Rendezvous> {
        let directory =
            std::env::temp_dir().join(format!("rmwbench-zenoh-{trial_nonce:x}-{domain_id}"));
        fs::create_dir_all(&directory)?;
        let address = address.filter(|_| link != Some(Link::Unix));
        let (number, before) = match address {
            Some(_) => take_place(&directory)?,
            None => (take_number(&directory)?, BTreeSet::new()),
        };
        let own = link.map(|link| match (link, &address) {
            (Link::Unix, _) => {
                format!("unixsock-stream/{}", directory.join(format!("{number}.sock")).display())
            }
            (ip, Some(address)) => {
                format!("{}/{address}:{}", ip.scheme(), PORT + number as u16)
            }
            (ip, None) => {
                // Every address of 127.0.0.0/8 belongs to this machine: one per session makes a
                // search for a free port unnecessary.
                let [a, b, c] = host(&directory, number);
                format!("{}/127.{a}.{b}.{c}:{}", ip.scheme(), port())
            }
        });
        // It is written to another file and renamed: nobody reads an incomplete entry.
        let aside = directory.join(format!("{number}.new"));
        fs::write(&aside, format!("{} {}", std::process::id(), own.as_deref().unwrap_or(NOWHERE)))?;
        fs::rename(&aside, directory.join(format!("{number}.peer")))?;
        let mut peers = earlier(&directory, number, &before)?;
        peers.extend(link.into_iter().flat_map(elsewhere));
        Ok(Rendezvous { directory, number, own, peers })
    }

    /// The profile's text with its words filled in.
    pub fn fill(&self, text: &str) -> String {
        let peers = self.peers.iter().map(|p| format!("\"{p}\"")).collect::<Vec<_>>().join(", ");
        let own = self.own.as_deref().unwrap_or("tcp/127.0.0.1:0"); // only a router has none
        Link::WORDS
            .into_iter()
            .fold(text.replace("\"{peers}\"", &peers), |text, (word, _)| text.replace(word, own))
    }
}

const PORT: u16 = 7447;
const LOOPBACK: &str = "127.0.0.1";

/// [`PORT`], or a port of the host on a shared host, where a robot's own router or peers may use
/// [`PORT`].
pub fn port() -> u16 {
    shared_host::port(PORT, 0)
}

fn named(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|text| !text.is_empty())
}

/// This host's address if a trial has several hosts; else that of the loopback interface.
pub fn own_address() -> String {
    named("RMWBENCH_ADDRESS").unwrap_or(LOOPBACK.into())
}

/// The sessions on hosts with higher addresses: the orchestrator names each host once per process
/// there, and their ports count up from [`PORT`]. Of two sessions on two hosts exactly one connects
/// here, too.
fn elsewhere(link: Link) -> Vec<String> {
    let (own, all) = (own_address(), named("RMWBENCH_PEERS").unwrap_or_default());
    let order = |address: &str| address.parse::<std::net::Ipv4Addr>().ok();
    let mut endpoints: Vec<String> = Vec::new();
    let mut before: Vec<&str> = Vec::new();
    for address in all.split_whitespace() {
        let number = before.iter().filter(|other| **other == address).count() as u16;
        before.push(address);
        if link != Link::Unix && order(address) > order(&own) {
            endpoints.push(format!("{}/{address}:{}", link.scheme(), PORT + number));
        }
    }
    endpoints
}

/// The entry of a session without an endpoint.
const NOWHERE: &str = "-";

impl Drop for Rendezvous {
    fn drop(&mut self) {
        let _lock = lock(&self.directory);
        let others = numbers(&self.directory, "taken").unwrap_or_default();
        let dead =
            others.into_iter().filter(|number| is_left_by_the_dead(&self.directory, *number));
        dead.chain([self.number]).for_each(|number| forget(&self.directory, number));
        if numbers(&self.directory, "taken").is_ok_and(|others| others.is_empty()) {
            let _ = fs::remove_dir_all(&self.directory); // it has the sockets
        }
    }
}

/// Takes the lowest number above all that were ever taken here, by creating its file.
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

/// Takes the lowest number that no living process has; returns it and the numbers of the living.
fn take_place(directory: &Path) -> io::Result<(u32, BTreeSet<u32>)> {
    let _lock = lock(directory)?;
    let mut there: BTreeSet<u32> = numbers(directory, "taken")?.into_iter().collect();
    there.retain(|number| !is_left_by_the_dead(directory, *number));
    let number = (0..).find(|number| !there.contains(number)).expect("sessions are fewer");
    forget(directory, number); // also the entry: a reader meanwhile waits for the new one
    let aside = directory.join(format!("{number}.takes"));
    fs::write(&aside, std::process::id().to_string())?;
    fs::rename(&aside, directory.join(format!("{number}.taken")))?;
    Ok((number, there))
}

/// Locks the numbers until the result is dropped.
fn lock(directory: &Path) -> io::Result<fs::File> {
    let file = fs::File::create(directory.join("lock"))?;
    file.lock()?;
    Ok(file)
}

fn is_left_by_the_dead(directory: &Path, number: u32) -> bool {
    let taken = fs::read_to_string(directory.join(format!("{number}.taken")));
    taken.is_ok_and(|pid| !pid.is_empty() && !is_alive(&pid))
}

fn forget(directory: &Path, number: u32) {
    for extension in ["peer", "sock", "sock.lock", "taken"] {
        let _ = fs::remove_file(directory.join(format!("{number}.{extension}")));
    }
}

/// The endpoints of the sessions with lower numbers, and of those that were there `before`. A
/// session that has taken its number and is still writing its entry is awaited, since it will not
/// connect to this one; one whose process is dead is left out.
fn earlier(directory: &Path, number: u32, before: &BTreeSet<u32>) -> io::Result<Vec<String>> {
    let mut endpoints = Vec::new();
    let came_before = |other: &u32| *other < number || before.contains(other);
    for other in numbers(directory, "taken")?.into_iter().filter(came_before) {
        for _ in 0..1000 {
            let taken = fs::read_to_string(directory.join(format!("{other}.taken")));
            if taken.is_err() {
                break; // the session has left
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

/// Whether the process lives; a killed process that waits to be reaped is dead.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

/// The last three bytes of an address in 127.0.0.0/8 for session `number` of the trial in
/// `directory`: trials that share a host must not meet, hence the directory's hash.
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
        let directory = three.directory.clone();
        drop((two, silent));
        assert!(directory.exists());
        drop(three);
        assert!(!directory.exists());
    }

    /// Other hosts expect the session at its old place: they know ports and no numbers.
    #[test]
    fn who_comes_back_on_a_host_of_several_listens_where_it_did() {
        let nonce = u64::from(std::process::id()) << 32 | 3;
        let join =
            || Rendezvous::join_from(Some("10.0.0.2".into()), Some(Link::Tcp), nonce, 1).unwrap();
        let own = |number: usize| format!("tcp/10.0.0.2:{}", 7447 + number);
        let (one, two) = (join(), join());
        assert_eq!((one.own.clone(), two.own.clone()), (Some(own(0)), Some(own(1))));
        assert_eq!((one.peers.len(), two.peers.clone()), (0, vec![own(0)]));
        let directory = one.directory.clone();
        // It was killed: its files stay, with the number of a process that no longer exists.
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        let pid = gone.id();
        gone.wait().unwrap();
        fs::write(directory.join("0.taken"), pid.to_string()).unwrap();
        fs::write(directory.join("0.peer"), format!("{pid} {}", own(0))).unwrap();
        std::mem::forget(one);
        let again = join();
        assert_eq!((again.own.clone(), again.peers.clone()), (Some(own(0)), vec![own(1)]));
        // Or it left in order.
        drop(again);
        let again = join();
        assert_eq!((again.own.clone(), again.peers.clone()), (Some(own(0)), vec![own(1)]));
        drop((two, again));
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
