//! The processors that this process may use, and a thread on each of them.

use std::io;
use std::sync::mpsc::channel;

use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

pub fn usable() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor)).collect())
}

/// Starts `work(place)` on a thread of its own on each processor, `place` counting from 0, and
/// returns once all of them run. `work` calls its second argument when it runs.
pub fn on_each<F>(processors: &[usize], work: F) -> io::Result<()>
where
    F: Fn(usize, &dyn Fn()) + Send + Clone + 'static,
{
    let (ready, up) = channel();
    for (place, &processor) in processors.iter().enumerate() {
        let (work, ready) = (work.clone(), ready.clone());
        std::thread::Builder::new().name(format!("load-{processor}")).spawn(move || {
            let mut set = CpuSet::new();
            set.set(processor);
            // If the set shrank in between, the load still runs, but is not bound to a processor.
            let _ = sched_setaffinity(None, &set);
            work(place, &|| {
                let _ = ready.send(());
            });
        })?;
    }
    drop(ready);
    for _ in processors {
        up.recv().map_err(|_| io::Error::other("a load thread ended before it began"))?;
    }
    Ok(())
}
