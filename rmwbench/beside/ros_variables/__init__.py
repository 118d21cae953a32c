"""ROS variables in the processes of a writer and a reader: does each RMW obey them?"""
