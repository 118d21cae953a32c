"""From numbers to intervals and tests: quantiles, intervals over trials, ordinal answers, survival,
what a design can resolve. Knows no trial. Imports no other part of `analysis`."""
