//! QoS in ROS 2's words to Cyclone's and back, set as rmw_cyclonedds sets it.
//!
//! That is: a reliable writer blocks without limit when its cache is full, resource limits are
//! unlimited (options can bound both), a writer's end does not dispose its data, and
//! transient-local data is kept with the endpoint's own history.

use std::ffi::CStr;
use std::time::Duration;

use cyclors::*;
use rmwbench_harness::middleware::{EndpointConfig, Error, SessionConfig};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};

use crate::filter;

const INFINITE_NS: i64 = i64::MAX;
const UNLIMITED: i32 = -1;

/// The options that bound what ROS 2 leaves without bounds.
pub const MAX_BLOCKING: &str = "max_blocking_ms";
pub const MAX_SAMPLES: &str = "max_samples";

/// Bounds that a session sets for all its endpoints; by default those of ROS 2, which has none.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    max_blocking_ns: i64,
    /// What a reader's cache may hold, the history aside.
    max_samples: i32,
}

impl Limits {
    pub fn asked(config: &SessionConfig) -> Result<Limits, Error> {
        let max_blocking_ms: Option<u64> = config.option(MAX_BLOCKING, None)?;
        let max_samples: Option<u32> = config.option(MAX_SAMPLES, None)?;
        let max_samples = match max_samples.map(i32::try_from) {
            None => UNLIMITED,
            Some(Ok(samples)) if samples > 0 => samples,
            Some(_) => {
                return Err(Error::invalid(
                    format!("option {MAX_SAMPLES}"),
                    format!("expected 1 to {}", i32::MAX),
                ))
            }
        };
        let max_blocking_ns =
            max_blocking_ms.and_then(|ms| i64::try_from(Duration::from_millis(ms).as_nanos()).ok());
        Ok(Limits { max_blocking_ns: max_blocking_ns.unwrap_or(INFINITE_NS), max_samples })
    }
}

/// An owned `dds_qos_t`.
pub struct DdsQos(*mut dds_qos_t);

impl DdsQos {
    pub fn new() -> Self {
        // SAFETY: a plain allocation.
        DdsQos(unsafe { dds_create_qos() })
    }

    pub fn as_ptr(&self) -> *mut dds_qos_t {
        self.0
    }

    /// A QoS that only names its entity.
    pub fn named(name: &CStr) -> Self {
        let qos = DdsQos::new();
        // SAFETY: both pointers are valid; Cyclone copies the name.
        unsafe { dds_qset_entity_name(qos.0, name.as_ptr()) };
        qos
    }

    /// What an endpoint asks for. Errors: what Cyclone lacks is unsupported, a history without
    /// depth invalid.
    pub fn asked(config: &EndpointConfig, limits: &Limits) -> Result<Self, Error> {
        let asked = &config.qos;
        let object = || format!("endpoint {}", config.endpoint);
        if let Some(expression) = &asked.content_filter {
            filter::percent(expression, config.endpoint)?;
        }
        if asked.instance_key.is_some() {
            return Err(Error::unsupported(
                object(),
                "instance key: the topics of this worker are keyless",
            ));
        }
        let (history, depth) = match asked.history {
            History::KeepAll => (dds_history_kind_DDS_HISTORY_KEEP_ALL, UNLIMITED),
            History::KeepLast => match i32::try_from(asked.depth) {
                Ok(depth) if depth > 0 => (dds_history_kind_DDS_HISTORY_KEEP_LAST, depth),
                _ => {
                    return Err(Error::invalid(
                        object(),
                        format!("depth {}: expected 1 to {}", asked.depth, i32::MAX),
                    ))
                }
            },
        };
        let (reliability, max_blocking_ns) = match asked.reliability {
            Reliability::Reliable => {
                (dds_reliability_kind_DDS_RELIABILITY_RELIABLE, limits.max_blocking_ns)
            }
            Reliability::BestEffort => (dds_reliability_kind_DDS_RELIABILITY_BEST_EFFORT, 0),
        };
        let qos = DdsQos::new();
        // SAFETY: the pointer is ours and every value lies within its enumeration.
        unsafe {
            dds_qset_history(qos.0, history, depth);
            dds_qset_reliability(qos.0, reliability, max_blocking_ns);
            dds_qset_writer_data_lifecycle(qos.0, false);
            if limits.max_samples != UNLIMITED {
                dds_qset_resource_limits(qos.0, limits.max_samples, UNLIMITED, UNLIMITED);
            }
            match asked.durability {
                Durability::Volatile => {
                    dds_qset_durability(qos.0, dds_durability_kind_DDS_DURABILITY_VOLATILE)
                }
                Durability::TransientLocal => {
                    dds_qset_durability(qos.0, dds_durability_kind_DDS_DURABILITY_TRANSIENT_LOCAL);
                    dds_qset_durability_service(
                        qos.0, 0, history, depth, UNLIMITED, UNLIMITED, UNLIMITED,
                    );
                }
            }
        }
        Ok(qos)
    }

    /// Keeps the endpoint from Cyclone's shared-memory exchange.
    pub fn without_psmx(self) -> Self {
        // SAFETY: the pointer is ours; no instances, so no names are read.
        unsafe { dds_qset_psmx_instances(self.0, 0, std::ptr::null_mut()) };
        self
    }

    /// What others can read beside the endpoint's QoS.
    pub fn with_user_data(self, text: Option<&str>) -> Self {
        if let Some(text) = text {
            // SAFETY: the pointer is ours; Cyclone copies the bytes.
            unsafe { dds_qset_userdata(self.0, text.as_ptr().cast(), text.len()) };
        }
        self
    }

    /// Whether a writer packs messages until it is flushed; no by default.
    pub fn batching(self, on: bool) -> Self {
        if on {
            // SAFETY: the pointer is ours.
            unsafe { dds_qset_writer_batching(self.0, true) };
        }
        self
    }

    /// The QoS in force at a reader or writer, read back from Cyclone; None when it cannot be read.
    pub fn granted(entity: dds_entity_t) -> Option<Qos> {
        let qos = DdsQos::new();
        let (mut history, mut depth, mut reliability, mut blocking_ns, mut durability) =
            (0, 0, 0, 0, 0);
        // SAFETY: out-pointers to locals of the types that the calls write.
        let read = unsafe {
            dds_get_qos(entity, qos.0) == 0
                && dds_qget_history(qos.0, &mut history, &mut depth)
                && dds_qget_reliability(qos.0, &mut reliability, &mut blocking_ns)
                && dds_qget_durability(qos.0, &mut durability)
        };
        read.then(|| Qos {
            reliability: match reliability {
                r if r == dds_reliability_kind_DDS_RELIABILITY_RELIABLE => Reliability::Reliable,
                _ => Reliability::BestEffort,
            },
            durability: match durability {
                d if d == dds_durability_kind_DDS_DURABILITY_VOLATILE => Durability::Volatile,
                _ => Durability::TransientLocal,
            },
            history: match history {
                h if h == dds_history_kind_DDS_HISTORY_KEEP_ALL => History::KeepAll,
                _ => History::KeepLast,
            },
            depth: depth.max(0) as u32,
            content_filter: None,
            instance_key: None,
        })
    }
}

impl Drop for DdsQos {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { dds_delete_qos(self.0) };
    }
}
