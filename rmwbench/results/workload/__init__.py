"""What did a campaign find in one workload? Its trials, measured and judged, in; the parts of the
show document that stand under a workload out: its arms with their metrics, and what lies beside
them (effects, outcomes, topics, links, the points of its charts).

Imports `bundle`, `analysis` and the models of `results`."""
