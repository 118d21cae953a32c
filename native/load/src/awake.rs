//! Processors that never sleep: `/dev/cpu_dma_latency` held at 0, and a spinner of the policy SCHED_IDLE on each.
//!
//! Anything else that wants a processor gets it from the spinner at once, so this takes the way out of an idle state and, in a virtual machine,
//! the hypervisor's halt and wake-up out of every latency, and gives nothing away but energy. Its time is idle time under another name.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

const DEVICE: &str = "/dev/cpu_dma_latency";

/// Held as long as the file is open.
pub fn hold_latency() -> Result<File, String> {
    let mut device = OpenOptions::new().write(true).open(DEVICE).map_err(|error| format!("{DEVICE}: {error}"))?;
    device.write_all(&0_i32.to_ne_bytes()).map_err(|error| format!("{DEVICE}: {error}"))?;
    Ok(device)
}

/// The calling thread runs only where a processor would idle. Nice too, so that the kernel's counters show it under `nice`.
pub fn become_idle() -> io::Result<()> {
    // SAFETY: both calls take plain values; 0 is the calling thread.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 19);
        let parameter: libc::sched_param = std::mem::zeroed();
        if libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameter) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Computes instead of pausing: a hypervisor may take a processor whose guest pauses in a loop, which is what this is to prevent.
pub fn spin() -> ! {
    loop {
        crate::cpu::arithmetic();
    }
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
            super::become_idle().unwrap();
            policy_and_nice()
        });
        assert_eq!(spinner.join().unwrap(), (libc::SCHED_IDLE, 19));
        assert_eq!(policy_and_nice(), before);
    }
}
