//! `probe`, `start`, `stop` and `destroy`: the commands that begin and end sending.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread;

use serde_json::{json, Value};

use super::answers::publisher_account;
use super::Trial;
use crate::clock::now_ns;
use crate::control::Reporter;
use crate::middleware::Error;
use crate::payload::Phase;
use crate::protocol::{Arrival, Event, FromWorker, Probed, Schedule, Start, Started};
use crate::publisher::{Cause, Tally};
use crate::schedule::{self, Interrupt, Scheduled};

impl Trial<'_> {
    /// A probe that the middleware refuses is not counted and is no error: no reader hears it.
    pub(super) fn probe(&mut self, only: Option<&[u32]>) -> Result<Value, Error> {
        self.known(only.unwrap_or_default())?;
        let mut sent = BTreeMap::new();
        for (endpoint, publishing) in self.publishers.iter().filter(|(endpoint, p)| {
            !matches!(p.arrival, Arrival::Relay { .. })
                && !p.started
                && only.is_none_or(|list| list.contains(endpoint))
        }) {
            if let Some(publisher) =
                publishing.slot.publisher.lock().expect("a publisher panicked").as_mut()
            {
                let _ = publisher.send(now_ns(), Phase::Probe, Cause::default());
                sent.insert(*endpoint, publisher.tally().probes_sent());
            }
        }
        Ok(serde_json::to_value(Probed { sent }).expect("always serialises"))
    }

    pub(super) fn start(&mut self, start: Start) -> Result<Value, Error> {
        if start.end_ns <= start.at_ns || start.steady_ns < start.at_ns {
            return Err(Error::invalid(
                "cmd start",
                "expected at_ns <= steady_ns and at_ns < end_ns",
            ));
        }
        if let Some(endpoints) = &start.endpoints {
            self.known(endpoints)?;
            let has_started = |e: &&u32| {
                self.publishers.get(e).is_some_and(|p| p.started)
                    || self.services.get(e).is_some_and(|s| s.started)
            };
            if let Some(endpoint) = endpoints.iter().find(has_started) {
                return Err(Error::invalid(
                    format!("endpoint {endpoint}"),
                    "it has started already; an endpoint has one schedule",
                ));
            }
        }
        let chosen =
            |endpoint: &u32| start.endpoints.as_ref().is_none_or(|list| list.contains(endpoint));
        let (mut threads, mut together) = (Vec::new(), Vec::new());
        for (_, publishing) in self.publishers.iter_mut().filter(|(e, p)| !p.started && chosen(e)) {
            publishing.started = true;
            let scheduled =
                Scheduled { slot: publishing.slot.clone(), arrival: publishing.arrival.clone() };
            match publishing.arrival {
                Arrival::Relay { .. } => publishing.ends_ns = Some(start.end_ns + start.grace_ns),
                // A saturating publisher gives no other a turn, so it always has a thread of its
                // own.
                Arrival::Saturation { .. } => threads.push(vec![scheduled]),
                _ if start.schedule == Schedule::Own => threads.push(vec![scheduled]),
                _ => together.push(scheduled),
            }
        }
        for (_, serving) in self.services.iter_mut().filter(|(e, s)| !s.started && chosen(e)) {
            serving.started = true;
            serving.ends_ns = Some(start.end_ns + start.grace_ns);
        }
        threads.extend((!together.is_empty()).then_some(together));
        for publishers in threads {
            self.schedules.push(spawn(publishers, start.clone(), self.reporter.clone())?);
        }
        if !self.started {
            self.started = true;
            self.snapshots
                .extend([(start.steady_ns, "steady_begin"), (start.end_ns, "steady_end")]);
        }
        let started = Started { schedule: start.schedule };
        Ok(serde_json::to_value(started).expect("a word always serialises"))
    }

    /// Takes effect at `at_ns` by the schedule's own clock; sleeping schedules wake to see it.
    pub(super) fn stop(&mut self, endpoints: &[u32], at_ns: i64) {
        for endpoint in endpoints {
            let ends_ns = if let Some(publishing) = self.publishers.get_mut(endpoint) {
                publishing.slot.stop_ns.store(at_ns, Ordering::Release);
                &mut publishing.ends_ns
            } else if let Some(serving) = self.services.get_mut(endpoint) {
                serving.service.stop(at_ns);
                &mut serving.ends_ns
            } else {
                continue;
            };
            *ends_ns = ends_ns.map(|end_ns| end_ns.min(at_ns));
        }
        for schedule in &self.schedules {
            schedule.raise();
        }
    }

    pub(super) fn doom(&mut self, nodes: &[String], endpoints: &[u32]) -> Result<Vec<u32>, Error> {
        self.known(endpoints)?;
        let mut doomed = endpoints.to_vec();
        for name in nodes {
            let node = self
                .nodes
                .get(name)
                .ok_or_else(|| Error::invalid(format!("node {name}"), "no node of this name"))?;
            doomed.extend(&node.endpoints);
        }
        let now = now_ns();
        for publishing in doomed.iter().filter_map(|e| self.publishers.get(e)) {
            publishing.slot.leave(now);
        }
        self.stop(&doomed, 0);
        Ok(doomed)
    }

    /// Removes the endpoints that are to be destroyed, once none of them is sending: the control
    /// thread must not wait for a publish call that blocks.
    pub(super) fn destroyed(
        &mut self,
        nodes: &[String],
        doomed: &[u32],
    ) -> Option<Result<Value, Error>> {
        for serving in doomed.iter().filter_map(|e| self.services.get(e)) {
            if serving.ends_ns.is_some() || serving.service.at_rest().is_none() {
                return None;
            }
        }
        for endpoint in doomed {
            let Some(publishing) = self.publishers.get(endpoint) else { continue };
            if publishing.ends_ns.is_some() {
                return None; // its `finished` comes first
            }
            if let Some(publisher) = publishing.slot.publisher.try_lock().ok()?.take() {
                self.gone.insert(*endpoint, publisher_account(&publisher));
            }
            self.publishers.remove(endpoint);
        }
        for endpoint in doomed {
            let account = self.reader_account(*endpoint);
            self.gone.extend(account.map(|account| (*endpoint, account)));
            self.readers.remove(endpoint);
            self.services.remove(endpoint);
        }
        for name in nodes {
            if let Some(node) = self.nodes.remove(name) {
                drop(node.node);
            }
        }
        Some(Ok(json!({})))
    }

    /// Reports the relays and services whose end time has come.
    pub(super) fn report_ends(&mut self, now: i64) {
        for (endpoint, publishing) in &mut self.publishers {
            if publishing.ends_ns.is_none_or(|end_ns| end_ns > now) {
                continue;
            }
            // Nothing may follow `finished`. A relay that is publishing is checked again at the
            // next look.
            publishing.slot.stop_ns.store(0, Ordering::Release);
            let Ok(guard) = publishing.slot.publisher.try_lock() else { continue };
            publishing.ends_ns = None;
            self.outgoing.extend(guard.as_ref().map(|p| finished(*endpoint, p.tally(), now)));
        }
        for (endpoint, serving) in &mut self.services {
            if serving.ends_ns.is_none_or(|end_ns| end_ns > now) {
                continue;
            }
            serving.service.stop(0);
            let Some(tally) = serving.service.at_rest() else { continue };
            serving.ends_ns = None;
            self.outgoing.push(finished(*endpoint, &tally, now));
        }
    }
}

/// The end of an endpoint that sends in answer: a message is due when its cause comes, so none is
/// ever left over.
fn finished(endpoint: u32, tally: &Tally, now: i64) -> FromWorker {
    FromWorker::Event(Event::Finished {
        endpoint,
        scheduled: tally.attempted(),
        sent: tally.attempted() - tally.failed(),
        failed: tally.failed(),
        never_sent: 0,
        last_seq: tally.last_sent_seq(),
        time_ns: now,
    })
}

fn spawn(
    publishers: Vec<Scheduled>,
    start: Start,
    reporter: Reporter,
) -> Result<Arc<Interrupt>, Error> {
    let interrupt = Interrupt::new().map_err(|e| Error::failed("the schedule's timer", e))?;
    let interrupt = Arc::new(interrupt);
    let theirs = interrupt.clone();
    thread::Builder::new()
        .name("schedule".into())
        .spawn(move || schedule::run(publishers, &start, &theirs, &|event| reporter.report(event)))
        .map_err(|e| Error::failed("schedule thread", e))?;
    Ok(interrupt)
}
