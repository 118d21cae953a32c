"""Statistics of numbers: quantiles, intervals over trials, ordinal answers, survival, the
resolution of a design. Does not know what a trial is. Imports no other part of `analysis`."""
