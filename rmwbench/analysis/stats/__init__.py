"""Statistics of numbers: quantiles, intervals over trials, growth, the resolution of a design. The
package has no notion of a trial and imports no other part of `analysis`."""
