//! The features of a build of hiroz's users that is described as installed.

#[test]
fn the_features_are_told_and_change_nothing_as_installed() {
    rmwbench_conformance::features::check(
        &rmwbench_hiroz::Hiroz,
        "rmwbench-hiroz",
        "hiroz",
        &[("rmw", "a call whenever a message was queued, by which the worker's loop waits")],
    );
}
