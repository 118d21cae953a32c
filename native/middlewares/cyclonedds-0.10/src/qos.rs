//! QoS in ROS 2's words to Cyclone's and back, set as rmw_cyclonedds sets it (`rmwbench_qos_asked`
//! in `shim/blob.c`).
//!
//! That is: a reliable writer blocks without limit when its cache is full, resource limits are
//! unlimited, a writer's end does not dispose its data, and transient-local data is kept with the
//! endpoint's own history.

use std::ffi::CStr;

use rmwbench_harness::middleware::{EndpointConfig, Error};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};

use crate::sys::{self, Handle, QosHandle};

/// An owned `dds_qos_t`.
pub struct DdsQos(*mut QosHandle);

impl DdsQos {
    pub fn as_ptr(&self) -> *const QosHandle {
        self.0
    }

    /// A QoS that only names its entity.
    pub fn named(name: &CStr) -> Self {
        // SAFETY: a plain allocation; Cyclone copies the name.
        unsafe {
            let qos = DdsQos(sys::dds_create_qos());
            sys::dds_qset_entity_name(qos.0, name.as_ptr());
            qos
        }
    }

    /// What an endpoint asks for. Errors: what Cyclone lacks is unsupported, a history without
    /// depth invalid.
    pub fn asked(config: &EndpointConfig) -> Result<Self, Error> {
        let asked = &config.qos;
        let object = || format!("endpoint {}", config.endpoint);
        if asked.content_filter.is_some() {
            return Err(Error::unsupported(
                object(),
                "content filter: Cyclone DDS filters by a C function on typed samples",
            ));
        }
        if asked.instance_key.is_some() {
            return Err(Error::unsupported(
                object(),
                "instance key: the topics of this worker are keyless",
            ));
        }
        let depth = match (asked.history, i32::try_from(asked.depth)) {
            (History::KeepAll, _) => 0,
            (History::KeepLast, Ok(depth)) if depth > 0 => depth,
            _ => {
                return Err(Error::invalid(
                    object(),
                    format!("depth {}: expected 1 to {}", asked.depth, i32::MAX),
                ))
            }
        };
        let qos = sys::Qos {
            reliable: asked.reliability == Reliability::Reliable,
            transient_local: asked.durability == Durability::TransientLocal,
            keep_all: asked.history == History::KeepAll,
            depth,
        };
        // SAFETY: a plain struct that outlives the call.
        Ok(DdsQos(unsafe { sys::rmwbench_qos_asked(&qos) }))
    }
}

impl Drop for DdsQos {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::dds_delete_qos(self.0) };
    }
}

/// The QoS in force at a reader or writer, read back from Cyclone; None when it cannot be read.
pub fn granted(entity: Handle) -> Option<Qos> {
    let mut qos = sys::Qos::default();
    // SAFETY: fills a plain struct.
    unsafe { sys::rmwbench_qos_granted(entity, &mut qos) }.then(|| Qos {
        reliability: if qos.reliable { Reliability::Reliable } else { Reliability::BestEffort },
        durability: if qos.transient_local {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        history: if qos.keep_all { History::KeepAll } else { History::KeepLast },
        depth: qos.depth.max(0) as u32,
        content_filter: None,
        instance_key: None,
    })
}
