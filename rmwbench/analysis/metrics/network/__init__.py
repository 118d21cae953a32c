"""What happened between hosts and around outages: from the records of a trial, the frames of its
links and its events to the metrics of links, outages, late nodes and cross traffic.
`network_metrics` collects them for a trial; `streams` has the messages of one writer to one reader.

Imports `records`, `stats`, and `latency` and `discovery` of `metrics`."""
