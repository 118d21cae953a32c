"""Which sentences does a report state? The input is the show document; the output is facts, the
headline of a workload, conclusions and cautions, and the gain of more blocks."""
