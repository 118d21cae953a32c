//! The differences between the releases of Cyclone DDS, which the worker of each implements.

use std::ffi::c_void;

use rmwbench_harness::middleware::{EndpointConfig, Error, Evidence, Granted};

use crate::domain::Settings;
use crate::entity::Entity;
use crate::intake::Message;
use crate::qos::DdsQos;
use crate::session::{Parents, Types};
use crate::sys::{self, Handle, Part};
use crate::wire::Wire;

pub type Heard<R> = <<R as Types>::Message as Message>::Heard;

const FILTER: &str =
    "content filter: the reader filters what it received; writers send everything (Cyclone DDS)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Writer,
    Reader,
}

/// A topic, and what must outlive its readers and writers.
pub struct Topic<R: Release> {
    pub entity: Entity,
    pub release_data: R::Topic,
}

pub trait Release: Types {
    type Topic: Send + Sync;
    /// Release-specific data of a writer; it is dropped before the writer.
    type Writer: Send + Sync;

    /// The note for readers of results that were measured with a callback.
    const IN_WRITERS_THREAD: &'static str;
    /// Whether `other_clients_reply_bytes` counts the request headers.
    const OTHERS_WITH_HEADERS: bool;

    /// Checks that the endpoint is possible; returns its QoS.
    fn qos(parents: &Parents<Self>, config: &EndpointConfig, side: Side) -> Result<DdsQos, Error>;

    fn topic(
        parents: &Parents<Self>,
        config: &EndpointConfig,
        wire: &Wire,
        side: Side,
    ) -> Result<Topic<Self>, Error>;

    /// Sets the USER_DATA of an endpoint.
    fn set_user_data(_qos: &DdsQos, _text: &str) {}

    /// Why an endpoint does not use the shared memory that is configured.
    fn not_shared(parents: &Parents<Self>, config: &EndpointConfig, side: Side) -> String;

    /// How this QoS behaves differently in shared memory.
    fn surprises(config: &EndpointConfig) -> Vec<String>;

    /// How many messages a reader holds in shared memory; further ones are lost there, whatever the
    /// QoS. None: its history is the same as over the network.
    const HELD_IN_SHARED_MEMORY: Option<u32> = None;

    /// Whether a writer lends samples.
    fn lends(parents: &Parents<Self>, writer: Handle) -> bool;

    /// Completes a new writer; may add to its notes.
    fn complete_writer(
        parents: &Parents<Self>,
        config: &EndpointConfig,
        wire: &Wire,
        writer: Handle,
        notes: &mut Vec<String>,
    ) -> Result<Self::Writer, Error>;

    /// The type that makes a writer's messages; it lives as long as the topic. Errors: a return
    /// code.
    fn writer_type(writer: Handle, topic: &Self::Topic) -> Result<*const c_void, i32>;

    /// Writes the concatenated parts as one message, by one copy.
    ///
    /// # Safety
    /// The writer is live and has that type; the parts outlive the call.
    unsafe fn write(writer: Handle, writer_type: *const c_void, parts: &[Part]) -> i32;

    /// # Safety
    /// The writer is live and lends.
    unsafe fn loan(writer: Handle, sample: *mut *mut c_void) -> i32;

    /// What a new reader records about its messages.
    fn heard(parents: &Parents<Self>) -> Heard<Self>;

    fn evidence(_heard: &Heard<Self>) -> Option<Evidence> {
        None
    }

    /// Release-specific counters of a reader.
    fn reader_counters(_topic: &Self::Topic) -> Vec<(String, i64)> {
        Vec::new()
    }

    /// The number that identifies a client to its service, from the writer of its requests.
    fn client_number(writer: Handle) -> u64;

    /// The USER_DATA of a client's or service's endpoints, under rmw_cyclonedds's key.
    fn user_data(_: &str, _: &EndpointConfig, _: &Parents<Self>) -> Option<String> {
        None
    }

    /// The granted settings of a client, from those of its two endpoints.
    fn client_granted(requests: &Granted, replies: &Granted) -> Granted;

    fn service_granted(requests: &Granted, replies: &Granted) -> Granted;
}

/// Whether an endpoint's messages may go through shared memory.
pub fn in_shared_memory<R: Release>(parents: &Parents<R>, endpoint: Handle) -> bool {
    // SAFETY: a plain call on a live entity.
    parents.session.domain.settings.shared_memory()
        && unsafe { sys::dds_is_shared_memory_available(endpoint) }
}

/// Notes for interpreting this endpoint's results, including its use of shared memory if that is
/// configured.
pub fn notes<R: Release>(
    parents: &Parents<R>,
    endpoint: Handle,
    config: &EndpointConfig,
    side: Side,
) -> Vec<String> {
    let domain = &parents.session.domain;
    let mut notes = domain.notes.clone();
    if in_shared_memory(parents, endpoint) {
        notes.extend(R::surprises(config));
    } else if domain.settings.shared_memory() {
        notes.push(format!("path: {}", R::not_shared(parents, config, side)));
    }
    notes.extend(config.qos.content_filter.as_ref().map(|_| FILTER.into()));
    notes
}
