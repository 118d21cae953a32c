"""Why does nothing arrive? Causes in a running system on this machine that other tools do not
report: shared memory that two processes do not share, a missing router, exhausted participant
indices, datagrams that a socket dropped, ROS variables that an RMW ignores, two RMWs in one domain,
different discovery ranges.

Input: /proc and the kernel's socket tables, which are read without sending a packet. Output:
findings, each with a command that proves it and a command that fixes it. The tools of ROS 2 report
QoS and topics.
"""
