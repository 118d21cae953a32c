//! The profile, in this worker's own JSON, and the modes that replace its settings.
//!
//! An absent setting is libzmq's default. TCP is the default transport because only it serves every
//! case.

use rmwbench_harness::middleware::{Configuration, Error, SessionConfig};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    #[default]
    Tcp,
    Unix,
    IntraProcess,
}

impl Transport {
    /// The name in an [`rmwbench_harness::middleware::Evidence`].
    pub fn path(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Unix => "unix",
            Transport::IntraProcess => "intra_process",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    Drop,
    Block,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(default)]
    pub transport: Transport,
    /// ZMQ_SNDBUF and ZMQ_RCVBUF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_buffer_bytes: Option<i32>,
    /// ZMQ_IO_THREADS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
    /// The behaviour of a full queue; absent: as in the QoS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
}

impl Settings {
    pub fn of(config: &SessionConfig) -> Result<Self, Error> {
        let mut settings: Settings = config.profile.json()?;
        match config.mode::<String>("transport")?.as_deref() {
            None => {}
            Some("tcp") => settings.transport = Transport::Tcp,
            Some("unix") => settings.transport = Transport::Unix,
            Some("intra_process") => settings.transport = Transport::IntraProcess,
            Some(other) => {
                let message = format!("{other}: libzmq has no {other} transport for PUB/SUB; expected tcp, unix or intra_process");
                return Err(Error::unsupported("mode transport", message));
            }
        }
        if let Some(threads) = config.mode("threads")? {
            settings.threads = Some(threads);
        }
        if let Some(congestion) = config.mode("congestion")? {
            settings.congestion = Some(congestion);
        }
        config.only_modes(&["transport", "threads", "congestion"])?;
        if settings.socket_buffer_bytes.is_some() && settings.transport == Transport::IntraProcess {
            let message = "socket_buffer_bytes: inproc has no sockets of the kernel";
            return Err(Error::unsupported(format!("profile {}", config.profile.name), message));
        }
        Ok(settings)
    }

    /// The settings in force, in the form of a profile that has them.
    pub fn configuration(&self) -> Configuration {
        Configuration::json(self)
    }
}

#[cfg(test)]
mod tests {
    use rmwbench_conformance::pair;
    use rmwbench_harness::middleware::ErrorKind;
    use serde_json::{json, Value};

    use super::*;

    fn settings_with(text: &str, modes: &[(&str, Value)]) -> Result<Settings, Error> {
        Settings::of(&pair::session_with_modes(&pair::profile("json", text), modes))
    }

    #[test]
    fn modes_replace_what_the_profile_says_and_the_rest_stays() {
        let settings = settings_with(
            r#"{"transport": "unix", "threads": 2}"#,
            &[("transport", json!("tcp")), ("congestion", json!("block"))],
        )
        .unwrap();
        assert_eq!(
            settings,
            Settings {
                threads: Some(2),
                congestion: Some(Congestion::Block),
                ..Settings::default()
            }
        );
        let again = settings_with(&settings.configuration().text, &[]).unwrap();
        assert_eq!(again, settings, "the configuration in force is a profile");
    }

    #[test]
    fn what_libzmq_cannot_do_is_unsupported_and_nonsense_invalid() {
        assert_eq!(
            settings_with("{}", &[("transport", json!("shm"))]).unwrap_err().kind,
            ErrorKind::Unsupported
        );
        assert_eq!(
            settings_with("{}", &[("batching", json!(true))]).unwrap_err().kind,
            ErrorKind::Unsupported
        );
        let inproc = ("transport", json!("intra_process"));
        let error = settings_with(r#"{"socket_buffer_bytes": 1}"#, &[inproc]).unwrap_err();
        assert_eq!((error.kind, error.object.as_str()), (ErrorKind::Unsupported, "profile test"));
        assert_eq!(settings_with(r#"{"speed": 1}"#, &[]).unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(
            settings_with("{}", &[("threads", json!(70_000))]).unwrap_err().kind,
            ErrorKind::Invalid
        );
    }
}
