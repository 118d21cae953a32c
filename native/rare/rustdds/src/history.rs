//! A reader's history with `keep_last`, as RustDDS's `DataReader` keeps it.
//!
//! RustDDS has two readers. Its `SimpleDataReader` takes from a cache of the whole topic, which
//! keeps 64 messages and more, whatever the depth, and is trimmed at every 64th message of up to 1
//! KiB, every 8th of up to 64 KiB. At each call, its `DataReader` takes all messages out of that
//! cache, into a history of the depth, and returns the oldest of them. The worker does the same, so
//! that a depth means the same room as elsewhere. It uses the `SimpleDataReader` underneath, which
//! allows copying messages into memory that is used again.

use std::collections::VecDeque;

use rustdds::SampleIdentity;

/// The most messages in RustDDS's cache of a topic when none is missing: its limit, and those that
/// come between two times that it is trimmed.
const CACHED: usize = 64;
const BETWEEN_TRIMS: usize = 64;

pub struct Message {
    /// The message without its encapsulation header.
    pub body: Vec<u8>,
    /// Its writer, and its number there.
    pub identity: SampleIdentity,
    /// The request that it answers, if its writer sent that beside the data.
    pub related: Option<SampleIdentity>,
}

pub struct History {
    /// None: keep_all, whose messages stay in RustDDS's cache until their turn.
    depth: Option<usize>,
    messages: VecDeque<Message>,
    /// Memory that can be used again.
    spare: Vec<Vec<u8>>,
}

impl History {
    /// `bytes`: the size of a message. The memory of one is touched now, so that the first message
    /// does not pay for its pages.
    pub fn new(depth: Option<usize>, bytes: usize) -> History {
        History { depth, messages: VecDeque::new(), spare: vec![vec![0xA5; bytes]] }
    }

    /// How many messages to take from RustDDS before one is delivered: as many as it can have at
    /// once. Messages that come meanwhile are left for the next time.
    pub fn at_once(&self) -> usize {
        self.depth.map_or(1, |depth| depth.max(CACHED) + BETWEEN_TRIMS)
    }

    pub fn memory(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub fn give_back(&mut self, memory: Vec<u8>) {
        self.spare.push(memory);
    }

    /// Adds a message; a full history drops its oldest.
    pub fn push(&mut self, message: Message) {
        if self.depth.is_some_and(|depth| self.messages.len() >= depth) {
            let oldest = self.messages.pop_front();
            self.spare.extend(oldest.map(|oldest| oldest.body));
        }
        self.messages.push_back(message);
    }

    pub fn pop(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use rustdds::{SequenceNumber, GUID};

    use super::*;

    fn message(number: u8, mut body: Vec<u8>) -> Message {
        body.clear();
        body.push(number);
        let identity = SampleIdentity {
            writer_guid: GUID::GUID_UNKNOWN,
            sequence_number: SequenceNumber::from(i64::from(number)),
        };
        Message { body, identity, related: None }
    }

    fn numbers(history: &mut History) -> Vec<u8> {
        std::iter::from_fn(|| history.pop()).map(|message| message.body[0]).collect()
    }

    #[test]
    fn the_last_are_kept_in_memory_that_is_used_again() {
        let mut history = History::new(Some(3), 100);
        for number in 0..10 {
            let memory = history.memory();
            history.push(message(number, memory));
        }
        assert!(history.spare.len() == 1 && history.messages.len() == 3);
        assert_eq!(numbers(&mut history), [7, 8, 9]);
    }

    #[test]
    fn keep_all_takes_one_at_a_time_and_drops_nothing() {
        let mut history = History::new(None, 100);
        assert_eq!(history.at_once(), 1);
        (0..5).for_each(|number| history.push(message(number, Vec::new())));
        assert_eq!(numbers(&mut history), [0, 1, 2, 3, 4]);
    }
}
