"""Which remedy is known against a symptom, and what did it gain? The input is the arms of a judged
campaign; the output is advice for each symptom: the remedy, the command that tries it, and its gain
if its arm ran.

`analysis/causes` decides which symptoms there are; `suites/remedies.yaml` lists known remedies.
Imports `bundle`, `analysis`, `suite` and the models of `results`."""
