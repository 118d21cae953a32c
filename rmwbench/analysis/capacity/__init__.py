"""How much load does an arm hold? A limit in words, the search for the largest level that holds it,
and the knee of the curve. Imports `metrics`, and the judge of limits from `verdicts`."""
