//! The harness as `librmwbench_worker.a` and `.so` with the C header `harness/include/rmwbench_worker.h`: for workers that cargo does
//! not build, rclcpp through colcon and Python through ctypes. It adds nothing: the symbols are the harness's own.

pub use rmwbench_harness::c_api::*;
