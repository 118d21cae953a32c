//! Modes: settings that mean the same for every middleware (`transport`, `batching`, …), so that
//! they can be factors of a suite.
//!
//! The vocabulary is closed and defined here; each middleware maps the modes that it supports to
//! its own configuration, and its description lists them. A mode that a description does not list
//! is refused in one place, before the middleware is opened, so that no worker can accept a mode
//! silently.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::middleware::{Description, Error, SessionConfig};

/// The form of a mode's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    Named(&'static [&'static str]),
    TrueOrFalse,
    /// A whole number from 1; described as `N`.
    Number,
}

/// The vocabulary, as in `worker-protocol.md`.
pub const MODES: [(&str, Levels); 9] = [
    ("transport", Levels::Named(&["udp", "tcp", "unix", "shm", "intra_process"])),
    ("batching", Levels::TrueOrFalse),
    ("congestion", Levels::Named(&["drop", "block"])),
    ("shm_pool_bytes", Levels::Number),
    ("discovery", Levels::Named(&["multicast", "spdp", "peers", "server", "routers", "client"])),
    ("threads", Levels::Number),
    (
        "executor",
        Levels::Named(&["single_threaded", "multi_threaded", "events", "events_cbg", "static"]),
    ),
    ("security", Levels::TrueOrFalse),
    ("compression", Levels::TrueOrFalse),
];

/// Builds the map for a description: a mode that is not listed is `no: REASON` by default.
pub fn modes(listed: &[(&str, &str)]) -> BTreeMap<String, String> {
    MODES
        .iter()
        .map(|(name, _)| {
            let answer =
                listed.iter().find(|(n, _)| n == name).map_or(NOT_MAPPED, |(_, answer)| answer);
            (name.to_string(), answer.to_string())
        })
        .collect()
}

const NOT_MAPPED: &str = "no: not mapped in this worker";

impl SessionConfig {
    /// Mode `name` as a `T`; None if it is not set. Errors: invalid if the level has the wrong
    /// shape, unsupported if it is in the vocabulary but not in `T`.
    pub fn mode<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let parse = |level: &Value| {
            serde_json::from_value(level.clone()).map_err(|e| {
                match (is_named(name, level), level.as_str()) {
                    (true, Some(level)) => Error::unsupported(
                        object(name),
                        format!("{level}: this middleware has no such way"),
                    ),
                    _ => Error::invalid(object(name), format!("{level} does not fit: {e}")),
                }
            })
        };
        self.modes.get(name).map(parse).transpose()
    }

    /// Refuses, as unsupported, the modes that are set and that are not in `taken`.
    pub fn only_modes(&self, taken: &[&str]) -> Result<(), Error> {
        match self.modes.keys().find(|name| !taken.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) if taken.is_empty() => {
                Err(Error::unsupported(object(name), "this worker takes no modes"))
            }
            Some(name) => Err(Error::unsupported(
                object(name),
                format!("this worker takes {}", taken.join(", ")),
            )),
        }
    }
}

/// Refuses modes that the vocabulary does not have (invalid) and those to which the description
/// says `no` (unsupported, with its reason). A level that only other middlewares have passes here:
/// the middleware itself refuses it with its reason, else [`check_granted`] does.
pub fn check_asked(description: &Description, config: &SessionConfig) -> Result<(), Error> {
    for (name, level) in &config.modes {
        let Some((_, levels)) = MODES.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
            return Err(Error::invalid(
                object(name),
                format!("no such mode; expected one of {}", known.join(", ")),
            ));
        };
        levels.check(level).map_err(|expected| {
            Error::invalid(object(name), format!("expected {expected}, found {level}"))
        })?;
        let answer = description.modes.get(name).map_or(NOT_MAPPED, String::as_str);
        if let Some(reason) = answer.strip_prefix("no: ") {
            return Err(Error::unsupported(object(name), reason));
        }
    }
    Ok(())
}

/// Refuses a level that is not in the description although the middleware opened with it.
pub fn check_granted(description: &Description, config: &SessionConfig) -> Result<(), Error> {
    for (name, level) in &config.modes {
        let described = description.modes.get(name).map_or("", String::as_str);
        let level_text = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
        if !described.split('|').any(|level| level == level_text || level == "N") {
            return Err(Error::unsupported(
                object(name),
                format!("{level_text}: {} has {described}", description.middleware),
            ));
        }
    }
    Ok(())
}

fn object(name: &str) -> String {
    format!("mode {name}")
}

/// Whether the vocabulary has this level; for modes whose levels are words.
fn is_named(name: &str, level: &Value) -> bool {
    MODES.iter().any(|(known, levels)| {
        *known == name && matches!(levels, Levels::Named(_)) && levels.check(level).is_ok()
    })
}

impl Levels {
    /// Checks that `level` has this shape; the error names the expected one.
    fn check(self, level: &Value) -> Result<(), String> {
        let fits = match self {
            Levels::Named(names) => level.as_str().is_some_and(|level| names.contains(&level)),
            Levels::TrueOrFalse => level.is_boolean(),
            Levels::Number => level.as_u64().is_some_and(|n| n > 0),
        };
        match self {
            _ if fits => Ok(()),
            Levels::Named(names) => Err(format!("one of {}", names.join(", "))),
            Levels::TrueOrFalse => Err("true or false".into()),
            Levels::Number => Err("a whole number from 1".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::middleware::{capabilities, ErrorKind, Profile};

    fn description() -> Description {
        Description {
            middleware: "some".into(),
            layer: "native".into(),
            version: "1".into(),
            release_date: "2026-01-01".into(),
            build: BTreeMap::new(),
            capabilities: capabilities(&[]),
            modes: modes(&[
                ("transport", "udp|shm"),
                ("threads", "N"),
                ("security", "no: this build has no plug-ins"),
            ]),
            profiles: Vec::new(),
        }
    }

    fn config_with(name: &str, level: Value) -> SessionConfig {
        let profile = Profile {
            name: "p".into(),
            format: "none".into(),
            text: String::new(),
            summary: String::new(),
        };
        SessionConfig {
            profile,
            options: BTreeMap::new(),
            modes: BTreeMap::from([(name.into(), level)]),
            domain_id: 0,
            trial_nonce: 1,
        }
    }

    #[test]
    fn every_mode_that_is_not_described_is_refused_with_its_reason() {
        let refusal =
            |name: &str, level| check_asked(&description(), &config_with(name, level)).unwrap_err();
        assert_eq!(
            refusal("security", json!(true)),
            Error::unsupported("mode security", "this build has no plug-ins")
        );
        assert_eq!(refusal("batching", json!(true)).kind, ErrorKind::Unsupported);
        let bare = Description { modes: BTreeMap::new(), ..description() };
        assert_eq!(
            check_asked(&bare, &config_with("threads", json!(2))).unwrap_err().kind,
            ErrorKind::Unsupported
        );
        for (name, level) in [
            ("speed", json!(1)),
            ("transport", json!("pigeon")),
            ("threads", json!(0)),
            ("security", json!("true")),
        ] {
            let error = refusal(name, level);
            assert_eq!(
                (error.kind, error.object),
                (ErrorKind::Invalid, format!("mode {name}")),
                "{}",
                error.message
            );
        }
        assert!(
            check_asked(&description(), &config_with("transport", json!("tcp"))).is_ok(),
            "the middleware says why it has no tcp"
        );
    }

    #[test]
    fn a_level_that_is_not_described_does_not_pass_as_granted() {
        let granted = |name: &str, level| check_granted(&description(), &config_with(name, level));
        assert!(granted("transport", json!("udp")).is_ok() && granted("threads", json!(7)).is_ok());
        let error = granted("transport", json!("tcp")).unwrap_err();
        assert!(
            error.kind == ErrorKind::Unsupported && error.message.contains("udp|shm"),
            "{error}"
        );
    }

    #[test]
    fn a_mode_is_taken_in_its_shape() {
        let config = config_with("threads", json!(4));
        assert_eq!(config.mode::<u32>("threads").unwrap(), Some(4));
        assert_eq!(config.mode::<String>("transport").unwrap(), None);
        assert_eq!(config.mode::<bool>("threads").unwrap_err().object, "mode threads");
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Discovery {
            Peers,
        }
        assert!(matches!(
            config_with("discovery", json!("peers")).mode("discovery"),
            Ok(Some(Discovery::Peers))
        ));
        let error =
            config_with("discovery", json!("routers")).mode::<Discovery>("discovery").unwrap_err();
        assert!(
            error.kind == ErrorKind::Unsupported && error.message.starts_with("routers: "),
            "{error}"
        );
        assert!(config.only_modes(&["threads"]).is_ok());
        assert_eq!(config.only_modes(&["transport"]).unwrap_err().kind, ErrorKind::Unsupported);
        assert_eq!(config.only_modes(&[]).unwrap_err().message, "this worker takes no modes");
    }
}
