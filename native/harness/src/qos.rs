//! Quality of service in ROS 2's terms, requested and granted.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reliability {
    Reliable,
    BestEffort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    Volatile,
    TransientLocal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    KeepLast,
    KeepAll,
}

/// The QoS that an endpoint requests; the same type reports the granted QoS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qos {
    pub reliability: Reliability,
    pub durability: Durability,
    pub history: History,
    /// The number of messages kept with `keep_last`; it has no meaning for `keep_all`.
    pub depth: u32,
    /// A content filter expression; no middleware of the first set has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_filter: Option<String>,
    /// The field that is the key of instances; no suite requests it of a middleware of the first
    /// set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_key: Option<String>,
}

impl Default for Qos {
    /// ROS 2's default: reliable, volatile, keep the last 10.
    fn default() -> Self {
        Qos {
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            history: History::KeepLast,
            depth: 10,
            content_filter: None,
            instance_key: None,
        }
    }
}
