//! The harness as `librmwbench_worker.a` and `.so` with the C header
//! `harness/include/rmwbench_worker.h`: for workers that cargo does not build, rclcpp through
//! colcon and Python through cffi. It adds nothing: the symbols are the harness's own
//! (`rmwbench_worker_main`, `rmwbench_now_ns`, …) and RouDi's.
//!
//! ```text
//! cargo build --release -p rmwbench-worker
//! cc -I native/harness/include worker.c …/release/librmwbench_worker.a -lpthread -ldl -lm
//! ```
//!
//! `tests/loopback.c` is such a worker, whole.

pub use rmwbench_harness::c_api::*;
pub use rmwbench_roudi::installed::*;
