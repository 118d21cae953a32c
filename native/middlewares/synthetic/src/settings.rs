//! The effects on messages: the profile is a JSON object, and options with the same names override
//! it.
//!
//! A suite's options are scalars, so an option that is an object here may also be written as words:
//! `latency: "lognormal median_ns=300000 sigma=0.5"`, `loss: "burst p=0.01 r=0.25"`, `cpu_burn_ns:
//! "publisher=20000 reader=5000"`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use rmwbench_harness::middleware::{Error, SessionConfig};

use crate::law::Law;

pub const SETTING_NAMES: [&str; 17] = [
    "transport",
    "seed",
    "latency",
    "fifo",
    "serve_ns",
    "loss",
    "duplicate",
    "reorder",
    "corrupt",
    "publish_block_ns",
    "cpu_burn_ns",
    "memory_growth_bytes",
    "spin_ns",
    "lying_path",
    "reply_latency",
    "reply_loss",
    "reply_duplicate",
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The floor's transport that carries the messages: `shm_ring`, `tcp` or `unix`; all are
    /// reliable, so that every loss is an injected one.
    pub transport: String,
    pub seed: u64,
    /// The latency from the publish call to the delivery; absent: that of the channel.
    pub latency: Option<Law>,
    /// If true, a message is not delivered before the previous one of its writer. The law then
    /// holds only while it stays below the spacing of messages; with `false`, messages may overtake
    /// slow ones, and the law holds at any rate.
    pub fifo: bool,
    /// Messages to a reader are served one after another, and each service takes this long before
    /// the law begins. Probes are served too, and take the law's mean, because they delay the
    /// messages after them.
    pub serve_ns: i64,
    pub loss: Option<Loss>,
    /// Probability that a message is delivered twice.
    pub duplicate: f64,
    pub reorder: Option<Reorder>,
    /// Probability that one byte is changed: a byte that the reader checks, or one of the header if
    /// it checks none.
    pub corrupt: f64,
    /// The least time that each publish call takes.
    pub publish_block_ns: i64,
    /// The CPU time used for each message.
    pub cpu_burn_ns: PerSide,
    /// The memory taken for each message and never given back.
    pub memory_growth_bytes: PerSide,
    /// How long before its time a sleep ends; the thread then spins. Exact times cost this much CPU
    /// per message.
    pub spin_ns: i64,
    /// The path that the account claims, even if it is false: for the test of attestations.
    pub lying_path: Option<String>,
    /// The latency of a service's replies. Settings without `reply_` apply to messages and
    /// requests, those with it apply to replies only, so that a loss is known to be that of a
    /// request or that of a reply.
    pub reply_latency: Option<Law>,
    pub reply_loss: Option<Loss>,
    /// Probability that a reply is delivered twice.
    pub reply_duplicate: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            transport: "shm_ring".into(),
            seed: 1,
            latency: None,
            fifo: true,
            serve_ns: 0,
            loss: None,
            duplicate: 0.0,
            reorder: None,
            corrupt: 0.0,
            publish_block_ns: 0,
            cpu_burn_ns: PerSide::default(),
            memory_growth_bytes: PerSide::default(),
            spin_ns: 100_000,
            lying_path: None,
            reply_latency: None,
            reply_loss: None,
            reply_duplicate: 0.0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// Each message is lost independently: the rate is p.
    Bernoulli { p: f64 },
    /// Gilbert–Elliott: after a message that is not lost, the next is lost with probability p;
    /// after a lost one, the next is not lost with probability r; before the first message none was
    /// lost. The rate tends to p / (p + r), the mean length of a burst is 1 / r.
    Burst { p: f64, r: f64 },
}

/// With probability `p` a message is held back for `by_ns` more, and does not hold back the
/// messages after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    pub p: f64,
    pub by_ns: i64,
}

/// A value for each side; a single number applies to both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "OneOrBoth")]
pub struct PerSide {
    pub publisher: u64,
    pub reader: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrBoth {
    Both(u64),
    #[serde(rename_all = "snake_case")]
    Each {
        #[serde(default)]
        publisher: u64,
        #[serde(default)]
        reader: u64,
    },
}

impl From<OneOrBoth> for PerSide {
    fn from(value: OneOrBoth) -> Self {
        match value {
            OneOrBoth::Both(n) => PerSide { publisher: n, reader: n },
            OneOrBoth::Each { publisher, reader } => PerSide { publisher, reader },
        }
    }
}

impl Settings {
    pub fn read(config: &SessionConfig) -> Result<Settings, Error> {
        config.only_options(&SETTING_NAMES)?;
        let object = format!("profile {}", config.profile.name);
        let text = config.profile.text.trim();
        let mut merged: Map<String, Value> =
            serde_json::from_str(if text.is_empty() { "{}" } else { text })
                .map_err(|e| Error::invalid(&object, format!("expected a JSON object: {e}")))?;
        Settings::from_map(merged.clone()).map_err(|e| Error::invalid(&object, e))?;
        for (key, value) in &config.options {
            merged.insert(key.clone(), structured(key, value));
            Settings::from_map(merged.clone())
                .map_err(|e| Error::invalid(format!("option {key}"), format!("{value}: {e}")))?;
        }
        Settings::from_map(merged).map_err(|e| Error::invalid(&object, e))
    }

    /// Settings from a JSON object; the error says what was expected.
    pub fn from_map(map: Map<String, Value>) -> Result<Settings, String> {
        // Each setting is read by itself, so that the error can name it.
        for (key, value) in &map {
            let alone = Map::from_iter([(key.clone(), value.clone())]);
            serde_json::from_value::<Settings>(Value::Object(alone))
                .map_err(|e| format!("{key}: {e}"))?;
        }
        let settings: Settings =
            serde_json::from_value(Value::Object(map)).map_err(|e| e.to_string())?;
        settings.fault().map_or(Ok(settings), Err)
    }

    fn fault(&self) -> Option<String> {
        let probability = |what: &str, p: f64| {
            (!(0.0..=1.0).contains(&p))
                .then(|| format!("{what}: expected a probability from 0 to 1, found {p}"))
        };
        let losses = |what: &str, loss: Option<Loss>| match loss {
            None => None,
            Some(Loss::Bernoulli { p }) => probability(&format!("{what} p"), p),
            Some(Loss::Burst { p, r }) => probability(&format!("{what} p"), p)
                .or_else(|| probability(&format!("{what} r"), r)),
        };
        let law = |what: &str, law: Option<Law>| {
            law.and_then(|law| law.fault()).map(|f| format!("{what}: {f}"))
        };
        losses("loss", self.loss)
            .or_else(|| losses("reply_loss", self.reply_loss))
            .or_else(|| probability("duplicate", self.duplicate))
            .or_else(|| probability("reply_duplicate", self.reply_duplicate))
            .or_else(|| probability("corrupt", self.corrupt))
            .or_else(|| self.reorder.and_then(|r| probability("reorder p", r.p)))
            .or_else(|| law("latency", self.latency))
            .or_else(|| law("reply_latency", self.reply_latency))
            .or_else(|| {
                let times = [
                    ("publish_block_ns", self.publish_block_ns),
                    ("serve_ns", self.serve_ns),
                    ("spin_ns", self.spin_ns),
                    ("reorder by_ns", self.reorder.map_or(0, |r| r.by_ns)),
                ];
                times
                    .into_iter()
                    .find(|(_, ns)| !(0..=3_600_000_000_000).contains(ns))
                    .map(|(what, ns)| format!("{what}: expected 0 to one hour, found {ns}"))
            })
            .or_else(|| {
                (!["shm_ring", "tcp", "unix"].contains(&self.transport.as_str())).then(|| {
                    format!(
                        "transport: expected shm_ring, tcp or unix, which lose nothing; found {}",
                        self.transport
                    )
                })
            })
    }

    /// Whether messages wait for their time, which needs a thread that holds them.
    pub fn holds_messages(&self) -> bool {
        self.latency.is_some()
            || self.reorder.is_some()
            || self.reply_latency.is_some()
            || self.serve_ns > 0
    }

    /// The settings for replies, in the form of settings for messages.
    pub fn of_replies(&self) -> Settings {
        Settings {
            transport: self.transport.clone(),
            seed: self.seed,
            latency: self.reply_latency,
            fifo: self.fifo,
            loss: self.reply_loss,
            duplicate: self.reply_duplicate,
            spin_ns: self.spin_ns,
            lying_path: self.lying_path.clone(),
            ..Settings::default()
        }
    }
}

/// An option's value; words `KIND key=value …` become the object that they describe.
fn structured(key: &str, value: &Value) -> Value {
    const OBJECTS: [&str; 7] = [
        "latency",
        "loss",
        "reorder",
        "cpu_burn_ns",
        "memory_growth_bytes",
        "reply_latency",
        "reply_loss",
    ];
    let Some(text) = value.as_str().filter(|_| OBJECTS.contains(&key)) else {
        return value.clone();
    };
    if let Ok(object) = serde_json::from_str::<Value>(text) {
        return object;
    }
    let mut object = Map::new();
    for word in text.split_whitespace() {
        match word.split_once('=') {
            None => object.insert("kind".into(), word.into()),
            Some((name, number)) => {
                let whole = number.parse::<i64>().map(Number::from).ok();
                let number = whole
                    .or_else(|| number.parse().ok().and_then(Number::from_f64))
                    .map_or(Value::String(number.into()), Value::Number);
                object.insert(name.into(), number)
            }
        };
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmwbench_harness::middleware::Profile;
    use serde_json::json;

    fn read(text: &str, options: Value) -> Result<Settings, Error> {
        let profile = Profile {
            name: "p".into(),
            format: "json".into(),
            text: text.into(),
            summary: String::new(),
        };
        Settings::read(&SessionConfig {
            profile,
            options: serde_json::from_value(options).unwrap(),
            modes: Default::default(),
            domain_id: 0,
            trial_nonce: 0,
        })
    }

    #[test]
    fn options_override_the_profile_and_words_stand_for_objects() {
        let settings = read(
            r#"{"seed": 7, "latency": {"kind": "constant", "ns": 5}}"#,
            json!({"latency": "lognormal median_ns=300000 sigma=0.5", "loss": "burst p=0.01 r=0.25", "cpu_burn_ns": "publisher=9", "memory_growth_bytes": 64}),
        )
        .unwrap();
        assert_eq!(settings.seed, 7);
        assert_eq!(settings.latency, Some(Law::Lognormal { median_ns: 3e5, sigma: 0.5 }));
        assert_eq!(settings.loss, Some(Loss::Burst { p: 0.01, r: 0.25 }));
        assert_eq!(settings.cpu_burn_ns, PerSide { publisher: 9, reader: 0 });
        assert_eq!(settings.memory_growth_bytes, PerSide { publisher: 64, reader: 64 });
    }

    #[test]
    fn replies_have_settings_of_their_own() {
        let settings = read(
            r#"{"loss": {"kind": "bernoulli", "p": 0.5}, "corrupt": 1.0}"#,
            json!({"reply_duplicate": 0.25}),
        )
        .unwrap();
        let replies = settings.of_replies();
        assert_eq!(
            (replies.loss, replies.corrupt, replies.duplicate, settings.duplicate),
            (None, 0.0, 0.25, 0.0)
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_where_it_stands() {
        let object = |text: &str, options| read(text, options).err().map(|e| e.object);
        assert_eq!(object("{", json!({})), Some("profile p".into()));
        assert_eq!(object(r#"{"losss": 1}"#, json!({})), Some("profile p".into()));
        assert_eq!(object("{}", json!({"duplicate": 1.5})), Some("option duplicate".into()));
        assert_eq!(
            object("{}", json!({"latency": "lognormal sigma=0.5"})),
            Some("option latency".into())
        );
        assert_eq!(
            object("{}", json!({"latency": "pareto min_ns=5 alpha=0"})),
            Some("option latency".into())
        );
        assert_eq!(object("{}", json!({"transport": "udp"})), Some("option transport".into()));
        assert_eq!(object("{}", json!({"delay": 1})), Some("option delay".into()));
        assert_eq!(
            object("{}", json!({"reply_loss": "bernoulli p=2"})),
            Some("option reply_loss".into())
        );
        assert_eq!(object("", json!({})), None);
    }
}
