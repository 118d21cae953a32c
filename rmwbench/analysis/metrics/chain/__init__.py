"""Relayed messages: their paths through the graph, each message followed from its source to the
last reader, and the parts of the path in which the time went. Imports `records`, `stats` and
`metrics`."""
