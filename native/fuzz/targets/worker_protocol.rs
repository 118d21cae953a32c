//! A line of the worker protocol from any sender: it is refused with a reason, or it can be
//! executed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rmwbench_harness::protocol::{parse_request, Command};
use rmwbench_harness::schedule::DueTimes;

fuzz_target!(|line: &str| {
    let Ok(request) = parse_request(line) else { return };
    let Command::Create { nodes, .. } = request.command else { return };
    for arrival in nodes.into_iter().flat_map(|node| node.endpoints).filter_map(|endpoint| endpoint.arrival) {
        if arrival.check().is_err() {
            continue;
        }
        // The times of an accepted schedule increase: otherwise it would never end.
        let times: Vec<i64> = DueTimes::new(arrival).take(64).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]), "times go back: {times:?}");
    }
});
