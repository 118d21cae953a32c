//! The processes of this host: those in this process's PID namespace, whatever `/proc` shows.
//!
//! A host normally has a `/proc` of its own, whose numbers are the host's. If a container forbids
//! mounting one, `/proc` still shows the outer numbers; then the namespace and the `NSpid` line of
//! each process show whether it belongs to this host and what its number here is.
//!
//! On a shared host there is no such namespace: its processes are the descendants of its init,
//! which started this one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::parent_id;
use std::path::PathBuf;

use rmwbench_harness::shared_host;

/// A process of this host: its number here, and its directory below `/proc`.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    pub pid: i32,
    pub directory: PathBuf,
}

/// Every process of this host, including this one, in the order of their numbers in `/proc`.
pub fn neighbours() -> Vec<Neighbour> {
    let mut numbers: Vec<i32> = match fs::read_dir("/proc") {
        Ok(entries) => entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect(),
        Err(_) => return Vec::new(),
    };
    numbers.sort_unstable();
    let proc_is_ours = proc_is_ours();
    let mut processes: Vec<Neighbour> =
        numbers.into_iter().filter_map(|number| neighbour(number, proc_is_ours)).collect();
    if shared_host::name().is_some() {
        let parents = processes.iter().filter_map(|n| Some((n.pid, parent(n)?))).collect();
        processes.retain(|n| descends(n.pid, init_pid(), &parents));
    }
    processes
}

/// The number of the host's init.
pub fn init_pid() -> i32 {
    const OF_A_NAMESPACE: i32 = 1;
    shared_host::name().map_or(OF_A_NAMESPACE, |_| parent_id() as i32)
}

/// Whether the process is `root` or below it, by each process's parent.
fn descends(pid: i32, root: i32, parents: &BTreeMap<i32, i32>) -> bool {
    let mut above = Some(&pid);
    while let Some(&number) = above {
        if number == root {
            return true;
        }
        above = parents.get(&number);
    }
    false
}

/// Field 4 of `/proc/PID/stat`; the name in field 2 may contain spaces and parentheses.
pub fn parent(of: &Neighbour) -> Option<i32> {
    let stat = fs::read_to_string(of.directory.join("stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The process with this number here.
pub fn find(pid: i32) -> Option<Neighbour> {
    if proc_is_ours() {
        let process = neighbour(pid, true)?;
        return process.directory.is_dir().then_some(process);
    }
    neighbours().into_iter().find(|n| n.pid == pid)
}

fn neighbour(number: i32, proc_is_ours: bool) -> Option<Neighbour> {
    let directory = PathBuf::from(format!("/proc/{number}"));
    if proc_is_ours {
        return Some(Neighbour { pid: number, directory });
    }
    let namespace = |path: PathBuf| fs::read_link(path.join("ns/pid")).ok();
    if namespace(directory.clone())? != namespace("/proc/self".into())? {
        return None;
    }
    let pid = inner_pid(&fs::read_to_string(directory.join("status")).ok()?)?;
    Some(Neighbour { pid, directory })
}

fn proc_is_ours() -> bool {
    fs::read_link("/proc/self")
        .is_ok_and(|link| link.to_str() == Some(&std::process::id().to_string()))
}

/// The last number of `NSpid` is the one in the process's own namespace.
fn inner_pid(status: &str) -> Option<i32> {
    status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?
        .split_whitespace()
        .last()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_among_them() {
        let pid = std::process::id() as i32;
        assert!(neighbours().iter().any(|n| n.pid == pid));
        assert_eq!(find(pid).unwrap().pid, pid);
        assert_eq!(find(i32::MAX), None);
    }

    #[test]
    fn who_descends_from_an_init_is_told_from_its_neighbours() {
        let parents = BTreeMap::from([(1, 0), (10, 1), (11, 10), (12, 11), (20, 1)]);
        for (pid, expected) in
            [(10, true), (11, true), (12, true), (20, false), (1, false), (99, false)]
        {
            assert_eq!(descends(pid, 10, &parents), expected, "{pid}");
        }
        let own = find(std::process::id() as i32).unwrap();
        assert_eq!(parent(&own), Some(parent_id() as i32));
    }

    #[test]
    fn the_innermost_number_counts() {
        assert_eq!(inner_pid("Name:\tx\nNSpid:\t4711\t12\t3\n"), Some(3));
        assert_eq!(inner_pid("Name:\tx\n"), None);
    }
}
