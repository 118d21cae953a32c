"""The cost of processes, counted from outside, and the load that a trial puts on the machine."""
