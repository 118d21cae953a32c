//! Content filters: `percent < N` on the sequence number of the harness's header
//! (worker-protocol.md).
//!
//! Cyclone filters by a C function that belongs to a reader's topic: it makes a whole sample of
//! every message that arrives, calls the function, and drops the samples that it refuses before the
//! reader's history. Writers do not know the filter and send all messages. Making a sample needs a
//! described type, so such a reader has a topic of that kind, whatever the session's kind is.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};

use cyclors::{dds_entity_t, dds_set_topic_filter_and_arg};
use rmwbench_cyclone::entity::words;
use rmwbench_cyclone::wire::Wire;
use rmwbench_harness::middleware::{EndpointConfig, Error};
use rmwbench_harness::payload::{Header, Phase};

use crate::topic::Kind;

/// The kind of topic that a filter needs.
pub const TOPICS: Kind = Kind::Descriptor;

pub struct Filter {
    percent: u32,
    /// The number of bytes of a sample before the payload, and of the payload.
    payload_at: usize,
    payload_bytes: usize,
    evaluated: AtomicI64,
    refused: AtomicI64,
}

impl Filter {
    /// The filter that an endpoint requests; None if it requests none. Errors: another expression.
    pub fn from_config(config: &EndpointConfig, wire: &Wire) -> Result<Option<Filter>, Error> {
        let Some(expression) = &config.qos.content_filter else { return Ok(None) };
        Ok(Some(Filter {
            percent: percent(expression, config.endpoint)?,
            payload_at: wire.payload_at(),
            payload_bytes: wire.message_type.payload_bytes as usize,
            evaluated: AtomicI64::new(0),
            refused: AtomicI64::new(0),
        }))
    }

    /// Filters the messages of this topic's readers; `self` must stay where it is until they are
    /// gone.
    pub fn set(&self, topic: dds_entity_t, object: &str) -> Result<(), Error> {
        let argument = std::ptr::from_ref(self).cast_mut().cast::<c_void>();
        // SAFETY: the caller keeps `self` as long as readers of the topic exist.
        match unsafe { dds_set_topic_filter_and_arg(topic, Some(evaluate), argument) } {
            0 => Ok(()),
            code => Err(Error::failed(format!("{object}: content filter"), words(code))),
        }
    }

    /// How many messages came to the filter of this reader, and how many it refused.
    pub fn counters(&self) -> [(String, i64); 2] {
        let of = |name: &str, count: &AtomicI64| (name.to_string(), count.load(Ordering::Relaxed));
        [of("reader_filter_evaluated", &self.evaluated), of("reader_filter_refused", &self.refused)]
    }

    fn passes(&self, payload: &[u8]) -> bool {
        match Header::read(payload) {
            // The barrier's probes pass, and so do messages that are not of a trial.
            Ok(header) if header.phase != Phase::Probe => passes(header.seq, self.percent),
            _ => true,
        }
    }
}

/// The N of `percent < N`. Errors: another expression.
pub fn percent(expression: &str, endpoint: u32) -> Result<u32, Error> {
    let percent = match expression.split_whitespace().collect::<Vec<_>>()[..] {
        ["percent", "<", percent] => percent.parse().ok().filter(|n| *n <= 100),
        _ => None,
    };
    percent.ok_or_else(|| {
        let message = format!(
            "content filter: expected `percent < N` with N from 0 to 100, found `{expression}`; Cyclone DDS has no language for filters"
        );
        Error::unsupported(format!("endpoint {endpoint}"), message)
    })
}

/// Whether `percent` of 100 message numbers include this one: Fibonacci hashing of its low 32 bits.
fn passes(seq: u64, percent: u32) -> bool {
    let mixed = (seq as u32).wrapping_mul(2_654_435_761);
    (u64::from(mixed) * 100) >> 32 < u64::from(percent)
}

unsafe extern "C" fn evaluate(sample: *const c_void, filter: *mut c_void) -> bool {
    // SAFETY: the argument is the filter that `set` was given, and the sample has the described
    // type, which is long enough for all of this.
    let (filter, payload) = unsafe {
        let filter = &*filter.cast::<Filter>();
        (
            filter,
            std::slice::from_raw_parts(
                sample.cast::<u8>().add(filter.payload_at),
                filter.payload_bytes,
            ),
        )
    };
    let passes = filter.passes(payload);
    filter.evaluated.fetch_add(1, Ordering::Relaxed);
    if !passes {
        filter.refused.fetch_add(1, Ordering::Relaxed);
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_passes_is_the_one_asked() {
        for percent in [0, 1, 25, 50, 99, 100] {
            let passed = (0..10_000).filter(|&seq| passes(seq, percent)).count();
            assert!(passed.abs_diff(100 * percent as usize) <= 20, "{percent}: {passed} of 10000");
        }
        // These are the first numbers that pass `percent < 10`, in every worker.
        assert_eq!((0..40).filter(|&seq| passes(seq, 10)).collect::<Vec<_>>(), [0, 5, 13, 26, 34]);
    }

    #[test]
    fn another_expression_is_unsupported() {
        assert_eq!(percent(" percent  < 25 ", 1), Ok(25));
        for expression in
            ["percent < 101", "percent < -1", "percent <25", "x > 1", "", "percent < 5 and more"]
        {
            let error = percent(expression, 7).unwrap_err();
            assert!(
                error.object == "endpoint 7" && error.message.contains("expected `percent < N`"),
                "{error}"
            );
        }
    }
}
