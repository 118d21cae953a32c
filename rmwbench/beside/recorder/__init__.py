"""rosbag2's recorder beside the readers of a workload: which of the published messages does it
keep?"""
