//! Forwards a frame that came up a link.

use super::{Network, Outside};
use crate::frame::{Class, Frame, Verdict};
use crate::headers;
use crate::multicast::{snooped, Multicast};

impl Network {
    /// The port to which a frame from port `from` is addressed, within its network.
    pub(super) fn port_of(&self, from: usize, bytes: &[u8]) -> Option<usize> {
        let mac = bytes.get(..6)?;
        self.ports
            .iter()
            .position(|port| port.mac == mac && port.network == self.ports[from].network)
    }

    pub(super) fn switch(
        &mut self,
        up: usize,
        mut frame: Box<Frame>,
        at_ns: i64,
        outside: &mut dyn Outside,
    ) {
        let from = usize::from(frame.from);
        if !frame.facts.multicast {
            return match self.port_of(from, &frame.bytes) {
                Some(port) if port != from => {
                    frame.to = port as u16;
                    self.enter(port * 2 + 1, frame, at_ns, outside);
                }
                _ => self.end(up, &frame, Verdict::NoDestination),
            };
        }
        let headers = headers::parse(&frame.bytes);
        let broadcast = frame.bytes.get(..6) == Some(&[0xff; 6]);
        if self.multicast == Multicast::Drop && !broadcast && frame.facts.class != Class::Resolution
        {
            return self.end(up, &frame, Verdict::MulticastUnwanted);
        }
        let group = if self.multicast == Multicast::Snoop { snooped(&headers) } else { None };
        // A multicast frame is sent over a medium once for all of its hosts.
        let mut groups: Vec<Vec<Box<Frame>>> = self.media.iter().map(|_| Vec::new()).collect();
        for port in 0..self.ports.len() {
            if port == from || self.ports[port].network != self.ports[from].network {
                continue;
            }
            let index = port * 2 + 1;
            let copy = Box::new(Frame { to: port as u16, ..(*frame).clone() });
            if group.is_some_and(|group| !self.memberships.wants(port as u16, group)) {
                self.end(index, &copy, Verdict::MulticastUnwanted);
            } else if let Some(medium) = self.directions[index].medium {
                groups[medium].extend(self.admit(index, copy, at_ns, outside));
            } else {
                self.enter(index, copy, at_ns, outside);
            }
        }
        for (medium, copies) in
            groups.into_iter().enumerate().filter(|(_, copies)| !copies.is_empty())
        {
            match self.media[medium].push_group(copies) {
                Ok(()) => self.transmit(medium, at_ns),
                Err(copies) => copies.iter().for_each(|frame| {
                    self.end(usize::from(frame.to) * 2 + 1, frame, Verdict::QueueFullDown)
                }),
            }
        }
    }
}
