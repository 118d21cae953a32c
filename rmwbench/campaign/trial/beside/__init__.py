"""What runs in a trial beside its workers: what measures, disturbs, makes frames, records, and the
network between the hosts. Each is started and ended in the life of the trial, and judged by its own
account of it (`beside` holds them together).

Imports `lab`, `suite`, and of the trial its outcome, notes and timeouts."""
