//! The effects of a link on frames, as the orchestrator writes them. An unknown field is refused: a
//! misspelt effect must not be ignored silently.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One direction of a link. An absent field has no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    pub rate_bps: Option<u64>,
    pub queue_bytes: Option<u64>,
    pub queue_frames: Option<u64>,
    pub queue_ns: Option<i64>,
    pub delay_ns: i64,
    pub jitter: Option<Jitter>,
    pub loss: Option<Loss>,
    pub reorder: Option<Reorder>,
    pub duplicate: f64,
    pub corrupt: f64,
    pub mtu_bytes: Option<u64>,
    pub police: Option<Police>,
    pub medium: Option<String>,
    pub trace: Option<Trace>,
    pub exempt_arp: bool,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            rate_bps: None,
            queue_bytes: None,
            queue_frames: None,
            queue_ns: None,
            delay_ns: 0,
            jitter: None,
            loss: None,
            reorder: None,
            duplicate: 0.0,
            corrupt: 0.0,
            mtu_bytes: None,
            police: None,
            medium: None,
            trace: None,
            exempt_arp: true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Jitter {
    Correlated { sd_ns: i64, correlation_ns: i64 },
    Independent { sd_ns: i64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    Bernoulli {
        p: f64,
    },
    /// `p`: the chance per frame of becoming bad, `r`: of recovering; `good`, `bad`: the loss in
    /// each state.
    GilbertElliott {
        p: f64,
        r: f64,
        #[serde(default)]
        good: f64,
        #[serde(default = "one")]
        bad: f64,
    },
    /// `good_ns`, `bad_ns`: the mean stay in each state.
    GilbertElliottTime {
        good_ns: i64,
        bad_ns: i64,
        #[serde(default)]
        good: f64,
        #[serde(default = "one")]
        bad: f64,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    pub p: f64,
    pub by_ns: i64,
}

/// The limit of a policer for each flow: of the flows of one protocol if it is given, else of all
/// IP flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenPolice", into = "WrittenPolice")]
pub struct Police {
    pub limit: Limit,
    pub protocol: Option<Protocol>,
}

/// The limit in bits or in packets: a rate, and how much may come at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    Bits { rate_bps: u64, burst_bytes: u64 },
    Packets { packets_per_s: u64, burst_packets: u64 },
}

/// A policer as a line has it: two of the four numbers make one [`Limit`].
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPolice {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate_bps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    burst_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets_per_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    burst_packets: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protocol: Option<Protocol>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Udp,
    Tcp,
}

/// Time in ns since the beginning, rate, delay, loss; null leaves the spec's own value.
pub type Row = (i64, Option<u64>, Option<i64>, Option<f64>);

/// Exactly one of `rows`, `opportunities_ns` and `fd` is given; `fd` is a memory file with one of
/// the others, for a trace that is longer than a line may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Row>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunities_ns: Option<Vec<i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fd: Option<i32>,
    #[serde(default = "mahimahi_bytes")]
    pub bytes: u64,
    #[serde(default = "yes")]
    pub repeat: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSpec {
    pub up: Spec,
    pub down: Spec,
}

/// A shared medium: a model of airtime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediumSpec {
    pub rate_bps: u64,
    #[serde(default)]
    pub overhead_ns: i64,
    /// None: the same as `rate_bps`.
    #[serde(default)]
    pub basic_rate_bps: Option<u64>,
    #[serde(default = "seven")]
    pub retries: u8,
    #[serde(default)]
    pub phy_loss: f64,
    #[serde(default = "default_queue_frames")]
    pub queue_frames: u64,
    /// CoDel for each of the station's queues to one host; None: waiting frames are not dropped.
    #[serde(default)]
    pub codel: Option<CodelSpec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelSpec {
    pub target_ns: i64,
    pub interval_ns: i64,
}

/// The limit of a queue if its spec gives none.
pub const DEFAULT_QUEUE_FRAMES: u64 = 1000;
/// The shortest mean stay in a state: a shorter stay is no burst, and each change of state takes
/// computing time.
const SHORTEST_STATE_NS: i64 = 10_000;
/// The size of a frame with an MTU of 1500, with Ethernet's header.
const LARGEST_USUAL_FRAME_BYTES: u64 = 1514;
/// A day: longer times are a mistake.
const LONGEST_NS: i64 = 86_400_000_000_000;

fn one() -> f64 {
    1.0
}
fn yes() -> bool {
    true
}
fn seven() -> u8 {
    7
}
fn mahimahi_bytes() -> u64 {
    1504
}
fn default_queue_frames() -> u64 {
    DEFAULT_QUEUE_FRAMES
}

impl Spec {
    /// What is wrong with the spec; None if nothing is. `media` are the existing media.
    pub fn problem(&self, media: &BTreeMap<String, MediumSpec>) -> Option<String> {
        let chances = [("duplicate", self.duplicate), ("corrupt", self.corrupt)];
        let problem = positive("rate_bps", self.rate_bps)
            .or_else(|| positive("queue_bytes", self.queue_bytes))
            .or_else(|| positive("queue_frames", self.queue_frames))
            .or_else(|| positive("mtu_bytes", self.mtu_bytes))
            .or_else(|| self.queue_ns.and_then(|ns| duration("queue_ns", ns, 1)))
            .or_else(|| duration("delay_ns", self.delay_ns, 0))
            .or_else(|| chances.into_iter().find_map(|(name, p)| chance(name, p)))
            .or_else(|| {
                self.reorder.as_ref().and_then(|r| {
                    chance("reorder.p", r.p).or_else(|| duration("reorder.by_ns", r.by_ns, 0))
                })
            })
            .or_else(|| self.jitter.as_ref().and_then(Jitter::problem))
            .or_else(|| self.loss.as_ref().and_then(Loss::problem))
            .or_else(|| self.police.as_ref().and_then(Police::problem))
            .or_else(|| self.trace.as_ref().and_then(Trace::problem));
        if problem.is_some() {
            return problem;
        }
        let medium = self.medium.as_ref()?;
        if let Some(problem) = no_medium(medium, media) {
            return Some(problem);
        }
        let rated = self.rate_bps.is_some() || self.trace.as_ref().is_some_and(Trace::has_rate);
        rated.then(|| format!("medium {medium} gives the rate: expected neither rate_bps nor a trace with rates beside it"))
    }

    /// Whether frames may wait for a rate here.
    pub fn has_rate(&self) -> bool {
        self.rate_bps.is_some() || self.trace.as_ref().is_some_and(Trace::has_rate)
    }
}

impl Jitter {
    fn problem(&self) -> Option<String> {
        match *self {
            Jitter::Independent { sd_ns } => duration("jitter.sd_ns", sd_ns, 0),
            Jitter::Correlated { sd_ns, correlation_ns } => duration("jitter.sd_ns", sd_ns, 0)
                .or_else(|| duration("jitter.correlation_ns", correlation_ns, 1)),
        }
    }
}

impl Loss {
    fn problem(&self) -> Option<String> {
        match *self {
            Loss::Bernoulli { p } => chance("loss.p", p),
            Loss::GilbertElliott { p, r, good, bad } => {
                [("loss.p", p), ("loss.r", r), ("loss.good", good), ("loss.bad", bad)]
                    .into_iter()
                    .find_map(|(name, p)| chance(name, p))
            }
            Loss::GilbertElliottTime { good_ns, bad_ns, good, bad } => {
                duration("loss.good_ns", good_ns, SHORTEST_STATE_NS)
                    .or_else(|| duration("loss.bad_ns", bad_ns, SHORTEST_STATE_NS))
                    .or_else(|| chance("loss.good", good))
                    .or_else(|| chance("loss.bad", bad))
            }
        }
    }
}

impl Police {
    fn problem(&self) -> Option<String> {
        match self.limit {
            // A smaller bucket would never let a frame of the usual size through: an outage under
            // another name.
            Limit::Bits { burst_bytes, .. } if burst_bytes < LARGEST_USUAL_FRAME_BYTES => {
                Some(format!(
                    "police.burst_bytes: expected at least {LARGEST_USUAL_FRAME_BYTES}, one frame"
                ))
            }
            Limit::Bits { rate_bps, .. } => positive("police.rate_bps", Some(rate_bps)),
            Limit::Packets { packets_per_s, burst_packets } => {
                positive("police.packets_per_s", Some(packets_per_s))
                    .or_else(|| positive("police.burst_packets", Some(burst_packets)))
            }
        }
    }
}

impl TryFrom<WrittenPolice> for Police {
    type Error = &'static str;

    fn try_from(written: WrittenPolice) -> Result<Police, &'static str> {
        let WrittenPolice { rate_bps, burst_bytes, packets_per_s, burst_packets, protocol } =
            written;
        let limit =
            match (rate_bps, burst_bytes, packets_per_s, burst_packets) {
                (Some(rate_bps), Some(burst_bytes), None, None) => {
                    Limit::Bits { rate_bps, burst_bytes }
                }
                (None, None, Some(packets_per_s), Some(burst_packets)) => {
                    Limit::Packets { packets_per_s, burst_packets }
                }
                _ => return Err(
                    "police: expected rate_bps and burst_bytes, or packets_per_s and burst_packets",
                ),
            };
        Ok(Police { limit, protocol })
    }
}

impl From<Police> for WrittenPolice {
    fn from(police: Police) -> WrittenPolice {
        let protocol = police.protocol;
        match police.limit {
            Limit::Bits { rate_bps, burst_bytes } => WrittenPolice {
                rate_bps: Some(rate_bps),
                burst_bytes: Some(burst_bytes),
                protocol,
                ..WrittenPolice::default()
            },
            Limit::Packets { packets_per_s, burst_packets } => WrittenPolice {
                packets_per_s: Some(packets_per_s),
                burst_packets: Some(burst_packets),
                protocol,
                ..WrittenPolice::default()
            },
        }
    }
}

impl Trace {
    pub fn has_rate(&self) -> bool {
        self.opportunities_ns.is_some() || self.rows.iter().flatten().any(|row| row.1.is_some())
    }

    fn problem(&self) -> Option<String> {
        match (&self.rows, &self.opportunities_ns, self.fd) {
            (Some(rows), None, None) => {
                let rising = rows.windows(2).all(|pair| pair[0].0 < pair[1].0);
                if rows.is_empty()
                    || rows[0].0 < 0
                    || rows[rows.len() - 1].0 > LONGEST_NS
                    || !rising
                {
                    return Some(
                        "trace.rows: expected at least one row, at rising times from 0 up to a day"
                            .into(),
                    );
                }
                if self.repeat && rows.iter().all(|row| row.1 == Some(0)) {
                    return Some("trace.rows: every rate is 0, so no frame would ever go".into());
                }
                rows.iter().find_map(|row| {
                    let delay = row.2.and_then(|ns| duration("trace.rows: a delay", ns, 0));
                    delay.or_else(|| row.3.and_then(|p| chance("trace.rows: a loss", p)))
                })
            }
            (None, Some(times), None) => {
                let rising = times.windows(2).all(|pair| pair[0] <= pair[1]);
                let last = times.last().copied().unwrap_or(0);
                if !rising
                    || times.first().is_none_or(|first| *first < 0)
                    || last <= 0
                    || last > LONGEST_NS
                {
                    return Some("trace.opportunities_ns: expected times from 0 up to a day that never fall, the last one above 0".into());
                }
                positive("trace.bytes", Some(self.bytes))
            }
            _ => Some("trace: expected exactly one of rows and opportunities_ns".into()),
        }
    }
}

impl MediumSpec {
    pub fn problem(&self) -> Option<String> {
        positive("rate_bps", Some(self.rate_bps))
            .or_else(|| positive("basic_rate_bps", self.basic_rate_bps))
            .or_else(|| positive("queue_frames", Some(self.queue_frames)))
            .or_else(|| duration("overhead_ns", self.overhead_ns, 0))
            .or_else(|| chance("phy_loss", self.phy_loss))
            .or_else(|| {
                let CodelSpec { target_ns, interval_ns } = self.codel?;
                duration("codel.target_ns", target_ns, 1)
                    .or_else(|| duration("codel.interval_ns", interval_ns, 1))
            })
    }
}

/// An error if there is no medium with this name.
pub(crate) fn no_medium(name: &str, media: &BTreeMap<String, MediumSpec>) -> Option<String> {
    let known: Vec<&str> = media.keys().map(String::as_str).collect();
    (!known.contains(&name))
        .then(|| format!("medium {name} does not exist; there is: {}", known.join(", ")))
}

fn positive(name: &str, value: Option<u64>) -> Option<String> {
    (value == Some(0)).then(|| format!("{name}: expected a number above 0, found 0"))
}

pub(crate) fn duration(name: &str, ns: i64, least: i64) -> Option<String> {
    (!(least..=LONGEST_NS).contains(&ns))
        .then(|| format!("{name}: expected {least} up to a day in ns, found {ns}"))
}

fn chance(name: &str, p: f64) -> Option<String> {
    (!(0.0..=1.0).contains(&p)).then(|| format!("{name}: expected a chance from 0 to 1, found {p}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Option<String> {
        let media = BTreeMap::from([(
            "wifi".to_string(),
            serde_json::from_str(r#"{"rate_bps": 54000000}"#).unwrap(),
        )]);
        match serde_json::from_str::<Spec>(text) {
            Ok(spec) => spec.problem(&media),
            Err(error) => Some(error.to_string()),
        }
    }

    #[test]
    fn what_is_left_out_does_nothing_and_what_is_wrong_is_named() {
        assert_eq!(serde_json::from_str::<Spec>("{}").unwrap(), Spec::default());
        for good in [
            "{}",
            r#"{"rate_bps": 54000000, "loss": {"kind": "bernoulli", "p": 0.1}}"#,
            r#"{"medium": "wifi", "jitter": {"kind": "correlated", "sd_ns": 1, "correlation_ns": 2}}"#,
            r#"{"trace": {"rows": [[0, null, 5, null], [10, 0, null, 0.5]]}}"#,
            r#"{"trace": {"opportunities_ns": [0, 0, 1000000]}}"#,
            r#"{"police": {"rate_bps": 10000000, "burst_bytes": 64000, "protocol": "udp"}}"#,
            r#"{"police": {"packets_per_s": 100, "burst_packets": 1}}"#,
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        for (bad, names) in [
            (r#"{"rate": 5}"#, "unknown field"),
            (r#"{"rate_bps": 0}"#, "rate_bps"),
            (r#"{"loss": {"kind": "bernoulli", "p": 1.1}}"#, "loss.p"),
            (r#"{"loss": {"kind": "bernoulli", "p": 0.1, "r": 0.1}}"#, "unknown field"),
            (r#"{"loss": {"kind": "gilbert", "p": 0.1}}"#, "unknown variant"),
            (
                r#"{"loss": {"kind": "gilbert_elliott_time", "good_ns": 1, "bad_ns": 1000000}}"#,
                "loss.good_ns: expected 10000",
            ),
            (r#"{"delay_ns": -1}"#, "delay_ns"),
            (r#"{"delay_ns": 9000000000000000000}"#, "delay_ns"),
            (r#"{"medium": "ether"}"#, "medium ether does not exist; there is: wifi"),
            (r#"{"medium": "wifi", "rate_bps": 5}"#, "neither rate_bps"),
            (
                r#"{"trace": {"rows": [[5, null, null, null], [5, null, null, null]]}}"#,
                "rising times",
            ),
            (r#"{"trace": {"rows": [[0, 0, null, null]]}}"#, "no frame would ever go"),
            (r#"{"trace": {"opportunities_ns": [0]}}"#, "the last one above 0"),
            (r#"{"police": {"rate_bps": 1000000}}"#, "rate_bps and burst_bytes"),
            (
                r#"{"police": {"rate_bps": 1000000, "burst_packets": 5}}"#,
                "rate_bps and burst_bytes",
            ),
            (
                r#"{"police": {"rate_bps": 1, "burst_bytes": 2000, "packets_per_s": 3}}"#,
                "rate_bps and burst_bytes",
            ),
            (r#"{"police": {"rate_bps": 1000000, "burst_bytes": 1000}}"#, "at least 1514"),
            (r#"{"police": {"packets_per_s": 0, "burst_packets": 5}}"#, "police.packets_per_s"),
            (
                r#"{"police": {"packets_per_s": 9, "burst_packets": 5, "protocol": "icmp"}}"#,
                "unknown variant",
            ),
            (r#"{"trace": {"rows": [[0, 1, 1, 1]], "opportunities_ns": [1]}}"#, "exactly one"),
        ] {
            let message = problem(bad).unwrap_or_else(|| panic!("{bad} was accepted"));
            assert!(message.contains(names), "{bad}: {message}");
        }
    }

    #[test]
    fn a_policer_is_told_as_it_was_asked() {
        for text in [
            r#"{"rate_bps":10000000,"burst_bytes":64000,"protocol":"udp"}"#,
            r#"{"rate_bps":10000000,"burst_bytes":64000}"#,
            r#"{"packets_per_s":100,"burst_packets":1,"protocol":"tcp"}"#,
        ] {
            assert_eq!(
                serde_json::to_string(&serde_json::from_str::<Police>(text).unwrap()).unwrap(),
                text
            );
        }
    }
}
