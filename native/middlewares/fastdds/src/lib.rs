//! Fast DDS through its own C++ API, as ROS 2's rmw_fastrtps uses it.
//!
//! The C++ shim (`shim/`) fills the table of `rmwbench_worker.h`; this crate adds the embedded
//! profiles and is otherwise the harness's adapter. The decisions, and the files with their
//! reasons:
//! - messages are raw CDR under ROS 2's topic and type names, with one copy per side, which the API
//!   requires: `shim/raw_type.hpp`;
//! - QoS is set as by rmw_fastrtps, the rest by the profile: `shim/qos.cpp`;
//! - a process has one participant, and nodes are names: `shim/session.hpp`;
//! - readers wait in the harness's loops, one over a WaitSet and one that spins, or in Fast DDS's
//!   own thread: `shim/pumps.hpp`, `shim/reader.hpp`;
//! - profiles are Fast DDS's XML: `shim/profile.hpp` and `profiles/`; modes and options are applied
//!   to them: `shim/arm_settings.hpp`, and the file named after each; the resulting configuration:
//!   `shim/configuration.hpp`;
//! - services are as in rmw_fastrtps: `shim/service.hpp`; content filters: `shim/filter.hpp`; the
//!   discovery server: `shim/server.hpp`.
//!
//! Time to match, two processes started together in fresh namespaces: 2 to 10 ms when both hear
//! each other's first announcement, 70 ms more when an endpoint was announced before its peer knew
//! the participant (Fast DDS repeats it at the first acknowledgement, after a fixed 70 ms), 100 ms
//! more (`tuned`: 10 ms) when the first announcement came too early to be heard or answered. A
//! participant that comes after the other's first half second can wait for 3 s (`tuned`: 0.2 s),
//! see `profiles/tuned.xml`.

mod profiles;

pub use profiles::has_long_pieces;

use rmwbench_harness::c_api::{raw, CMiddleware};
use rmwbench_harness::keystore::Keystore;
use rmwbench_harness::middleware::{
    Daemon, Description, Error, Middleware, OneHost, Session, SessionConfig, SharedHost,
    SharedMemory,
};
use rmwbench_harness::shared_host;

extern "C" {
    #[link_name = "rmwbench_fastdds_middleware"]
    static TABLE: raw::Middleware;
    #[link_name = "rmwbench_fastdds_struct_bytes"]
    static STRUCT_BYTES: [usize; 14];
}

pub struct FastDds {
    shim: CMiddleware,
}

impl FastDds {
    #[allow(clippy::new_without_default)] // it is not a value to default to: it loads a table
    pub fn new() -> Self {
        // SAFETY: the shim is compiled with this crate, from the same header.
        let shim = unsafe { CMiddleware::load(&raw const TABLE) }
            .expect("the shim was compiled against this harness's header");
        FastDds { shim }
    }
}

impl Middleware for FastDds {
    fn describe(&self) -> Description {
        let description = self.shim.describe();
        Description { profiles: profiles::profiles(&description.version), ..description }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        self.shim.open(&with_keys(config)?)
    }

    fn one_host(&self, profile: &str) -> Option<OneHost> {
        match profile {
            profiles::DISCOVERY_SERVER => Some(OneHost {
                reason: "it looks for the server at 127.0.0.1; take untouched with the mode discovery: server",
                unless: &["discovery"],
            }),
            profiles::SHM => Some(OneHost { reason: "it has shared memory alone; take untouched or tuned", unless: &["transport"] }),
            _ => None,
        }
    }

    fn shared_host(&self) -> Option<SharedHost> {
        let forced =
            "the interface whitelist is 127.0.0.1 alone, and the domain is the trial's own";
        Some(SharedHost { forced, without: &[] })
    }

    fn shared_memory(&self, profile: &str) -> Option<SharedMemory> {
        // A port has a place of 40 bytes per fragment that may wait in it; a participant has three
        // or four ports.
        const PORTS: u64 = 1 << 20;
        Some(match profile {
            "tuned" | profiles::SHM => {
                SharedMemory { process_bytes: (64 << 20) + PORTS, histories: false }
            }
            "data_sharing" => SharedMemory { process_bytes: (512 << 10) + PORTS, histories: true },
            _ => SharedMemory { process_bytes: (512 << 10) + PORTS, histories: false },
        })
    }

    fn daemons(&self, profile: &str) -> &'static [&'static str] {
        if profile == profiles::DISCOVERY_SERVER {
            &["server"]
        } else {
            &[]
        }
    }

    fn daemon(&self, name: &str, config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        self.shim.daemon(name, &with_keys(config)?)
    }
}

/// `config`, with the directory of the trial's keys if security is requested.
fn with_keys(config: &SessionConfig) -> Result<SessionConfig, Error> {
    if config.options.contains_key(KEYS) {
        return Err(Error::invalid(
            format!("option {KEYS}"),
            "it is the worker's own, for the keys that mode security makes",
        ));
    }
    let mut config = config.clone();
    // The embedded profile names the port where ROS 2 would search for its server 0.
    config.profile.text = config
        .profile
        .text
        .replace(SERVER_PORT, &shared_host::port(11811, SERVER_OFFSET).to_string());
    if config.mode("security")? == Some(true) {
        let keystore = Keystore::of(config.trial_nonce)?;
        config.options.insert(KEYS.into(), keystore.enclave().display().to_string().into());
    }
    Ok(config)
}

const SERVER_PORT: &str = "11811";
/// The offset from the first port of a shared host; the same as in `shim/discovery.cpp`.
const SERVER_OFFSET: u16 = 20;

/// The shim's name for the directory of the keys.
const KEYS: &str = "security_directory";

/// The sizes of the header's structs in the C++ compiler, in the header's order.
pub fn struct_bytes_in_cpp() -> [usize; 14] {
    // SAFETY: a constant of the shim.
    unsafe { STRUCT_BYTES }
}
