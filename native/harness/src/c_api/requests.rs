//! Requests to a table, as C structs over strings that live here.

use std::collections::BTreeMap;
use std::ffi::{c_int, CString};
use std::ptr::null;

use serde_json::Value;

use super::raw;
use crate::message_type::{
    dds_reply_topic_name, dds_request_topic_name, dds_topic_name, MessageType,
};
use crate::middleware::{EndpointConfig, Error, PublishMode, SessionConfig, Take, Wait};
use crate::qos::{Durability, History, Qos, Reliability};

/// A session's configuration; [`SessionTexts::raw`] points into it.
pub struct SessionTexts {
    profile: [CString; 4],
    options: Pairs,
    modes: Pairs,
}

/// The strings of pairs, and the pairs that point to them.
struct Pairs {
    _texts: Vec<(CString, CString)>,
    raw: Vec<raw::Pair>,
}

impl Pairs {
    fn of(object: &str, values: &BTreeMap<String, Value>) -> Result<Self, Error> {
        let texts = values
            .iter()
            .map(|(key, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                Ok((c_text(object, key)?, c_text(object, &value)?))
            })
            .collect::<Result<Vec<(CString, CString)>, Error>>()?;
        let raw = texts
            .iter()
            .map(|(key, value)| raw::Pair { name: key.as_ptr(), value: value.as_ptr() })
            .collect();
        Ok(Pairs { _texts: texts, raw })
    }
}

impl SessionTexts {
    pub fn of(config: &SessionConfig) -> Result<Self, Error> {
        let p = &config.profile;
        let text = |text: &str| c_text("profile", text);
        Ok(SessionTexts {
            profile: [text(&p.name)?, text(&p.format)?, text(&p.text)?, text(&p.summary)?],
            options: Pairs::of("options", &config.options)?,
            modes: Pairs::of("modes", &config.modes)?,
        })
    }

    pub fn raw(&self, config: &SessionConfig) -> raw::SessionConfig {
        let [name, format, text, summary] = self.profile.each_ref().map(|text| text.as_ptr());
        raw::SessionConfig {
            profile: raw::Profile { name, format, text, summary },
            options: self.options.raw.as_ptr(),
            option_count: self.options.raw.len(),
            domain_id: config.domain_id,
            trial_nonce: config.trial_nonce,
            modes: self.modes.raw.as_ptr(),
            mode_count: self.modes.raw.len(),
        }
    }
}

/// An endpoint's configuration in its C form, with everything that it points to.
pub struct EndpointTexts<'a> {
    config: &'a EndpointConfig,
    topic: CString,
    dds_topic: CString,
    message_type: TypeTexts<'a>,
    content_filter: Option<CString>,
    instance_key: Option<CString>,
    reply: Option<(TypeTexts<'a>, CString)>,
}

struct TypeTexts<'a> {
    message_type: &'a MessageType,
    name: CString,
    ros_type: CString,
    dds_type: CString,
}

impl<'a> TypeTexts<'a> {
    fn of(
        message_type: &'a MessageType,
        c: &dyn Fn(&str) -> Result<CString, Error>,
    ) -> Result<Self, Error> {
        let (name, ros_type, dds_type) =
            (c(&message_type.name)?, c(&message_type.ros_type)?, c(&message_type.dds_type_name())?);
        Ok(TypeTexts { message_type, name, ros_type, dds_type })
    }

    fn raw(&self) -> raw::MessageType {
        let t = self.message_type;
        raw::MessageType {
            name: self.name.as_ptr(),
            ros_type: self.ros_type.as_ptr(),
            dds_type: self.dds_type.as_ptr(),
            payload_bytes: t.payload_bytes,
            cdr_prefix: t.cdr_prefix.as_ptr(),
            cdr_prefix_bytes: t.cdr_prefix.len(),
            cdr_suffix: t.cdr_suffix.as_ptr(),
            cdr_suffix_bytes: t.cdr_suffix.len(),
        }
    }
}

impl<'a> EndpointTexts<'a> {
    pub fn of(config: &'a EndpointConfig) -> Result<Self, Error> {
        let object = format!("endpoint {}", config.endpoint);
        let c = |text: &str| c_text(&object, text);
        let reply = match &config.reply_type {
            Some(reply_type) => {
                Some((TypeTexts::of(reply_type, &c)?, c(&dds_reply_topic_name(&config.topic))?))
            }
            None => None,
        };
        let dds_topic = if reply.is_some() {
            dds_request_topic_name(&config.topic)
        } else {
            dds_topic_name(&config.topic)
        };
        Ok(EndpointTexts {
            config,
            topic: c(&config.topic)?,
            dds_topic: c(&dds_topic)?,
            message_type: TypeTexts::of(&config.message_type, &c)?,
            content_filter: config.qos.content_filter.as_deref().map(c).transpose()?,
            instance_key: config.qos.instance_key.as_deref().map(c).transpose()?,
            reply,
        })
    }

    /// Calls `then` with the C form, which is valid during that call.
    pub fn with_raw<T>(&self, then: impl FnOnce(&raw::EndpointConfig) -> T) -> T {
        let config = self.config;
        let optional = |text: &Option<CString>| text.as_ref().map_or(null(), |t| t.as_ptr());
        let reply_type = self.reply.as_ref().map(|(reply_type, _)| reply_type.raw());
        then(&raw::EndpointConfig {
            endpoint: config.endpoint,
            topic: self.topic.as_ptr(),
            dds_topic: self.dds_topic.as_ptr(),
            message_type: self.message_type.raw(),
            qos: raw::Qos {
                content_filter: optional(&self.content_filter),
                instance_key: optional(&self.instance_key),
                ..raw_qos(&config.qos)
            },
            loan: c_int::from(config.loan),
            publish_mode: raw_mode(config.publish_mode),
            wait: raw_wait(config.wait),
            reply_type: reply_type.as_ref().map_or(null(), |t| &raw const *t),
            dds_reply_topic: self.reply.as_ref().map_or(null(), |(_, topic)| topic.as_ptr()),
            take: c_int::from(config.take == Take::Raw),
        })
    }
}

pub fn raw_qos(qos: &Qos) -> raw::Qos {
    raw::Qos {
        reliability: c_int::from(qos.reliability == Reliability::BestEffort),
        durability: c_int::from(qos.durability == Durability::TransientLocal),
        history: c_int::from(qos.history == History::KeepAll),
        depth: qos.depth,
        content_filter: null(),
        instance_key: null(),
    }
}

fn raw_mode(mode: PublishMode) -> c_int {
    match mode {
        PublishMode::Default => 0,
        PublishMode::Sync => 1,
        PublishMode::Async => 2,
    }
}

fn raw_wait(wait: Wait) -> c_int {
    match wait {
        Wait::Block => 0,
        Wait::Poll => 1,
        Wait::Callback => 2,
    }
}

pub fn c_text(object: &str, text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| {
        Error::invalid(
            object,
            format!("a NUL character in {:?}", text.chars().take(40).collect::<String>()),
        )
    })
}
