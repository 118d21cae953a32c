//! Layer times of a traced trial, from middlewares in C or C++: SPAN records in the sections that
//! the plan has for them.
//!
//! A worker requests an endpoint's section once and gets none if the plan has none: then nothing is
//! traced, and nothing costs time.

use std::sync::{Arc, OnceLock};

use crate::records::{Kind, Records, Section, Span};

static RECORDS: OnceLock<Arc<Records>> = OnceLock::new();

/// Sets where this process records. A process runs one trial: only the first call counts.
pub(crate) fn remember(records: &Arc<Records>) {
    let _ = RECORDS.set(records.clone());
}

/// Returns the endpoint's section; NULL if the plan has no spans for `endpoint`. The section lives
/// as long as the process, because a late callback may still write.
#[no_mangle]
extern "C" fn rmwbench_spans_of(endpoint: u32) -> *const Section {
    let section = RECORDS.get().and_then(|records| records.section(Kind::Span, endpoint));
    section.map_or(std::ptr::null(), |section| Box::into_raw(Box::new(section)).cast_const())
}

/// # Safety
/// `spans` came from `rmwbench_spans_of`.
#[no_mangle]
unsafe extern "C" fn rmwbench_span(
    spans: *const Section,
    writer: u32,
    seq: u64,
    layer: u32,
    time_ns: i64,
) {
    if let Some(section) = spans.as_ref() {
        section.span(&Span { seq, time_ns, layer, writer });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{layout, memfd};

    #[test]
    fn spans_go_to_the_section_that_the_plan_has_and_nowhere_else() {
        let file = std::fs::File::from(
            memfd(&layout(7, &[(Kind::Span, 3, 4), (Kind::Sent, 4, 4)])).unwrap(),
        );
        remember(&Records::map(file.try_clone().unwrap().into()).unwrap());
        assert!(rmwbench_spans_of(4).is_null(), "endpoint 4 has no spans in this plan");
        let spans = rmwbench_spans_of(3);
        assert!(!spans.is_null());
        // SAFETY: `spans` is a section, and NULL is allowed.
        unsafe {
            rmwbench_span(spans, 1, 42, 5, 1000);
            rmwbench_span(std::ptr::null(), 1, 43, 5, 1000);
        }
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).unwrap();
        let slot = &bytes[4096..4096 + 64];
        let word = |at: usize| u64::from_le_bytes(slot[at..at + 8].try_into().unwrap());
        let half = |at: usize| u32::from_le_bytes(slot[at..at + 4].try_into().unwrap());
        assert_eq!(
            (word(0), word(8), half(16), half(48), half(52), half(60)),
            (42, 1000, 5, 1, 3, Kind::Span as u32)
        );
        assert_eq!(bytes[64 + 24], 1, "one slot was claimed, of the first section");
    }
}
