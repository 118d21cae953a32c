//! The present endpoints: there is a liveliness token per endpoint, and one liveliness subscriber
//! per session that counts them.
//!
//! Tokens travel on the same links as declarations and after them: a session that sees a
//! subscription's token already has its declaration, so that a publisher whose count is right also
//! routes right. A killed process's tokens end with its link. rmw_zenoh counts the same way.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use rmwbench_harness::middleware::Error;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;
use zenoh::Wait as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Publisher,
    Subscription,
    Client,
    Service,
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Side::Publisher => "pub",
            Side::Subscription => "sub",
            Side::Client => "client",
            Side::Service => "service",
        }
    }

    fn of(word: &str) -> Option<Side> {
        [Side::Publisher, Side::Subscription, Side::Client, Side::Service]
            .into_iter()
            .find(|side| side.word() == word)
    }
}

/// The numbers of endpoints on one side of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// In this session.
    pub local: u32,
    /// In other sessions.
    pub remote: u32,
}

impl Count {
    pub fn total(self) -> u32 {
        self.local + self.remote
    }
}

pub struct Graph {
    session: zenoh::Session,
    domain_id: u32,
    zid: String,
    tokens: Arc<Tokens>,
    _subscriber: Subscriber<()>,
}

#[derive(Default)]
struct Tokens(Mutex<HashMap<(Side, String), Seen>>);

#[derive(Default)]
struct Seen {
    /// The keys of tokens; a set, because a token may be announced twice.
    now: HashSet<String>,
    /// The sessions that ever had an endpoint here.
    sessions: HashSet<String>,
}

impl Graph {
    pub fn open(session: &zenoh::Session, domain_id: u32) -> zenoh::Result<Graph> {
        let tokens = Arc::<Tokens>::default();
        let seen = tokens.clone();
        let subscriber = session
            .liveliness()
            .declare_subscriber(format!("@rmwbench/{domain_id}/**"))
            .history(true)
            .callback(move |sample| seen.note(sample.key_expr().as_str(), sample.kind()))
            .wait()?;
        Ok(Graph {
            session: session.clone(),
            domain_id,
            zid: session.zid().to_string(),
            tokens,
            _subscriber: subscriber,
        })
    }

    /// Announces an endpoint until the token is dropped. Call it after the endpoint is declared.
    pub fn announce(
        &self,
        side: Side,
        node: &str,
        endpoint: u32,
        topic: &str,
    ) -> Result<LivelinessToken, Error> {
        let (domain_id, zid) = (self.domain_id, &self.zid);
        let key = format!(
            "@rmwbench/{domain_id}/{}/{zid}/{}/{endpoint}/{topic}",
            side.word(),
            chunk(node)
        );
        self.session
            .liveliness()
            .declare_token(key)
            .wait()
            .map_err(|e| Error::failed(format!("endpoint {endpoint}"), e))
    }

    pub fn count(&self, side: Side, topic: &str) -> Count {
        let tokens = self.tokens.0.lock().expect("a liveliness callback panicked");
        let endpoints = tokens.get(&(side, topic.to_string()));
        self.sort(
            endpoints
                .into_iter()
                .flat_map(|endpoints| &endpoints.now)
                .filter_map(|key| session_of(key)),
        )
    }

    /// The sessions that have, or once had, an endpoint here: any of them may be the sender of a
    /// received message.
    pub fn ever(&self, side: Side, topic: &str) -> Count {
        let tokens = self.tokens.0.lock().expect("a liveliness callback panicked");
        let endpoints = tokens.get(&(side, topic.to_string()));
        self.sort(
            endpoints.into_iter().flat_map(|endpoints| &endpoints.sessions).map(String::as_str),
        )
    }

    fn sort<'a>(&self, sessions: impl Iterator<Item = &'a str>) -> Count {
        sessions.fold(Count::default(), |mut count, session| {
            *(if session == self.zid { &mut count.local } else { &mut count.remote }) += 1;
            count
        })
    }
}

impl Tokens {
    fn note(&self, key: &str, kind: SampleKind) {
        // @rmwbench / domain / side / session / node / endpoint / topic; the topic may have slashes
        // itself
        let mut parts = key.splitn(7, '/');
        let Some(side) = parts.nth(2).and_then(Side::of) else { return };
        let Some(topic) = parts.nth(3) else { return };
        let mut tokens = self.0.lock().expect("a liveliness callback panicked");
        let seen = tokens.entry((side, topic.to_string())).or_default();
        match kind {
            SampleKind::Put => {
                seen.now.insert(key.to_string());
                seen.sessions.extend(session_of(key).map(str::to_string));
            }
            SampleKind::Delete => drop(seen.now.remove(key)),
        };
    }
}

fn session_of(key: &str) -> Option<&str> {
    key.split('/').nth(3)
}

/// A node's name as one chunk of a key expression.
fn chunk(name: &str) -> String {
    let safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' })
        .collect();
    if safe.is_empty() {
        "_".into()
    } else {
        safe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_once_each_by_side_and_topic() {
        let tokens = Tokens::default();
        let key = "@rmwbench/0/sub/abc/node/3/front/camera";
        tokens.note(key, SampleKind::Put);
        tokens.note(key, SampleKind::Put);
        tokens.note("@rmwbench/0/sub/abc/node/4/front/camera", SampleKind::Put);
        tokens.note("@rmwbench/0/pub/abc/node/5/front/camera", SampleKind::Put);
        let len = |side| {
            tokens
                .0
                .lock()
                .unwrap()
                .get(&(side, "front/camera".to_string()))
                .map_or(0, |seen| seen.now.len())
        };
        assert_eq!((len(Side::Subscription), len(Side::Publisher)), (2, 1));
        tokens.note(key, SampleKind::Delete);
        assert_eq!(len(Side::Subscription), 1);
        let side = (Side::Subscription, "front/camera".to_string());
        tokens.note("@rmwbench/0/sub/abc/node/4/front/camera", SampleKind::Delete);
        let sessions = tokens.0.lock().unwrap()[&side].sessions.clone();
        assert_eq!(sessions, ["abc".to_string()].into(), "it was there");
    }
}
