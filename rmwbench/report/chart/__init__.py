"""How is a workload drawn? Parts of the show document in; Vega-Lite specifications with their
captions out, and those as picture files (`drawing`). `workload_charts` has the charts of a
workload, `charts` what they are made of, `style` the look of an arm.

Imports `results`, and `analysis` for names and units of metrics."""
