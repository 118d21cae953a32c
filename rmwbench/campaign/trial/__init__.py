"""The life of one trial: processes are started, matched, run through a window and drained, and what
they did is judged: valid, void or failed, with a code. `timeouts` has how long each step may take,
`void` what voids it."""
