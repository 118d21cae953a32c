"""The packages of ROS 2 as bloom and rosdep see them: whole in themselves, of one version, and with
every package that their CMake looks for. Needs no ROS 2."""

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGES = [path.parent for path in REPOSITORY.glob("*/package.xml")] + [
    path.parent for path in REPOSITORY.glob("ros2/*/package.xml")
]
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
ONE_OF_SEVERAL = {"fastdds", "fastrtps", "${library}", "${rmw}"}
"""Looked for under names that change with the distribution; rmw_fastrtps_cpp brings them."""
OF_AMENT = {"ament_cmake_test"}
"""What ament_cmake brings."""


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_package_is_whole(package):
    manifest = ElementTree.parse(package / "package.xml").getroot()
    assert manifest.findtext("version") == VERSION
    [licence] = manifest.findall("license")
    text = (package / licence.attrib["file"]).read_text()
    assert text == (REPOSITORY / "LICENSE").read_text()
    depends = {one.text for one in manifest if one.tag.endswith("depend")}
    cmake = package / "CMakeLists.txt"
    if cmake.is_file():
        found = set(re.findall(r"find_package\((\S+?)[ )]", cmake.read_text()))
        assert found - OF_AMENT - ONE_OF_SEVERAL <= depends
        assert "../" not in cmake.read_text()  # of a release each package's directory is alone


def test_all_four_are_of_the_version_of_the_tool():
    assert len(PACKAGES) == 4
    native = tomllib.loads((REPOSITORY / "native" / "Cargo.toml").read_text())
    assert native["workspace"]["package"]["version"] == VERSION
    assert f'version="{VERSION}"' in (REPOSITORY / "ros2/ros2bench/setup.py").read_text()
