//! A session, which makes nodes.

use std::sync::Arc;

use rmwbench_harness::middleware::{Configuration, Error, Node, Session, SessionConfig};

use crate::node::CycloneNode;
use crate::shared::Shared;

pub struct CycloneSession(Arc<Shared>);

impl CycloneSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        Ok(CycloneSession(Arc::new(Shared::open(config)?)))
    }
}

impl Session for CycloneSession {
    fn node(&mut self, name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(CycloneNode::new(name, self.0.clone())?))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(Configuration { format: "xml".into(), text: self.0.domain.text.clone() })
    }
}
