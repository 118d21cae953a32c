//! The place where endpoints of a host find each other: a directory per topic, a file per bound
//! socket with its address.
//!
//! ZeroMQ has no discovery: an application gets its addresses from elsewhere, and on a host this is
//! that place. A file is locked by the process that wrote it, so that the file of a killed process
//! is known as stale, and the next process that finds it removes it.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rmwbench_harness::middleware::Error;

use crate::settings::Transport;

/// The kind of the announced endpoint: names of topics and of services are separate.
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

/// An address that is on the board as long as this lives.
pub struct Announcement {
    path: PathBuf,
    _locked: File,
}

static NEXT: AtomicU32 = AtomicU32::new(1);

impl Board {
    /// Only endpoints with one transport and domain find each other, and over inproc only those of
    /// one process.
    pub fn new(domain_id: u32, transport: Transport) -> Board {
        let name = match transport {
            Transport::IntraProcess => {
                format!("rmwbench-zeromq-{domain_id}-inproc-{}", std::process::id())
            }
            _ => format!("rmwbench-zeromq-{domain_id}-{}", transport.path()),
        };
        Board(std::env::temp_dir().join(name))
    }

    /// The directory of a topic, which is made if it is missing.
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

    /// The address of a new socket, under a name that nobody else binds.
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
        // SAFETY: the descriptor is ours.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // The file is renamed when it is complete and locked: a reader of the directory can rely on
        // both.
        fs::rename(&hidden, &path)?;
        Ok(file)
    };
    let locked = write().map_err(|e| Error::failed(path.display().to_string(), e))?;
    Ok(Announcement { path, _locked: locked })
}

/// The addresses in a directory whose processes live; the files of dead ones are removed.
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
    // SAFETY: the descriptor is ours.
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
