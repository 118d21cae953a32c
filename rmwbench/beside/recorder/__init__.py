"""rosbag2's recorder beside the readers of a workload: what of all that is published does it keep?"""
