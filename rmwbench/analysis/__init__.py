"""What do the records of trials say? Numbers in, numbers, verdicts and causes out; nothing else.

Pure: no file, no clock, no process, no document. `records` (what a trial left, as arrays), `stats`
(numbers to intervals and tests), `metrics` (records to the values of a trial and of an arm),
`verdicts` (arms to better, worse, equivalent, undecided), `causes` (why), `capacity` (how much an
arm holds). Imports `errors` and `codes` only."""
