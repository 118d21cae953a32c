//! How often this process allocated, if a library preloaded into the process counts it
//! (`sampler/allocations/`); only trials that measure allocations load it.
//!
//! Its functions are found by name, so that a worker does not link it and an ordinary trial costs
//! nothing: there the names do not exist.

use std::ffi::{c_int, CStr};
use std::sync::OnceLock;

/// The counts since the process began, of all threads that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Calls that gave memory: malloc, calloc, realloc, aligned_alloc and their like.
    pub allocations: i64,
    /// The bytes that these calls requested.
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
        // SAFETY: looks a name up in the loaded libraries.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    };
    let library = LIBRARY.get_or_init(|| {
        let (read, uncounted) =
            (find(c"rmwbench_allocations")?, find(c"rmwbench_allocations_uncounted")?);
        // SAFETY: only that library has these names, and these are their types there.
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
    library.as_ref()
}

/// The counts; None if no library counts.
pub fn counts() -> Option<Counts> {
    let library = library()?;
    let mut counts = [0_u64; 3];
    // SAFETY: the function writes three numbers.
    unsafe { (library.read)(counts.as_mut_ptr()) };
    let [allocations, bytes, frees] = counts.map(|count| count as i64);
    Some(Counts { allocations, bytes, frees })
}

/// From now on the allocations of this thread are not counted: they are the harness's, not the
/// middleware's.
pub fn leave_this_thread_out() {
    // SAFETY: the function changes a variable of this thread.
    library().inspect(|library| unsafe { (library.uncounted)(1) });
}

/// Runs `body`, which is code of the harness, without counting its allocations.
pub fn uncounted<T>(body: impl FnOnce() -> T) -> T {
    let library = library();
    // SAFETY: as above; both calls change this thread's variable.
    library.inspect(|library| unsafe { (library.uncounted)(1) });
    let result = body();
    library.inspect(|library| unsafe { (library.uncounted)(-1) });
    result
}
