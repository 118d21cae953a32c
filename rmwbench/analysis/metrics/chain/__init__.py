"""Messages that are relayed: their ways through the graph, each followed from source to last
reader, and in which part of the way the time went. Imports `records`, `stats` and `metrics`."""
