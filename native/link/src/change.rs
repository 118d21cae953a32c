//! Changes that a link makes at a set time.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::spec::Spec;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub at_ns: i64,
    pub link: String,
    pub change: What,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant)] // a handful in a trial
pub enum What {
    State(State),
    Roam(Roam),
    Specs(Specs),
}

impl<'de> Deserialize<'de> for What {
    /// Reads the shape of a change first, so that an error names what is wrong within it; the error
    /// of an `untagged` enum would only be that no variant fits.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<What, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let what = if value.is_string() {
            serde_json::from_value(value).map(What::State)
        } else if value.get("roam").is_some() {
            serde_json::from_value(value).map(What::Roam)
        } else {
            serde_json::from_value(value).map(What::Specs)
        };
        what.map_err(D::Error::custom)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Blackhole,
    CarrierLoss,
    Up,
    /// Functions of time begin anew: traces, and losses in time.
    Restart,
}

/// A change to another medium, after a gap in which the host is on none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roam {
    pub roam: String,
    #[serde(default)]
    pub gap_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Spec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Spec>,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub asked_ns: i64,
    pub done_ns: i64,
    pub link: String,
    pub change: What,
    /// When a roaming host is on its new medium; absent if it never got there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined_ns: Option<i64>,
    /// The device's error if it refused, or why there was nothing to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
