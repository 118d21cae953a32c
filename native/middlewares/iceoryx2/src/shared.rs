//! The data that the endpoints of a process share: the configuration and the receive loops.

use std::sync::Arc;
use std::time::Duration;

use iceoryx2::prelude::Config;

use crate::dead_nodes::DeadNodes;
use crate::modes::Modes;
use crate::service::ReliableKeepLast;
use crate::wait_set::Waiters;

/// The data that endpoints need from their session.
#[derive(Clone)]
pub struct Shared {
    pub config: Arc<Config>,
    pub dead_nodes: DeadNodes,
    pub waiters: Arc<Waiters>,
    /// How long a reliable publish call waits for room: DDS's `max_blocking_time`, with its default
    /// of 100 ms.
    pub max_blocking: Duration,
    pub keep_all_depth: usize,
    pub reliable_keep_last: ReliableKeepLast,
    pub most_active: usize,
    pub modes: Modes,
    pub domain_id: u32,
}
