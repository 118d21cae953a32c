"""What is a user's own? `twin` makes a suite of a bag of their robot and checks it against the bag.

Input: the files of a robot; output: suites and answers. It may import all of the core, and nothing
of the core imports any of it.
"""
