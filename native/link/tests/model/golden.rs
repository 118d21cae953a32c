//! docs/formats/link.md is the corpus: these types read its examples, and the written form is
//! equal.

use rmwbench_harness::tool::Request;
use rmwbench_link::document::Document;
use rmwbench_link::protocol::{hello, Command};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/formats/link.md");

/// The blocks of JSON in the page.
fn blocks() -> Vec<&'static str> {
    PAGE.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn values(block: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(block).into_iter().map(Result::unwrap).collect()
}

#[test]
fn the_lines_of_the_page_are_commands() {
    let lines = values(blocks()[0]);
    let keys =
        |value: &Value| value["hello"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&lines[0]), keys(&hello("link")));
    let requests: Vec<Request<Command>> =
        lines[1..].iter().map(|line| serde_json::from_value(line.clone()).unwrap()).collect();
    let [Request { command: Command::Open(open), .. }, Request { command: Command::Schedule { changes, .. }, .. }, mark, collect, exit] =
        &requests[..]
    else {
        panic!("{requests:?}")
    };
    assert_eq!((open.problem(), open.ports.len(), changes.len()), (None, 2, 3));
    assert!(matches!(
        (&mark.command, &collect.command, &exit.command),
        (Command::Mark {}, Command::Collect {}, Command::Exit {})
    ));
}

#[test]
fn the_document_of_the_page_comes_back_equal_but_for_what_it_leaves_out() {
    let text = blocks()[1];
    let mut value: Value = serde_json::from_str(text).unwrap();
    // The page abbreviates the second direction.
    value["links"]["robot"]["down"] = value["links"]["robot"]["up"].clone();
    let document: Document = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&document).unwrap(), value);
}
