"""rosbag2's recorder as a process of a trial, and what is in the bag that it leaves."""
