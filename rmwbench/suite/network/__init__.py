"""The network between the hosts of a workload: emulated links, or real ones between machines."""
