"""Which answers does a campaign give for one workload? The input is its trials, measured and
judged; the output is the parts of the show document about that workload: its arms with their
metrics, effects, outcomes, topics, links, and the points of its charts.

Imports `bundle`, `analysis` and the models of `results`."""
