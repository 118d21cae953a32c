//! What a table reports: its description, errors, statuses, granted settings, accounts.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use serde_json::Value;

use super::raw;
use super::requests::raw_qos;
use super::table::{slice, text};
use crate::middleware::{
    capabilities, Account, Configuration, Description, Error, ErrorKind, Evidence, Granted,
    Profile, PublishError, PublishMode, TakenAs, Wait, WhenFull,
};
use crate::modes::modes;
use crate::qos::{Durability, History, Qos, Reliability};

/// # Safety
/// `raw` keeps the header's promises for as long as the call lasts.
pub unsafe fn description(raw: *const raw::Description) -> Description {
    let d = &*raw;
    let pairs = |start: *const raw::Pair, count| -> Vec<(String, String)> {
        slice(start, count).iter().map(|p| (text(p.name), text(p.value))).collect()
    };
    let build = pairs(d.build, d.build_count)
        .into_iter()
        .map(|(name, value)| (name, Value::String(value)))
        .collect();
    let (listed, taken) = (pairs(d.capabilities, d.capability_count), pairs(d.modes, d.mode_count));
    Description {
        middleware: text(d.middleware),
        layer: text(d.layer),
        version: text(d.version),
        release_date: text(d.release_date),
        build,
        capabilities: capabilities(&borrowed(&listed)),
        modes: modes(&borrowed(&taken)),
        profiles: slice(d.profiles, d.profile_count)
            .iter()
            .map(|p| Profile {
                name: text(p.name),
                format: text(p.format),
                text: text(p.text),
                summary: text(p.summary),
            })
            .collect(),
    }
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[inline]
pub fn published(status: raw::Status) -> Result<(), PublishError> {
    match status {
        raw::OK => Ok(()),
        raw::FULL => Err(PublishError::Full),
        raw::TIMEOUT => Err(PublishError::Timeout),
        raw::UNSUPPORTED => Err(PublishError::Unsupported),
        _ => Err(PublishError::Failed),
    }
}

/// The kinds of an error with their numbers in the header.
const KINDS: [(ErrorKind, c_int); 3] =
    [(ErrorKind::Unsupported, 0), (ErrorKind::Invalid, 1), (ErrorKind::Failed, 2)];

pub fn number(kind: ErrorKind) -> c_int {
    KINDS.into_iter().find(|(known, _)| *known == kind).map_or(2, |(_, number)| number)
}

/// Calls a function that creates `object`, and turns NULL into the error that the function filled
/// in.
pub fn created<T>(
    object: &str,
    create: impl FnOnce(*mut raw::Error) -> *mut T,
) -> Result<NonNull<T>, Error> {
    let mut error = raw::Error { kind: -1, object: [0; 128], message: [0; 1920] };
    NonNull::new(create(&mut error)).ok_or_else(|| {
        let words = |buffer: &[c_char]| {
            let bytes: Vec<u8> = buffer.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let kind = KINDS
            .into_iter()
            .find(|(_, number)| *number == error.kind)
            .map_or(ErrorKind::Failed, |(kind, _)| kind);
        let (mut named, mut message) = (words(&error.object), words(&error.message));
        if named.is_empty() {
            named = object.into();
        }
        if message.is_empty() {
            message = "it could not be created, and the middleware gave no reason".into();
        }
        Error { kind, object: named, message }
    })
}

/// A publisher has no `take`.
const NOT_TOLD: i32 = -1;

pub fn granted(fill: impl FnOnce(*mut raw::Granted)) -> Granted {
    unsafe extern "C" fn note(context: *mut c_void, words: *const c_char) {
        (*context.cast::<Vec<String>>()).push(text(words));
    }
    let mut notes: Vec<String> = Vec::new();
    let context = (&raw mut notes).cast();
    let qos = raw_qos(&Qos::default());
    let mut raw =
        raw::Granted { qos, publish_mode: 0, wait: 0, context, note, take: NOT_TOLD, when_full: 0 };
    fill(&mut raw);
    let optional = |words: *const c_char| (!words.is_null()).then(|| text(words));
    let qos = Qos {
        reliability: if raw.qos.reliability == 0 {
            Reliability::Reliable
        } else {
            Reliability::BestEffort
        },
        durability: if raw.qos.durability == 0 {
            Durability::Volatile
        } else {
            Durability::TransientLocal
        },
        history: if raw.qos.history == 0 { History::KeepLast } else { History::KeepAll },
        depth: raw.qos.depth,
        content_filter: optional(raw.qos.content_filter),
        instance_key: optional(raw.qos.instance_key),
    };
    let publish_mode = match raw.publish_mode {
        1 => PublishMode::Sync,
        2 => PublishMode::Async,
        _ => PublishMode::Default,
    };
    let when_full = match raw.when_full {
        1 => Some(WhenFull::Blocks),
        2 => Some(WhenFull::OverwritesAtWriter),
        3 => Some(WhenFull::DropsAtWriter),
        4 => Some(WhenFull::DropsAtReader),
        5 => Some(WhenFull::NeverFull),
        _ => None,
    };
    let take = match raw.take {
        0 => Some(TakenAs::Typed),
        1 => Some(TakenAs::Raw),
        2 => Some(TakenAs::Lent),
        _ => None,
    };
    Granted { qos, publish_mode, wait: wait_mode(raw.wait), take, when_full, notes }
}

pub fn wait_mode(wait: i32) -> Wait {
    match wait {
        1 => Wait::Poll,
        2 => Wait::Callback,
        _ => Wait::Block,
    }
}

pub fn account(report: impl FnOnce(*const raw::Account)) -> Account {
    unsafe extern "C" fn reader_drops(context: *mut c_void, messages: u64) {
        (*context.cast::<Account>()).reader_drops = Some(messages);
    }
    unsafe extern "C" fn counter(context: *mut c_void, name: *const c_char, value: i64) {
        (*context.cast::<Account>()).counters.insert(text(name), value);
    }
    unsafe extern "C" fn evidence(
        context: *mut c_void,
        path: *const c_char,
        messages: u64,
        note: *const c_char,
    ) {
        (*context.cast::<Account>()).evidence.push(Evidence {
            path: text(path),
            messages,
            note: text(note),
        });
    }
    let mut account =
        Account { reader_drops: None, counters: BTreeMap::new(), evidence: Vec::new() };
    report(&raw::Account { context: (&raw mut account).cast(), reader_drops, counter, evidence });
    account
}

pub fn configuration(report: impl FnOnce(*const raw::Configuration)) -> Option<Configuration> {
    unsafe extern "C" fn tell(context: *mut c_void, format: *const c_char, words: *const c_char) {
        *context.cast::<Option<Configuration>>() =
            Some(Configuration { format: text(format), text: text(words) });
    }
    let mut configuration: Option<Configuration> = None;
    report(&raw::Configuration { context: (&raw mut configuration).cast(), tell });
    configuration
}
