//! How often this process allocated, where somebody counts: a library preloaded into the process
//! (`sampler/allocations/`), in trials that are for nothing else.
//!
//! It is found by name, so that a worker needs nothing of it and an ordinary trial costs nothing:
//! there the names are not there.

use std::ffi::{c_int, CStr};
use std::sync::OnceLock;

/// Since the process began, in all threads that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Calls that gave memory: malloc, calloc, realloc, aligned_alloc and their like.
    pub allocations: i64,
    /// What they asked for.
    pub bytes: i64,
    pub frees: i64,
}

struct Library {
    read: unsafe extern "C" fn(*mut u64),
    uncounted: unsafe extern "C" fn(c_int),
}

fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let find = |name: &CStr| {
        // SAFETY: looks a name up in what is loaded.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    };
    let found = LIBRARY.get_or_init(|| {
        let (read, uncounted) =
            (find(c"rmwbench_allocations")?, find(c"rmwbench_allocations_uncounted")?);
        // SAFETY: these names are the library's alone, and these are their types there.
        Some(unsafe {
            Library {
                read: std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(*mut u64)>(
                    read,
                ),
                uncounted: std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(c_int)>(
                    uncounted,
                ),
            }
        })
    });
    found.as_ref()
}

/// None where nobody counts.
pub fn counts() -> Option<Counts> {
    let library = library()?;
    let mut counts = [0_u64; 3];
    // SAFETY: it writes three numbers.
    unsafe { (library.read)(counts.as_mut_ptr()) };
    let [allocations, bytes, frees] = counts.map(|count| count as i64);
    Some(Counts { allocations, bytes, frees })
}

/// What this thread does from now on is ours and no middleware's.
pub fn leave_this_thread_out() {
    // SAFETY: changes a variable of this thread.
    library().inspect(|library| unsafe { (library.uncounted)(1) });
}

/// Runs `body`, which is ours, uncounted.
pub fn uncounted<T>(body: impl FnOnce() -> T) -> T {
    let library = library();
    // SAFETY: as above; both calls are of this thread.
    library.inspect(|library| unsafe { (library.uncounted)(1) });
    let result = body();
    library.inspect(|library| unsafe { (library.uncounted)(-1) });
    result
}
