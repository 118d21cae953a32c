//! Cases that sanitizers must not report, and with the argument `raced` or `freed` cases that they
//! must report: they run before all other programs, to check that neither std.c nor threads.txt
//! hides a real fault.

use std::cell::UnsafeCell;
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock};

struct Unguarded(UnsafeCell<Vec<u64>>);

// SAFETY: none. This must be reported.
unsafe impl Sync for Unguarded {}

fn main() {
    let wrong = std::env::args().nth(1).unwrap_or_default();
    if wrong == "freed" {
        let freed = Box::into_raw(Box::new(std::process::id()));
        // SAFETY: none. This must be reported.
        unsafe {
            drop(Box::from_raw(freed));
            println!("{}", freed.read_volatile());
        }
    }
    let raced = Arc::new(Unguarded(UnsafeCell::new(vec![0])));
    let guarded = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let once = Arc::new(OnceLock::new());
    let begin = Arc::new(Barrier::new(4));
    let races = wrong == "raced";
    let threads: Vec<_> = (0..4_u64)
        .map(|number| {
            let (raced, guarded) = (raced.clone(), guarded.clone());
            let (once, begin) = (once.clone(), begin.clone());
            std::thread::spawn(move || {
                once.get_or_init(|| vec![7]);
                begin.wait();
                for turn in 0..10_000 {
                    let mut list = guarded.0.lock().unwrap();
                    list.push(number + once.get().unwrap()[0]);
                    if turn % 100 == 0 {
                        guarded.1.notify_all();
                        let briefly = std::time::Duration::from_micros(100);
                        list = guarded.1.wait_timeout(list, briefly).unwrap().0;
                    }
                    list.truncate(100);
                    drop(list);
                    if races {
                        // SAFETY: none, see above.
                        unsafe { (&mut *raced.0.get())[0] += 1 };
                    }
                }
            })
        })
        .collect();
    drop((guarded, once));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
