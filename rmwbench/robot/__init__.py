"""A user's own robot: `twin` makes a suite of a bag and compares it with the bag, `check` tests the
robot's suite against its limits, `live` examines running processes, and `deployment` writes files
for the robot.

Input: the files and processes of a robot; output: suites, answers and files. It may import all of
the core, and the core imports none of it.
"""
