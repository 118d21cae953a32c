"""Which load does each arm carry? The input is the bundle of a capacity search; the output is its
document and its sentences."""
