//! Where endpoints of a host find each other: a directory per topic, a file per bound socket with
//! its address.
//!
//! ZeroMQ has no discovery; an application brings its addresses from elsewhere, and this is the
//! elsewhere of a host. A file is locked by the process that wrote it, so that one whose process
//! was killed is known as stale and removed by whoever comes upon it.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rmwbench_harness::middleware::Error;

use crate::settings::Transport;

/// Who announces itself: names of topics and of services are separate ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A topic's publisher.
    Topic,
    Service,
    /// A service's client, which binds nothing and is only counted.
    Client,
}

/// The directory of a domain's topics.
#[derive(Clone, Debug)]
pub struct Board(PathBuf);

/// An address on the board as long as this lives.
pub struct Announcement {
    path: PathBuf,
    _locked: File,
}

static NEXT: AtomicU32 = AtomicU32::new(1);

impl Board {
    /// Only endpoints of one transport and domain hear each other, and over inproc those of one
    /// process.
    pub fn new(domain_id: u32, transport: Transport) -> Board {
        let name = match transport {
            Transport::IntraProcess => {
                format!("rmwbench-zeromq-{domain_id}-inproc-{}", std::process::id())
            }
            _ => format!("rmwbench-zeromq-{domain_id}-{}", transport.path()),
        };
        Board(std::env::temp_dir().join(name))
    }

    /// The directory of a topic, made when it is missing.
    pub fn directory(&self, kind: Kind, topic: &str) -> Result<PathBuf, Error> {
        let prefix = match kind {
            Kind::Topic => "topic",
            Kind::Service => "service",
            Kind::Client => "client",
        };
        let directory =
            self.0.join(format!("{prefix}-{}", topic.replace('%', "%25").replace('/', "%2F")));
        fs::create_dir_all(&directory)
            .map_err(|e| Error::failed(directory.display().to_string(), e))?;
        Ok(directory)
    }

    /// A name for a socket that nobody else binds: the address to bind it to.
    pub fn fresh_address(&self, transport: Transport) -> String {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        match transport {
            Transport::Tcp => "tcp://127.0.0.1:*".into(),
            Transport::Unix => format!(
                "ipc://{}",
                self.0.join(format!("{}-{number}", std::process::id())).display()
            ),
            Transport::IntraProcess => format!("inproc://{number}"),
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

pub fn announce(directory: &Path, address: &str) -> Result<Announcement, Error> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{number}", std::process::id());
    let (hidden, path) = (directory.join(format!(".{name}")), directory.join(&name));
    let write = || {
        let mut file = File::create(&hidden)?;
        writeln!(file, "{address}")?;
        // SAFETY: a descriptor of ours.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // Renamed when it is complete and locked: whoever sees it can rely on both.
        fs::rename(&hidden, &path)?;
        Ok(file)
    };
    let locked = write().map_err(|e| Error::failed(path.display().to_string(), e))?;
    Ok(Announcement { path, _locked: locked })
}

/// The addresses in a directory whose processes live; files of dead ones are removed.
pub fn read(directory: &Path) -> Vec<String> {
    let mut addresses: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .filter_map(|entry| address(&entry.path()))
        .collect();
    addresses.sort();
    addresses
}

fn address(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    // SAFETY: a descriptor of ours.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } == 0 {
        let _ = fs::remove_file(path);
        return None;
    }
    Some(std::io::read_to_string(file).ok()?.trim_end().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(test: u32) -> Board {
        Board::new(std::process::id() % 100_000 * 10 + test, Transport::Tcp)
    }

    #[test]
    fn an_address_is_on_the_board_while_it_is_announced() {
        let board = board(1);
        let directory = board.directory(Kind::Topic, "a/b%c").unwrap();
        assert_ne!(directory, board.directory(Kind::Service, "a/b%c").unwrap());
        let announcement = announce(&directory, "tcp://127.0.0.1:7").unwrap();
        assert_eq!(read(&directory), ["tcp://127.0.0.1:7"]);
        drop(announcement);
        assert!(read(&directory).is_empty());
        fs::remove_dir_all(&board.0).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let board = board(2);
        let directory = board.directory(Kind::Topic, "t").unwrap();
        fs::write(directory.join("1-1"), "tcp://127.0.0.1:8\n").unwrap(); // nobody holds its lock
        assert!(read(&directory).is_empty());
        assert!(!directory.join("1-1").exists());
        fs::remove_dir_all(&board.0).unwrap();
    }
}
