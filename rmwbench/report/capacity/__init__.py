"""A capacity search's answer: how much each arm holds, and its latency against the load."""
