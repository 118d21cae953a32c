"""Why does nothing arrive? What of a running system on this machine explains it and nobody else
tells: shared memory that two processes do not share, a router that is not there, participant
indices that are used up, datagrams that a socket dropped, ROS variables that an RMW ignores, two
RMWs in one domain, discovery ranges that differ.

Input: /proc and the kernel's socket tables, read only and without a packet; output: findings, each
with the command that proves it and the one that mends it. QoS and topics are left to the tools of
ROS 2.
"""
