"""What rmw_zenoh says of a configuration that its Zenoh does not take: a warning, after which it
goes on without. The worker listens to it, as the program here does with the worker's own source."""

import subprocess
from pathlib import Path

import pytest

from rmwbench.lab.middleware import ros2
from tests.ros2 import sourced

pytestmark = sourced.needed

SOURCE = Path(__file__).parents[2] / "ros2/rmwbench_rclcpp/src/worker/zenoh_overrides.cpp"
PROGRAM = """
#include "zenoh_overrides.hpp"
#include <cstdio>
#include <rcutils/logging.h>
#include <rcutils/logging_macros.h>

int main() {
  {
    const rmwbench::ZenohOverrides overrides;
    RCUTILS_LOG_WARN_NAMED("rmw_zenoh_cpp", "Unable to connect to a Zenoh router");
    std::printf("[%s]", overrides.refused().c_str());
    RCUTILS_LOG_WARN_NAMED("rmw_zenoh_cpp", "Ignore the invalid configuration key-value pair: (%s, %s)", "a/b", "1");
    std::printf("[%s]", overrides.refused().c_str());
  }
  const rmwbench::ZenohOverrides next;
  std::printf("[%s]", next.refused().c_str());
}
"""


def test_the_first_refused_part_of_a_configuration_is_heard_and_still_logged(tmp_path):
    (tmp_path / "main.cpp").write_text(PROGRAM)
    prefixes = [Path(prefix) for prefix in ros2.prefixes()]
    places = [place for p in prefixes for place in (p / "include").glob("rc*")]
    include = [f"-I{place}" for place in places]
    library = next(p / "lib" for p in prefixes if (p / "lib/librcutils.so").is_file())
    words = ["g++", "-std=c++17", f"-I{SOURCE.parent}", *include, "main.cpp", SOURCE]
    words += [f"-L{library}", "-lrcutils", "-o", "main"]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=300)
    done = subprocess.run(
        [tmp_path / "main"], capture_output=True, text=True, check=True, timeout=30
    )
    warning = "Ignore the invalid configuration key-value pair: (a/b, 1)"
    assert done.stdout == f"[][{warning}][]"
    assert warning in done.stderr and "Unable to connect" in done.stderr


def test_the_installed_rmw_zenoh_begins_that_warning_as_the_worker_expects():
    name = "librmw_zenoh_cpp.so"
    found = [p / "lib" / name for p in ros2.prefixes() if (p / "lib" / name).is_file()]
    if not found:
        pytest.skip("the sourced ROS 2 has no rmw_zenoh_cpp")
    assert b"Ignore the invalid configuration" in found[0].read_bytes()
