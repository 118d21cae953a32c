//! The library that counts allocations, preloaded into this same test binary: known work gives
//! known counts.

use std::alloc::{alloc, dealloc, realloc, Layout};
use std::hint::black_box;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use rmwbench_harness::allocations::{counts, leave_this_thread_out, uncounted, Counts};
use rmwbench_sampler::allocations::LIBRARY;

const CHILD: &str = "RMWBENCH_TEST_COUNTED";

/// Runs `body` in a process of its own, with the library loaded before the C library, as in a
/// worker.
fn counted(test: &str, body: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|name| name == test) {
        return body();
    }
    let path =
        std::env::temp_dir().join(format!("rmwbench-allocations-{}-{test}.so", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(LIBRARY).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .env("LD_PRELOAD", &path)
        .output();
    std::fs::remove_file(&path).unwrap();
    let child = child.unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && output.contains("1 passed"),
        "{:?} {output}",
        child.status.signal()
    );
}

fn used(work: impl FnOnce()) -> Counts {
    let before = counts().expect("the library is preloaded");
    work();
    let after = counts().unwrap();
    Counts {
        allocations: after.allocations - before.allocations,
        bytes: after.bytes - before.bytes,
        frees: after.frees - before.frees,
    }
}

#[test]
fn nobody_counts_without_the_library() {
    assert_eq!(counts(), None);
    assert_eq!(uncounted(|| 7), 7);
}

#[test]
fn every_way_to_memory_is_counted() {
    counted("every_way_to_memory_is_counted", || {
        let boxes = |count: usize| (0..count).for_each(|_| drop(black_box(Box::new([0_u8; 100]))));
        // Other threads of the test runner do nothing meanwhile.
        assert_eq!(used(|| boxes(1000)), Counts { allocations: 1000, bytes: 100_000, frees: 1000 });
        let zeroed = used(|| drop(black_box(vec![0_u8; 5000])));
        assert_eq!(zeroed, Counts { allocations: 1, bytes: 5000, frees: 1 });
        let aligned = Layout::from_size_align(300, 256).unwrap();
        // SAFETY: the block is freed with its own layout.
        let large = used(|| unsafe { dealloc(black_box(alloc(aligned)), aligned) });
        assert_eq!(large, Counts { allocations: 1, bytes: 300, frees: 1 });
        let small = Layout::from_size_align(10, 1).unwrap();
        // SAFETY: as above.
        let grown = used(|| unsafe {
            let memory = realloc(black_box(alloc(small)), small, 4000);
            dealloc(black_box(memory), Layout::from_size_align(4000, 1).unwrap());
        });
        assert_eq!(grown, Counts { allocations: 2, bytes: 4010, frees: 1 });
        // SAFETY: the C library's own functions, on their own blocks.
        let of_c = used(|| unsafe {
            let mut memory = std::ptr::null_mut();
            assert_eq!(libc::posix_memalign(&raw mut memory, 64, 640), 0);
            libc::free(black_box(memory));
            assert_eq!(libc::posix_memalign(&raw mut memory, 3, 640), libc::EINVAL);
            libc::free(black_box(libc::calloc(6, 7)));
            libc::free(black_box(libc::memalign(32, 1)));
            libc::free(std::ptr::null_mut());
        });
        assert_eq!(of_c, Counts { allocations: 3, bytes: 640 + 42 + 1, frees: 3 });
    });
}

#[test]
fn what_is_ours_is_left_out() {
    counted("what_is_ours_is_left_out", || {
        let work = || (0..100).for_each(|_| drop(black_box(Box::new(1_u64))));
        assert_eq!(used(|| uncounted(work)).allocations, 0);
        assert_eq!(used(work).allocations, 100);
        // This thread's allocations only: another thread's are still counted.
        let both = used(|| {
            leave_this_thread_out();
            work();
            std::thread::spawn(work).join().unwrap();
        });
        assert!((100..150).contains(&both.allocations), "{both:?}");
    });
}
