//! Changes of a link at a time.

use serde::{Deserialize, Serialize};

use crate::spec::Spec;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub at_ns: i64,
    pub link: String,
    pub change: What,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum What {
    State(State),
    Specs(Specs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Blackhole,
    CarrierLoss,
    Up,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Spec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Spec>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub asked_ns: i64,
    pub done_ns: i64,
    pub link: String,
    pub change: What,
    /// What the device said where it refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
