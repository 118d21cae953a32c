from setuptools import find_packages, setup

setup(
    name="ros2bench",
    version="0.1.0",
    description="The command `ros2 bench`: rmwbench as a command of ros2cli",
    license="Apache-2.0",
    maintainer="rmwbench",
    maintainer_email="rmwbench@users.noreply.github.com",
    packages=find_packages(),
    install_requires=["ros2cli"],
    zip_safe=True,
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/ros2bench"]),
        ("share/ros2bench", ["package.xml"]),
    ],
    entry_points={"ros2cli.command": ["bench = ros2bench.command.bench:BenchCommand"]},
)
