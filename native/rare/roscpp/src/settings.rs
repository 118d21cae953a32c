//! The profile, in this worker's own JSON, and the modes that replace its settings: roscpp has no
//! configuration file.

use rmwbench_harness::middleware::{Configuration, Error, SessionConfig};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Readers request TCP_NODELAY: small messages do not wait for each other.
    #[serde(default)]
    pub tcp_nodelay: bool,
    /// A client keeps its connection between calls.
    #[serde(default)]
    pub persistent_services: bool,
    /// Readers request UDPROS.
    #[serde(default)]
    pub udp: bool,
    /// A node without /rosout, to which roscpp's own log goes.
    #[serde(default)]
    pub no_rosout: bool,
}

impl Settings {
    pub fn of(config: &SessionConfig) -> Result<Self, Error> {
        let mut settings: Settings = config.profile.json()?;
        match config.mode::<String>("transport")?.as_deref() {
            None => {}
            Some("tcp") => settings.udp = false,
            Some("udp") => settings.udp = true,
            Some("intra_process") => {
                let message = "intra_process: within a process roscpp passes what is published as a shared_ptr (loan: true) by itself";
                return Err(Error::unsupported("mode transport", message));
            }
            Some(other) => {
                return Err(Error::unsupported(
                    "mode transport",
                    format!("{other}: roscpp has TCPROS and UDPROS"),
                ))
            }
        }
        if let Some(batching) = config.mode::<bool>("batching")? {
            settings.tcp_nodelay = !batching;
        }
        if let Some(other) =
            config.mode::<String>("discovery")?.filter(|discovery| discovery != "server")
        {
            return Err(Error::unsupported(
                "mode discovery",
                format!("{other}: ROS 1 nodes find each other by their master alone"),
            ));
        }
        config.only_modes(&["transport", "batching", "discovery"])?;
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
    fn modes_replace_what_the_profile_says() {
        let settings = settings_with(
            r#"{"tcp_nodelay": true, "no_rosout": true}"#,
            &[("batching", json!(true)), ("transport", json!("udp"))],
        )
        .unwrap();
        assert_eq!(settings, Settings { udp: true, no_rosout: true, ..Settings::default() });
        assert_eq!(settings_with(&settings.configuration().text, &[]).unwrap(), settings);
        for (name, level) in [
            ("transport", json!("shm")),
            ("transport", json!("intra_process")),
            ("discovery", json!("multicast")),
        ] {
            assert_eq!(
                settings_with("{}", &[(name, level)]).unwrap_err().kind,
                ErrorKind::Unsupported
            );
        }
        assert_eq!(
            settings_with(r#"{"nodelay": true}"#, &[]).unwrap_err().kind,
            ErrorKind::Invalid
        );
    }
}
