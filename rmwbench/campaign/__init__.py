"""How is a suite run? A suite in; a bundle out, trial after trial, resumable.

`plan` (the trials, and whether they can run), `trial` (the life of one trial), `record` (its
tables), and the run itself here: `start`, `run`, `course`, `looks`. Imports `suite`,
`lab`, `bundle`, `analysis` and `results`."""
