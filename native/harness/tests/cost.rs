//! The recorder's own cost, and checks that its path neither allocates nor faults. The times are
//! printed, not asserted (`cargo test --test cost -- --nocapture`).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, Granted, PublishError, Publisher, Sink,
};
use rmwbench_harness::payload::{Phase, Touch};
use rmwbench_harness::publisher::{Cause, PublisherSlot, RecordedPublisher, Recorder};
use rmwbench_harness::records::{layout, memfd, Kind, Records, Sent};
use rmwbench_harness::sink::RecordingSink;

struct Counting;
thread_local!(static ALLOCATIONS: Cell<u64> = const { Cell::new(0) });

// SAFETY: passes all calls to the system allocator; the counter is a plain thread-local cell that
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SLOTS: u64 = 1_000_000;

/// Passes each message to a sink in the publish call, as an in-process middleware does.
struct Inline(Arc<RecordingSink>);

impl Endpoint for Inline {
    fn matched(&self) -> u32 {
        1
    }
    fn granted(&self) -> Granted {
        unreachable!("nobody asks")
    }
    fn account(&self) -> Account {
        Account::default()
    }
}

impl Publisher for Inline {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let now_ns = now_ns();
        self.0.deliver(&Delivery {
            notified_ns: now_ns,
            taken_ns: now_ns,
            payload,
            zero_copy: false,
            lossy: false,
        });
        Ok(())
    }
}

/// A records file as the orchestrator makes it: it is a hole, so that its pages exist only if `map`
/// faults them in.
fn records(sections: &[(Kind, u32, u64)]) -> Arc<Records> {
    let content = layout(1, sections);
    let head = memfd(&content[..4096]).unwrap();
    rustix::fs::ftruncate(&head, content.len() as u64).unwrap();
    Records::map(head).unwrap()
}

fn minor_faults() -> i64 {
    // SAFETY: getrusage fills a plain struct.
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_minflt
    }
}

fn each_ns(count: u64, mut f: impl FnMut(u64)) -> f64 {
    let began = now_ns();
    for i in 0..count {
        f(i);
    }
    (now_ns() - began) as f64 / count as f64
}

#[test]
fn a_record_costs_no_allocation_and_no_page_fault() {
    let records =
        records(&[(Kind::Sent, 1, SLOTS), (Kind::Sent, 2, SLOTS), (Kind::Received, 3, SLOTS)]);
    let section = records.section(Kind::Sent, 1).unwrap();
    let faults = minor_faults();
    let clock = each_ns(SLOTS, |_| {
        black_box(now_ns());
    });
    let record =
        each_ns(SLOTS, |seq| section.sent(black_box(&Sent { seq, bytes: 64, ..Sent::default() })));
    let sink = Arc::new(RecordingSink::new(records.section(Kind::Received, 3), 1, Touch::All, 1));
    let parts = Recorder {
        section: records.section(Kind::Sent, 2),
        endpoint: 2,
        nonce: 1,
        payload_bytes: 1024,
        touched_bytes: 960,
        loan: false,
    };
    let slot = PublisherSlot::new(2, RecordedPublisher::new(Box::new(Inline(sink.clone())), parts));
    let mut guard = slot.publisher.lock().unwrap();
    let publisher = guard.as_mut().unwrap();
    let allocations = ALLOCATIONS.get();
    let message = each_ns(SLOTS, |_| publisher.send(1, Phase::Steady, Cause::default()).unwrap());
    let (allocated, faulted) = (ALLOCATIONS.get() - allocations, minor_faults() - faults);
    println!("clock {clock:.1} ns, record {record:.1} ns, whole message of 1 KiB with both records {message:.1} ns");
    assert_eq!(allocated, 0, "allocations in {SLOTS} messages");
    // 3 sections of 15 625 pages: a mapping that was not faulted in would need them all.
    assert!(faulted < 100, "{faulted} page faults");
    assert!(sink.has_seen(2, SLOTS - 1));
}
