"""What a profile of Fast DDS or Cyclone DDS becomes on a shared host: UDP on the loopback alone.

No ROS 2 is needed to build this part of the worker.
"""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "ros2" / "rmwbench_rclcpp" / "src" / "program"
EMBEDDED = {
    "untouched": None,
    "tuned": ROOT / "native/middlewares/fastdds/profiles/tuned.xml",
    "data_sharing": PROGRAM.parents[1] / "profiles/rmw_fastrtps_data_sharing.xml",
}
MAIN = """
#include <cstdio>
#include <iostream>
#include <iterator>

#include <rmwbench_fault.hpp>
#include "shared_host.hpp"

// fastdds [TRANSPORT], or cyclonedds; a profile on stdin.
int main(int count, char **words) {
  const std::string profile{std::istreambuf_iterator<char>(std::cin), {}}, what = words[1];
  try {
    std::cout << (what == "fastdds" ? rmwbench::fastdds_on_loopback(profile, count > 2 ? words[2] : "")
                                    : rmwbench::cyclonedds_without_interfaces(profile));
  } catch (const rmwbench::Fault &fault) {
    std::cerr << fault.object;
    return 2;
  }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here: this part of the rclcpp worker is C++")
    directory = tmp_path_factory.mktemp("loopback")
    (directory / "main.cpp").write_text(MAIN)
    headers = [f"-I{path}" for path in (PROGRAM, ROOT / "native" / "harness" / "include")]
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", *headers, "-o", directory / "loopback"]
    sources = [directory / "main.cpp", PROGRAM / "shared_host.cpp"]
    subprocess.run([compiler, *flags, *sources], check=True)
    return directory / "loopback"


def kept(program: Path, words: list[str], profile: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *words], input=profile, capture_output=True, text=True)


def transports(text: str) -> dict[str, list[str]]:
    """Transport's type → its whitelist, of those that the participant uses."""
    bare = text.replace(' xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"', "")
    profiles = ElementTree.fromstring(bare).find("profiles")
    used = {one.text for one in profiles.iter("userTransports") for one in one}
    assert profiles.find("participant/rtps/useBuiltinTransports").text == "false"
    return {
        one.findtext("type"): [a.text for a in one.iter("address")]
        for one in profiles.iter("transport_descriptor")
        if one.findtext("transport_id") in used
    }


@pytest.mark.parametrize("name", EMBEDDED)
def test_every_profile_of_fast_dds_has_udp_on_the_loopback_alone(program, name):
    path = EMBEDDED[name]
    done = kept(program, ["fastdds"], path.read_text() if path else "")
    assert transports(done.stdout) == {"SHM": [], "UDPv4": ["127.0.0.1"]}


def test_a_transport_that_is_asked_for_is_kept_to(program):
    assert transports(kept(program, ["fastdds", "udp"], "").stdout) == {"UDPv4": ["127.0.0.1"]}
    assert kept(program, ["fastdds", "shm"], "").stdout == ""
    tcp = kept(program, ["fastdds", "tcp"], "")
    assert (tcp.returncode, tcp.stderr) == (2, "mode transport")


@pytest.mark.parametrize(
    "own",
    [
        "<dds><profiles><participant/></profiles></dds>",
        "<dds><profiles><transport_descriptors><transport_descriptor><transport_id>a</transport_id>"
        "<type>TCPv4</type></transport_descriptor></transport_descriptors></profiles></dds>",
        "<dds/>",
    ],
)
def test_a_file_of_ones_own_that_cannot_be_kept_there_is_refused(program, own):
    assert kept(program, ["fastdds"], own).returncode == 2


def test_a_whitelist_of_ones_own_is_replaced(program):
    own = EMBEDDED["tuned"].read_text()
    mine = "<interfaceWhiteList>\n<address>10.0.0.1</address>\n</interfaceWhiteList>"
    own = own.replace("<type>UDPv4</type>", f"<type>UDPv4</type>{mine}")
    assert transports(kept(program, ["fastdds"], own).stdout)["UDPv4"] == ["127.0.0.1"]


def test_cyclone_ddss_own_interfaces_go(program):
    own = (
        '<CycloneDDS><Domain><General><Interfaces><!-- <NetworkInterface name="a"/> -->'
        '<NetworkInterface name="eth0"/><NetworkInterface address="10.0.0.1"></NetworkInterface>'
        "</Interfaces><FragmentSize>65000B</FragmentSize></General></Domain></CycloneDDS>"
    )
    text = kept(program, ["cyclonedds"], own).stdout
    assert "NetworkInterface" not in text and "65000B" in text
    ElementTree.fromstring(text)
