# What rmwbench_rclcpp takes of the harness: its library, the directory of its headers and of the profiles, and
# for its tests the conformance suite, which is there where this was built with BUILD_TESTING.
get_filename_component(RMWBENCH_NATIVE "${rmwbench_harness_DIR}/.." ABSOLUTE)
get_filename_component(RMWBENCH_HARNESS "${rmwbench_harness_DIR}/../../../lib/librmwbench_worker.a" ABSOLUTE)
get_filename_component(RMWBENCH_CONFORMANCE "${rmwbench_harness_DIR}/../../../lib/rmwbench_harness/rmwbench-conformance" ABSOLUTE)
