"""What does this robot send? A bag, a graph or both become a suite, and the suite is checked.

Input: files of rosbag2, MCAP, and `rosgraph_msgs/Graph`; output: a suite's text, and how far what
it sends is from what it was made of.
"""
