"""The metrics of a trial from its records, and those of an arm from its trials: `glossary` declares
the metrics, `trial_metrics` measures one trial, `aggregate` an arm; `chain` has the metrics of
relayed messages, `network` those of links and outages. Imports `records` and `stats`."""
