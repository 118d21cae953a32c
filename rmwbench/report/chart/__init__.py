"""How is a workload drawn? Parts of the show document in; Vega-Lite specifications with the words
beside them out (`workload` has which charts a workload has, `charts` what they are made of, `style`
how an arm looks), and those as picture files (`drawing`).

Imports `results`, and `analysis` for names and units of metrics."""
