//! Translates QoS from ROS 2's terms to iceoryx's queues, histories and the behaviour of full
//! queues.

use rmwbench_harness::middleware::{
    EndpointConfig, Error, Granted, PublishMode, TakenAs, WhenFull,
};
use rmwbench_harness::qos::{Durability, History, Reliability};

use crate::session::Congestion;
use crate::sys;

pub struct Queues {
    /// How many messages may wait for a reader.
    pub queue: u64,
    /// How many messages a publisher keeps for late joiners.
    pub history: u64,
    /// Whether a publisher waits for a reader whose queue is full.
    pub block: bool,
    pub granted: Granted,
}

/// iceoryx's limits in this installation: a queue's capacity and a publisher's history.
pub fn limits() -> (u32, u32) {
    // SAFETY: constants of the library.
    unsafe { (sys::rmwbench_limit_queue(), sys::rmwbench_limit_history()) }
}

/// `queue_limit`: how many messages may wait at this kind of endpoint. Errors: unsupported for what
/// iceoryx lacks, invalid without a depth.
pub fn queues(
    config: &EndpointConfig,
    congestion: Option<Congestion>,
    queue_limit: u32,
) -> Result<Queues, Error> {
    let mut qos = config.qos.clone();
    let object = || format!("endpoint {}", config.endpoint);
    let refuse = |message: String| Err(Error::unsupported(object(), message));
    if qos.content_filter.is_some() || qos.instance_key.is_some() {
        return refuse(
            "content filter, instance key: iceoryx moves chunks that it knows nothing of".into(),
        );
    }
    if config.publish_mode == PublishMode::Async {
        return refuse(
            "publish mode async: the publish call puts the chunk into each reader's queue".into(),
        );
    }
    if qos.history == History::KeepLast && qos.depth == 0 {
        return Err(Error::invalid(object(), "depth 0: expected 1 or more"));
    }
    let keep_all = qos.history == History::KeepAll;
    let mut notes = Vec::new();
    let queue = if keep_all { queue_limit } else { qos.depth.min(queue_limit) };
    if keep_all {
        notes.push(format!("keep_all is a queue of {queue_limit} messages"));
    } else if qos.depth > queue_limit {
        notes.push(format!(
            "a depth of {} was asked, iceoryx has queues of {queue_limit} at most",
            qos.depth
        ));
        qos.depth = queue_limit;
    }
    let (_, history_limit) = limits();
    let mut history = 0;
    if qos.durability == Durability::TransientLocal {
        history = queue.min(history_limit);
        if !keep_all && queue > history_limit {
            return refuse(format!("transient_local with a depth of {}: iceoryx keeps {history_limit} for late joiners", qos.depth));
        }
        if keep_all {
            notes.push(format!("a late joiner gets the last {history_limit} messages"));
        }
    }
    let reliable = qos.reliability == Reliability::Reliable;
    let block = match congestion {
        None => reliable,
        Some(Congestion::Block) => true,
        Some(Congestion::Drop) if reliable && keep_all => {
            return Err(Error::unsupported(
                "mode congestion",
                format!("drop: {} asks for reliable and keep_all", object()),
            ));
        }
        Some(Congestion::Drop) => false,
    };
    notes.push(match block {
        true => "a publisher waits for a reader whose queue is full; one that was killed holds it until RouDi notices (1.5 s)".into(),
        false => "a full queue drops the oldest message".into(),
    });
    let when_full = Some(if block { WhenFull::Blocks } else { WhenFull::DropsAtReader });
    let granted = Granted {
        qos,
        publish_mode: PublishMode::Sync,
        wait: config.wait,
        take: Some(TakenAs::Lent),
        when_full,
        notes,
    };
    Ok(Queues { queue: queue.into(), history: history.into(), block, granted })
}

#[cfg(test)]
mod tests {
    use rmwbench_harness::middleware::{ErrorKind, Take, Wait};
    use rmwbench_harness::qos::Qos;

    use super::*;

    fn queues_for(qos: Qos, congestion: Option<Congestion>) -> Result<Queues, Error> {
        let config = EndpointConfig {
            endpoint: 1,
            topic: "t".into(),
            message_type: rmwbench_harness::message_type::MessageType::bytes(64),
            reply_type: None,
            qos,
            loan: false,
            publish_mode: PublishMode::Default,
            wait: Wait::Block,
            take: Take::Typed,
        };
        queues(&config, congestion, 256)
    }

    #[test]
    fn what_iceoryx_grants_less_of_is_shown() {
        let deep = queues_for(Qos { depth: 500, ..Qos::default() }, None).unwrap();
        assert_eq!((deep.queue, deep.granted.qos.depth, deep.block), (256, 256, true));
        let all = queues_for(
            Qos {
                history: History::KeepAll,
                durability: Durability::TransientLocal,
                ..Qos::default()
            },
            None,
        )
        .unwrap();
        assert_eq!((all.queue, all.history), (256, 16));
        let latched = queues_for(
            Qos { depth: 16, durability: Durability::TransientLocal, ..Qos::default() },
            None,
        )
        .unwrap();
        assert_eq!((latched.queue, latched.history), (16, 16));
        let error = queues_for(
            Qos { depth: 17, durability: Durability::TransientLocal, ..Qos::default() },
            None,
        )
        .err()
        .unwrap();
        assert_eq!(error.kind, ErrorKind::Unsupported);
    }

    #[test]
    fn congestion_replaces_what_reliability_says() {
        let best_effort = Qos { reliability: Reliability::BestEffort, ..Qos::default() };
        assert!(!queues_for(best_effort.clone(), None).unwrap().block);
        assert!(queues_for(best_effort, Some(Congestion::Block)).unwrap().block);
        assert!(!queues_for(Qos::default(), Some(Congestion::Drop)).unwrap().block);
        let all = Qos { history: History::KeepAll, ..Qos::default() };
        assert_eq!(
            queues_for(all, Some(Congestion::Drop)).err().unwrap().object,
            "mode congestion"
        );
    }
}
