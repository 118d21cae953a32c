"""What happened between hosts and around outages: the records of a trial, the frames of its links
and its events in; the metrics of links, outages, late nodes and others' traffic out (`network`
collects them for a trial, `streams` are the messages of one writer to one reader).

Imports `records`, `stats`, and `latency` and `discovery` of `metrics`."""
