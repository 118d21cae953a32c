"""How is a workload drawn? Parts of the show document become Vega-Lite specifications with
captions. `workload_charts` has the charts of a workload, `charts` the single charts, `frame` their
common parts, `style` the look of an arm.

The package imports `results`, and `analysis` for names and units of metrics."""
