"""What do trials run on? The machine, hosts, networks, middlewares and processes.

`machine` (what it is and how it behaves), `host` (namespaces, agents), `network` (links),
`middleware` (workers found and built), `process` (workers and the protocol), `sampling` (counters
of processes), `camera` (frames from outside). Imports `suite` and the clocks of
`analysis.records`."""
