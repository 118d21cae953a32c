"""A campaign on the machines of a Ray cluster (docs/cluster.md): a machine runs one trial at a time
and nothing else, a block of a comparison runs on one machine, and the bundle is on the driver's
disk.

Ray is an extra (`rmwbench[cluster]`) and is imported only in functions, so that nothing else needs
it.
"""
