//! Processors that never sleep: `/dev/cpu_dma_latency` is held at 0, and each processor has a
//! spinner with the policy SCHED_IDLE.
//!
//! Any other thread gets the processor from the spinner at once. So every latency is without the
//! way out of an idle state and, in a virtual machine, without the hypervisor's halt and wake-up,
//! at the cost of energy alone. The spinner's time is idle time under another name.
//!
//! The policy ranks a thread within its group only. If the kernel makes a group of each session
//! (autogroup, the default of many distributions), a spinner would therefore get as much as a
//! worker: hence the spinners have a process of their own, in a session of its own, whose group
//! also has nice 19. The process that talks to the orchestrator stays an ordinary one, or it would
//! starve on a busy machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::Duration;

use rustix::pipe::{pipe_with, PipeFlags};

use crate::clock::process_cpu_ns_of;
use crate::processors;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// The device is held as long as the file is open.
pub fn hold_latency() -> Result<File, String> {
    let mut device = OpenOptions::new()
        .write(true)
        .open(DEVICE)
        .map_err(|error| format!("{DEVICE}: {error}"))?;
    device.write_all(&0_i32.to_ne_bytes()).map_err(|error| format!("{DEVICE}: {error}"))?;
    Ok(device)
}

/// The process of the spinners; it ends with this one.
pub struct Spinners {
    pub pid: i32,
}

impl Spinners {
    /// Returns once they run, one on each processor of `on`. Call it while this process has one
    /// thread.
    pub fn start(on: &[usize]) -> io::Result<Spinners> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: with a single thread the child may do all that the parent may.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(read);
                let problem =
                    become_spinners(on).err().map_or(String::new(), |error| error.to_string());
                answer(write, &problem);
                loop {
                    sleep(Duration::from_secs(3600));
                }
            }
            pid => {
                drop(write);
                let spinners = Spinners { pid };
                let mut problem = String::new();
                File::from(read).read_to_string(&mut problem)?;
                if !problem.is_empty() {
                    return Err(io::Error::other(problem));
                }
                // This is done from here, where nothing starves: on a busy machine the spinners'
                // process hardly runs any more.
                make_group_nice(pid)?;
                Ok(spinners)
            }
        }
    }

    pub fn cpu_ns(&self) -> i64 {
        process_cpu_ns_of(self.pid)
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        // SAFETY: our own child, for which nobody has waited.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// The answer in a pipe, and then the end of the file; a failed write ends the file, too.
fn answer(pipe: OwnedFd, problem: &str) {
    let _ = File::from(pipe).write_all(problem.as_bytes());
}

fn become_spinners(on: &[usize]) -> io::Result<()> {
    // SAFETY: the calls take plain values. If the parent died before the first call, the host's
    // init is the new parent, which ends with the trial.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setsid();
    }
    let (sender, threads) = channel();
    processors::on_each(on, move |_, up| {
        // SAFETY: takes nothing.
        let _ = sender.send(unsafe { libc::gettid() });
        up();
        loop {
            // It computes and does not pause: a hypervisor may take a processor whose guest pauses
            // in a loop.
            crate::cpu::arithmetic();
        }
    })?;
    threads.try_iter().try_for_each(make_idle)
}

/// Sets the group's nice value; there is nothing to do on a kernel without such groups.
fn make_group_nice(pid: i32) -> io::Result<()> {
    let path = format!("/proc/{pid}/autogroup");
    if !fs::exists(&path)? {
        return Ok(());
    }
    // Without privilege the kernel allows one change in 100 ms, whichever process made the last
    // one.
    for _ in 0..20 {
        match fs::write(&path, "19") {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                sleep(Duration::from_millis(20))
            }
            Err(error) => return Err(io::Error::other(format!("{path}: {error}"))),
            Ok(()) => return Ok(()),
        }
    }
    Err(io::Error::other(format!("{path}: too many changes by others")))
}

/// The thread then runs only when a processor would be idle. It is also nice, so that the kernel
/// counts its time as `nice`.
fn make_idle(thread: i32) -> io::Result<()> {
    // SAFETY: both calls take plain values.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, thread as libc::id_t, 19);
        let parameter: libc::sched_param = std::mem::zeroed();
        if libc::sched_setscheduler(thread, libc::SCHED_IDLE, &parameter) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// SAFETY of both calls: they take and return plain numbers.
    fn policy_and_nice() -> (i32, i32) {
        unsafe { (libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS, 0)) }
    }

    #[test]
    fn a_spinner_gives_way_and_its_neighbours_do_not() {
        let before = policy_and_nice();
        let spinner = std::thread::spawn(|| {
            super::make_idle(0).unwrap();
            policy_and_nice()
        });
        assert_eq!(spinner.join().unwrap(), (libc::SCHED_IDLE, 19));
        assert_eq!(policy_and_nice(), before);
    }
}
