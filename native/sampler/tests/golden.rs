//! docs/formats/sampler.md is the corpus: these types, which refuse unknown fields, read its
//! examples, and the written form is equal.

use rmwbench_harness::tool::Request;
use rmwbench_sampler::document::Document;
use rmwbench_sampler::protocol::{hello, Command};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/formats/sampler.md");

/// The blocks of JSON in the page.
fn blocks() -> Vec<&'static str> {
    PAGE.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_document_of_the_page_comes_back_equal() {
    let text = blocks()[1];
    let document: Document = serde_json::from_str(text).unwrap();
    assert_eq!(
        serde_json::to_value(&document).unwrap(),
        serde_json::from_str::<Value>(text).unwrap()
    );
    let talker = &document.snapshots[0].processes["talker"];
    assert!(talker.run_delay_ns.is_some() && talker.threads == Some(2));
    assert_eq!(document.snapshots[0].sockets.len(), 3);
    assert!(
        document.series.is_some()
            && document.canary.is_some()
            && document.threads.is_some()
            && document.schedule.is_some()
    );
}

#[test]
fn the_lines_of_the_page_are_commands() {
    let lines: Vec<&str> = blocks()[0].lines().collect();
    let greeting: Value = serde_json::from_str(lines[0]).unwrap();
    let keys =
        |value: &Value| value["hello"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&greeting), keys(&hello()));
    let requests: Vec<Request<Command>> =
        lines[1..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        matches!(&requests[0].command, Command::Watch { processes } if processes.len() == 2 && processes[1].role == "daemon")
    );
    assert!(
        matches!(&requests[1].command, Command::Start(plan) if plan.canary_ns == 10_000_000 && plan.problem().is_none())
    );
    assert!(
        matches!(requests[2].command, Command::Collect {})
            && matches!(requests[3].command, Command::Exit {})
    );
    for (request, line) in requests.iter().zip(&lines[1..]) {
        assert_eq!(
            serde_json::to_value(request).unwrap(),
            serde_json::from_str::<Value>(line).unwrap()
        );
    }
}
