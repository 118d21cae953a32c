"""Workloads: message types, topics and nodes, arrivals and QoS, and the endpoints of a trial."""
