"""A campaign on the machines of a Ray cluster (docs/cluster.md): one exclusive trial per machine at
a time, a block of a comparison wholly on one machine, the bundle as ever on the driver's disk.

Ray is an extra (`rmwbench[cluster]`) and is imported only in functions, so that nothing else needs
it.
"""
