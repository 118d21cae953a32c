//! Translates QoS between ROS 2's terms and Cyclone's, as rmw_cyclonedds does.
//!
//! That is: a reliable writer blocks without limit when its cache is full, resource limits are
//! unlimited, a writer's end does not dispose its data, and transient-local data is kept with the
//! endpoint's own history.

use std::ffi::CStr;

use rmwbench_harness::middleware::{EndpointConfig, Error};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};

use crate::sys::{self, Handle, QosHandle, UNLIMITED};

/// An owned `dds_qos_t`.
pub struct DdsQos(*mut QosHandle);

impl DdsQos {
    fn new() -> Self {
        // SAFETY: a plain allocation.
        DdsQos(unsafe { sys::dds_create_qos() })
    }

    pub fn as_ptr(&self) -> *mut QosHandle {
        self.0
    }

    /// A QoS that only names its entity.
    pub fn named(name: &CStr) -> Self {
        let qos = DdsQos::new();
        // SAFETY: both pointers are valid; Cyclone copies the name.
        unsafe { sys::dds_qset_entity_name(qos.0, name.as_ptr()) };
        qos
    }

    /// The QoS that an endpoint requests, without its content filter; a reliable writer waits for
    /// `max_blocking_ns` at most. Errors: unsupported for what Cyclone lacks, invalid for a history
    /// without depth.
    pub fn from_config(config: &EndpointConfig, max_blocking_ns: i64) -> Result<Self, Error> {
        let requested = &config.qos;
        let object = || format!("endpoint {}", config.endpoint);
        if requested.instance_key.is_some() {
            return Err(Error::unsupported(
                object(),
                "instance key: the topics of this worker are keyless",
            ));
        }
        let (history, depth) = match requested.history {
            History::KeepAll => (sys::KEEP_ALL, UNLIMITED),
            History::KeepLast => match i32::try_from(requested.depth) {
                Ok(depth) if depth > 0 => (sys::KEEP_LAST, depth),
                _ => {
                    return Err(Error::invalid(
                        object(),
                        format!("depth {}: expected 1 to {}", requested.depth, i32::MAX),
                    ))
                }
            },
        };
        let (reliability, max_blocking_ns) = match requested.reliability {
            Reliability::Reliable => (sys::RELIABLE, max_blocking_ns),
            Reliability::BestEffort => (sys::BEST_EFFORT, 0),
        };
        let qos = DdsQos::new();
        // SAFETY: the pointer is ours and every value is within its enumeration.
        unsafe {
            sys::dds_qset_history(qos.0, history, depth);
            sys::dds_qset_reliability(qos.0, reliability, max_blocking_ns);
            sys::dds_qset_writer_data_lifecycle(qos.0, false);
            match requested.durability {
                Durability::Volatile => sys::dds_qset_durability(qos.0, sys::VOLATILE),
                Durability::TransientLocal => {
                    sys::dds_qset_durability(qos.0, sys::TRANSIENT_LOCAL);
                    sys::dds_qset_durability_service(
                        qos.0, 0, history, depth, UNLIMITED, UNLIMITED, UNLIMITED,
                    );
                }
            }
        }
        Ok(qos)
    }
}

impl Drop for DdsQos {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::dds_delete_qos(self.0) };
    }
}

/// The QoS in force at a reader or writer, read back from Cyclone. Errors: it cannot be read.
pub fn granted(entity: Handle, config: &EndpointConfig) -> Result<Qos, Error> {
    let qos = DdsQos::new();
    let (mut history, mut depth, mut reliability, mut blocking_ns, mut durability) =
        (0, 0, 0, 0, 0);
    // SAFETY: out-pointers to locals of the types that the calls write.
    let read = unsafe {
        sys::dds_get_qos(entity, qos.0) == 0
            && sys::dds_qget_history(qos.0, &mut history, &mut depth)
            && sys::dds_qget_reliability(qos.0, &mut reliability, &mut blocking_ns)
            && sys::dds_qget_durability(qos.0, &mut durability)
    };
    if !read {
        let object = format!("endpoint {}", config.endpoint);
        return Err(Error::failed(object, "its QoS cannot be read back"));
    }
    Ok(Qos {
        reliability: match reliability {
            sys::RELIABLE => Reliability::Reliable,
            _ => Reliability::BestEffort,
        },
        durability: match durability {
            sys::VOLATILE => Durability::Volatile,
            _ => Durability::TransientLocal,
        },
        history: match history {
            sys::KEEP_ALL => History::KeepAll,
            _ => History::KeepLast,
        },
        depth: depth.max(0) as u32,
        // This is no QoS of DDS: a worker with a filter sets it on the topic.
        content_filter: config.qos.content_filter.clone(),
        instance_key: None,
    })
}
