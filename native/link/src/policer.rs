//! A policer: the frames of a flow that exceed a limit are dropped at once. No frame waits, no flow
//! is slowed down, and no host is notified.
//!
//! A token bucket per flow (RFC 2697 §3, with one rate, and one colour that is kept), in whole
//! numbers: a token is a bit or a packet, counted in units of 10⁻⁹, so that rounding errors do not
//! add up however long it runs. A bucket begins full.

use crate::frame::{Facts, Flow};
use crate::memory::Recent;
use crate::spec::{Limit, Police, Protocol};

/// How many flows are remembered; a forgotten flow begins with a full bucket again.
const MOST_BUCKETS: usize = 8192;
const NS_PER_S: u128 = 1_000_000_000;

#[derive(Default)]
pub struct Policer(Option<InForce>);

struct InForce {
    spec: Police,
    /// The content of the bucket of each flow, and the time of that content.
    buckets: Recent<Flow, (u128, i64)>,
}

impl Policer {
    /// Sets another limit from now on; if it is the same one, the buckets stay.
    pub fn set(&mut self, spec: Option<&Police>) {
        if self.0.as_ref().map(|in_force| &in_force.spec) != spec {
            self.0 =
                spec.map(|spec| InForce { spec: spec.clone(), buckets: Recent::new(MOST_BUCKETS) });
        }
    }

    /// Whether a frame of `bytes` that comes now exceeds its flow's limit. A frame of another
    /// protocol than the policer's, or one that is not IP, never does.
    pub fn exceeds(&mut self, facts: &Facts, bytes: usize, at_ns: i64) -> bool {
        let (Some(InForce { spec, buckets }), Some(flow)) = (&mut self.0, facts.flow) else {
            return false;
        };
        if spec.protocol.is_some_and(|protocol| protocol.number() != flow.protocol) {
            return false;
        }
        let (rate_per_s, most, cost) = spec.limit.tokens(bytes);
        let most = most * NS_PER_S;
        let (tokens, since_ns) = buckets.get(flow).unwrap_or((most, at_ns));
        let tokens = most.min(tokens + (at_ns - since_ns).max(0) as u128 * rate_per_s);
        let cost = cost * NS_PER_S;
        let exceeds = cost > tokens;
        buckets.put(flow, (if exceeds { tokens } else { tokens - cost }, at_ns));
        exceeds
    }
}

impl Limit {
    /// Tokens per second, tokens of a full bucket, tokens that a frame takes: bits, or packets.
    fn tokens(self, bytes: usize) -> (u128, u128, u128) {
        match self {
            Limit::Bits { rate_bps, burst_bytes } => {
                (rate_bps.into(), u128::from(burst_bytes) * 8, bytes as u128 * 8)
            }
            Limit::Packets { packets_per_s, burst_packets } => {
                (packets_per_s.into(), burst_packets.into(), 1)
            }
        }
    }
}

impl Protocol {
    pub fn number(self) -> u8 {
        match self {
            Protocol::Udp => crate::headers::UDP,
            Protocol::Tcp => crate::headers::TCP,
        }
    }
}
