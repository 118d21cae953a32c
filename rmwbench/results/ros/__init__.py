"""How did what belongs to ROS 2 itself behave: lifecycle nodes, rosbag2's recorder, its variables?
A campaign's trials in; a part of the show document each out, for campaigns that have one.

Imports `bundle`, `analysis`, `suite` and the models of `results`."""
