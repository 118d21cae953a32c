"""The life of one trial: processes are started, matched, run through a window and drained, and the
trial is judged: valid, void or failed, with a code. `timeouts` has the time limit of each step,
`void` the rules that void a trial."""
