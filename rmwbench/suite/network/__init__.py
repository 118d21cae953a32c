"""The network between hosts as a suite says it, and on which machines hosts are placed."""
