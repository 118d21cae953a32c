"""How is a suite run? A suite in; a bundle out, trial after trial, resumable.

`plan` (what will run, and whether it can), `trial` (the life of one trial), `record` (what it
leaves), and the run itself here: `start`, `run`, `course`, `pace`, `interim`. Imports `suite`,
`lab`, `bundle` and `analysis`."""
