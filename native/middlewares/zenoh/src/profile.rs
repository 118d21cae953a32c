//! Profiles are Zenoh configurations (JSON5), with words in place of values that no fixed text can
//! hold: `{unix}`, `{tcp}`, `{udp}` and `{tls}` stand for an endpoint of this process's own,
//! `"{peers}"` for those of the trial's earlier processes ([`crate::rendezvous`]), `{router}` for
//! the router of the host ([`crate::router`]). A profile without them is used as it is. Modes are
//! applied to the result ([`crate::modes`]).

use rmwbench_harness::keystore::Keystore;
use rmwbench_harness::middleware::{Error, Profile, SessionConfig};
use rmwbench_harness::shared_host;
use zenoh::Config;

use crate::modes::{endpoints, Modes};
use crate::rendezvous::{port, Link, Rendezvous};

/// Profiles with settings that Zenoh's file cannot express.
pub const RMW_ZENOH: &str = "rmw_zenoh";
pub const SHM: &str = "shm";
pub const TUNED: &str = "tuned";
pub const IMPLICIT_SHM: &str = "implicit_shm";
pub const ROUTER: &str = "router";
/// The address at which rmw_zenoh searches for its router.
const ROUTER_OF_ROS: &str = "tcp/localhost:7447";

pub fn embedded() -> Vec<Profile> {
    let profile = |name: &str, text: &str, summary: &str| Profile {
        name: name.into(),
        format: "json5".into(),
        text: text.into(),
        summary: summary.into(),
    };
    vec![
        profile(
            "untouched",
            include_str!("../profiles/untouched.json5"),
            "as installed: multicast discovery, TCP, no shared memory, as in a default build",
        ),
        profile(TUNED, include_str!("../profiles/tuned.json5"), "as installed, and an explicit shared-memory provider for publishers of 3072 bytes and more"),
        profile(IMPLICIT_SHM, include_str!("../profiles/implicit_shm.json5"), "as installed, and shared memory that Zenoh chooses itself for payloads of 3072 bytes and more, a pool of 16 MiB"),
        profile("tcp", include_str!("../profiles/tcp.json5"), "TCP over loopback alone, no shared memory"),
        profile(
            RMW_ZENOH,
            include_str!("../profiles/rmw_zenoh.json5"),
            "rmw_zenoh's default session: a router for discovery, peers over TCP, no shared memory, its congestion control",
        ),
        profile(ROUTER, include_str!("../profiles/router.json5"), "clients of a router, through which every message goes"),
        profile(SHM, include_str!("../profiles/shm.json5"), "an explicit shared-memory provider for each publisher, Unix sockets"),
        profile("unixsock", include_str!("../profiles/unixsock.json5"), "Unix sockets alone, no shared memory"),
    ]
}

/// Whether an embedded profile's links stay in the file system of a host.
pub fn uses_unix_sockets(name: &str) -> bool {
    embedded()
        .iter()
        .any(|profile| profile.name == name && Link::in_text(&profile.text) == Some(Link::Unix))
}

/// The data with which a session opens.
pub struct Prepared {
    pub config: Config,
    pub modes: Modes,
    /// The place among the trial's processes, if it has one.
    pub rendezvous: Option<Rendezvous>,
}

/// Combines profile and modes. Errors: a profile that Zenoh cannot read, modes that it does not
/// support.
pub fn prepare(session_config: &SessionConfig) -> Result<Prepared, Error> {
    build(session_config, true)
}

/// The data with which the router of a host opens: the workers' configuration, listening where they
/// connect, or a router's own file as it is.
pub fn prepare_router(session_config: &SessionConfig) -> Result<Prepared, Error> {
    let mut prepared = build(session_config, false)?;
    if prepared.config.get_json("mode").is_ok_and(|mode| mode == "\"router\"") {
        return Ok(prepared);
    }
    // It listens on every link of its clients; if a mode names the link, on that link alone.
    let mut listen = endpoints(&prepared.config, "connect");
    let links =
        prepared.modes.link().map_or(vec![Link::Tcp, Link::Udp, Link::Unix], |link| vec![link]);
    let taken = |listen: &[String], link: Link| {
        listen.iter().any(|endpoint| endpoint.starts_with(&format!("{}/", link.scheme())))
    };
    for link in links {
        if !taken(&listen, link) {
            listen.push(link.router());
        }
    }
    let settings = [
        ("mode", "\"router\"".into()),
        ("listen/endpoints", serde_json::json!(listen).to_string()),
        ("connect/endpoints", "[]".into()),
    ];
    for (key, value) in settings {
        let value: String = value;
        prepared
            .config
            .insert_json5(key, &value)
            .map_err(|e| Error::failed(format!("router's {key}"), e))?;
    }
    Ok(prepared)
}

fn build(session_config: &SessionConfig, listens: bool) -> Result<Prepared, Error> {
    let profile = &session_config.profile;
    let object = || format!("profile {}", profile.name);
    if profile.format != "json5"
        && profile.format != "json"
        && !(profile.format == "none" && profile.text.is_empty())
    {
        return Err(Error::invalid(
            object(),
            format!("expected format json5, found {}", profile.format),
        ));
    }
    let mut modes = Modes::read(session_config)?;
    if shared_host::name().is_some() {
        modes
            .keep_to_loopback(&profile.text)
            .map_err(|message| Error::unsupported("mode discovery", message))?;
    }
    let by_words = Rendezvous::is_asked_for(&profile.text);
    let link = modes.link().or(Link::in_text(&profile.text)).unwrap_or(Link::Tcp);
    let replaced = modes.discovery.is_some() || (modes.link().is_some() && !by_words);
    let rendezvous = if by_words || replaced {
        let joined = Rendezvous::join(
            listens.then_some(link),
            session_config.trial_nonce,
            session_config.domain_id,
        );
        Some(joined.map_err(|e| Error::failed(object(), e))?)
    } else {
        None
    };
    let keystore = modes.security.then(|| Keystore::of(session_config.trial_nonce)).transpose()?;
    let text = profile
        .text
        .replace("{router}", &link.router())
        .replace(ROUTER_OF_ROS, &format!("tcp/127.0.0.1:{}", port()));
    let text = rendezvous.as_ref().map_or(text.clone(), |r| r.fill(&text));
    let text = if text.is_empty() { "{}" } else { &text };
    let mut config =
        Config::from_json5(text).map_err(|e| Error::invalid(object(), e.to_string()))?;
    if !speaks_of_shared_memory(text) {
        config
            .insert_json5("transport/shared_memory/enabled", "false")
            .map_err(|e| Error::failed(object(), e))?;
    }
    modes.apply(&mut config, replaced.then_some(link), rendezvous.as_ref(), keystore.as_ref())?;
    if shared_host::name().is_some() {
        check_kept_to_loopback(&config).map_err(|message| Error::unsupported(object(), message))?;
    }
    Ok(Prepared { config, modes, rendezvous })
}

/// Refuses settings in a user's own profile that would reach beyond this machine, on a shared host.
fn check_kept_to_loopback(config: &Config) -> Result<(), String> {
    if config.get_json("scouting/multicast/enabled").is_ok_and(|enabled| enabled != "false") {
        return Err("it looks for others by multicast, on every interface of this machine".into());
    }
    let client = config.get_json("mode").is_ok_and(|mode| mode == "\"client\"");
    let keys: &[&str] = if client { &["connect"] } else { &["connect", "listen"] };
    let local = |endpoint: &String| {
        let address = endpoint.split_once('/').map_or("", |(_, address)| address);
        let starts =
            ["127.", "localhost:", "[::1]:"].iter().any(|start| address.starts_with(start));
        endpoint.starts_with("unixsock-stream/") || starts
    };
    match keys.iter().flat_map(|key| endpoints(config, key)).find(|endpoint| !local(endpoint)) {
        Some(endpoint) => Err(format!("{endpoint} is not an address of the loopback interface")),
        None => Ok(()),
    }
}

/// Whether a profile decides about shared memory. This worker has Zenoh's feature `shared-memory`,
/// which a default build does not have. With it, shared memory is on unless a file says otherwise;
/// this worker then switches it off, as for a user with a default build.
fn speaks_of_shared_memory(text: &str) -> bool {
    let file: serde_json::Value = json5::from_str(text).unwrap_or_default();
    file["transport"]["shared_memory"].is_object()
}

/// The payload size from which each publisher has a provider of shared memory, also without loans:
/// in `shm` any size but 0, in `tuned` the threshold of Zenoh's own file; None: no publisher has
/// one. `option` is the arm's option.
pub fn provider_from_bytes(profile: &str, option: Option<bool>, config: &Config) -> Option<u64> {
    if !has_shared_memory(config) {
        return None;
    }
    match (option, profile) {
        (Some(false), _) => None,
        (None, TUNED) => config
            .get_json("transport/shared_memory/transport_optimization/message_size_threshold")
            .ok()?
            .parse()
            .ok(),
        (Some(true), _) | (None, SHM) => Some(1),
        (None, _) => None,
    }
}

/// Whether payloads may travel in shared memory.
pub fn has_shared_memory(config: &Config) -> bool {
    config.get_json("transport/shared_memory/enabled").is_ok_and(|v| v == "true")
}

/// The size from which payloads of puts go to shared memory by themselves; None if that is switched
/// off, for all messages or for puts.
pub fn shared_memory_threshold_bytes(config: &Config) -> Option<u64> {
    let key = |name: &str| {
        config.get_json(&format!("transport/shared_memory/transport_optimization/{name}")).ok()
    };
    let messages: Vec<String> = serde_json::from_str(&key("messages")?).ok()?;
    let puts = messages.iter().any(|message| message == "put");
    let enabled = has_shared_memory(config) && puts && key("enabled")? == "true";
    enabled.then(|| key("message_size_threshold")?.parse().ok()).flatten()
}

/// The size of the pool that Zenoh makes for itself; None if it makes none.
pub fn pool_bytes(config: &Config) -> Option<u64> {
    shared_memory_threshold_bytes(config)?;
    config.get_json("transport/shared_memory/transport_optimization/pool_size").ok()?.parse().ok()
}

/// Whether messages may travel over UDP links, which resend nothing.
pub fn has_udp_links(config: &Config) -> bool {
    ["listen", "connect"]
        .iter()
        .flat_map(|key| endpoints(config, key))
        .any(|endpoint| endpoint.starts_with("udp/"))
}

/// How long a request waits for its replies.
pub fn request_timeout_ms(config: &Config) -> u64 {
    let set = config.get_json("queries_default_timeout").ok().and_then(|value| value.parse().ok());
    set.unwrap_or(10_000) // Zenoh's own default
}
