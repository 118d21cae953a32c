"""ROS variables of the writer's and of the reader's process: does an RMW obey them?"""
