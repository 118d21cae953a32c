//! The portable modes in Zenoh's terms: each becomes settings of the configuration, in place of
//! those of the profile.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rmwbench_harness::keystore::Keystore;
use rmwbench_harness::middleware::{modes, Error, SessionConfig};
use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::{json, Value};
use zenoh::qos::CongestionControl;
use zenoh::Config;

use crate::rendezvous::{own_address, Link, Rendezvous};

/// The size from which a payload goes to shared memory if that is the requested transport: all but
/// empty ones.
const SHM_THRESHOLD_BYTES: u32 = 1;
/// The keys to which a profile's publication settings apply, and those of the harness.
const KEYS: &str = "rmwbench/**";

pub fn described() -> BTreeMap<String, String> {
    modes(&[
        ("transport", "udp|tcp|unix|shm|intra_process"),
        ("batching", "true|false"),
        ("congestion", "drop|block"),
        ("shm_pool_bytes", "N"),
        ("discovery", "multicast|peers|server"),
        ("threads", "N"),
        ("executor", "no: Zenoh has no executors, its own threads call back; wait block, poll and callback are the choices"),
        ("security", "true|false"),
        ("compression", "true|false"),
    ])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Udp,
    Tcp,
    Unix,
    Shm,
    IntraProcess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    Multicast,
    Peers,
    Server,
}

#[derive(Clone, Debug, Default)]
pub struct Modes {
    pub transport: Option<Transport>,
    pub discovery: Option<Discovery>,
    pub congestion: Option<CongestionControl>,
    batching: Option<bool>,
    pub shm_pool_bytes: Option<usize>,
    threads: Option<usize>,
    pub security: bool,
    compression: Option<bool>,
}

fn unsupported<T>(mode: &str, reason: impl Into<String>) -> Result<T, Error> {
    Err(Error::unsupported(format!("mode {mode}"), reason))
}

impl Modes {
    pub fn read(config: &SessionConfig) -> Result<Modes, Error> {
        config.only_modes(&described().keys().map(String::as_str).collect::<Vec<_>>())?;
        let congestion = named(config, "congestion")?.map(|level: String| match level.as_str() {
            "drop" => Ok(CongestionControl::Drop),
            "block" => Ok(CongestionControl::Block),
            other => Err(Error::invalid(
                "mode congestion",
                format!("expected drop or block, found {other}"),
            )),
        });
        let modes = Modes {
            transport: named(config, "transport")?,
            discovery: named(config, "discovery")?,
            congestion: congestion.transpose()?,
            batching: config.mode("batching")?,
            shm_pool_bytes: config.mode("shm_pool_bytes")?,
            threads: config.mode("threads")?,
            security: config.mode("security")?.unwrap_or(false),
            compression: config.mode("compression")?,
        };
        modes.agree()?;
        Ok(modes)
    }

    /// Refuses modes that contradict each other.
    fn agree(&self) -> Result<(), Error> {
        match self.transport {
            Some(Transport::Udp | Transport::Unix | Transport::Shm | Transport::IntraProcess)
                if self.security =>
            {
                return unsupported(
                    "security",
                    "Zenoh's TLS is a link of its own over TCP: it secures no other transport",
                );
            }
            Some(Transport::IntraProcess) if self.discovery.is_some() => {
                return unsupported("discovery", "with transport intra_process the session opens no link, so there is nothing to discover");
            }
            _ => {}
        }
        match (self.transport, self.shm_pool_bytes) {
            (
                Some(Transport::Tcp | Transport::Udp | Transport::Unix | Transport::IntraProcess),
                Some(_),
            ) => unsupported("shm_pool_bytes", "the transport asked for uses no shared memory"),
            _ => Ok(()),
        }
    }

    /// On a shared host sessions do not use multicast to find each other: peers are found as with
    /// `discovery: peers`. Errors: multicast was requested.
    pub fn keep_to_loopback(&mut self, profile: &str) -> Result<(), String> {
        if self.discovery == Some(Discovery::Multicast) {
            return Err(
                "multicast: it would leave this machine, whose network this trial shares".into()
            );
        }
        if self.discovery.is_some()
            || self.transport == Some(Transport::IntraProcess)
            || Rendezvous::is_asked_for(profile)
        {
            return Ok(());
        }
        let text = if profile.is_empty() {
            "{}".into()
        } else {
            profile.replace("{router}", &Link::Tcp.router())
        };
        // A text that cannot be parsed here is refused where it is really read.
        let scouts = |config: Config| {
            config.get_json("scouting/multicast/enabled").is_ok_and(|enabled| enabled != "false")
        };
        if Config::from_json5(&text).is_ok_and(scouts) {
            self.discovery = Some(Discovery::Peers);
        }
        Ok(())
    }

    /// The link that the modes request, whatever the profile has.
    pub fn link(&self) -> Option<Link> {
        match self.transport {
            _ if self.security => Some(Link::Tls),
            Some(Transport::Tcp) => Some(Link::Tcp),
            Some(Transport::Udp) => Some(Link::Udp),
            Some(Transport::Unix) => Some(Link::Unix),
            Some(Transport::Shm | Transport::IntraProcess) | None => None,
        }
    }

    /// Replaces the profile's settings. `link` is the link on which the session listens, unless the
    /// profile's own text decides that.
    pub fn apply(
        &self,
        config: &mut Config,
        link: Option<Link>,
        rendezvous: Option<&Rendezvous>,
        keystore: Option<&Keystore>,
    ) -> Result<(), Error> {
        let mut set = Setter(config);
        if let Some(link) = link {
            set.links(self.discovery, link, rendezvous)?;
        }
        match self.transport {
            Some(Transport::IntraProcess) => {
                set.json("mode", json!("peer"))?; // a client must have a router
                set.json("listen/endpoints", json!([]))?;
                set.json("connect/endpoints", json!([]))?;
                set.json("scouting/multicast/enabled", json!(false))?;
                set.json("scouting/gossip/enabled", json!(false))?;
            }
            Some(Transport::Shm) => {
                set.json("transport/shared_memory/enabled", json!(true))?;
                set.json("transport/shared_memory/mode", json!("init"))?;
                set.json("transport/shared_memory/transport_optimization/enabled", json!(true))?;
                set.json(
                    "transport/shared_memory/transport_optimization/message_size_threshold",
                    json!(SHM_THRESHOLD_BYTES),
                )?;
            }
            // Encrypted links with unencrypted memory beside them would not be secure; the named
            // transports carry all messages.
            Some(_) => set.json("transport/shared_memory/enabled", json!(false))?,
            None if self.security => set.json("transport/shared_memory/enabled", json!(false))?,
            None => {}
        }
        if let Some(link) = self.link() {
            set.json("transport/link/protocols", json!([link.scheme()]))?;
        }
        if let Some(keystore) = keystore {
            set.json("transport/link/tls", tls(keystore))?;
        }
        if let Some(batching) = self.batching {
            set.json("transport/link/tx/queue/batching/enabled", json!(batching))?;
            // The message carries the flag express, so that a router does not batch it either.
            set.publications(|settings| drop(settings.insert("express".into(), json!(!batching))))?;
        }
        if let Some(compression) = self.compression {
            // LZ4 over the content of a batch, if both ends of a link request it; a batch that
            // would not shrink is sent as it is.
            set.json("transport/unicast/compression/enabled", json!(compression))?;
        }
        if self.congestion.is_some() {
            // The harness sets it, by endpoint: the profile must not overwrite it.
            set.publications(|settings| drop(settings.remove("congestion_control")))?;
        }
        if let Some(bytes) = self.shm_pool_bytes {
            if set
                .0
                .get_json("transport/shared_memory/enabled")
                .is_ok_and(|enabled| enabled == "false")
            {
                return unsupported(
                    "shm_pool_bytes",
                    "the profile has shared memory disabled; with transport shm it is enabled",
                );
            }
            set.json("transport/shared_memory/transport_optimization/pool_size", json!(bytes))?;
        }
        self.threads.map_or(Ok(()), start_threads)
    }

    /// The part of the effective configuration that is not in Zenoh's file, as comments in it.
    pub fn beside_the_file(&self) -> String {
        self.threads.map_or_else(String::new, |threads| {
            format!("// environment: ZENOH_RUNTIME='{}'\n", runtime(threads))
        })
    }
}

fn named<T: DeserializeOwned>(config: &SessionConfig, name: &str) -> Result<Option<T>, Error> {
    config.mode(name)
}

struct Setter<'a>(&'a mut Config);

impl Setter<'_> {
    fn json(&mut self, key: &str, value: Value) -> Result<(), Error> {
        self.0
            .insert_json5(key, &value.to_string())
            .map_err(|e| Error::failed(format!("configuration {key}"), e))
    }

    /// Sets where the session listens, and how it finds others.
    fn links(
        &mut self,
        discovery: Option<Discovery>,
        link: Link,
        rendezvous: Option<&Rendezvous>,
    ) -> Result<(), Error> {
        let own = rendezvous.and_then(|r| r.own.clone());
        let anywhere = match link {
            Link::Unix => own.clone().unwrap_or_else(|| link.router()),
            ip => format!("{}/[::]:0", ip.scheme()),
        };
        let client = self.0.get_json("mode").is_ok_and(|mode| mode == "\"client\"");
        match discovery {
            Some(Discovery::Peers) => {
                self.json("mode", json!("peer"))?;
                self.json("listen/endpoints", json!([own.unwrap_or(anywhere)]))?;
                self.json(
                    "connect/endpoints",
                    json!(rendezvous.map(|r| r.peers.clone()).unwrap_or_default()),
                )?;
                self.json("connect/retry", json!({"period_init_ms": 10, "period_max_ms": 100, "period_increase_factor": 2}))?;
                self.json("scouting/multicast/enabled", json!(false))?;
                self.json("scouting/gossip/enabled", json!(false))
            }
            Some(Discovery::Multicast) => {
                self.json("mode", json!("peer"))?;
                self.json("listen/endpoints", json!([anywhere]))?;
                self.json("connect/endpoints", json!([]))?;
                self.json("scouting/multicast/enabled", json!(true))
            }
            Some(Discovery::Server) => {
                // As in rmw_zenoh: the router informs peers of each other, and they connect among
                // themselves.
                self.json("mode", json!("peer"))?;
                self.json("listen/endpoints", json!([local(link).unwrap_or(anywhere)]))?;
                self.json("connect/endpoints", json!([link.router()]))?;
                self.json("scouting/multicast/enabled", json!(false))?;
                self.json("scouting/gossip/enabled", json!(true))
            }
            // Only the link is requested: the profile's discovery stays, over that link.
            None => {
                if !endpoints(self.0, "connect").is_empty() {
                    self.json("connect/endpoints", json!([link.router()]))?;
                }
                if client {
                    return Ok(());
                }
                self.json("listen/endpoints", json!([anywhere]))
            }
        }
    }

    /// Changes the settings of all publications: those that the profile has, and one for all of the
    /// harness's keys.
    fn publications(
        &mut self,
        change: impl Fn(&mut serde_json::Map<String, Value>),
    ) -> Result<(), Error> {
        let present = self
            .0
            .get_json("qos/publication")
            .ok()
            .and_then(|text| serde_json::from_str::<Vec<Value>>(&text).ok());
        let mut all = present.unwrap_or_default();
        let about_ours = |item: &Value| {
            item["key_exprs"].as_array().is_some_and(|keys| keys.iter().any(|key| key == KEYS))
        };
        if !all.iter().any(about_ours) {
            all.push(json!({"key_exprs": [KEYS], "config": {}}));
        }
        for settings in all.iter_mut().filter_map(|item| item["config"].as_object_mut()) {
            settings.retain(|_, value| !value.is_null());
            change(settings);
        }
        self.json("qos/publication", Value::Array(all))
    }
}

/// Zenoh's `transport/link/tls`: both ends of a link present a certificate of the trial's
/// authority.
fn tls(keystore: &Keystore) -> Value {
    let enclave = keystore.enclave();
    let file = |name: &str| enclave.join(name).display().to_string();
    json!({
        "root_ca_certificate": file("identity_ca.cert.pem"),
        "listen_private_key": file("key.pem"),
        "listen_certificate": file("cert.pem"),
        "connect_private_key": file("key.pem"),
        "connect_certificate": file("cert.pem"),
        "enable_mtls": true,
        // All processes of a host, each with an address of its own, have one certificate.
        "verify_name_on_connect": false,
    })
}

/// A port that the system selects at this host's address, for peers that are informed of each
/// other.
fn local(link: Link) -> Option<String> {
    (link != Link::Unix).then(|| format!("{}/{}:0", link.scheme(), own_address()))
}

/// The `connect` or `listen` endpoints of a configuration, whether it has one list or one for each
/// mode.
pub fn endpoints(config: &Config, key: &str) -> Vec<String> {
    let value: Value = config
        .get_json(&format!("{key}/endpoints"))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let mode = config
        .get_json("mode")
        .ok()
        .and_then(|mode| serde_json::from_str::<Option<String>>(&mode).ok())
        .flatten();
    let list = if value.is_object() { &value[mode.as_deref().unwrap_or("peer")] } else { &value };
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(|endpoint| endpoint.as_str().map(str::to_string))
        .collect()
}

/// Zenoh's threads belong to the process, and their number is read from the environment when the
/// first session opens.
fn start_threads(threads: usize) -> Result<(), Error> {
    static STARTED_WITH: OnceLock<usize> = OnceLock::new();
    let started = *STARTED_WITH.get_or_init(|| {
        // Sound while no thread reads the environment through C: until its session opens, a worker
        // has only the threads of the control socket.
        std::env::set_var("ZENOH_RUNTIME", runtime(threads));
        threads
    });
    if started == threads {
        Ok(())
    } else {
        Err(Error::failed(
            "mode threads",
            format!("Zenoh's threads are the process's, and this one was started with {started}"),
        ))
    }
}

fn runtime(threads: usize) -> String {
    format!("(rx: (worker_threads: {threads}))")
}
