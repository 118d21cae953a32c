//! Options that set limits where ROS 2 sets none.

use std::time::Duration;

use cyclors::dds_qset_resource_limits;
use rmwbench_cyclone::qos::DdsQos;
use rmwbench_cyclone::sys::{INFINITE_NS, UNLIMITED};
use rmwbench_harness::middleware::{EndpointConfig, Error, SessionConfig};

pub const MAX_BLOCKING: &str = "max_blocking_ms";
pub const MAX_SAMPLES: &str = "max_samples";

/// The limits that a session sets for all its endpoints; the default is ROS 2's: none.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    max_blocking_ns: i64,
    /// The number of samples in a reader's cache, besides the limit of its history.
    max_samples: i32,
}

impl Limits {
    pub fn from_config(config: &SessionConfig) -> Result<Limits, Error> {
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

    /// The QoS of an endpoint within these limits.
    pub fn qos(&self, config: &EndpointConfig) -> Result<DdsQos, Error> {
        let qos = DdsQos::from_config(config, self.max_blocking_ns)?;
        if self.max_samples != UNLIMITED {
            let (pointer, max_samples) = (qos.as_ptr().cast(), self.max_samples);
            // SAFETY: the pointer is ours.
            unsafe { dds_qset_resource_limits(pointer, max_samples, UNLIMITED, UNLIMITED) };
        }
        Ok(qos)
    }
}
