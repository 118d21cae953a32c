//! Translates QoS from ROS 2's terms to those of a ZeroMQ socket: two high-water marks and the
//! behaviour there.

use rmwbench_harness::middleware::{
    EndpointConfig, Error, Granted, PublishMode, TakenAs, Wait, WhenFull,
};
use rmwbench_harness::qos::{Durability, History, Reliability};

use crate::settings::{Congestion, Settings};

/// libzmq's own default.
const DEFAULT_MARK: i32 = 1000;

/// The settings of a socket's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// ZMQ_SNDHWM and ZMQ_RCVHWM: messages per peer.
    pub mark: i32,
    /// Whether a writer waits at the mark instead of dropping (ZMQ_XPUB_NODROP).
    pub block: bool,
    /// Whether a reader keeps only the latest message (ZMQ_CONFLATE).
    pub conflate: bool,
}

/// Errors: unsupported for what ZeroMQ lacks, invalid for a history without depth.
pub fn queues(config: &EndpointConfig, settings: &Settings) -> Result<Queues, Error> {
    let qos = &config.qos;
    let object = || format!("endpoint {}", config.endpoint);
    let refuse = |message: &str| Err(Error::unsupported(object(), message));
    if qos.durability == Durability::TransientLocal {
        return refuse("transient_local: PUB keeps nothing for late joiners");
    }
    if qos.content_filter.is_some() {
        return refuse("content filter: SUB filters by the first bytes of a message");
    }
    if qos.instance_key.is_some() {
        return refuse("instance key: messages are bytes");
    }
    if config.publish_mode == PublishMode::Sync {
        return refuse(
            "publish mode sync: zmq_send queues, libzmq's own thread writes to the peer",
        );
    }
    let keeps_all = qos.reliability == Reliability::Reliable && qos.history == History::KeepAll;
    let block = match settings.congestion {
        None => keeps_all,
        Some(Congestion::Block) => true,
        Some(Congestion::Drop) if keeps_all => {
            return Err(Error::unsupported(
                "mode congestion",
                format!("drop: {} asks for reliable and keep_all", object()),
            ));
        }
        Some(Congestion::Drop) => false,
    };
    let mark = match qos.history {
        History::KeepAll => DEFAULT_MARK,
        History::KeepLast => match i32::try_from(qos.depth) {
            Ok(depth) if depth > 0 => depth,
            _ => {
                return Err(Error::invalid(
                    object(),
                    format!("depth {}: expected 1 to {}", qos.depth, i32::MAX),
                ))
            }
        },
    };
    let conflate = qos.history == History::KeepLast && qos.depth == 1 && !block;
    Ok(Queues { mark, block, conflate })
}

/// The settings that an endpoint is granted, with notes for readers of its results.
pub fn granted(config: &EndpointConfig, queues: Queues, mut notes: Vec<String>) -> Granted {
    let mark = queues.mark;
    notes.push(match (queues.block, queues.conflate) {
        (true, _) => format!("high-water mark {mark} on either side, and a writer waits there; the kernel's socket buffers come on top"),
        (_, true) => "a reader keeps the latest message alone (CONFLATE), a writer one in its queue".into(),
        _ => format!("high-water mark {mark} on either side; a full queue drops the newest; the kernel's socket buffers come on top"),
    });
    if config.qos.reliability == Reliability::BestEffort {
        notes.push(
            "best_effort uses the same sockets as reliable: what was sent is repeated on its way"
                .into(),
        );
    }
    let when_full = Some(match (queues.block, queues.conflate) {
        (true, _) => WhenFull::Blocks,
        (_, true) => WhenFull::DropsAtReader,
        // A reader whose queue is full stops reading its connection, and then the writer's queue
        // becomes full, too.
        (false, false) => WhenFull::DropsAtWriter,
    });
    // A received message belongs to its receiver. The harness removes this answer for a publisher.
    let take = Some(TakenAs::Typed);
    Granted {
        qos: config.qos.clone(),
        publish_mode: PublishMode::Async,
        wait: config.wait,
        take,
        when_full,
        notes,
    }
}

/// Refuses the kind of waiting that libzmq does not have.
pub fn check_wait(config: &EndpointConfig) -> Result<(), Error> {
    match config.wait {
        Wait::Callback => {
            let message =
                "wait callback: libzmq calls nobody back, an application waits in zmq_poll";
            Err(Error::unsupported(format!("endpoint {}", config.endpoint), message))
        }
        Wait::Block | Wait::Poll => Ok(()),
    }
}
