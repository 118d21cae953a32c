//! One watched process: the values that are read at an edge of the window, from files that stay
//! open.

use std::io;
use std::path::PathBuf;

use rustix::param::page_size;

use crate::cpu_clock::cpu_ns;
use crate::kept::Kept;
use crate::neighbours::Neighbour;

/// Roles of processes that the orchestrator did not name.
pub const DAEMON: &str = "daemon";
pub const OTHER: &str = "other";
pub const HARNESS: &str = "harness";
pub const WORKER: &str = "worker";

#[derive(Debug)]
pub struct Process {
    pub name: String,
    pub role: String,
    pub pid: i32,
    pub directory: PathBuf,
    stat: Kept,
    statm: Kept,
    /// Absent if the kernel has none, or does not allow reading it.
    rollup: Option<Kept>,
}

/// The values of `/proc/PID/stat`, which include threads that ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stat {
    pub command: String,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub threads: u64,
    pub rss_bytes: u64,
}

impl Process {
    /// Fails if the process has already ended, or belongs to another user.
    pub fn open(name: &str, role: &str, neighbour: &Neighbour) -> io::Result<Process> {
        let (stat, statm) = (
            Kept::open(neighbour.directory.join("stat"))?,
            Kept::open(neighbour.directory.join("statm"))?,
        );
        let rollup = Kept::open(neighbour.directory.join("smaps_rollup")).ok();
        Ok(Process {
            name: name.into(),
            role: role.into(),
            pid: neighbour.pid,
            directory: neighbour.directory.clone(),
            stat,
            statm,
            rollup,
        })
    }

    /// The CPU time in ns; None once the process is gone, even if its number is used again.
    pub fn cpu_ns(&self) -> Option<i64> {
        cpu_ns(self.pid)
    }

    /// None once the process is gone: the file was opened while the process lived and never
    /// describes a successor.
    pub fn stat(&mut self) -> Option<Stat> {
        parse_stat(self.stat.read().ok()?)
    }

    /// The proportional set size, everything included, and the part of it that is files, such as
    /// programs and libraries: that part changes when other processes map the same files. The
    /// kernel walks all pages for it, which takes a millisecond for each 100 MB.
    pub fn pss_bytes(&mut self) -> Option<(u64, Option<u64>)> {
        let text = self.rollup.as_mut()?.read().ok()?;
        let bytes = |name: &str| {
            let kib = text
                .lines()
                .find_map(|line| line.strip_prefix(name))?
                .trim()
                .strip_suffix(" kB")?
                .parse::<u64>()
                .ok()?;
            Some(kib * 1024)
        };
        Some((bytes("Pss:")?, bytes("Pss_File:")))
    }

    pub fn rss_bytes(&mut self) -> Option<u64> {
        let pages: u64 = self.statm.read().ok()?.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * page_size() as u64)
    }
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The command is in parentheses and may contain some itself.
    let (head, tail) = text.rsplit_once(')')?;
    let command = head.split_once('(')?.1.to_string();
    let field = |number: usize| tail.split_whitespace().nth(number - 3)?.parse::<u64>().ok(); // numbered as in proc(5)
    Some(Stat {
        command,
        minor_faults: field(10)?,
        major_faults: field(12)?,
        threads: field(20)?,
        rss_bytes: field(24)? * page_size() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbours::find;

    #[test]
    fn a_command_may_be_called_anything() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194304 11 12 13 14 15 16 17 18 20 0 3 0 99 5000 250 18446744073709551615";
        let stat = parse_stat(text).unwrap();
        assert_eq!(
            (stat.command.as_str(), stat.minor_faults, stat.major_faults, stat.threads),
            ("a) b (c", 11, 13, 3)
        );
        assert_eq!(stat.rss_bytes, 250 * page_size() as u64);
    }

    #[test]
    fn reads_a_child_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut process = Process::open("child", OTHER, &find(child.id() as i32).unwrap()).unwrap();
        assert!(process.cpu_ns().is_some() && process.rss_bytes().unwrap() > 0);
        let (pss, files) = process.pss_bytes().unwrap();
        assert!(pss <= process.rss_bytes().unwrap() && files.is_none_or(|files| files <= pss));
        assert!(process.stat().unwrap().threads == 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            process.cpu_ns().is_none() && process.stat().is_none() && process.rss_bytes().is_none()
        );
    }
}
