//! The golden corpora of `docs/formats/golden/`, which the Python side tests too: a side that
//! disagrees with them is wrong.

use std::fs;
use std::path::PathBuf;

use rmwbench_harness::protocol::{parse_request, FromWorker};
use rmwbench_harness::records::{layout, memfd, Kind, Received, Records, Sent, Span, SLOT_BYTES};
use serde_json::Value;

fn golden(name: &str) -> Vec<u8> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/golden").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every field of `original` that `again` has must be equal; a field that `again` lacks must be one
/// that the protocol's reader ignores.
fn agrees(original: &Value, again: &Value, ignored: &mut Vec<String>) -> bool {
    match (original, again) {
        (Value::Object(a), Value::Object(b)) => a.iter().all(|(key, value)| match b.get(key) {
            Some(other) => agrees(value, other, ignored),
            None => {
                ignored.push(key.clone());
                true
            }
        }),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agrees(a, b, ignored))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => original == again,
    }
}

#[test]
fn every_line_of_the_protocol_is_understood_and_written_alike() {
    let text = String::from_utf8(golden("protocol.jsonl")).unwrap();
    let mut lines = 0;
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let original = &entry["line"];
        let again = match entry["direction"].as_str().unwrap() {
            "to_worker" => {
                let request = parse_request(&original.to_string())
                    .unwrap_or_else(|bad| panic!("{original}: {}", bad.error));
                serde_json::to_value(request).unwrap()
            }
            _ => {
                let parsed: FromWorker = serde_json::from_value(original.clone())
                    .unwrap_or_else(|e| panic!("{original}: {e}"));
                serde_json::to_value(parsed).unwrap()
            }
        };
        let mut ignored = Vec::new();
        assert!(agrees(original, &again, &mut ignored), "read   {original}\nwritten {again}");
        assert!(
            ignored.iter().all(|field| field == "a_later_field"),
            "{original}: fields lost: {ignored:?}"
        );
        lines += 1;
    }
    assert!(lines > 20, "only {lines} lines in the corpus");
}

fn u64_of(slot: &Value, field: &str) -> u64 {
    slot[field]
        .as_u64()
        .or_else(|| slot[field].as_i64().map(|v| v as u64))
        .unwrap_or_else(|| panic!("{field} in {slot}"))
}

#[test]
fn the_recorder_writes_the_golden_records() {
    let expected = golden("records.bin");
    let document: Value = serde_json::from_slice(&golden("records.json")).unwrap();
    let nonce = u64::from_str_radix(document["trial_nonce"].as_str().unwrap(), 16).unwrap();
    let sections = document["sections"].as_array().unwrap();
    let kind = |section: &Value| match section["kind"].as_str().unwrap() {
        "SENT" => Kind::Sent,
        "RECEIVED" => Kind::Received,
        "SPAN" => Kind::Span,
        other => panic!("unknown kind {other}"),
    };
    let plan: Vec<(Kind, u32, u64)> = sections
        .iter()
        .map(|s| (kind(s), u64_of(s, "endpoint") as u32, u64_of(s, "capacity")))
        .collect();
    let empty = layout(nonce, &plan);
    let fd = memfd(&empty).unwrap();
    let records = Records::map(fd.try_clone().unwrap()).unwrap();
    for (section, (kind, endpoint, _)) in sections.iter().zip(&plan) {
        let target = records.section(*kind, *endpoint).unwrap();
        let write = |slot: &Value| {
            let time = |field: &str| u64_of(slot, field) as i64;
            match kind {
                Kind::Sent => target.sent(&Sent {
                    seq: u64_of(slot, "seq"),
                    intended_ns: time("intended_ns"),
                    begun_ns: time("begun_ns"),
                    call_ns: time("call_ns"),
                    return_ns: time("return_ns"),
                    cause_seq: u64_of(slot, "cause_seq"),
                    cause_endpoint: u64_of(slot, "cause_endpoint") as u32,
                    bytes: u64_of(slot, "bytes") as u32,
                    flags: u64_of(slot, "flags") as u32,
                }),
                Kind::Received => target.received(&Received {
                    seq: u64_of(slot, "seq"),
                    notified_ns: time("notified_ns"),
                    taken_ns: time("taken_ns"),
                    callback_ns: time("callback_ns"),
                    consumed_ns: time("consumed_ns"),
                    intended_ns: time("intended_ns"),
                    writer: u64_of(slot, "writer") as u32,
                    bytes: u64_of(slot, "bytes") as u32,
                    flags: u64_of(slot, "flags") as u32,
                }),
                Kind::Span => target.span(&Span {
                    seq: u64_of(slot, "seq"),
                    time_ns: time("time_ns"),
                    layer: u64_of(slot, "layer") as u32,
                    writer: u64_of(slot, "writer") as u32,
                }),
            }
        };
        let slots = section["slots"].as_array().unwrap();
        slots.iter().for_each(write);
        (0..u64_of(section, "overflow")).for_each(|_| write(&slots[0]));
    }
    let mut written = vec![0; empty.len()];
    rustix::io::pread(&fd, &mut written, 0).unwrap();
    assert_eq!(written.len(), expected.len());
    let finished = |file: &[u8], offset: usize, capacity: usize| -> Vec<Vec<u8>> {
        file[offset..offset + capacity * SLOT_BYTES]
            .chunks(SLOT_BYTES)
            .filter(|s| s[60..] != [0; 4])
            .map(<[u8]>::to_vec)
            .collect()
    };
    assert_eq!(written[..64], expected[..64], "the file header");
    for (place, section) in sections.iter().enumerate() {
        let entry = 64 * (1 + place);
        assert_eq!(written[entry..entry + 24], expected[entry..entry + 24], "entry {place}");
        let claimed =
            |file: &[u8]| u64::from_le_bytes(file[entry + 24..entry + 32].try_into().unwrap());
        assert_eq!(
            claimed(&written) + u64_of(section, "unfinished"),
            claimed(&expected),
            "claimed in {place}"
        );
        let offset =
            u64::from_le_bytes(expected[entry + 8..entry + 16].try_into().unwrap()) as usize;
        let capacity = u64_of(section, "capacity") as usize;
        assert_eq!(
            finished(&written, offset, capacity),
            finished(&expected, offset, capacity),
            "slots of {place}"
        );
    }
}
