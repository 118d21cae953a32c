"""A twin is a suite whose nodes send what a robot sent: it is made of a bag, with a graph where there
is one. The traffic of the twin is compared with that of the bag.

Input: files of rosbag2, MCAP, and `rosgraph_msgs/Graph`; output: the text of a suite, and the
likeness of its traffic to the bag's.
"""
