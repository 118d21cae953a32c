//! `match`, `drain` and `collect`: the reports of the endpoints.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Trial;
use crate::middleware::Error;
use crate::protocol::{
    Collected, Drained, EndpointAccount, Event, FromWorker, Matched, MatchedEndpoint, ProbesHeard,
    Settled,
};
use crate::publisher::RecordedPublisher;
use crate::usage;

/// How long a drain has heard no message. A message that is still on its way may take long, but no
/// message follows after a stream has ended.
pub(super) struct Quiet {
    quiet_ns: i64,
    latencies: i64,
    heard: u64,
    since_ns: i64,
}

impl Quiet {
    /// The end comes after `quiet_ns`, or after `latencies` times the longest latency during the
    /// drain, if that is longer.
    pub(super) fn new(quiet_ns: i64, latencies: i64, now: i64) -> Self {
        Quiet { quiet_ns, latencies, heard: 0, since_ns: now }
    }

    /// Notes how many messages were heard by `now` and their longest latency, and returns whether
    /// no message came for long enough.
    fn is_over(&mut self, heard: u64, longest_ns: i64, now: i64) -> bool {
        if heard != self.heard {
            (self.heard, self.since_ns) = (heard, now);
        }
        let quiet_ns = self.quiet_ns.max(self.latencies.saturating_mul(longest_ns));
        now.saturating_sub(self.since_ns) >= quiet_ns
    }
}

impl Trial<'_> {
    pub(super) fn collect(&mut self) -> Value {
        self.take_due_snapshots(); // the command may have been read before the timer
        self.usage.retain(|u| u.at != "now");
        self.usage.push(usage::snapshot("now"));
        let mut endpoints = self.gone.clone();
        for (endpoint, publishing) in &self.publishers {
            // A publisher whose schedule still runs belongs to its own thread: it has no account
            // yet.
            let Ok(guard) = publishing.slot.publisher.try_lock() else { continue };
            endpoints
                .extend(guard.as_ref().map(|publisher| (*endpoint, publisher_account(publisher))));
        }
        endpoints.extend(
            self.readers
                .keys()
                .filter_map(|endpoint| Some((*endpoint, self.reader_account(*endpoint)?))),
        );
        let collected = Collected { usage: self.usage.clone(), memory: usage::memory(), endpoints };
        serde_json::to_value(collected).expect("counters always serialise")
    }

    pub(super) fn report_first_messages(&mut self) {
        for (endpoint, reading) in &mut self.readers {
            for (writer, time_ns) in reading.sink.first_messages() {
                if reading.reported.insert(writer) {
                    self.outgoing.push(FromWorker::Event(Event::FirstMessage {
                        endpoint: *endpoint,
                        writer,
                        time_ns,
                    }));
                }
            }
        }
    }

    pub(super) fn match_answer(
        &self,
        now: i64,
        deadline_ns: i64,
        only: Option<&[u32]>,
        matched: &mut BTreeMap<u32, MatchedEndpoint>,
    ) -> Option<Result<Value, Error>> {
        let mut missing = None;
        let is_selected = |endpoint: &u32| only.is_none_or(|list| list.contains(endpoint));
        let publishers =
            self.publishers.iter().filter(|(e, _)| is_selected(e)).filter_map(|(endpoint, p)| {
                match p.slot.publisher.try_lock() {
                    Ok(guard) => {
                        Some((*endpoint, p.matches, Some(guard.as_ref()?.publisher().matched())))
                    }
                    Err(_) => Some((*endpoint, p.matches, None)),
                }
            });
        let readers =
            self.readers.iter().filter(|(e, _)| is_selected(e)).filter_map(|(endpoint, r)| {
                Some((*endpoint, r.matches, Some(r.source.as_ref()?.matched())))
            });
        for (endpoint, expected, actual) in publishers.chain(readers) {
            match actual {
                Some(actual) if actual >= expected => {
                    matched
                        .entry(endpoint)
                        .or_insert(MatchedEndpoint { matched: actual, time_ns: now })
                        .matched = actual;
                }
                _ => {
                    matched.remove(&endpoint);
                    missing.get_or_insert((endpoint, expected, actual));
                }
            }
        }
        match missing {
            None => {
                let matched = Matched { endpoints: std::mem::take(matched) };
                Some(Ok(serde_json::to_value(matched).expect("matches always serialise")))
            }
            Some((endpoint, expected, actual)) if now >= deadline_ns => {
                // The thread of a running schedule owns the publisher, which cannot be read then.
                let actual = actual.map_or("a publisher that is sending".into(), |n| n.to_string());
                Some(Err(Error::failed(
                    format!("endpoint {endpoint}"),
                    format!("expected {expected} matched peers, found {actual} at the time-out"),
                )))
            }
            Some(_) => None,
        }
    }

    pub(super) fn drain_answer(
        &self,
        now: i64,
        deadline_ns: i64,
        quiet: Option<&mut Quiet>,
        expect: &BTreeMap<u32, BTreeMap<u32, u64>>,
    ) -> Option<Result<Value, Error>> {
        let sinks = || expect.keys().filter_map(|e| Some(&self.readers.get(e)?.sink));
        let heard = sinks().map(|sink| sink.heard()).sum();
        let longest_ns = sinks().map(|sink| sink.longest_ns()).max().unwrap_or(0);
        let is_quiet = quiet.is_some_and(|quiet| quiet.is_over(heard, longest_ns, now));
        let complete = expect.iter().all(|(reader, writers)| {
            let reading = self.readers.get(reader);
            reading.is_none_or(|r| {
                writers.iter().all(|(writer, seq)| r.sink.has_heard_all(*writer, *seq))
            })
        });
        if !complete && !is_quiet && now < deadline_ns {
            return None;
        }
        for reader in expect.keys() {
            if let Some(reading) = self.readers.get(reader) {
                reading.sink.set_late(now);
            }
        }
        Some(Ok(
            serde_json::to_value(Drained { complete, time_ns: now }).expect("always serialises")
        ))
    }

    pub(super) fn settle_answer(
        &self,
        now: i64,
        deadline_ns: i64,
        quiet: &mut Quiet,
        expect: &BTreeMap<u32, BTreeMap<u32, u64>>,
    ) -> Option<Result<Value, Error>> {
        let of_reader = |(reader, writers): (&u32, &BTreeMap<u32, u64>)| {
            let sink = &self.readers.get(reader)?.sink;
            let per_writer = writers.keys().map(|writer| {
                let (count, seen) = sink.probes_heard(*writer);
                (*writer, ProbesHeard { count, seen })
            });
            Some((*reader, per_writer.collect::<BTreeMap<_, _>>()))
        };
        let heard: BTreeMap<_, _> = expect.iter().filter_map(of_reader).collect();
        let complete = heard.iter().all(|(reader, writers)| {
            writers.iter().all(|(writer, heard)| heard.count >= expect[reader][writer])
        });
        let count = heard.values().flat_map(BTreeMap::values).map(|heard| heard.count).sum();
        let quiet = quiet.is_over(count, 0, now) && !complete;
        (complete || quiet || now >= deadline_ns).then(|| {
            Ok(serde_json::to_value(Settled { complete, quiet, time_ns: now, heard })
                .expect("always serialises"))
        })
    }

    /// None for a client, whose account is that of its publisher.
    pub(super) fn reader_account(&self, endpoint: u32) -> Option<EndpointAccount> {
        let source = self.readers.get(&endpoint)?.source.as_ref()?;
        let publish_failures = self.services.get(&endpoint).map(|s| s.service.tally().failed());
        Some(EndpointAccount {
            matched: source.matched(),
            publish_failures,
            account: source.account(),
        })
    }
}

pub(super) fn publisher_account(publisher: &RecordedPublisher) -> EndpointAccount {
    let (matched, mut account) = (publisher.publisher().matched(), publisher.publisher().account());
    if let Some(counts) = publisher.frames().map(|frames| frames.counts()) {
        let named = [
            ("fresh", counts.fresh),
            ("repeated", counts.repeated),
            ("skipped", counts.skipped),
            ("torn", counts.torn),
        ];
        account
            .counters
            .extend(named.map(|(name, count)| (format!("frames_{name}"), count as i64)));
    }
    EndpointAccount { matched, publish_failures: Some(publisher.tally().failed()), account }
}

#[cfg(test)]
mod tests {
    use super::Quiet;

    #[test]
    fn a_drain_is_quiet_only_after_its_time_without_a_message() {
        let mut quiet = Quiet::new(100, 0, 1000);
        assert!(!quiet.is_over(0, 0, 1099));
        assert!(!quiet.is_over(1, 5000, 1100));
        assert!(!quiet.is_over(1, 5000, 1199));
        assert!(!quiet.is_over(2, 5000, 1200));
        assert!(quiet.is_over(2, 5000, 1300));
    }

    #[test]
    fn a_drain_that_shows_a_longer_latency_waits_longer_for_the_next_message() {
        let mut quiet = Quiet::new(100, 3, 1000);
        assert!(!quiet.is_over(1, 200, 1050));
        assert!(!quiet.is_over(1, 200, 1649));
        assert!(quiet.is_over(1, 200, 1650));
    }
}
