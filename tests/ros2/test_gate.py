"""The end of an rclcpp reader waits for its callback, without a deadline; no ROS 2 is needed to
build the gate."""

import shutil
import subprocess
from pathlib import Path

import pytest

WORKER = Path(__file__).parents[2] / "ros2" / "rmwbench_rclcpp" / "src" / "worker"

PROGRAM = """
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "gate.hpp"

// Callbacks use a sink, which is freed behind the gate: AddressSanitizer and ThreadSanitizer see a use after that.
int main() {
  for (int round = 0; round < 200; ++round) {
    rmwbench::Gate gate;
    auto *sink = new std::vector<int>(64, 1);
    std::atomic<bool> stop{false};
    std::atomic<int> delivered{0};
    std::vector<std::thread> callbacks;
    for (int thread = 0; thread < 3; ++thread) {
      callbacks.emplace_back([&, thread] {
        while (!stop.load()) {
          const rmwbench::Gate::Pass pass(gate);
          if (!pass) return;
          // The first round keeps its message longer than the two seconds that a reader's end once waited.
          if (round == 0 && thread == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2300));
          delivered += (*sink)[static_cast<size_t>(thread)];
        }
      });
    }
    while (delivered.load() == 0) std::this_thread::yield();
    gate.close();
    delete sink;
    const int after = delivered.load();
    stop.store(true);
    for (std::thread &callback : callbacks) callback.join();
    if (delivered.load() != after) {
      std::puts("delivered after the gate was closed");
      return 1;
    }
  }
  return 0;
}
"""


@pytest.mark.long
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_a_sink_may_be_freed_behind_a_closed_gate(tmp_path, sanitizer):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here: the gate of the rclcpp worker is C++")
    source, program = tmp_path / "gate.cpp", tmp_path / "gate"
    source.write_text(PROGRAM)
    flags = [
        "-std=c++17",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-fsanitize={sanitizer}",
        f"-I{WORKER}",
    ]
    subprocess.run([compiler, *flags, "-o", program, source, "-lpthread"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
